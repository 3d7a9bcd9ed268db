//! Random blocks merged, against sets of labelsets as plain maps.

use std::collections::BTreeSet;

use chronoxide_compactor::{AnnotationPolicy, CompactError, CompactOptions, Compacted, Compaction};
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::metadata::{MetricMetadata, MetricSet, MetricType, OwnedMetricMetadata};
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_planner::Layout;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::random::{Random, random_metrics, random_plan, random_series};
use chronoxide_testkit::sweep;
use proptest::prelude::*;

use crate::support::content;

/// A random block and what is in it: plain or factored, in either form.
struct Input {
    series: BTreeSet<Labelset>,
    metrics: MetricSet,
    bytes: Vec<u8>,
}

fn input(random: &mut Random, count: usize, meta: &BlockMeta) -> Input {
    let size = random.below(count + 1);
    let series = random_series(size, random);
    let plan = if random.percent(30) { Plan::default() } else { random_plan(&series, random) };
    let form = if random.percent(50) { RowForm::FixedWidth } else { RowForm::BitPacked };
    let bytes = build(&series, &plan, form, meta).unwrap();
    Input { series, metrics: meta.metrics.clone(), bytes }
}

fn set<'a>(metrics: impl IntoIterator<Item = &'a OwnedMetricMetadata>) -> MetricSet {
    metrics.into_iter().map(OwnedMetricMetadata::borrowed).collect()
}

fn inputs(seed: u64, count: usize, number: usize) -> Vec<Input> {
    let mut random = Random::new(seed);
    let mut input = || {
        let metrics = random_metrics(count / 10, &mut random);
        input(&mut random, count, &BlockMeta { metrics: set(&metrics), ..BlockMeta::default() })
    };
    (0..number).map(|_| input()).collect()
}

fn merge_as(blocks: &[&[u8]], layout: Layout) -> Result<Compacted, CompactError> {
    let views: Vec<BlockView<'_>> = blocks.iter().map(|bytes| BlockView::open(bytes).unwrap()).collect();
    Compaction::new(&views, &CompactOptions { layout, ..CompactOptions::default() }).merge_to_memory()
}

fn merge(blocks: &[&[u8]]) -> Compacted {
    merge_as(blocks, Layout::Factored).unwrap()
}

/// How the bytes of an output come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Plain(Layout),
    /// Adopts the plan of the largest input.
    Adopting,
    /// Plans afresh.
    Replanned,
    /// Plans afresh, from a sample of the rows.
    Sampled,
}

const WAYS: [Way; 5] =
    [Way::Plain(Layout::FixedWidth), Way::Plain(Layout::BitPacked), Way::Adopting, Way::Replanned, Way::Sampled];

impl Way {
    fn layout(self) -> Layout {
        if let Self::Plain(layout) = self { layout } else { Layout::Factored }
    }

    fn options(self) -> CompactOptions {
        let replan = matches!(self, Self::Replanned | Self::Sampled);
        CompactOptions { layout: self.layout(), replan, ..CompactOptions::default() }
    }

    fn merge(self, blocks: &[&[u8]]) -> Compacted {
        let views: Vec<BlockView<'_>> = blocks.iter().map(|bytes| BlockView::open(bytes).unwrap()).collect();
        let options = self.options();
        let compaction = Compaction::new(&views, &options);
        match self {
            Self::Sampled => Compaction { planned_series: 20, ..compaction }.merge_to_memory().unwrap(),
            _ => compaction.merge_to_memory().unwrap(),
        }
    }
}

fn bytes(inputs: &[Input]) -> Vec<&[u8]> {
    inputs.iter().map(|input| &input.bytes[..]).collect()
}

/// The sections that hold content and not where it came from.
fn content_sections(block: &[u8]) -> Vec<&[u8]> {
    use SectionKind::{Arena, Catalogue, Members, MetricMetadata, Rows, Symbols};
    let view = BlockView::open(block).unwrap();
    let kinds = [Catalogue, Symbols, Rows, Members, Arena, MetricMetadata].map(|kind| kind.code());
    let sections = view.sections().filter(|section| kinds.contains(&section.kind));
    sections.map(|section| &block[section.offset as usize..(section.offset + section.length) as usize]).collect()
}

fn content_len(block: &[u8]) -> usize {
    content_sections(block).iter().map(|section| section.len()).sum()
}

fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: sweep::cases(20, 150), ..ProptestConfig::default() })]

    #[test]
    fn the_output_is_the_union_and_the_rest_are_duplicates(seed: u64, count in 0_usize..150, number in 1_usize..6) {
        let inputs = inputs(seed, count, number);
        let union: BTreeSet<Labelset> = inputs.iter().flat_map(|input| input.series.clone()).collect();
        let series_in: usize = inputs.iter().map(|input| input.series.len()).sum();
        for way in WAYS {
            let merged = way.merge(&bytes(&inputs));
            let view = BlockView::open(&merged.block).unwrap();
            let verified = view.verify().unwrap();
            prop_assert_eq!(verified.series_count, union.len() as u64);
            prop_assert_eq!(view.row_form(), Some(way.layout().row_form()));
            prop_assert_eq!(&content(&merged.block), &union);
            let summary = &merged.summary;
            prop_assert_eq!((summary.series_in, summary.series_out), (series_in as u64, union.len() as u64));
            prop_assert_eq!((summary.duplicates, summary.dropped), ((series_in - union.len()) as u64, 0));
            // Returns a plain block of the union, without lineage.
            let metrics = inputs.iter().flat_map(|input| input.metrics.iter()).collect();
            let meta = BlockMeta { metrics, ..BlockMeta::default() };
            let plain = build(&union, &Plan::default(), way.layout().row_form(), &meta).unwrap();
            let planner_version = view.meta().unwrap().planner_version();
            match way {
                Way::Plain(_) => {
                    prop_assert!(content_sections(&plain) == content_sections(&merged.block));
                    prop_assert_eq!(planner_version, 0);
                }
                Way::Replanned => {
                    prop_assert!(content_len(&merged.block) <= content_len(&plain) + 64);
                    prop_assert_eq!(planner_version, Layout::Factored.planner_version());
                }
                Way::Adopting | Way::Sampled => {}
            }
        }
    }

    #[test]
    fn the_plan_of_the_largest_input_is_adopted(seed: u64, count in 2_usize..150) {
        // Another random plan for a part of the same series.
        let mut random = Random::new(seed);
        let series = random_series(count, &mut random);
        let plan = random_plan(&series, &mut random);
        let some: BTreeSet<Labelset> = series.iter().filter(|_| random.percent(60)).cloned().collect();
        let other = random_plan(&some, &mut random);
        let meta = BlockMeta { planner_version: 7, ..BlockMeta::default() };
        let large = build(&series, &plan, RowForm::BitPacked, &meta).unwrap();
        let small = build(&some, &other, RowForm::FixedWidth, &BlockMeta::default()).unwrap();
        prop_assume!(some.len() < series.len());
        let merged = merge(&[&small, &large]);
        prop_assert_eq!(&content(&merged.block), &series);
        let view = BlockView::open(&merged.block).unwrap();
        prop_assert_eq!(view.meta().unwrap().planner_version(), 7);
        prop_assert!(content_sections(&merged.block) == content_sections(&merge(&[&large]).block));
    }

    #[test]
    fn neither_the_order_of_inputs_nor_the_number_of_threads_matters(seed: u64, count in 1_usize..200) {
        let inputs = inputs(seed, count, 4);
        let mut blocks = bytes(&inputs);
        let mut random = Random::new(seed ^ 1);
        for way in WAYS {
            let expected = way.merge(&blocks).block;
            for threads in [1, 2, 8] {
                random.shuffle(&mut blocks);
                let merged = in_pool(threads, || way.merge(&blocks)).block;
                prop_assert!(merged == expected, "{way:?}, {threads} threads");
            }
        }
    }

    #[test]
    fn any_grouping_of_merges_has_the_same_content(seed: u64, count in 1_usize..120) {
        let inputs = inputs(seed, count, 4);
        let all = bytes(&inputs);
        let [a, b, c, d] = all[..] else { unreachable!() };
        for way in WAYS {
            let merge = |blocks: &[&[u8]]| way.merge(blocks).block;
            let expected = merge(&all);
            let (ab, cd, bc) = (merge(&[a, b]), merge(&[c, d]), merge(&[b, c]));
            let abc = merge(&[&ab, c]);
            for grouped in [merge(&[&ab, &cd]), merge(&[&abc, d]), merge(&[d, &bc, a]), merge(&[&abc, &cd, &bc, a])] {
                let fingerprint = |block: &[u8]| BlockView::open(block).unwrap().verify().unwrap().fingerprint;
                prop_assert_eq!(fingerprint(&grouped), fingerprint(&expected));
                // Whose plan is adopted depends on who is merged with whom.
                if !matches!(way, Way::Adopting | Way::Sampled) {
                    prop_assert!(content_sections(&grouped) == content_sections(&expected), "{way:?}");
                }
            }
        }
    }

    #[test]
    fn a_block_merged_with_itself_is_its_content(seed: u64, count in 0_usize..150) {
        let input = &inputs(seed, count, 1)[0];
        for way in WAYS {
            let twice = way.merge(&[&input.bytes, &input.bytes]);
            prop_assert_eq!(&content(&twice.block), &input.series);
            prop_assert_eq!(twice.summary.duplicates, input.series.len() as u64);
            // The sample has fewer series if each is in two inputs.
            let once = way.merge(&[&input.bytes]).block;
            prop_assert!(way == Way::Sampled || content_sections(&twice.block) == content_sections(&once));
        }
    }

    #[test]
    fn a_flipped_bit_of_any_input_is_refused_and_names_it(seed: u64, which in 0_usize..3, at: prop::sample::Index) {
        let mut inputs = inputs(seed, 60, 3);
        let bit = at.index(inputs[which].bytes.len() * 8);
        inputs[which].bytes[bit / 8] ^= 1 << (bit % 8);
        let views: Result<Vec<BlockView<'_>>, _> = inputs.iter().map(|input| BlockView::open(&input.bytes)).collect();
        // A block that does not open cannot be merged.
        if let Ok(views) = views {
            match Compaction::new(&views, &CompactOptions::default()).merge_to_memory() {
                Err(CompactError::Input { input, .. }) => prop_assert_eq!(input, which),
                other => prop_assert!(false, "bit {bit}: {other:?}"),
            }
        }
    }
}

