//! Cache of the check that a block's arena is UTF-8.

use std::sync::OnceLock;

use chronoxide_format::Error;
use chronoxide_format::view::BlockView;

/// Records that the arena of a block was checked and is UTF-8.
///
/// It is part of a [`Block`](crate::Block), whose bytes never change: the result stays valid.
#[derive(Debug, Default)]
pub(crate) struct ArenaText {
    checked: OnceLock<()>,
}

impl ArenaText {
    /// Returns the arena of the block that owns this record, as text.
    ///
    /// # Safety
    /// All calls on one `ArenaText` must come with views of the same immutable bytes by the same frame. Views of a
    /// packed arena must be [packed](BlockView::is_packed), or have the same immutable bytes as its decoded arena.
    pub(crate) unsafe fn get<'a>(&self, view: &BlockView<'a>) -> Result<&'a str, Error> {
        if view.is_packed() || self.checked.get().is_none() {
            // An error if the view is packed.
            let arena = view.check_arena()?;
            // Two threads may both check, which is harmless.
            let _ = self.checked.set(());
            return Ok(arena);
        }
        // SAFETY: `checked` is set only after `check_arena` found the arena of a view that is not packed to be UTF-8.
        // This view is not packed either, and by this function's contract its arena has the same bytes: cut by the same
        // frame, or decoded once.
        Ok(unsafe { std::str::from_utf8_unchecked(view.symbols().arena()) })
    }
}
