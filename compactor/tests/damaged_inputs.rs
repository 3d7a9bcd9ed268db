//! Damage of every kind in one of several inputs: either the compaction refuses and names it, or the block is sound all
//! the same and its series come out, each once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZeroU32;
use std::path::Path;

use chronoxide_compactor::{
    CompactError, CompactOptions, Compaction, CompactionError, NoObserver, PLANNED_SERIES, SCRATCH_MEMORY, Shards,
};
use chronoxide_format::Rule;
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_merge_model::expected;
use chronoxide_planner::Layout;
use chronoxide_publish::Disk;
use chronoxide_reader::{Block, BlockId, Checks, Folder, OpenError};
use chronoxide_testkit::broken::{Broken, broken};
use chronoxide_testkit::corpus::read_corpus;
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::fuzzing::mutated_block;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::hostile::{boundary_values, fields, with_fields};
use chronoxide_testkit::plan::{Labelset, build};
use chronoxide_testkit::random::{Random, random_plan, random_series};
use chronoxide_testkit::sweep;
use rayon::prelude::*;

use crate::support::{Done, Here, content, random_options};

/// A damaged block, and what was done to it.
struct Case {
    kind: String,
    bytes: Vec<u8>,
}

impl Case {
    fn new(kind: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { kind: kind.into(), bytes }
    }
}

/// A block for each rule that breaks it.
fn breaking() -> Vec<Case> {
    let with_known_features = |bytes: Vec<u8>| match BlockView::open(&bytes) {
        // Features are looked at before damage is.
        Ok(view) if view.unknown_ro_compat() != 0 => {
            let mut editor = BlockEditor::open(&bytes);
            editor.features = [0; 3];
            editor.close()
        }
        _ => bytes,
    };
    let case = |broken: Broken| Case::new(format!("breaks {}", broken.rule.id()), with_known_features(broken.bytes));
    broken().into_iter().map(case).collect()
}

/// Bits all over each golden.
fn flipped() -> Vec<Case> {
    let of_golden = |name: &'static str, bytes: Vec<u8>| {
        let bits = bytes.len() * 8;
        (0..60).map(move |number| {
            let bit = number * bits / 60 + number % 8;
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            Case::new(format!("{name}: bit {bit} flipped"), damaged)
        })
    };
    goldens().into_iter().flat_map(|golden| of_golden(golden.name, golden.bytes)).collect()
}

fn pages() -> Vec<Case> {
    const PAGE: usize = 4096;
    let block = |name| goldens().into_iter().find(|golden| golden.name == name).unwrap().bytes;
    let (bytes, foreign) = (block("many-chunks"), block("limit-symbols"));
    let pages = bytes.len() / PAGE;
    let mut cases = Vec::new();
    for page in 0..pages {
        let range = page * PAGE..(page + 1) * PAGE;
        let mut zeroed = bytes.clone();
        zeroed[range.clone()].fill(0);
        cases.push(Case::new(format!("page {page} zeroed"), zeroed));
        let mut replaced = bytes.clone();
        replaced[range.clone()].copy_from_slice(&foreign[range.clone()]);
        cases.push(Case::new(format!("page {page} of another file"), replaced));
        for other in (page + 1..pages).step_by(3) {
            let mut swapped = bytes.clone();
            let (low, high) = swapped.split_at_mut(other * PAGE);
            low[range.clone()].swap_with_slice(&mut high[..PAGE]);
            cases.push(Case::new(format!("pages {page} and {other} swapped"), swapped));
        }
    }
    cases.retain(|case| case.bytes != bytes);
    cases
}

fn other_lengths() -> Vec<Case> {
    let mut cases = Vec::new();
    for golden in goldens() {
        let (name, bytes) = (golden.name, golden.bytes);
        for number in 0..16 {
            let len = bytes.len() * number / 16;
            cases.push(Case::new(format!("{name}: cut to {len}"), bytes[..len].to_vec()));
        }
        for (more, with) in [(1, 0), (4, 0), (4, 7), (4096, 0), (8192, 0xFF)] {
            let longer = [&bytes[..], &vec![with; more]].concat();
            cases.push(Case::new(format!("{name}: {more} more bytes {with}"), longer));
        }
        cases.push(Case::new(format!("{name}: twice"), bytes.repeat(2)));
    }
    cases
}

