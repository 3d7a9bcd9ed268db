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

mod filter;
mod keysets;
mod lists;
mod plans;
mod rows;
mod sharding;
mod symbols;
mod tables;
mod translate;
mod vocabulary;

pub(crate) use filter::{Fate, Filter, MOST_SELECTORS};
pub(crate) use keysets::{MergedRows, Merging, OpenKeyset, Piece, Tally};
pub(crate) use lists::{MergedLists, MergedPool, Overlap, PoolReader};
pub(crate) use plans::{Adopted, KeysetSource, MergedKeyset, adopt, has_plan};
pub(crate) use rows::Run;
pub(crate) use sharding::{Sharding, cut};
pub(crate) use symbols::merge as merge_symbols;
pub(crate) use tables::{MergedTables, MoreRows, keys_of};
pub(crate) use translate::{AllLabelRows, Context, Translation, add_rows_below};
pub(crate) use vocabulary::Vocabulary;
