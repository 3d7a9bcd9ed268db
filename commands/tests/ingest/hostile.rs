//! Malicious inputs end with a clear error or a documented result, in bounded memory.
//!
//! The command runs with a limit on its address space. A test checks that exceeding the limit kills it.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use chronoxide_format::view::BlockView;
use chronoxide_testkit::sweep;

/// Kibibytes of address space. The program and its threads take some 60 MiB of it.
const LIMIT: u32 = 256 << 10;

fn run(content: &[u8], options: &[&str]) -> (Output, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture");
    fs::write(&path, content).unwrap();
    let output = folder.path().join("out.cx");
    let run = Command::new("sh")
        .args(["-c", "ulimit -v $1; shift; exec \"$@\"", "sh", &LIMIT.to_string()])
        .arg(env!("CARGO_BIN_EXE_chronoxide-ingest"))
        .args([path.as_path(), Path::new("-o"), &output])
        .args(options)
        .env("NO_COLOR", "1")
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (run, folder)
}

/// Runs with records of at most 1 MiB.
#[track_caller]
fn refused(content: &[u8], exit: i32, message: &str) {
    let (run, folder) = run(content, &["--max-record-size", "1MiB"]);
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(exit), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left behind");
}

/// Returns the block and the report.
#[track_caller]
fn taken(content: &[u8], exit: i32, message: &str) -> Vec<u8> {
    let (run, folder) = run(content, &["--max-record-size", "64MiB"]);
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(exit), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
    let output: PathBuf = folder.path().join("out.cx");
    fs::read(output).unwrap()
}

fn frame(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes(), message].concat()
}

/// MiB in a bomb: more than the address space of a run.
const BOMB_MIB: u64 = 384;

/// Writes `start`, then `mebibytes` of one byte.
fn bomb(mut encoder: impl Write, start: &[u8], byte: u8, mebibytes: u64) {
    encoder.write_all(start).unwrap();
    let piece = vec![byte; 1 << 20];
    (0..mebibytes).for_each(|_| encoder.write_all(&piece).unwrap());
}

fn zstd_bomb(start: &[u8], byte: u8) -> Vec<u8> {
    zstd_of(start, byte, BOMB_MIB)
}

fn zstd_of(start: &[u8], byte: u8, mebibytes: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = zstd::Encoder::new(&mut out, 1).unwrap();
    bomb(&mut encoder, start, byte, mebibytes);
    encoder.finish().unwrap();
    assert!(out.len() < 1 << 20, "{}", out.len());
    out
}

/// A message with one field of bytes.
fn field(key: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![key];
    prost::encoding::encode_varint(content.len() as u64, &mut out);
    out.extend_from_slice(content);
    out
}

#[test]
fn the_limit_is_one() {
    let (run, _folder) = run(b"", &["--max-record-size", "1MiB"]);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    // A record that is allowed, and larger than what is left of the address space.
    let mut line = b"{\"a\":\"".to_vec();
    line.resize(300 << 20, b'x');
    let (run, _folder) = self::run(&line, &["--max-record-size", "1GiB"]);
    assert!(run.status.code() != Some(0) && run.status.code() != Some(3), "{run:?}");
}

#[test]
fn bombs_are_streamed_or_refused() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    bomb(&mut gzip, b"{\"a\":\"", b'x', BOMB_MIB);
    refused(&gzip.finish().unwrap(), 3, "longer than 1 MiB (--max-record-size)");
    refused(&zstd_bomb(b"{\"a\":\"", b'x'), 3, "longer than 1 MiB");
    refused(&zstd_bomb(b"{\"resourceMetrics\":[", b' '), 3, "longer than 1 MiB");
    refused(&zstd_bomb(b"up{a=\"", b'x'), 4, "unrecognized format");
    refused(&zstd_bomb(b"\x0a\xff\xff\xff\xff\x03\x0a\x07\x0a", b'x'), 3, "longer than 1 MiB");
    refused(&frame(&zstd_bomb(b"{", b' ')), 3, "longer than 1 MiB");
    // Any number of blank lines makes no record. Reading them takes long without optimization.
    let blank = zstd_of(b"{\"a\":\"1\"}\n", b'\n', sweep::cases(96, BOMB_MIB));
    assert_eq!(BlockView::open(&taken(&blank, 0, "blank lines")).unwrap().series_count(), Ok(1));
    // Snappy that says it expands to 60 MiB.
    let mut snappy = Vec::new();
    prost::encoding::encode_varint(60 << 20, &mut snappy);
    snappy.extend_from_slice(b"\x20\x0a\x09\x0a\x07\x0a\x01a\x12\x02bc");
    let (run, _folder) = run(&snappy, &["--format", "remote-write", "--max-record-size", "64MiB"]);
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("bytes of snappy cannot expand to 62914560"), "{stderr}");
}

