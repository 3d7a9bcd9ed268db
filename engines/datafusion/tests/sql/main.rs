//! Queries of tables of series, beside the same queries of the same rows in memory.

mod broken;
#[path = "../../examples/samples/data.rs"]
mod data;
mod documents;
mod filters;
mod folders;
mod plans;
#[path = "../../examples/samples/queries.rs"]
mod queries;
mod rows;
mod samples;
