//! Search for the series with given labels, with the help of the index.

use std::borrow::Cow;

use chronoxide_format::layout::MAX_LABELS;
use chronoxide_format::view::FindError;
use chronoxide_format::{KeyId, SeriesRef};

use crate::Searcher;

/// A name or value as a block has it, after its label policy.
type Stored<'l> = Cow<'l, [u8]>;

impl Searcher<'_, '_> {
    /// Returns the series with exactly these labels, or `None` if the block does not have it. The block's label policy
    /// is applied to names and values first. Labels with an empty value are ignored. Labels may come in any order.
    ///
    /// Two to four times faster than [`BlockView::find`](chronoxide_format::view::BlockView::find): the keyset comes
    /// from the index, and values are compared only with those of rows that a binary search meets. Costs some 4 us for
    /// 25 labels in a block of a million series, and 1 us if the block does not have all names.
    ///
    /// # Errors
    /// [`FindError::DuplicateName`] if two labels have one name and the block has that name; [`FindError::Block`] if a
    /// byte that was read is damaged. The [`Limits`](crate::Limits) are not checked.
    pub fn find<N: AsRef<[u8]>, V: AsRef<[u8]>>(&self, labels: &[(N, V)]) -> Result<Option<SeriesRef>, FindError> {
        let policy = self.view.meta()?.policy();
        let mut wanted: Vec<(KeyId, Stored<'_>)> = Vec::with_capacity(labels.len());
        // A known name that comes twice is an error even if another name or value is unknown.
        let mut is_known = true;
        for (name, value) in labels {
            if value.as_ref().is_empty() {
                continue;
            }
            let key = match policy.name_bytes(name.as_ref()) {
                Some(name) => self.index.key(self.view, &name)?,
                None => None,
            };
            match (key, policy.value_bytes(value.as_ref())) {
                (Some(key), Some(value)) => wanted.push((key, value)),
                (Some(key), None) => {
                    is_known = false;
                    wanted.push((key, Cow::Borrowed(&[])));
                }
                (None, _) => is_known = false,
            }
        }
        if wanted.len() > MAX_LABELS as usize {
            return Ok(None);
        }
        if !wanted.is_sorted_by_key(|(key, _)| *key) {
            wanted.sort_unstable_by_key(|(key, _)| *key);
        }
        if wanted.windows(2).any(|pair| matches!(pair, [(left, _), (right, _)] if left == right)) {
            return Err(FindError::DuplicateName);
        }
        if !is_known || wanted.is_empty() {
            return Ok(None);
        }
        let wanted: Vec<(KeyId, &[u8])> = wanted.iter().map(|(key, value)| (*key, &**value)).collect();
        for keyset in self.index.keysets_with_keys(wanted.iter().map(|(key, _)| *key)) {
            if let Some(keyset) = self.view.keyset(keyset.keyset)?
                && let Some(series) = keyset.find_values(&wanted)?
            {
                return Ok(Some(series));
            }
        }
        Ok(None)
    }
}
