//! Targets that read tables: Parquet files and Arrow IPC.

use std::collections::BTreeSet;
use std::io::{Cursor, Write};
use std::sync::Once;

use chronoxide_ingest::columns::silence_guarded_panics;
use chronoxide_ingest::input::{Format, Source};
use chronoxide_ingest::{Ingest, IngestError, IngestOptions, Report};
use chronoxide_testkit::fuzzing::program::Program;
use chronoxide_testkit::plan::Labelset;

use crate::input::block_series;

/// Decoders of these formats panic on some damage, which is an error of the input. A fuzzer would take it for a bug.
static SILENCE: Once = Once::new();

/// One byte of options, then a Parquet file.
///
/// # Panics
/// If a promise of ingest is broken.
pub fn parquet(bytes: &[u8]) {
    table(bytes, Format::Parquet);
}

/// One byte of options, then a file or a stream of Arrow IPC.
///
/// # Panics
/// If a promise of ingest is broken.
pub fn arrow(bytes: &[u8]) {
    table(bytes, Format::Arrow);
}

/// Series of a table, and the counts of the run.
type Content = (BTreeSet<Labelset>, Report);

fn table(bytes: &[u8], format: Format) {
    SILENCE.call_once(silence_guarded_panics);
    let mut program = Program(bytes);
    let options = program.byte();
    let content = program.0;
    let strict = IngestOptions {
        format: Some(format),
        max_record_len: if options & 1 == 0 { 64 << 10 } else { 256 },
        ..IngestOptions::default()
    };
    let skipping = IngestOptions { skip_broken_records: true, ..strict.clone() };
    let (read, rescued) = (piped(content, &strict), piped(content, &skipping));
    match (&read, &rescued) {
        (Ok(read), Ok(rescued)) => assert_eq!(read, rescued, "skipping damage changes a table without damage"),
        (Ok(_), Err(error)) => panic!("skipping damage makes an error: {error}"),
        (Err(_), Ok((_, report))) => assert!(report.is_partial(false), "damage is skipped without a word"),
        (Err(_), Err(_)) => {}
    }
    if options & 2 != 0 {
        // A file is read where it is, and a pipe is copied or read as a stream.
        let file = file(content, &skipping);
        match (&rescued, &file) {
            (Ok((series, _)), Ok((again, _))) => assert_eq!(series, again, "a file has other series than a pipe"),
            (Err(_), Err(_)) => {}
            _ => panic!("a file is read and a pipe is not, or the reverse"),
        }
    }
}

fn piped(content: &[u8], options: &IngestOptions) -> Result<Content, IngestError> {
    read(Source::new("table".to_owned(), Cursor::new(content.to_vec()))?, options)
}

fn file(content: &[u8], options: &IngestOptions) -> Result<Content, IngestError> {
    let mut file = tempfile::NamedTempFile::new().expect("a folder for temporary files");
    file.write_all(content).expect("space for a small file");
    read(Source::open(file.path())?, options)
}

fn read(source: Source, options: &IngestOptions) -> Result<Content, IngestError> {
    let mut ingest = Ingest::new(options.clone(), Vec::new());
    ingest.read(source)?;
    let (report, blocks) = ingest.finish().expect("a small table does not fill a block");
    let series: BTreeSet<Labelset> = blocks.iter().flat_map(|block| block_series(block)).collect();
    assert_eq!(series.len() as u64, report.series, "series are counted wrongly");
    assert!(report.series <= report.rows, "there are more series than rows");
    Ok((series, report))
}
