//! Whole compactions with their files, scratch file included: what readers see when they die, fail or are cancelled at
//! any call.
//!
//! `job/` does the same for outputs that are there already; here they are merged from real blocks.

mod cancellation;
mod deaths;
mod errors;
mod full_disk;
mod leftovers;
mod one_file;
mod scene;
mod scratch;
#[path = "../support/mod.rs"]
mod support;
