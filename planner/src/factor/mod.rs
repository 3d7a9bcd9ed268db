//! Rows by a plan: shared tables, lists and the keysets' own tables, as a block has them.

mod interned;
mod maps;
mod size;
mod tables;

pub(crate) use size::plain_bytes;
pub(crate) use tables::factor;
pub use tables::{Factored, FactoredKeyset, FactoredPool, FactoredTable};
