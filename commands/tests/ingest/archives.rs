//! The command on tar archives.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{EntryType, Header};

use crate::canonical;
use crate::prometheus_data::{capture, copy, listed, stderr};

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &[u8]) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), content).unwrap();
    }

    /// Runs the command into the folder `out`, which is new each time. Nothing stays in `TMPDIR`.
    fn run(&self, arguments: &[&str]) -> Output {
        let _ = fs::remove_dir_all(self.path("out"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
        command.current_dir(self.folder.path()).env("TMPDIR", self.path("tmp")).env("NO_COLOR", "1");
        let output = command.args(arguments).args(["-o", "out/"]).output().unwrap();
        assert_eq!(fs::read_dir(self.path("tmp")).unwrap().count(), 0, "temporary files are deleted");
        output
    }

    /// Blocks of the last run, by name.
    fn blocks(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.path("out")).unwrap().map(Result::unwrap);
        entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
    }

    fn series_count(&self) -> usize {
        self.blocks().values().map(|block| canonical::block_series(block).len()).sum()
    }
}

#[track_caller]
fn assert_exit(output: &Output, code: i32, message: &str) {
    assert_eq!(output.status.code(), Some(code), "{}", stderr(output));
    assert!(stderr(output).contains(message), "{}", stderr(output));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An archive of members with their types.
fn archive(members: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind, content) in members {
        let mut header = Header::new_ustar();
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        // Not by `append_data`, which refuses paths out of the archive.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        if kind.is_symlink() || kind.is_hard_link() {
            header.set_link_name("../../secret.prom").unwrap();
        }
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn data_folder() -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_dir_all("prometheus/data", capture().join("data")).unwrap();
    builder.into_inner().unwrap()
}

const FILE: EntryType = EntryType::Regular;

#[test]
fn an_archive_of_a_data_folder_gives_the_blocks_of_the_folder() {
    let scene = Scene::new();
    copy(&capture().join("data"), &scene.path("data"));
    assert_exit(&scene.run(&["data"]), 0, "");
    let expected = scene.blocks();
    let plain = data_folder();
    scene.write("data.tar", &plain);
    scene.write("data.tgz", &gzip(&plain));
    scene.write("backup", &zstd::encode_all(plain.as_slice(), 1).unwrap());
    for name in ["data.tar", "data.tgz", "backup"] {
        let done = scene.run(&[name]);
        assert_exit(&done, 0, "");
        assert!(scene.blocks() == expected, "{name}");
        assert!(!stderr(&done).contains("warning"), "{}", stderr(&done));
    }
}

#[test]
fn members_are_read_as_files_of_a_folder_and_named_with_the_archive() {
    let scene = Scene::new();
    let members: [(&str, EntryType, &[u8]); 4] = [
        ("x/a.prom", FILE, b"up{job=\"a\"} 1\n"),
        ("x/b.jsonl.gz", FILE, &gzip(b"{\"__name__\":\"up\",\"job\":\"b\"}\n")),
        ("x/notes.md", FILE, b"# Notes\n\nSome.\n"),
        ("x/bad.prom", FILE, &[b"up{job=\"c\"} 1\n".repeat(5).as_slice(), b"up{job= 1\n"].concat()),
    ];
    scene.write("in/captures.tar", &archive(&members));
    scene.write("in/d.prom", b"up{job=\"d\"} 1\n");
    for input in ["in", "in/captures.tar", "in/*"] {
        let done = scene.run(&[input]);
        assert_exit(&done, 6, "in/captures.tar: x/notes.md: skipped: ");
        assert_exit(&done, 6, "in/captures.tar: x/bad.prom: record 6 at byte 70 is malformed");
        assert!(!stderr(&done).contains("tmp"), "{}", stderr(&done));
        assert_eq!(scene.series_count(), if input == "in/captures.tar" { 3 } else { 4 }, "{input}");
    }
    let done = scene.run(&["in/captures.tar", "--json"]);
    assert!(String::from_utf8_lossy(&done.stdout).contains("\"in/captures.tar: x/notes.md: skipped: "), "{done:?}");
    scene.write("only.tar", &archive(&members[3..]));
    assert_exit(&scene.run(&["only.tar"]), 3, "only.tar: x/bad.prom: record 6 at byte 70 is malformed");
}

