//! Plans that are learned from a sample of the rows, against those that are learned from all.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::num::NonZeroU32;
use std::path::Path;

use chronoxide_compactor::{CompactError, CompactOptions, Compaction, Rewrite, Shards};
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_format::{Forecast, PLAN_KEY};
use chronoxide_planner::Layout;
use chronoxide_publish::{Disk, Spool};
use chronoxide_testkit::plan::{KeysetPlan, Labelset, Plan, Source, build, key};

use crate::support::{content, pods};

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
    assert!((0.6..1.6).contains(&(bytes_per_series / found)), "{bytes_per_series} expected, {found} found");

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
        let id = draft.write_to(&mut out)?;
        outputs.push(out.into_inner());
        Ok::<_, CompactError>(id)
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

fn labels<const N: usize>(pairs: [(&str, String); N]) -> Labelset {
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Disks with ten points each: another keyset, a twentieth of the pods.
fn disks() -> BTreeSet<Labelset> {
    let disk = |number: usize| {
        let (disk, point) = (number / 10, number % 10);
        labels([
            ("__name__", format!("disk_{point}")),
            ("aisle", format!("aisle-{}", disk / 50)),
            ("disk", format!("disk-{disk}")),
            ("rack", format!("rack-{}", disk / 10)),
        ])
    };
    (0..2000).map(disk).collect()
}

fn pods_and_disks() -> BTreeSet<Labelset> {
    &pods(0..PODS, 0..POINTS) | &disks()
}

fn sampled_series(block: &[u8]) -> u64 {
    forecast(block).unwrap().sampled_series
}

#[test]
fn series_that_lose_all_labels_are_not_sampled() {
    let mut all = pods(0..100, 0..POINTS);
    all.extend((0..100).map(|number| labels([("gone", number.to_string())])));
    let rewrite = Rewrite { drop_labels: vec!["gone".to_owned()], ..Rewrite::default() };
    let options = CompactOptions { replan: true, rewrite, ..CompactOptions::default() };
    assert_eq!(content(&merged(&[plain(&all)], &options, 400)), pods(0..100, 0..POINTS));
}

#[test]
fn a_small_keyset_is_planned_from_enough_rows() {
    let all = pods_and_disks();
    let rows = |block: &[u8]| -> Vec<u32> {
        BlockView::open(block).unwrap().keysets().map(|keyset| keyset.unwrap().table().row_count()).collect()
    };
    let (sampled, whole) = (replanned(&[plain(&all)], PLANNED), replanned(&[plain(&all)], u32::MAX));
    assert_eq!(content(&sampled), all);
    // The disks are the second keyset.
    assert_eq!(rows(&sampled)[1], rows(&whole)[1]);
}

#[test]
fn a_value_with_most_series_does_not_fill_the_sample() {
    // One pod has half of the series.
    let mut all = pods(0..100, 0..POINTS);
    let first = all.first().unwrap().clone();
    all.extend((0..5000).map(|point| {
        let mut labels = first.clone();
        labels.insert("le".to_owned(), format!("x{point}"));
        labels
    }));
    let sampled = replanned(&[plain(&all)], PLANNED);
    assert_eq!(content(&sampled), all);
    assert!((250..=1000).contains(&sampled_series(&sampled)), "{}", sampled_series(&sampled));
}

#[test]
fn a_keyset_without_kept_series_does_not_shift_plans() {
    let drop = vec![r#"{pod!=""}"#.parse().unwrap()];
    let options = CompactOptions { replan: true, drop, ..CompactOptions::default() };
    let found = merged(&[plain(&pods_and_disks())], &options, 1000);
    assert_eq!(content(&found), disks());
    assert_eq!(planned_len(&found), planned_len(&replanned(&[plain(&disks())], 1000)));
}

#[test]
fn dropped_series_are_not_in_the_sample() {
    let drop = vec![r#"{pod=~"pod-[03-9].*"}"#.parse().unwrap()];
    let options = CompactOptions { replan: true, drop, ..CompactOptions::default() };
    let found = merged(&blocks(&[0, PODS]), &options, PLANNED);
    let mut kept = pods(0..PODS, 0..POINTS);
    kept.retain(|labels| labels["pod"].starts_with("pod-1") || labels["pod"].starts_with("pod-2"));
    assert_eq!(content(&found), kept);
    assert_eq!(sampled_series(&found), sampled_series(&replanned(&[plain(&kept)], PLANNED)));
}

#[test]
fn tables_of_the_inputs_do_not_show() {
    let keys = ["__name__", "address", "le", "node", "pod"].map(str::to_owned).to_vec();
    let expected = replanned(&blocks(&[0, PODS]), PLANNED);
    for list in [None, Some(key("pod"))] {
        let mut columns = vec![Source::Table(0), key("le"), key("node")];
        if list.is_none() {
            columns.push(key("pod"));
        }
        let plan = Plan {
            tables: vec![vec![key("__name__"), key("address")]],
            keysets: [(keys.clone(), KeysetPlan { columns, list })].into(),
        };
        let odd = build(&pods(0..PODS, 0..POINTS), &plan, RowForm::BitPacked, &BlockMeta::default()).unwrap();
        let found = replanned(&[odd], PLANNED);
        assert_eq!(forecast(&found), forecast(&expected));
        assert_eq!(planned_len(&found), planned_len(&expected));
    }
}

#[test]
fn members_of_lists_choose_rows_as_columns_do() {
    let all = plain(&pods(0..PODS, 0..POINTS));
    let factored = replanned(std::slice::from_ref(&all), u32::MAX);
    assert_eq!(sampled_series(&replanned(&[factored], PLANNED)), sampled_series(&replanned(&[all], PLANNED)));
}

#[test]
fn renamed_labels_choose_rows_and_are_planned() {
    let rewrite = Rewrite {
        drop_labels: vec!["address".to_owned()],
        rename_labels: vec![("pod".to_owned(), "a_pod".to_owned())],
        ..Rewrite::default()
    };
    let options = CompactOptions { replan: true, rewrite, ..CompactOptions::default() };
    let found = merged(&blocks(&[0, 300, PODS]), &options, PLANNED);
    let renamed = |mut labels: Labelset| {
        labels.remove("address");
        let pod = labels.remove("pod").unwrap();
        labels.insert("a_pod".to_owned(), pod);
        labels
    };
    let after: BTreeSet<Labelset> = pods(0..PODS, 0..POINTS).into_iter().map(renamed).collect();
    assert_eq!(content(&found), after);
    let alone = replanned(&[plain(&after)], PLANNED);
    assert_eq!(forecast(&found), forecast(&alone));
    assert_eq!(planned_len(&found), planned_len(&alone));
}

#[test]
fn the_sample_counts_as_memory_and_begins_above_the_planned_series() {
    let options = CompactOptions { replan: true, memory_limit: Some(1), ..CompactOptions::default() };
    let blocks = blocks(&[0, PODS]);
    let needed = |planned_series| {
        let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
        match (Compaction { planned_series, ..Compaction::new(&views, &options) }).merge_to_memory() {
            Err(CompactError::Memory { needed, .. }) => needed,
            other => panic!("{:?}", other.map(|_| ())),
        }
    };
    // A quarter of 4,000 series with five labels each, at 4 bytes or more per label; one series is the minimum.
    assert!(needed(4000) - needed(0) >= 999 * 5 * 4, "{} and {}", needed(4000), needed(0));
    assert!(needed(4000) - needed(0) <= 999 * 5 * 64, "{} and {}", needed(4000), needed(0));
    let series = (PODS * POINTS) as u32;
    assert_eq!(forecast(&replanned(&blocks, series)), None);
    assert!(forecast(&replanned(&blocks, series - 1)).is_some());
}

#[test]
fn other_annotations_stay_in_order() {
    let pair = |key: &str| (key.to_owned(), "x".to_owned());
    let meta = BlockMeta { annotations: vec![pair("a"), pair("z")], ..BlockMeta::default() };
    let block = build(&pods(0..10, 0..POINTS), &Plan::default(), RowForm::BitPacked, &meta).unwrap();
    let sampled = replanned(&[block], 100);
    let view = BlockView::open(&sampled).unwrap();
    let pairs = view.meta().unwrap().annotations().unwrap().map(|pair| pair.unwrap().0.to_owned());
    assert_eq!(pairs.collect::<Vec<String>>(), ["a", PLAN_KEY, "z"]);
}
