//! [`OwnedLabels`]: labels that outlive their block.

use std::fmt;
use std::iter::FusedIterator;

use byteview::ByteView;
use chronoxide_format::Result;
use chronoxide_format::view::{Label, Series};

/// The labels of a series, copied out of the block. Strings of up to 20 bytes are stored inline, longer ones in an
/// allocation that clones share.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OwnedLabels {
    labels: Box<[(ByteView, ByteView)]>,
}

impl fmt::Debug for OwnedLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        f.debug_map().entries(self.iter().map(|label| (text(label.name), text(label.value)))).finish()
    }
}

impl OwnedLabels {
    /// Copies the labels of a series.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn from_series(series: &Series<'_, '_>) -> Result<Self> {
        let owned = |label: Label<'_>| (ByteView::new(label.name), ByteView::new(label.value));
        Ok(Self { labels: series.labels().map(|label| label.map(owned)).collect::<Result<_>>()? })
    }

    /// Names and values, in the order of names.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Label<'_>> + FusedIterator {
        self.labels.iter().map(|(name, value)| Label { name, value })
    }

    /// Returns the value of the label `name`.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        let name = name.as_ref();
        let found = self.labels.binary_search_by(|(other, _)| (**other).cmp(name));
        found.ok().and_then(|place| self.labels.get(place)).map(|(_, value)| &**value)
    }
}
