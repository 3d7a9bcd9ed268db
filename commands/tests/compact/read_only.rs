//! Blocks that share their content or their id, and blocks with a feature that forbids rewriting: a compaction of a
//! folder neither merges, hides nor deletes what it does not know.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use chronoxide_format::layout::{LOSS_MATTERS, MAY_BE_COPIED, OPTIONAL, RowForm};
use chronoxide_format::view::{BlockView, Job, TimeRange};
use chronoxide_format::write::{BlockMeta, SectionBytes};
use chronoxide_reader::lineage::Reason;
use chronoxide_reader::{BlockId, Checks, Folder};
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::plan::{Labelset, Plan, build};

use crate::support::{assert_exit, content, pods};

const HOUR: i64 = 3_600_000_000_000;

/// A block of some pods, within the first hour of the first day.
fn block(numbers: std::ops::Range<usize>, change: impl FnOnce(&mut BlockMeta)) -> Vec<u8> {
    let time = Some(TimeRange { start: HOUR, end: 2 * HOUR });
    let mut meta = BlockMeta { time, window: time, ..BlockMeta::default() };
    change(&mut meta);
    build(&pods(numbers, 0..4), &Plan::default(), RowForm::BitPacked, &meta).unwrap()
}

/// The block with a feature or a section that this program does not know.
fn edited(block: &[u8], change: impl FnOnce(&mut BlockEditor)) -> Vec<u8> {
    let mut editor = BlockEditor::open(block);
    change(&mut editor);
    editor.close()
}

fn id(block: &[u8]) -> BlockId {
    BlockView::open(block).unwrap().block_id()
}

struct Files(tempfile::TempDir);

impl Files {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, bytes) in files {
            fs::write(folder.path(name), bytes).unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn open(&self) -> Folder {
        Folder::read(self.0.path(), Checks::Eager).unwrap()
    }

    /// Series of the live blocks.
    fn series(&self) -> BTreeSet<Labelset> {
        self.open().live().iter().flat_map(|entry| content(entry.block().bytes())).collect()
    }

