//! Every series of every input is followed to the outputs, against a model of what merging does to labels.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::Path;

use chronoxide_compactor::{CompactOptions, Compaction, NoObserver, Observer, Phase, Rewrite, Shards};
use chronoxide_format::identity::BlockId;
use chronoxide_format::layout::RowForm;
use chronoxide_format::remap::RemapView;
use chronoxide_format::shard::Shard;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_merge_model::{Merged, expected_here, merge_in_memory};
use chronoxide_planner::Layout;
use chronoxide_publish::{Disk, Spool};
use chronoxide_reader::{Checks, Remap};
use chronoxide_testkit::plan::{Labelset, build};
use chronoxide_testkit::random::{Random, random_plan, random_series};
use proptest::prelude::*;

use crate::support::{Here, pods, random_options, series};

fn merge(blocks: &[Vec<u8>], options: &CompactOptions) -> Merged {
    let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(&Disk, folder.path(), 1 << 12);
    merge_in_memory(&views, options, true, &mut spool).unwrap()
}

fn id(block: &[u8]) -> BlockId {
    BlockView::open(block).unwrap().block_id()
}

/// Follows all series; how many were mapped and how many are gone.
fn follow_all(blocks: &[Vec<u8>], options: &CompactOptions) -> (usize, usize) {
    let Merged { outputs, remaps, .. } = merge(blocks, options);
    assert_eq!(remaps.len(), blocks.len());
    let labels_of: Vec<Vec<Labelset>> = outputs.iter().map(|output| series(output)).collect();
    let (mut mapped, mut gone) = (0, 0);
    for (block, remap) in blocks.iter().zip(&remaps) {
        let remap = RemapView::open(remap).unwrap();
        remap.verify().unwrap();
        assert_eq!(remap.input_id(), id(block));
        let known: Vec<_> = (0..remap.output_count()).map(|output| remap.output(output).unwrap()).collect();
        let expected_outputs: Vec<_> =
            outputs.iter().zip(&labels_of).map(|(output, labels)| (id(output), labels.len() as u64)).collect();
        assert_eq!(known, expected_outputs);
        let job = BlockView::open(&outputs[0]).unwrap().meta().unwrap().job().unwrap();
        assert_eq!(remap.job_id(), job.id);
        let all = series(block);
        let targets: Vec<_> = remap.targets().unwrap().map(Result::unwrap).collect();
        assert_eq!(targets.len(), all.len());
        for (labels, target) in all.iter().zip(targets) {
            let found = target.map(|target| &labels_of[target.output as usize][target.series.0 as usize]);
            assert_eq!(found, expected_here(labels, options).as_ref(), "{labels:?}");
            if found.is_some() { mapped += 1 } else { gone += 1 }
        }
    }
    (mapped, gone)
}

