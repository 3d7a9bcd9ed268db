//! Blocks of Prometheus's TSDB give the series that were written into them.
//!
//! The writer of this test follows the description of the format, and shares no code with the reader.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::path::Path;

use chronoxide_ingest::prometheus::tsdb::{TsdbBlock, TsdbBlockError, TsdbError, TsdbIndex, is_block};
use proptest::prelude::*;

use crate::taken::{Series, Taken};
use crate::tsdb_numbers::{crc, uvarint, varint};

pub type Labels = Vec<(String, String)>;

/// The first and the last time of each chunk, in milliseconds.
pub type Chunks = Vec<(i64, i64)>;

pub type Model = BTreeMap<Labels, Chunks>;

fn pad(out: &mut Vec<u8>, alignment: usize) {
    while !out.len().is_multiple_of(alignment) {
        out.push(0);
    }
}

/// A section with its length before it and its checksum behind it.
fn section(content: &[u8], out: &mut Vec<u8>) {
    out.extend((content.len() as u32).to_be_bytes());
    out.extend(content);
    out.extend(crc(content).to_be_bytes());
}

/// The index of a block.
pub fn index(model: &Model, version: u8) -> Vec<u8> {
    let mut out = 0xbaaa_d700_u32.to_be_bytes().to_vec();
    out.push(version);
    let symbols: BTreeSet<&str> =
        model.keys().flatten().flat_map(|(name, value)| [name.as_str(), value.as_str()]).chain([""]).collect();
    let symbols_offset = out.len();
    let mut content = (symbols.len() as u32).to_be_bytes().to_vec();
    let mut refs = BTreeMap::new();
    for (number, symbol) in symbols.iter().enumerate() {
        let place = symbols_offset + 4 + content.len();
        refs.insert(*symbol, if version == 1 { place } else { number } as u64);
        uvarint(symbol.len() as u64, &mut content);
        content.extend(symbol.as_bytes());
    }
    section(&content, &mut out);

    let series_offset = out.len();
    let mut chunk_ref = 8;
    for (labels, chunks) in model {
        if version != 1 {
            pad(&mut out, 16);
        }
        let mut content = Vec::new();
        uvarint(labels.len() as u64, &mut content);
        for (name, value) in labels {
            uvarint(refs[name.as_str()], &mut content);
            uvarint(refs[value.as_str()], &mut content);
        }
        uvarint(chunks.len() as u64, &mut content);
        let mut last = None;
        for &(min, max) in chunks {
            match last {
                None => varint(min, &mut content),
                Some(last) => uvarint((min - last) as u64, &mut content),
            }
            uvarint((max - min) as u64, &mut content);
            match last {
                None => uvarint(chunk_ref, &mut content),
                Some(_) => varint(40, &mut content),
            }
            chunk_ref += 40;
            last = Some(max);
        }
        uvarint(content.len() as u64, &mut out);
        out.extend(&content);
        out.extend(crc(&content).to_be_bytes());
    }

    pad(&mut out, 4);
    let postings_offset = out.len();
    section(&0_u32.to_be_bytes(), &mut out);
    let indices_offset = out.len();
    section(&[0, 0, 0, 1, 0, 0, 0, 0], &mut out);
    let tables_offset = out.len();
    section(&0_u32.to_be_bytes(), &mut out);
    let toc: Vec<u8> = [symbols_offset, series_offset, indices_offset, tables_offset, postings_offset, tables_offset]
        .iter()
        .flat_map(|&offset| (offset as u64).to_be_bytes())
        .collect();
    out.extend(&toc);
    out.extend(crc(&toc).to_be_bytes());
    out
}

fn read(index: &[u8]) -> Result<Vec<Series>, TsdbBlockError> {
    let mut taken = Taken::default();
    let mut index = TsdbIndex::open(Cursor::new(index))?;
    let result = loop {
        match index.next_series(&mut taken) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(TsdbError::Block(error)) => break Err(error),
            Err(error) => panic!("{error}"),
        }
    };
    assert!(!taken.is_torn(), "a broken series leaves nothing behind");
    assert!(matches!(index.next_series(&mut taken), Ok(false)), "after the end there is nothing");
    result.map(|()| taken.series)
}

fn expected(model: &Model) -> Vec<Series> {
    let nanoseconds = |&(min, max): &(i64, i64)| (min * 1_000_000, max * 1_000_000);
    let one = |(labels, chunks): (&Labels, &Chunks)| Series {
        labels: labels.clone(),
        points: chunks.iter().map(nanoseconds).collect(),
        ..Series::default()
    };
    model.iter().map(one).collect()
}

