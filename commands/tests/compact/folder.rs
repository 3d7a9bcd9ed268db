//! The built command on folders: what it plans, merges, deletes and leaves alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use chronoxide_format::layout::RowForm;
use chronoxide_format::shard::shard_of;
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_publish::FolderLock;
use chronoxide_reader::{Checks, Folder};
use chronoxide_testkit::archive::undecodable;
use chronoxide_testkit::plan::{Labelset, build};
use chronoxide_testkit::random::{Random, random_plan, random_series};

const HOUR: i64 = 3_600_000_000_000;

/// A folder of blocks, and what is in it.
struct Blocks {
    folder: tempfile::TempDir,
    series: BTreeSet<Labelset>,
    count: usize,
}

impl Blocks {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), series: BTreeSet::new(), count: 0 }
    }

    /// A block of random series for the hours from the one to the other.
    fn add(&mut self, from: i64, to: i64, cluster: &str) {
        let mut random = Random::new(self.count as u64 * 7 + 1);
        self.count += 1;
        let series = random_series(60, &mut random);
        let meta = meta(from, to, cluster);
        let block = build(&series, &random_plan(&series, &mut random), RowForm::BitPacked, &meta).unwrap();
        fs::write(self.path().join(format!("{from}-{cluster}-{}.cx", self.count)), block).unwrap();
        self.series.extend(series);
    }

    /// An archive of an hour with an arena of 12 MiB, which cannot be decoded.
    fn add_undecodable(&mut self, hour: i64, cluster: &str) {
        self.count += 1;
        let block = undecodable(12 << 20, &meta(hour, hour + 1, cluster));
        fs::write(self.path().join(format!("{hour}-{cluster}-{}.cx", self.count)), block).unwrap();
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn names(&self) -> BTreeSet<String> {
        fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.names().into_iter().map(|name| (name.clone(), fs::read(self.path().join(name)).unwrap())).collect()
    }

    /// Returns the number of live blocks and their series. Each series must be in exactly one of them.
    fn live(&self) -> (usize, BTreeSet<Labelset>) {
        let folder = Folder::read(self.path(), Checks::Eager).unwrap();
        let mut all = BTreeSet::new();
        for entry in folder.live() {
            all.extend(content(&entry.block().view()));
        }
        (folder.live().len(), all)
    }

    fn run(&self, options: &[&str]) -> Output {
        run(&[&[self.path().to_str().unwrap()], options].concat())
    }
}

fn meta(from: i64, to: i64, cluster: &str) -> BlockMeta {
    let range = TimeRange { start: from * HOUR, end: to * HOUR };
    BlockMeta {
        time: Some(range),
        window: Some(range),
        external_labels: vec![("cluster".to_owned(), cluster.to_owned())],
        ..BlockMeta::default()
    }
}

fn content(view: &BlockView<'_>) -> BTreeSet<Labelset> {
    let text = view.text().unwrap();
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    view.series_iter()
        .map(|series| text.labels(&series.unwrap()).map(|label| owned(label.unwrap().into())).collect())
        .collect()
}

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
    command.env("NO_COLOR", "1").stdin(Stdio::null()).args(arguments).output().unwrap()
}

#[track_caller]
fn assert_exit(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    (stdout, stderr)
}

/// A day and some of hourly blocks, of two clusters.
fn hours() -> Blocks {
    let mut blocks = Blocks::new();
    for hour in 0..26 {
        blocks.add(hour, hour + 1, "eu");
        if hour % 3 == 0 {
            blocks.add(hour, hour + 1, "us");
        }
    }
    blocks
}

#[test]
fn a_dry_run_shows_the_plan_and_changes_nothing() {
    let blocks = hours();
    let before = blocks.files();
    let (stdout, stderr) = assert_exit(&blocks.run(&["--dry-run"]), 0);
    assert!(stdout.starts_with("strategy: 35 blocks, 2 merges, 5 blocks afterwards"), "{stdout}");
    assert_eq!(stderr, "");
    let (stdout, _) = assert_exit(&blocks.run(&["--dry-run", "--json"]), 0);
    let plan: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(plan["groups"].as_array().unwrap().len(), 2);
    assert!(blocks.files() == before);
}

