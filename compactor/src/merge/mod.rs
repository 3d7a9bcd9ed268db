//! Merges inputs in this order: symbols, dictionaries, shared tables, lists, and the rows of each keyset.
//!
//! Modules refer only to those above them.
//!
//! | module | what it does |
//! |---|---|
//! | `inputs` | opens tables of inputs, and names the domains of their columns |
//! | `symbols` | merges arenas |
//! | `vocabulary` | merges keys and dictionaries |
//! | `changes` | keys that are dropped or renamed |
//! | `parts` | values by part of a plan |
//! | `tally` | counts and fingerprint sums of series that do not reach the outputs |
//! | `label_rows` | rows of inputs' tables as labels |
//! | `plans` | finds the keysets of the outputs, and chooses their plan |
//! | `tables` | merges shared tables |
//! | `filter` | evaluates selectors |
//! | `lists` | merges lists |
//! | `rows` | unites sorted rows |
//! | `sharding` | spreads merged rows over shards and outputs |
//! | `translate` | translates series that are factored differently, or rewritten |
//! | `sample` | samples rows of the inputs, to learn a plan from |
//! | `keysets` | cuts keysets into pieces and merges them |

mod changes;
mod filter;
mod inputs;
mod keysets;
mod label_rows;
mod lists;
mod parts;
mod plans;
mod rows;
mod sample;
mod sharding;
mod symbols;
mod tables;
mod tally;
mod translate;
mod vocabulary;

pub(crate) use changes::KeyChanges;
pub(crate) use filter::{Filter, MAX_SELECTORS};
pub(crate) use inputs::keyset;
pub(crate) use keysets::{MergeContext, OpenKeyset, Piece};
pub(crate) use label_rows::{AllLabelRows, InputContext};
pub(crate) use lists::{MergedLists, MergedPool, PoolReader};
pub(crate) use parts::ByPart;
pub(crate) use plans::{Adopted, Choice, KeysetSource, MergedKeyset, MergedLabels, has_plan};
pub(crate) use rows::{MergedRows, Run};
pub(crate) use sample::{RowSample, SampledContent, choosing_keys};
pub(crate) use sharding::{Sharding, cut};
pub(crate) use symbols::merge as merge_symbols;
pub(crate) use tables::{MergedTables, MoreRows};
pub(crate) use tally::{Fate, Overlap, Tally};
pub(crate) use translate::{Translation, add_rows_below};
pub(crate) use vocabulary::Vocabulary;
