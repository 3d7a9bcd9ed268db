//! Label keys and their value dictionaries (spec, sections 5 and 7).

use std::cmp::Ordering;
use std::iter::FusedIterator;

use super::symbol::binary_search;
use super::until_error::until_error;
use super::{BlockView, Table, code};
use crate::error::{Place, corrupt};
use crate::number::low32;
use crate::{Error, KeyId, Result, Rule, SymbolId};

impl<'data> BlockView<'data> {
    /// Returns the number of label keys.
    #[must_use]
    pub const fn key_count(&self) -> u32 {
        self.frame.catalogue.keys.count
    }

    /// Returns the symbol of a key's name.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged or the block does not have the key.
    #[inline]
    pub fn key_symbol(&self, key: KeyId) -> Result<SymbolId> {
        let keys = &self.frame.catalogue.keys;
        let name = keys.first(&self.catalogue, key.0).unwrap_or_else(|| Err(key_out_of_range(key, keys.count)))?;
        Ok(SymbolId(low32(name)))
    }

    /// Returns the name of a key.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the block does not have the key.
    #[inline]
    pub fn key_name(&self, key: KeyId) -> Result<&'data [u8]> {
        let kept = self.kept().and_then(|kept| self.symbols().arena().get(kept.key(key)?.name.clone()));
        kept.map_or_else(|| self.symbol(self.key_symbol(key)?), Ok)
    }

    /// Returns the key with this name, or `None` if the block does not have it. Costs a binary search.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn key(&self, name: impl AsRef<[u8]>) -> Result<Option<KeyId>> {
        let name = name.as_ref();
        let found = binary_search(self.key_count(), |key| Ok(self.key_name(KeyId(key))?.cmp(name)))?;
        Ok(found.ok().map(KeyId))
    }

    /// Like [`BlockView::key`], but starts at key `guess`: in a search for sorted names, the next name is close to the
    /// last one. Steps double until they pass the name; a binary search covers the last step.
    pub(crate) fn key_from(&self, name: &[u8], guess: u32) -> Result<Option<KeyId>> {
        let compare = |key: u32| Ok(self.key_name(KeyId(key))?.cmp(name));
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
        until_error(self.key_count(), |key| self.key_name(KeyId(key)))
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
        let column = dictionary.column(0)?;
        let value = move |code| self.symbol(SymbolId(dictionary.code(code, &column)?));
        Ok(Some(until_error(dictionary.row_count(), value)))
    }

    /// Returns the position of a value in its key's dictionary, or `None` if the key or the value is not there. Costs a
    /// binary search.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn value_code(&self, key: KeyId, value: impl AsRef<[u8]>) -> Result<Option<u32>> {
        let value = value.as_ref();
        if !self.has_key(key) {
            return Ok(None);
        }
        let dictionary = self.dictionary_entry(key)?;
        Ok(binary_search(dictionary.row_count, |code| Ok(self.value_in(&dictionary, code)?.cmp(value)))?.ok())
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

    /// Returns the dictionary of a key that the block refers to; a key out of range is corruption.
    #[inline(always)]
    pub(crate) fn dictionary_entry(&self, key: KeyId) -> Result<DictionaryEntry> {
        match self.kept().and_then(|kept| kept.key(key)) {
            Some(kept) => Ok(kept.dictionary),
            None => DictionaryEntry::read(self, key),
        }
    }

    /// Returns the value at position `code` of a dictionary.
    #[inline(always)]
    pub(crate) fn value_in(&self, dictionary: &DictionaryEntry, code: u32) -> Result<&'data [u8]> {
        if let Some(kept) = self.kept().and_then(|kept| kept.key(dictionary.key))
            && let Some(value) = self.symbols().arena().get(kept.value_place(self, code)?)
        {
            return Ok(value);
        }
        self.symbol(dictionary.value(self, code)?)
    }

    /// Returns the symbol at position `code` of a key's dictionary. Reads the key's record and one field.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the block does not have the key or the position.
    #[inline(always)]
    pub fn dictionary_value(&self, key: KeyId, code: u32) -> Result<SymbolId> {
        self.dictionary_entry(key)?.value(self, code)
    }
}

/// A key and its dictionary, as the catalogue describes them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DictionaryEntry {
    pub key: KeyId,
    /// Symbol of the key's name.
    pub name: SymbolId,
    pub row_count: u32,
    /// Smallest symbol, which is added to each field.
    pub base: u32,
    pub width: u32,
    /// First bit of the rows in the rows section.
    pub first_bit: u64,
}

impl DictionaryEntry {
    #[inline(always)]
    pub(crate) fn read(view: &BlockView<'_>, key: KeyId) -> Result<Self> {
        let keys = &view.frame.catalogue.keys;
        let record = keys.get(&view.catalogue, key.0).unwrap_or_else(|| Err(key_out_of_range(key, keys.count)));
        let [name, row_count, rows_offset, base, width] = record?;
        if width > 32 {
            return Err(corrupt(Rule::TableExtent, Place::Table(key.0.into()), width, 32));
        }
        let [row_count, base, width] = [row_count, base, width].map(low32);
        Ok(Self { key, name: SymbolId(low32(name)), row_count, base, width, first_bit: rows_offset * 8 })
    }

    /// Returns the symbol at position `code`.
    #[inline(always)]
    pub(crate) fn value(&self, view: &BlockView<'_>, code: u32) -> Result<SymbolId> {
        let key = self.key.0;
        if code >= self.row_count {
            return Err(corrupt(Rule::ColumnCode, Place::Table(key.into()), code.into(), self.row_count.into()));
        }
        let field = view.rows.get(self.first_bit + u64::from(code) * u64::from(self.width), self.width)?;
        self::code(u64::from(self.base) + field, key, code).map(SymbolId)
    }
}

#[cold]
fn key_out_of_range(key: KeyId, count: u32) -> Error {
    corrupt(Rule::KeysOrder, Place::Key(key.0.into()), key.0.into(), count.into())
}
