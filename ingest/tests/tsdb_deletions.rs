//! Deleted series and blocks are left out and counted.

use std::num::NonZeroU64;

use chronoxide_ingest::prometheus::tsdb::parse_tombstones;
use chronoxide_ingest::{AssembleOptions, IngestOptions};

use crate::prometheus_tsdb::{Model, index};
use crate::prometheus_wal::{samples_record, segment, series_record};
use crate::tsdb_folder::{Data, message, named, options, series, series_offsets, skipping, tombstones};
use crate::tsdb_numbers::varint;

fn model() -> Model {
    Model::from([
        series("deleted", &[(10, 20), (21, 50)]),
        series("in_pieces", &[(0, 10), (20, 30)]),
        series("kept", &[(0, 100)]),
        series("no_chunks", &[]),
        series("partly", &[(0, 10), (20, 30)]),
    ])
}

const ID: &str = "01DXXFZDYD1MQW6079WK0K6EDQ";

#[test]
fn series_whose_chunks_are_all_deleted_are_left_out_and_counted() {
    for version in [1, 2, 3] {
        let data = Data::new();
        data.block(ID, &model(), version, "{}");
        let offsets: Vec<u64> = match version {
            // Not aligned: each series follows the one before.
            1 => unaligned_offsets(&index(&model(), 1)),
            _ => series_offsets(&index(&model(), version)).into_iter().map(|offset| offset as u64 / 16).collect(),
        };
        let [deleted, in_pieces, _, no_chunks, partly] = offsets[..] else { panic!("{offsets:?}") };
        let all = [
            (partly, 0, 29),
            (deleted, 10, 50),
            (in_pieces, 5, 15),
            (in_pieces, 16, 40),
            (in_pieces, 0, 4),
            (no_chunks, i64::MIN, i64::MAX),
            (1_000_000, i64::MIN, i64::MAX),
        ];
        data.write(&format!("{ID}/tombstones"), &tombstones(&all));
        let (blocks, report) = data.read_block(ID, options()).unwrap();
        assert_eq!(blocks, [named(&["kept", "no_chunks", "partly"])], "version {version}");
        assert_eq!((report.tsdb.deleted_series, report.is_partial(false)), (2, false));

        let (blocks, report) = data.read_block(ID, IngestOptions { ignore_deletions: true, ..options() }).unwrap();
        assert_eq!(blocks[0].len(), 5);
        assert_eq!(report.tsdb.deleted_series, 0);
    }
}

/// Offsets of the series in an index of version 1.
fn unaligned_offsets(index: &[u8]) -> Vec<u64> {
    let toc = index.len() - 52;
    let mut at = u64::from_be_bytes(index[toc + 8..toc + 16].try_into().unwrap()) as usize;
    let mut offsets = Vec::new();
    for _ in 0..model().len() {
        offsets.push(at as u64);
        at += 1 + usize::from(index[at]) + 4;
    }
    offsets
}

#[test]
fn a_block_that_is_marked_as_deleted_is_skipped_with_a_warning() {
    let mark = br#"{"id":"01DXXFZDYD1MQW6079WK0K6EDQ","version":1,"deletion_time":1700010000,"details":""}"#;
    for place in [format!("{ID}/deletion-mark.json"), format!("markers/{ID}-deletion-mark.json")] {
        let data = Data::new();
        data.block(ID, &model(), 2, "{}");
        data.write(&place, mark);
        // The block may be deleted in part already.
        let _ = std::fs::remove_file(data.path(&format!("{ID}/index")));
        let (_, report) = data.read_block(ID, options()).unwrap();
        assert_eq!((report.tsdb.deleted_blocks, report.series, report.is_partial(false)), (1, 0, false), "{place}");
        let warning = report.warnings[0].to_string();
        let expected = format!("{ID}: skipped: the block is marked as deleted (--ignore-deletions reads it)");
        assert!(warning.ends_with(&expected), "{warning}");
        data.block(ID, &model(), 2, "{}");
        let (blocks, report) = data.read_block(ID, IngestOptions { ignore_deletions: true, ..options() }).unwrap();
        assert_eq!((blocks[0].len(), report.tsdb.deleted_blocks), (5, 0));
    }
    // Other marks, and one that was uploaded in part, delete nothing.
    for (name, content) in [("no-compact-mark.json", mark.as_slice()), ("deletion-mark.json", b"{\"id\":")] {
        let data = Data::new();
        data.block(ID, &model(), 2, "{}");
        data.write(&format!("{ID}/{name}"), content);
        assert_eq!(data.read_block(ID, options()).unwrap().0[0].len(), 5, "{name}");
    }
}

