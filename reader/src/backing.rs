//! The closed set of places where a block's bytes may lie.

use std::sync::Arc;

use memmap2::Mmap;

/// The bytes of a block. All variants give the same immutable bytes each time they are asked, which is why what was checked once stays true.
#[derive(Debug)]
pub(crate) enum Backing {
    Map(Mmap),
    Heap(Vec<u8>),
    Shared(Arc<[u8]>),
}

impl Backing {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Map(map) => map,
            Self::Heap(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}
