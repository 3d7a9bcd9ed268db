//! Report of a run as Markdown: input, labels, bytes and times.
//!
//! | module | contents |
//! | --- | --- |
//! | `distribution` | distribution of integers |
//! | `statistics` | statistics of the labels and sections of blocks |
//! | `markdown` | tables of the report |

mod distribution;
mod markdown;
mod statistics;

pub(crate) use markdown::write;
pub(crate) use statistics::Statistics;
