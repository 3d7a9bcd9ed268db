//! From inputs to outputs: the stages of a compaction. Each is a type that borrows the stages before it, and has what
//! the next ones need.
//!
//! ```text
//! Verified -> Labels -> Planned -> Merged -> Packed -> published
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `run` | calls the stages |
//! | `pipeline` | progress, cancellation and times, which all stages share |
//! | `verified` | verifies the inputs, and merges their meta |
//! | `labels` | merges symbols, keys and values |
//! | `merged` | chooses the plan of the outputs, and merges tables and lists |
//! | `packed` | merges rows, and turns them into outputs and remaps |
//! | `checks` | refuses options that contradict each other, and estimates memory, before anything is done |
//! | `balance` | compares counts and fingerprints of inputs and outputs |
//! | `planning` | learns a plan from a sample of the rows |
//! | `summary` | counts of a compaction |

mod balance;
mod checks;
mod labels;
mod merged;
mod packed;
mod pipeline;
mod planning;
mod run;
mod summary;
mod verified;

pub(crate) use checks::{Request, check_memory};
pub(crate) use planning::{Planning, sampled_series};
pub(crate) use run::run;
pub use summary::{Compacted, Summary};
