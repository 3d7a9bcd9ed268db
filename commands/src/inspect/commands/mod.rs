//! Commands that query the labels of one or more blocks.
//!
//! | module | contents |
//! |---|---|
//! | `arguments` | arguments of these commands |
//! | `inputs` | blocks and folders: opening them, and reports of damage |
//! | `folder` | the command `summary` of a folder |
//! | `series` | the command `series` |
//! | `labels` | the commands `labels` and `values` |
//! | `cardinality` | the command `cardinality` |
//! | `shares` | the command `shares` |
//! | `diff` | the command `diff` |
//! | `report` | the command `report` |
//! | `top` | the command `top` |
//! | `usage` | the command `usage` |
//! | `export` | the command `export` |
//! | `counting` | a message while series are counted |
//! | `output` | published files and standard output |

pub(crate) mod arguments;
mod cardinality;
mod counting;
mod diff;
pub(crate) mod export;
mod folder;
mod inputs;
mod labels;
mod output;
pub(crate) mod report;
mod series;
mod shares;
pub(crate) mod top;
pub(crate) mod usage;

pub(crate) use cardinality::cardinality;
pub(crate) use diff::diff;
pub(crate) use export::export;
pub(crate) use folder::{FolderSummary, summarize_folder};
pub(crate) use labels::{labels, values};
pub(crate) use report::report;
pub(crate) use series::series;
pub(crate) use shares::shares;
pub(crate) use top::top;
pub(crate) use usage::usage;
