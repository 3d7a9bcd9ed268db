//! Learning of a plan from rows.
//!
//! A sample of the rows of each keyset is examined. For each keyset some *splits* are tried, which define its columns
//! and lists, and the split with the fewest bits is chosen. Splits come from three sources: entities, which all keysets
//! show; groups of keys that other keysets have; and groups of columns that the rows of the keyset show. The last
//! source is the most expensive, and used only if the others leave much. The best of them is improved by moves of
//! single columns, as long as they save bits.
//!
//! What a keyset pays depends on what it shares with others. So the keysets are split in two passes, in the second one
//! with the splits of all others known. A plan that is improved has the second pass only. Keysets of a *wave* are split
//! at the same time: waves of 64 give plans as good as one keyset after the other.
//!
//! | module | contents |
//! |---|---|
//! | `learning` | the plan, keyset by keyset |
//! | `entity` | keys that follow from another key in all keysets |
//! | `sample` | sampled rows of a keyset, and groups of its columns |
//! | `group` | columns as dense codes, with names that are equal in all keysets |
//! | `choose` | choice of the split of one keyset |
//! | `moves` | splits that differ by the place of one column |
//! | `found` | splits by groups that the rows show |
//! | `agglomerate` | search for these groups |
//! | `cost` | cost of a split |
//! | `known` | tables and lists of other keysets |
//! | `items` | distinct rows or lists of a sample, and estimates for all rows |
//! | `affinity` | keys that are in one group on other keysets |

mod affinity;
mod agglomerate;
mod choose;
mod cost;
mod entity;
mod found;
mod group;
mod items;
mod known;
mod learning;
mod moves;
mod sample;

pub(crate) use cost::Split;
pub(crate) use learning::{improve, learn, learn_rest};
