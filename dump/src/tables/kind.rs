//! The kinds of tables.

use chronoxide_format::view::Table;
use serde::Serialize;

/// Kind of a table (spec, sections 5 and 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TableKind {
    /// The values of a label key
    Dictionary,
    /// Some of the rows of another table
    Map,
    /// Rows of several columns that other tables, or lists, refer to
    Shared,
    /// The series of a keyset, or their prefixes
    Keyset,
}

impl TableKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Dictionary, Self::Map, Self::Shared, Self::Keyset];

    /// Returns the kind of a table.
    #[must_use]
    pub const fn from_table(table: &Table<'_, '_>) -> Self {
        if table.is_dictionary() {
            Self::Dictionary
        } else if table.is_keyset() {
            Self::Keyset
        } else if table.is_map() {
            Self::Map
        } else {
            Self::Shared
        }
    }

    /// Returns the word of the spec for the kind (section 13).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dictionary => "dictionary",
            Self::Map => "map",
            Self::Shared => "shared",
            Self::Keyset => "keyset",
        }
    }
}
