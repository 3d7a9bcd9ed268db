//! Jobs in a folder: what they publish and delete, and what readers see when they die or fail at any call.

mod chain;
mod faults;
mod files;
#[path = "../support/mod.rs"]
mod support;
