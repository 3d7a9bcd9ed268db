//! Labels that outlive their block.

use std::fmt;

use byteview::ByteView;
use chronoxide_format::Result;
use chronoxide_format::view::{Label, Series};

/// The labels of a series, copied out of the block: a string of up to 20 bytes lies in the view itself, a longer one in an allocation that
/// clones share.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OwnedLabels {
    labels: Box<[(ByteView, ByteView)]>,
}

impl fmt::Debug for OwnedLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        f.debug_map().entries(self.iter().map(|(name, value)| (text(name), text(value)))).finish()
    }
}

impl OwnedLabels {
    /// Copies the labels of a series.
    ///
    /// # Errors
    /// Damage to what was touched.
    pub fn of(series: &Series<'_>) -> Result<Self> {
        let owned = |label: Label<'_>| (ByteView::new(label.name), ByteView::new(label.value));
        Ok(Self { labels: series.labels().map(|label| label.map(owned)).collect::<Result<_>>()? })
    }

    /// Names and values, in the order of names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.labels.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The value of the label `name`.
    pub fn get(&self, name: &[u8]) -> Option<&ByteView> {
        let found = self.labels.binary_search_by(|(other, _)| (**other).cmp(name));
        found.ok().and_then(|place| self.labels.get(place)).map(|(_, value)| value)
    }
}