#[test]
fn lengths_size_nothing() {
    // A frame that says it has 4 GiB, and one that says it has 60 MiB; so do fields.
    refused(b"\0\0\0\x02{}\xff\xff\xff\xff{", 3, "record 2 at byte 6 is malformed: longer than 1 MiB");
    let cut_off =
        "record 2 at byte 6 is cut off at the end of the input: its length prefix is 62914560, but 1 bytes follow";
    let block = taken(b"\0\0\0\x02{}\x03\xc0\0\0{", 6, cut_off);
    assert_eq!(BlockView::open(&block).unwrap().series_count(), Ok(0));
    let request = b"\x0a\x0b\x0a\x09\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
    refused(request, 3, "is malformed: the field at byte 4 extends beyond the end of its message");
}

#[test]
fn nesting_ends_in_an_error() {
    let depth = 50_000;
    let json = |open: &str, close: &str| format!("{}{}", open.repeat(depth), close.repeat(depth));
    let value = json(r#"{"arrayValue":{"values":["#, "]}}");
    let line = format!(r#"{{"resourceMetrics":[{{"resource":{{"attributes":[{{"key":"a","value":{value}}}]}}}}]}}"#);
    let (run, _folder) = run(line.as_bytes(), &[]);
    assert_eq!(run.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&run.stderr).contains("recursion limit exceeded"));

    let mut value = Vec::new();
    for _ in 0..2_000 {
        value = field(0x2a, &field(0x0a, &value));
    }
    let attribute = [field(0x0a, b"a"), field(0x12, &value)].concat();
    let request = field(0x0a, &field(0x0a, &field(0x0a, &attribute)));
    refused(&request, 3, "nested more than 32 levels deep");
    refused(&field(0x0a, &[field(0x0a, b""), vec![0x0b; 100_000]].concat()), 3, "nested more than 100 levels deep");
}

#[test]
fn a_point_with_a_million_attributes_is_left_out() {
    let attribute = |number: u32| format!(r#"{{"key":"k{number}","value":{{"intValue":"{number}"}}}}"#);
    let attributes: Vec<String> = (0..1_000_000).map(attribute).collect();
    let points = format!(r#"{{"attributes":[{}]}},{{"attributes":[]}}"#, attributes.join(","));
    let metric = format!(r#"{{"name":"m","gauge":{{"dataPoints":[{points}]}}}}"#);
    let line = format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{metric}]}}]}}]}}"#);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture");
    fs::write(&path, line).unwrap();
    // A million names are a million keys of the store, so it gets more memory than the others here.
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 1500000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_chronoxide-ingest")])
        .args([path.to_str().unwrap(), "-o", folder.path().join("out.cx").to_str().unwrap(), "--json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["series"], 1);
    assert_eq!(summary["input"]["skipped"]["too_many_labels"], 1);
}

#[test]
fn odd_values_have_documented_texts_in_both_encodings() {
    let json = r#"{"resourceMetrics":[{"resource":{"attributes":[
        {"key":"nan","value":{"doubleValue":"NaN"}},{"key":"inf","value":{"doubleValue":"-Infinity"}},
        {"key":"twice","value":{"stringValue":"first"}},{"key":"twice","value":{"stringValue":"last"}},
        {"key":"","value":{"stringValue":"nameless"}},{"key":"empty","value":{"stringValue":""}}]},
        "scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{}]}}]}]}]}"#;
    let double = |bits: f64| [vec![0x21], bits.to_le_bytes().to_vec()].concat();
    let attribute = |key: &str, value: &[u8]| field(0x0a, &[field(0x0a, key.as_bytes()), field(0x12, value)].concat());
    let text = |text: &str| field(0x0a, text.as_bytes());
    let resource = [
        attribute("nan", &double(f64::NAN)),
        attribute("inf", &double(f64::NEG_INFINITY)),
        attribute("twice", &text("first")),
        attribute("twice", &text("last")),
        attribute("", &text("nameless")),
        attribute("empty", &text("")),
    ]
    .concat();
    let metric = [field(0x0a, b"m"), field(0x2a, &field(0x0a, b""))].concat();
    let proto = field(0x0a, &[field(0x0a, &resource), field(0x12, &field(0x12, &metric))].concat());
    let from_json = taken(json.replace('\n', " ").as_bytes(), 0, "1 series");
    assert!(from_json == taken(&proto, 0, "1 series"), "both encodings say the same");
    let view = BlockView::open(&from_json).unwrap();
    let labels = [("__name__", "m"), ("inf", "-Infinity"), ("nan", "NaN"), ("twice", "last")];
    assert!(view.find(labels).unwrap().is_some());
}

#[test]
fn text_that_is_not_utf_8_is_an_error() {
    refused(b"{\"a\":\"\xff\"}\n", 3, "record 1 at byte 0 is malformed: not valid UTF-8");
    let attribute = [field(0x0a, b"a\xff"), field(0x12, &field(0x0a, b"b"))].concat();
    let request = field(0x0a, &field(0x0a, &field(0x0a, &attribute)));
    refused(&request, 3, "the text that ends at byte 10 is not valid UTF-8");
    refused(b"a 1\nb 1\nc 1\nd 1\nup{a=\"\xff\"} 1\n", 3, "record 5 at byte 16 is malformed");
}
