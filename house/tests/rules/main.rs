//! Holds the whole repository to the house rules of CONTRIBUTING.md that no other tool checks: plain technical English,
//! the order of imports, the width of lines, and that all files of tests are built.

mod files;
mod prose;
mod source;
mod suites;
