//! From inputs to merged rows: symbols, then dictionaries, then shared tables, then lists, then the rows of each keyset.
//!
//! | module | what it is for |
//! |---|---|
//! | `symbols` | arenas merged |
//! | `vocabulary` | keys and dictionaries merged |
//! | `plans` | how inputs are factored, and whose plan is adopted |
//! | `tables` | shared tables merged |
//! | `lists` | lists, each once, and pairs of them united once |
//! | `filter` | which series selectors keep |
//! | `translate` | series that are factored otherwise, or rewritten |
//! | `rows` | sorted rows united |
//! | `sharding` | merged rows spread over shards, and cut into what fits an output |
//! | `keysets` | keysets cut into pieces and merged |
//! | `tally` | counts and fingerprint sums of series that do not reach the outputs |

mod filter;
mod keysets;
mod lists;
mod plans;
mod rows;
mod sharding;
mod symbols;
mod tables;
mod tally;
mod translate;
mod vocabulary;

pub(crate) use filter::{Fate, Filter, MAX_SELECTORS};
pub(crate) use keysets::{MergeContext, MergedRows, OpenKeyset, Piece};
pub(crate) use lists::{MergedLists, MergedPool, PoolReader};
pub(crate) use plans::{Adopted, KeysetSource, MergedKeyset, adopt, has_plan};
pub(crate) use rows::Run;
pub(crate) use sharding::{Sharding, cut};
pub(crate) use symbols::merge as merge_symbols;
pub(crate) use tables::{MergedTables, MoreRows, keys_of};
pub(crate) use tally::{Overlap, Tally};
pub(crate) use translate::{AllLabelRows, Translation, TranslationContext, add_rows_below};
pub(crate) use vocabulary::Vocabulary;
