//! Jobs: outputs are published one by one, then inputs are deleted if requested.
//!
//! Readers of the folder see each series exactly once at any time, even if the job dies, because blocks name their
//! origin ([`lineage`](chronoxide_reader::lineage)): while outputs are missing, the inputs hide the others; once all
//! outputs exist, they hide the inputs. A killed job can be run again: it verifies and reuses existing outputs.
//!
//! Inputs are deleted last, after every output was verified under its own name and the folder was synced. An error
//! before that keeps all inputs. An input is deleted only if the same other blocks stay live without it. A job deletes
//! inputs that it merged itself; inputs of an earlier run are deleted only with a [`Proof`] that the outputs hold their
//! series.
//!
//! | module | what it is for |
//! |---|---|
//! | `folder` | [`JobFolder`]: runs a job |
//! | `outputs` | publishes outputs, or finds existing ones |
//! | `deletion` | what may be deleted with proof, for folders and locations |
//! | `leftovers` | inputs that an earlier run merged and did not delete |
//! | `proof` | proof that blocks hold all series of others |
//! | `error` | errors |

mod deletion;
mod error;
mod folder;
mod leftovers;
mod outputs;
mod proof;

pub use deletion::Kept;
pub(crate) use deletion::{Examined, examine};
pub use error::{JobError, Refused};
pub use folder::{InputsDeleted, JobDone, JobFolder, Merged, verify_block};
pub use leftovers::Leftovers;
pub use outputs::{OpenJob, Planned, PublishedOutput, WriteBlock};
pub use proof::{Proof, Unproven};
