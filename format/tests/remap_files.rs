//! Golden and broken remaps, what both readers say of them, and damage of every kind to them.
//!
//! Each harness counts its cases and fails when they become fewer.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use chronoxide_dump::remap::dump;
use chronoxide_format::identity::BlockId;
use chronoxide_format::remap::{
    KeysetTargets, RemapBuilder, RemapErrorKind, RemapOutput, RemapPlace, RemapRule, RemapView,
};
use chronoxide_testkit::parallel::map;
use chronoxide_testkit::remap::broken::broken_remaps;
use chronoxide_testkit::remap::editor::{RemapEditor, reseal_all};
use chronoxide_testkit::remap::exercise::read_remap;
use chronoxide_testkit::remap::golden::{GoldenRemap, golden_remaps};
use chronoxide_testkit::requirement::skip_or_fail;
use chronoxide_testkit::sweep;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/remaps").join(name)
}

fn file_names(name: &str, ending: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder(name)).expect("the folder is part of the project");
    let paths = files.map(|file| file.expect("a file").path()).filter(|path| path.extension() == Some(ending.as_ref()));
    paths.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
}

/// Runs the second reader; nothing where there is no Python.
fn python(arguments: &[&str]) -> Option<Output> {
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec");
    match Command::new("python3").arg("-B").args(arguments).current_dir(spec).output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip_or_fail("python3", error);
            None
        }
    }
}

fn is_sound(bytes: &[u8]) -> bool {
    RemapView::open(bytes).and_then(|view| view.verify()).is_ok()
}

#[test]
fn golden_files_are_what_the_builder_makes() {
    let made: BTreeSet<String> = golden_remaps().iter().map(|golden| golden.name.to_owned()).collect();
    assert_eq!(file_names("golden", "cxr"), made);
    assert_eq!(file_names("golden", "txt"), made);
    for golden in golden_remaps() {
        let path = folder("golden").join(golden.name);
        let file = std::fs::read(path.with_extension("cxr")).expect("a golden file");
        assert!(file == golden.bytes, "{} differs from what is made now", golden.name);
        let text = std::fs::read_to_string(path.with_extension("txt")).expect("a golden file");
        assert!(text == golden.text, "what {} says differs from what is put in now", golden.name);
    }
}

#[test]
fn both_readers_read_in_golden_files_what_was_put_in() {
    for golden in golden_remaps() {
        let view = RemapView::open(&golden.bytes).expect("a golden remap");
        view.verify().expect(golden.name);
        let mut text = Vec::new();
        dump(&view, None, &mut text).expect(golden.name);
        assert_eq!(String::from_utf8(text).expect("text"), golden.text, "{}", golden.name);
        let path = format!("../testdata/remaps/golden/{}.cxr", golden.name);
        let Some(output) = python(&["remap.py", "dump", &path]) else { continue };
        assert!(output.status.success(), "{}: {}", golden.name, String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), golden.text, "{}", golden.name);
    }
}

#[test]
fn golden_files_together_have_all_that_remaps_can_have() {
    let blocks: Vec<RemapEditor> = golden_remaps().iter().map(|golden| RemapEditor::open(&golden.bytes)).collect();
    let any = |holds: &dyn Fn(&RemapEditor) -> bool| blocks.iter().any(holds);
    assert!(any(&|remap| remap.keysets.is_empty()), "no keysets");
    assert!(any(&|remap| remap.groups.len() > 2), "several groups of keysets");
    assert!(any(&|remap| remap.keysets.iter().any(|keyset| keyset[1] == 0)), "rows of several lengths");
    assert!(any(&|remap| remap.keysets.iter().any(|keyset| keyset[4] == 0)), "no part");
    assert!(any(&|remap| remap.keysets.iter().any(|keyset| keyset[4] > 1)), "several parts");
    assert!(any(&|remap| remap.keysets.iter().any(|keyset| keyset[3] > 0)), "several patterns");
    for summed in [0, 1] {
        for has_bases in [false, true] {
            let holds = |part: &Vec<u64>| part[3] == summed && (part[1] > 0) == has_bases && part[2] > 0;
            assert!(any(&|remap| remap.parts.iter().any(holds)), "summed {summed}, bases {has_bases}");
        }
    }
    assert!(any(&|remap| remap.rows.len() > 2 * 8192), "several chunks");
}

#[test]
fn broken_files_break_the_rule_that_they_are_named_after_for_both_readers() {
    let rules: BTreeSet<String> = RemapRule::ALL.iter().map(|rule| rule.id().to_owned()).collect();
    assert_eq!(file_names("broken", "cxr"), rules);
    for broken in broken_remaps() {
        let id = broken.rule.id();
        let file = std::fs::read(folder("broken").join(id).with_extension("cxr")).expect("a broken file");
        assert!(file == broken.bytes, "{id} differs from what is made now");
        let found = RemapView::open(&file).and_then(|view| view.verify());
        assert_eq!(found.expect_err(id).rule(), broken.rule, "{id}");
        let path = format!("../testdata/remaps/broken/{id}.cxr");
        let Some(output) = python(&["remap.py", "verify", &path]) else { continue };
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            output.status.code(),
            Some(if matches!(id, "version" | "incompat-features") { 4 } else { 3 }),
            "{id}: {message}"
        );
        assert!(message.starts_with(&format!("{path}: {id}: ")), "{id}: {message}");
    }
}

