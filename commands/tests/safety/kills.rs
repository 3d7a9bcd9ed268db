//! The command, killed at random moments: readers see each series, none of them twice for a merge, and the next run
//! brings everything to the same end.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::TimeRange;
use chronoxide_format::write::BlockMeta;
use chronoxide_publish::is_temporary_name;
use chronoxide_reader::{BlockId, Checks, Folder};
use chronoxide_testkit::plan::{KeysetPlan, Labelset, Plan, build, key};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::sweep;

use super::scene::{Files, digests, files, name_of};
use super::support::empty_folder;

const HOUR: i64 = 3_600_000_000_000;

/// Environment variable: the seed of the moments, which is printed. How far the command is at a moment depends on the
/// machine too.
const SEED: &str = "CHRONOXIDE_KILLS_SEED";

/// Ranges of each run; each run merges the outputs of the run before it.
const RANGES: [&str; 2] = ["2h", "6h"];

/// The folder before each run and after the last, how long each takes, and the series of all blocks.
struct Reference {
    states: Vec<Files>,
    durations: Vec<Duration>,
    known: Files,
    series: BTreeSet<u64>,
}

impl Reference {
    fn new() -> Self {
        let folder = empty_folder();
        for (name, block) in originals() {
            fs::write(folder.path().join(name), block).unwrap();
        }
        let (mut states, mut durations) = (vec![files(folder.path())], Vec::new());
        for ranges in RANGES {
            let started = Instant::now();
            run(folder.path(), ranges);
            durations.push(started.elapsed());
            states.push(files(folder.path()));
        }
        assert_eq!(states.iter().map(Files::len).collect::<Vec<_>>(), [15, 9, 5]);
        let known: Files = states.iter().flatten().map(|(name, block)| (name.clone(), block.clone())).collect();
        let series = states[0].values().flat_map(|block| digests(block)).collect();
        Self { states, durations, known, series }
    }

    /// All blocks are known ones, and those that count have all series, and none of them was made of another. Returns
    /// whether a writer left something.
    fn judge(&self, folder: &Path, case: &str) -> bool {
        let found = files(folder);
        let mut is_left = false;
        for (name, bytes) in &found {
            is_left |= is_temporary_name(name);
            assert!(is_temporary_name(name) || self.known.get(name) == Some(bytes), "{name}: {case}");
        }
        let opened = Folder::read(folder, Checks::Eager).unwrap();
        assert!(opened.unreadable().is_empty(), "{:?}: {case}", opened.unreadable());
        let ids: BTreeSet<BlockId> = opened.live().iter().map(|entry| entry.id()).collect();
        let mut series = BTreeSet::new();
        for entry in opened.live() {
            let view = entry.block().view();
            series.extend(digests(view.bytes()));
            let meta = view.meta().unwrap();
            let merged: BTreeSet<BlockId> = meta.parents().unwrap().chain(meta.ancestors().unwrap()).collect();
            assert!(merged.is_disjoint(&ids), "{} counts beside what it was made of: {case}", entry.id());
        }
        assert!(series == self.series, "{} of {} series: {case}", series.len(), self.series.len());
        is_left
    }
}

/// Eight hours of blocks of one cluster, five of another, and a newer one of each that closes their ranges.
fn originals() -> Files {
    let mut random = Random::new(11);
    let mut blocks = Files::new();
    for (cluster, hours) in [("eu", 9), ("us", 6)] {
        for hour in 0..hours {
            // Blocks of six hours, and of another range.
            let start = if hour + 1 == hours { 12 } else { hour };
            let block = block(cluster, start, &mut random);
            blocks.insert(name_of(&block), block);
        }
    }
    blocks
}

