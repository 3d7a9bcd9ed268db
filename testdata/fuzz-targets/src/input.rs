//! Targets that read inputs of ingest.

use std::collections::BTreeSet;
use std::io::Cursor;

use chronoxide_format::SeriesRef;
use chronoxide_format::policy::{LabelPolicy, is_reserved_name};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_ingest::error::DecodeError;
use chronoxide_ingest::input::{Format, RecordContent, Records, Source};
use chronoxide_ingest::otlp::{Needs, Requests, decode_otlp_json};
use chronoxide_ingest::{AssembleOptions, Assembler, Ingest, IngestError, IngestOptions};
use chronoxide_labels::{KeysetStore, LabelSets, Layout, MAX_LABELS, StoreRef};
use chronoxide_testkit::fuzzing::program::Program;
use chronoxide_testkit::plan::Labelset;
use serde::de::IgnoredAny;
use serde_json::Value;

/// One byte of options, then a request of OTLP as JSON: decoded, collected, sealed and verified.
///
/// # Panics
/// If a promise of ingest is broken.
pub fn otlp_json(bytes: &[u8]) {
    let mut program = Program(bytes);
    let options = program.byte();
    let line = program.0;
    let policy = policy(options);
    let options_of_run = AssembleOptions { policy, ..AssembleOptions::default() };
    let mut assembler = Assembler::new(options_of_run, Vec::new());
    let collected = assembler.otlp_json(line);
    let decoded = decode_otlp_json(line, Needs::default(), &mut Requests::default());
    match &collected {
        Ok(()) => {
            assert!(decoded.is_ok(), "what is collected cannot be decoded without collecting");
            assert!(serde_json::from_slice::<IgnoredAny>(line).is_ok(), "invalid JSON was decoded");
        }
        Err(DecodeError::Sink(error)) => panic!("one line does not fill a store: {error}"),
        Err(_) => assert!(decoded.is_err(), "what was decoded was not collected"),
    }
    assert_eq!(assembler.store().len() as u64, assembler.report().series, "series are counted wrongly");
    sealed_series(assembler.store(), policy, options);
}

/// One byte of options, then a capture, which may be compressed: read, collected, sealed and verified.
///
/// # Panics
/// If a promise of ingest is broken.
pub fn series_json(bytes: &[u8]) {
    let mut program = Program(bytes);
    let options = program.byte();
    let capture = program.0;
    let formats = [None, Some(Format::SeriesJson), Some(Format::OtlpProto), Some(Format::OtlpJson)];
    let ingest_options = IngestOptions {
        format: formats[usize::from(options >> 2 & 3)],
        assemble: AssembleOptions { policy: policy(options), layout: layout(options), ..AssembleOptions::default() },
        max_record_len: if options & 16 == 0 { 4096 } else { 64 },
        skip_broken_records: options & 32 != 0,
        ..IngestOptions::default()
    };
    if options & 64 != 0 {
        let [mut small, mut large] = [5, 1024].map(|buffer_len| records(capture, &ingest_options, buffer_len));
        if [&small, &large].into_iter().any(|(_, end)| end == DAMAGED) {
            // How far a damaged stream can be read is the decompressor's choice, in the last record too.
            let len = small.0.len().min(large.0.len()).saturating_sub(1);
            small = (small.0[..len].to_vec(), String::new());
            large = (large.0[..len].to_vec(), String::new());
        }
        assert_eq!(small, large, "records depend on where buffers end");
        return;
    }
    let mut ingest = Ingest::new(ingest_options.clone(), Vec::new());
    let is_read = source(capture, 256).and_then(|source| ingest.read(source)).is_ok();
    let (report, blocks) = ingest.finish().expect("a capture does not fill a block");
    let sealed: BTreeSet<Labelset> = blocks.iter().flat_map(|block| block_series(block)).collect();
    assert_eq!(sealed.len() as u64, report.series, "series are counted wrongly");
    let is_plain = report.points == 0 && report.skipped.broken_records == 0 && report.torn_records == 0;
    if is_read
        && is_plain
        && matches!(ingest_options.format, None | Some(Format::SeriesJson))
        && let Some(expected) = plain_lines(capture, &ingest_options)
    {
        assert_eq!(sealed, expected, "a simple reading finds other series");
    }
}

fn source(capture: &[u8], buffer_len: usize) -> Result<Source, IngestError> {
    Source::with_buffer_len(String::new(), Cursor::new(capture.to_vec()), buffer_len)
}

fn policy(options: u8) -> LabelPolicy {
    if options & 1 == 0 { LabelPolicy::default() } else { LabelPolicy::new(18, 20).expect("limits that may be") }
}

fn layout(options: u8) -> Layout {
    if options & 2 == 0 { Layout::Factored } else { Layout::FixedWidth }
}