/// Lists of points are spread over shards by `le`: each prefix has series in all outputs.
#[test]
fn prefixes_that_are_spread_over_outputs_are_followed() {
    let blocks: Vec<Vec<u8>> = [pods(0..20, 0..30), pods(10..30, 10..40)]
        .map(|series| {
            let plain = build(&series, &Default::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
            let views = [BlockView::open(&plain).unwrap()];
            chronoxide_compactor::Compaction::new(&views, &CompactOptions::default()).merge_to_memory().unwrap().block
        })
        .into();
    for block in &blocks {
        let view = BlockView::open(block).unwrap();
        let lists = view.keysets().map(|keyset| keyset.unwrap().pool().is_some());
        assert!(lists.into_iter().any(|has_lists| has_lists), "the planner found no lists");
    }
    let shards = Shards { count: NonZeroU32::new(3).unwrap(), by: "le".to_owned(), only: None };
    let options = CompactOptions { shards: Some(shards), ..CompactOptions::default() };
    let outputs = merge(&blocks, &options).outputs;
    let pods_of = |output: &Vec<u8>| -> BTreeSet<String> {
        series(output).into_iter().map(|labels| labels["pod"].clone()).collect()
    };
    let spread: Vec<BTreeSet<String>> = outputs.iter().map(pods_of).collect();
    assert!(spread.len() == 3 && spread.iter().all(|pods| pods.len() == 30), "{spread:?}");
    assert_eq!(follow_all(&blocks, &options), (1_200, 0));
}

fn random_blocks(count: usize, number: usize, random: &mut Random) -> Vec<Vec<u8>> {
    let mut all: Vec<Labelset> = random_series(count, random).into_iter().collect();
    (0..number)
        .map(|_| {
            // Some series that others have too, and some of its own.
            random.shuffle(&mut all);
            let mut series: BTreeSet<Labelset> = all[..random.below(all.len() + 1)].iter().cloned().collect();
            let size = random.below(count / 3 + 1);
            series.extend(random_series(size, random));
            let plan = if random.percent(20) { Default::default() } else { random_plan(&series, random) };
            let form = if random.percent(50) { RowForm::FixedWidth } else { RowForm::BitPacked };
            build(&series, &plan, form, &BlockMeta::default()).unwrap()
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn every_series_is_where_its_remap_says(seed: u64, count in 0_usize..150, number in 1_usize..4) {
        let mut random = Random::new(seed);
        let mut options = random_options(&mut random);
        if random.percent(30) {
            options.max_series_per_block = NonZeroU32::new(1 + random.below(count + 1) as u32 * 16);
        }
        if random.percent(40) {
            let count = NonZeroU32::new(1 + random.below(5) as u32).unwrap();
            let by = ["__name__", "pod", "zone", "absent"][random.below(4)].to_owned();
            let only = format!("{}/{count}", 1 + random.below(count.get() as usize)).parse::<Shard>().unwrap();
            let only = (options.max_series_per_block.is_none() && random.percent(30)).then_some(only);
            options.shards = Some(Shards { count, by, only });
            // Labels by which series are spread are not rewritten.
            options.rewrite = Rewrite::default();
        }
        let blocks = random_blocks(count, number, &mut random);
        follow_all(&blocks, &options);
    }
}

/// Pods with the same 300 points each, those from `first` on, in shared tables and lists.
fn fleet(of_pods: std::ops::Range<usize>, first: usize) -> Vec<u8> {
    let series = pods(of_pods, first..300);
    let plain = build(&series, &Default::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
    let options = CompactOptions { layout: Layout::Factored, ..CompactOptions::default() };
    merge(&[plain], &options).outputs.remove(0)
}

#[test]
fn prefixes_that_agree_take_bits_and_not_bytes_a_series() {
    // So few points are missing in the second block that both are factored alike.
    let blocks = [fleet(0..30, 0), fleet(10..40, 20)];
    let shards = Shards { count: NonZeroU32::new(4).unwrap(), by: "__name__".to_owned(), only: None };
    for shards in [None, Some(shards)] {
        let options = CompactOptions { layout: Layout::Factored, shards, ..CompactOptions::default() };
        assert_eq!(follow_all(&blocks, &options), (30 * 300 + 30 * 280, 0));
        for remap in merge(&blocks, &options).remaps {
            let series = RemapView::open(&remap).unwrap().series_count().unwrap() as usize;
            assert!(remap.len() * 2 < series, "{} bytes for {series} series", remap.len());
        }
    }
}

/// Stops when remaps are begun.
struct UntilRemaps;

impl Observer for UntilRemaps {
    fn progress(&self, phase: Phase, _done: u64, _of: u64) -> bool {
        phase < Phase::Remap
    }
}

#[test]
fn inputs_are_there_until_their_remaps_are() {
    let folder = tempfile::tempdir().unwrap();
    let (blocks, remaps) = (folder.path().join("blocks"), folder.path().join("remaps"));
    for folder in [&blocks, &remaps] {
        std::fs::create_dir(folder).unwrap();
    }
    let inputs = [fleet(0..3, 0), fleet(2..5, 100)];
    for input in &inputs {
        std::fs::write(blocks.join(format!("{}.cx", id(input))), input).unwrap();
    }
    let views: Vec<BlockView<'_>> = inputs.iter().map(|input| BlockView::open(input).unwrap()).collect();
    let ids: Vec<BlockId> = views.iter().map(BlockView::block_id).collect();
    let here = Here::new(&Disk, &blocks);
    let _lock = here.place().lock().unwrap();
    let run = |observer: &dyn Observer| {
        let options = CompactOptions::default();
        let remaps = Some(&*remaps);
        let compaction = Compaction { scratch_memory: 0, remaps, observer, ..Compaction::new(&views, &options) };
        here.merge(&compaction, Some(&ids))
    };
    let count = |folder: &Path, extension: &str| {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|found| found == extension)).count()
    };
    assert_eq!(run(&UntilRemaps).unwrap_err().to_string(), "cancelled");
    assert_eq!((count(&blocks, "cx"), count(&remaps, "cxr")), (3, 0));
    let (summary, done) = run(&NoObserver).unwrap();
    assert_eq!((done.deleted.len(), count(&blocks, "cx"), count(&remaps, "cxr")), (2, 1, 2));
    for input in &ids {
        let remap = Remap::read(remaps.join(format!("{input}.cxr")), Checks::Eager).unwrap();
        let (_, series) = remap.view().output(0).unwrap();
        assert_eq!(series, summary.series_out);
    }
}

#[test]
fn series_that_are_left_out_are_nowhere() {
    let keep = vec![r#"{pod=~"pod-1.",le!="3"}"#.parse().unwrap()];
    let options = CompactOptions { layout: Layout::Factored, keep, ..CompactOptions::default() };
    let kept = 10 * 270;
    assert_eq!(follow_all(&[fleet(0..30, 0)], &options), (kept, 30 * 300 - kept));
}
