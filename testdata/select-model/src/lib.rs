//! Model of selection: a filter over labelsets, written from the rules of Prometheus, and the fuzz target that compares
//! a [`Searcher`](chronoxide_select::Searcher) with it.

mod model;
mod target;

pub use model::*;
pub use target::select;
