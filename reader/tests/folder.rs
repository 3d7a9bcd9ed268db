//! Folders of real blocks: the files that are opened, the live blocks, and the reports on others.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use chronoxide_format::identity::job_id;
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_reader::lineage::Reason;
use chronoxide_reader::{ArchiveMemoryError, Block, BlockId, Checks, Folder, FolderError, Job, OpenError, TextLabel};
use chronoxide_testkit::archive::{archives, undecodable};
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{Labelset, Plan, build};

fn labels(number: u32) -> Labelset {
    Labelset::from([("__name__".to_owned(), "up".to_owned()), ("pod".to_owned(), format!("pod-{number}"))])
}

/// Returns a block with these numbered series.
fn block(series: impl IntoIterator<Item = u32>, meta: &BlockMeta) -> (BlockId, Vec<u8>) {
    let series: BTreeSet<Labelset> = series.into_iter().map(labels).collect();
    let bytes = build(&series, &Plan::default(), RowForm::BitPacked, meta).unwrap();
    let id = Block::from_vec(bytes.clone(), Checks::Eager).unwrap().view().block_id();
    (id, bytes)
}

fn at(hour: i64) -> BlockMeta {
    let time = Some(TimeRange { start: hour * 3_600_000_000_000, end: (hour + 1) * 3_600_000_000_000 });
    BlockMeta { time, ..BlockMeta::default() }
}

/// Returns output `output` of `count`: every `count`-th series of those below `end`.
fn output(parents: &[BlockId], output: u32, count: u32, end: u32) -> (BlockId, Vec<u8>) {
    let mut parents = parents.to_vec();
    parents.sort();
    let job = Some(Job { id: job_id(&parents, "test"), output, output_count: count });
    let meta = BlockMeta { job, parents, ..at(1) };
    block((0..end).filter(|number| number % count == output), &meta)
}

fn put(folder: &Path, (id, bytes): &(BlockId, Vec<u8>)) -> PathBuf {
    let path = folder.join(format!("{id}.cx"));
    fs::write(&path, bytes).unwrap();
    path
}

fn ids(folder: &Folder) -> Vec<BlockId> {
    folder.live().iter().map(|entry| entry.id()).collect()
}

fn series(folder: &Folder) -> Vec<Labelset> {
    let mut found = Vec::new();
    for entry in folder.live() {
        let view = entry.block().view();
        let text = view.text().unwrap();
        let owned = |label: TextLabel<'_>| (label.name.to_owned(), label.value.to_owned());
        for series in view.series_iter() {
            found.push(text.labels(&series.unwrap()).map(|label| owned(label.unwrap())).collect());
        }
    }
    found.sort();
    found
}

fn both(path: &Path, checks: Checks) -> Folder {
    let read = Folder::read(path, checks).unwrap();
    // SAFETY: files are changed only when no map of them is left.
    let mapped = unsafe { Folder::map(path, checks) }.unwrap();
    assert_eq!(ids(&read), ids(&mapped));
    assert_eq!(read.hidden(), mapped.hidden());
    assert_eq!(read.unreadable().len(), mapped.unreadable().len());
    read
}

#[test]
fn live_blocks_are_in_order_of_time_for_any_names() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = [3, 1, 2].map(|hour| block([hour as u32], &at(hour)));
    for (name, (_, bytes)) in ["b.cx", "a.cx", "c.cx"].iter().zip(&blocks) {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let opened = both(folder.path(), Checks::Eager);
    assert_eq!(ids(&opened), [blocks[1].0, blocks[2].0, blocks[0].0]);
    assert_eq!(opened.live()[0].path(), folder.path().join("a.cx"));
    assert!(opened.hidden().is_empty() && opened.unreadable().is_empty() && opened.incomplete().is_empty());
    assert_eq!(series(&opened), [1, 2, 3].map(labels));
    let kept = opened.into_live();
    assert_eq!(kept.into_iter().map(|entry| entry.into_block().view().block_id()).max(), Some(blocks[0].0));
}