#[test]
fn a_folder_is_merged_in_place_until_nothing_is_left_to_merge() {
    let blocks = hours();
    let before = blocks.files();
    let (stdout, stderr) = assert_exit(&blocks.run(&[]), 0);
    assert_eq!(stdout, "");
    assert!(stderr.contains("24 blocks merged") && stderr.contains("8 blocks merged"), "{stderr}");
    let after = blocks.files();
    assert!(before.iter().all(|(name, bytes)| after.get(name) == Some(bytes)), "inputs are never changed");
    let (live, series) = blocks.live();
    assert_eq!(live, 2 + 3, "those that were merged do not count any more");
    assert!(series == blocks.series);
    for (name, bytes) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
        let view = BlockView::open(bytes).unwrap();
        assert_eq!(*name, format!("{}.cx", view.block_id()));
        let window = view.meta().unwrap().window();
        assert_eq!(window.map(|window| window.start), Some(0));
    }

    // Blocks that are not shown any more are named in number.
    let hidden = format!("{} blocks hidden: other blocks claim to hold their series", before.len() - 3);
    let (_, stderr) = assert_exit(&blocks.run(&["--dry-run"]), 0);
    assert!(stderr.contains(&hidden), "{stderr}");
    for options in [&["-q"][..], &["--json", "--dry-run"]] {
        let (_, stderr) = assert_exit(&blocks.run(options), 0);
        assert!(!stderr.contains("hidden"), "{stderr}");
    }

    // A later run with --delete-inputs deletes inputs that are merged already, as after a run that was killed.
    let (_, stderr) = assert_exit(&blocks.run(&["--delete-inputs"]), 0);
    assert!(stderr.contains("nothing to merge"), "{stderr}");
    assert_eq!(stderr.matches(": deleted; an earlier run merged it").count(), before.len() - 3);
    assert_eq!(blocks.names().len(), live);
    assert!(blocks.live().1 == blocks.series);
}

#[test]
fn a_damaged_archive_leaves_the_merges_of_others_alone() {
    let mut blocks = hours();
    for hour in [1, 2] {
        blocks.add_undecodable(hour, "us");
    }
    let before = blocks.files();
    let (_, stderr) = assert_exit(&blocks.run(&["--dry-run", "--memory-limit", "1MiB"]), 0);
    assert_eq!(stderr, "");
    let (_, stderr) = assert_exit(&blocks.run(&["--delete-inputs", "--memory-limit", "64MiB"]), 3);
    assert!(stderr.contains("24 blocks merged"), "the merge of the other cluster: {stderr}");
    assert!(stderr.contains("packed-frame"), "{stderr}");
    let after = blocks.files();
    let left = before.iter().filter(|(name, _)| name.contains("-us-"));
    assert!(left.clone().count() > 8 && left.clone().all(|(name, bytes)| after.get(name) == Some(bytes)));
}

#[cfg(unix)]
#[test]
fn pipes_are_refused_and_not_waited_for() {
    let mut blocks = Blocks::new();
    blocks.add(0, 1, "eu");
    blocks.add(1, 2, "eu");
    let pipe = blocks.path().join("pipe.cx");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (_, stderr) = assert_exit(&blocks.run(&["--dry-run"]), 1);
    assert!(stderr.contains("pipe.cx") && stderr.contains("not a regular file"), "{stderr}");
    let output = blocks.path().join("out.cx");
    let (_, stderr) = assert_exit(&run(&[pipe.to_str().unwrap(), "-o", output.to_str().unwrap()]), 1);
    assert!(stderr.contains("pipe.cx") && stderr.contains("not a regular file"), "{stderr}");
}

