//! The target that merges blocks.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::OnceLock;

use chronoxide_compactor::{CompactError, CompactOptions, Rewrite, Shards, Summary};
use chronoxide_format::SeriesRef;
use chronoxide_format::identity::BlockId;
use chronoxide_format::metadata::MetricMetadata;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::remap::{RemapView, Target};
use chronoxide_format::shard::Shard;
use chronoxide_format::view::BlockView;
use chronoxide_labels::Layout;
use chronoxide_publish::{Disk, Spool};
use chronoxide_select::Selector;
use chronoxide_testkit::fuzzing::mutation::{mutated, mutated_relative};
use chronoxide_testkit::fuzzing::program::Program;
use chronoxide_testkit::fuzzing::sound;
use chronoxide_testkit::plan::Labelset;

use crate::model::{Merged, NAMES, RENAMES, SELECTORS, expected_here, merge_in_memory, merged};

/// Selectors about labels of goldens.
const MORE_SELECTORS: [&str; 7] = [
    r#"{job="api"}"#,
    r#"{__name__=~"up|cpu|requests"}"#,
    r#"{pod=~"db-.*"}"#,
    r#"{le="+Inf"}"#,
    r#"{code!="404",method=~"P.*"}"#,
    r#"{route=~"/route/[1-5]"}"#,
    r#"{zone!="a",__name__=~".+"}"#,
];

/// Labels of goldens to drop, and others that are too long or empty to get.
const MORE_NAMES: [&str; 6] = ["job", "core", "node", "method", "route", "zone"];
const MORE_RENAMES: [(&str, &str); 7] = [
    ("job", "pod"),
    ("core", "cpu"),
    ("__name__", "name"),
    ("route", "__name__"),
    ("method", "code"),
    ("node", ""),
    ("table", "a name that is longer than some label policies allow"),
];

const SHARDED_BY: [&str; 6] = ["__name__", "pod", "zone", "le", "code", "absent"];

/// A byte of options, what these need, and two to four programs that change blocks, each but the last after a byte with
/// its length.
///
/// If all blocks verify, the outputs have exactly the series that a model says, each once and in its shard, and remaps
/// lead there; if one does not, it is refused by its number.
///
/// # Panics
/// If a promise of merging is broken.
pub fn merge(bytes: &[u8]) {
    let _ = merge_and_judge(bytes);
}

/// Result of the merge, if it succeeded.
fn merge_and_judge(bytes: &[u8]) -> Option<Merged> {
    let mut program = Program(bytes);
    let choices = program.byte();
    let options = options(choices, &mut program);
    let blocks = blocks(choices, &mut program);
    let views: Result<Vec<BlockView<'_>>, _> = blocks.iter().map(|block| BlockView::open(block)).collect();
    let mut views = views.ok()?;
    let with_remaps = choices & 64 != 0;
    let done = attempt(&views, &options, with_remaps)?;
    if choices & 2 != 0 {
        views.reverse();
        let reversed = attempt(&views, &options, false).expect("the order of inputs does not matter");
        assert!(done.outputs == reversed.outputs, "the order of inputs shows");
        views.reverse();
    }
    judge(&views, &options, &done, with_remaps);
    Some(done)
}

