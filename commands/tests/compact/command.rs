//! The built command: what it writes, says and ends with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use chronoxide_format::layout::{MAY_BE_COPIED, OPTIONAL, RowForm};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::{BlockMeta, SectionBytes};
use chronoxide_testkit::archive::undecodable;
use chronoxide_testkit::broken::broken;
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{Plan, build};
use chronoxide_testkit::random::{Random, random_series};
use chronoxide_testkit::requirement::skip_or_fail;

/// A temporary folder with two sound blocks, `a.cx` and `b.cx`.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, golden) in [("a.cx", "plain-bitpacked"), ("b.cx", "lists-fixedwidth")] {
            folder.write(name, golden_bytes(golden));
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).unwrap();
        self.text(name)
    }

    /// Returns the files of the folder by name.
    fn content(&self) -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap());
        let file = |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
        files.filter(|entry| entry.file_type().unwrap().is_file()).map(file).collect()
    }
}

fn golden_bytes(name: &str) -> Vec<u8> {
    goldens().into_iter().find(|golden| golden.name == name).unwrap().bytes
}

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
    command.env("NO_COLOR", "1").stdin(Stdio::null()).args(arguments).output().unwrap()
}

#[track_caller]
fn assert_exit(output: &Output, code: i32, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
    if code != 0 {
        assert_eq!(output.stdout, b"", "stdout is empty after an error");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

/// Runs the command, which must fail and change nothing in the folder.
#[track_caller]
fn assert_refused(folder: &Folder, arguments: &[&str], code: i32, message: &str) {
    let before = folder.content();
    assert_exit(&run(arguments), code, message);
    assert!(folder.content() == before, "the folder is as it was");
}

#[test]
fn archives_are_written_on_request_and_merged_with_other_blocks() {
    let folder = Folder::new();
    let (a, b, archive) = (folder.text("a.cx"), folder.text("b.cx"), folder.text("archive.cx"));
    assert_exit(&run(&[&a, "-o", &archive, "--archive"]), 0, "series out   ");
    let features = |block: &[u8]| BlockView::open(block).unwrap().features();
    assert_eq!(features(&fs::read(folder.path("archive.cx")).unwrap()), [1, 0, 0]);
    let expected = run(&[&a, &b, "-o", &folder.text("plain.cx")]);
    assert_exit(&expected, 0, "series out   170\n");
    for (name, option, bits) in [("mixed.cx", None, 0), ("packed.cx", Some("--archive"), 1)] {
        let output = folder.text(name);
        let mut arguments = vec![&archive[..], &b, "-o", &output];
        arguments.extend(option);
        assert_exit(&run(&arguments), 0, "series out   170\n");
        let block = fs::read(folder.path(name)).unwrap();
        assert_eq!(features(&block), [bits, 0, 0]);
        let verified = BlockView::open_unpacked(&block, &mut Vec::new()).unwrap().verify();
        let plain = fs::read(folder.path("plain.cx")).unwrap();
        assert_eq!(verified, BlockView::open(&plain).unwrap().verify(), "{name}");
    }
}

#[test]
fn two_blocks_become_one_that_verifies() {
    let folder = Folder::new();
    let (a, b, out) = (folder.text("a.cx"), folder.text("b.cx"), folder.text("out.cx"));
    let before = folder.content();
    let done = run(&[&a, &b, "-o", &out]);
    assert_exit(&done, 0, "out.cx: 2 blocks merged\n  series in    170\n  duplicates   0\n  series out   170\n");
    assert_eq!(done.stdout, b"");
    let mut after = folder.content();
    let block = after.remove("out.cx").unwrap();
    assert!(after == before, "inputs are never changed, and no temporary file is left");
    assert_eq!(BlockView::open(&block).unwrap().verify().unwrap().series_count, 170);

    let swapped = run(&[&b, &a, "-o", &folder.text("swapped.cx"), "--threads", "1"]);
    assert_exit(&swapped, 0, "");
    assert!(fs::read(folder.path("swapped.cx")).unwrap() == block);
    assert_exit(&run(&[&a, &b, "-o", &folder.text("fixed.cx"), "--layout", "fixed", "--threads", "8"]), 0, "");
    let fixed = fs::read(folder.path("fixed.cx")).unwrap();
    assert_eq!(BlockView::open(&fixed).unwrap().row_form(), Some(RowForm::FixedWidth));
}

#[test]
fn the_summary_as_json_is_one_object_on_standard_output() {
    let folder = Folder::new();
    let (a, out) = (folder.text("a.cx"), folder.text("out.cx"));
    let done = run(&[&a, &a, &a, "-o", &out, "--json"]);
    assert_exit(&done, 0, "");
    assert_eq!(done.stderr, b"");
    let summary: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    for (field, value) in [("inputs", 3), ("series_in", 30), ("duplicates", 20), ("series_out", 10)] {
        assert_eq!(summary[field], value, "{field}");
    }
    let len = |path: &str| fs::metadata(path).unwrap().len();
    assert_eq!((summary["bytes_in"].as_u64(), summary["bytes_out"].as_u64()), (Some(3 * len(&a)), Some(len(&out))));
    assert_eq!(summary["outputs"][0]["path"], out);
    assert!(summary["seconds"]["verify"].is_number() && summary["seconds"]["write"].is_number());
}

#[test]
fn an_existing_output_is_replaced_only_when_asked_for() {
    let folder = Folder::new();
    let (a, b) = (folder.text("a.cx"), folder.text("b.cx"));
    let out = folder.write("out.cx", "precious");
    assert_refused(&folder, &[&a, &b, "-o", &out], 1, "out.cx: already exists (use --force to replace it)");
    assert_exit(&run(&[&a, &b, "-o", &out, "--force"]), 0, "");
    // An input is a file like any other.
    assert_refused(&folder, &[&a, &b, "-o", &a], 1, "a.cx: already exists");
    assert_exit(&run(&[&a, &b, "-o", &a, "--force"]), 0, "");
    assert!(fs::read(&a).unwrap() == fs::read(&out).unwrap(), "what was merged is what was read before");
}

#[test]
fn usage_errors_end_with_2() {
    let folder = Folder::new();
    let (a, out) = (folder.text("a.cx"), folder.text("out.cx"));
    let here = folder.0.path().to_str().unwrap().to_owned();
    for (arguments, message) in [
        (&[][..], "required"),
        (&[a.as_str()], "--output"),
        (&["-o", &out], "BLOCK"),
        (&[&a, "-o", "-"], "standard output is not supported"),
        (&[&a, "-o", &out, "--shards", "2"], "several outputs need a folder"),
        (&[&a, "-o", &out, "--max-series-per-block", "2"], "several outputs need a folder"),
        (&[&a, "-o", &out, "--dry-run"], "--dry-run needs a folder"),
        (&[&a, &here, "-o", &out], "only one folder can be merged in place"),
        (&[&here, "-o", &out], "a folder is merged in place"),
        (&[&here, "--shard", "1/2"], "--shard needs named files"),
        (&[&a, "-o", &here, "--shards", "2", "--shard", "1/2"], "cannot be used with"),
        (&[&a, "-o", &here, "--shard", "0/2"], "shard 0/2 is out of range"),
        (&[&a, "-o", &here, "--shard", "1/2", "--delete-inputs"], "the other shards need the inputs"),
        (&[&a, "-o", &here, "--shard", "1/2", "--max-series-per-block", "5"], "one shard of a job cannot be cut"),
        (&[&a, "-o", &here, "--shards", "2", "--drop-label", "__name__"], "cannot be dropped or renamed"),
        (&[&a, "-o", &out, "--drop", "up{"], "--drop"),
        (&[&a, "-o", &out, "--drop", "{}"], "__name__!="),
        (&[&a, "-o", &out, "--rename-label", "pod"], "such as pod=instance"),
        (&[&a, "-o", &out, "--min-time", "2025-11-11T09:00:00Z"], "no block lies between"),
        (&[&a, "-o", &out, "--memory-limit", "1MiB"], "at least 64.0 MiB (67,108,864 bytes), not 1.0 MiB"),
        (&[&a, "-o", &out, "--layout", "wide"], "bitpacked"),
        (&[&a, "-o", &out, "--format-version", "0.6"], "[possible values: 1.0]"),
        (&[&a, "-o", &out, "--threads", "0"], "--threads"),
    ] {
        assert_refused(&folder, arguments, 2, message);
    }
}

#[test]
fn a_low_limit_of_memory_refuses_no_merge() {
    let folder = Folder::new();
    let (a, out) = (folder.text("a.cx"), folder.text("out.cx"));
    // 48 MiB in 400 KiB: with the 112 MiB that a merge is estimated to take, more than the limit.
    let archive = folder.write("archive.cx", undecodable(48 << 20, &BlockMeta::default()));
    assert!(fs::metadata(&archive).unwrap().len() < 480_000);
    // The archive is decoded into scratch space, and is damaged.
    assert_refused(&folder, &[&a, &archive, "-o", &out, "--memory-limit", "64MiB"], 3, "packed-frame");
    let merged = run(&[&a, &folder.text("b.cx"), "-o", &out, "--memory-limit", "64MiB"]);
    assert_exit(&merged, 0, "series out   170");
}

#[test]
fn files_that_cannot_be_read_or_written_end_with_1() {
    let folder = Folder::new();
    let (a, b, out) = (folder.text("a.cx"), folder.text("b.cx"), folder.text("out.cx"));
    assert_refused(&folder, &[&a, &folder.text("absent.cx"), "-o", &out], 1, "absent.cx: No such file");
    assert_refused(&folder, &[&a, &b, "-o", &folder.text("no/folder/out.cx")], 1, "is not a folder");
    assert_refused(&folder, &[&a, &b, "-o", &format!("{a}/out.cx")], 1, "is not a folder");
    assert_refused(&folder, &[&a, &b, "-o", &format!("{a}/")], 1, "a.cx/: cannot create the folder");
    assert_refused(&folder, &[&a, &b, "-o", "/dev/full", "--force"], 1, "only regular files can be replaced");
}

#[test]
fn inputs_are_deleted_when_asked_for_and_an_output_among_them_is_not() {
    let folder = Folder::new();
    let (a, b, out) = (folder.text("a.cx"), folder.text("b.cx"), folder.text("out.cx"));
    let done = run(&[&a, &b, "-o", &out, "--delete-inputs", "--json"]);
    assert_exit(&done, 0, "");
    let summary: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(summary["deleted"].as_array().unwrap().len(), 2);
    assert_eq!(folder.content().into_keys().collect::<Vec<_>>(), ["out.cx"]);

    let merged = fs::read(&out).unwrap();
    assert_exit(&run(&[&out, "-o", &out, "--force", "--delete-inputs", "--layout", "fixed"]), 0, "");
    assert_eq!(folder.content().into_keys().collect::<Vec<_>>(), ["out.cx"]);
    assert!(fs::read(&out).unwrap() != merged);
}

#[test]
fn series_are_left_out_and_labels_rewritten() {
    let folder = Folder::new();
    let (a, b, out) = (folder.text("a.cx"), folder.text("b.cx"), folder.text("out.cx"));
    let arguments = ["--drop", r#"{job="db",pod=~"db-.*"}"#, "--drop-label", "le", "--rename-label", "pod=instance"];
    let done = run(&[&[a.as_str(), &b, "-o", &out, "--json"][..], &arguments].concat());
    assert_exit(&done, 0, "");
    let summary: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let count = |field: &str| summary[field].as_u64().unwrap();
    assert!(count("dropped") > 0 && count("duplicates") > 0, "{summary}");
    assert_eq!(count("series_in"), count("dropped") + count("duplicates") + count("series_out"));
    let block = fs::read(&out).unwrap();
    let view = BlockView::open(&block).unwrap();
    let names: Vec<&[u8]> = view.label_names().map(Result::unwrap).collect();
    assert!(names.contains(&&b"instance"[..]) && !names.contains(&&b"pod"[..]) && !names.contains(&&b"le"[..]));
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let folder = Folder::new();
    let mount = folder.path("disk");
    fs::create_dir(&mount).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"]).arg(&mount).output();
    match mounted {
        Ok(output) if output.status.success() => {}
        Ok(output) => return skip_or_fail("mount of a tmpfs", String::from_utf8_lossy(&output.stderr)),
        Err(error) => return skip_or_fail("mount of a tmpfs", error),
    }
    let large = folder.write("large.cx", golden_bytes("many-chunks"));
    let done = run(&[&large, "-o", mount.join("out.cx").to_str().unwrap()]);
    let left = fs::read_dir(&mount).unwrap().count();
    assert!(Command::new("umount").arg(&mount).status().unwrap().success());
    assert_exit(&done, 1, "No space left on device");
    assert_eq!(left, 0, "nothing is left on the disk");
}

#[test]
fn every_broken_block_is_refused_by_name_and_nothing_is_written() {
    let folder = Folder::new();
    let (a, out) = (folder.text("a.cx"), folder.text("out.cx"));
    for broken in broken() {
        let id = broken.rule.id();
        let unsupported = ["version", "incompat-features", "section-unknown"].contains(&id);
        let input = folder.write("broken.cx", &broken.bytes);
        // Damage or not, features that a rewrite would have to know are looked for first.
        let features = BlockView::open(&broken.bytes).is_ok_and(|view| view.unknown_ro_compat() != 0);
        let code = if unsupported || features { 4 } else { 3 };
        assert_refused(&folder, &[&a, &input, "-o", &out], code, &format!("error: {input}: "));
    }
    // A damaged input is never merged: even --force does not replace the output.
    folder.write("out.cx", "precious");
    let input = folder.write("broken.cx", &golden_bytes("plain-bitpacked")[..400]);
    assert_refused(&folder, &[&a, &input, "-o", &out, "--force"], 3, "broken.cx: ");
}

#[test]
fn flipped_bits_are_refused_by_name_and_nothing_is_written() {
    let folder = Folder::new();
    let (a, out) = (folder.text("a.cx"), folder.text("out.cx"));
    let golden = golden_bytes("chain-bitpacked");
    let mut random = Random::new(11);
    for _ in 0..40 {
        let bit = random.below(golden.len() * 8);
        let mut damaged = golden.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let input = folder.write("flipped.cx", damaged);
        let before = folder.content();
        let done = run(&[&a, &input, "-o", &out]);
        let code = done.status.code();
        // A flip in the header's version is damage, too.
        assert_eq!(code, Some(3), "bit {bit}");
        assert_exit(&done, 3, &format!("error: {input}: "));
        assert!(folder.content() == before, "bit {bit}");
    }
}

#[test]
fn a_block_with_unknown_features_is_not_rewritten() {
    let folder = Folder::new();
    let mut editor = BlockEditor::open(&golden_bytes("plain-bitpacked"));
    editor.features[1] = 0x10;
    let newer = folder.write("newer.cx", editor.close());
    let (a, out) = (folder.text("a.cx"), folder.text("out.cx"));
    assert_refused(&folder, &[&a, &newer, "-o", &out], 4, &format!("error: {newer}: "));
    assert_refused(&folder, &[&a, &newer, "-o", &out], 4, "ro_compat bits 0x10");
}

#[test]
fn blocks_that_contradict_each_other_are_named() {
    let folder = Folder::new();
    let external_labels = vec![("cluster".to_owned(), "eu".to_owned())];
    let meta = BlockMeta { external_labels, ..BlockMeta::default() };
    let series = random_series(10, &mut Random::new(1));
    let block = build(&series, &Plan::default(), RowForm::BitPacked, &meta).unwrap();
    let other = folder.write("other.cx", block);
    let (a, out) = (folder.text("a.cx"), folder.text("out.cx"));
    assert_refused(&folder, &[&a, &other, "-o", &out], 2, &format!("error: {other}: "));
    assert_refused(&folder, &[&a, &other, "-o", &out], 2, "external labels");
}

#[test]
fn optional_sections_are_left_out_and_said_to_be() {
    let folder = Folder::new();
    // Three sections that this version does not know, and features that may be ignored.
    let input = folder.write("optional.cx", golden_bytes("meta"));
    assert_eq!(BlockView::open(&golden_bytes("meta")).unwrap().features(), [0, 0, 6]);
    let out = folder.text("out.cx");
    assert_exit(&run(&[&input, "-o", &out]), 0, "not copied   3 optional sections");
    let block = fs::read(Path::new(&out)).unwrap();
    let view = BlockView::open(&block).unwrap();
    assert!(view.sections().all(|section| section.known().is_some()));
    assert_eq!(view.features(), [0; 3], "a rewrite copies no feature that it does not know");
}

/// A section that may be copied stays with the series refs that it is about: in the archive of a block, and not in a
/// merge.
#[test]
fn sections_that_may_be_copied_stay_with_their_series_refs() {
    let folder = Folder::new();
    let kind = OPTIONAL | MAY_BE_COPIED | 99;
    let block = |name: &str| {
        let mut editor = BlockEditor::open(&golden_bytes(name));
        editor.sections.push(SectionBytes { kind, id: 7, bytes: format!("of {name}").into_bytes() });
        editor.sections.push(SectionBytes { kind: OPTIONAL | 100, id: 0, bytes: b"dropped".to_vec() });
        editor.sections.sort_by_key(|section| section.kind);
        editor.close()
    };
    let input = folder.write("one.cx", block("lists-split"));
    let unknown = |file: &str| -> Vec<(u32, u32)> {
        let block = fs::read(file).unwrap();
        let view = BlockView::open_unpacked(&block, &mut Vec::new()).map(|view| view.verify().map(|_| ()));
        assert_eq!(view, Ok(Ok(())));
        let view = BlockView::open(&block).unwrap();
        view.sections().filter(|section| section.known().is_none()).map(|section| (section.kind, section.id)).collect()
    };
    let out = folder.text("archive.cx");
    assert_exit(&run(&[&input, "-o", &out, "--archive"]), 0, "copied       1 optional section of unknown kind");
    assert_eq!(unknown(&out), [(kind, 7)]);
    let bytes = fs::read(&out).unwrap();
    assert!(bytes.windows(14).any(|bytes| bytes == b"of lists-split"));
    // Other refs.
    let out = folder.text("plain.cx");
    assert_exit(&run(&[&input, "-o", &out, "--layout", "bitpacked"]), 0, "not copied   2 optional sections");
    assert_eq!(unknown(&out), []);
    let other = folder.write("two.cx", block("shared-table"));
    let out = folder.text("merged.cx");
    assert_exit(&run(&[&input, &other, "-o", &out]), 0, "not copied   4 optional sections");
    assert_eq!(unknown(&out), []);
}

#[test]
fn a_standard_error_that_is_full_is_no_panic() {
    let folder = Folder::new();
    let (a, out) = (folder.text("a.cx"), folder.text("out.cx"));
    let full = match fs::OpenOptions::new().write(true).open("/dev/full") {
        Ok(full) => full,
        Err(error) => return skip_or_fail("/dev/full", error),
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
    let output = command.args([&a, "-o", &out]).stderr(full).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "the block is there");
    assert!(Path::new(&out).exists());
}

#[cfg(unix)]
#[test]
fn any_name_of_an_output_is_shown_harmlessly() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let a = folder.path("a.cx");
    let out = folder.path("").join(std::ffi::OsStr::from_bytes(b"out\xFF\x1B[2J.cx"));
    for json in [&[][..], &["--json"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
        let output = command.arg(&a).arg("-o").arg(&out).arg("--force").args(json).output().unwrap();
        assert_exit(&output, 0, "");
        assert!(!output.stderr.contains(&0x1B) && !output.stdout.contains(&0x1B), "{output:?}");
    }
}

#[test]
fn remaps_are_written_where_they_are_wanted_and_lead_to_the_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let golden = |name: &str| format!("{}/../testdata/golden/{name}.cx", env!("CARGO_MANIFEST_DIR"));
    let inputs = [golden("plain-bitpacked"), golden("lists-fixedwidth")];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"))
        .args(&inputs)
        .arg("-o")
        .arg(at("merged.cx"))
        .arg("--remap")
        .arg(at("remaps"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let merged = chronoxide_reader::Block::read(at("merged.cx"), chronoxide_reader::Checks::Eager).unwrap();
    let merged = merged.view();
    for input in inputs {
        let block = chronoxide_reader::Block::read(input, chronoxide_reader::Checks::Eager).unwrap();
        let block = block.view();
        let path = at("remaps").join(format!("{}.cxr", block.block_id()));
        let remap = chronoxide_reader::Remap::read(path, chronoxide_reader::Checks::Eager).unwrap();
        let remap = remap.view();
        assert_eq!(remap.output(0).unwrap().0, merged.block_id());
        assert!(remap.series_count().unwrap() > 0);
        for (series, target) in block.series_iter().zip(remap.targets().unwrap()) {
            let target = target.unwrap().unwrap();
            let labels = |series: chronoxide_reader::Series<'_, '_>| -> Vec<(Vec<u8>, Vec<u8>)> {
                let owned = |label: chronoxide_reader::Label<'_>| (label.name.to_vec(), label.value.to_vec());
                series.labels().map(|label| owned(label.unwrap())).collect()
            };
            let found = merged.series(target.series).unwrap().unwrap();
            assert_eq!(labels(found), labels(series.unwrap()));
        }
    }
}
