//! Outputs spread by a label and cut at a number of series, against sets of labelsets as plain maps.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::num::NonZeroU32;
use std::path::Path;

use chronoxide_compactor::{CompactError, CompactOptions, Compaction, HashLabels, Rewrite, Shards, Summary};
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::layout::RowForm;
use chronoxide_format::metadata::{MetricSet, OwnedMetricMetadata};
use chronoxide_format::shard::{Shard, shard_of};
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_merge_model::expected;
use chronoxide_planner::Layout;
use chronoxide_publish::{Disk, Spool};
use chronoxide_reader::BlockId;
use chronoxide_testkit::plan::{KeysetPlan, Labelset, Plan, build, key};
use chronoxide_testkit::random::{Random, random_metrics, random_plan, random_series};
use proptest::prelude::*;

use crate::support::{content, random_options};

/// Labels to spread by: of all series or most, of some keysets, in tables and lists as plans have it, and of none.
const LABELS: [&str; 9] = ["__name__", "a", "a.b", "code", "le", "node", "pod", "größe", "absent"];

/// Series of an output, at most.
const LIMITS: [u32; 6] = [1, 2, 7, 16, 50, 1000];

struct Input {
    series: BTreeSet<Labelset>,
    metrics: MetricSet,
    bytes: Vec<u8>,
}

fn inputs(count: usize, number: usize, random: &mut Random) -> Vec<Input> {
    let common = random_series(count / 4, random);
    let mut input = |number: usize| {
        let size = random.below(count + 1);
        let mut series = random_series(size, random);
        series.extend(common.iter().filter(|_| random.percent(50)).cloned());
        if random.percent(10) {
            series.clear();
        }
        let plan = if random.percent(20) { Plan::default() } else { random_plan(&series, random) };
        let form = if random.percent(50) { RowForm::FixedWidth } else { RowForm::BitPacked };
        let metrics: MetricSet = random_metrics(4, random).iter().map(OwnedMetricMetadata::borrowed).collect();
        let start = number as i64;
        let time = Some(TimeRange { start, end: start + 1 });
        let meta = BlockMeta { time, metrics: metrics.clone(), ..BlockMeta::default() };
        Input { bytes: build(&series, &plan, form, &meta).unwrap(), series, metrics }
    };
    (0..number).map(&mut input).collect()
}

fn merge(inputs: &[&Input], options: &CompactOptions) -> Result<(Summary, Vec<Vec<u8>>), CompactError> {
    let views: Vec<BlockView<'_>> = inputs.iter().map(|input| BlockView::open(&input.bytes).unwrap()).collect();
    let mut spool = Spool::new(&Disk, Path::new("."), usize::MAX);
    let mut blocks = Vec::new();
    let summary = Compaction::new(&views, options).merge_to_drafts(&mut spool, |number, draft| {
        assert_eq!(number as usize, blocks.len());
        let (byte_len, series) = (draft.byte_len(), draft.series_count());
        let mut out = Cursor::new(Vec::new());
        let id = draft.write_to(&mut out)?;
        let block = out.into_inner();
        let view = BlockView::open(&block).unwrap();
        assert_eq!((view.block_id(), block.len() as u64), (id, byte_len), "what a draft says of itself");
        assert_eq!(u64::from(view.series_count().unwrap()), series, "what a draft says of itself");
        blocks.push(block);
        Ok::<_, CompactError>(id)
    })?;
    Ok((summary, blocks))
}

fn shards(count: u32, by: &str, only: Option<Shard>) -> Option<Shards> {
    Some(Shards { count: NonZeroU32::new(count).unwrap(), by: by.to_owned(), only })
}

/// A label that stays what it is.
fn random_label(rewrite: &Rewrite, random: &mut Random) -> &'static str {
    let is_rewritten = |name: &str| {
        let renamed = rewrite.rename_labels.iter().any(|(old, new)| old == name || new == name);
        let hashed = rewrite.hash_labels.names().iter().any(|label| label == name);
        renamed || hashed || rewrite.drop_labels.iter().any(|label| label == name)
    };
    let left: Vec<&str> = LABELS.into_iter().filter(|name| !is_rewritten(name)).collect();
    left[random.below(left.len())]
}

