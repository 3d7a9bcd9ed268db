//! Golden and broken remaps.
//!
//! | module | what it is for |
//! |---|---|
//! | [`golden`] | small sound remaps that together say everything a remap can say |
//! | [`broken`] | a remap for each rule of the remap spec that breaks it |
//! | [`editor`] | remaps taken apart and put together again |
//! | [`exercise`] | the whole read API over any bytes |

pub mod broken;
pub mod editor;
pub mod exercise;
pub mod golden;
