//! One merge, and the baseline.

use std::path::Path;

use chronoxide_compactor::{
    CompactOptions, Compaction, NoObserver, Observer, PLANNED_SERIES, SCRATCH_MEMORY, Summary, verify_file,
};
use chronoxide_format::write::BlockMeta;
use chronoxide_labels::{KeysetStore, LabelSetStore};
use chronoxide_publish::{Disk, Existing};
use chronoxide_reader::{Block, Checks, OpenError};

use crate::inputs::{Inputs, for_each_series};

/// Merges the inputs into a file; returns what became of the series, and the bytes of the file.
pub fn merge(inputs: &Inputs) -> (Summary, u64) {
    watched(inputs, &NoObserver)
}

/// Merges with an observer.
pub fn watched(inputs: &Inputs, observer: &dyn Observer) -> (Summary, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let views = inputs.views();
    let options = CompactOptions { layout: inputs.layout, ..CompactOptions::default() };
    let compaction = Compaction {
        system: &Disk,
        inputs: &views,
        options: &options,
        remaps: None,
        scratch_memory: SCRATCH_MEMORY,
        planned_series: PLANNED_SERIES,
        observer,
    };
    let merged =
        compaction.merge_to_file(&folder.path().join("merged.cx"), Existing::Refuse, &|path| verify_file(path, &map));
    let (summary, published) = merged.expect("sound blocks are merged");
    assert_eq!(summary.series_in, inputs.series_in);
    assert_eq!(summary.series_in, summary.series_out + summary.duplicates);
    (summary, published.byte_len)
}

fn map(path: &Path) -> Result<Block, OpenError> {
    // SAFETY: no other process knows the folder.
    unsafe { Block::map(path, Checks::Never) }
}

/// Every series resolved, inserted into a store, and the store sealed.
pub fn store(inputs: &Inputs) -> u64 {
    let mut store = KeysetStore::default();
    for view in inputs.views() {
        view.verify().expect("sound");
        for_each_series(&view, |labels| {
            store.insert(labels).expect("labels are in order");
        });
    }
    let sealed = store.seal(inputs.layout, &BlockMeta::default()).expect("it fits a block");
    sealed.block.len() as u64
}