#[test]
fn links_devices_and_paths_out_of_the_archive_are_not_written() {
    let scene = Scene::new();
    scene.write("secret.prom", b"secret 1\n");
    let members: [(&str, EntryType, &[u8]); 8] = [
        ("link.prom", EntryType::Symlink, b""),
        // Both link to `../../secret.prom`.
        ("hard.prom", EntryType::Link, b""),
        ("pipe", EntryType::Fifo, b""),
        ("../../out.prom", FILE, b"out 1\n"),
        ("a/../../../out.prom", FILE, b"out 1\n"),
        ("/absolute/b.prom", FILE, b"b 1\n"),
        ("absolute", FILE, b"clash 1\n"),
        ("./c.prom", FILE, b"c 1\n"),
    ];
    scene.write("hostile.tar", &archive(&members));
    let done = scene.run(&["hostile.tar"]);
    assert_exit(&done, 0, "hostile.tar: link.prom: skipped: a link out of the archive, a device, or a path out of it");
    for name in ["hard.prom", "pipe", "../../out.prom", "a/../../../out.prom", "absolute"] {
        assert_exit(&done, 0, &format!("hostile.tar: {name}: skipped: "));
    }
    assert_eq!(scene.series_count(), 2);
    let mut files: Vec<_> =
        fs::read_dir(scene.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["hostile.tar", "out", "secret.prom", "tmp"]);
}

#[test]
fn hard_links_are_the_files_that_they_link_to() {
    let scene = Scene::new();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_dir_all("data", capture().join("data")).unwrap();
    // A snapshot shares its files with the data folder.
    let block = "01M81D9J7RYD9HMB8NS58J452Z";
    for (name, target) in
        [("index", "index"), ("meta.json", "meta.json"), ("chunks/000001", "chunks/000001"), ("gone.prom", "gone.prom")]
    {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Link);
        header.set_size(0);
        header.set_mode(0o644);
        builder
            .append_link(&mut header, format!("snapshots/s/{block}/{name}"), format!("./data/{block}/{target}"))
            .unwrap();
    }
    scene.write("data.tar", &builder.into_inner().unwrap());
    let done = scene.run(&["data.tar", "--json"]);
    assert_exit(&done, 0, &format!("data.tar: snapshots/s/{block}/gone.prom: skipped: "));
    assert!(!stderr(&done).contains("index") && !stderr(&done).contains("chunks"), "{}", stderr(&done));
    let summary: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(summary["input"]["inputs"].as_u64(), Some(5));
}

#[test]
fn an_archive_that_ends_early_or_is_damaged_gives_what_comes_before() {
    let scene = Scene::new();
    let members: Vec<(String, Vec<u8>)> = (0..20)
        .map(|number| (format!("{number:02}.prom"), format!("up{{job=\"{number}\"}} 1\n").repeat(40).into_bytes()))
        .collect();
    let all: Vec<(&str, EntryType, &[u8])> =
        members.iter().map(|(name, content)| (name.as_str(), FILE, content.as_slice())).collect();
    let sound = archive(&all);
    // Each member has a header of 512 bytes, and content of 600 to 700 bytes, padded to 1,024.
    let member_len = 512 + 1_024;
    for (len, series) in [(10 * member_len, 10), (10 * member_len + 100, 10), (10 * member_len + 512 + 100, 11)] {
        scene.write("cut.tar", &sound[..len]);
        let done = scene.run(&["cut.tar"]);
        assert_exit(&done, 6, "cut.tar: the archive is cut off after ");
        assert_eq!(scene.series_count(), series, "{len} bytes");
        assert_eq!(scene.run(&["cut.tar", "--allow-truncated"]).status.code(), Some(0), "{len} bytes");
    }
    let zipped = gzip(&sound);
    scene.write("cut.tgz", &zipped[..zipped.len() - 12]);
    assert_exit(&scene.run(&["cut.tgz"]), 6, "cut.tgz: the archive is cut off after ");
    let mut flipped = zipped;
    // The checksum, of four bytes, and the length, of four bytes, are the last.
    let at = flipped.len() - 8;
    flipped[at] ^= 1;
    scene.write("sum.tgz", &flipped);
    assert_exit(&scene.run(&["sum.tgz"]), 3, "sum.tgz: damaged archive: checksum mismatch of a gzip member");
    // Archives that were appended to each other.
    scene.write("two.tar", &[sound.clone(), archive(&[("more.prom", FILE, b"more 1\n")])].concat());
    assert_exit(&scene.run(&["two.tar"]), 0, "");
    assert_eq!(scene.series_count(), 21);

    let mut broken = sound;
    broken[5 * member_len + 10] ^= 1;
    scene.write("in/bad.tar", &broken);
    scene.write("in/other.prom", b"other 1\n");
    assert_exit(&scene.run(&["in/bad.tar"]), 3, "in/bad.tar: damaged archive: ");
    // The first header.
    broken[10] ^= 1;
    scene.write("first.tar", &broken);
    assert_exit(&scene.run(&["first.tar"]), 3, "first.tar: damaged archive: ");
    for arguments in [&["in/bad.tar", "--skip-bad-records"][..], &["in"]] {
        assert_exit(&scene.run(arguments), 6, "in/bad.tar: damaged archive: ");
        assert_eq!(scene.series_count(), if arguments.len() == 1 { 6 } else { 5 });
    }
}

