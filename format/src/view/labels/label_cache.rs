//! [`LabelCache`]: names of keys, places of dictionaries, and values of small dictionaries, cached.

use std::ops::Range;

use super::Label;
use crate::error::{Place, corrupt};
use crate::number::{index, low32};
use crate::view::catalogue::{BlockView, code as code_of};
use crate::{KeyId, Result, Rule, SymbolId};

/// Keys that are cached, each at its number modulo the length.
const CACHED_KEYS: usize = 256;
/// Values that are cached, of all dictionaries together.
const CACHED_VALUES: usize = 4096;
/// Values of dictionaries with more rows are not cached.
const SMALL_DICTIONARY: u32 = 256;
/// Marks a cache entry without a key. No key has this number: the number of a table is less.
const NO_KEY: KeyId = KeyId(u32::MAX);

/// Labels by key and code. Most keys of a block have few values, whose places are cached: a label of such a key costs
/// one load from the cache instead of three from the block.
#[derive(Clone, Debug)]
pub(super) struct LabelCache<'data, 'view> {
    view: &'view BlockView<'data>,
    dictionaries: [Dictionary<'data>; CACHED_KEYS],
    values: [Value; CACHED_VALUES],
    /// Number of values that are assigned to dictionaries.
    assigned: u32,
}

/// Name of a key, and the place of its values.
#[derive(Clone, Copy, Debug)]
struct Dictionary<'data> {
    key: KeyId,
    row_count: u32,
    base: u32,
    width: u32,
    name: &'data [u8],
    first_bit: u64,
    /// Its first cached value, or `None` if its values are not cached.
    values: Option<u32>,
}

/// Place of a value in the arena. A length of 0 marks a value that was not read yet: no symbol is empty.
#[derive(Clone, Copy, Debug)]
struct Value {
    start: u32,
    len: u32,
}

impl Value {
    /// Returns the place, or the mark of an unread value if 32 bits do not hold it.
    fn new(place: &Range<usize>) -> Self {
        match (u32::try_from(place.start), u32::try_from(place.len())) {
            (Ok(start), Ok(len)) => Self { start, len },
            _ => Self { start: 0, len: 0 },
        }
    }
}

impl<'data, 'view> LabelCache<'data, 'view> {
    pub(super) const fn new(view: &'view BlockView<'data>) -> Self {
        const UNREAD: Dictionary<'static> =
            Dictionary { key: NO_KEY, row_count: 0, base: 0, width: 0, name: &[], first_bit: 0, values: None };
        Self {
            view,
            dictionaries: [UNREAD; CACHED_KEYS],
            values: [Value { start: 0, len: 0 }; CACHED_VALUES],
            assigned: 0,
        }
    }

    pub(super) const fn view(&self) -> &'view BlockView<'data> {
        self.view
    }

    /// Returns the label of a key with the value at position `code` of the key's dictionary.
    ///
    /// # Errors
    /// `Corrupt` if the code is out of range or a byte is damaged.
    #[inline(always)]
    pub(super) fn label(&mut self, key: KeyId, code: u32) -> Result<Label<'data>> {
        let number = index(key.0) % CACHED_KEYS;
        if self.dictionaries.get(number).is_none_or(|dictionary| dictionary.key != key) {
            self.read_dictionary(key)?;
        }
        let Some(dictionary) = self.dictionaries.get(number) else { return self.view.label(key, code) };
        let first = dictionary.values.filter(|_| code < dictionary.row_count);
        let value = first.and_then(|first| self.values.get_mut(index(first) + index(code)));
        let name = dictionary.name;
        let arena = self.view.symbols().arena();
        let Some(value) = value else {
            let place = dictionary.value(self.view, code)?;
            return Ok(Label { name, value: arena.get(place).unwrap_or_default() });
        };
        if value.len == 0 {
            let place = dictionary.value(self.view, code)?;
            *value = Value::new(&place);
            return Ok(Label { name, value: arena.get(place).unwrap_or_default() });
        }
        // The place was checked when it was read.
        let value = arena.get(index(value.start)..).and_then(|rest| rest.get(..index(value.len)));
        Ok(Label { name, value: value.unwrap_or_default() })
    }

    #[cold]
    #[inline(never)]
    fn read_dictionary(&mut self, key: KeyId) -> Result<()> {
        let [name, row_count, rows_offset, base, width] = self.view.key_record(key)?;
        let row_count = low32(row_count);
        let values = (row_count <= SMALL_DICTIONARY && index(self.assigned + row_count) <= CACHED_VALUES)
            .then_some(self.assigned);
        let wide = || corrupt(Rule::TableExtent, Place::Table(key.0.into()), width, 32);
        let dictionary = Dictionary {
            key,
            row_count,
            base: low32(base),
            width: u32::try_from(width).ok().filter(|&width| width <= 32).ok_or_else(wide)?,
            name: self.view.symbol(SymbolId(low32(name)))?,
            first_bit: rows_offset * 8,
            values,
        };
        if values.is_some() {
            self.assigned += row_count;
        }
        if let Some(slot) = self.dictionaries.get_mut(index(key.0) % CACHED_KEYS) {
            *slot = dictionary;
        }
        Ok(())
    }
}

impl Dictionary<'_> {
    /// Returns the place of a value in the arena.
    #[inline(always)]
    fn value(&self, view: &BlockView<'_>, code: u32) -> Result<Range<usize>> {
        if code >= self.row_count {
            let place = Place::Table(self.key.0.into());
            return Err(corrupt(Rule::ColumnCode, place, code.into(), self.row_count.into()));
        }
        let bit = self.first_bit + u64::from(code) * u64::from(self.width);
        let sum = u64::from(self.base) + view.rows.get(bit, self.width)?;
        view.symbols().range(SymbolId(code_of(sum, self.key.0, code)?))
    }
}
