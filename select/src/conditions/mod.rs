//! From matchers to the series of one block.
//!
//! | module | content |
//! |---|---|
//! | `condition` | matchers as codes of a dictionary |
//! | `selected_members` | selected members of the lists of a pool |
//! | `selected` | selected series of one keyset |
//! | `evaluation` | conditions on their way from dictionaries up to keysets |
//! | `posted` | conditions on few values, by postings |
//! | `collector` | refs of selected series while they are found |
//! | `values` | selected series by values of series columns: by time ranges and numbers |
//! | `select` | [`Searcher::select`](crate::Searcher::select), and [`select`] for a single query |

pub(crate) mod collector;
pub(crate) mod condition;
mod evaluation;
mod posted;
mod select;
pub(crate) mod selected;
mod selected_members;
mod values;

pub use condition::AcceptedCodes;
pub use select::select;
