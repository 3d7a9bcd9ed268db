//! When checksums are checked.

use chronoxide_format::checksum::ChunkProofs;

/// When the checksums of a block or a remap are checked. Its header and its directory always are, when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Checks {
    /// Each chunk of 8 KiB when it is first read. Opening costs O(sections), and a damaged chunk gives an error.
    #[default]
    Lazy,
    /// All of them at opening: one pass over the block at some 20 GB/s, and no further cost.
    Eager,
    /// Never, for bytes that were checked before. Damage gives an error or wrong values.
    Never,
}

impl Checks {
    /// Checks all checksums now, or returns a record for later checks.
    pub(crate) fn begin<E>(
        self,
        bytes: &[u8],
        check_all: impl FnOnce(&[u8]) -> Result<(), E>,
    ) -> Result<Option<ChunkProofs>, E> {
        match self {
            Self::Lazy => Ok(Some(ChunkProofs::new(bytes.len()))),
            Self::Eager => check_all(bytes).map(|()| None),
            Self::Never => Ok(None),
        }
    }
}
