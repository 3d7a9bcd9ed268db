//! The files of a job: its outputs published one by one, and then, if that is asked for, its inputs deleted.
//!
//! Readers of the folder see each series exactly once all the time, wherever the job dies, because of what blocks say of their origin
//! ([`lineage`](chronoxide_reader::lineage)): fewer than all outputs are hidden by the inputs, all of them hide the inputs. And a job that was killed
//! can simply be run again: an output that is there already is verified and taken as it is.
//!
//! Inputs are deleted last, after every output was verified under its own name and the folder made durable; an error before that leaves
//! all of them. One is deleted only if the same blocks count without it. A job deletes what it has merged itself; what an earlier run has merged is deleted
//! only with a [`Proof`] that its series live on.
//!
//! | module | what it is for |
//! |---|---|
//! | `folder` | [`JobFolder`]: the whole, in its order |
//! | `outputs` | outputs published, or found there already |
//! | `inputs` | which files are deleted, and in which order |
//! | `leftovers` | inputs that an earlier run merged and did not delete |
//! | `proof` | proof that blocks hold all series of others |
//! | `error` | what can go wrong |

mod error;
mod folder;
mod inputs;
mod leftovers;
mod outputs;
mod proof;

pub use error::{JobError, Refused};
pub use folder::{JobDone, JobFolder, OpenJob, verify_block};
pub use leftovers::{Kept, Leftovers};
pub use outputs::{Planned, PublishedOutput, WriteBlock};
pub use proof::{Proof, Unproven};
