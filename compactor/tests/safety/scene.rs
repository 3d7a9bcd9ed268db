//! Folders with real blocks, a compaction of most of them, and a judge of what it leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU32;
use std::path::Path;

use chronoxide_compactor::engine::Deleted;
use chronoxide_compactor::{
    CompactOptions, Compaction, CompactionError, NoObserver, Observer, PLANNED_SERIES, Rewrite, Shards, Summary,
};
use chronoxide_format::layout::RowForm;
use chronoxide_format::metadata::OwnedMetricMetadata;
use chronoxide_format::shard::Shard;
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_merge_model::expected;
use chronoxide_planner::Layout;
use chronoxide_publish::faults::{Call, Effect, Fault, Faults};
use chronoxide_publish::{Disk, FileSystem, is_temporary_name};
use chronoxide_reader::{BlockId, Checks, Folder};
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::random::{Random, random_metrics, random_plan, random_series};

use crate::support::{self, Here, content, empty_folder};

pub type Done = Result<(Summary, support::Done), CompactionError>;

pub const EFFECTS: [Effect; 3] = [Effect::Nothing, Effect::Half, Effect::Whole];

/// A temporary file that a dead writer has left.
const STALE: &str = ".chronoxide-stalestalest";

/// Blocks by the names of their files.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Inputs, options, and expected outputs of a compaction.
pub struct Scene {
    pub name: &'static str,
    pub inputs: Vec<Vec<u8>>,
    /// A block of the folder that is not merged.
    bystander: Vec<u8>,
    pub options: CompactOptions,
    delete: bool,
    /// The series that readers see, as often as they do, before the outputs count: their digests, sorted.
    before: Vec<u64>,
    /// This call and all later ones.
    after: Vec<u64>,
    /// Outputs of a run without faults.
    pub outputs: Files,
    /// Summary of that run.
    pub calls: Vec<Call>,
    /// The bytes that it wrote.
    pub written: u64,
}

impl Scene {
    fn new(
        name: &'static str,
        (inputs, bystander): (Vec<Vec<u8>>, Vec<u8>),
        (options, delete): (CompactOptions, bool),
        output_count: usize,
    ) -> Self {
        let mut before: Vec<u64> = inputs.iter().chain([&bystander]).flat_map(|block| digests(block)).collect();
        before.sort_unstable();
        let merged: BTreeSet<Labelset> =
            inputs.iter().flat_map(|block| content(block)).filter_map(|labels| expected(&labels, &options)).collect();
        let pairs = |labels: &Labelset| digest(labels.iter().map(|(name, value)| (&**name, &**value)));
        let mut after: Vec<u64> = merged.iter().map(pairs).chain(digests(&bystander)).collect();
        after.sort_unstable();
        if options.shards.as_ref().is_some_and(|shards| shards.only.is_some()) {
            // One output of several replaces nothing.
            after.clone_from(&before);
        }
        let outputs = Files::new();
        let calls = Vec::new();
        let mut scene = Self { name, inputs, bystander, options, delete, before, after, outputs, calls, written: 0 };
        let (folder, system) = (scene.folder(), Faults::none());
        let (summary, done) = scene.run(&system, folder.path()).unwrap();
        for output in &done.outputs {
            scene.outputs.insert(output.key.clone(), fs::read(folder.path().join(&output.key)).unwrap());
        }
        (scene.calls, scene.written) = (system.calls(), system.written());
        assert_eq!(
            (scene.outputs.len(), summary.outputs as usize),
            (output_count, output_count),
            "{name}: {summary:?}"
        );
        scene.judge_end(folder.path(), &|| "no fault".to_owned());
        scene
    }

    /// One output of several never deletes anything, whatever is asked for.
    fn deletes(&self) -> bool {
        self.delete && self.options.shards.as_ref().is_none_or(|shards| shards.only.is_none())
    }