#[test]
fn three_outputs_take_the_place_of_their_parents_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let parents = [block(0..5, &at(1)), block(5..9, &at(2))];
    let all: Vec<Labelset> = (0..9).map(labels).collect();
    let parent_ids = [parents[0].0, parents[1].0];
    let paths = [put(folder.path(), &parents[0]), put(folder.path(), &parents[1])];
    for number in 0..3 {
        assert_eq!(series(&both(folder.path(), Checks::Lazy)), all);
        put(folder.path(), &output(&parent_ids, number, 3, 9));
    }
    let opened = both(folder.path(), Checks::Lazy);
    assert_eq!(series(&opened), all);
    let job = job_id(&parent_ids, "test");
    let hidden: Vec<_> = opened.hidden().iter().map(|hidden| (hidden.path.clone(), hidden.reason)).collect();
    assert_eq!(hidden, paths.clone().map(|path| (path, Reason::Merged { job })));
    for path in paths {
        fs::remove_file(path).unwrap();
        assert_eq!(series(&both(folder.path(), Checks::Lazy)), all);
    }
}

#[test]
fn a_damaged_output_is_reported_and_hides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let parents = [block(0..5, &at(1)), block(5..9, &at(2))];
    let parent_ids = [parents[0].0, parents[1].0];
    let paths = parents.each_ref().map(|parent| put(folder.path(), parent));
    let outputs: Vec<_> = (0..3).map(|number| put(folder.path(), &output(&parent_ids, number, 3, 9))).collect();

    let mut bytes = fs::read(&outputs[1]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&outputs[1], bytes).unwrap();
    let opened = both(folder.path(), Checks::Eager);
    let [(path, error)] = opened.unreadable() else { panic!("{:?}", opened.unreadable()) };
    assert_eq!(path, &outputs[1]);
    assert!(error.to_string().contains(outputs[1].to_str().unwrap()), "{error}");
    assert_eq!(series(&opened), (0..9).map(labels).collect::<Vec<_>>());
    let [incomplete] = opened.incomplete() else { panic!("{:?}", opened.incomplete()) };
    assert_eq!((incomplete.output_count, incomplete.present), (3, 2));

    // Without one parent, the other outputs and the remaining parent are live.
    fs::remove_file(&paths[0]).unwrap();
    let opened = both(folder.path(), Checks::Eager);
    let distinct: BTreeSet<Labelset> = series(&opened).into_iter().collect();
    let left = (0..9).filter(|number| number % 3 != 1 || *number >= 5);
    assert_eq!(distinct, left.map(labels).collect());
}

#[test]
fn invalid_blocks_are_reported_and_other_files_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let sound = block([1], &at(1));
    let sound_path = put(folder.path(), &sound);
    for (name, bytes) in
        [("empty.cx", &b""[..]), ("text.cx", b"not a block"), ("cut.cx", &sound.1[..sound.1.len() - 1])]
    {
        fs::write(path(name), bytes).unwrap();
    }
    fs::create_dir(path("folder.cx")).unwrap();
    for name in [".chronoxide-aaaaaaaaaaaa", ".chronoxide-aaaaaaaaaaaa.cx", ".cx", "cx", "text.txt", "a.cx.old", "b.CX"]
    {
        fs::write(path(name), "not a block").unwrap();
    }
    let opened = both(folder.path(), Checks::Lazy);
    let names: Vec<PathBuf> = opened.unreadable().iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(names, ["cut.cx", "empty.cx", "folder.cx", "text.cx"].map(path));
    assert_eq!(opened.live()[0].path(), sound_path);
    assert_eq!(opened.live().len(), 1);
}

#[test]
fn a_copy_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let (id, bytes) = block([1], &at(1));
    for name in ["b.cx", "a.cx"] {
        fs::write(folder.path().join(name), &bytes).unwrap();
    }
    let opened = both(folder.path(), Checks::Lazy);
    assert_eq!(series(&opened), [labels(1)]);
    assert_eq!(opened.live()[0].path(), folder.path().join("a.cx"));
    let all: Vec<_> = opened.lineages().iter().map(|(path, lineage)| (path.clone(), lineage.id)).collect();
    assert_eq!(all, ["a.cx", "b.cx"].map(|name| (folder.path().join(name), id)));
    let [hidden] = opened.hidden() else { panic!("one copy") };
    assert_eq!((&hidden.path, hidden.id, hidden.reason), (&folder.path().join("b.cx"), id, Reason::Copy));
}

