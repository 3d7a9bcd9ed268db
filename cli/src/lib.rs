//! What the commands share: exit codes, messages, escaping, numbers for people
