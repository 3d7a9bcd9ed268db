//! Values of a key as an array over the arena, and arrays gathered from these.

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, DictionaryArray, StringViewArray, UInt32Array};
use arrow_buffer::ScalarBuffer;
use chronoxide_format::error::Place;
use chronoxide_format::{Corruption, Error, KeyId, Rule, SymbolId};
use chronoxide_reader::View;

use crate::arena::Arena;

/// Returns the values of a key of the arena's block, in byte order. The strings are those of the arena; a view of 16
/// bytes is made for each.
///
/// # Errors
/// `Corrupt` if the block's symbols, or a byte that was read, are damaged.
pub(crate) fn values_of_key(view: &View<'_>, arena: &Arena, key: KeyId) -> Result<StringViewArray, Error> {
    let Some(dictionary) = view.dictionary(key)? else { return Ok(StringViewArray::new_null(0)) };
    let mut symbols = vec![0; dictionary.row_count() as usize];
    dictionary.read_column(0..dictionary.row_count(), &dictionary.column(0)?, &mut symbols)?;
    strings_of_symbols(view, arena, key, &symbols)
}

/// Returns the names of all keys of the arena's block, by their numbers.
///
/// # Errors
/// As [`values_of_key`].
pub(crate) fn key_names(view: &View<'_>, arena: &Arena) -> Result<StringViewArray, Error> {
    let symbol = |key| Ok(view.key_symbol(KeyId(key))?.0);
    let symbols: Vec<u32> = (0..view.key_count()).map(symbol).collect::<Result<_, Error>>()?;
    strings_of_symbols(view, arena, KeyId(0), &symbols)
}

/// Returns symbols as an array. Damage is reported for `key`.
fn strings_of_symbols(view: &View<'_>, arena: &Arena, key: KeyId, symbols: &[u32]) -> Result<StringViewArray, Error> {
    let text = view.text()?;
    let start = text.arena().as_ptr().addr();
    let mut views = Vec::with_capacity(symbols.len());
    for &symbol in symbols {
        let value = text.symbol(SymbolId(symbol))?;
        let (buffer, offset) =
            arena.place(value.as_ptr().addr() - start, value.len()).ok_or_else(|| damaged_key(key))?;
        views.push(make_view(value.as_bytes(), buffer, offset));
    }
    // SAFETY: every view was made from a `&str` that `Text::symbol` took from the arena, so that it is valid UTF-8. A
    // string of up to 12 bytes is in its view. `Arena::place` checked that a longer one lies within the buffer that the
    // view names, at its offset: the buffers are windows of the same arena, because `arena` is made from the block of
    // `view` by the only caller.
    Ok(unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(views), arena.buffers().clone(), None) })
}

/// Returns an array of values by their codes, or `None` if a code is out of range. Codes of nulls must be in range too,
/// unless all are null.
pub(crate) fn dictionary_array(
    codes: UInt32Array,
    values: Arc<StringViewArray>,
) -> Option<DictionaryArray<UInt32Type>> {
    // Arrow's own check skips nulls one by one, and takes longer than everything else.
    let largest = codes.values().iter().copied().max().unwrap_or_default();
    if largest as usize >= values.len() && codes.null_count() < codes.len() {
        return None;
    }
    // SAFETY: every code that is not null is a position in the values.
    Some(unsafe { DictionaryArray::new_unchecked(codes, values) })
}

/// Strings of arrays over one arena, copied to one array: their views are copied, their bytes are not.
pub(crate) struct Gathered<'a> {
    arena: &'a Arena,
    views: Vec<u128>,
}

/// Strings of an array over the arena of a [`Gathered`].
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    views: &'a [u128],
}

impl<'a> Gathered<'a> {
    pub(crate) fn new(arena: &'a Arena) -> Self {
        Self { arena, views: Vec::new() }
    }

    /// Returns an array as a source of strings, or `None` if it is not over the arena or has nulls.
    pub(crate) fn source(&self, array: &'a StringViewArray) -> Option<Source<'a>> {
        let same = std::ptr::eq(array.data_buffers(), &**self.arena.buffers());
        (same && array.nulls().is_none()).then_some(Source { views: array.views() })
    }

    /// Appends a string of a source; false if the position is out of range.
    #[inline]
    pub(crate) fn push(&mut self, source: Source<'_>, position: u32) -> bool {
        let view = source.views.get(position as usize);
        self.views.extend(view);
        view.is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.views.len()
    }

    pub(crate) fn finish(self) -> StringViewArray {
        // SAFETY: every view is that of an array whose buffers are those of `arena`, as `source` checked, so that it is
        // valid for these buffers. Sources are made from the arena of the value that they are pushed to: this crate
        // makes one arena per block, and gathers from the arrays of one block.
        unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(self.views), self.arena.buffers().clone(), None) }
    }
}

/// Returns the error of a dictionary that refers to something out of range.
pub(crate) fn damaged_key(key: KeyId) -> Error {
    let rule = Rule::ColumnCode;
    let place = Place::Table(key.0.into());
    Corruption::new(rule, place).into()
}
