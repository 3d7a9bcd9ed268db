//! Rows by a plan: shared tables, lists and the keysets' own tables, as a block has them.

mod interned;
mod maps;
mod renumber;
mod shape;
mod size;
mod tables;

pub(crate) use size::{dictionary_bytes, plain_bytes};
pub(crate) use tables::factor;
pub use tables::{Factored, FactoredKeyset, FactoredPool, FactoredTable};