#[test]
fn the_oldest_block_decides_whatever_the_order_of_arguments() {
    let pair = |value: &str| vec![("note".to_owned(), value.to_owned())];
    let meta = |start, note| BlockMeta {
        time: Some(TimeRange { start, end: start + 5_000_000 }),
        annotations: pair(note),
        ..BlockMeta::default()
    };
    let mut random = Random::new(4);
    // Ids sort by the milliseconds at which data begin.
    let [old, middle, new] = [(1, "old"), (2, "middle"), (3, "new")]
        .map(|(start, note)| input(&mut random, 20, &meta(start * 1_000_000_000, note)).bytes);
    let options = CompactOptions { annotations: AnnotationPolicy::First, ..CompactOptions::default() };
    for order in [[&old, &middle, &new], [&new, &middle, &old], [&middle, &new, &old], [&new, &old, &middle]] {
        let views = order.map(|block| BlockView::open(block).unwrap());
        let merged = Compaction::new(&views, &options).merge_to_memory().unwrap().block;
        let view = BlockView::open(&merged).unwrap();
        let meta = view.meta().unwrap();
        assert_eq!(meta.annotations().unwrap().map(Result::unwrap).collect::<Vec<_>>(), [("note", "old")]);
    }
}

#[test]
fn what_inputs_say_of_themselves_is_united() {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let meta = |start, end, pairs: &[(String, String)]| BlockMeta {
        time: Some(TimeRange { start, end }),
        external_labels: vec![pair("cluster", "eu")],
        annotations: pairs.to_vec(),
        policy: LabelPolicy::INGEST,
        ..BlockMeta::default()
    };
    let mut random = Random::new(1);
    let a = input(&mut random, 20, &meta(-5, 10, &[pair("a", "1"), pair("b", "2")]));
    let b = input(&mut random, 20, &meta(3, 30, &[pair("b", "2"), pair("c", "3")]));
    let ab = merge(&[&a.bytes, &b.bytes]).block;
    let id = |block: &[u8]| BlockView::open(block).unwrap().block_id();
    let view = BlockView::open(&ab).unwrap();
    let meta_of = view.meta().unwrap();
    assert_eq!(meta_of.time(), Some(TimeRange { start: -5, end: 30 }));
    assert_eq!(meta_of.policy(), LabelPolicy::INGEST);
    let user: Vec<_> = meta_of.annotations().unwrap().map(Result::unwrap).collect();
    assert_eq!(user, [("a", "1"), ("b", "2"), ("c", "3")]);
    let external: Vec<_> = meta_of.external_labels().unwrap().map(Result::unwrap).collect();
    assert_eq!(external, [("cluster", "eu")]);
    let parents: BTreeSet<_> = meta_of.parents().unwrap().collect();
    assert_eq!(parents, [id(&a.bytes), id(&b.bytes)].into());
    assert_eq!(meta_of.ancestors().unwrap().len(), 0);

    let c = input(&mut random, 20, &meta(7, 8, &[]));
    let abc = merge(&[&ab, &c.bytes]).block;
    let view = BlockView::open(&abc).unwrap();
    let ancestors: BTreeSet<_> = view.meta().unwrap().ancestors().unwrap().collect();
    assert_eq!(ancestors, [id(&a.bytes), id(&b.bytes)].into());

    // A time that one input does not know, the output does not know.
    let timeless = BlockMeta { time: None, ..meta(0, 1, &[]) };
    let d = input(&mut random, 20, &timeless);
    let merged = merge(&[&a.bytes, &d.bytes]).block;
    assert_eq!(BlockView::open(&merged).unwrap().meta().unwrap().time(), None);
}