#[test]
fn inputs_are_deleted_once_outputs_are_in_their_places() {
    let blocks = hours();
    let (stdout, _) = assert_exit(&blocks.run(&["--delete-inputs", "--json", "--memory-limit", "1GiB"]), 0);
    let reports: Vec<serde_json::Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let deleted: usize = reports.iter().map(|report| report["deleted"].as_array().unwrap().len()).sum();
    assert_eq!((reports.len(), deleted), (2, 32));
    assert_eq!(blocks.names().len(), 5);
    assert!(blocks.live().1 == blocks.series);
}

#[test]
fn damaged_blocks_are_named_and_the_others_merged() {
    let mut blocks = hours();
    let damaged = blocks.path().join("5-broken.cx");
    fs::write(&damaged, b"no block").unwrap();
    let (_, stderr) = assert_exit(&blocks.run(&["--delete-inputs"]), 3);
    assert!(stderr.contains("warning: ") && stderr.contains("5-broken.cx"), "{stderr}");
    assert_eq!(fs::read(&damaged).unwrap(), b"no block");
    assert!(blocks.live().1 == blocks.series);

    // Damage that shows only when a block is read: nothing of its group is merged or deleted.
    blocks.add(30, 31, "ap");
    blocks.add(31, 32, "ap");
    blocks.add(40, 41, "ap");
    fs::remove_file(damaged).unwrap();
    let name = blocks.names().into_iter().find(|name| name.starts_with("30-ap")).unwrap();
    let path = blocks.path().join(&name);
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 200;
    bytes[last] ^= 4;
    fs::write(&path, bytes).unwrap();
    let before = blocks.files();
    let (_, stderr) = assert_exit(&blocks.run(&["--delete-inputs"]), 3);
    assert!(stderr.contains(&format!("error: {}", path.display())), "{stderr}");
    assert!(blocks.files() == before);
}

#[test]
fn one_job_works_in_a_folder_at_a_time() {
    let blocks = hours();
    let before = blocks.files();
    let lock = FolderLock::try_lock(blocks.path()).unwrap();
    let (_, stderr) = assert_exit(&blocks.run(&[]), 1);
    assert!(stderr.contains("another job"), "{stderr}");
    assert!(blocks.files() == before);
    // Looking is allowed.
    assert_exit(&blocks.run(&["--dry-run"]), 0);
    drop(lock);
    assert_exit(&blocks.run(&[]), 0);
}

#[test]
fn shards_are_made_in_a_folder_together_or_one_by_one() {
    let blocks = hours();
    let inputs: Vec<String> = blocks
        .names()
        .iter()
        .filter(|name| name.contains("-eu-"))
        .map(|name| blocks.path().join(name))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let (all, single) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let all_path = format!("{}/all/", all.path().display());
    let made = run(&[&inputs[..], &["-o", &all_path, "--shards", "3", "--shard-by", "pod", "--json"]].concat());
    let (stdout, _) = assert_exit(&made, 0);
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["outputs"].as_array().unwrap().len(), 3);
    for number in 1..=3 {
        let (place, shard) = (single.path().to_str().unwrap(), format!("{number}/3"));
        assert_exit(&run(&[&inputs[..], &["-o", place, "--shard", &shard, "--shard-by", "pod"]].concat()), 0);
    }
    let files = |path: &Path| -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())).collect()
    };
    assert!(files(Path::new(&all_path)) == files(single.path()), "machines that share a job make what one makes");
    let count = std::num::NonZeroU32::new(3).unwrap();
    let mut series = 0;
    for bytes in files(single.path()).values() {
        let view = BlockView::open(bytes).unwrap();
        let number = view.meta().unwrap().job().unwrap().output;
        for labels in content(&view) {
            let pod = labels.get("pod").map_or("", String::as_str);
            assert_eq!(shard_of(pod.as_bytes(), count), number);
            series += 1;
        }
    }
    assert_eq!(report["series_out"], series);
    // Run again, nothing is written anew.
    let (stdout, _) = assert_exit(
        &run(&[&inputs[..], &["-o", &all_path, "--shards", "3", "--shard-by", "pod", "--json"]].concat()),
        0,
    );
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert!(report["outputs"].as_array().unwrap().iter().all(|output| output["was_there"] == true), "{report}");
}

