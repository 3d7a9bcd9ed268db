//! Labels as text, after one check of a block's symbols.

use std::slice;
use std::sync::OnceLock;

use chronoxide_format::view::{BlockView, Label, Resolver, TextLabel};
use chronoxide_format::{Error, SeriesRef};

/// Records whether the symbols of a block are UTF-8, after they were checked.
///
/// It is part of a [`Block`](crate::Block), whose bytes never change: the result stays valid. Damage is kept, too, or
/// each series of a damaged block would check the whole arena.
#[derive(Debug, Default)]
pub(crate) struct ArenaText {
    checked: OnceLock<Result<(), Error>>,
}

impl ArenaText {
    /// Returns the arena of the block that owns this record, as text.
    ///
    /// # Safety
    /// All calls on one `ArenaText` must come with views of the same immutable bytes by the same frame. Views of a
    /// packed arena must be [packed](BlockView::is_packed), or have the same immutable bytes as its decoded arena.
    pub(crate) unsafe fn get<'a>(&self, view: &BlockView<'a>) -> Result<&'a str, Error> {
        if view.is_packed() {
            // An error.
            return view.check_arena();
        }
        self.checked.get_or_init(|| view.check_arena().map(drop)).clone()?;
        // SAFETY: `checked` is `Ok` only after `check_arena` found the arena of a view that is not packed to be UTF-8.
        // This view is not packed either, and by this function's contract its arena has the same bytes: cut by the same
        // frame, or decoded once.
        Ok(unsafe { std::str::from_utf8_unchecked(view.symbols().arena()) })
    }
}

/// Resolves series to labels as text: a [`Resolver`] of a block whose symbols were checked, so that reading text costs
/// no more than reading bytes.
#[derive(Clone, Debug)]
pub struct TextResolver<'data, 'view> {
    resolver: Resolver<'data, 'view>,
}

impl<'data, 'view> TextResolver<'data, 'view> {
    /// # Safety
    /// The view must have been given to [`ArenaText::get`], with success.
    pub(crate) unsafe fn from_checked(view: &'view BlockView<'data>) -> Self {
        Self { resolver: view.resolver() }
    }

    /// Returns the labels of a series, in the order of their names, or `None` if it is out of range.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged. Later calls are not affected.
    #[inline]
    pub fn labels(&mut self, series: SeriesRef) -> Result<Option<&[TextLabel<'data>]>, Error> {
        let labels = self.resolver.labels(series)?;
        // SAFETY: the labels of a resolver of this view are symbols of it.
        Ok(labels.map(|labels| unsafe { as_text(labels) }))
    }

    /// Returns the labels that [`TextResolver::labels`] returned last; none before, and after an error.
    #[inline]
    #[must_use]
    pub fn last(&self) -> &[TextLabel<'data>] {
        // SAFETY: as above.
        unsafe { as_text(self.resolver.last()) }
    }
}

/// Returns labels as text.
///
/// # Safety
/// Names and values must be empty, or symbols of a block whose arena was checked: [`BlockView::check_arena`] finds
/// that all symbols begin and end between characters of an arena that is UTF-8.
#[inline]
unsafe fn as_text<'a, 'data>(labels: &'a [Label<'data>]) -> &'a [TextLabel<'data>] {
    // SAFETY: both types of labels are `repr(C)` with a slice of bytes or a `str` for the name, then for the value, and
    // a `str` has the layout of a slice of bytes. That these bytes are UTF-8 is this function's contract. Lifetimes
    // and length are those of `labels`.
    unsafe { slice::from_raw_parts(labels.as_ptr().cast(), labels.len()) }
}
