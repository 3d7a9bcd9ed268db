//! CSV: records that no buffer holds whole, damage, and what it costs.

use std::collections::BTreeSet;

use chronoxide_ingest::input::{Format, Source};
use chronoxide_ingest::{Ingest, IngestError, IngestOptions, Report};

use crate::canonical::{self, Labels};

fn read(content: &[u8], options: IngestOptions, buffer_len: usize) -> Result<(BTreeSet<Labels>, Report), IngestError> {
    let mut ingest = Ingest::new(options, Vec::new());
    let content = std::io::Cursor::new(content.to_vec());
    ingest.read(Source::with_buffer_len("table.csv".to_owned(), content, buffer_len)?)?;
    let (report, blocks) = ingest.finish()?;
    Ok((blocks.iter().flat_map(|block| canonical::block_series(block)).collect(), report))
}

fn row(name: &str, pod: &str) -> Labels {
    let labels = [("__name__", name), ("pod", pod)].into_iter().filter(|(_, value)| !value.is_empty());
    labels.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn skipping() -> IngestOptions {
    IngestOptions { skip_broken_records: true, ..IngestOptions::default() }
}

#[test]
fn records_end_at_line_breaks_outside_of_quotes_wherever_buffers_end() {
    let content = b"__name__,pod\r\nup,\"a\r\nb\"\"c\"\r\n\r\n\"do,wn\",\r\nlast,x";
    let expected: BTreeSet<Labels> = [row("up", "a\r\nb\"c"), row("do,wn", ""), row("last", "x")].into();
    for buffer_len in 1..content.len() + 1 {
        let (found, report) = read(content, IngestOptions::default(), buffer_len).unwrap();
        assert_eq!((found, report.rows, report.is_partial(false)), (expected.clone(), 3, false), "{buffer_len}");
    }
    // Large captures are read on another thread.
    let rows: Vec<Labels> = (0..20_000).map(|number| row("up", &format!("pod \"{number}\"\nof a set"))).collect();
    let lines: String = (0..20_000).map(|number| format!("up,\"pod \"\"{number}\"\"\nof a set\"\n")).collect();
    let content = format!("__name__,pod\n{lines}");
    for content in [content.clone().into_bytes(), zstd::encode_all(content.as_bytes(), 1).unwrap()] {
        let (found, report) = read(&content, IngestOptions::default(), 8192).unwrap();
        assert_eq!((report.rows, report.warnings), (20_000, vec![]));
        assert!(found == rows.iter().cloned().collect());
    }
}

#[test]
fn each_truncation_keeps_whole_records() {
    let content = "__name__,pod\nup,ä\ndown,\"b\nc\"\nup,d\n";
    let whole = [row("up", "ä"), row("down", "b\nc"), row("up", "d")];
    let ends = [18, 29, 34];
    assert_eq!(content.len(), 35, "the last byte is a line break");
    for len in 14..content.len() {
        let bytes = &content.as_bytes()[..len];
        let (found, report) = read(bytes, IngestOptions::default(), 8192).unwrap();
        // A record with all its fields and no line break counts as whole: its last field may be cut off.
        let complete = whole.iter().zip(ends).filter(|(_, end)| *end <= len).map(|(row, _)| row.clone());
        let complete: BTreeSet<Labels> = complete.collect();
        assert!(complete.is_subset(&found) && found.len() <= complete.len() + 1, "{len}: {found:?}");
        let is_whole = report.torn_records == 0;
        assert!(is_whole || report.is_partial(false) && found == complete, "{len}: {found:?}");
    }
}

#[test]
fn a_malformed_record_costs_itself_only() {
    let content = b"__name__,pod\nup,a\nup\nup,\xff\nup,b,c\nup,d\n";
    let (found, report) = read(content, skipping(), 8192).unwrap();
    assert_eq!(found, [row("up", "a"), row("up", "d")].into());
    let warnings: Vec<String> = report.warnings.iter().map(ToString::to_string).collect();
    let expected = [
        "table.csv: skipped malformed record 3 at byte 18: 1 field, but the header has 2",
        "table.csv: skipped malformed record 4 at byte 21: the value in column \"pod\" is not valid UTF-8",
        "table.csv: skipped malformed record 5 at byte 26: 3 fields, but the header has 2",
    ];
    assert_eq!((warnings, report.skipped.broken_records), (expected.map(str::to_owned).to_vec(), 3));
    let error = read(content, IngestOptions::default(), 8192).unwrap_err();
    assert!(matches!(error, IngestError::Record { number: 3, .. }), "{error}");
}

#[test]
fn the_format_may_be_named_and_records_are_bounded() {
    let named = || IngestOptions { format: Some(Format::Csv), ..IngestOptions::default() };
    let labels: Labels = [("a".to_owned(), "x".to_owned())].into();
    assert_eq!(read(b"a,b\nx,\n", named(), 8192).unwrap().0, [labels].into());
    assert!(read(b"a,b\nx,\n", IngestOptions::default(), 8192).is_err(), "prose may have commas");
    // A quote that nothing closes.
    let content = format!("__name__,pod\nup,a\nup,\"{}", "b\n".repeat(5_000));
    let options = IngestOptions { max_record_len: 4096, ..skipping() };
    let (found, report) = read(content.as_bytes(), options, 8192).unwrap();
    assert_eq!((found, report.skipped.broken_records), ([row("up", "a")].into(), 1));
    let (found, report) = read(content.as_bytes(), IngestOptions::default(), 8192).unwrap();
    assert_eq!((found, report.torn_records), ([row("up", "a")].into(), 1));
    let columns = format!("__name__,{}\n", (0..70_000).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    assert!(read(columns.as_bytes(), named(), 8192).is_err());
}