#[test]
fn metric_metadata_are_united_each_once() {
    let up = MetricMetadata { name: "up", metric_type: MetricType::Gauge, ..MetricMetadata::default() };
    let described = MetricMetadata { description: "Whether it is up.", ..up };
    let sum = MetricMetadata { name: "requests", metric_type: MetricType::Sum, monotonicity: true.into(), ..up };
    let mut random = Random::new(3);
    let mut block = |metrics: &[MetricMetadata<'_>]| {
        let metrics = metrics.iter().copied().collect();
        input(&mut random, 10, &BlockMeta { metrics, ..BlockMeta::default() }).bytes
    };
    let (a, b, without) = (block(&[up, sum]), block(&[described, up]), block(&[]));
    let merged = merge(&[&a, &without, &b]);
    let view = BlockView::open(&merged.block).unwrap();
    view.verify().unwrap();
    let rows: Vec<MetricMetadata<'_>> = view.metric_metadata().unwrap().iter().map(Result::unwrap).collect();
    assert_eq!(rows, [sum, up, described]);
    assert_eq!(merged.summary.optional_sections_left_out, 0, "the section is known");
    let merged = merge(&[&without, &without]).block;
    assert!(BlockView::open(&merged).unwrap().metric_metadata().unwrap().is_empty());
}

/// Names that begin with U+0000 are reserved, and are kept.
#[test]
fn text_that_is_easily_taken_for_other_text_is_kept() {
    let golden = goldens().into_iter().find(|golden| golden.name == "strings").unwrap();
    let reserved = |series: &BTreeSet<Labelset>| series.iter().flatten().any(|(name, _)| name.starts_with('\0'));
    assert!(reserved(&golden.series));
    let more: BTreeSet<Labelset> =
        [[("\0reserved".to_owned(), "b".to_owned()), ("zero".to_owned(), "\0".to_owned())].into()].into();
    let other = build(&more, &Plan::default(), RowForm::FixedWidth, &BlockMeta::default()).unwrap();
    for layout in [Layout::FixedWidth, Layout::BitPacked, Layout::Factored] {
        let merged = merge_as(&[&golden.bytes, &other], layout).unwrap();
        assert_eq!(content(&merged.block), &golden.series | &more);
    }
}

#[test]
fn nothing_merged_is_an_empty_block() {
    let merged = merge(&[]);
    assert_eq!((merged.summary.series_in, merged.summary.series_out, merged.summary.duplicates), (0, 0, 0));
    BlockView::open(&merged.block).unwrap().verify().unwrap();
}

#[test]
fn inputs_that_contradict_each_other_are_not_merged() {
    let pair = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
    let conflicts = [
        ("external labels", BlockMeta { external_labels: pair("cluster", "eu"), ..BlockMeta::default() }),
        ("label policy", BlockMeta { policy: LabelPolicy::INGEST, ..BlockMeta::default() }),
        ("annotations", BlockMeta { annotations: pair("note", "other"), ..BlockMeta::default() }),
    ];
    let base = BlockMeta { annotations: pair("note", "one"), ..BlockMeta::default() };
    for (name, meta) in conflicts {
        let mut random = Random::new(7);
        let (a, b) = (input(&mut random, 20, &base), input(&mut random, 20, &meta));
        match merge_as(&[&a.bytes, &a.bytes, &b.bytes], Layout::BitPacked) {
            Err(CompactError::Differs { input, what }) => assert_eq!((input, what), (2, name)),
            other => panic!("{name}: {other:?}"),
        }
    }
}
