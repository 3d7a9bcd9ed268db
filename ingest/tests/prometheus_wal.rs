//! Heads of Prometheus's TSDB give the series that were written into them.
//!
//! The writer of this test follows the description of the format, and shares no code with the reader. Prometheus's own
//! TSDB wrote the captures, and listed their series (`testdata/captures/tools/tsdb`).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use chronoxide_format::policy::LabelPolicy;
use chronoxide_ingest::prometheus::tsdb::{TsdbBlock, is_block};
use chronoxide_ingest::prometheus::wal::{
    Head, HeadChunk, HeadChunks, HeadCounts, HeadFiles, Segment, SegmentGap, WalFileError, is_wal,
};

use crate::taken::{Series, Taken};
use crate::tsdb_numbers::{crc, uvarint, varint};

const MAX_RECORD_LEN: usize = 1 << 20;
const PAGE_LEN: usize = 32 * 1024;

type Labels = BTreeMap<String, String>;

/// First and last time in milliseconds.
type Times = BTreeMap<Labels, (i64, i64)>;

/// A series as Prometheus lists it.
#[derive(serde::Deserialize)]
struct Listed {
    labels: Labels,
    first: i64,
    last: i64,
    samples: u64,
}

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures").join(name)
}

fn listed(path: &Path) -> (Times, u64) {
    let text = fs::read_to_string(path).unwrap();
    let all: Vec<Listed> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let samples = all.iter().map(|series| series.samples).sum();
    (all.into_iter().map(|series| (series.labels, (series.first, series.last))).collect(), samples)
}

fn add(times: &mut Times, series: &[Series]) {
    for series in series {
        let labels: Labels = series.labels.iter().cloned().collect();
        for &(first, last) in &series.points {
            let (first, last) = (first / 1_000_000, last / 1_000_000);
            let known = times.entry(labels.clone()).or_insert((first, last));
            *known = (known.0.min(first), known.1.max(last));
        }
    }
}

/// Reads the head in a folder. Also returns the error of a torn end.
fn read_head(wal: &Path, window: Option<NonZeroU64>) -> (Taken, HeadCounts, Option<WalFileError>) {
    let (mut taken, mut torn) = (Taken::default(), None);
    let mut head = Head::new(LabelPolicy::default(), window);
    let files = HeadFiles::find(wal).unwrap();
    for file in &files.segments {
        let mut segment = Segment::new(File::open(&file.path).unwrap(), MAX_RECORD_LEN);
        loop {
            match segment.next_record() {
                Ok(Some(record)) => head.take_record(record, &mut taken).unwrap(),
                Ok(None) => break,
                Err(error) if file.is_last => torn = Some(error),
                Err(error) => panic!("{}: {error}", file.path.display()),
            }
        }
    }
    for file in &files.chunks {
        let mut chunks = HeadChunks::open(File::open(&file.path).unwrap()).unwrap();
        while let Some(chunk) = chunks.next_chunk().unwrap() {
            head.take_chunk(chunk, &mut taken).unwrap();
        }
    }
    let counts = head.finish(&mut taken).unwrap();
    (taken, counts, torn)
}

/// Compares the series of a data folder, and their times, with the list that Prometheus made of it.
fn assert_listed(data: &Path, list: &Path) -> (HeadCounts, u64, Option<WalFileError>) {
    let (expected, samples) = listed(list);
    let mut found = Times::new();
    for entry in fs::read_dir(data).unwrap() {
        let folder = entry.unwrap().path();
        if is_block(&folder) {
            let (mut block, mut taken) = (TsdbBlock::open(&folder).unwrap(), Taken::default());
            while block.next_series(&mut taken).unwrap() {}
            add(&mut found, &taken.series);
        }
    }
    let (taken, counts, torn) = read_head(&data.join("wal"), None);
    add(&mut found, &taken.series);
    for (labels, times) in &expected {
        assert_eq!(found.get(labels), Some(times), "{labels:?} of {}", data.display());
    }
    let unexpected: Vec<&Labels> = found.keys().filter(|labels| !expected.contains_key(labels)).collect();
    assert!(unexpected.is_empty(), "{unexpected:?} of {}", data.display());
    (counts, samples, torn)
}

