//! Label names and, per name, the dictionary of its values.

use std::hash::BuildHasher;

use chronoxide_planner::Origin;
use hashbrown::HashTable;

use crate::arena::ArenaSymbolTable;
use crate::error::{Counted, LabelError};
use crate::growth::push;
use crate::number_index::NumberIndex;
use crate::symbols::{StoreSymbolId, SymbolTable};

/// Number of a label name in one store, in order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreKeyId(pub u32);

/// Number of a value among the values of its label name in one store, in order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueCode(pub u32);

/// Label of one store: a name and one of its values. Two labels of a store are equal if and only if both numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelId {
    /// Label name.
    pub key: StoreKeyId,
    /// Value, numbered among the values of the name.
    pub code: ValueCode,
}

impl StoreKeyId {
    /// Returns the id as a position.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// All label names of a store, in order of arrival.
#[derive(Debug, Default, Clone)]
pub(crate) struct Keys {
    keys: Vec<Key>,
    /// Memory of all dictionaries in bytes, kept so that no pass over them is needed.
    dictionary_bytes: usize,
    /// Number of values of all keys.
    value_count: usize,
    /// Bits of all codes of all series, if each has as many as the largest code of its key.
    code_bits: u64,
    /// Key numbers by the hash of the name. Names are few: this table stays in the cache, which the table of all
    /// symbols does not.
    index: NumberIndex,
}

/// Label name with the dictionary of its values.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) name: StoreSymbolId,
    /// Symbol of each code.
    pub(crate) values: Vec<StoreSymbolId>,
    /// Number of series with this key.
    series_count: u32,
    /// Bits of the largest code. Kept beside the count: both are read for each label of a new series.
    bits: u8,
    /// Origin of its labels, [`Origin::Unknown`] if none or several were noted.
    origins: Origins,
    /// (Symbol, code) by the hash of the value. The key is the string instead of its symbol: one lookup in a small
    /// table replaces two, one of them in the large table of symbols.
    index: HashTable<(StoreSymbolId, u32)>,
}

impl Keys {
    /// Returns the names with their dictionaries, in order of arrival.
    pub(crate) fn as_slice(&self) -> &[Key] {
        &self.keys
    }

    /// Returns the key of a name, or `None` if the name is unknown.
    pub(crate) fn get(&self, symbols: &ArenaSymbolTable<impl BuildHasher>, name: &str) -> Option<StoreKeyId> {
        self.get_hashed(symbols, symbols.hash(name), name)
    }

    fn get_hashed(&self, symbols: &ArenaSymbolTable<impl BuildHasher>, hash: u64, name: &str) -> Option<StoreKeyId> {
        let same = |key: u32| self.keys.get(key as usize).is_some_and(|key| symbols.text(key.name.0) == name);
        self.index.find(hash, same).map(StoreKeyId)
    }

    /// Returns the key of a name, and adds the name if it is new.
    pub(crate) fn intern(
        &mut self,
        symbols: &mut ArenaSymbolTable<impl BuildHasher>,
        name: &str,
    ) -> Result<StoreKeyId, LabelError> {
        let hash = symbols.hash(name);
        if let Some(key) = self.get_hashed(symbols, hash, name) {
            return Ok(key);
        }
        let key = Counted::Key.next(self.keys.len())?;
        let name = symbols.intern_hashed(hash, name)?;
        self.keys.push(Key {
            name,
            values: Vec::new(),
            series_count: 0,
            bits: 0,
            origins: Origins::default(),
            index: HashTable::new(),
        });
        let keys = &self.keys;
        self.index
            .push(hash, |other| symbols.hash(keys.get(other as usize).map_or("", |key| symbols.text(key.name.0))));
        Ok(StoreKeyId(key))
    }

    /// Records an origin of the labels of a key.
    pub(crate) fn note_origin(&mut self, key: StoreKeyId, origin: Origin) {
        if let Some(key) = self.keys.get_mut(key.index()) {
            match origin {
                Origin::Resource => key.origins.resource = true,
                Origin::Point => key.origins.point = true,
                Origin::Unknown => {}
            }
        }
    }

    /// Returns the code of a value of a key, or `None` if the value is unknown.
    pub(crate) fn get_value(
        &self,
        symbols: &ArenaSymbolTable<impl BuildHasher>,
        key: StoreKeyId,
        value: &str,
    ) -> Option<ValueCode> {
        self.keys.get(key.index())?.get_hashed(symbols, symbols.hash(value), value)
    }