/// Decodes options from the bytes. If the high bits are not set, the other bits keep the meaning that they had before
/// these options existed.
fn options(choices: u8, program: &mut Program<'_>) -> CompactOptions {
    let layout = match choices & 5 {
        0 => Layout::Factored,
        1 => Layout::FixedWidth,
        _ => Layout::BitPacked,
    };
    let mut options = CompactOptions { layout, replan: choices & 8 != 0, ..CompactOptions::default() };
    if choices & 16 != 0 {
        let counts = program.byte();
        let selectors = selectors();
        let mut some = |shift: u8| -> Vec<Selector> {
            (0..counts >> shift & 3).map(|_| selectors[program.below(selectors.len())].clone()).collect()
        };
        (options.keep, options.drop) = (some(0), some(2));
        let names = [&NAMES[..], &MORE_NAMES].concat();
        let renames = [&RENAMES[..], &MORE_RENAMES].concat();
        let drop_labels = (0..counts >> 4 & 3).map(|_| names[program.below(names.len())].to_owned()).collect();
        let rename = |(old, new): (&str, &str)| (old.to_owned(), new.to_owned());
        let rename_labels = (0..counts >> 6).map(|_| rename(renames[program.below(renames.len())])).collect();
        options.rewrite = Rewrite { drop_labels, rename_labels, ..Rewrite::default() };
    }
    if choices & 32 != 0 {
        options.max_series_per_block = NonZeroU32::new(program.below(48) as u32);
        let count = NonZeroU32::new(program.below(6) as u32);
        options.shards = count.map(|count| {
            let by = SHARDED_BY[program.below(SHARDED_BY.len())].to_owned();
            Shards { count, by, only: Shard::all(count).nth(program.below(8)) }
        });
    }
    options
}

fn selectors() -> &'static [Selector] {
    static ALL: OnceLock<Vec<Selector>> = OnceLock::new();
    let parsed = |text: &&str| text.parse().expect("a selector");
    ALL.get_or_init(|| SELECTORS.iter().chain(&MORE_SELECTORS).map(parsed).collect())
}

/// Two blocks made of goldens, or up to four, each of a golden or of series that the others have too.
fn blocks(choices: u8, program: &mut Program<'_>) -> Vec<Vec<u8>> {
    let (kinds, family) = if choices & 128 != 0 { (program.byte(), program.byte()) } else { (0, 0) };
    let count = 2 + kinds % 3;
    let mut blocks = Vec::new();
    for number in 1..=count {
        let len = if number < count { program.below(256) } else { program.0.len() };
        let mut own = Program(program.bytes(len));
        let is_relative = kinds >> 3 & 1 << number != 0;
        blocks.push(if is_relative { mutated_relative(family, &mut own) } else { mutated(&mut own) });
    }
    blocks
}