/// The series of a sound block.
pub(crate) fn block_series(block: &[u8]) -> Vec<Labelset> {
    let view = BlockView::open(block).expect("a sealed block opens");
    let count = view.verify().expect("a sealed block verifies").series_count;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("a block has text");
    let series =
        (0..count as u32).map(|series| view.series(SeriesRef(series)).expect("a sealed block").expect("a series"));
    let labels = |label: Result<_, _>| label.expect("a sealed block");
    series
        .map(|series| series.labels().map(labels).map(|label| (text(label.name), text(label.value))).collect())
        .collect()
}

/// Seals a store and compares the block with it, series by series. Returns the series.
fn sealed_series(store: &KeysetStore, policy: LabelPolicy, options: u8) -> BTreeSet<Labelset> {
    let mut all = BTreeSet::new();
    if store.is_empty() && options & 128 == 0 {
        // An empty block looks the same each time.
        return all;
    }
    let meta = BlockMeta { policy, ..BlockMeta::default() };
    let sealed =
        store.seal(layout(options), &meta).expect("a store that was collected by a policy can be sealed by it");
    let view = BlockView::open(&sealed.block).expect("a sealed block opens");
    let content = view.verify().expect("a sealed block verifies");
    assert_eq!(content.series_count, store.len() as u64, "series are missing");
    let mut refs: Vec<SeriesRef> = sealed.refs.clone();
    refs.sort_unstable();
    assert!(refs.into_iter().eq((0..store.len() as u32).map(SeriesRef)), "refs are no permutation");
    for (number, &series) in (0..).zip(&sealed.refs) {
        let mut labels = Labelset::new();
        let each = |name: &str, value: &str| drop(labels.insert(name.to_owned(), value.to_owned()));
        store.visit(StoreRef(number), each).expect("a series of the store");
        let in_block = view.series(series).expect("a sealed block").expect("a series of the block");
        let read = in_block.labels().map(|label| label.expect("a sealed block"));
        let expected = labels.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        assert!(read.map(|label| (label.name, label.value)).eq(expected), "series {number} changed: {labels:?}");
        assert_eq!(view.find(&labels), Ok(Some(series)), "{labels:?}");
        all.insert(labels);
    }
    all
}

/// The series of a capture whose lines are all objects of strings, read in the simplest way.
fn plain_lines(capture: &[u8], options: &IngestOptions) -> Option<BTreeSet<Labelset>> {
    let text = std::str::from_utf8(capture).ok()?;
    let mut all = BTreeSet::new();
    for line in text.split('\n').filter(|line| !line.trim_ascii().is_empty()) {
        if line.len() > options.max_record_len {
            return None;
        }
        let Ok(Value::Object(object)) = serde_json::from_str(line) else { return None };
        if object.keys().any(|name| name.len() > options.assemble.policy.max_name_len() as usize) {
            // Names may become the same by being cut; which of them is the last is lost here.
            return None;
        }
        let mut labels = Labelset::new();
        for (name, value) in object {
            let value = match value {
                Value::String(value) => value,
                Value::Null => String::new(),
                _ => return None,
            };
            // Reserved names are left out and counted.
            if !name.is_empty() && !is_reserved_name(&name) && !value.is_empty() {
                labels.insert(name, options.assemble.policy.value(&value).into_owned());
            }
        }
        if !labels.is_empty() && labels.len() <= MAX_LABELS {
            all.insert(labels);
        }
    }
    Some(all)
}

/// How an input ends whose compressed stream is damaged.
const DAMAGED: &str = "damaged";

/// The records of an input as text, up to the first error; and how it ends.
fn records(capture: &[u8], options: &IngestOptions, buffer_len: usize) -> (Vec<String>, String) {
    let mut found = Vec::new();
    let mut read = || {
        let mut records = Records::new(source(capture, buffer_len)?, options.format, options.max_record_len)?;
        if matches!(records.format(), Format::Arrow | Format::Parquet) {
            // Files of tables are copied in parts that are no records. These formats have targets of their own.
            return Ok(String::new());
        }
        while let Some(record) = records.next_record()? {
            if let RecordContent::Whole(bytes) | RecordContent::Unterminated(bytes) = record.content {
                assert!(bytes.len() <= options.max_record_len, "a record is longer than allowed");
            }
            found.push(format!("{record:?}"));
        }
        match records.source().damage() {
            Some(damage) if !records.source().is_truncated() => Err(damage),
            _ => Ok(format!("{} {}", records.source().offset(), records.source().is_truncated())),
        }
    };
    let end = match read() {
        Ok(end) => end,
        Err(IngestError::Compression { .. }) => DAMAGED.to_owned(),
        Err(error) => error.to_string(),
    };
    (found, end)
}
