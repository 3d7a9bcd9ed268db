//! Rows by a plan: shared tables, lists and the keysets' own tables, as a block has them.
//!
//! | module | what is in it |
//! |---|---|
//! | `factored` | [`Factored`], what is made |
//! | `tables` | how it is made from rows |
//! | `interned` | distinct rows and lists, numbered as they come |
//! | `maps` | which columns refer to few of many rows, and get smaller codes |
//! | `renumber` | maps in their place among the tables |
//! | `shape` | a table as its records see it |
//! | `size` | the bytes of all of it |

mod factored;
mod interned;
mod map;
mod maps;
mod renumber;
mod shape;
mod size;
mod tables;

pub use factored::{Factored, FactoredKeyset, FactoredPool, FactoredTable};
pub use interned::{InternedLists, InternedRows};
pub use maps::ColumnCodes;
pub(crate) use shape::row_bits;
pub(crate) use size::{dictionary_bytes, plain_bytes};
pub(crate) use tables::factor;
