//! A bucket that is compacted in place: what a folder gives, whatever dies, fails, or runs at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use chronoxide_compactor::schedule::Sizing;
use chronoxide_format::view::BlockView;
use chronoxide_locations::{Facts, Location};
use chronoxide_object_server::{BUCKET, FAULTS, Fault, Proxy, Server, at_once, every, random};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::sweep;
use serde_json::Value;

use crate::scene::Scene;
use crate::support::empty_folder;

/// A bucket behind a proxy.
struct Bucket {
    proxy: Proxy,
    scene: Scene,
    url: String,
    folder: tempfile::TempDir,
    _server: Arc<Server>,
}

impl Bucket {
    fn new(blocks: usize, seed: u64) -> Self {
        let server = Arc::new(Server::s3s().unwrap());
        let proxy = Proxy::start(server.endpoint()).unwrap();
        let url = format!("s3://{BUCKET}/fleet/");
        let location = Location::open_with(&url, &Server::settings(proxy.endpoint())).unwrap();
        let scene = Scene::fill(location, empty_folder(), blocks, &mut Random::new(seed));
        proxy.forget();
        Self { proxy, scene, url, folder: empty_folder(), _server: server }
    }

    /// Starts a command with the cache of a machine.
    fn command(&self, machine: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
        command.envs(Server::settings(self.proxy.endpoint()));
        command.env("CHRONOXIDE_CACHE", self.folder.path().join(format!("cache-{machine}")));
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command.args([&self.url, "--ranges", "4h,12h", "--threads", "1"]).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(0, arguments).output().unwrap()
    }

    /// Runs to the end, and checks that outputs have taken the place of all inputs that were due.
    #[track_caller]
    fn finish(&self, what: &str) {
        self.proxy.calm();
        let output = self.run(&["--delete-inputs"]);
        assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
        self.scene.assert_seen(what);
        let keys = self.scene.keys();
        assert!(keys.iter().all(|key| !key.contains('/')), "{what}: {keys:?}");
        assert!(keys.len() <= 3, "{what}: {keys:?}");
    }