fn small() -> Model {
    let labels = |pairs: &[(&str, &str)]| pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Model::from([
        (labels(&[("__name__", "up"), ("job", "api")]), vec![(-5, 7), (8, 8), (1_000_000, 1_700_000_000_000)]),
        (labels(&[("__name__", "up"), ("job", "cart é")]), vec![(0, 0)]),
        (labels(&[("__name__", "requests_total"), ("code", "200"), ("job", "api")]), vec![]),
        (labels(&[("a", "b")]), vec![(1_700_000_000_000, 1_700_000_007_200)]),
    ])
}

#[test]
fn the_checksum_is_castagnolis() {
    assert_eq!(crc(b"123456789"), 0xe306_9283);
}

#[test]
fn all_versions_give_the_series() {
    for version in [1, 2, 3] {
        assert_eq!(read(&index(&small(), version)).unwrap(), expected(&small()), "version {version}");
        assert_eq!(read(&index(&Model::new(), version)).unwrap(), [], "version {version}");
    }
}

#[test]
fn errors_state_their_values() {
    let sound = index(&small(), 2);
    let with = |at: usize, bytes: &[u8]| {
        let mut index = sound.clone();
        index[at..at + bytes.len()].copy_from_slice(bytes);
        index
    };
    // The table of contents says where the series are.
    let toc = sound.len() - 52;
    let series = u64::from_be_bytes(sound[toc + 8..toc + 16].try_into().unwrap()) as usize;
    let first = series.next_multiple_of(16);
    for (index, message) in [
        (with(0, b"\0"), "not a block index: it starts with 0x00aad700 instead of 0xbaaad700".to_owned()),
        (with(4, b"\x04"), "unsupported index version 4; only 1, 2 and 3 are supported".to_owned()),
        (with(15, b"x"), "checksum mismatch of the symbol table at byte 5 of the index: 0x".to_owned()),
        (with(toc + 7, b"\x06"), format!("checksum mismatch of the table of contents at byte {toc} of the index: 0x")),
        (with(toc, b"\x01"), format!("byte {toc} of the index: section starts outside of the index")),
        (with(first + 2, b"\x7f"), format!("checksum mismatch of the series at byte {first} of the index: 0x")),
        (with(first, b"\xff\x7f"), format!("byte {first} of the index: series extends beyond its section")),
        (with(5, b"\0\0\x7f"), "byte 5 of the index: symbols extend beyond their section".to_owned()),
        (with(9, b"\xff"), "fewer symbols than their count".to_owned()),
        (with(9, b"\0\0\0\x01"), "byte 14 of the index: more symbols than their count".to_owned()),
        (sound[..40].to_vec(), "byte 40 of the index: too short for an index".to_owned()),
        (Vec::new(), "byte 0 of the index: too short for an index".to_owned()),
    ] {
        let error = read(&index).unwrap_err().to_string();
        assert!(error.contains(&message), "{error}, not {message}");
    }
}

/// An index with one series of these bytes, under a right checksum.
fn with_series(content: &[u8]) -> Vec<u8> {
    let model = Model::from([(vec![("a".to_owned(), "b".to_owned())], vec![])]);
    let sound = index(&model, 2);
    let toc = sound.len() - 52;
    let series = u64::from_be_bytes(sound[toc + 8..toc + 16].try_into().unwrap()) as usize;
    let mut out = sound[..series.next_multiple_of(16)].to_vec();
    uvarint(content.len() as u64, &mut out);
    out.extend(content);
    out.extend(crc(content).to_be_bytes());
    let mut offsets = [0_u64; 6];
    offsets[..2].copy_from_slice(&[5, series as u64]);
    let toc: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_be_bytes()).collect();
    out.extend(&toc);
    out.extend(crc(&toc).to_be_bytes());
    out
}

#[test]
fn nonsense_under_a_right_checksum_is_refused() {
    let late = [b"\0\x01".as_slice(), b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\0\0"].concat();
    for (content, message) in [
        (b"\x01\x01\x02\0".as_slice(), None),
        (b"\x01\x01\x03\0", Some("refers to symbol 3, which does not exist")),
        (b"\x01\xff\xff\xff\xff\x0f\x02\0", Some("refers to symbol 4294967295, which does not exist")),
        (b"\x02\x01\x02\0", Some("integer is truncated or has more than 64 bits")),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01", Some("integer is truncated or has more than 64 bits")),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x02", Some("integer is truncated or has more than 64 bits")),
        (b"\x01\x01\x02", Some("integer is truncated or has more than 64 bits")),
        (b"\x01\x01\x02\0\0", Some("unexpected bytes after the chunks of a series")),
        (b"\x01\x01\x02\x01\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0", Some("chunk ends before it starts")),
        // A time that does not fit costs no labels.
        (&late, None),
    ] {
        let result = read(&with_series(content)).map_err(|error| error.to_string());
        match message {
            None => assert_eq!(result.unwrap().len(), 1),
            Some(message) => {
                let error = result.unwrap_err();
                assert!(error.contains(message), "{content:?}: {error}");
            }
        }
    }
}

