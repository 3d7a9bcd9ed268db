//! Holds the whole repository to the house rules of CONTRIBUTING.md that no other tool checks: plain technical English,
//! the order of imports, the width of lines, that all files of tests are built, and that documents name files that
//! exist.

mod claims;
mod files;
mod floors;
mod paths;
mod prose;
mod source;
mod suites;
