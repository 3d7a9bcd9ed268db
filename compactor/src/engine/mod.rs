//! The compaction engine: publishes what a merge makes in a location, and deletes what it replaces.
//!
//! A location is a folder or a prefix of a bucket. Its blocks are listed, chosen by a [`strategy`](crate::strategy),
//! opened as [`Inputs`], and merged by a [`Compaction`](crate::Compaction); a [`Publisher`] publishes the outputs.
//! Inputs are deleted last, if requested, after every output was verified under its own name. An error before that
//! keeps all inputs. An input is deleted only if the same other blocks stay live without it. A run deletes inputs that
//! it merged itself; those of an earlier run go only with a [`Proof`] that live blocks hold their series.
//!
//! | module | what it is for |
//! |---|---|
//! | `place` | [`Workplace`]: a location, and what work on it needs |
//! | `inputs` | [`Inputs`]: open blocks with their names |
//! | `outputs` | [`Publisher`]: publishes outputs, or finds existing ones |
//! | `claims` | [`Claims`]: no output hides a block, or is hidden, by a false claim |
//! | `proof` | [`Proof`]: blocks hold all series of others |
//! | `examination` | what may be deleted with proof |
//! | `deletion` | deletes inputs |
//! | `error` | errors |

mod claims;
mod deletion;
mod error;
mod examination;
mod inputs;
mod outputs;
mod place;
mod proof;

pub use claims::Claims;
pub use deletion::{Deleted, InputsDeleted, Merged, order_of_deletion};
pub use error::{CompactionError, Refused};
pub use examination::Kept;
pub use inputs::Inputs;
pub use outputs::{Check, Planned, PublishedOutput, Publisher, WriteBlock};
pub use place::Workplace;
pub use proof::{Proof, Unproven};

use crate::compaction::RemapRefused;
