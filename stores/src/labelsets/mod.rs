//! Labelset stores.

mod flat;
mod naive;
mod sealed;

pub use chronoxide_labels::KeysetStore as KeySetDictEncodedLabelSetStore;
pub use flat::FlatInternedLabelSetStore;
pub use naive::NaiveLabelSetStore;
pub use sealed::{
    BitPackedKeySetLabelSetStore, ExactBits, FixedWidthPackedKeySetLabelSetStore, RowWidth, SealedLabelSets, WholeBytes,
};