/// The id covers all bytes, also those that only rules of class C are about.
#[test]
fn sound_blocks_that_differ_in_padding_are_all_live() {
    let golden = goldens().into_iter().find(|golden| golden.name == "read-only").unwrap();
    let mut editor = BlockEditor::open(&golden.bytes);
    // Padding, whose canonical form is unknown.
    *editor.section(SectionKind::Rows).last_mut().unwrap() ^= 0x80;
    let other = editor.close();
    assert_eq!(BlockView::open(&other).map(|view| view.verify().is_ok()), Ok(true));
    let id = |bytes: &[u8]| BlockView::open(bytes).unwrap().block_id();
    assert_ne!(id(&golden.bytes), id(&other), "one id, one file");
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [("a.cx", &golden.bytes), ("b.cx", &other), ("copy.cx", &golden.bytes)] {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let found = Folder::read(folder.path(), Checks::Eager).unwrap();
    let names: BTreeSet<_> = found.live().iter().map(|entry| entry.path().file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["a.cx", "b.cx"].map(Into::into).into());
    assert_eq!((found.hidden().len(), found.unreadable().len()), (1, 0), "a copy is hidden");
}

/// Encoders make different frames of one arena: such archives are blocks of their own, with one fingerprint.
#[test]
fn archives_with_other_frames_have_other_ids_and_one_fingerprint() {
    let archives = archives();
    let bytes = |name| &archives.iter().find(|golden| golden.name == name).unwrap().bytes;
    let folder = tempfile::tempdir().unwrap();
    let files = [("a.cx", "archive-small"), ("b.cx", "archive-raw"), ("copy.cx", "archive-raw")];
    for (name, archive) in files {
        fs::write(folder.path().join(name), bytes(archive)).unwrap();
    }
    let found = both(folder.path(), Checks::Lazy);
    let names: BTreeSet<_> = found.live().iter().map(|entry| entry.path().file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["a.cx", "b.cx"].map(Into::into).into());
    let fingerprints: BTreeSet<_> =
        found.live().iter().map(|entry| entry.block().view().meta().unwrap().fingerprint()).collect();
    assert_eq!(fingerprints.len(), 1);
    let [hidden] = found.hidden() else { panic!("one copy") };
    assert_eq!((&hidden.path, hidden.reason), (&folder.path().join("copy.cx"), Reason::Copy));
}

#[test]
fn live_archives_are_counted_together_before_one_is_decoded() {
    let folder = tempfile::tempdir().unwrap();
    let archive = |series: std::ops::Range<u32>, meta: BlockMeta| {
        let (id, bytes) = block(series, &BlockMeta { archive: true, ..meta });
        let arena_len = BlockView::open_unpacked(&bytes, &mut Vec::new()).unwrap().symbols().arena().len() as u64;
        (arena_len, id, put(folder.path(), &(id, bytes)))
    };
    let (a_len, a, _) = archive(0..10, at(0));
    let (b_len, b, _) = archive(10..1_000, at(0));
    let refused = |found: Result<Folder, FolderError>, expected: ArchiveMemoryError| match found {
        Err(FolderError::ArchiveMemory { path, source }) => {
            assert_eq!((path.as_path(), source), (folder.path(), expected));
        }
        other => panic!("{other:?}"),
    };
    let needed = a_len + b_len;
    let expected = ArchiveMemoryError { needed, limit: needed - 1 };
    refused(Folder::read_within(folder.path(), Checks::Lazy, needed - 1), expected);
    // SAFETY: no map is left when files change.
    refused(unsafe { Folder::map_within(folder.path(), Checks::Lazy, needed - 1) }, expected);
    assert_eq!(ids(&Folder::read_within(folder.path(), Checks::Lazy, needed).unwrap()).len(), 2);
    // An archive that was replaced is not decoded.
    let job = Some(Job { id: job_id(&sorted([a, b]), "test"), output: 0, output_count: 1 });
    let (merged_len, merged, _) = archive(0..1_000, BlockMeta { job, parents: sorted([a, b]), ..at(0) });
    assert!(merged_len < needed);
    let found = Folder::read_within(folder.path(), Checks::Lazy, merged_len).unwrap();
    assert_eq!((ids(&found), series(&found).len()), (vec![merged], 1_000));
    let limit = merged_len - 1;
    let expected = ArchiveMemoryError { needed: merged_len, limit };
    refused(Folder::read_within(folder.path(), Checks::Lazy, limit), expected);
}

/// Returns the ids in order.
fn sorted(mut ids: [BlockId; 2]) -> Vec<BlockId> {
    ids.sort();
    ids.to_vec()
}

/// The claims of an archive are readable without its strings.
#[test]
fn archives_that_cannot_be_decoded_hide_no_block() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = [block(0..10, &at(0)), block(10..20, &at(0))];
    inputs.iter().for_each(|input| drop(put(folder.path(), input)));
    // Each of a chain claims to replace the one before, and the first one the inputs.
    let mut parents = sorted([inputs[0].0, inputs[1].0]);
    let mut damaged = Vec::new();
    for _ in 0..3 {
        let job = Some(Job { id: job_id(&parents, "test"), output: 0, output_count: 1 });
        let bytes = undecodable(20 * 60_000, &BlockMeta { job, parents, ..at(0) });
        let id = BlockView::open(&bytes).unwrap().block_id();
        damaged.push(put(folder.path(), &(id, bytes)));
        parents = vec![id];
    }
    damaged.sort();
    let found = both(folder.path(), Checks::Eager);
    assert_eq!((ids(&found).len(), series(&found).len()), (2, 20));
    let unreadable: Vec<_> = found.unreadable().iter().map(|(path, error)| (path.clone(), is_block(error))).collect();
    assert_eq!(unreadable, damaged.into_iter().map(|path| (path, true)).collect::<Vec<_>>());
    assert!(found.hidden().is_empty());
}