#[test]
fn a_part_of_a_block_beside_it_does_not_stand_for_it() {
    let mut blocks = Blocks::new();
    blocks.add(0, 1, "eu");
    let input = blocks.path().join(blocks.names().first().unwrap());
    let input = input.to_str().unwrap();
    let part = blocks.path().join("part.cx");
    let part = part.to_str().unwrap();
    assert_exit(&run(&[input, "-o", part, "--keep", r#"{pod=~"pod-[0-3]"}"#]), 0);
    let (live, series) = blocks.live();
    assert_eq!(live, 2, "both count: one holds less than the other");
    assert!(series == blocks.series);
    assert_exit(&blocks.run(&["--delete-inputs"]), 0);
    assert_eq!(blocks.names().len(), 2);

    // Without the input, the part counts.
    let other = blocks.path().join("other.cx");
    let made = run(&[input, "-o", other.to_str().unwrap(), "--drop-label", "pod", "--delete-inputs"]);
    assert_exit(&made, 0);
    assert_eq!(blocks.names(), ["other.cx", "part.cx"].map(str::to_owned).into());
    assert_eq!(blocks.live().0, 2);
}

#[test]
fn an_input_that_holds_a_part_of_a_block_that_would_count_again_is_not_deleted() {
    let mut blocks = Blocks::new();
    blocks.add(0, 1, "eu");
    let whole = blocks.path().join(blocks.names().first().unwrap());
    let here = blocks.path().to_str().unwrap();
    assert_exit(&run(&[whole.to_str().unwrap(), "-o", here, "--max-series-per-block", "20"]), 0);
    let parts: Vec<String> = blocks.names().into_iter().filter(|name| !name.contains("-eu-")).collect();
    assert!(parts.len() > 1);
    let before = blocks.files();
    let (part, out) = (blocks.path().join(&parts[0]), blocks.path().join("out.cx"));
    let made = run(&[part.to_str().unwrap(), "-o", out.to_str().unwrap(), "--delete-inputs", "--layout", "fixed"]);
    let (_, stderr) = assert_exit(&made, 2);
    assert!(stderr.contains("would make block"), "{stderr}");
    assert!(before.iter().all(|(name, bytes)| blocks.files().get(name) == Some(bytes)));
}

#[test]
fn one_group_that_cannot_be_merged_does_not_hinder_the_others() {
    let mut blocks = hours();
    // The second cluster's day has a damaged block.
    let name = blocks.names().into_iter().find(|name| name.contains("-us-")).unwrap();
    let path = blocks.path().join(&name);
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 200;
    bytes[last] ^= 4;
    fs::write(&path, bytes).unwrap();
    let (stdout, stderr) = assert_exit(&blocks.run(&["--delete-inputs", "--json"]), 3);
    assert_eq!(stdout.lines().count(), 1, "the other group is merged: {stdout}");
    assert!(stderr.contains(&format!("error: {}", path.display())), "{stderr}");
    assert_eq!(blocks.names().iter().filter(|name| name.contains("-eu-")).count(), 2);
    blocks.add(50, 51, "eu");
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let blocks = hours();
    let before = blocks.files();
    for (options, message) in [
        (&["--drop", r#"{pod="a"}"#][..], "--lift-external-labels need named files"),
        (&["--drop-label", "pod"], "--lift-external-labels need named files"),
        (&["--force"], "--force needs a file as output"),
        (&["--shard-by", "pod"], "--shard-by needs --shards"),
        (&["--replan", "--layout", "fixed"], "--replan needs --layout factored"),
    ] {
        let (_, stderr) = assert_exit(&blocks.run(options), 2);
        assert!(stderr.contains(message), "{stderr}");
    }
    assert!(blocks.files() == before);
}
