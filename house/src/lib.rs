//! Checks of the whole repository: `tests/rules` has the house rules of CONTRIBUTING.md that no other tool checks,
//! `tests/architecture.rs` the order of crates. They depend on no crate of the project, so that they run first.
