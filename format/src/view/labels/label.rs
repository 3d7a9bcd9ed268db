//! Labels as ids, as bytes and as text.

use std::fmt;
use std::ops::Range;

use crate::error::{Place, corrupt};
use crate::number::length;
use crate::view::catalogue::BlockView;
use crate::{Error, KeyId, Result, Rule, SymbolId};

/// A label as ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelIds {
    /// Key of the label, whose number is also that of its dictionary.
    pub key: KeyId,
    /// Position of the value in the key's dictionary.
    pub code: u32,
    /// Symbol of the value.
    pub value: SymbolId,
}

/// A label as bytes of the block, laid out like a [`TextLabel`]. Its `Debug` output is text. [`TextLabel`] is the same
/// label as `&str`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(C)]
pub struct Label<'data> {
    /// Name of the label.
    pub name: &'data [u8],
    /// Value of the label.
    pub value: &'data [u8],
}

impl fmt::Debug for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [name, value] = [self.name, self.value].map(String::from_utf8_lossy);
        f.debug_struct("Label").field("name", &name).field("value", &value).finish()
    }
}

impl<'data> From<Label<'data>> for (&'data [u8], &'data [u8]) {
    fn from(label: Label<'data>) -> Self {
        (label.name, label.value)
    }
}

/// A label as text of the block. [`Text`](super::Text) checks once that the block's symbols are UTF-8.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(C)]
pub struct TextLabel<'data> {
    /// Name of the label.
    pub name: &'data str,
    /// Value of the label.
    pub value: &'data str,
}

impl fmt::Debug for TextLabel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Label").field("name", &self.name).field("value", &self.value).finish()
    }
}

impl<'data> From<TextLabel<'data>> for (&'data str, &'data str) {
    fn from(label: TextLabel<'data>) -> Self {
        (label.name, label.value)
    }
}

impl<'data> BlockView<'data> {
    /// Returns a label as ids.
    #[inline(always)]
    pub(crate) fn label_ids(&self, key: KeyId, code: u32) -> Result<LabelIds> {
        Ok(LabelIds { key, code, value: self.dictionary_value(key, code)? })
    }

    /// Returns a label as bytes.
    #[inline(always)]
    pub(crate) fn label(&self, key: KeyId, code: u32) -> Result<Label<'data>> {
        let [name, value] = self.label_places(key, code)?;
        let arena = self.symbols().arena();
        match (arena.get(name), arena.get(value)) {
            (Some(name), Some(value)) => Ok(Label { name, value }),
            _ => Err(self.no_arena()),
        }
    }

    /// Returns the places of name and value of a label in the arena.
    #[inline(always)]
    pub(super) fn label_places(&self, key: KeyId, code: u32) -> Result<[Range<usize>; 2]> {
        if let Some(kept) = self.kept().and_then(|kept| kept.key(key)) {
            return Ok([kept.name.clone(), kept.value_place(self, code)?]);
        }
        let (symbols, dictionary) = (self.symbols(), self.dictionary_entry(key)?);
        Ok([symbols.range(dictionary.name)?, symbols.range(dictionary.value(self, code)?)?])
    }

    /// Returns the value of a label as bytes.
    #[inline(always)]
    pub(super) fn value(&self, key: KeyId, code: u32) -> Result<&'data [u8]> {
        let place = match self.kept().and_then(|kept| kept.key(key)) {
            Some(kept) => kept.value_place(self, code)?,
            None => self.symbols().range(self.dictionary_value(key, code)?)?,
        };
        self.symbols().arena().get(place).ok_or_else(|| self.no_arena())
    }

    /// Returns the error of a place that the arena does not have, which only the paths of another block say.
    #[cold]
    pub(super) fn no_arena(&self) -> Error {
        let arena_len = length(self.symbols().arena().len());
        let damage = || corrupt(Rule::SymbolsStarts, Place::Block, arena_len, arena_len);
        self.symbols().expect_arena().err().unwrap_or_else(damage)
    }
}