/// Merges; nothing if that was refused, and rightly so.
fn attempt(views: &[BlockView<'_>], options: &CompactOptions, with_remaps: bool) -> Option<Merged> {
    let mut spool = Spool::new(&Disk, Path::new("."), usize::MAX);
    match merge_in_memory(views, options, with_remaps, &mut spool) {
        Ok(merged) => {
            assert!(!is_refused(views, options), "options that do not go together are taken");
            assert!(views.iter().all(|view| view.verify().is_ok()), "a damaged input is taken");
            Some(merged)
        }
        Err(error) => {
            assert_is_due(&error, views, options);
            None
        }
    }
}

fn policy(views: &[BlockView<'_>]) -> Option<LabelPolicy> {
    views[0].meta().ok().map(|meta| meta.policy())
}

/// Returns true if the options cannot be met.
fn is_refused(views: &[BlockView<'_>], options: &CompactOptions) -> bool {
    let Rewrite { drop_labels, rename_labels, .. } = &options.rewrite;
    let most = policy(views).map_or(usize::MAX, |policy| policy.max_name_len() as usize);
    rename_labels.iter().any(|(_, new)| new.is_empty() || new.len() > most)
        || options.shards.as_ref().is_some_and(|Shards { by, only, .. }| {
            only.is_some() && options.max_series_per_block.is_some()
                || drop_labels.contains(by)
                || rename_labels.iter().any(|(old, new)| old == by || new == by)
        })
}

/// # Panics
/// If that was no reason to refuse these blocks.
fn assert_is_due(error: &CompactError, views: &[BlockView<'_>], options: &CompactOptions) {
    let is_due = match *error {
        CompactError::Input { input, .. } => views[input].verify().is_err(),
        CompactError::ReadOnly { input, reason } => views[input].read_only() == Some(reason),
        CompactError::Differs { input, .. } => {
            views.iter().all(|view| view.verify().is_ok())
                && views[..input].iter().any(|view| differ(view, &views[input]))
        }
        CompactError::Options { .. } => is_refused(views, options),
        _ => false,
    };
    assert!(is_due, "these blocks cannot be merged: {error}");
}

/// Returns true if two blocks have different external labels or label policies.
fn differ(first: &BlockView<'_>, second: &BlockView<'_>) -> bool {
    let of = |view: &BlockView<'_>| {
        let meta = view.meta().expect("a sound block has meta");
        let owned = |pair: Result<(&str, &str), _>| {
            let (key, value) = pair.expect("a sound block has its pairs");
            (key.to_owned(), value.to_owned())
        };
        let external: Vec<_> = meta.external_labels().expect("a sound block").map(owned).collect();
        let user: Vec<_> = meta.annotations().expect("a sound block").map(owned).collect();
        ((external, meta.policy()), user)
    };
    let ((first, user), (second, other)) = (of(first), of(second));
    first != second || user.iter().any(|(key, value)| other.iter().any(|(same, now)| same == key && now != value))
}

/// # Panics
/// If outputs, remaps or the summary are not what the model says.
fn judge(views: &[BlockView<'_>], options: &CompactOptions, done: &Merged, with_remaps: bool) {
    let open = |output| BlockView::open(output).expect("a merged block opens");
    let outputs: Vec<BlockView<'_>> = done.outputs.iter().map(|output| open(output)).collect();
    for output in &outputs {
        output.verify().expect("a merged block verifies");
    }
    assert_eq!(outputs.len(), done.summary.outputs as usize);
    judge_meta(views, options, &outputs);

    let inputs: Option<Vec<BTreeSet<Labelset>>> = views.iter().map(sound::series).collect();
    let found: Option<Vec<BTreeSet<Labelset>>> = outputs.iter().map(|output| sound::check(output, false)).collect();
    // Blocks of very many series are only verified.
    let (Some(inputs), Some(found)) = (inputs, found) else { return };
    let policy = policy(views).expect("a sound block has meta");
    let under = |selectors: &[Selector]| selectors.iter().map(|selector| selector.under(&policy)).collect();
    let options = CompactOptions { keep: under(&options.keep), drop: under(&options.drop), ..options.clone() };
    let shards = merged(inputs.iter().flatten(), &options);
    let most = options.max_series_per_block.map_or(usize::MAX, |most| most.get() as usize);
    let mut outputs_left = found.iter();
    for mut left in shards.clone() {
        // A shard has an output also of no series, and no further one without series.
        loop {
            let series = outputs_left.next().expect("no output is missing");
            assert!(series.len() <= most, "{} series in a block", series.len());
            assert!(left.is_superset(series), "these should not be there, or were there before: {series:?}, {left:?}");
            let is_progress = !series.is_empty() || left.is_empty();
            assert!(is_progress, "an output of no series: {left:?} are missing");
            left.retain(|labels| !series.contains(labels));
            if left.is_empty() {
                break;
            }
        }
    }
    assert_eq!(outputs_left.count(), 0, "there are too many outputs");
    judge_summary(&inputs, &shards, &options, &done.summary);
    if with_remaps {
        judge_remaps(views, &outputs, &options, &done.remaps);
    }
}

fn judge_summary(
    inputs: &[BTreeSet<Labelset>],
    shards: &[BTreeSet<Labelset>],
    options: &CompactOptions,
    summary: &Summary,
) {
    let all = || inputs.iter().flatten();
    let count = |count: usize| count as u64;
    let out = count(shards.iter().map(BTreeSet::len).sum());
    let here = count(all().filter_map(|labels| expected_here(labels, options)).count());
    let series_in = count(all().count());
    assert_eq!((summary.series_in, summary.series_out), (series_in, out));
    assert_eq!(summary.duplicates, here - out);
    assert_eq!(summary.dropped + summary.other_shards, series_in - here);
    let is_whole = options.shards.as_ref().is_none_or(|shards| shards.only.is_none());
    assert!(!is_whole || summary.other_shards == 0, "{} series of other shards", summary.other_shards);
}

/// Outputs know the job, what they were made of, and the metadata of all metrics.
fn judge_meta(views: &[BlockView<'_>], options: &CompactOptions, outputs: &[BlockView<'_>]) {
    fn metrics<'a>(view: &BlockView<'a>) -> BTreeSet<MetricMetadata<'a>> {
        let metrics = view.metric_metadata().expect("a sound block");
        metrics.iter().map(|metadata| metadata.expect("a sound block has its metadata")).collect()
    }
    let parents: BTreeSet<BlockId> = views.iter().map(BlockView::block_id).collect();
    let all: BTreeSet<MetricMetadata<'_>> = views.iter().flat_map(metrics).collect();
    let only = options.shards.as_ref().and_then(|shards| shards.only);
    for (number, output) in (0..).zip(outputs) {
        let meta = output.meta().expect("a sound block has meta");
        let job = meta.job().expect("a job");
        let expected = only.map_or((number, outputs.len() as u32), |shard| (shard.number(), shard.count().get()));
        assert_eq!((job.output, job.output_count), expected);
        assert_eq!(meta.parents().expect("a sound block").collect::<BTreeSet<_>>(), parents);
        assert_eq!(metrics(output), all);
    }
}

/// Remaps lead each series to what became of it, in any order in which they are asked.
fn judge_remaps(views: &[BlockView<'_>], outputs: &[BlockView<'_>], options: &CompactOptions, remaps: &[Vec<u8>]) {
    assert_eq!(remaps.len(), views.len());
    let in_order: Vec<Vec<Labelset>> = outputs.iter().map(sound::series_in_order).collect();
    let job = outputs[0].meta().expect("a sound block").job().expect("a job").id;
    for (view, remap) in views.iter().zip(remaps) {
        let remap = RemapView::open(remap).expect("a remap opens");
        remap.verify().expect("a remap verifies");
        assert_eq!((remap.input_id(), remap.job_id()), (view.block_id(), job));
        let known: Vec<_> = (0..remap.output_count()).map(|number| remap.output(number)).collect();
        let lens = outputs.iter().zip(&in_order);
        assert_eq!(known, lens.map(|(output, all)| Some((output.block_id(), all.len() as u64))).collect::<Vec<_>>());
        let targets: Result<Vec<Option<Target>>, _> = remap.targets().expect("a sound remap").collect();
        let targets = targets.expect("a sound remap");
        let labels = sound::series_in_order(view);
        assert_eq!(targets.len(), labels.len());
        for ((series, labels), target) in (0..).map(SeriesRef).zip(&labels).zip(&targets) {
            let found = target.map(|target| &in_order[target.output as usize][target.series.0 as usize]);
            assert_eq!(found, expected_here(labels, options).as_ref(), "{labels:?}");
            assert_eq!(remap.get(series), Ok(*target), "{labels:?}");
        }
        assert_eq!(remap.get(SeriesRef(labels.len() as u32)), Ok(None));
    }
}

#[cfg(test)]
mod tests {
    use chronoxide_testkit::corpus::read_corpus;

    use super::*;

    #[test]
    fn programs_of_the_corpus_merge_in_many_ways() {
        let (mut merged, mut refused, mut ways) = (0, 0, [0; 5]);
        for input in read_corpus("merge").expect("the corpus is part of the project") {
            let Some(Merged { summary, remaps, .. }) = merge_and_judge(&input.bytes) else {
                refused += 1;
                continue;
            };
            merged += 1;
            let met = [
                summary.duplicates > 0,
                summary.dropped > 0 && summary.series_out > 0,
                summary.other_shards > 0,
                summary.outputs > 1,
                !remaps.is_empty(),
            ];
            ways.iter_mut().zip(met).for_each(|(count, met)| *count += u32::from(met));
        }
        println!("{merged} merged, {refused} refused, ways {ways:?}");
        assert!(
            merged >= 240 && refused >= 200 && ways.iter().all(|&count| count >= 10),
            "{merged}, {refused}, {ways:?}"
        );
    }
}
