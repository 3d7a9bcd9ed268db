//! The column of all labels of each series.

use std::sync::Arc;

use arrow_array::{ArrayRef, MapArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::ArrowError;
use chronoxide_format::KeyId;

use crate::codes::Codes;
use crate::column::{entries_field, entry_fields};
use crate::dictionary::{Gathered, damaged_key};
use crate::{BlockTable, TableError};

/// Returns the labels of `len` series as maps, from the codes of all keys of the block, in the order of keys.
pub(crate) fn label_map(
    table: &BlockTable,
    keys: &[KeyId],
    codes: &[Codes],
    len: usize,
) -> Result<ArrayRef, TableError> {
    let damaged = |key: KeyId| TableError::from(table.locate(damaged_key(key)));
    let (arena, all_names) = (table.arena(), table.key_names()?);
    let mut present = Vec::new();
    for (&key, codes) in keys.iter().zip(codes).filter(|(_, codes)| !matches!(codes, Codes::AllNull)) {
        present.push((key, codes, table.dictionary(key)?));
    }
    let (mut names, mut values) = (Gathered::new(arena), Gathered::new(arena));
    let name_source = names.source(&all_names).ok_or_else(|| damaged(KeyId(0)))?;
    let mut sources = Vec::with_capacity(present.len());
    for (key, codes, dictionary) in &present {
        sources.push((*key, *codes, values.source(dictionary).ok_or_else(|| damaged(*key))?));
    }
    let mut offsets = vec![0_i32];
    for position in 0..len {
        for (key, codes, source) in &sources {
            if let Some(code) = codes.get(position)
                && !(names.push(name_source, key.0) && values.push(*source, code))
            {
                return Err(damaged(*key));
            }
        }
        let end = i32::try_from(values.len());
        offsets.push(end.map_err(|_| ArrowError::OffsetOverflowError(values.len()))?);
    }
    let entries =
        StructArray::try_new(entry_fields(), vec![Arc::new(names.finish()), Arc::new(values.finish())], None)?;
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(Arc::new(MapArray::try_new(entries_field(), offsets, entries, None, true)?))
}
