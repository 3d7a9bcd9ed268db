//! Compares plans with independent models.

mod bounded;
mod by_hand;
mod content;
mod sound;
