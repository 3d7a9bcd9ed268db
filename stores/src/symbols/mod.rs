//! Symbol tables.

mod lasso;
mod located;
mod location;
mod owned;
mod text;

pub use lasso::LassoSymbolTable;
pub use located::{LocatedSymbolTable, PackedArenaSymbolTable, UnpackedArenaSymbolTable};
pub use location::{Location, PackedLocation, UnpackedLocation};
pub use owned::{ArcSymbolTable, ByteViewSymbolTable, GermanSymbolTable, OwnedSymbolTable, SmolStrSymbolTable};
pub use text::OwnedText;

/// Bytes of an entry of a hash table of ids: the id, and hashbrown's control byte.
pub(crate) const INDEX_ENTRY: usize = size_of::<u32>() + 1;