#[test]
fn data_folders_have_the_series_times_and_samples_that_prometheus_lists() {
    // The second one has start times, and so other types of records.
    for name in ["prometheus-data", "prometheus-data-st"] {
        let folder = capture(name);
        let (counts, _, torn) = assert_listed(&folder.join("data"), &folder.join("series.jsonl"));
        assert!(torn.is_none());
        assert_eq!((counts.unknown_samples, counts.unknown_chunks, counts.unknown_records), (0, 0, 0), "{name}");
        let samples = fs::read_to_string(folder.join("samples")).unwrap();
        assert_eq!(counts.samples.to_string(), samples.trim(), "{name}");
    }
}

/// Data folders of real servers, each `NAME/` with a list `NAME.json` beside it.
#[test]
#[ignore = "reads the data folders in CHRONOXIDE_PROMETHEUS_DATA"]
fn data_folders_of_servers_have_what_prometheus_lists() {
    let folder = std::env::var_os("CHRONOXIDE_PROMETHEUS_DATA").map(PathBuf::from);
    let folder = folder.expect("CHRONOXIDE_PROMETHEUS_DATA names a folder");
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let data = entry.unwrap().path();
        if is_wal(&data.join("wal")) {
            let list = PathBuf::from(format!("{}.json", data.display()));
            let (counts, samples, torn) = assert_listed(&data, &list);
            println!("{}: {counts:?}, {samples} samples listed, torn: {torn:?}", data.display());
            count += 1;
        }
    }
    assert!(count > 0, "no data folder in {}", folder.display());
}

fn text(text: &str, out: &mut Vec<u8>) {
    uvarint(text.len() as u64, out);
    out.extend(text.as_bytes());
}

pub fn series_record(all: &[(u64, &[(&str, &str)])]) -> Vec<u8> {
    let mut out = vec![1];
    for (reference, labels) in all {
        out.extend(reference.to_be_bytes());
        uvarint(labels.len() as u64, &mut out);
        for (name, value) in *labels {
            text(name, &mut out);
            text(value, &mut out);
        }
    }
    out
}

pub fn samples_record(all: &[(u64, i64)]) -> Vec<u8> {
    let mut out = vec![2];
    let &(reference, time) = all.first().unwrap();
    out.extend(reference.to_be_bytes());
    out.extend(time.to_be_bytes());
    for &(other, at) in all {
        varint(other.wrapping_sub(reference) as i64, &mut out);
        varint(at.wrapping_sub(time), &mut out);
        out.extend(1.5_f64.to_be_bytes());
    }
    out
}

fn metadata_record(reference: u64, metric_type: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = vec![6];
    uvarint(reference, &mut out);
    out.push(metric_type);
    uvarint(fields.len() as u64, &mut out);
    for (name, value) in fields {
        text(name, &mut out);
        text(value, &mut out);
    }
    out
}

/// A segment of records, each with the flags of its compression.
pub fn segment(records: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    for (flags, record) in records {
        let content = match flags {
            0 => record.clone(),
            8 => snap::raw::Encoder::new().compress_vec(record).unwrap(),
            16 => zstd::encode_all(record.as_slice(), 1).unwrap(),
            _ => panic!("no such flags"),
        };
        let mut rest = content.as_slice();
        let mut is_first = true;
        loop {
            let left = PAGE_LEN - out.len() % PAGE_LEN;
            if left < 7 {
                out.extend(vec![0; left]);
                continue;
            }
            let (data, behind) = rest.split_at(rest.len().min(left - 7));
            let part = match (is_first, behind.is_empty()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            };
            out.push(part | flags);
            out.extend((data.len() as u16).to_be_bytes());
            out.extend(crc(data).to_be_bytes());
            out.extend(data);
            (rest, is_first) = (behind, false);
            if rest.is_empty() {
                break;
            }
        }
    }
    out
}

/// Returns the starts of the fragments of a segment.
fn fragments(segment: &[u8]) -> Vec<usize> {
    let (mut at, mut found) = (0, Vec::new());
    while at < segment.len() {
        if PAGE_LEN - at % PAGE_LEN < 7 {
            at = at.next_multiple_of(PAGE_LEN);
        }
        found.push(at);
        at += 7 + usize::from(u16::from_be_bytes([segment[at + 1], segment[at + 2]]));
    }
    found
}

