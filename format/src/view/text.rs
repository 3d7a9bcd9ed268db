//! The labels of a block as `&str`.

use std::fmt;

use super::{BlockView, Series};
use crate::error::{Place, corrupt};
use crate::{Result, Rule, SymbolId};

/// The symbols of a block as text: made once, after the arena was found to be sound and UTF-8 throughout, so that each symbol
/// costs a check of its two ends only.
#[derive(Clone, Copy)]
pub struct Text<'v> {
    view: &'v BlockView<'v>,
    arena: &'v str,
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Text").field("view", &self.view()).finish_non_exhaustive()
    }
}

impl<'v> Text<'v> {
    /// The text of an arena that was checked before, by [`BlockView::check_arena`]. A wrong `arena` gives wrong text
    /// or errors, never anything worse.
    pub const fn of_checked(view: &'v BlockView<'v>, arena: &'v str) -> Self {
        Self { view, arena }
    }

    /// The arena: all symbols, one after the other.
    pub const fn arena(&self) -> &'v str {
        self.arena
    }

    /// The block.
    pub const fn view(&self) -> &'v BlockView<'v> {
        self.view
    }

    /// The text of symbol `id`; nothing if there are not so many symbols.
    ///
    /// # Errors
    /// Damage to what was touched, or a symbol that starts or ends inside a character.
    #[inline]
    pub fn symbol(&self, id: SymbolId) -> Result<Option<&'v str>> {
        match self.view.symbols().range(id)? {
            None => Ok(None),
            Some(range) => match self.arena.get(range) {
                Some(symbol) => Ok(Some(symbol)),
                None => Err(corrupt(Rule::SymbolsUtf8, Place::Symbol(id.0.into()), 0, 0)),
            },
        }
    }

    /// The labels of a series of this block, in the order of their names: `(name, value)`. Nothing is allocated. After damage
    /// the error comes once and then nothing.
    #[inline]
    pub fn labels(&self, series: &Series<'v>) -> impl Iterator<Item = Result<(&'v str, &'v str)>> + use<'v> {
        let text = *self;
        series.label_ids().map(move |ids| {
            let ids = ids?;
            Ok((text.required(text.view.key_symbol(ids.key)?)?, text.required(ids.value)?))
        })
    }

    #[inline]
    fn required(&self, id: SymbolId) -> Result<&'v str> {
        let count = self.view.symbols().count();
        self.symbol(id)?.ok_or_else(|| corrupt(Rule::ColumnCode, Place::Symbol(id.0.into()), id.0.into(), count.into()))
    }
}