    /// Returns the code of a value of a key, and adds the value if it is new.
    pub(crate) fn intern_value(
        &mut self,
        symbols: &mut ArenaSymbolTable<impl BuildHasher>,
        key: StoreKeyId,
        value: &str,
    ) -> Result<ValueCode, LabelError> {
        let unknown = LabelError::Unknown { what: Counted::Key, number: key.0 };
        let key = self.keys.get_mut(key.index()).ok_or(unknown)?;
        let hash = symbols.hash(value);
        if let Some(code) = key.get_hashed(symbols, hash, value) {
            return Ok(code);
        }
        let code = Counted::Value.next(key.values.len())?;
        let symbol = symbols.intern_hashed(hash, value)?;
        let before = key.estimated_bytes();
        push(&mut key.values, symbol);
        key.index.insert_unique(hash, (symbol, code), |&(symbol, _)| symbols.hash(symbols.text(symbol.0)));
        self.dictionary_bytes += key.estimated_bytes() - before;
        self.value_count += 1;
        let bits = (u32::BITS - code.leading_zeros()) as u8;
        self.code_bits += u64::from(bits - key.bits) * u64::from(key.series_count);
        key.bits = bits;
        Ok(ValueCode(code))
    }

    /// Returns the name of a key.
    pub(crate) fn name<'a>(&self, symbols: &'a ArenaSymbolTable<impl BuildHasher>, key: StoreKeyId) -> Option<&'a str> {
        symbols.resolve(self.keys.get(key.index())?.name)
    }

    /// Returns the value of a label.
    pub(crate) fn value<'a>(&self, symbols: &'a ArenaSymbolTable<impl BuildHasher>, label: LabelId) -> Option<&'a str> {
        let key = self.keys.get(label.key.index())?;
        symbols.resolve(*key.values.get(label.code.0 as usize)?)
    }

    /// Returns true if this is the code of a value of the key.
    #[inline]
    pub(crate) fn has_value(&self, key: StoreKeyId, code: ValueCode) -> bool {
        self.keys.get(key.index()).is_some_and(|key| (code.0 as usize) < key.values.len())
    }

    /// Counts a new series with these keys.
    #[inline]
    pub(crate) fn count_series(&mut self, keys: &[StoreKeyId]) {
        for key in keys {
            if let Some(key) = self.keys.get_mut(key.index()) {
                // A store has less than 2^32 series.
                key.series_count += 1;
                self.code_bits += u64::from(key.bits);
            }
        }
    }

    /// Returns the number of values of all keys.
    pub(crate) fn value_count(&self) -> usize {
        self.value_count
    }

    /// Returns the length of all codes of all series in bytes, if each has as many bits as the largest of its key.
    pub(crate) fn packed_bytes(&self) -> usize {
        usize::try_from(self.code_bits / 8).unwrap_or(usize::MAX)
    }

    pub(crate) fn estimated_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<Key>() + self.index.estimated_bytes() + self.dictionary_bytes
    }

    pub(crate) fn used_bytes(&self) -> usize {
        let values: usize = self.keys.iter().map(|key| key.values.len()).sum();
        // A code, and an entry of the hash table with its control byte.
        let value_size = size_of::<StoreSymbolId>() + size_of::<(StoreSymbolId, u32)>() + 1;
        self.keys.len() * size_of::<Key>() + self.index.used_bytes() + values * value_size
    }
}

/// Origins of the labels of a key so far.
#[derive(Debug, Clone, Copy, Default)]
struct Origins {
    resource: bool,
    point: bool,
}

impl Key {
    /// Returns the origin if there is exactly one.
    pub(crate) fn origin(&self) -> Origin {
        match self.origins {
            Origins { resource: true, point: false } => Origin::Resource,
            Origins { resource: false, point: true } => Origin::Point,
            _ => Origin::Unknown,
        }
    }

    fn estimated_bytes(&self) -> usize {
        self.values.capacity() * size_of::<StoreSymbolId>() + self.index.allocation_size()
    }

    fn get_hashed(&self, symbols: &ArenaSymbolTable<impl BuildHasher>, hash: u64, value: &str) -> Option<ValueCode> {
        let same = |&(symbol, _): &(StoreSymbolId, u32)| symbols.text(symbol.0) == value;
        self.index.find(hash, same).map(|&(_, code)| ValueCode(code))
    }
}
