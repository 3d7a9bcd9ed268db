//! Learning a plan from rows.
//!
//! Keysets are looked at one after the other, each in a sample of its rows. For each some *splits* are tried, which say what its columns and lists
//! stand for, and the one that would cost the fewest bits is taken. Splits come from three sources: entities, which all keysets together show; groups of keys that
//! other keysets have already; and groups of columns that this keyset's rows show, which is the dearest and done only where the others leave much.
//!
//! | module | what is in it |
//! |---|---|
//! | `learning` | the plan, keyset by keyset |
//! | `entity` | keys that follow from another key in all keysets |
//! | `sample` | some rows of a keyset, and the groups of its columns |
//! | `group` | some columns as dense codes, and names of what they hold that are the same in all keysets |
//! | `choose` | the split of one keyset |
//! | `found` | splits of the groups that its rows show |
//! | `agglomerate` | these groups: columns joined as long as that saves bits |
//! | `cost` | what a split would cost |
//! | `known` | what the tables and lists of other keysets hold |
//! | `affinity` | which keys stood together on other keysets |

mod affinity;
mod agglomerate;
mod choose;
mod cost;
mod entity;
mod found;
mod group;
mod known;
mod learning;
mod sample;

pub(crate) use learning::learn;
