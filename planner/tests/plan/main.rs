//! Plans against independent models of what they are of.

mod bounded;
mod by_hand;
mod content;
mod sound;