/// Fields with other values and right checksums.
fn repaired_fields() -> Vec<Case> {
    let values = boundary_values(0).len();
    let mut cases = Vec::new();
    let mut place = 0;
    for golden in goldens().into_iter().filter(|golden| golden.bytes.len() < 1000) {
        let fields = fields(&golden.bytes);
        for &field in &fields {
            for _ in 0..3 {
                // A step that shares no factor with the number of values.
                place += 7;
                let change = (field, place % values);
                let kind = format!("{}: {change:?}", golden.name);
                cases.push(Case::new(kind, with_fields(&golden.bytes, &[change])));
            }
        }
    }
    cases
}

/// Sections of another block, with right checksums.
fn foreign_sections() -> Vec<Case> {
    use SectionKind::{Arena, Catalogue, Members, Meta, Rows, Symbols};
    let goldens: Vec<_> = goldens().into_iter().filter(|golden| golden.bytes.len() < 20_000).collect();
    let mut cases = Vec::new();
    for (number, golden) in goldens.iter().enumerate() {
        for step in [1, 5] {
            let other = &goldens[(number + step) % goldens.len()];
            for kind in [Arena, Catalogue, Members, Meta, Rows, Symbols] {
                let mut editor = BlockEditor::open(&golden.bytes);
                *editor.section(kind) = BlockEditor::open(&other.bytes).section(kind).clone();
                cases.push(Case::new(format!("{}: {kind:?} of {}", golden.name, other.name), editor.close()));
            }
        }
    }
    cases
}

/// Programs that change goldens and repair what they can: those that fuzzers found, and any.
fn programs() -> Vec<Case> {
    let corpus = read_corpus("block_repaired").unwrap();
    let mut programs: Vec<Vec<u8>> = corpus.into_iter().map(|input| input.bytes).collect();
    let mut random = Random::new(77);
    for _ in 0..5000 {
        let len = 3 + random.below(14);
        programs.push((0..len).map(|_| random.below(256) as u8).collect());
    }
    programs.iter().map(|program| Case::new(format!("program {program:02x?}"), mutated_block(program))).collect()
}

/// Sound blocks to be merged with.
fn companions() -> Vec<Vec<u8>> {
    let mut random = Random::new(3);
    let mut block = |number: usize| {
        let series = random_series(number * 6, &mut random);
        let plan = random_plan(&series, &mut random);
        let form = [RowForm::BitPacked, RowForm::FixedWidth][number % 2];
        build(&series, &plan, form, &BlockMeta::default()).unwrap()
    };
    (0..12).map(&mut block).collect()
}

/// All ways to lay out the outputs in turn; now and then selectors, rewrites, shards and cuts.
fn options(number: usize, random: &mut Random) -> CompactOptions {
    let mut options = if number.is_multiple_of(3) { random_options(random) } else { CompactOptions::default() };
    options.layout = [Layout::Factored, Layout::Factored, Layout::BitPacked, Layout::FixedWidth][number % 4];
    options.replan = number % 4 == 1;
    if number % 10 == 1 {
        options.max_series_per_block = NonZeroU32::new(9);
    }
    if options.rewrite.is_empty() && number % 10 == 2 {
        let count = NonZeroU32::new(3).unwrap();
        options.shards = Some(Shards { count, by: "pod".to_owned(), only: None });
    }
    options
}

