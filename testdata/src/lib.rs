//! Golden and broken blocks, and the command that makes them
