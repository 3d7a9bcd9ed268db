//! Holds the whole repository to the house rules of CONTRIBUTING.md that no other tool checks: plain technical English,
//! the order of imports, and the width of lines.

mod files;
mod prose;
mod source;