    /// For scenes that take their time: every call in one way, and those on the scratch file in all.
    pub fn some_faults(&self) -> Vec<(usize, Effect)> {
        let is_scratch =
            |at: usize| (1..5).contains(&at) || self.calls[..=at].ends_with(&[Call::SyncFolder, Call::Unlink]);
        let faults = |at| EFFECTS.into_iter().enumerate().map(move |(number, effect)| (at, number, effect));
        let chosen =
            (0..self.calls.len()).flat_map(faults).filter(|&(at, number, _)| is_scratch(at) || number == at % 3);
        chosen.map(|(at, _, effect)| (at, effect)).collect()
    }

    /// Returns true if all series of a block are there after the compaction.
    pub fn has_after(&self, block: &[u8]) -> bool {
        digests(block).iter().all(|digest| self.after.binary_search(digest).is_ok())
    }

    fn originals(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.inputs.iter().chain([&self.bystander])
    }

    /// The folder before the compaction.
    pub fn folder(&self) -> tempfile::TempDir {
        let folder = empty_folder();
        for block in self.originals() {
            fs::write(folder.path().join(name_of(block)), block).unwrap();
        }
        fs::write(folder.path().join(STALE), "half a block").unwrap();
        folder
    }

    pub fn run(&self, system: &(impl FileSystem + Clone + 'static), folder: &Path) -> Done {
        self.run_watched(system, folder, &NoObserver)
    }

    pub fn run_watched(
        &self,
        system: &(impl FileSystem + Clone + 'static),
        folder: &Path,
        observer: &dyn Observer,
    ) -> Done {
        self.run_as(&self.options, system, folder, observer)
    }

    /// Recovery and the whole compaction. The inputs are at hand, whether their files are still there or not.
    pub fn run_as(
        &self,
        options: &CompactOptions,
        system: &(impl FileSystem + Clone + 'static),
        folder: &Path,
        observer: &dyn Observer,
    ) -> Done {
        let here = Here::new(system, folder);
        let _lock = here.place().lock().unwrap();
        let inputs: Vec<BlockView<'_>> = self.inputs.iter().map(|block| BlockView::open(block).unwrap()).collect();
        let ids: Vec<BlockId> = inputs.iter().map(BlockView::block_id).collect();
        let compaction = Compaction {
            system,
            inputs: &inputs,
            options,
            remaps: None,
            scratch_memory: 0,
            planned_series: PLANNED_SERIES,
            observer,
        };
        here.merge(&compaction, self.delete.then_some(&ids[..]))
    }

    /// Deletes what the outputs of complete jobs were made of, as who comes after a killed compaction does.
    pub fn clean(
        &self,
        system: &(impl FileSystem + Clone + 'static),
        folder: &Path,
    ) -> Result<Deleted, CompactionError> {
        let here = Here::new(system, folder);
        let _lock = here.place().lock().unwrap();
        here.place().delete_merged(&here.place().list()?, &[], i64::MAX)
    }

    /// Returns true if readers see the outputs.
    pub fn is_after(&self, folder: &Path) -> bool {
        let opened = Folder::read(folder, Checks::Lazy).unwrap();
        let is_live = |name: &String| opened.live().iter().any(|entry| entry.path().ends_with(name));
        self.outputs.keys().all(is_live)
    }

    /// Readers see the series of before or those of after, every block is one that was there or one that was to be
    /// made, and inputs are there as long as outputs are missing. Returns how many temporary files there are.
    pub fn judge(&self, folder: &Path, case: &dyn Fn() -> String) -> usize {
        let opened = Folder::read(folder, Checks::Eager).unwrap();
        assert!(opened.unreadable().is_empty(), "{:?}: {}", opened.unreadable(), case());
        let mut series: Vec<u64> =
            opened.live().iter().flat_map(|entry| digests(entry.block().view().bytes())).collect();
        series.sort_unstable();
        assert!(series == self.before || series == self.after, "{}: series: {}", self.name, case());
        let mut originals: Files = self.originals().map(|block| (name_of(block), block.clone())).collect();
        let (mut missing, mut temporaries) = (self.outputs.clone(), 0);
        for (name, bytes) in files(folder) {
            if is_temporary_name(&name) {
                temporaries += 1;
                continue;
            }
            let known = originals.remove(&name).or_else(|| missing.remove(&name));
            assert!(known == Some(bytes), "{}: {name} is something else: {}", self.name, case());
        }
        assert!(originals.is_empty() || missing.is_empty() && self.deletes(), "{}: inputs: {}", self.name, case());
        temporaries
    }

    /// Checks the folder after a compaction ran to its end.
    pub fn judge_end(&self, folder: &Path, case: &dyn Fn() -> String) {
        assert_eq!(self.judge(folder, case), 0, "{}: temporary files: {}", self.name, case());
        let kept = if self.deletes() { vec![&self.bystander] } else { self.originals().collect() };
        let expected: BTreeSet<String> =
            kept.into_iter().map(|block| name_of(block)).chain(self.outputs.keys().cloned()).collect();
        let names: BTreeSet<String> = files(folder).into_keys().collect();
        assert_eq!(names, expected, "{}: {}", self.name, case());
        let opened = Folder::read(folder, Checks::Lazy).unwrap();
        let count: u64 =
            opened.live().iter().map(|entry| u64::from(entry.block().view().series_count().unwrap())).sum();
        assert_eq!(count, self.after.len() as u64, "{}: {}", self.name, case());
    }

    /// Runs on a disk that is full after `room` bytes, judges, and runs again to the end. Returns the result of the
    /// first run, and the number of temporary files that it left.
    pub fn try_full_disk(&self, room: u64) -> (tempfile::TempDir, Done, usize) {
        let folder = self.folder();
        let system = Faults::full_after(room);
        let done = self.run(&system, folder.path());
        let case = || format!("room for {room} bytes, {:?}, {done:?}", system.calls());
        let temporaries = self.judge(folder.path(), &case);
        let is_there = |name: &String| folder.path().join(name).exists();
        let is_done = self.outputs.keys().all(is_there);
        assert_eq!(is_done, done.is_ok(), "{}: {}", self.name, case());
        assert!(
            is_done || self.originals().map(|block| name_of(block)).all(|name| is_there(&name)),
            "inputs: {}",
            case()
        );
        self.run(&Disk, folder.path()).unwrap();
        self.judge_end(folder.path(), &case);
        (folder, done, temporaries)
    }

    /// Runs with one fault, judges, and runs again to the end. Returns what the first run said, and how many temporary
    /// files it left.
    pub fn try_fault(&self, fault: Fault) -> (tempfile::TempDir, Done, usize) {
        let folder = self.folder();
        let system = Faults::with(fault);
        let done = self.run(&system, folder.path());
        let case = || format!("{fault:?}, {:?}, {done:?}", system.calls());
        assert!(system.struck(), "{}: not reached: {}", self.name, case());
        let temporaries = self.judge(folder.path(), &case);
        self.run(&Disk, folder.path()).unwrap();
        self.judge_end(folder.path(), &case);
        (folder, done, temporaries)
    }
}

/// A series in few bytes, so that many can be compared many times.
fn digest<'a>(labels: impl Iterator<Item = (&'a str, &'a str)>) -> u64 {
    let mut hasher = DefaultHasher::new();
    labels.for_each(|label| label.hash(&mut hasher));
    hasher.finish()
}

/// The series of a block.
pub fn digests(block: &[u8]) -> Vec<u64> {
    let view = BlockView::open(block).unwrap();
    let text = view.text().unwrap();
    view.series_iter().map(|series| digest(text.labels(&series.unwrap()).map(|label| label.unwrap().into()))).collect()
}

pub fn files(folder: &Path) -> Files {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

pub fn name_of(block: &[u8]) -> String {
    format!("{}.cx", BlockView::open(block).unwrap().block_id())
}

fn shards(by: &str, only: Option<&str>) -> Option<Shards> {
    let count = NonZeroU32::new(3).unwrap();
    Some(Shards { count, by: by.to_owned(), only: only.map(|shard| shard.parse::<Shard>().unwrap()) })
}

/// Three random blocks with series in common, factored as it comes, and a fourth.
fn random_blocks(seed: u64) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut random = Random::new(seed);
    let common = random_series(20, &mut random);
    let mut block = |number: i64| {
        let mut series = random_series(40, &mut random);
        series.extend(common.iter().filter(|_| random.percent(60)).cloned());
        let metrics = random_metrics(4, &mut random);
        let meta = BlockMeta {
            time: Some(TimeRange { start: number, end: number + 1 }),
            metrics: metrics.iter().map(OwnedMetricMetadata::borrowed).collect(),
            ..BlockMeta::default()
        };
        build(&series, &random_plan(&series, &mut random), RowForm::BitPacked, &meta).unwrap()
    };
    ((0..3).map(&mut block).collect(), block(3))
}

/// Blocks of rows so wide that they fill several pieces of the scratch file.
fn wide_blocks() -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut random = Random::new(5);
    let mut block = |number: i64| {
        let names = (0..80).map(|label| format!("label_{label:02}"));
        let series = |_| names.clone().map(|name| (name, random.below(200).to_string())).collect();
        let series: BTreeSet<Labelset> = (0..560).map(series).collect();
        let meta = BlockMeta { time: Some(TimeRange { start: number, end: number + 1 }), ..BlockMeta::default() };
        build(&series, &Plan::default(), RowForm::BitPacked, &meta).unwrap()
    };
    ((0..3).map(&mut block).collect(), block(3))
}

/// One output and several, by each way in which they come about.
pub fn scenes() -> Vec<Scene> {
    let default = CompactOptions::default;
    let plain = CompactOptions { layout: Layout::BitPacked, ..default() };
    let rewrite = Rewrite {
        drop_labels: vec!["le".to_owned()],
        rename_labels: vec![("pod".to_owned(), "instance".to_owned())],
        ..Rewrite::default()
    };
    let drop = vec![r#"{pod="pod-3"}"#.parse().unwrap()];
    let most = NonZeroU32::new(28);
    let fixed = CompactOptions { layout: Layout::FixedWidth, ..default() };
    let adopting = random_blocks(1);
    vec![
        Scene::new("adopting", adopting, (default(), true), 1),
        Scene::new("kept", random_blocks(2), (plain.clone(), false), 1),
        Scene::new("fixed", random_blocks(9), (fixed.clone(), true), 1),
        Scene::new(
            "fixed and cut",
            random_blocks(4),
            (CompactOptions { max_series_per_block: most, ..fixed }, true),
            3,
        ),
        Scene::new("replanned", random_blocks(3), (CompactOptions { replan: true, rewrite, ..default() }, true), 1),
        Scene::new("cut", random_blocks(4), (CompactOptions { max_series_per_block: most, ..default() }, true), 3),
        Scene::new(
            "shards",
            random_blocks(6),
            (CompactOptions { shards: shards("pod", None), drop, ..plain }, true),
            3,
        ),
        Scene::new(
            "factored shards",
            random_blocks(6),
            (CompactOptions { shards: shards("pod", None), ..default() }, true),
            3,
        ),
        Scene::new(
            "empty",
            random_blocks(7),
            (CompactOptions { shards: shards("absent", None), ..default() }, true),
            3,
        ),
        Scene::new(
            "one",
            random_blocks(8),
            (CompactOptions { shards: shards("a", Some("2/3")), ..default() }, true),
            1,
        ),
    ]
}

/// A compaction whose scratch file is written several times.
pub fn wide() -> Scene {
    wide_as(Layout::BitPacked)
}

pub fn wide_as(layout: Layout) -> Scene {
    let most = NonZeroU32::new(620);
    let options = CompactOptions { layout, max_series_per_block: most, ..CompactOptions::default() };
    let scene = Scene::new("wide", wide_blocks(), (options, true), 3);
    assert_eq!(scene.calls[1..4], [Call::CreateTemporary, Call::Write, Call::Write]);
    scene
}
