//! Random sound blocks that make random claims about each other, and every command that hides or deletes blocks: what
//! was live before a command is live after it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, Job, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_reader::{BlockId, Checks, Folder};
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::sweep::cases;

use crate::support::content;

const HOUR: i64 = 3_600_000_000_000;

/// A folder of blocks, and what an attacker knows: ids and jobs of blocks that are there, that were there, and that the
/// next compaction will write.
struct Scene {
    root: tempfile::TempDir,
    random: Random,
    ids: Vec<BlockId>,
    jobs: Vec<Job>,
    number: usize,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("blocks")).unwrap();
        fs::create_dir(root.path().join("other")).unwrap();
        Self { root, random: Random::new(seed), ids: Vec::new(), jobs: Vec::new(), number: 0 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&mut self, folder: &str, series: &BTreeSet<Labelset>, meta: &BlockMeta) -> BlockId {
        let hour = self.random.below(4) as i64;
        let time = Some(TimeRange { start: hour * HOUR, end: (hour + 1) * HOUR });
        let meta = BlockMeta { time, window: time, ..meta.clone() };
        let bytes = build(series, &Plan::default(), RowForm::BitPacked, &meta).unwrap();
        fs::write(self.path(folder).join(format!("{:03}.cx", self.number)), &bytes).unwrap();
        self.number += 1;
        BlockView::open(&bytes).unwrap().block_id()
    }

    fn series(&mut self) -> BTreeSet<Labelset> {
        let count = self.random.below(9);
        let numbers: BTreeSet<usize> = (0..count).map(|_| self.random.below(40)).collect();
        let labels = |number| [("__name__", "up".to_owned()), ("host", format!("{number}"))];
        let own = |(name, value): (&str, String)| (name.to_owned(), value);
        numbers.into_iter().map(|number| labels(number).into_iter().map(own).collect()).collect()
    }

    /// Writes honest blocks, and runs compactions on them, with or without deletion.
    fn live_honestly(&mut self) {
        for _ in 0..3 + self.random.below(5) {
            let series = self.series();
            let id = self.write("blocks", &series, &BlockMeta::default());
            self.ids.push(id);
            if self.random.percent(15) {
                let blocks = self.path("blocks").display().to_string();
                let delete: &[&str] = if self.random.percent(50) { &["--delete-inputs"] } else { &[] };
                run(self.root.path(), &[&[blocks.as_str(), "--ranges", "2h,4h"], delete].concat());
            }
        }
        // Blocks that the next compaction will write.
        let copy = self.path("forecast");
        fs::create_dir(&copy).unwrap();
        for path in files(&self.path("blocks")) {
            fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
        }
        run(self.root.path(), &[copy.to_str().unwrap(), "--ranges", "2h,4h"]);
        for (_, lineage) in Folder::read(&copy, Checks::Lazy).unwrap().lineages() {
            self.ids.push(lineage.id);
            self.jobs.extend(lineage.job);
        }
        fs::remove_dir_all(copy).unwrap();
    }

    /// Writes blocks with claims.
    fn forge(&mut self) {
        for _ in 0..1 + self.random.below(3) {
            let series = self.series();
            let some = |scene: &mut Self, percent| -> Vec<BlockId> {
                let ids: BTreeSet<BlockId> = scene.ids.iter().copied().collect();
                ids.into_iter().filter(|_| scene.random.percent(percent)).collect()
            };
            let job = match self.random.below(3) {
                0 if !self.jobs.is_empty() => self.jobs[self.random.below(self.jobs.len())],
                _ => {
                    let output_count = 1 + self.random.below(2) as u32;
                    let output = self.random.below(output_count as usize) as u32;
                    Job { id: [self.random.below(3) as u8 + 1; 16], output, output_count }
                }
            };
            let [parents, ancestors] = [some(self, 35), some(self, 10)];
            let ancestors = ancestors.into_iter().filter(|id| !parents.contains(id)).collect();
            let meta = BlockMeta { job: Some(job), parents, ancestors, ..BlockMeta::default() };
            let folder = if self.random.percent(85) { "blocks" } else { "other" };
            let id = self.write(folder, &series, &meta);
            self.ids.push(id);
            self.jobs.push(job);
        }
        // An attack may come after other blocks were lost.
        let files = files(&self.path("blocks"));
        if self.random.percent(30) && !files.is_empty() {
            fs::remove_file(&files[self.random.below(files.len())]).unwrap();
        }
    }

    fn live(&self) -> BTreeSet<Labelset> {
        let folders = ["blocks", "other"].map(|name| Folder::read(self.path(name), Checks::Eager).unwrap());
        let live = folders.iter().flat_map(Folder::live);
        live.flat_map(|entry| content(entry.block().bytes())).collect()
    }

    /// Runs a random command. Returns its arguments and results.
    fn command(&mut self) -> Vec<(Vec<String>, Output)> {
        let blocks = self.path("blocks").display().to_string();
        let url = format!("file://{blocks}/");
        let range = ["--ranges", "2h,4h"];
        let schedule = self.path("schedule.json").display().to_string();
        let files: Vec<String> = files(&self.path("blocks")).iter().map(|path| path.display().to_string()).collect();
        let some: Vec<&str> = files.iter().map(String::as_str).filter(|_| self.random.percent(50)).collect();
        let folder = ["blocks", "other"][self.random.below(2)];
        let output = format!("{}/out-{}.cx", self.path(folder).display(), self.number);
        self.number += 1;
        let all: Vec<Vec<&str>> = match self.random.below(8) {
            0 | 1 => vec![[&[blocks.as_str(), "--delete-inputs"][..], &range].concat()],
            2 => vec![[&[blocks.as_str()][..], &range].concat()],
            3 if !some.is_empty() => vec![[&some[..], &["-o", &output, "--delete-inputs"]].concat()],
            4 if !some.is_empty() => vec![[&some[..], &["-o", &output]].concat()],
            5 => vec![[&[url.as_str(), "--delete-inputs"][..], &range].concat()],
            6 => vec![
                [&["schedule", &blocks, "-o", &schedule, "--force", "--shards", "2"][..], &range].concat(),
                vec!["run", "--schedule", &schedule, "--all"],
                vec!["commit", "--schedule", &schedule, "--delete-inputs", "--grace", "0s"],
                vec!["clean", &blocks, "--grace", "0s"],
            ],
            _ => vec![vec!["clean", &blocks, "--grace", "0s"], vec!["index", &blocks]],
        };
        let owned = |arguments: &[&str]| arguments.iter().map(|argument| (*argument).to_owned()).collect();
        all.iter().map(|arguments| (owned(arguments), run(self.root.path(), arguments))).collect()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "cx"));
    files.sort();
    files
}

