//! [`Text`]: labels of a block as `&str`.

use std::fmt;
use std::iter::FusedIterator;

use super::{LabelIdsIter, Series, TextLabel};
use crate::error::{Place, corrupt_at};
use crate::view::catalogue::BlockView;
use crate::{KeyId, Result, Rule, SymbolId};

/// The symbols of a block as text. The arena was checked once, so that each symbol costs only a check that it starts
/// and ends between characters.
#[derive(Clone, Copy)]
pub struct Text<'data, 'view> {
    view: &'view BlockView<'data>,
    arena: &'data str,
}

impl fmt::Debug for Text<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Text").field("view", &self.view()).finish_non_exhaustive()
    }
}

impl<'data> BlockView<'data> {
    /// Returns all symbols as text, after [`BlockView::check_arena`].
    ///
    /// # Errors
    /// `Corrupt` if the arena is damaged.
    pub fn text(&self) -> Result<Text<'data, '_>> {
        Ok(Text::from_checked(self, self.check_arena()?))
    }
}

impl<'data, 'view> Text<'data, 'view> {
    /// Returns the text of an arena that was checked before by [`BlockView::check_arena`]. The arena of another block
    /// gives wrong text or errors.
    #[must_use]
    pub const fn from_checked(view: &'view BlockView<'data>, arena: &'data str) -> Self {
        Self { view, arena }
    }

    /// Returns the arena: all symbols, concatenated.
    #[must_use]
    pub const fn arena(&self) -> &'data str {
        self.arena
    }

    /// Returns the block.
    #[must_use]
    pub const fn view(&self) -> &'view BlockView<'data> {
        self.view
    }

    /// Returns the text of symbol `id`.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged, the block does not have the symbol, or it starts or ends inside a
    /// character.
    #[inline]
    pub fn symbol(&self, id: SymbolId) -> Result<&'data str> {
        let range = self.view.symbols().range(id)?;
        self.arena.get(range).ok_or_else(|| corrupt_at(Rule::SymbolsUtf8, Place::Symbol(id.0.into())))
    }

    #[inline(always)]
    pub(super) fn label(&self, key: KeyId, code: u32) -> Result<TextLabel<'data>> {
        let [name, value] = self.view.label_places(key, code)?;
        match (self.arena.get(name), self.arena.get(value)) {
            (Some(name), Some(value)) => Ok(TextLabel { name, value }),
            // One of the two starts or ends inside a character.
            _ => Err(corrupt_at(Rule::SymbolsUtf8, Place::Symbol(self.view.dictionary_value(key, code)?.0.into()))),
        }
    }

    /// Returns the labels of a series of this block, in the order of their names. Nothing is allocated.
    #[inline]
    #[must_use]
    pub fn labels(&self, series: &Series<'data, 'view>) -> TextLabels<'data, 'view> {
        TextLabels { text: *self, ids: series.label_ids() }
    }
}

/// Iterator over the labels of a series as text, in the order of their names. After an error it ends.
#[derive(Clone, Debug)]
pub struct TextLabels<'data, 'view> {
    text: Text<'data, 'view>,
    ids: LabelIdsIter<'data, 'view>,
}

impl<'data> Iterator for TextLabels<'data, '_> {
    type Item = Result<TextLabel<'data>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Self { text, ids } = self;
        ids.codes.next(|_, key, code| text.label(key, code))
    }
}

impl FusedIterator for TextLabels<'_, '_> {}
