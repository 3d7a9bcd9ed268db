//! Iteration over numbered items that may be damaged.

use std::iter::FusedIterator;

use crate::Result;

/// Returns an iterator over items `0..count`. It ends after the first error.
pub(crate) fn until_error<T>(
    count: u32,
    mut get: impl FnMut(u32) -> Result<T>,
) -> impl FusedIterator<Item = Result<T>> {
    let mut failed = false;
    (0..count)
        .map_while(move |number| {
            let item = (!failed).then(|| get(number))?;
            failed = item.is_err();
            Some(item)
        })
        .fuse()
}
