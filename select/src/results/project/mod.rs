//! Labels of selected series, on codes: projection, grouping and fingerprints.

mod count;
mod fingerprints;
mod fold;
mod groups;
mod projection;
mod spans;
mod stored_bytes;
mod text_bytes;
mod weights;
mod without;

use self::fold::KeptKeys;
use crate::{Searcher, SelectError};

pub(crate) use fingerprints::RandomHash;
pub use groups::Groups;
pub use projection::Projection;
pub(crate) use spans::{for_each_keyset, room_for};
pub use stored_bytes::StoredBytes;
pub use text_bytes::TextBytes;
pub use without::SeriesProducts;

/// Labels of a series that are kept, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels<'n> {
    /// All labels.
    All,
    /// Labels with these names.
    By(&'n [&'n str]),
    /// Labels with other names. PromQL's `without` also drops `__name__`: name it, too.
    Without(&'n [&'n str]),
}

impl Labels<'_> {
    /// Returns the keys of a block that are kept.
    fn keys(self, searcher: &Searcher<'_, '_>) -> Result<KeptKeys, SelectError> {
        let find = |names: &[&str]| {
            let keys = names.iter().filter_map(|name| searcher.key(name.as_bytes()).transpose());
            keys.collect::<Result<Vec<_>, _>>()
        };
        let (named, are_kept) = match self {
            Self::All => (Vec::new(), false),
            Self::By(names) => (find(names)?, true),
            Self::Without(names) => (find(names)?, false),
        };
        Ok(KeptKeys::new(searcher.view.key_count(), |key| named.contains(&key) == are_kept))
    }
}