    /// Copies the blocks to a new folder.
    fn copy_to(&self, folder: &Path) {
        fs::create_dir(folder).unwrap();
        for key in self.scene.keys() {
            fs::write(folder.join(&key), self.scene.location.read(&key).unwrap()).unwrap();
        }
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The process dies at some request: all its later requests fail. The next run finishes its work.
#[test]
fn a_death_at_any_request_loses_nothing() {
    let bucket = || Bucket::new(9, 21);
    let whole = bucket();
    assert!(whole.run(&["--delete-inputs"]).status.success());
    let requests = whole.proxy.take_requests().len() as u64;
    whole.finish("without faults");
    assert!(requests > 50, "{requests}");
    let deaths: Vec<u64> = sweep::by_turns(0..requests, 0, 9).collect();
    println!("{} deaths at {requests} requests", deaths.len());
    assert!(deaths.len() >= sweep::cases(6, 50), "{requests} requests");
    let kept = Mutex::new(BTreeSet::new());
    at_once(deaths, |at| {
        let what = format!("death at request {at} of {requests}");
        let bucket = bucket();
        bucket.proxy.inject(Box::new(move |number, _| (number >= at).then_some(Fault::Status(400))));
        let output = bucket.run(&["--delete-inputs"]);
        assert_eq!(output.status.code(), Some(1), "{what}: {}", text(&output));
        bucket.proxy.calm();
        bucket.scene.assert_seen(&what);
        kept.lock().unwrap().insert(bucket.scene.keys().len());
        bucket.finish(&what);
    });
    assert!(kept.into_inner().unwrap().len() > 2, "deaths before, between and after outputs and deletions");
}

#[test]
fn faults_are_survived() {
    at_once(sweep::by_turns(FAULTS.into_iter().enumerate(), 0, 2), |(number, fault)| {
        let what = format!("{fault:?} at every third request");
        let bucket = Bucket::new(6, number as u64);
        bucket.proxy.inject(every(3, fault));
        let output = bucket.run(&["--delete-inputs"]);
        // An old listing can show blocks that are gone.
        let is_stale = matches!(fault, Fault::StaleList);
        assert!(output.status.success() || is_stale, "{what}: {}", text(&output));
        bucket.proxy.calm();
        bucket.scene.assert_seen(&what);
        bucket.finish(&what);
    });
}

/// Two processes, each with its own cache, and a store that fails at random.
#[test]
fn two_at_once_lose_nothing() {
    at_once(0..sweep::cases(4, 24), |seed| {
        let what = format!("seed {seed}");
        let mut bucket = Bucket::new(9, seed);
        if seed % 2 == 1 {
            bucket.proxy.inject(random(seed, 8, vec![Fault::Status(500), Fault::LoseAnswer, Fault::StaleList]));
        }
        let start = |bucket: &Bucket, machine| {
            let mut command = bucket.command(machine, &["--delete-inputs"]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let first = start(&bucket, 1);
        if seed % 4 >= 2 {
            // The second sees a block that the first may not have seen.
            bucket.scene.add(1, [[("__name__".to_owned(), format!("late_{seed}"))].into()].into());
        }
        for process in [first, start(&bucket, 2)] {
            let output = process.wait_with_output().unwrap();
            // Blocks may have gone meanwhile.
            assert!([Some(0), Some(1), Some(5)].contains(&output.status.code()), "{what}: {}", text(&output));
        }
        bucket.proxy.calm();
        bucket.scene.assert_seen(&what);
        bucket.finish(&what);
    });
}

/// A commit of a schedule died. The next compaction of the location does what it did not.
#[test]
fn a_dead_commit_does_not_hinder_a_compaction() {
    let ready = || {
        let bucket = Bucket::new(9, 13);
        let schedule = bucket.scene.schedule(&Sizing::default()).unwrap();
        bucket.scene.run_jobs(&schedule);
        bucket.proxy.forget();
        (bucket, schedule)
    };
    let (whole, schedule) = ready();
    whole.scene.commit(&schedule, true).unwrap();
    let requests = whole.proxy.take_requests().len() as u64;
    at_once(sweep::by_turns(0..requests, 0, 19), |at| {
        let what = format!("death at request {at} of {requests}");
        let (bucket, schedule) = ready();
        bucket.proxy.inject(Box::new(move |number, _| (number >= at).then_some(Fault::Status(400))));
        assert!(bucket.scene.commit(&schedule, true).is_err(), "{what}");
        bucket.proxy.calm();
        let output = bucket.run(&["--delete-inputs"]);
        assert!(output.status.success(), "{what}: {}", text(&output));
        bucket.scene.assert_seen(&what);
        let keys: BTreeSet<String> = bucket.scene.keys().into_iter().collect();
        assert!(schedule.input_blocks().all(|input| !keys.contains(&input.key)), "{what}: {keys:?}");
        let cleaned = chronoxide_compactor::schedule::clean(&bucket.scene.place(), i64::MAX, 0).unwrap();
        assert!(cleaned.failed.is_empty() && cleaned.kept.is_empty(), "{what}: {cleaned:?}");
        bucket.finish(&what);
    });
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

/// Returns what a run printed as JSON, without places and measurements.
fn printed(output: &Output, place: &str) -> Vec<Value> {
    let stdout = String::from_utf8_lossy(&output.stdout).replace(place, "");
    let mut lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        for measured in ["seconds", "peak_memory_bytes"] {
            line.as_object_mut().unwrap().remove(measured);
        }
    }
    lines
}

/// Each option has the same effect in a folder and in a bucket: see docs/compaction.md.
#[test]
fn a_bucket_is_compacted_as_a_folder() {
    let rows: [(&[&str], i32); 15] = [
        (&[], 0),
        (&["--layout", "fixed"], 0),
        (&["--archive"], 0),
        (&["--replan"], 0),
        (&["--external-label", "cluster=eu"], 0),
        (&["--annotations", "drop"], 0),
        (&["--remaps", "REMAPS"], 0),
        (&["--shards", "3", "--shard-by", "pod"], 0),
        (&["--max-series-per-block", "20"], 0),
        (&["--min-time", "1970-01-01T04:00:00Z"], 0),
        (&["--delete-inputs"], 0),
        (&["--delete-inputs", "--remaps", "REMAPS", "--shards", "2"], 0),
        (&["--delete-inputs", "--grace", "1h"], 0),
        (&["--memory-limit", "1MiB"], 2),
        (&["--dry-run"], 0),
    ];
    at_once(rows, |(arguments, code)| {
        let bucket = Bucket::new(9, 5);
        let folder = empty_folder();
        let [blocks, remaps, of_bucket] = ["blocks", "remaps", "remaps-of-bucket"].map(|name| folder.path().join(name));
        bucket.copy_to(&blocks);
        let with = |remaps: &Path| -> Vec<String> {
            let remaps = remaps.to_str().unwrap();
            arguments.iter().chain(&["--json"]).map(|argument| argument.replace("REMAPS", remaps)).collect()
        };
        let [here, there] = [with(&remaps), with(&of_bucket)];
        let there = bucket.run(&there.iter().map(String::as_str).collect::<Vec<_>>());
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
        command.env("NO_COLOR", "1").arg(&blocks).args(["--ranges", "4h,12h", "--threads", "1"]).args(here);
        let here = command.output().unwrap();
        let case = format!("{arguments:?}: {}{}", text(&here), text(&there));
        assert_eq!((here.status.code(), there.status.code()), (Some(code), Some(code)), "{case}");
        // The schedule of a bucket has keys.
        let place =
            |folder: &str| if arguments.contains(&"--dry-run") { format!("{folder}/") } else { folder.to_owned() };
        let [mut here, mut there] =
            [printed(&here, &place(blocks.to_str().unwrap())), printed(&there, bucket.url.trim_end_matches('/'))];
        here.sort_by_key(Value::to_string);
        there.sort_by_key(Value::to_string);
        assert_eq!(here, there, "{case}");
        assert!(code != 0 || !here.is_empty(), "{case}");
        let stored: BTreeMap<String, Vec<u8>> = bucket
            .scene
            .keys()
            .into_iter()
            .map(|key| {
                let bytes = bucket.scene.location.read(&key).unwrap();
                (key, bytes)
            })
            .collect();
        assert!(files(&blocks) == stored, "{case}: {:?} and {:?}", files(&blocks).keys(), stored.keys());
        assert!(files(&remaps) == files(&of_bucket), "{case}");
        assert_eq!(files(&remaps).is_empty(), !arguments.contains(&"--remaps"), "{case}");
        bucket.scene.assert_seen(&case);
    });
}

/// Options of a schedule have the effect that they have in place: see docs/compaction.md.
#[test]
fn a_schedule_ends_as_a_compaction_in_place() {
    let rows: [(&[&str], &[&str]); 10] = [
        (&[], &[]),
        (&["--layout", "fixed"], &[]),
        (&["--archive"], &[]),
        (&["--replan"], &[]),
        (&["--external-label", "cluster=eu"], &[]),
        (&["--annotations", "drop"], &[]),
        (&["--shards", "3", "--shard-by", "pod"], &[]),
        (&["--min-time", "1970-01-01T04:00:00Z"], &[]),
        (&["--max-time", "1970-01-01T04:00:00Z"], &[]),
        (&["--archive"], &["--delete-inputs"]),
    ];
    at_once(rows, |(arguments, of_commit)| {
        let bucket = Bucket::new(9, 5);
        let folder = empty_folder();
        let [in_place, scheduled] = ["in-place", "scheduled"].map(|name| folder.path().join(name));
        bucket.copy_to(&in_place);
        bucket.copy_to(&scheduled);
        let before = files(&in_place);
        let run = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
            let output = command.current_dir(folder.path()).args(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {}", text(&output));
        };
        let ranges: &[&str] = &["--ranges", "4h,12h"];
        run(&[&["in-place"], ranges, arguments, of_commit].concat());
        run(&[&["schedule", "scheduled", "-o", "schedule.json"], ranges, arguments].concat());
        run(&["run", "--schedule", "schedule.json", "--all", "--memory-limit", "64MiB"]);
        let grace: &[&str] = if of_commit.is_empty() { &[] } else { &["--grace", "0s"] };
        run(&[&["commit", "--schedule", "schedule.json"], of_commit, grace].concat());
        run(&["clean", "scheduled", "--grace", "0s"]);
        fs::remove_dir_all(scheduled.join("chronoxide-schedules")).unwrap_or_default();
        let [in_place, scheduled] = [&in_place, &scheduled].map(|blocks| files(blocks));
        assert!(in_place != before, "{arguments:?}");
        if !arguments.contains(&"--shards") {
            assert!(in_place == scheduled, "{arguments:?}: {:?} and {:?}", in_place.keys(), scheduled.keys());
            return;
        }
        // Jobs of a schedule write shards one by one, under the id of another job.
        let [in_place, scheduled] = [in_place, scheduled].map(|blocks| {
            let of_block = |block: &Vec<u8>| {
                let facts = Facts::from_view(&BlockView::open(block).unwrap()).unwrap();
                (facts.parents, facts.series, facts.fingerprint.to_parts())
            };
            blocks.values().map(of_block).collect::<BTreeSet<_>>()
        });
        assert_eq!(in_place, scheduled, "{arguments:?}");
    });
}

/// Named blocks of a bucket go like those of a folder.
#[test]
fn named_blocks_of_a_bucket_are_deleted_after_their_merge() {
    let bucket = Bucket::new(4, 31);
    let named: Vec<String> = bucket.scene.keys().iter().map(|key| format!("{}{key}", bucket.url)).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
    command.envs(Server::settings(bucket.proxy.endpoint())).env("CHRONOXIDE_CACHE", bucket.folder.path());
    let output = command.args(&named).args(["-o", &bucket.url, "--delete-inputs", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let deleted: BTreeSet<&str> =
        report["deleted"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(deleted, named.iter().map(String::as_str).collect());
    assert_eq!(bucket.scene.keys().len(), 1);
    bucket.scene.assert_seen("after the merge");
}

/// Inputs stay for the grace period of a later run, and go when their outputs are older.
#[test]
fn a_later_run_deletes_inputs_whose_grace_period_is_over() {
    let scene = Scene::local(6, &mut Random::new(3));
    let folder = scene.location.text().to_owned();
    let run = |grace: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
        let output = command.args([&folder, "--ranges", "4h,12h", "--delete-inputs", "--grace", grace]).output();
        assert!(output.unwrap().status.success());
        scene.assert_seen(grace);
        scene.keys().len()
    };
    let with_outputs = run("1h");
    assert!(with_outputs > 6, "{with_outputs} blocks: outputs and all inputs");
    assert_eq!(run("1h"), with_outputs, "the outputs are young");
    for key in scene.keys() {
        let file = fs::File::options().write(true).open(Path::new(&folder).join(key)).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 3600)).unwrap();
    }
    assert_eq!(run("4h"), with_outputs, "three hours are not four");
    assert!(run("1h") < 6);
}

/// A block of the bucket would be hidden by what the output inherits from an input.
#[test]
fn an_output_of_named_blocks_hides_nothing_in_a_bucket() {
    let bucket = Bucket::new(3, 37);
    let (whole, other) = ("0000.cx", "0001.cx");
    let folder = bucket.folder.path();
    let part = folder.join("part.cx");
    for key in [whole, other] {
        fs::write(folder.join(key), bucket.scene.location.read(key).unwrap()).unwrap();
    }
    let compact = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
        command.envs(Server::settings(bucket.proxy.endpoint())).env("CHRONOXIDE_CACHE", folder.join("cache"));
        command.current_dir(folder).stdin(Stdio::null()).args(arguments).arg("--delete-inputs").output().unwrap()
    };
    // The part claims the block, which it replaces here, and which is live in the bucket.
    let made = compact(&[whole, "-o", "part.cx", "--drop", r#"{__name__=~".*[a-m].*"}"#]);
    assert!(made.status.success(), "{}", text(&made));
    let output = compact(&[part.to_str().unwrap(), other, "-o", &bucket.url]);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output));
    assert!(text(&output).contains("would be hidden"), "{}", text(&output));
    assert!(part.exists() && folder.join(other).exists(), "inputs are kept");
    bucket.scene.assert_seen("after the merge was refused");
}