/// Some thousand series; other hours have most of them too.
fn block(cluster: &str, hour: i64, random: &mut Random) -> Vec<u8> {
    let mut series = BTreeSet::new();
    for pod in 0..60 {
        // A pod is replaced now and then.
        let pod = format!("pod-{pod}-{}", random.below(3));
        for metric in 0..18 {
            let labels = [
                ("__name__", format!("metric_{metric}")),
                ("cluster", cluster.to_owned()),
                ("node", format!("node-{}", pod.len() % 3)),
                ("pod", pod.clone()),
            ];
            series.insert(labels.map(|(name, value)| (name.to_owned(), value)).into());
        }
    }
    let series: BTreeSet<Labelset> = series;
    let names: Vec<String> = ["__name__", "cluster", "node", "pod"].map(str::to_owned).into();
    let columns = ["cluster", "node", "pod"].map(key).into();
    let keyset = KeysetPlan { columns, list: Some(key("__name__")) };
    let plan = Plan { tables: Vec::new(), keysets: [(names, keyset)].into() };
    let time = Some(TimeRange { start: hour * HOUR, end: (hour + 1) * HOUR });
    let external_labels = vec![("cluster".to_owned(), cluster.to_owned())];
    let meta = BlockMeta { time, window: time, external_labels, ..BlockMeta::default() };
    build(&series, &plan, RowForm::BitPacked, &meta).unwrap()
}

fn command(folder: &Path, ranges: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.arg(folder).args(["--delete-inputs", "--threads", "1", "--ranges", ranges]);
    command
}

fn run(folder: &Path, ranges: &str) {
    let status = command(folder, ranges).status().unwrap();
    assert!(status.success(), "{status}");
}

/// Starts the command, and kills it after that time. Returns whether it was still running.
fn kill(folder: &Path, ranges: &str, after: Duration) -> bool {
    let mut child = command(folder, ranges).spawn().unwrap();
    sleep(after);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    // A process that a signal ended has no exit code.
    assert!(status.success() || cfg!(not(unix)) || status.code().is_none(), "{status}");
    !status.success()
}

/// Counts over all kills.
#[derive(Debug, Default)]
struct Met {
    killed: usize,
    /// Kills that left a temporary file.
    left: usize,
    /// Kills after the first change and before the last.
    between: usize,
    /// Kills of a run that came after one that was killed.
    again: usize,
}

/// Stops after this many kills. A folder may see none or several.
fn kill_at_random(count: usize) -> Met {
    let reference = Reference::new();
    let seed =
        std::env::var(SEED).map_or(std::process::id().into(), |seed| seed.parse().expect("the seed is a number"));
    println!("{SEED}={seed}");
    let mut random = Random::new(seed);
    let mut met = Met::default();
    // Times from which moments are chosen: how long a run takes depends on what else the machine does.
    let mut spans: Vec<f64> = reference.durations.iter().map(Duration::as_secs_f64).collect();
    for number in 0..count * 4 {
        if met.killed >= count {
            break;
        }
        let stage = number % RANGES.len();
        let folder = empty_folder();
        for (name, block) in &reference.states[stage] {
            fs::write(folder.path().join(name), block).unwrap();
        }
        for attempt in 0.. {
            let after = Duration::from_secs_f64(spans[stage] * random.below(1000) as f64 / 1000.0);
            let was_killed = kill(folder.path(), RANGES[stage], after);
            // One run in six comes to its end, so that every moment has its turn.
            spans[stage] *= if was_killed { 1.02 } else { 0.9 };
            let case = format!("{SEED}={seed}, kill {number}, after {after:?}, attempt {attempt}");
            let is_left = reference.judge(folder.path(), &case);
            let names: BTreeSet<String> =
                files(folder.path()).into_keys().filter(|name| !is_temporary_name(name)).collect();
            let is_state = |state: &Files| state.keys().eq(&names);
            met.killed += usize::from(was_killed);
            met.left += usize::from(is_left);
            met.between += usize::from(!reference.states.iter().any(is_state));
            met.again += usize::from(was_killed && attempt > 0);
            if !was_killed || random.percent(70) {
                break;
            }
        }
        for ranges in &RANGES[stage..] {
            run(folder.path(), ranges);
        }
        let end = reference.states.last().unwrap();
        assert!(files(folder.path()) == *end, "{SEED}={seed}: kill {number} shows at the end");
    }
    println!("{met:?}, runs of some {spans:.3?} s");
    met
}

#[test]
fn kills_at_random_moments_do_no_harm() {
    let [killed, left, between, again] = sweep::cases([25, 0, 1, 0], [2_000, 50, 300, 200]);
    let met = kill_at_random(killed);
    assert!(met.killed >= killed && met.left >= left && met.between >= between && met.again >= again, "{met:?}");
}
