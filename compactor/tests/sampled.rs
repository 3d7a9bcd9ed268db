//! Plans that are learned from a sample of the rows, against those that are learned from all.

mod support;

use std::collections::BTreeSet;
use std::io::Cursor;
use std::num::NonZeroU32;
use std::path::Path;

use chronoxide_compactor::{CompactError, CompactOptions, Compaction, Shards};
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_planner::Layout;
use chronoxide_publish::{Disk, Spool};
use chronoxide_reader::{Forecast, PLAN_KEY};
use chronoxide_testdata::plan::{Labelset, Plan, build};
use support::{content, pods};

/// Pods and points of each pod: 40,000 series, ten times as many as are planned as a whole.
const PODS: usize = 800;
const POINTS: usize = 50;
const PLANNED: u32 = 4000;

/// Returns plain blocks with the pods of each range.
fn blocks(cuts: &[usize]) -> Vec<Vec<u8>> {
    let block = |cut: &[usize]| plain(&pods(cut[0]..cut[1], 0..POINTS));
    cuts.windows(2).map(block).collect()
}

fn plain(series: &BTreeSet<Labelset>) -> Vec<u8> {
    build(series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()
}

fn replanned(blocks: &[Vec<u8>], planned_series: u32) -> Vec<u8> {
    let options = CompactOptions { replan: true, ..CompactOptions::default() };
    merged(blocks, &options, planned_series)
}

fn merged(blocks: &[Vec<u8>], options: &CompactOptions, planned_series: u32) -> Vec<u8> {
    let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
    Compaction { planned_series, ..Compaction::new(&views, options) }.merge_to_memory().unwrap().block
}

fn forecast(block: &[u8]) -> Option<Forecast> {
    let view = BlockView::open(block).unwrap();
    let meta = view.meta().unwrap();
    let mut annotations = meta.annotations().unwrap().map(Result::unwrap);
    annotations.find(|(key, _)| *key == PLAN_KEY).map(|(_, value)| value.parse().unwrap())
}

fn section_len(block: &[u8], kinds: &[SectionKind]) -> u64 {
    let view = BlockView::open(block).unwrap();
    let of_kinds = view.sections().filter(|section| section.known().is_some_and(|kind| kinds.contains(&kind)));
    of_kinds.map(|section| section.length).sum()
}

/// Bytes of all sections that depend on the plan.
fn planned_len(block: &[u8]) -> u64 {
    section_len(block, &[SectionKind::Catalogue, SectionKind::Rows, SectionKind::Members])
}

#[test]
fn a_plan_from_a_sample_is_nearly_as_good_as_one_from_all_rows() {
    let blocks = blocks(&[0, 300, PODS]);
    let (sampled, whole) = (replanned(&blocks, PLANNED), replanned(&blocks, u32::MAX));
    assert_eq!(content(&sampled), pods(0..PODS, 0..POINTS));
    BlockView::open(&sampled).unwrap().verify().unwrap();
    // The sample has about one of the five pods of a node.
    assert!(
        planned_len(&sampled) * 4 < planned_len(&whole) * 5,
        "{} and {}",
        planned_len(&sampled),
        planned_len(&whole)
    );
    assert!(planned_len(&sampled) * 10 < planned_len(&plain(&pods(0..PODS, 0..POINTS))), "the plan saves most bytes");
    let version = |block: &[u8]| BlockView::open(block).unwrap().meta().unwrap().planner_version();
    assert_eq!((version(&sampled), version(&whole)), (Layout::Factored.planner_version(), version(&sampled)));
}

#[test]
fn the_expected_size_is_stated_and_comes_true() {
    let sampled = replanned(&blocks(&[0, 300, PODS]), PLANNED);
    let Forecast { sampled_series, bytes_per_series } = forecast(&sampled).unwrap();
    assert!((250..=1000).contains(&sampled_series), "a quarter of {PLANNED} at most, in halves: {sampled_series}");
    assert_eq!(sampled_series % POINTS as u64, 0, "whole pods");
    let view = BlockView::open(&sampled).unwrap();
    let dictionaries: u64 = (0..view.key_count())
        .map(|key| view.table(chronoxide_format::TableId(key)).unwrap().unwrap())
        .map(|table| {
            let bits: u64 = table.columns().map(|column| u64::from(column.unwrap().width)).sum();
            (bits * u64::from(table.row_count())).div_ceil(8)
        })
        .sum();
    let found = (planned_len(&sampled) - dictionaries) as f64 / (PODS * POINTS) as f64;
    assert!((0.5..2.0).contains(&(bytes_per_series / found)), "{bytes_per_series} expected, {found} found");

    // A merge under the plan of this block is about other series, and a plan from all rows needs no sample.
    let adopting = merged(&[sampled.clone(), plain(&pods(0..10, 0..POINTS))], &CompactOptions::default(), PLANNED);
    assert_eq!(forecast(&adopting), None);
    assert_eq!(forecast(&replanned(&[sampled], u32::MAX)), None);
}

#[test]
fn the_cut_of_the_series_into_inputs_does_not_show() {
    let expected = replanned(&blocks(&[0, PODS]), PLANNED);
    for cuts in [&[0, 1, PODS][..], &[0, 200, 400, 600, PODS], &[0, 799, PODS]] {
        let found = replanned(&blocks(cuts), PLANNED);
        for kind in [SectionKind::Catalogue, SectionKind::Rows, SectionKind::Members, SectionKind::Arena] {
            let bytes = |block: &[u8]| {
                let view = BlockView::open(block).unwrap();
                let section = view.sections().find(|section| section.known() == Some(kind)).unwrap();
                block[section.offset as usize..(section.offset + section.length) as usize].to_vec()
            };
            assert!(bytes(&found) == bytes(&expected), "{kind:?} of {cuts:?}");
        }
    }
}

#[test]
fn series_that_many_inputs_have_are_sampled_as_often_as_others() {
    // A sample of a sixteenth would have some 60 rows.
    let block = plain(&pods(0..PODS, 0..POINTS));
    let sampled = replanned(&vec![block; 16], PLANNED);
    assert_eq!(content(&sampled), pods(0..PODS, 0..POINTS));
    let Forecast { sampled_series, .. } = forecast(&sampled).unwrap();
    assert!((250..=1000).contains(&sampled_series), "{sampled_series}");
}

#[test]
fn the_plan_of_the_inputs_is_kept_if_a_sample_shows_none_that_is_better() {
    // With one sampled row there is nothing to learn.
    let factored = replanned(&blocks(&[0, PODS]), u32::MAX);
    let sampled = replanned(std::slice::from_ref(&factored), 4);
    assert_eq!(planned_len(&sampled), planned_len(&factored));
    assert_eq!(content(&sampled), content(&factored));
}

#[test]
fn dropped_series_are_not_sampled_and_shards_share_a_plan() {
    let by = "node".to_owned();
    let options = CompactOptions {
        replan: true,
        drop: vec![r#"{pod=~"pod-[0-4].*"}"#.parse().unwrap()],
        shards: Some(Shards { count: NonZeroU32::new(3).unwrap(), by, only: None }),
        ..CompactOptions::default()
    };
    let blocks = blocks(&[0, 300, PODS]);
    let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
    let compaction = Compaction { planned_series: PLANNED, ..Compaction::new(&views, &options) };
    let mut spool = Spool::new(&Disk, Path::new("."), usize::MAX);
    let mut outputs = Vec::new();
    let publish = |_, draft: chronoxide_compactor::Draft<'_>| {
        let mut out = Cursor::new(Vec::new());
        draft.write_to(&mut out)?;
        outputs.push(out.into_inner());
        Ok::<(), CompactError>(())
    };
    compaction.merge_to_drafts(&mut spool, publish).unwrap();
    let mut kept = pods(0..PODS, 0..POINTS);
    kept.retain(|labels| {
        let pod = labels.iter().find(|(name, _)| *name == "pod").unwrap().1;
        !matches!(pod.as_bytes()["pod-".len()], b'0'..=b'4')
    });
    let found: Vec<Labelset> = outputs.iter().flat_map(|block| content(block)).collect();
    assert_eq!(found.len(), kept.len(), "no series is in two outputs");
    assert_eq!(BTreeSet::from_iter(found), kept);
    for block in &outputs {
        assert!(BlockView::open(block).unwrap().pool_count() > 0, "the plan has lists");
        assert_eq!(forecast(block), forecast(&outputs[0]));
    }
}