fn records(segment: &[u8]) -> (Vec<Vec<u8>>, Option<WalFileError>) {
    let (mut segment, mut records) = (Segment::new(segment, MAX_RECORD_LEN), Vec::new());
    loop {
        match segment.next_record() {
            Ok(Some(record)) => records.push(record.to_vec()),
            Ok(None) => return (records, None),
            Err(error) => {
                assert!(matches!(segment.next_record(), Ok(None)), "after an error there is nothing");
                return (records, Some(error));
            }
        }
    }
}

fn some_records() -> Vec<(u8, Vec<u8>)> {
    let up = [("__name__", "up"), ("job", "api")];
    let noise: Vec<u8> = (0..70_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    vec![
        (0, series_record(&[(1, &up), (2, &[("__name__", "é\n")])])),
        (8, samples_record(&[(1, 1_000), (2, 900)])),
        (16, samples_record(&[(1, 2_000)])),
        // An unknown type, over three pages.
        (0, [vec![200], noise].concat()),
        (8, samples_record(&[(2, -5_000)])),
    ]
}

#[test]
fn records_are_joined_from_fragments_and_decompressed() {
    let sound = segment(&some_records());
    assert!(sound.len() > 2 * PAGE_LEN);
    let (found, error) = records(&sound);
    assert!(error.is_none());
    assert_eq!(found, some_records().into_iter().map(|(_, record)| record).collect::<Vec<_>>());
    // Pages that were padded, and one that holds nothing.
    let padded = [sound.clone(), vec![0; PAGE_LEN - sound.len() % PAGE_LEN + PAGE_LEN]].concat();
    assert_eq!(records(&padded).0, found);
    assert!(records(&padded).1.is_none());
    assert!(records(&[]).1.is_none());
}

#[test]
fn a_segment_that_is_cut_anywhere_gives_its_whole_records_and_is_torn_or_ends() {
    let all: Vec<Vec<u8>> = some_records().into_iter().map(|(_, record)| record).collect();
    let sound = segment(&some_records());
    let places = (0..600).chain((600..sound.len() - 100).step_by(977)).chain(sound.len() - 100..sound.len());
    for len in places.chain([PAGE_LEN - 1, PAGE_LEN, PAGE_LEN + 1, PAGE_LEN + 7]) {
        let (found, error) = records(&sound[..len]);
        assert!(all.starts_with(&found), "{len} bytes");
        assert!(found.len() < all.len(), "{len} bytes");
        assert!(matches!(error, None | Some(WalFileError::Torn { .. })), "{len} bytes: {error:?}");
        // Preallocated space is zeros.
        let zeros = [&sound[..len], &vec![0; PAGE_LEN - len % PAGE_LEN]].concat();
        let (again, error) = records(&zeros);
        // The record may end with zeros itself.
        assert!(all.starts_with(&again) && again.starts_with(&found), "{len} bytes, then zeros");
        assert!(matches!(error, None | Some(WalFileError::Torn { .. })), "{len} bytes, then zeros: {error:?}");
    }
}

#[test]
fn a_flipped_byte_gives_an_error_and_no_wrong_record() {
    let all: Vec<Vec<u8>> = some_records().into_iter().map(|(_, record)| record).collect();
    let sound = segment(&some_records());
    let fragments = fragments(&sound);
    assert_eq!(fragments.len(), 7);
    let mut damaged = 0;
    for at in (0..400).chain((400..sound.len() - 60).step_by(331)).chain(sound.len() - 60..sound.len()) {
        for flip in [1, 2, 4, 8, 16, 64, 128, 255_u8] {
            let mut broken = sound.clone();
            broken[at] ^= flip;
            let (found, error) = records(&broken);
            // The checksum does not cover the flags, so that another compression may be said.
            if fragments.contains(&at) && flip < 32 {
                continue;
            }
            assert!(all.starts_with(&found), "byte {at} ^ {flip}");
            assert!(error.is_some(), "byte {at} ^ {flip}");
            damaged += u64::from(!matches!(error, Some(WalFileError::Torn { .. })));
        }
    }
    assert!(damaged > 5_000, "{damaged}");
}

#[test]
fn a_bad_checksum_with_records_behind_it_is_damage_with_its_place() {
    let first = segment(&some_records()[..1]);
    let mut broken = segment(&some_records());
    broken[first.len() + 9] ^= 1;
    let (found, error) = records(&broken);
    assert_eq!(found.len(), 1);
    let message = error.unwrap().to_string();
    assert!(message.starts_with(&format!("checksum mismatch at byte {}: 0x", first.len())), "{message}");
    // At the end of the file it is what a crash leaves.
    let mut broken = segment(&some_records()[..2]);
    broken[first.len() + 9] ^= 1;
    let (found, error) = records(&broken);
    assert_eq!(found.len(), 1);
    assert_eq!(error.unwrap().to_string(), format!("the file ends within the record at byte {}", first.len()));
}

#[test]
fn records_longer_than_allowed_are_refused_before_they_are_expanded() {
    let zeros = vec![0; 1_000_000];
    for flags in [0, 8, 16] {
        let content = segment(&[(flags, [vec![200], zeros.clone()].concat())]);
        let mut segment = Segment::new(content.as_slice(), 1_000);
        let error = segment.next_record().unwrap_err();
        assert!(matches!(error, WalFileError::TooLong { offset: 0, limit: 1_000 }), "{flags}: {error}");
    }
}

fn taken(records: &[Vec<u8>], chunks: &[HeadChunk], window: Option<u64>) -> (Taken, HeadCounts) {
    let mut taken = Taken::default();
    let mut head = Head::new(LabelPolicy::default(), window.and_then(NonZeroU64::new));
    for record in records {
        head.take_record(record, &mut taken).unwrap();
    }
    for &chunk in chunks {
        head.take_chunk(chunk, &mut taken).unwrap();
    }
    let counts = head.finish(&mut taken).unwrap();
    (taken, counts)
}

fn lines(taken: &Taken) -> Vec<String> {
    let one = |series: &Series| {
        let labels: Vec<String> = series.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let points: Vec<String> =
            series.points.iter().map(|(first, last)| format!("{}..{}", first / 1_000_000, last / 1_000_000)).collect();
        format!("{} {}", labels.join(","), points.join(","))
    };
    taken.series.iter().map(one).collect()
}

const A: [(&str, &str); 1] = [("__name__", "a")];
const B: [(&str, &str); 1] = [("__name__", "b")];

#[test]
fn series_have_the_times_of_their_samples_and_chunks() {
    let all = [series_record(&[(7, &A), (9, &B)]), samples_record(&[(7, 50), (7, 20), (9, 30)])];
    let chunks = [HeadChunk { reference: 9, first: -10, last: 25 }];
    let (found, counts) = taken(&all, &chunks, None);
    assert_eq!(lines(&found), ["__name__=a 20..50", "__name__=b -10..30"]);
    assert_eq!(counts, HeadCounts { samples: 3, ..HeadCounts::default() });
}

#[test]
fn a_series_is_in_the_windows_of_its_samples_and_in_no_others() {
    let all = [series_record(&[(7, &A)]), samples_record(&[(7, 1), (7, 9), (7, 35), (7, 31)])];
    let (found, _) = taken(&all, &[HeadChunk { reference: 7, first: 5, last: 12 }], Some(10_000_000));
    assert_eq!(lines(&found), ["__name__=a 1..9", "__name__=a 31..35", "__name__=a 5..12"]);
}

#[test]
fn samples_of_unknown_series_are_counted_and_series_without_samples_left_out() {
    let all = [series_record(&[(7, &A), (8, &B), (9, &B)]), samples_record(&[(7, 1), (3, 1), (3, 2)])];
    let (found, counts) = taken(&all, &[HeadChunk { reference: 4, first: 0, last: 1 }], None);
    assert_eq!(lines(&found), ["__name__=a 1..1"]);
    assert_eq!((counts.unknown_samples, counts.unknown_chunks), (2, 1));
    assert_eq!((counts.samples, counts.series_without_samples), (1, 1));
}

#[test]
fn a_reference_that_is_used_again_is_another_series_from_then_on() {
    let all = [
        series_record(&[(7, &A)]),
        samples_record(&[(7, 1)]),
        series_record(&[(7, &A)]),
        samples_record(&[(7, 2)]),
        series_record(&[(7, &B)]),
        samples_record(&[(7, 3)]),
    ];
    assert_eq!(lines(&taken(&all, &[], None).0), ["__name__=a 1..2", "__name__=b 3..3"]);
}

#[test]
fn metadata_belong_to_the_family_of_the_series() {
    let bucket = [("__name__", "x_bucket"), ("le", "1")];
    let all = [
        series_record(&[(1, &bucket), (2, &A)]),
        metadata_record(1, 3, &[("UNIT", "seconds"), ("HELP", "é"), ("LATER", "?")]),
        metadata_record(2, 1, &[("HELP", "b")]),
        metadata_record(2, 1, &[("HELP", "b")]),
        metadata_record(5, 1, &[("HELP", "of no series")]),
    ];
    let (found, _) = taken(&all, &[], None);
    let found: Vec<String> = found
        .metadata
        .iter()
        .map(|metadata| {
            format!("{} {:?} {} {}", metadata.name, metadata.metric_type, metadata.unit, metadata.description)
        })
        .collect();
    assert_eq!(found, ["x Histogram seconds é", "a Sum  b"]);
}

#[test]
fn malformed_records_under_a_right_checksum_are_refused_with_their_place() {
    for (record, message) in [
        (vec![], "byte 0 of the record: the record ends here"),
        (vec![1, 0, 0], "byte 1 of the record: the record ends here"),
        (series_record(&[(7, &[("a", "b")])])[..10].to_vec(), "byte 10 of the record: the record ends"),
        ([series_record(&[]), vec![0, 0, 0, 0, 0, 0, 0, 7, 1, 1, 0xff, 0]].concat(), "text is not valid UTF-8"),
        (samples_record(&[(1, 2)])[..20].to_vec(), "the record ends here"),
        ([&[2_u8][..], &[0; 16], &[0xff; 11]].concat(), "integer of more than 64 bits"),
        (series_record(&[(7, &[("a", "b"), ("a", "c")])]), "series 7 has labels that cannot be stored"),
    ] {
        let mut head = Head::new(LabelPolicy::default(), None);
        let error = head.take_record(&record, &mut Taken::default()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}, not {message}");
    }
}

#[test]
fn a_time_out_of_range_costs_no_labels() {
    let (mut head, mut taken) = (Head::new(LabelPolicy::default(), None), Taken::default());
    head.take_record(&series_record(&[(1, &[("a", "b")]), (2, &[("a", "c")]), (3, &[("a", "d")])]), &mut taken)
        .unwrap();
    head.take_record(&samples_record(&[(1, i64::MAX), (2, 7), (2, i64::MIN)]), &mut taken).unwrap();
    head.take_chunk(HeadChunk { reference: 3, first: 0, last: i64::MAX }, &mut taken).unwrap();
    let counts = head.finish(&mut taken).unwrap();
    assert_eq!((counts.samples, counts.series_without_samples), (3, 0));
    let points: Vec<_> = taken.series.iter().map(|series| (series.points.clone(), series.untimed)).collect();
    assert_eq!(points, [(vec![], 1), (vec![(7_000_000, 7_000_000)], 1), (vec![], 1)]);
}

pub fn head_chunks(chunks: &[HeadChunk]) -> Vec<u8> {
    let mut out = vec![0x01, 0x30, 0xbc, 0x91, 1, 0, 0, 0];
    for (number, chunk) in chunks.iter().enumerate() {
        let mut content = chunk.reference.to_be_bytes().to_vec();
        content.extend(chunk.first.to_be_bytes());
        content.extend(chunk.last.to_be_bytes());
        content.push(1);
        let data = vec![number as u8 + 1; 150 * number];
        uvarint(data.len() as u64, &mut content);
        content.extend(data);
        let crc = crc(&content);
        out.extend(content);
        out.extend(crc.to_be_bytes());
    }
    out
}

fn read_chunks(content: &[u8]) -> Result<Vec<HeadChunk>, (Vec<HeadChunk>, WalFileError)> {
    let mut chunks = HeadChunks::open(content).map_err(|error| (Vec::new(), error))?;
    let mut found = Vec::new();
    loop {
        match chunks.next_chunk() {
            Ok(Some(chunk)) => found.push(chunk),
            Ok(None) => return Ok(found),
            Err(error) => return Err((found, error)),
        }
    }
}

#[test]
fn head_chunks_are_read_to_the_preallocated_end_and_torn_ones_are_told() {
    let chunk = |reference, first, last| HeadChunk { reference, first, last };
    let all = [chunk(1, -5, 7), chunk(u64::MAX, 0, 0), chunk(3, 9, 1_700_000_000_000)];
    let sound = head_chunks(&all);
    assert_eq!(read_chunks(&sound).unwrap(), all);
    assert_eq!(read_chunks(&[sound.clone(), vec![0; 100_000]].concat()).unwrap(), all);
    for empty in [&[][..], &[0; 100], &sound[..8]] {
        assert_eq!(read_chunks(empty).unwrap(), []);
    }
    // The header's end, and the ends of the chunks.
    let ends: Vec<usize> = (0..=all.len()).map(|count| head_chunks(&all[..count]).len()).collect();
    for len in 1..sound.len() {
        match read_chunks(&sound[..len]) {
            Ok(found) => {
                assert!(ends.contains(&len), "{len} bytes end within a chunk");
                assert!(all.starts_with(&found), "{len} bytes");
            }
            Err((found, error)) => {
                assert!(all.starts_with(&found), "{len} bytes");
                assert!(matches!(error, WalFileError::Torn { .. }), "{len} bytes: {error}");
            }
        }
        for flip in [1, 128] {
            let mut broken = sound.clone();
            broken[len] ^= flip;
            // The three bytes behind the version are not looked at.
            let (found, error) = match read_chunks(&broken) {
                Err(broken) => broken,
                Ok(found) => {
                    assert!((5..8).contains(&len), "byte {len} ^ {flip}: {found:?}");
                    continue;
                }
            };
            assert!(all.starts_with(&found), "byte {len} ^ {flip}: {error}");
        }
    }
    let mut newer = sound.clone();
    newer[4] = 2;
    assert_eq!(
        read_chunks(&newer).unwrap_err().1.to_string(),
        "unsupported version 2 of head chunks; only 1 is supported"
    );
    let mut broken = sound;
    broken[20] ^= 1;
    assert!(matches!(read_chunks(&broken).unwrap_err().1, WalFileError::Checksum { offset: 8, .. }));
}

#[test]
fn the_newest_checkpoint_comes_first_and_missing_segments_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let wal = folder.path().join("wal");
    let write = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"").unwrap();
    };
    assert!(!is_wal(&wal));
    for name in ["wal/00000004", "wal/00000005", "wal/00000006", "wal/checkpoint.00000003/00000000", "wal/notes"] {
        write(name);
    }
    for name in [
        "wal/checkpoint.00000005/00000000",
        "wal/checkpoint.00000005/00000001",
        "wal/checkpoint.00000006.tmp/00000000",
        "wbl/00000002",
        "chunks_head/000002",
        "chunks_head/000003",
    ] {
        write(name);
    }
    assert!(is_wal(&wal));
    let files = HeadFiles::find(&wal).unwrap();
    let name = |path: &Path| path.strip_prefix(folder.path()).unwrap().display().to_string();
    let segments: Vec<(String, bool)> = files.segments.iter().map(|file| (name(&file.path), file.is_last)).collect();
    let expected = [
        ("wal/checkpoint.00000005/00000000", false),
        ("wal/checkpoint.00000005/00000001", false),
        ("wal/00000006", true),
        ("wbl/00000002", true),
    ];
    assert_eq!(segments, expected.map(|(name, is_last)| (name.to_owned(), is_last)));
    assert_eq!(files.chunks.len(), 2);
    assert_eq!(files.gaps, []);
    write("wal/00000009");
    let gap = |name: &str, first, count| SegmentGap { folder: folder.path().join(name), first, count };
    assert_eq!(HeadFiles::find(&wal).unwrap().gaps, [gap("wal", 7, 2)]);
    // The checkpoint has the series of all segments up to its number, and the log begins after it.
    fs::remove_file(wal.join("00000006")).unwrap();
    assert_eq!(HeadFiles::find(&wal).unwrap().gaps, [gap("wal", 6, 3)]);
    fs::remove_file(wal.join("checkpoint.00000005/00000000")).unwrap();
    fs::remove_file(folder.path().join("chunks_head/000003")).unwrap();
    write("chunks_head/000004");
    let expected = [gap("wal/checkpoint.00000005", 0, 1), gap("wal", 6, 3), gap("chunks_head", 3, 1)];
    assert_eq!(HeadFiles::find(&wal).unwrap().gaps, expected);
}
