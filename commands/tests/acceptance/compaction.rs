//! Sixty-four blocks of the generated workload merged, against sets of labelsets as plain maps.

use std::collections::BTreeSet;

use chronoxide_compactor::{CompactOptions, Compacted, Compaction};
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_ingest::{AssembleOptions, Assembler};
use chronoxide_labels::LabelSets;
use chronoxide_planner::Layout;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::sweep;
use chronoxide_workload::{Options, Workload, visit_labelsets};
use prost::Message;

const BLOCKS: u32 = 64;

/// The series of a window, and a block that was made of them as ingest does it.
fn window(series: u64, window: u32, layout: Layout) -> (BTreeSet<Labelset>, Vec<u8>) {
    let workload = Workload::new(Options { series, windows: window..window + 1, ..Options::default() }).unwrap();
    let mut assembler = Assembler::new(AssembleOptions::default(), Vec::new());
    let mut expected = BTreeSet::new();
    for request in workload.requests() {
        visit_labelsets(&request, |labels| {
            expected.insert(labels.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect());
        });
        assembler.otlp_proto(&request.encode_to_vec()).unwrap();
    }
    assert_eq!(assembler.store().len(), expected.len());
    (expected, assembler.store().seal(layout, &BlockMeta::default()).unwrap().block)
}

fn content(block: &[u8]) -> BTreeSet<Labelset> {
    let view = BlockView::open(block).unwrap();
    view.verify().unwrap();
    let text = view.text().unwrap();
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    view.series_iter()
        .map(|series| text.labels(&series.unwrap()).map(|label| owned(label.unwrap().into())).collect())
        .collect()
}

fn merged(blocks: &[Vec<u8>], options: &CompactOptions) -> Compacted {
    let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
    Compaction::new(&views, options).merge_to_memory().unwrap()
}

fn ways() -> [CompactOptions; 4] {
    let way = |layout, replan| CompactOptions { layout, replan, ..CompactOptions::default() };
    [(Layout::Factored, false), (Layout::Factored, true), (Layout::BitPacked, false), (Layout::FixedWidth, false)]
        .map(|(layout, replan)| way(layout, replan))
}

#[track_caller]
fn assert_union(blocks: &[Vec<u8>], series_in: usize, union: &BTreeSet<Labelset>) {
    for options in ways() {
        let merged = merged(blocks, &options);
        let summary = &merged.summary;
        assert_eq!((summary.series_in, summary.series_out), (series_in as u64, union.len() as u64), "{options:?}");
        assert_eq!(summary.duplicates, (series_in - union.len()) as u64);
        assert!(content(&merged.block) == *union, "{options:?}");
    }
}

#[test]
fn consecutive_windows_merge_into_their_distinct_series() {
    let (mut union, mut blocks, mut series_in) = (BTreeSet::new(), Vec::new(), 0);
    for number in 0..BLOCKS {
        // Most are factored, each by a plan of its own; some are not.
        let layout = if number % 7 == 3 { Layout::ALL[number as usize % 3] } else { Layout::Factored };
        let (series, block) = window(600, number, layout);
        series_in += series.len();
        union.extend(series);
        blocks.push(block);
    }
    assert!(union.len() > 600 && union.len() < series_in / 2, "{} of {series_in}", union.len());
    assert_union(&blocks, series_in, &union);

    // Merging by fours, and the results again, gives the same series.
    for options in ways() {
        let mut level = blocks.clone();
        while level.len() > 1 {
            level = level.chunks(4).map(|some| merged(some, &options).block).collect();
        }
        assert!(content(&level[0]) == union, "{options:?}");
    }
}

#[test]
fn series_cut_at_random_come_together_again() {
    let (union, _) = window(sweep::cases(3_000, 20_000), 0, Layout::BitPacked);
    let mut random = Random::new(3);
    let mut cut = vec![BTreeSet::new(); BLOCKS as usize];
    for series in &union {
        cut[random.below(BLOCKS as usize)].insert(series.clone());
    }
    let plain = |series| build(series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
    // Plain blocks, and blocks that were planned by themselves.
    let blocks: Vec<Vec<u8>> = cut.iter().map(plain).collect();
    assert_union(&blocks, union.len(), &union);
    let planned: Vec<Vec<u8>> = blocks.chunks(1).map(|block| merged(block, &CompactOptions::default()).block).collect();
    assert_union(&planned, union.len(), &union);
}
