//! Damage of a block costs only what it must.

use std::fs;

use chronoxide_ingest::prometheus::tsdb::{is_block, is_block_id};

use crate::prometheus_tsdb::{Model, index};
use crate::tsdb_folder::{Data, message, named, options, series, series_offsets, skipping};
use crate::tsdb_numbers::crc;

const ID: &str = "01DXXFZDYD1MQW6079WK0K6EDQ";
const NAMES: [&str; 5] = ["aaaa", "bbbb", "cccc", "dddd", "eeee"];

fn model() -> Model {
    NAMES.iter().map(|name| series(name, &[(0, 10), (20, 900)])).collect()
}

/// Names and contents of files.
type Files<'a> = &'a [(&'a str, &'a [u8])];

/// The names without the one at this place.
fn without(place: usize) -> Vec<&'static str> {
    NAMES.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, name)| *name).collect()
}

fn damaged(index: &[u8]) -> Data {
    let data = Data::new();
    data.block(ID, &model(), 2, "{}");
    data.write(&format!("{ID}/index"), index);
    data
}

#[test]
fn a_damaged_series_costs_only_itself() {
    for version in [2, 3] {
        let sound = index(&model(), version);
        let offsets = series_offsets(&sound);
        assert_eq!(offsets.len(), NAMES.len());
        for (place, &offset) in offsets.iter().enumerate() {
            let end = offset + 1 + usize::from(sound[offset]) + 4;
            for at in offset..end {
                for flip in [1, 2, 64, 128] {
                    let mut broken = sound.clone();
                    broken[at] ^= flip;
                    let data = damaged(&broken);
                    let error = message(&data.read_block(ID, options()).unwrap_err());
                    assert!(error.contains(" of the index"), "{error}");
                    let (blocks, report) = data.read_block(ID, skipping()).unwrap();
                    assert_eq!(blocks, [named(&without(place))], "version {version}, byte {at} ^ {flip}");
                    assert_eq!(report.skipped.broken_records, 1, "{:?}", report.warnings);
                    let warning = report.warnings[0].to_string();
                    assert!(warning.contains(&format!("{ID}: skipped a damaged series: ")), "{warning}");
                }
            }
        }
    }
}

#[test]
fn a_series_without_alignment_costs_itself_if_its_length_is_right() {
    let sound = index(&model(), 1);
    let toc = sound.len() - 52;
    let first = u64::from_be_bytes(sound[toc + 8..toc + 16].try_into().unwrap()) as usize;
    let mut broken = sound;
    broken[first + 3] ^= 1;
    let (blocks, report) = damaged(&broken).read_block(ID, skipping()).unwrap();
    assert_eq!((blocks, report.skipped.broken_records), (vec![named(&without(0))], 1));
}

#[test]
fn a_symbol_that_is_not_text_costs_the_series_that_use_it() {
    for version in [1, 2, 3] {
        let mut broken = index(&model(), version);
        let at = broken.windows(4).position(|bytes| bytes == b"cccc").unwrap();
        broken[at + 1] = 0xff;
        // The symbols begin after the header, with their length.
        let len = u32::from_be_bytes(broken[5..9].try_into().unwrap()) as usize;
        let checksum = crc(&broken[9..9 + len]).to_be_bytes();
        broken[9 + len..13 + len].copy_from_slice(&checksum);
        let data = damaged(&broken);
        let error = message(&data.read_block(ID, options()).unwrap_err());
        assert!(error.contains("which is not valid UTF-8"), "{error}");
        let (blocks, report) = data.read_block(ID, skipping()).unwrap();
        assert_eq!((blocks, report.skipped.broken_records), (vec![named(&without(2))], 1), "version {version}");
        assert!(report.is_partial(true));
    }
}

#[test]
fn series_without_metadata_are_read_without_window_if_damage_is_skipped() {
    for meta in [None, Some(""), Some("{\"ulid\":"), Some("{}")] {
        let data = damaged(&index(&model(), 2));
        let path = data.path(&format!("{ID}/meta.json"));
        match meta {
            None => fs::remove_file(path).unwrap(),
            Some(content) => fs::write(path, content).unwrap(),
        }
        let error = message(&data.read_block(ID, options()).unwrap_err());
        assert!(error.contains(": damaged block: "), "{error}");
        let (blocks, report) = data.read_block(ID, skipping()).unwrap();
        assert_eq!((blocks, report.skipped.broken_records), (vec![named(&NAMES)], 1), "{meta:?}");
        assert!(report.is_partial(true));
    }
    // A version that is not supported is not damage.
    let data = damaged(&index(&model(), 2));
    data.write(&format!("{ID}/meta.json"), br#"{"version":2,"ulid":"x","minTime":0,"maxTime":1}"#);
    assert!(data.read_block(ID, skipping()).is_err());
    // Nothing can be had without an index.
    for index in [None, Some("")] {
        let data = damaged(b"");
        if index.is_none() {
            fs::remove_file(data.path(&format!("{ID}/index"))).unwrap();
        }
        for options in [options(), skipping()] {
            let error = message(&data.read_block(ID, options).unwrap_err());
            assert!(error.contains("damaged block: it has no index") || error.contains("too short"), "{error}");
        }
    }
}

#[test]
fn folders_that_look_like_blocks_are_blocks_and_others_are_not() {
    let sound = index(&model(), 2);
    let meta = br#"{"ulid":"01DXXFZDYD1MQW6079WK0K6EDQ","minTime":0,"maxTime":1,"version":1}"#.as_slice();
    let cases: [(&str, Files<'_>, bool); 16] = [
        (ID, &[("meta.json", b""), ("index", b"")], true),
        (ID, &[("meta.json", meta), ("chunks/000001", b"")], true),
        (ID, &[("chunks/.keep", b"")], true),
        (ID, &[("index", b"")], true),
        (ID, &[("tombstones", b"")], true),
        ("copy", &[("meta.json", meta)], true),
        ("copy", &[("index", &sound)], true),
        ("copy", &[("chunks/000001", b"")], true),
        ("copy", &[("meta.json", b""), ("chunks/000001", b"")], true),
        ("copy", &[("deletion-mark.json", b"{}"), ("index", b"")], true),
        // Captures that other programs name in these ways.
        (ID, &[("metrics.jsonl", b"{}")], false),
        ("exports", &[("meta.json", b"{\"by\":\"me\"}"), ("a.jsonl", b"")], false),
        ("exports", &[("index", b"a.jsonl\n"), ("a.jsonl", b"")], false),
        ("exports", &[("chunks/one.jsonl", b"")], false),
        ("exports", &[("a.jsonl", b"")], false),
        ("wal", &[("00000000", b"")], false),
    ];
    for (name, files, expected) in cases {
        let data = Data::new();
        for (file, content) in files {
            data.write(&format!("{name}/{file}"), content);
        }
        let shown: Vec<&str> = files.iter().map(|(file, _)| *file).collect();
        assert_eq!(is_block(&data.path(name)), expected, "{name}: {shown:?}");
    }
    let data = Data::new();
    fs::create_dir(data.path(ID)).unwrap();
    assert!(is_block(&data.path(ID)), "an empty folder with the name of a block");
    assert!(!is_block(&data.path("nothing")));
    for (name, expected) in [
        (ID, true),
        ("01DXXFZDYD1MQW6079WK0K6EDU", false),
        ("01dxxfzdyd1mqw6079wk0k6edq", false),
        ("81DXXFZDYD1MQW6079WK0K6EDQ", false),
        ("01DXXFZDYD1MQW6079WK0K6ED", false),
    ] {
        assert_eq!(is_block_id(name), expected, "{name}");
    }
}