fn is_block(error: &OpenError) -> bool {
    matches!(error, OpenError::Block { .. })
}

#[test]
fn a_missing_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    match Folder::read(&missing, Checks::Lazy) {
        Err(FolderError::Io { path, .. }) => assert_eq!(path, missing),
        other => panic!("{other:?}"),
    }
    let empty = both(folder.path(), Checks::Lazy);
    assert!(empty.live().is_empty());
}

/// A job publishes and deletes as fast as possible while the test reads.
#[test]
fn a_folder_that_changes_during_opening_loses_no_series() {
    let folder = tempfile::tempdir().unwrap();
    let first = block(0..9, &at(1));
    put(folder.path(), &first);
    let all: Vec<Labelset> = (0..9).map(labels).collect();
    let chain: Vec<(BlockId, Vec<u8>)> = (0..150)
        .scan(first.0, |parent, _| {
            let next = output(&[*parent], 0, 1, 9);
            *parent = next.0;
            Some(next)
        })
        .collect();
    let reads = std::thread::scope(|scope| {
        let job = scope.spawn(|| {
            let mut before = first.0;
            for next in &chain {
                // Like a publication: the file is complete under another name first.
                let temporary = folder.path().join(".chronoxide-aaaaaaaaaaaa");
                fs::write(&temporary, &next.1).unwrap();
                fs::rename(&temporary, folder.path().join(format!("{}.cx", next.0))).unwrap();
                fs::remove_file(folder.path().join(format!("{before}.cx"))).unwrap();
                before = next.0;
            }
        });
        let mut reads = 0;
        // The job may be done before this thread starts.
        while reads == 0 || !job.is_finished() {
            match Folder::read(folder.path(), Checks::Eager) {
                Ok(opened) => assert_eq!(series(&opened), all),
                Err(error) => assert!(matches!(error, FolderError::Changing { .. }), "{error:?}"),
            }
            reads += 1;
        }
        job.join().unwrap();
        reads
    });
    println!("{reads} reads");
    assert!(reads > 0);
}
