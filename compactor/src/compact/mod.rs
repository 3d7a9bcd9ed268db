//! From verified inputs to outputs: the steps of a compaction in their order.
//!
//! | module | what it does |
//! | --- | --- |
//! | `run` | calls the steps: check, verify, merge tables, merge rows, balance, write outputs, write remaps |
//! | `checks` | refuses options that contradict each other, and estimates memory, before anything is done |
//! | `balance` | compares counts and fingerprints of inputs and outputs |
//! | `planning` | learns a plan from a sample of the rows |
//! | `outputs` | merges rows, and turns them into outputs |
//! | `summary` | counts of a compaction |

mod balance;
mod checks;
mod outputs;
mod planning;
mod run;
mod summary;

pub(crate) use checks::{Request, check_memory};
pub(crate) use planning::{Planning, sampled_series};
pub(crate) use run::run;
pub use summary::{Compacted, Summary};
