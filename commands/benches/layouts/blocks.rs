//! A data set sealed in every layout.

use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_labels::{LabelSets, Layout};

use crate::sets::DataSet;

/// The layouts, the simplest first.
const LAYOUTS: [Layout; 3] = [Layout::FixedWidth, Layout::BitPacked, Layout::Factored];

/// A data set, and its blocks by layout.
pub struct Blocks {
    pub set: DataSet,
    pub series: u32,
    pub of_layouts: [(Layout, Vec<u8>); 3],
}

impl Blocks {
    pub fn from_set(set: DataSet) -> Self {
        let series = set.store().len() as u32;
        let of_layouts = LAYOUTS.map(|layout| (layout, set.seal(layout)));
        for (layout, block) in &of_layouts {
            let verified = BlockView::open(block).and_then(|view| view.verify());
            let verified = verified.unwrap_or_else(|error| panic!("{}, {}: {error}", set.name, layout.name()));
            assert_eq!(verified.series_count, u64::from(series), "{}, {}", set.name, layout.name());
        }
        Self { set, series, of_layouts }
    }
}

impl DataSet {
    /// The block of this set: planned, if the layout asks for it.
    pub fn seal(&self, layout: Layout) -> Vec<u8> {
        self.store().seal(layout, &BlockMeta::default()).expect("the set is within limits").block
    }
}
