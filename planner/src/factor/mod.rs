//! Factoring of rows by a plan: shared tables, lists and the keysets' own tables of a block.
//!
//! | module | contents |
//! |---|---|
//! | `factored` | [`Factored`], the result |
//! | `tables` | factoring of rows |
//! | `interned` | sets of rows and lists |
//! | `map` | maps and the places that refer through them |
//! | `maps` | selection of maps |
//! | `renumber` | insertion of maps among the tables |
//! | `shape` | sizes of one table |
//! | `size` | bytes of all tables, lists and records |

mod factored;
mod interned;
mod lists;
mod map;
mod maps;
mod renumber;
mod shape;
mod size;
mod tables;

pub use factored::{Factored, FactoredKeyset, FactoredPool, FactoredTable};
pub use interned::{InternedLists, InternedRows};
pub use lists::{List, Lists};
pub use maps::ColumnCodes;
pub(crate) use shape::column_ranges;
pub(crate) use size::{PlainSizes, dictionary_bytes};
pub(crate) use tables::factor;