/// Outcome of a case.
enum Outcome {
    /// Refused with the rule that the block breaks.
    Refused(Rule),
    /// The block is sound, but differs from the others where blocks must be equal.
    Differs,
    /// The block is sound, and its series are in the outputs.
    Merged,
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

fn compact(folder: &Path, inputs: &[Block], options: &CompactOptions) -> Result<Done, CompactionError> {
    let here = Here::new(&Disk, folder);
    let _lock = here.place().lock().unwrap();
    let views: Vec<BlockView<'_>> = inputs.iter().map(|block| *block.view()).collect();
    let ids: Vec<BlockId> = views.iter().map(BlockView::block_id).collect();
    let compaction = Compaction {
        system: &Disk,
        inputs: &views,
        options,
        remaps: None,
        scratch_memory: SCRATCH_MEMORY,
        planned_series: PLANNED_SERIES,
        observer: &NoObserver,
    };
    here.merge(&compaction, Some(&ids)).map(|(_, done)| done)
}

fn try_case(number: usize, case: &Case, companions: &[Vec<u8>]) -> Outcome {
    let mut random = Random::new(number as u64);
    let options = options(number, &mut random);
    let mut blocks = vec![&companions[random.below(12)], &companions[random.below(12)]];
    let place = number % 3;
    blocks.insert(place, &case.bytes);
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let paths: Vec<_> = (0..3).map(|block| folder.path().join(format!("{block}.cx"))).collect();
    paths.iter().zip(&blocks).for_each(|(path, block)| fs::write(path, block).unwrap());
    let before = files(folder.path());
    let sound = BlockView::open_unpacked(&case.bytes, &mut Vec::new()).and_then(|view| view.verify());

    let opened: Result<Vec<Block>, OpenError> = paths.iter().map(|path| Block::read(path, Checks::Never)).collect();
    let inputs = match opened {
        Ok(inputs) => inputs,
        Err(error) => {
            assert!(error.to_string().starts_with(paths[place].to_str().unwrap()), "{}: {error}", case.kind);
            let OpenError::Block { source, .. } = error else { panic!("{}: {error}", case.kind) };
            assert_eq!(Some(&source), sound.as_ref().err(), "{}", case.kind);
            return Outcome::Refused(source.rule());
        }
    };
    match (compact(folder.path(), &inputs, &options), sound) {
        (Ok(done), Ok(_)) => {
            let series = blocks.iter().flat_map(|block| content(block));
            let merged: BTreeSet<Labelset> = series.filter_map(|labels| expected(&labels, &options)).collect();
            let opened = Folder::read(folder.path(), Checks::Eager).unwrap();
            let live: Vec<Labelset> =
                opened.live().iter().flat_map(|entry| content(entry.block().view().bytes())).collect();
            assert_eq!(live.len(), merged.len(), "{}: {options:?}", case.kind);
            assert_eq!(live.into_iter().collect::<BTreeSet<_>>(), merged, "{}: {options:?}", case.kind);
            assert_eq!(files(folder.path()).len(), done.outputs.len(), "{}: nothing but outputs is left", case.kind);
            Outcome::Merged
        }
        (Err(CompactionError::Compact(error)), sound) => {
            assert!(files(folder.path()) == before, "{}: the folder is as it was", case.kind);
            match (error, sound) {
                (CompactError::Input { input, source }, Err(error)) => {
                    assert_eq!((input, &source), (place, &error), "{}", case.kind);
                    Outcome::Refused(error.rule())
                }
                // Features are looked at before damage is.
                (CompactError::ReadOnly { input, .. }, _) => {
                    assert_eq!(input, place, "{}", case.kind);
                    Outcome::Differs
                }
                // The first input differs from no one: then it is the next that does.
                (CompactError::Differs { input, .. }, Ok(_)) => {
                    assert_eq!(input, place.max(1), "{}", case.kind);
                    Outcome::Differs
                }
                (error, sound) => panic!("{}: {error:?}, {sound:?}", case.kind),
            }
        }
        (result, sound) => panic!("{}: {result:?}, {sound:?}, {options:?}", case.kind),
    }
}

#[test]
fn damage_is_refused_by_name_or_is_none() {
    let mut cases = Vec::new();
    for more in [breaking, flipped, pages, other_lengths, repaired_fields, foreign_sections, programs] {
        cases.extend(more());
    }
    // All that breaks a rule by itself, and a third of the rest by turns, unless all are asked for.
    let breaking = breaking().len();
    let is_tried = |number: usize| number < breaking || (number + number / 6).is_multiple_of(sweep::cases(3, 1));
    let cases: Vec<(usize, Case)> = cases.into_iter().enumerate().filter(|(number, _)| is_tried(*number)).collect();
    let kinds: BTreeSet<&str> = cases.iter().map(|(_, case)| &*case.kind).collect();
    let companions = companions();
    let tried: Vec<Outcome> = cases.par_iter().map(|(number, case)| try_case(*number, case, &companions)).collect();
    let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut differ, mut merged) = (0, 0);
    for outcome in tried {
        match outcome {
            Outcome::Refused(rule) => *rules.entry(rule.id()).or_default() += 1,
            Outcome::Differs => differ += 1,
            Outcome::Merged => merged += 1,
        }
    }
    let refused: usize = rules.values().sum();
    println!("{} kinds: {refused} refused by {} rules, {differ} differ, {merged} sound", kinds.len(), rules.len());
    println!("{rules:?}");
    assert!(kinds.len() >= sweep::cases(2_000, 6_000), "only {} kinds", kinds.len());
    let all: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    assert_eq!(rules.into_keys().collect::<BTreeSet<_>>(), all, "each rule refuses something");
    assert!(merged >= sweep::cases(100, 300), "only {merged} sound blocks");
    assert!(differ >= sweep::cases(5, 20), "only {differ} sound blocks that differ");
}
