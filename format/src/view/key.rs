//! Label keys and their value dictionaries (spec, sections 5 and 7).

use std::cmp::Ordering;
use std::iter::FusedIterator;

use super::symbol::binary_search;
use super::until_error::until_error;
use super::{BlockView, Label, Table};
use crate::error::{Place, corrupt};
use crate::number::low32;
use crate::{Error, KeyId, Result, Rule, SymbolId};

impl<'data> BlockView<'data> {
    /// Returns the number of label keys.
    #[must_use]
    pub const fn key_count(&self) -> u32 {
        self.frame.catalogue.keys.count
    }

    /// Returns the symbol of a key's name, or `None` if `key` is out of range.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    #[inline]
    pub fn key_symbol(&self, key: KeyId) -> Result<Option<SymbolId>> {
        self.has_key(key).then(|| self.referenced_key_symbol(key)).transpose()
    }

    /// Returns the name of a key, or `None` if `key` is out of range.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    #[inline]
    pub fn key_name(&self, key: KeyId) -> Result<Option<&'data [u8]>> {
        self.has_key(key).then(|| self.referenced_key_name(key)).transpose()
    }

    /// Returns the key with this name, or `None` if the block does not have it. Costs a binary search.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn key(&self, name: impl AsRef<[u8]>) -> Result<Option<KeyId>> {
        let name = name.as_ref();
        let found = binary_search(self.key_count(), |key| Ok(self.referenced_key_name(KeyId(key))?.cmp(name)))?;
        Ok(found.ok().map(KeyId))
    }

    /// Like [`BlockView::key`], but starts at key `guess`: in a search for sorted names, the next name is close to the
    /// last one. Steps double until they pass the name; a binary search covers the last step.
    pub(crate) fn key_from(&self, name: &[u8], guess: u32) -> Result<Option<KeyId>> {
        let compare = |key: u32| Ok(self.referenced_key_name(KeyId(key))?.cmp(name));
        let (mut low, mut step) = (guess, 1);
        let high = loop {
            let probe = low.saturating_add(step - 1);
            if probe >= self.key_count() {
                break self.key_count();
            }
            match compare(probe)? {
                Ordering::Less => low = probe + 1,
                Ordering::Equal => return Ok(Some(KeyId(probe))),
                // The names are not sorted: search all keys.
                Ordering::Greater if probe == guess => return self.key(name),
                Ordering::Greater => break probe,
            }
            step *= 2;
        };
        let found = binary_search(high.saturating_sub(low), |key| compare(low + key))?;
        match found {
            Ok(key) => Ok(Some(KeyId(low + key))),
            Err(_) if guess > 0 && high == self.key_count() => self.key(name),
            Err(_) => Ok(None),
        }
    }

    /// Returns the label names, in order. After an error the iterator ends.
    #[must_use]
    pub fn label_names(&self) -> impl FusedIterator<Item = Result<&'data [u8]>> + use<'data, '_> {
        until_error(self.key_count(), |key| self.referenced_key_name(KeyId(key)))
    }

    /// Returns the number of values of a key, or `None` if `key` is out of range.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn cardinality(&self, key: KeyId) -> Result<Option<u32>> {
        Ok(self.dictionary(key)?.map(|dictionary| dictionary.row_count()))
    }

    /// Returns the values of a key, in order, or `None` if `key` is out of range. After an error the iterator ends.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn label_values(
        &self,
        key: KeyId,
    ) -> Result<Option<impl FusedIterator<Item = Result<&'data [u8]>> + use<'data, '_>>> {
        let Some(dictionary) = self.dictionary(key)? else { return Ok(None) };
        let column = dictionary.stored_column(0)?;
        let value = move |code| self.referenced_symbol(SymbolId(dictionary.stored_code(code, &column)?));
        Ok(Some(until_error(dictionary.row_count(), value)))
    }

    /// Returns the position of a value in its key's dictionary, or `None` if the key or the value is not there. Costs a
    /// binary search.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn value_code(&self, key: KeyId, value: impl AsRef<[u8]>) -> Result<Option<u32>> {
        let value = value.as_ref();
        if let Some(code) = self.try_value_code(key, value) {
            return Ok(code);
        }
        // The slow way finds the place of the damage.
        let Some(dictionary) = self.dictionary(key)? else { return Ok(None) };
        let column = dictionary.stored_column(0)?;
        let found = binary_search(dictionary.row_count(), |code| {
            Ok(self.referenced_symbol(SymbolId(dictionary.stored_code(code, &column)?))?.cmp(value))
        })?;
        Ok(found.ok())
    }

    /// Returns the position of a value in its key's dictionary, or `Some(None)` if the value is not there. Returns
    /// `None` if the key is not there or the block is damaged.
    #[inline]
    fn try_value_code(&self, key: KeyId, value: &[u8]) -> Option<Option<u32>> {
        let [_, row_count, rows_offset, base, width] = self.frame.catalogue.keys.peek(&self.catalogue, key.0)?;
        let first_bit = rows_offset * 8;
        let is_distinct = row_count == 1 || (row_count > 1 && width > 0);
        if !is_distinct || width > 32 || first_bit + row_count * width > self.rows.field_bits() {
            return None;
        }
        let (mut low, mut high) = (0, row_count);
        while low < high {
            let middle = low + (high - low) / 2;
            let symbol = base + self.rows.peek_field(first_bit + middle * width, low32(width))?;
            match self.symbols().peek(u32::try_from(symbol).ok()?)?.cmp(value) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(Some(low32(middle))),
            }
        }
        Some(None)
    }

    /// Returns the key of a table that is a map, or `None` for any other table and if the block is damaged.
    #[inline]
    pub(super) fn try_mapped_key(&self, table: u32) -> Option<u32> {
        let catalogue = &self.frame.catalogue;
        let number = table.checked_sub(catalogue.keys.count)?;
        let [_, _, shape] = catalogue.tables.peek(&self.catalogue, number)?;
        let shape = catalogue.shapes.get(&self.catalogue, 0, shape).ok()?;
        let [domain, _, _] = shape.walk()?.next(&self.catalogue)?;
        let key = u32::try_from(domain.checked_sub(1)?).ok()?;
        (shape.column_count == 1 && key < catalogue.keys.count).then_some(key)
    }

    /// Returns the value dictionary of a key, or `None` if `key` is out of range.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn dictionary(&self, key: KeyId) -> Result<Option<Table<'data, '_>>> {
        self.has_key(key).then(|| Table::open(self, key.0)).transpose()
    }

    const fn has_key(&self, key: KeyId) -> bool {
        key.0 < self.key_count()
    }

    /// Returns `name`, `row_count`, `rows_offset`, `base` and `width` of a key that the block refers to; a key out of
    /// range is corruption.
    #[inline(always)]
    pub(crate) fn key_record(&self, key: KeyId) -> Result<[u64; 5]> {
        let keys = &self.frame.catalogue.keys;
        keys.get(&self.catalogue, key.0).unwrap_or_else(|| Err(key_out_of_range(key, keys.count)))
    }

    /// Returns the name's symbol of a key that the block refers to; a key out of range is corruption.
    #[inline]
    pub(crate) fn referenced_key_symbol(&self, key: KeyId) -> Result<SymbolId> {
        let keys = &self.frame.catalogue.keys;
        let name = keys.first(&self.catalogue, key.0).unwrap_or_else(|| Err(key_out_of_range(key, keys.count)))?;
        Ok(SymbolId(low32(name)))
    }

    /// Returns the name of a key that the block refers to; a key out of range is corruption.
    #[inline]
    pub(crate) fn referenced_key_name(&self, key: KeyId) -> Result<&'data [u8]> {
        self.referenced_symbol(self.referenced_key_symbol(key)?)
    }

    /// Returns the symbol at position `code` of a key's dictionary. Reads the key's record and one field, without
    /// opening the dictionary as a [`Table`].
    #[inline(always)]
    pub(crate) fn dictionary_value(&self, key: KeyId, code: u32) -> Result<SymbolId> {
        let [_, row_count, rows_offset, base, width] = self.key_record(key)?;
        if u64::from(code) >= row_count || width > 32 {
            return Err(corrupt(Rule::ColumnCode, Place::Table(key.0.into()), code.into(), row_count));
        }
        let field = self.rows.get(rows_offset * 8 + u64::from(code) * width, low32(width))?;
        u32::try_from(base + field)
            .map(SymbolId)
            .map_err(|_| corrupt(Rule::ColumnCode, Place::Row(key.0, code), base + field, u32::MAX.into()))
    }

    /// Returns the label of a key with the value at position `code` of its dictionary. Returns `None` if the code is
    /// out of range or a byte is damaged; see [`Bits::peek`](crate::bits::Bits::peek).
    #[inline(always)]
    pub(crate) fn try_label(&self, key: u32, code: u32) -> Option<Label<'data>> {
        let [name, row_count, rows_offset, base, width] = self.frame.catalogue.keys.peek(&self.catalogue, key)?;
        if u64::from(code) >= row_count || width > 32 {
            return None;
        }
        let field = self.rows.peek_field(rows_offset * 8 + u64::from(code) * width, low32(width))?;
        let value = u32::try_from(base + field).ok()?;
        Some(Label { name: self.symbols().peek(low32(name))?, value: self.symbols().peek(value)? })
    }

    /// Like [`BlockView::dictionary_value`], but returns `None` instead of an error; see
    /// [`Bits::peek`](crate::bits::Bits::peek).
    #[inline(always)]
    pub(super) fn try_dictionary_value(&self, key: KeyId, code: u32) -> Option<SymbolId> {
        let [_, row_count, rows_offset, base, width] = self.frame.catalogue.keys.peek(&self.catalogue, key.0)?;
        if u64::from(code) >= row_count || width > 32 {
            return None;
        }
        let field = self.rows.peek_field(rows_offset * 8 + u64::from(code) * width, low32(width))?;
        u32::try_from(base + field).ok().map(SymbolId)
    }

    /// Returns the key and the value's position in its dictionary for a row of a map. Returns `None` if the table is
    /// not a map or is damaged; see [`Bits::peek`](crate::bits::Bits::peek).
    #[inline]
    pub(crate) fn try_mapped_value(&self, table: u32, row: u32) -> Option<(u32, u32)> {
        let catalogue = &self.frame.catalogue;
        let number = table.checked_sub(catalogue.keys.count)?;
        let [row_count, rows_offset, shape] = catalogue.tables.get(&self.catalogue, number)?.ok()?;
        let shape = catalogue.shapes.get(&self.catalogue, 0, shape).ok()?;
        let [domain, base, width] = shape.walk()?.next(&self.catalogue)?;
        let key = domain.checked_sub(1).filter(|&key| key < catalogue.keys.count.into())?;
        if shape.column_count > 1 || u64::from(row) >= row_count || width > 32 {
            return None;
        }
        let width = low32(width);
        let bit = rows_offset * 8 + u64::from(row) * u64::from(width);
        let field = self.rows.peek_field(bit, width)?;
        Some((u32::try_from(key).ok()?, u32::try_from(base + field).ok()?))
    }
}

#[cold]
fn key_out_of_range(key: KeyId, count: u32) -> Error {
    corrupt(Rule::KeysOrder, Place::Key(key.0.into()), key.0.into(), count.into())
}
