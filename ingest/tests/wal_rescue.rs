//! Damaged heads give what is whole, if damage is skipped.

use chronoxide_ingest::prometheus::wal::HeadChunk;

use crate::prometheus_wal::{head_chunks, samples_record, segment, series_record};
use crate::tsdb_folder::{Data, message, named, options, skipping};
use crate::tsdb_numbers::uvarint;

const PAGE_LEN: usize = 32 * 1024;

/// A record that defines the series with this name, and one with a sample of it.
fn defined(reference: u64, name: &str) -> [(u8, Vec<u8>); 2] {
    [(0, series_record(&[(reference, &[("__name__", name)])])), (0, samples_record(&[(reference, 1_000)]))]
}

/// A record of an unknown type.
fn filler(len: usize) -> (u8, Vec<u8>) {
    (0, [vec![200], vec![7; len]].concat())
}

#[test]
fn missing_segments_are_an_error_or_cost_only_their_series() {
    let data = Data::new();
    for (number, name) in [(0, "a"), (2, "c"), (5, "f")] {
        data.write(&format!("wal/{number:08}"), &segment(&defined(number, name)));
    }
    let error = message(&data.read_wal(options()).unwrap_err());
    assert!(error.contains("segment 00000001 is missing before 00000002 (--skip-bad-records"), "{error}");
    let (blocks, report) = data.read_wal(skipping()).unwrap();
    assert_eq!(blocks, [named(&["a", "c", "f"])]);
    assert_eq!((report.tsdb.missing_segments, report.is_partial(true)), (3, true));
    let warnings: Vec<String> = report.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings[0].ends_with("wal: segment 00000001 is missing"), "{warnings:?}");
    assert!(warnings[1].ends_with("wal: 2 segments from 00000003 on are missing"), "{warnings:?}");
}

#[test]
fn a_segment_that_is_missing_after_a_checkpoint_is_an_error() {
    let data = Data::new();
    data.write("wal/checkpoint.00000003/00000000", &segment(&defined(1, "old")));
    data.write("wal/00000003", &segment(&defined(1, "older")));
    data.write("wal/00000005", &segment(&defined(2, "new")));
    let error = message(&data.read_wal(options()).unwrap_err());
    assert!(error.contains("segment 00000004 is missing before 00000005"), "{error}");
    let (blocks, report) = data.read_wal(skipping()).unwrap();
    assert_eq!((blocks, report.tsdb.missing_segments), (vec![named(&["new", "old"])], 1));
    data.write("wal/00000004", &segment(&defined(3, "between")));
    let (blocks, report) = data.read_wal(options()).unwrap();
    assert_eq!((blocks, report.tsdb.missing_segments), (vec![named(&["between", "new", "old"])], 0));
}

#[test]
fn damage_within_a_segment_costs_the_records_that_it_touches() {
    let names = ["a", "b", "c", "d"];
    // The record between `b` and `c` reaches over three pages, so that damage is in the first page, in one of its
    // pages, or in the last.
    let records: Vec<(u8, Vec<u8>)> = [
        defined(1, "a").to_vec(),
        defined(2, "b").to_vec(),
        vec![filler(2 * PAGE_LEN)],
        defined(3, "c").to_vec(),
        defined(4, "d").to_vec(),
    ]
    .concat();
    let starts: Vec<usize> = (0..=records.len()).map(|count| segment(&records[..count]).len()).collect();
    let sound = segment(&records);
    let (first_len, behind) = (starts[4], starts[5]);
    let mut cases = 0;
    for at in (0..first_len).chain((first_len..behind).step_by(997)).chain(behind..sound.len()) {
        for flip in [1, 4, 128] {
            let mut broken = sound.clone();
            broken[at] ^= flip;
            let data = Data::new();
            data.write("wal/00000000", &broken);
            data.write("wal/00000001", &segment(&defined(9, "next")));
            // A record costs a series if it defines it, or has its only sample.
            let record = starts.iter().rposition(|&start| start <= at).unwrap();
            let lost = match record {
                0..=3 => Some(names[record / 2]),
                4 => None,
                _ => Some(names[(record - 1) / 2]),
            };
            let expected: Vec<&str> =
                names.iter().copied().filter(|name| Some(*name) != lost).chain(["next"]).collect();
            let error = data.read_wal(options()).err().map(|error| message(&error));
            let (blocks, report) = data.read_wal(skipping()).unwrap();
            if let Some(error) = error {
                assert_eq!(blocks, [named(&expected)], "byte {at} ^ {flip}: {error}: {:?}", report.warnings);
                assert!(report.skipped.broken_records > 0 && report.is_partial(true), "byte {at} ^ {flip}: {report:?}");
            }
            cases += 1;
        }
    }
    assert!(cases > 600, "{cases}");
}

