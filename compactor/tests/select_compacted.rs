//! Selection on what a compaction writes: merged and rewritten blocks, shards, and series followed through remaps.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::Path;

use chronoxide_compactor::{CompactOptions, Rewrite, Shards};
use chronoxide_format::SeriesRef;
use chronoxide_format::layout::RowForm;
use chronoxide_format::remap::RemapView;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_labels::Layout;
use chronoxide_merge_model::{Merged, NAMES, RENAMES, SELECTORS, merge_in_memory};
use chronoxide_publish::{Disk, Spool};
use chronoxide_select::{Index, Matcher, Searcher};
use chronoxide_select_model::{check_answers, random_matchers};
use chronoxide_testkit::fuzzing::sound::series_in_order;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::random::{Random, random_plan, random_series};
use rayon::prelude::*;

/// Compactions, and selectors of each output.
const COMPACTIONS: u64 = 120;
const SELECTORS_PER_OUTPUT: usize = 6;

fn inputs(random: &mut Random) -> Vec<Vec<u8>> {
    let common = random_series(60, random);
    let mut input = |_| {
        let mut series = random_series(1 + random.below(150), random);
        series.extend(common.iter().filter(|_| random.percent(50)).cloned());
        let plan = if random.percent(20) { Plan::default() } else { random_plan(&series, random) };
        let form = if random.percent(50) { RowForm::FixedWidth } else { RowForm::BitPacked };
        build(&series, &plan, form, &BlockMeta::default()).expect("the plan is valid")
    };
    (0..3).map(&mut input).collect()
}

fn compact(inputs: &[Vec<u8>], options: &CompactOptions, with_remaps: bool) -> Merged {
    let views: Vec<BlockView<'_>> = inputs.iter().map(|input| BlockView::open(input).expect("sound")).collect();
    let mut spool = Spool::new(&Disk, Path::new("."), usize::MAX);
    merge_in_memory(&views, options, with_remaps, &mut spool).expect("the inputs can be merged")
}

/// Options of every layout, adopted and fresh plans, one output and several.
fn random_options(random: &mut Random) -> CompactOptions {
    let by = ["pod", "__name__", "absent"][random.below(3)].to_owned();
    let count = NonZeroU32::new(1 + random.below(4) as u32).expect("positive");
    CompactOptions {
        layout: Layout::ALL[random.below(Layout::ALL.len())],
        replan: random.percent(30),
        shards: random.percent(60).then_some(Shards { count, by, only: None }),
        max_series_per_block: NonZeroU32::new([0, 40][random.below(2)]),
        ..CompactOptions::default()
    }
}

fn for_each_seed(check: impl Fn(&mut Random) + Sync + std::panic::RefUnwindSafe) {
    (0..COMPACTIONS).into_par_iter().for_each(|seed| {
        let result = std::panic::catch_unwind(|| check(&mut Random::new(seed)));
        assert!(result.is_ok(), "seed {seed}");
    });
}

#[test]
fn shards_and_rewritten_blocks_answer_as_the_filter_over_their_series() {
    for_each_seed(|random| {
        let inputs = inputs(random);
        let mut options = random_options(random);
        let selector = |random: &mut Random| SELECTORS[random.below(SELECTORS.len())].parse().expect("valid");
        if random.percent(50) {
            options.drop.push(selector(random));
        }
        if random.percent(70) {
            let (old, new) = RENAMES[random.below(RENAMES.len())];
            let drop_labels = [NAMES[random.below(NAMES.len())].to_owned()].into();
            options.rewrite =
                Rewrite { drop_labels, rename_labels: vec![(old.to_owned(), new.to_owned())], ..Rewrite::default() };
            // The label that series are sharded by must stay.
            let rewritten =
                |by: &str| by == old || by == new || options.rewrite.drop_labels.iter().any(|name| name == by);
            options.shards = options.shards.filter(|shards| !rewritten(&shards.by));
        }
        for output in compact(&inputs, &options, false).outputs {
            let view = BlockView::open(&output).expect("sound");
            let series = series_in_order(&view);
            for _ in 0..SELECTORS_PER_OUTPUT {
                check_answers(&view, &series, &random_matchers(&series, random));
            }
        }
    });
}

fn select(block: &[u8], matchers: &[Matcher]) -> Vec<SeriesRef> {
    let view = BlockView::open(block).expect("sound");
    let index = Index::new(&view).expect("sound");
    Searcher::new(&view, &index).select(matchers).expect("sound").iter().collect()
}

#[test]
fn the_selected_series_of_inputs_are_followed_to_the_selected_series_of_outputs() {
    for_each_seed(|random| {
        let inputs = inputs(random);
        let merged = compact(&inputs, &random_options(random), true);
        let all: Vec<Labelset> =
            inputs.iter().flat_map(|input| series_in_order(&BlockView::open(input).expect("sound"))).collect();
        for _ in 0..SELECTORS_PER_OUTPUT {
            let matchers = random_matchers(&all, random);
            let mut followed = BTreeSet::new();
            for (input, remap) in inputs.iter().zip(&merged.remaps) {
                let remap = RemapView::open(remap).expect("sound");
                for series in select(input, &matchers) {
                    let target = remap.get(series).expect("sound").expect("no series is dropped");
                    followed.insert((target.output as usize, target.series));
                }
            }
            let outputs = merged.outputs.iter().enumerate();
            let selected: BTreeSet<(usize, SeriesRef)> = outputs
                .flat_map(|(number, output)| select(output, &matchers).into_iter().map(move |series| (number, series)))
                .collect();
            assert_eq!(followed, selected);
        }
    });
}
