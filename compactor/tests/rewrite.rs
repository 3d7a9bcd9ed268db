//! Series left out by selectors, labels dropped and renamed, against labelsets as plain maps.

use std::collections::BTreeSet;

use chronoxide_compactor::{CompactOptions, Compaction, HashLabels, HashedLabel, Rewrite};
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_merge_model::expected;
use chronoxide_planner::Layout;
use chronoxide_testkit::plan::{Labelset, build};
use chronoxide_testkit::random::{Random, random_plan, random_series};
use proptest::prelude::*;

use crate::support::{content, pods, random_options};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn series_are_left_out_and_rewritten_as_a_model_does_it(seed: u64, count in 0_usize..120, number in 1_usize..4) {
        let mut random = Random::new(seed);
        let options = random_options(&mut random);
        let (mut union, mut left, mut series_in) = (BTreeSet::new(), 0, 0);
        let mut blocks = Vec::new();
        for _ in 0..number {
            let size = random.below(count + 1);
            let series = random_series(size, &mut random);
            let plan = random_plan(&series, &mut random);
            blocks.push(build(&series, &plan, RowForm::BitPacked, &BlockMeta::default()).unwrap());
            let after: Vec<Labelset> = series.iter().filter_map(|labels| expected(labels, &options)).collect();
            (left, series_in) = (left + after.len(), series_in + series.len());
            union.extend(after);
        }
        let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
        let compaction = Compaction::new(&views, &options);
        let planned_series = if random.percent(50) { 20 } else { compaction.planned_series };
        let merged = Compaction { planned_series, ..compaction }.merge_to_memory().unwrap();
        let summary = merged.summary;
        BlockView::open(&merged.block).unwrap().verify().unwrap();
        prop_assert_eq!(&content(&merged.block), &union);
        prop_assert_eq!((summary.series_in, summary.series_out), (series_in as u64, union.len() as u64));
        prop_assert_eq!((summary.dropped, summary.duplicates), ((series_in - left) as u64, (left - union.len()) as u64));
    }
}

