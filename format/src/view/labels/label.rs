//! Labels as ids, as bytes and as text.

use std::fmt;

use crate::number::low32;
use crate::view::catalogue::BlockView;
use crate::{KeyId, Result, SymbolId};

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

/// A label as bytes of the block. Its `Debug` output is text. [`TextLabel`] is the same label as `&str`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextLabel<'data> {
    /// Name of the label.
    pub name: &'data str,
    /// Value of the label.
    pub value: &'data str,
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
        let record = self.key_record(key)?;
        let [name, ..] = record;
        Ok(Label { name: self.symbol(SymbolId(low32(name)))?, value: self.symbol(self.value_in(key, code, record)?)? })
    }
}
