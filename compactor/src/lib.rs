//! Merges blocks