#[test]
fn damaged_deletions_are_an_error_or_ignored_with_a_warning() {
    let sound = tombstones(&[(3, 0, 100), (300, -5, 7)]);
    assert!(parse_tombstones(&sound).unwrap().cover(300, -5, 7));
    assert!(parse_tombstones(&tombstones(&[])).unwrap().is_empty());
    for at in 0..sound.len() {
        for flip in 1..=255_u8 {
            let mut broken = sound.clone();
            broken[at] ^= flip;
            assert!(parse_tombstones(&broken).is_err(), "byte {at} ^ {flip}");
        }
        assert!(parse_tombstones(&sound[..at]).is_err(), "{at} bytes");
    }
    let data = Data::new();
    data.block(ID, &model(), 2, "{}");
    for (content, reason) in [
        (b"".as_slice(), "byte 0 of the tombstones: the file does not start as version 1"),
        (&sound[..sound.len() - 1], "of the tombstones: checksum mismatch"),
    ] {
        data.write(&format!("{ID}/tombstones"), content);
        let error = message(&data.read_block(ID, options()).unwrap_err());
        assert!(error.contains(reason), "{error}");
        let (blocks, report) = data.read_block(ID, skipping()).unwrap();
        assert_eq!((blocks[0].len(), report.skipped.broken_records), (5, 1));
        assert!(report.is_partial(true));
        assert!(report.warnings[0].to_string().ends_with("; deleted series may be there"), "{:?}", report.warnings);
    }
}

fn tombstones_record(all: &[(u64, i64, i64)]) -> Vec<u8> {
    let mut out = vec![3];
    for &(reference, first, last) in all {
        out.extend(reference.to_be_bytes());
        varint(first, &mut out);
        varint(last, &mut out);
    }
    out
}

#[test]
fn deletions_in_a_log_apply_to_samples_before_them() {
    let data = Data::new();
    let name = |name: &'static str| [("__name__", name)];
    let (gone, kept, late, none) = (name("gone"), name("kept"), name("late"), name("none"));
    let records = [
        (0, series_record(&[(1, &gone), (2, &kept), (3, &late), (4, &none)])),
        (8, samples_record(&[(1, 1_000), (2, 1_000), (3, 1_000), (1, 9_000), (3, 9_000)])),
        (16, tombstones_record(&[(1, 1_000, 9_000), (3, 0, 8_999), (4, 0, 1)])),
        (0, samples_record(&[(2, 9_500)])),
    ];
    data.write("wal/00000000", &segment(&records));
    let (blocks, report) = data.read_wal(options()).unwrap();
    assert_eq!(blocks, [named(&["kept", "late"])]);
    assert_eq!((report.tsdb.deleted_series, report.series_without_samples, report.is_partial(false)), (1, 1, false));

    let (blocks, report) = data.read_wal(IngestOptions { ignore_deletions: true, ..options() }).unwrap();
    assert_eq!(blocks, [named(&["gone", "kept", "late"])]);
    assert_eq!(report.tsdb.deleted_series, 0);

    // The deletion follows samples of a window that is given away before.
    let assemble = AssembleOptions { window: NonZeroU64::new(5_000_000_000), ..AssembleOptions::default() };
    let (blocks, report) = data.read_wal(IngestOptions { assemble, ..options() }).unwrap();
    assert_eq!(blocks, [named(&["kept"]), named(&["kept", "late"])]);
    assert_eq!(report.tsdb.deleted_series, 1);
}