fn shard(labels: &Labelset, by: &str, count: u32) -> u32 {
    let value = labels.get(by).map_or("", String::as_str);
    shard_of(value.as_bytes(), NonZeroU32::new(count).unwrap())
}

fn fingerprint<'a>(blocks: impl IntoIterator<Item = &'a Vec<u8>>) -> Fingerprint {
    blocks.into_iter().map(|block| BlockView::open(block).unwrap().verify().unwrap().fingerprint).sum()
}

/// Checks the lineage of all outputs of a job.
fn check_meta(inputs: &[Input], outputs: &[Vec<u8>]) {
    let metrics: MetricSet = inputs.iter().flat_map(|input| input.metrics.iter()).collect();
    let parents: BTreeSet<BlockId> =
        inputs.iter().map(|input| BlockView::open(&input.bytes).unwrap().block_id()).collect();
    let mut ids = BTreeSet::new();
    let mut jobs = BTreeSet::new();
    for (number, output) in (0..).zip(outputs) {
        let view = BlockView::open(output).unwrap();
        let meta = view.meta().unwrap();
        let job = meta.job().unwrap();
        jobs.insert(job.id);
        ids.insert(view.block_id());
        assert_eq!((job.output, job.output_count), (number, outputs.len() as u32));
        assert_eq!(meta.parents().unwrap().collect::<BTreeSet<_>>(), parents);
        assert_eq!(meta.ancestors().unwrap().len(), 0, "originals are made of nothing");
        let found: MetricSet = view.metric_metadata().unwrap().iter().map(Result::unwrap).collect();
        assert!(found == metrics, "output {number} says what is known of all metrics");
    }
    assert_eq!((jobs.len(), ids.len()), (1, outputs.len()), "one job, and as many blocks");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn each_series_is_in_its_shard_and_no_output_is_too_large(seed: u64, size in 0_usize..150, number in 0_usize..5) {
        let mut random = Random::new(seed);
        let inputs = inputs(size, number, &mut random);
        let options = random_options(&mut random);
        let by = random_label(&options.rewrite, &mut random);
        let count = 1 + random.below(6) as u32;
        let is_sharded = random.percent(75);
        let limit = if is_sharded && random.percent(50) { None } else { Some(LIMITS[random.below(LIMITS.len())]) };
        let options = CompactOptions {
            shards: shards(count, by, None).filter(|_| is_sharded),
            max_series_per_block: limit.and_then(NonZeroU32::new),
            ..options
        };
        let count = if is_sharded { count } else { 1 };

        // The model: what is left of each input's series, and all of it.
        let left = inputs.iter().map(|input| input.series.iter().filter_map(|labels| expected(labels, &options)));
        let left: Vec<Vec<Labelset>> = left.map(Iterator::collect).collect();
        let left_count: usize = left.iter().map(Vec::len).sum();
        let union: BTreeSet<Labelset> = left.into_iter().flatten().collect();
        let in_count: usize = inputs.iter().map(|input| input.series.len()).sum();

        let (summary, outputs) = merge(&inputs.iter().collect::<Vec<_>>(), &options).unwrap();
        prop_assert_eq!(summary.outputs as usize, outputs.len());
        prop_assert_eq!((summary.series_in, summary.series_out), (in_count as u64, union.len() as u64));
        prop_assert_eq!((summary.dropped, summary.other_shards), ((in_count - left_count) as u64, 0));
        prop_assert_eq!(summary.duplicates, (left_count - union.len()) as u64);
        check_meta(&inputs, &outputs);

        let contents: Vec<BTreeSet<Labelset>> = outputs.iter().map(|block| content(block)).collect();
        let together: usize = contents.iter().map(BTreeSet::len).sum();
        prop_assert_eq!(together, union.len(), "no series is in two outputs");
        prop_assert_eq!(contents.iter().flatten().cloned().collect::<BTreeSet<Labelset>>(), union.clone());
        let plain = build(&union, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
        prop_assert_eq!(fingerprint(&outputs), fingerprint([&plain]));
        for (number, block) in outputs.iter().enumerate() {
            let form = if options.layout == Layout::FixedWidth { RowForm::FixedWidth } else { RowForm::BitPacked };
            prop_assert_eq!(BlockView::open(block).unwrap().row_form(), Some(form), "{}", number);
        }

        // Outputs come by shards, and each shard has at least one. One that is not its last is as full as chunks let it
        // be, or as the next list does.
        let is_chunked = options.layout != Layout::Factored || options.replan;
        let mut next = contents.iter().peekable();
        for of_shard in 0..count {
            let due = if is_sharded { union.iter().filter(|labels| shard(labels, by, count) == of_shard).count() } else { union.len() };
            let mut found = next.next().expect("each shard has an output").len();
            let mut last = found;
            while found < due {
                let limit = limit.expect("a shard is cut only when it is asked for") as usize;
                let before = last;
                last = next.next().expect("the rest of the shard").len();
                let more = if is_chunked { (limit / 16).max(1) } else { last };
                prop_assert!(before + more > limit, "{} and {} of {}", before, last, limit);
                prop_assert!(last > 0, "an empty output");
                found += last;
            }
            prop_assert_eq!(found, due);
        }
        prop_assert!(next.next().is_none());
        for of_output in &contents {
            prop_assert!(of_output.len() <= limit.map_or(usize::MAX, |limit| limit as usize));
            let in_shards: BTreeSet<u32> = of_output.iter().map(|labels| shard(labels, by, count)).collect();
            prop_assert!(!is_sharded || in_shards.len() <= 1, "{:?}", in_shards);
        }

        let mut shuffled: Vec<&Input> = inputs.iter().collect();
        random.shuffle(&mut shuffled);
        prop_assert!(merge(&shuffled, &options).unwrap().1 == outputs, "the order of inputs shows");
    }

    #[test]
    fn one_shard_alone_is_that_output_of_the_whole_job(seed: u64, size in 0_usize..150, number in 0_usize..4) {
        let mut random = Random::new(seed);
        let inputs = inputs(size, number, &mut random);
        let options = random_options(&mut random);
        let by = random_label(&options.rewrite, &mut random);
        let count = 1 + random.below(5) as u32;
        let inputs: Vec<&Input> = inputs.iter().collect();
        let run = |only| merge(&inputs, &CompactOptions { shards: shards(count, by, only), ..options.clone() }).unwrap();
        let (whole, outputs) = run(None);
        prop_assert_eq!(outputs.len(), count as usize);
        let mut duplicates = 0;
        let all = || inputs.iter().flat_map(|input| &input.series);
        for only in Shard::all(NonZeroU32::new(count).unwrap()) {
            let (summary, alone) = run(Some(only));
            prop_assert!(alone == outputs[only.number() as usize..][..1], "shard {only} by {by}");
            let elsewhere = all().filter(|labels| shard(labels, by, count) != only.number()).count();
            prop_assert_eq!(summary.other_shards, elsewhere as u64);
            let own = all().filter(|labels| shard(labels, by, count) == only.number());
            let dropped = own.filter(|labels| expected(labels, &options).is_none()).count();
            prop_assert_eq!(summary.dropped, dropped as u64);
            prop_assert_eq!((summary.series_in, summary.outputs), (whole.series_in, 1));
            duplicates += summary.duplicates;
        }
        prop_assert_eq!(duplicates, whole.duplicates);
    }

    #[test]
    fn shards_merged_again_are_the_whole(seed: u64, size in 0_usize..100) {
        let mut random = Random::new(seed);
        let inputs = inputs(size, 3, &mut random);
        let by = LABELS[random.below(LABELS.len())];
        let layout = Layout::ALL[random.below(3)];
        let limit = NonZeroU32::new(LIMITS[random.below(LIMITS.len())]).filter(|_| random.percent(50));
        let options = CompactOptions {
            layout,
            shards: shards(3, by, None),
            max_series_per_block: limit,
            ..CompactOptions::default()
        };
        let (_, outputs) = merge(&inputs.iter().collect::<Vec<_>>(), &options).unwrap();
        let again: Vec<Input> = outputs
            .into_iter()
            .map(|bytes| Input { series: content(&bytes), metrics: MetricSet::new(), bytes })
            .collect();
        let (summary, merged) = merge(&again.iter().collect::<Vec<_>>(), &CompactOptions { layout, ..CompactOptions::default() }).unwrap();
        let union: BTreeSet<Labelset> = inputs.iter().flat_map(|input| input.series.clone()).collect();
        prop_assert_eq!(content(&merged[0]), union);
        prop_assert_eq!((merged.len(), summary.duplicates), (1, 0));
        // The inputs of the first job may still be there.
        let ids: BTreeSet<BlockId> = inputs.iter().map(|input| BlockView::open(&input.bytes).unwrap().block_id()).collect();
        let view = BlockView::open(&merged[0]).unwrap();
        prop_assert_eq!(view.meta().unwrap().ancestors().unwrap().collect::<BTreeSet<_>>(), ids);
    }
}

#[test]
fn nothing_at_all_makes_an_empty_block_for_each_shard() {
    let bytes = build(&BTreeSet::new(), &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
    let empty = Input { series: BTreeSet::new(), metrics: MetricSet::new(), bytes };
    for layout in Layout::ALL {
        for replan in [false, true] {
            for limit in [None, NonZeroU32::new(1)] {
                let options = CompactOptions {
                    layout,
                    replan,
                    shards: shards(4, "pod", None),
                    max_series_per_block: limit,
                    ..CompactOptions::default()
                };
                for inputs in [&[][..], &[&empty], &[&empty, &empty]] {
                    let (summary, outputs) = merge(inputs, &options).unwrap();
                    assert_eq!((summary.outputs, summary.series_out, outputs.len()), (4, 0, 4));
                    for output in &outputs {
                        assert_eq!(BlockView::open(output).unwrap().verify().unwrap().series_count, 0);
                    }
                }
            }
        }
    }
}

#[test]
fn a_label_that_is_rewritten_spreads_nothing() {
    let inputs = inputs(20, 1, &mut Random::new(2));
    let refused = |rewrite, only: Option<&str>, limit| {
        let only = only.map(|shard| shard.parse().unwrap());
        let shards = shards(2, "pod", only);
        let options = CompactOptions {
            rewrite,
            shards,
            max_series_per_block: NonZeroU32::new(limit),
            ..CompactOptions::default()
        };
        matches!(merge(&[&inputs[0]], &options), Err(CompactError::Options { .. }))
    };
    let renamed =
        |old: &str, new: &str| Rewrite { rename_labels: vec![(old.to_owned(), new.to_owned())], ..Rewrite::default() };
    let dropped = Rewrite { drop_labels: vec!["pod".to_owned()], ..Rewrite::default() };
    let hashed = |name: &str| {
        let hash_labels = HashLabels::new(vec![name.to_owned()], &[7; 16]).unwrap();
        Rewrite { hash_labels, ..Rewrite::default() }
    };
    assert!(refused(hashed("pod"), None, 0));
    assert!(!refused(hashed("code"), None, 0));
    assert!(refused(dropped, None, 0));
    assert!(refused(renamed("pod", "a"), None, 0));
    assert!(refused(renamed("a", "pod"), None, 0));
    assert!(!refused(renamed("a", "code"), None, 0));
    assert!(refused(Rewrite::default(), Some("1/2"), 5), "the number of outputs would be unknown");
    assert!(!refused(Rewrite::default(), Some("1/2"), 0));
}
/// Each pod has the same points, which are more than an output takes.
#[test]
fn parts_of_a_list_are_never_two_rows_of_an_output() {
    let label = |name: &str, value: String| (name.to_owned(), value);
    let series: BTreeSet<Labelset> = (0..120)
        .map(|number| [label("le", format!("{}", number % 40)), label("pod", format!("pod-{}", number / 40))].into())
        .collect();
    let keyset = KeysetPlan { columns: vec![key("pod")], list: Some(key("le")) };
    let names = vec!["le".to_owned(), "pod".to_owned()];
    let plan = Plan { keysets: [(names, keyset)].into(), ..Plan::default() };
    let bytes = build(&series, &plan, RowForm::BitPacked, &BlockMeta::default()).unwrap();
    let input = Input { series: series.clone(), metrics: MetricSet::new(), bytes };
    // A part that fills an output has it for itself: 39 points and then 1, which the next 39 do not fit beside.
    for (limit, least) in [(1, 120), (2, 60), (17, 9), (39, 6), (40, 3), (41, 3), (79, 3), (80, 2), (119, 2), (120, 1)]
    {
        let options = CompactOptions { max_series_per_block: NonZeroU32::new(limit), ..CompactOptions::default() };
        let (summary, outputs) = merge(&[&input], &options).unwrap();
        assert_eq!((summary.series_out, summary.outputs), (120, least), "{limit}");
        let mut all = BTreeSet::new();
        for output in &outputs {
            let view = BlockView::open(output).unwrap();
            assert!(view.verify().unwrap().series_count <= limit.into(), "{limit}");
            assert_eq!(view.pool_count(), 1, "the plan is adopted");
            all.extend(content(output));
        }
        assert_eq!(all, series, "{limit}");
    }
}

/// Enough rows to merge keysets in several pieces.
#[test]
fn many_rows_are_spread_and_cut_as_few_are() {
    let mut random = Random::new(12);
    let label = |name: &str, value: String| (name.to_owned(), value);
    let mut all: Vec<Vec<Labelset>> = Vec::new();
    for pod in 0..17_000 {
        let points = 1 + random.below(31);
        let of_pod = (0..5).filter(|point| points >> point & 1 == 1);
        all.push(of_pod.map(|le| [label("le", le.to_string()), label("pod", format!("pod-{pod}"))].into()).collect());
    }
    let keyset = KeysetPlan { columns: vec![key("pod")], list: Some(key("le")) };
    let plan = Plan { keysets: [(vec!["le".to_owned(), "pod".to_owned()], keyset)].into(), ..Plan::default() };
    // Two thirds of the pods each, one third in both, with a part of its points in the second.
    let first = all.iter().enumerate().filter(|(pod, _)| pod % 3 != 0).flat_map(|(_, series)| series);
    let second = all.iter().enumerate().filter(|(pod, _)| pod % 3 != 1).flat_map(|(_, series)| series.iter().skip(1));
    let inputs = [first.cloned().collect(), second.cloned().collect()].map(|series: BTreeSet<Labelset>| {
        let bytes = build(&series, &plan, RowForm::BitPacked, &BlockMeta::default()).unwrap();
        Input { series, metrics: MetricSet::new(), bytes }
    });
    let union: BTreeSet<Labelset> = inputs.iter().flat_map(|input| input.series.clone()).collect();
    let (both, count) = ([&inputs[0], &inputs[1]], NonZeroU32::new(3).unwrap());
    for (layout, by, limit) in [
        (Layout::Factored, None, 5000),
        (Layout::Factored, Some("le"), 0),
        (Layout::Factored, Some("pod"), 3000),
        (Layout::BitPacked, Some("le"), 4000),
    ] {
        let shards = by.and_then(|by| shards(3, by, None));
        let max_series_per_block = NonZeroU32::new(limit);
        let (summary, outputs) =
            merge(&both, &CompactOptions { layout, shards, max_series_per_block, ..CompactOptions::default() })
                .unwrap();
        let case = format!("{layout:?}, {by:?}, {limit}: {summary:?}");
        assert_eq!(summary.series_out, union.len() as u64, "{case}");
        let least = if limit == 0 { 3 } else { union.len() / limit as usize };
        assert!((least..=least + 4).contains(&outputs.len()), "{case}");
        let mut found = BTreeSet::new();
        for output in &outputs {
            let verified = BlockView::open(output).unwrap().verify().unwrap();
            assert!(limit == 0 || verified.series_count <= limit.into(), "{case}");
            let series = content(output);
            let of_shards: BTreeSet<u32> =
                series.iter().map(|labels| by.map_or(0, |by| shard(labels, by, count.get()))).collect();
            assert_eq!(of_shards.len(), 1, "{case}");
            found.extend(series);
        }
        assert_eq!(found.len() as u64, summary.series_out, "no series is in two outputs: {case}");
        assert!(found == union, "{case}");
    }
}
