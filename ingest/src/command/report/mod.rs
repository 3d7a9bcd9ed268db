//! The report of a run as Markdown: what the captures held, what their labels are like, where bytes and time went.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `distribution` | counts of whole numbers |
//! | `statistics` | what the labels of blocks are like |
//! | `markdown` | the tables |

mod distribution;
mod markdown;
mod statistics;

pub(crate) use markdown::write;
pub(crate) use statistics::Statistics;