#[test]
fn damage_is_refused_or_changes_nothing() {
    let mut cases = 0;
    for version in [1, 2, 3] {
        let sound = index(&small(), version);
        for at in 0..sound.len() {
            for flip in 1..=255_u8 {
                let mut broken = sound.clone();
                broken[at] ^= flip;
                if let Ok(series) = read(&broken) {
                    assert_eq!(series, expected(&small()), "version {version}, byte {at} ^ {flip}");
                }
                cases += 1;
            }
        }
        for len in 0..sound.len() {
            assert!(read(&sound[..len]).is_err(), "version {version}, {len} bytes");
            cases += 1;
        }
    }
    println!("{cases} cases");
    assert!(cases >= 190_000, "{cases} cases");
}

#[test]
fn a_block_needs_valid_metadata_and_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let error = || TsdbBlock::open(folder.path()).err().unwrap().to_string();
    assert!(!is_block(folder.path()));
    write("index", &index(&small(), 2));
    assert!(is_block(folder.path()));
    assert_eq!(error(), "damaged block: it has no meta.json");
    write("meta.json", br#"{"version":2,"ulid":"01DXXFZDYD1MQW6079WK0K6EDQ","minTime":0,"maxTime":1}"#);
    assert_eq!(error(), "meta.json: unsupported block version 2; only 1 is supported");
    write("meta.json", b"{}");
    assert!(matches!(TsdbBlock::open(folder.path()), Err(TsdbBlockError::Meta { .. })));
    write("meta.json", br#"{"version":1,"ulid":"01DXXFZDYD1MQW6079WK0K6EDQ","minTime":-5,"maxTime":9,"stats":{}}"#);
    let mut block = TsdbBlock::open(folder.path()).unwrap();
    let meta = block.meta();
    assert_eq!((meta.ulid.as_str(), meta.min_time, meta.max_time), ("01DXXFZDYD1MQW6079WK0K6EDQ", -5, 9));
    let mut taken = Taken::default();
    while block.next_series(&mut taken).unwrap() {}
    assert_eq!(taken.series, expected(&small()));
    std::fs::remove_file(folder.path().join("index")).unwrap();
    assert!(is_block(folder.path()));
    assert_eq!(error(), "damaged block: it has no index");
}

#[test]
fn a_block_that_prometheus_wrote_has_its_series() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures/tsdb-block");
    let mut block = TsdbBlock::open(&folder).unwrap();
    let mut taken = Taken::default();
    while block.next_series(&mut taken).unwrap() {}
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut expected = Vec::new();
    for job in ["api", "cart"] {
        for instance in ["a:9090", "b:9090", "é\n\"\\:9090"] {
            expected.push(vec![label("__name__", "up"), label("instance", instance), label("job", job)]);
        }
    }
    expected.push(vec![label("__name__", "http.requests"), label("service.name", "cart")]);
    expected.sort();
    let mut found: Vec<_> = taken.series.iter().map(|series| series.labels.clone()).collect();
    found.sort();
    assert_eq!(found, expected);
    // 300 points, 15 s apart.
    let (first, last) = (1_700_000_000_000_000_000_i64, 1_700_000_000_000_000_000 + 299 * 15_000_000_000);
    for series in &taken.series {
        let ends = series.points.first().zip(series.points.last()).map(|(first, last)| (first.0, last.1));
        assert_eq!(ends, Some((first, last)));
        assert!(series.points.len() > 1, "they are more than one chunk");
        assert!(series.points.is_sorted_by(|left, right| left.1 < right.0));
    }
    assert_eq!((block.meta().min_time, block.meta().max_time), (first / 1_000_000, last / 1_000_000 + 1));
}

fn models() -> impl Strategy<Value = Model> {
    let text = || prop_oneof!["[a-z_]{1,4}", "\\PC{0,6}", "a{120,260}"];
    let labels = proptest::collection::btree_map(text(), text(), 0..5).prop_map(|map| map.into_iter().collect());
    // The last time stays below 2^63 nanoseconds: 2^42 + 6 * 2^39 milliseconds are less than 2^63 / 10^6.
    let gaps = proptest::collection::vec((0..1_i64 << 39, 0..1_i64 << 39), 0..4);
    let chunks = (-(1_i64 << 42)..1 << 42, gaps).prop_map(|(mut time, gaps)| {
        let mut chunks = Vec::new();
        for (length, gap) in gaps {
            chunks.push((time, time + length));
            time += length + gap + 1;
        }
        chunks
    });
    proptest::collection::btree_map(labels, chunks, 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_series_read_back(model in models(), version in 1..=3_u8) {
        prop_assert_eq!(read(&index(&model, version)).unwrap(), expected(&model));
    }
}
