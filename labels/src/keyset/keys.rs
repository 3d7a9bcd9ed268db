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
    /// Number of values of each key. All keys of a new series are looked up in this list, which is short enough for the
    /// first-level cache.
    value_counts: Vec<u32>,
    /// Memory of all dictionaries in bytes, kept so that no pass over them is needed.
    dictionary_bytes: usize,
    /// Number of values of all keys.
    value_count: usize,
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
    /// Numbers of the keysets with this key.
    keysets: Vec<u32>,
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
            keysets: Vec::new(),
            origins: Origins::default(),
            index: HashTable::new(),
        });
        self.value_counts.push(0);
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

    /// Returns the code of a value of a key, and adds the value if it is new. Returns true if the codes of the key take
    /// one more bit now.
    pub(crate) fn intern_value(
        &mut self,
        symbols: &mut ArenaSymbolTable<impl BuildHasher>,
        key: StoreKeyId,
        value: &str,
    ) -> Result<(ValueCode, bool), LabelError> {
        let unknown = LabelError::Unknown { what: Counted::Key, number: key.0 };
        let count = self.value_counts.get_mut(key.index()).ok_or(unknown)?;
        let key = self.keys.get_mut(key.index()).ok_or(unknown)?;
        let hash = symbols.hash(value);
        if let Some(code) = key.get_hashed(symbols, hash, value) {
            return Ok((code, false));
        }
        let code = Counted::Value.next(key.values.len())?;
        let symbol = symbols.intern_hashed(hash, value)?;
        let before = key.estimated_bytes();
        push(&mut key.values, symbol);
        key.index.insert_unique(hash, (symbol, code), |&(symbol, _)| symbols.hash(symbols.text(symbol.0)));
        self.dictionary_bytes += key.estimated_bytes() - before;
        self.value_count += 1;
        *count = code + 1;
        Ok((ValueCode(code), code.is_power_of_two()))
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
        self.value_counts.get(key.index()).is_some_and(|&count| code.0 < count)
    }

    /// Records a keyset with these keys. Returns the bits of a row of it: each code takes those of the largest code of
    /// its key.
    pub(crate) fn note_keyset(&mut self, keyset: u32, keys: &[StoreKeyId]) -> u32 {
        let mut bits = 0;
        for key in keys {
            if let (Some(key), Some(count)) = (self.keys.get_mut(key.index()), self.value_counts.get(key.index())) {
                key.keysets.push(keyset);
                bits += u32::BITS - count.saturating_sub(1).leading_zeros();
            }
        }
        bits
    }

    /// Returns the keysets with this key.
    pub(crate) fn keysets(&self, key: StoreKeyId) -> &[u32] {
        self.keys.get(key.index()).map_or(&[], |key| &key.keysets)
    }

    /// Returns the number of values of all keys.
    pub(crate) fn value_count(&self) -> usize {
        self.value_count
    }

    pub(crate) fn estimated_bytes(&self) -> usize {
        let of_key = size_of::<Key>() + size_of::<u32>();
        self.keys.capacity() * of_key + self.index.estimated_bytes() + self.dictionary_bytes
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
