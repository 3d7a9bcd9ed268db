//! Cache of the check that a block's arena is UTF-8.

use std::sync::OnceLock;

use chronoxide_format::Error;
use chronoxide_format::view::BlockView;

/// Records whether the arena of a block is UTF-8, after it was checked.
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
