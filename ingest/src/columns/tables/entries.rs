//! Entries of a column of maps or of lists of pairs: [`Entries`].

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;

use super::schema::key_position;
use super::texts::Texts;

/// Keys and values of the rows of a column.
pub(super) struct Entries {
    offsets: Offsets,
    rows: Option<NullBuffer>,
    pairs: Option<NullBuffer>,
    keys: Texts,
    values: Texts,
}

enum Offsets {
    Small(OffsetBuffer<i32>),
    Large(OffsetBuffer<i64>),
}

impl Entries {
    /// Returns the entries of a column, or `None` if it has another type.
    pub(super) fn new(column: &ArrayRef) -> Option<Self> {
        match column.data_type() {
            DataType::Map(..) => {
                let map = column.as_map_opt()?;
                Self::with_pairs(Offsets::Small(map.offsets().clone()), map.nulls(), map.entries())
            }
            DataType::List(_) => {
                let list = column.as_list_opt::<i32>()?;
                let pairs = list.values().as_struct_opt()?;
                Self::with_pairs(Offsets::Small(list.offsets().clone()), list.nulls(), pairs)
            }
            DataType::LargeList(_) => {
                let list = column.as_list_opt::<i64>()?;
                let pairs = list.values().as_struct_opt()?;
                Self::with_pairs(Offsets::Large(list.offsets().clone()), list.nulls(), pairs)
            }
            _ => None,
        }
    }

    fn with_pairs(offsets: Offsets, rows: Option<&NullBuffer>, pairs: &StructArray) -> Option<Self> {
        let [first, second] = pairs.columns() else { return None };
        let (keys, values) = if key_position(pairs.fields()) == 0 { (first, second) } else { (second, first) };
        let (keys, values) = (Texts::new(keys)?, Texts::new(values)?);
        Some(Self { offsets, rows: rows.cloned(), pairs: pairs.nulls().cloned(), keys, values })
    }

    /// Returns the positions of the entries of a row that are not NULL.
    pub(super) fn of_row(&self, row: usize) -> impl Iterator<Item = usize> {
        let is_null = |nulls: &Option<NullBuffer>, at| nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
        let range = match &self.offsets {
            _ if is_null(&self.rows, row) => 0..0,
            Offsets::Small(offsets) => range(offsets.get(row..), |&offset| offset.max(0) as usize),
            Offsets::Large(offsets) => range(offsets.get(row..), |&offset| offset.max(0) as usize),
        };
        range.filter(move |&entry| !is_null(&self.pairs, entry))
    }

    /// Returns the key of an entry, or `None` if it is NULL.
    pub(super) fn key(&self, entry: usize) -> Option<&[u8]> {
        self.keys.get(entry)
    }

    /// Returns the value of an entry, or `None` if it is NULL.
    pub(super) fn value(&self, entry: usize) -> Option<&[u8]> {
        self.values.get(entry)
    }
}

fn range<T>(offsets: Option<&[T]>, position: impl Fn(&T) -> usize) -> Range<usize> {
    match offsets {
        Some([start, end, ..]) => position(start)..position(end),
        _ => 0..0,
    }
}