fn run(root: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
    command.env("NO_COLOR", "1").env("CHRONOXIDE_CACHE", root.join("cache")).stdin(Stdio::null());
    command.args(arguments).output().unwrap()
}

#[test]
fn each_live_series_stays_live_whatever_blocks_claim() {
    let (mut commands, mut deletions, mut refused) = (0, 0, 0);
    for seed in 0..cases(60, 3000) {
        let mut scene = Scene::new(seed);
        scene.live_honestly();
        scene.forge();
        for _ in 0..3 {
            let (before, files_before) = (scene.live(), files(&scene.path("blocks")));
            let done = scene.command();
            let after = scene.live();
            let lost: Vec<&Labelset> = before.difference(&after).collect();
            assert!(lost.is_empty(), "seed {seed}: {lost:?} are not live after {done:#?}");
            let left = files(&scene.path("blocks"));
            commands += done.len();
            deletions += files_before.iter().filter(|path| !left.contains(path)).count();
            refused += done.iter().filter(|(_, output)| output.status.code() == Some(5)).count();
            for (arguments, output) in &done {
                assert!(output.status.code().is_some_and(|code| code < 6), "{arguments:?}: {output:?}");
            }
        }
    }
    println!("{commands} commands, {deletions} deleted blocks, {refused} times 5");
    assert!(commands >= 200 && deletions >= 60 && refused >= 30, "{commands}, {deletions}, {refused}");
}
