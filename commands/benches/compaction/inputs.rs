//! Blocks of windows, and blocks cut at random.

use chronoxide_format::view::{BlockView, Paths};
use chronoxide_format::write::BlockMeta;
use chronoxide_ingest::{AssembleOptions, Assembler};
use chronoxide_labels::{KeysetStore, LabelSetStore};
use chronoxide_planner::Layout;
use chronoxide_testkit::random::Random;
use chronoxide_workload::{Options, Workload};
use prost::Message;

const BLOCKS: u64 = 8;

/// Blocks to merge.
pub struct Inputs {
    pub cut: &'static str,
    pub layout: Layout,
    pub blocks: Vec<Vec<u8>>,
    pub series_in: u64,
}

impl Inputs {
    pub fn views(&self) -> Vec<BlockView<'_>> {
        self.blocks.iter().map(|block| BlockView::open(block).expect("sound")).collect()
    }
}

/// Returns eight blocks with `series` series each: of windows, or cut at random.
pub fn all(series: u64, layout: Layout) -> [Inputs; 2] {
    let windows = (0..BLOCKS as u32).map(|window| sealed(collected(series, window).store(), layout)).collect();
    let mut random = Random::new(7);
    let mut stores: Vec<KeysetStore> = (0..BLOCKS).map(|_| KeysetStore::default()).collect();
    let whole = sealed(collected(series * BLOCKS, 0).store(), Layout::BitPacked);
    for_each_series(&BlockView::open(&whole).expect("sound"), |labels| {
        stores[random.below(BLOCKS as usize)].insert(labels).expect("labels are in order");
    });
    let cut = stores.iter().map(|store| sealed(store, layout)).collect();
    [("windows", windows), ("random", cut)].map(|(cut, blocks)| Inputs {
        cut,
        layout,
        blocks,
        series_in: series * BLOCKS,
    })
}

fn collected(series: u64, window: u32) -> Assembler {
    let windows = window..window + 1;
    let workload = Workload::new(Options { series, windows, ..Options::default() }).expect("a workload");
    let options = AssembleOptions { keep_metadata: false, ..AssembleOptions::default() };
    let mut assembler = Assembler::new(options, Vec::new());
    for request in workload.requests() {
        assembler.otlp_proto(&request.encode_to_vec()).expect("a whole request");
    }
    assembler
}

fn sealed(store: &KeysetStore, layout: Layout) -> Vec<u8> {
    store.seal(layout, &BlockMeta::default()).expect("it fits a block").block
}

/// Calls `each` with the labels of each series.
pub fn for_each_series(view: &BlockView<'_>, mut each: impl FnMut(&[(&str, &str)])) {
    let text = |bytes| std::str::from_utf8(bytes).expect("a verified block");
    let paths = Paths::new();
    let view = view.with_paths(&paths);
    let mut resolver = view.resolver();
    for series in 0..view.series_count().expect("sound") {
        let labels = resolver.labels(series.into()).expect("sound").expect("a series");
        let labels: Vec<(&str, &str)> = labels.iter().map(|label| (text(label.name), text(label.value))).collect();
        each(&labels);
    }
}