#[test]
fn a_plan_survives_labels_that_are_dropped_and_renamed() {
    let series = pods(0..40, 0..30);
    let plain = build(&series, &Default::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
    let rewrite = Rewrite {
        drop_labels: vec!["address".to_owned()],
        rename_labels: vec![("pod".to_owned(), "instance".to_owned())],
        ..Rewrite::default()
    };
    let merged = |block: &[u8], rewrite| {
        let options = CompactOptions { rewrite, ..CompactOptions::default() };
        Compaction::new(&[BlockView::open(block).unwrap()], &options).merge_to_memory().unwrap().block
    };
    let factored = merged(&plain, Rewrite::default());
    let rewritten = merged(&factored, rewrite);
    let rows = |block: &[u8]| {
        let view = BlockView::open(block).unwrap();
        view.keysets().map(|keyset| keyset.unwrap().table().row_count()).sum::<u32>()
    };
    assert!(rows(&factored) <= 40, "{} prefixes", rows(&factored));
    assert_eq!(rows(&rewritten), rows(&factored));
}

#[test]
fn hashed_values_are_nowhere_in_the_output() {
    let series = pods(0..40, 0..30);
    let key = b"a key of 16 bytes";
    let hash_labels = HashLabels::new(vec!["pod".to_owned(), "pod".to_owned()], key).unwrap();
    let options = |layout, archive| CompactOptions {
        layout,
        archive,
        rewrite: Rewrite { hash_labels: hash_labels.clone(), ..Rewrite::default() },
        ..CompactOptions::default()
    };
    let plain = build(&series, &Default::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
    let view = BlockView::open(&plain).unwrap();
    let factored = Compaction::new(&[view], &CompactOptions::default()).merge_to_memory().unwrap().block;
    let expected: BTreeSet<Labelset> = (series.iter().cloned())
        .map(|mut labels| {
            let pod = labels.get_mut("pod").unwrap();
            *pod = hash_labels.hash(pod);
            labels
        })
        .collect();
    let pods: BTreeSet<&String> = series.iter().map(|labels| &labels["pod"]).collect();
    for input in [&plain, &factored] {
        for layout in Layout::ALL {
            let merged = Compaction::new(&[BlockView::open(input).unwrap()], &options(layout, false)).merge_to_memory();
            let merged = merged.unwrap();
            assert_eq!(content(&merged.block), expected);
            for pod in &pods {
                let is_there = merged.block.windows(pod.len()).any(|bytes| bytes == pod.as_bytes());
                assert!(!is_there, "{pod} in {}", layout.name());
            }
            let label = HashedLabel { name: "pod".to_owned(), values: pods.len() as u64, hashes: pods.len() as u64 };
            assert_eq!(merged.summary.hashed[0], label);
            assert_eq!(merged.summary.hashed.len(), 1);
        }
    }
}

#[test]
fn labels_that_cannot_be_hashed_are_refused() {
    let series = pods(0..4, 0..3);
    let plain = build(&series, &Default::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
    let refused = |name: &str, change: &dyn Fn(&mut CompactOptions)| {
        let hash_labels = HashLabels::new(vec![name.to_owned()], &[7; 16]).unwrap();
        let rewrite = Rewrite { hash_labels, ..Rewrite::default() };
        let mut options = CompactOptions { rewrite, ..CompactOptions::default() };
        change(&mut options);
        let error = Compaction::new(&[BlockView::open(&plain).unwrap()], &options).merge_to_memory().unwrap_err();
        error.to_string()
    };
    let to = |old: &str, new: &str| vec![(old.to_owned(), new.to_owned())];
    assert!(refused("__name__", &|_| ()).contains("metadata"));
    for change in [
        &(|options: &mut CompactOptions| options.rewrite.drop_labels = vec!["pod".to_owned()])
            as &dyn Fn(&mut CompactOptions),
        &|options| options.rewrite.rename_labels = to("pod", "other"),
        &|options| options.rewrite.rename_labels = to("other", "pod"),
    ] {
        assert!(refused("pod", change).contains("cannot be dropped or renamed"));
    }
}

#[test]
fn blocks_tell_nothing_of_hashed_values() {
    let series = pods(0..4, 0..3);
    let block = |meta: &BlockMeta| build(&series, &Default::default(), RowForm::BitPacked, meta).unwrap();
    let plain = block(&BlockMeta::default());
    let hash_labels = HashLabels::new(vec!["pod".to_owned()], &[7; 16]).unwrap();
    let pod = &series.iter().next().unwrap()["pod"];
    let options = CompactOptions {
        rewrite: Rewrite { hash_labels, ..Rewrite::default() },
        drop: vec![format!("{{pod={pod:?}}}").parse().unwrap()],
        ..CompactOptions::default()
    };
    let merge = |block: &[u8]| Compaction::new(&[BlockView::open(block).unwrap()], &options).merge_to_memory();
    let hashed = merge(&plain).unwrap().block;
    assert!(!hashed.windows(pod.len()).any(|bytes| bytes == pod.as_bytes()), "selectors are in an annotation");
    let dropped = CompactOptions { rewrite: Rewrite::default(), ..options.clone() };
    let dropped = Compaction::new(&[BlockView::open(&plain).unwrap()], &dropped).merge_to_memory().unwrap().block;
    assert!(dropped.windows(pod.len()).any(|bytes| bytes == pod.as_bytes()));
    let again = merge(&dropped).unwrap().block;
    assert!(!again.windows(pod.len()).any(|bytes| bytes == pod.as_bytes()), "of an earlier run, too");
    assert!(merge(&hashed).unwrap_err().to_string().contains("has hashes of a label"));

    let external =
        block(&BlockMeta { external_labels: vec![("pod".to_owned(), "a".to_owned())], ..BlockMeta::default() });
    assert!(merge(&external).unwrap_err().to_string().contains("external label"));
}