#[test]
fn the_second_reader_passes_its_own_tests() {
    if let Some(output) = python(&["test_remap.py"]) {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && message.contains("OK"), "{message}");
    }
}

/// Tries some bits of a remap; returns how many.
fn try_flips(golden: &GoldenRemap, step: usize, check: impl Fn(&mut Vec<u8>, usize) + Sync) -> u64 {
    let bits: Vec<usize> = (0..golden.bytes.len() * 8).step_by(step).collect();
    map(&bits, |&bit| {
        let mut bytes = golden.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        check(&mut bytes, bit);
    });
    bits.len() as u64
}

#[test]
fn flipped_bits_of_every_golden_are_refused() {
    let check = |name: &'static str| move |bytes: &mut Vec<u8>, bit| assert!(!is_sound(bytes), "{name}: bit {bit}");
    let cases: u64 = golden_remaps()
        .iter()
        .map(|golden| {
            // A step of 7 bits meets each byte.
            let step = if golden.bytes.len() < 1500 { 1 } else { sweep::cases(7, 1) };
            try_flips(golden, step, check(golden.name))
        })
        .sum();
    println!("{cases} flips refused");
    assert!(cases >= sweep::cases(36_000, 190_000), "{cases} flips");
}

#[test]
fn flipped_bits_do_no_harm_to_who_does_not_verify() {
    // Tries each change as it is, and with repaired checksums.
    let check = |bytes: &mut Vec<u8>, _| {
        read_remap(bytes);
        reseal_all(bytes);
        let _ = is_sound(bytes);
        read_remap(bytes);
    };
    let (small, large): (Vec<_>, Vec<_>) = golden_remaps().into_iter().partition(|golden| golden.bytes.len() < 1500);
    let small: u64 = small.iter().map(|golden| try_flips(golden, 1, check)).sum();
    let large: u64 = large.iter().map(|golden| try_flips(golden, 211, check)).sum();
    println!("{small} flips in small goldens, {large} in large ones");
    assert!(small >= 11_600 && large >= 850, "{small} and {large} flips");
}

#[test]
fn every_truncation_and_extension_is_refused_and_does_no_harm() {
    let mut cases = 0;
    for golden in golden_remaps() {
        let bytes = &golden.bytes;
        let step = if bytes.len() < 1500 { 1 } else { 61 };
        for len in (0..bytes.len()).step_by(step).chain([bytes.len() - 1]) {
            assert!(!is_sound(&bytes[..len]), "{} cut to {len}", golden.name);
            read_remap(&bytes[..len]);
            cases += 1;
        }
        for extra in [1, 4, 8, 8192] {
            assert!(!is_sound(&[&bytes[..], &vec![0; extra]].concat()), "{} with {extra} more", golden.name);
            cases += 1;
        }
    }
    println!("{cases} truncations and extensions");
    assert!(cases >= 1_850, "{cases} truncations and extensions");
}

#[test]
fn sound_remaps_are_read_whole() {
    for golden in golden_remaps() {
        let series = golden.text.lines().skip_while(|line| !line.starts_with("series ")).count() as u64 - 1;
        assert!(read_remap(&golden.bytes) >= 2 * series, "{}", golden.name);
    }
}

/// Fields that count from the row before begin at 0 in each group. Flipping the lowest bit of the first one breaks
/// nothing else of that rule.
#[test]
fn the_first_summed_shift_of_a_group_must_be_zero() {
    let (input, output) = (BlockId([1; 16]), BlockId([2; 16]));
    let outputs = [RemapOutput { block_id: output, series_count: 40, shard: 0 }];
    let mut builder = RemapBuilder::new(input, [3; 16], &outputs).expect("one output");
    let mut rows = KeysetTargets::default();
    // Shifts of 0, 0, 5, 5, 10, 10, 15, 15.
    (0..8_u64).for_each(|row| rows.push_row([Some(row + row / 2 * 5)]));
    builder.push_keyset(&rows).expect("one keyset");
    let remap = builder.finish().expect("a sound remap");
    assert!(is_sound(&remap));
    let editor = RemapEditor::open(&remap);
    assert_eq!((editor.parts.len(), editor.parts[0][3]), (1, 1), "the builder sums shifts: {:?}", editor.parts);
    let first_shift = RemapErrorKind::Corrupt {
        rule: RemapRule::RowFields,
        place: RemapPlace::Part(0),
        found: Some(1),
        expected: Some(0),
    };
    let refused = (0..editor.rows.len() * 8).filter(|bit| {
        let mut editor = editor.clone();
        editor.rows[bit / 8] ^= 1 << (bit % 8);
        let damaged = editor.close();
        RemapView::open(&damaged).and_then(|view| view.verify()) == Err(first_shift.into())
    });
    assert_eq!(refused.count(), 1);
}