    fn names(&self) -> BTreeSet<String> {
        fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn compact(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
        command.env("NO_COLOR", "1").stdin(Stdio::null()).arg(self.0.path()).args(arguments).output().unwrap()
    }
}

/// The ways in which a block is read-only: a feature, or a section whose loss matters, that this version does not know.
/// With both bits of a kind, the loss decides.
const READ_ONLY: [fn(&mut BlockEditor); 3] = [
    |editor| editor.features[1] = 1,
    |editor| editor.sections.push(SectionBytes { kind: OPTIONAL | LOSS_MATTERS | 99, id: 3, bytes: Vec::new() }),
    |editor| {
        let kind = OPTIONAL | LOSS_MATTERS | MAY_BE_COPIED | 99;
        editor.sections.push(SectionBytes { kind, id: 0, bytes: Vec::new() });
    },
];

/// Six blocks with the same series: plain, with a feature that may be ignored, in three ways read-only, and with an
/// optional section.
#[test]
fn blocks_that_differ_beside_their_content_are_not_copies() {
    let plain = block(0..3, |_| {});
    let columns = SectionBytes { kind: OPTIONAL + 99, id: 0, bytes: b"columns".to_vec() };
    let blocks = [
        ("a.cx", plain.clone()),
        ("b.cx", edited(&plain, |editor| editor.features[2] = 1)),
        ("c.cx", edited(&plain, READ_ONLY[0])),
        ("d.cx", edited(&plain, |editor| editor.sections.push(columns))),
        ("e.cx", edited(&plain, READ_ONLY[1])),
        ("f.cx", edited(&plain, READ_ONLY[2])),
    ];
    let ids: BTreeSet<BlockId> = blocks.iter().map(|(_, block)| id(block)).collect();
    assert_eq!(ids.len(), 6, "one id, one file");
    let files: Vec<(&str, &[u8])> = blocks.iter().map(|(name, block)| (*name, &block[..])).collect();
    let folder = Files::new(&files);
    // A newer block shows that the range is complete.
    fs::write(
        folder.path("newest.cx"),
        block(9..10, |meta| meta.window = Some(TimeRange { start: 200 * HOUR, end: 201 * HOUR })),
    )
    .unwrap();
    let before = folder.series();
    let stderr = assert_exit(&folder.compact(&["--delete-inputs"]), 0);
    for (name, block) in [&blocks[2], &blocks[4], &blocks[5]] {
        let warning = format!("{name}: read-only, with features or sections that this version does not know");
        assert!(stderr.contains(&warning), "{stderr}");
        assert_eq!(fs::read(folder.path(name)).ok().as_ref(), Some(block), "{:?}", folder.names());
    }
    assert_eq!(folder.series(), before);
    // The others became one block, and the newest one stays.
    assert_eq!(folder.names().len(), 5, "{:?}", folder.names());
    // Each hour again: nothing fails, and nothing more is done.
    assert_exit(&folder.compact(&["--delete-inputs"]), 0);
    assert_eq!(folder.names().len(), 5, "{:?}", folder.names());
}

/// A finished job claims a block with an unknown feature.
#[test]
fn a_read_only_block_is_neither_hidden_nor_deleted_by_a_claim() {
    READ_ONLY.into_iter().for_each(|change| stays_beside_a_claim(&edited(&block(0..3, |_| {}), change)));
}

fn stays_beside_a_claim(read_only: &[u8]) {
    let other = block(3..5, |_| {});
    let mut parents = vec![id(read_only), id(&other)];
    parents.sort();
    let job = Some(Job { id: [7; 16], output: 0, output_count: 1 });
    let merged = block(0..5, |meta| (meta.job, meta.parents) = (job, parents));
    let folder = Files::new(&[("read-only.cx", read_only), ("other.cx", &other), ("merged.cx", &merged)]);
    let opened = folder.open();
    let hidden: Vec<_> = opened.hidden().iter().map(|hidden| (hidden.id, hidden.reason)).collect();
    assert_eq!(hidden, [(id(&other), Reason::Merged { job: [7; 16] })]);
    assert_exit(&folder.compact(&["--delete-inputs"]), 0);
    assert_eq!(folder.names(), ["merged.cx", "read-only.cx"].map(str::to_owned).into());
}

/// An output of an unfinished job is hidden while its parents are there, unless it is read-only.
#[test]
fn a_read_only_output_of_an_unfinished_job_is_live() {
    let parent = block(0..3, |_| {});
    let job = Some(Job { id: [7; 16], output: 0, output_count: 2 });
    let output = block(0..2, |meta| (meta.job, meta.parents) = (job, vec![id(&parent)]));
    let newer = edited(&output, |editor| editor.features[1] = 1);
    let hidden = |output: &[u8]| {
        let folder = Files::new(&[("parent.cx", &parent), ("output.cx", output)]);
        folder.open().hidden().len()
    };
    assert_eq!((hidden(&output), hidden(&newer)), (1, 0));
}

/// A file with the id of a sound block, and another header: it was damaged, and its checksums were made right.
#[test]
fn a_file_with_the_id_of_another_is_damage_and_no_copy() {
    let sound = block(0..3, |_| {});
    let mut editor = BlockEditor::open(&block(0..5, |_| {}));
    editor.features[2] = 1;
    let forged = editor.with_id(id(&sound)).close();
    // In either order of the names.
    for (first, second) in [("a.cx", "b.cx"), ("b.cx", "a.cx")] {
        let folder = Files::new(&[(first, &sound), (second, &forged)]);
        let opened = folder.open();
        assert_eq!(opened.live().len(), 1);
        assert_eq!(opened.live()[0].path(), folder.path(first));
        let [(path, error)] = opened.unreadable() else { panic!("{:?}", opened.unreadable()) };
        assert_eq!(*path, folder.path(second));
        assert!(error.to_string().contains("block-id"), "{error}");
        drop(opened);
        assert_exit(&folder.compact(&["--delete-inputs"]), 3);
        assert_eq!(folder.names(), ["a.cx", "b.cx"].map(str::to_owned).into(), "neither was deleted");
    }
    // A true copy is hidden.
    let folder = Files::new(&[("a.cx", &sound), ("b.cx", &sound)]);
    let opened = folder.open();
    assert_eq!((opened.live().len(), opened.hidden()[0].reason), (1, Reason::Copy));
}

/// A read-only output proves nothing, so that its parent is kept; the next merges go on, and each run succeeds.
#[test]
fn a_read_only_output_does_not_stop_a_folder() {
    let claims = |parents: &[&[u8]], job: Job| {
        let mut parents: Vec<BlockId> = parents.iter().map(|block| id(block)).collect();
        parents.sort();
        move |meta: &mut BlockMeta| (meta.job, meta.parents) = (Some(job), parents)
    };
    // Columns of an engine, in a block that has the block without them as its parent.
    let parent = block(0..3, |_| {});
    let job = Job { id: [7; 16], output: 0, output_count: 1 };
    let columns = edited(&block(0..3, claims(&[&parent], job)), |editor| editor.features[1] = 8);
    let folder = Files::new(&[("parent.cx", &parent), ("columns.cx", &columns)]);
    for _ in 0..2 {
        let stderr = assert_exit(&folder.compact(&["--delete-inputs"]), 0);
        assert!(stderr.contains("parent.cx: kept; not proved that"), "{stderr}");
        assert_eq!(folder.names(), ["columns.cx", "parent.cx"].map(str::to_owned).into());
    }
    // One of two outputs is read-only; the other one is merged with a third block, and is then still needed.
    let whole = block(0..4, |_| {});
    let part = |output: u32, pods| block(pods, claims(&[&whole], Job { id: [9; 16], output, output_count: 2 }));
    let (first, second) = (part(0, 0..2), edited(&part(1, 2..4), |editor| editor.features[1] = 8));
    let newest = block(9..10, |meta| meta.window = Some(TimeRange { start: 200 * HOUR, end: 201 * HOUR }));
    let folder = Files::new(&[
        ("whole.cx", &whole),
        ("first.cx", &first),
        ("second.cx", &second),
        ("other.cx", &block(5..6, |_| {})),
        ("newest.cx", &newest),
    ]);
    let before = folder.series();
    folder.compact(&["--delete-inputs"]);
    assert_eq!(folder.series(), before);
    assert_eq!(fs::read(folder.path("second.cx")).unwrap(), second);
    // Another group becomes due, and is merged.
    for (name, pods) in [("late-1.cx", 6..7), ("late-2.cx", 7..8)] {
        let meta = |meta: &mut BlockMeta| meta.external_labels = vec![("cluster".to_owned(), "eu".to_owned())];
        fs::write(folder.path(name), block(pods, meta)).unwrap();
    }
    let labelled = |meta: &mut BlockMeta| {
        meta.external_labels = vec![("cluster".to_owned(), "eu".to_owned())];
        meta.window = Some(TimeRange { start: 200 * HOUR, end: 201 * HOUR });
    };
    fs::write(folder.path("late-newest.cx"), block(9..10, labelled)).unwrap();
    let before = folder.series();
    assert_exit(&folder.compact(&["--delete-inputs"]), 0);
    assert!(!folder.path("late-1.cx").exists() && !folder.path("late-2.cx").exists(), "{:?}", folder.names());
    assert_eq!(folder.series(), before);
}

#[test]
fn a_dry_run_says_why_a_read_only_block_is_not_merged() {
    let read_only = edited(&block(0..3, |_| {}), |editor| editor.features[1] = 0x10);
    let folder = Files::new(&[("new.cx", &read_only), ("old.cx", &block(1..4, |_| {}))]);
    let output = folder.compact(&["--dry-run", "--json"]);
    assert_exit(&output, 0);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let reasons: Vec<_> = json["unmerged"].as_array().unwrap().iter().map(|block| &block["reason"]).collect();
    assert!(reasons.contains(&&serde_json::json!({"kind": "read-only", "ro_compat": 0x10})), "{reasons:?}");
    let output = folder.compact(&["--dry-run"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("read-only: unknown ro_compat bits 0x10"), "{text}");
}
