//! Whole compactions with their files, scratch file included: what readers see when they die, fail or are cancelled at
//! any call.
//!
//! `job/` does the same for outputs that are there already; here they are merged from real blocks.

mod cancellation;
mod deaths;
mod errors;
mod failing_calls;
mod full_disk;
mod kills;
mod leftovers;
mod one_file;
mod scene;
mod scratch;
mod strace;
#[path = "../support/mod.rs"]
mod support;