#[test]
fn a_malformed_record_or_series_costs_only_itself() {
    // One series of a record with a label that is not text, one with two values of a label.
    let mut invalid = series_record(&[(1, &[("__name__", "a")])]);
    invalid.extend(2_u64.to_be_bytes());
    uvarint(1, &mut invalid);
    invalid.extend(b"\x01x\x02\xff\xfe");
    invalid.extend(&series_record(&[(3, &[("b", "1"), ("b", "2")]), (4, &[("__name__", "d")])])[1..]);
    let records = [
        (0, invalid),
        (0, samples_record(&[(1, 5), (2, 5), (3, 5), (4, 5)])),
        // A record that ends within a field.
        (0, vec![1, 0, 0]),
        (8, samples_record(&[(1, 6)])),
        defined(5, "e")[0].clone(),
        defined(5, "e")[1].clone(),
    ];
    let data = Data::new();
    data.write("wal/00000000", &segment(&records));
    let error = message(&data.read_wal(options()).unwrap_err());
    assert!(error.contains("text is not valid UTF-8"), "{error}");
    let (blocks, report) = data.read_wal(skipping()).unwrap();
    assert_eq!(blocks, [named(&["a", "d", "e"])]);
    assert_eq!((report.skipped.broken_records, report.unknown_series_refs), (3, 0), "{:?}", report.warnings);
}

#[test]
fn a_log_that_ends_in_an_error_keeps_what_came_before_it() {
    let data = Data::new();
    let mut broken = segment(&[defined(1, "a").to_vec(), defined(2, "b").to_vec()].concat());
    let first = segment(&defined(1, "a")).len();
    broken[first + 9] ^= 1;
    data.write("wal/00000000", &broken);
    data.write("wal/00000001", &segment(&defined(3, "c")));
    let mut ingest = chronoxide_ingest::Ingest::new(options(), Vec::new());
    assert!(ingest.read_wal(&data.path("wal")).is_err());
    let (blocks, _) = crate::tsdb_folder::done(ingest).unwrap();
    assert_eq!(blocks, [named(&["a"])]);
}

#[test]
fn damaged_head_chunks_cost_only_themselves() {
    let chunk = |reference| HeadChunk { reference, first: 5, last: 9 };
    let names = ["a", "b", "c", "d"];
    let references = [1, 2, 3, 4];
    let define: Vec<(u8, Vec<u8>)> =
        names.iter().zip(references).map(|(name, reference)| defined(reference, name)[0].clone()).collect();
    let sound = head_chunks(&references.map(chunk));
    let starts: Vec<usize> = (0..=4).map(|count| head_chunks(&references.map(chunk)[..count]).len()).collect();
    for place in 0..4 {
        for at in starts[place]..starts[place + 1] {
            let mut broken = [sound.clone(), vec![0; 5_000]].concat();
            broken[at] ^= 0x81;
            let data = Data::new();
            data.write("wal/00000000", &segment(&define));
            data.write("chunks_head/000001", &broken);
            data.write("chunks_head/000002", &[]);
            let error = message(&data.read_wal(options()).unwrap_err());
            assert!(error.contains("chunks_head/000001"), "{error}");
            let (blocks, report) = data.read_wal(skipping()).unwrap();
            let expected: Vec<&str> = (0..4).filter(|&other| other != place).map(|other| names[other]).collect();
            assert_eq!(blocks, [named(&expected)], "byte {at}: {:?}", report.warnings);
            assert_eq!(report.skipped.broken_records, 1, "byte {at}: {:?}", report.warnings);
        }
    }
}