#[test]
fn an_archive_within_an_archive_is_not_unpacked_and_one_without_captures_is_an_error() {
    let scene = Scene::new();
    let inner = archive(&[("a.prom", FILE, b"a 1\n")]);
    scene.write("outer.tar", &archive(&[("inner.tar", FILE, &inner), ("b.prom", FILE, b"b 1\n")]));
    assert_exit(&scene.run(&["outer.tar"]), 0, "outer.tar: inner.tar: skipped: ");
    assert_eq!(scene.series_count(), 1);
    scene.write("empty.tar", &archive(&[("notes.md", FILE, b"# Notes\n\nSome.\n")]));
    assert_exit(&scene.run(&["empty.tar"]), 4, "empty.tar: no file in this folder has a recognized format");
}

#[test]
fn headers_that_claim_much_are_refused() {
    let scene = Scene::new();
    let mut long = Header::new_gnu();
    long.as_mut_bytes()[..4].copy_from_slice(b"name");
    long.set_entry_type(EntryType::GNULongName);
    long.set_size(64 << 20);
    long.set_mode(0o644);
    long.set_cksum();
    let mut bytes = archive(&[("a.prom", FILE, b"a 1\n")]);
    bytes.truncate(1_024);
    bytes.extend(long.as_bytes());
    bytes.extend(vec![b'x'; 64 << 20]);
    scene.write("long.tgz", &gzip(&bytes));
    assert_exit(&scene.run(&["long.tgz"]), 3, "long.tgz: damaged archive: the headers of a member are too long");
}

#[test]
fn a_data_folder_in_an_archive_has_all_series() {
    let scene = Scene::new();
    scene.write("data.tar", &data_folder());
    assert_exit(&scene.run(&["data.tar"]), 0, "");
    let found = scene.blocks().values().flat_map(|block| canonical::block_series(block)).collect();
    assert_eq!(listed(), found);
    assert!(Path::new(&scene.path("data.tar")).is_file());
}

#[test]
fn labels_of_folders_are_those_around_and_in_the_archive() {
    let scene = Scene::new();
    let content = archive(&[
        ("zone=eu/exports/chunks/000001.jsonl", EntryType::Regular, b"{\"__name__\":\"a\"}\n"),
        ("chunks/000001", EntryType::Regular, b"a chunk of a block"),
        ("b.prom", EntryType::Regular, b"b 1\n"),
    ]);
    scene.write("cluster=c/job=x.tar", &content);
    assert_exit(&scene.run(&["cluster=c/job=x.tar"]), 0, "labels from folders: cluster, zone");
    let series: Vec<canonical::Labels> =
        scene.blocks().values().flat_map(|block| canonical::block_series(block)).collect();
    let labels = |text: &str| canonical::series(&serde_json::from_str(text).unwrap());
    assert_eq!(series.len(), 2, "{series:?}");
    assert!(series.contains(&labels(r#"{"__name__":"a","cluster":"c","zone":"eu"}"#)), "{series:?}");
    assert!(series.contains(&labels(r#"{"__name__":"b","cluster":"c"}"#)), "{series:?}");
}

#[test]
fn an_archive_that_is_cut_anywhere_keeps_what_is_whole() {
    let scene = Scene::new();
    let content = archive(&[("a.prom", EntryType::Regular, b"a 1\n"), ("b.prom", EntryType::Regular, b"b 1\n")]);
    // Within the first padding, the second header, the second content and the second padding.
    for (len, count) in [(800, 1), (1_300, 1), (1_538, 1), (1_800, 2)] {
        scene.write("cut.tar", &content[..len]);
        assert_exit(&scene.run(&["cut.tar"]), 6, "cut.tar: the archive is cut off after ");
        assert_eq!(scene.series_count(), count, "{len} bytes");
    }
}
