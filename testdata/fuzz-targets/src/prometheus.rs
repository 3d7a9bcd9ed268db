//! Targets that read what Prometheus writes.

use std::convert::Infallible;
use std::io::Cursor;

use chronoxide_format::metadata::MetricMetadata;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_ingest::SeriesSink;
use chronoxide_ingest::prometheus::proto::{ExpositionError, decode_metric_family, looks_like_metric_families};
use chronoxide_ingest::prometheus::remote_write::{decode_remote_write, looks_like_remote_write};
use chronoxide_ingest::prometheus::text::{TextDecoder, TextError, TimestampUnit, looks_like_text};
use chronoxide_ingest::prometheus::tsdb::{TsdbError, TsdbIndex, parse_tombstones};
use chronoxide_ingest::prometheus::wal::{Head, HeadChunks, HeadError, Segment, find_chunk};
use chronoxide_testkit::fuzzing::program::Program;

/// One byte of options, then exposition text: each line is taken whole or not at all, and a broken one changes nothing
/// for the others.
///
/// # Panics
/// If a promise of the decoder is broken.
pub fn prometheus_text(bytes: &[u8]) {
    let mut program = Program(bytes);
    let units = [TimestampUnit::ByShape, TimestampUnit::Milliseconds, TimestampUnit::Seconds, TimestampUnit::ByShape];
    let unit = units[usize::from(program.byte() & 3)];
    let text = program.0;
    let _ = looks_like_text(text);
    let mut all = Taken::default();
    let mut decoder = TextDecoder::new(unit);
    let mut sound = Vec::new();
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let before = all.clone();
        match decoder.line(line, &mut all) {
            Ok(()) => sound.push(line),
            Err(TextError::Line(_)) => assert_eq!(all, before, "a broken line left something behind"),
            Err(error) => panic!("the sink takes everything: {error}"),
        }
        assert!(!all.is_open, "a line ends within a series");
    }
    decoder.finish(&mut all).expect("the sink takes everything");

    let mut again = Taken::default();
    let mut decoder = TextDecoder::new(unit);
    for line in sound {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        decoder.line(line, &mut again).expect("it was taken before, with broken lines around it");
    }
    decoder.finish(&mut again).expect("the sink takes everything");
    assert_eq!(all, again, "broken lines or line ends change what is read");
    for series in &all.series {
        assert_eq!(series.labels.first().map(|(name, _)| name.as_str()), Some("__name__"));
        let mut names: Vec<&str> = series.labels.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "a label stands twice: {names:?}");
    }
    written_again(&all);
}

/// Writes series as text in one way and reads it.
fn written_again(all: &Taken) {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    for series in &all.series {
        let mut parts = Vec::new();
        for (name, value) in &series.labels {
            let (name, value) = (escaped(name), escaped(value));
            // An empty name of a metric is written like other labels.
            let is_metric = parts.is_empty() && !value.is_empty();
            parts.push(if is_metric { format!("\"{value}\"") } else { format!("\"{name}\"=\"{value}\"") });
        }
        let mut line = format!("{{{}}} 1", parts.join(","));
        for (time, _) in &series.points {
            let sign = if *time < 0 { "-" } else { "" };
            let (seconds, rest) = (time.unsigned_abs() / 1_000_000_000, time.unsigned_abs() % 1_000_000_000);
            line += &format!(" {sign}{seconds}.{rest:09}");
        }
        let mut again = Taken::default();
        let read = TextDecoder::new(TimestampUnit::Seconds).line(line.as_bytes(), &mut again);
        assert!(read.is_ok(), "{line}: {read:?}");
        assert_eq!(again.series.as_slice(), std::slice::from_ref(series), "{line}");
    }
}

/// A body of remote write, or what stands in it: read or refused, with every series whole.
///
/// # Panics
/// If a promise of the decoder is broken.
pub fn remote_write(bytes: &[u8]) {
    const MAX_LEN: usize = 64 << 10;
    let mut program = Program(bytes);
    let options = program.byte();
    let content = program.0;
    if options & 1 != 0 {
        let _ = looks_like_remote_write(content);
        let mut taken = Taken::default();
        let _ = decode_remote_write(content, MAX_LEN, &mut taken);
        assert!(!taken.is_open, "a request ends within a series");
        return;
    }
    // A fuzzer seldom writes a valid snappy block; wrapped as literals, its input always is one.
    let body = literal(content);
    let mut taken = Taken::default();
    let read = decode_remote_write(&body, MAX_LEN, &mut taken);
    assert!(!taken.is_open, "a request ends within a series");
    let mut again = Taken::default();
    let is_same = read.is_ok() == decode_remote_write(&body, MAX_LEN, &mut again).is_ok();
    assert!(is_same && taken == again, "a request is read in two ways");
    if content.len() > 1 {
        let limited = decode_remote_write(&body, content.len() - 1, &mut Taken::default());
        assert!(limited.is_err(), "a request has more bytes than allowed");
    }
}

/// A snappy block without compression.
fn literal(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut len = content.len();
    while len >= 0x80 {
        out.push((len & 0x7f) as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    for chunk in content.chunks(60) {
        out.push((chunk.len() as u8 - 1) << 2);
        out.extend_from_slice(chunk);
    }
    out
}

/// The index of a block: read or refused, with every series whole, and in the same way twice. After a damaged series,
/// reading goes on behind it.
///
/// # Panics
/// If a promise of the decoder is broken.
pub fn tsdb_index(bytes: &[u8]) {
    let read = || {
        let mut taken = Taken::default();
        let end = match TsdbIndex::open(Cursor::new(bytes)) {
            Err(error) => error.to_string(),
            Ok(mut index) => loop {
                let before = index.offset();
                match index.next_series(&mut taken) {
                    Ok(true) => assert!(index.offset() > before, "a series without bytes"),
                    Ok(false) => break String::new(),
                    Err(error) => {
                        assert!(matches!(index.next_series(&mut taken), Ok(false)), "it goes on after an error");
                        if !matches!(&error, TsdbError::Block(error) if error.is_damage()) || index.resume().is_err() {
                            break error.to_string();
                        }
                        assert!(index.offset() > before, "it stays at a damaged series");
                    }
                }
            },
        };
        assert!(!taken.is_open, "a series that does not end");
        (taken, end)
    };
    assert_eq!(read(), read());
}

/// One byte of options, then a metric family as protobuf: read or refused, with every series whole.
///
/// # Panics
/// If a promise of the decoder is broken.
pub fn prometheus_proto(bytes: &[u8]) {
    let mut program = Program(bytes);
    let is_classic = program.byte() & 1 != 0;
    let message = program.0;
    let _ = looks_like_metric_families(message);
    let read = || {
        let mut taken = Taken::default();
        let error = match decode_metric_family(message, is_classic, &mut taken) {
            Ok(()) => None,
            Err(ExpositionError::Family(error)) => Some(error.to_string()),
            Err(error) => panic!("the sink takes everything: {error}"),
        };
        assert!(!taken.is_open, "a family ends within a series");
        (taken, error)
    };
    let (taken, error) = read();
    assert_eq!((&taken, &error), (&read().0, &read().1));
    for series in &taken.series {
        assert_eq!(series.labels.first().map(|(name, _)| name.as_str()), Some("__name__"));
    }
}

/// One byte of options, then a segment of a write-ahead log, one record of it, head chunks, or tombstones: read or
/// refused, with every series whole, and in the same way twice. Reading may go on after damage.
///
/// # Panics
/// If a promise of the reader is broken.
pub fn tsdb_wal(bytes: &[u8]) {
    const MAX_RECORD_LEN: usize = 64 << 10;
    let mut program = Program(bytes);
    let options = program.byte();
    let content = program.0;
    let window = (options & 4 != 0).then_some(std::num::NonZeroU64::new(3_600_000_000_000)).flatten();
    let read = || {
        let mut taken = Taken::default();
        let goes_on = options & 8 != 0;
        let mut head = Head::new(LabelPolicy::default(), window).skip_invalid_series(goes_on);
        let mut errors = Vec::new();
        if options & 16 != 0 {
            match parse_tombstones(content) {
                Ok(tombstones) => head = head.without_deleted(tombstones),
                Err(error) => errors.push(error.to_string()),
            }
        }
        match options & 3 {
            0 => {
                let mut segment = Segment::new(content, MAX_RECORD_LEN);
                loop {
                    match segment.next_record() {
                        Ok(Some(record)) => {
                            assert!(record.len() <= MAX_RECORD_LEN, "a record is longer than allowed");
                            errors.extend(refusal(head.take_record(record, &mut taken)));
                        }
                        Ok(None) => break,
                        Err(error) => {
                            errors.push(error.to_string());
                            assert!(errors.len() <= 2 * content.len() + 2, "it stays at a damaged record");
                            if goes_on {
                                segment.resume().expect("bytes in memory are readable");
                            }
                        }
                    }
                }
            }
            1 if goes_on => {
                let mut from = 0;
                while let Some((chunk, place)) = find_chunk(content, from) {
                    assert!(place.start >= from && place.end > place.start && place.end <= content.len());
                    errors.extend(refusal(head.take_chunk(chunk, &mut taken)));
                    from = place.end;
                }
            }
            1 => match HeadChunks::open(content) {
                Ok(mut chunks) => loop {
                    match chunks.next_chunk() {
                        Ok(Some(chunk)) => errors.extend(refusal(head.take_chunk(chunk, &mut taken))),
                        Ok(None) => break,
                        Err(error) => errors.push(error.to_string()),
                    }
                },
                Err(error) => errors.push(error.to_string()),
            },
            // Records without checksums, which a fuzzer seldom gets right, each with its length in one byte.
            _ => {
                let mut rest = content;
                while let Some((&len, behind)) = rest.split_first() {
                    let (record, behind) = behind.split_at(usize::from(len).min(behind.len()));
                    errors.extend(refusal(head.take_record(record, &mut taken)));
                    rest = behind;
                }
            }
        }
        let counts = head.finish(&mut taken).expect("the sink takes everything");
        assert!(!taken.is_open, "a series that does not end");
        (taken, counts, errors)
    };
    assert_eq!(read(), read());
}

/// Error of a record.
fn refusal(result: Result<(), HeadError<Infallible>>) -> Option<String> {
    match result {
        Ok(()) => None,
        Err(HeadError::Record(error)) => Some(error.to_string()),
        Err(error) => panic!("the sink takes everything: {error}"),
    }
}

/// Values that a sink received.
#[derive(Clone, Debug, Default, PartialEq)]
struct Taken {
    series: Vec<Series>,
    /// Metadata as text.
    metadata: Vec<String>,
    is_open: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Series {
    labels: Vec<(String, String)>,
    points: Vec<(i64, i64)>,
}

impl Taken {
    fn last(&mut self) -> &mut Series {
        assert!(self.is_open, "no series has begun");
        self.series.last_mut().expect("a series has begun")
    }
}

impl SeriesSink for Taken {
    type Error = Infallible;

    fn series_begins(&mut self) -> Result<(), Infallible> {
        self.is_open = true;
        self.series.push(Series::default());
        Ok(())
    }

    fn label(&mut self, name: &str, value: &str) -> Result<(), Infallible> {
        self.last().labels.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    fn points(&mut self, first: i64, last: i64) -> Result<(), Infallible> {
        assert!(first <= last, "points end before they start");
        self.last().points.push((first, last));
        Ok(())
    }

    fn series_ends(&mut self) -> Result<(), Infallible> {
        assert!(self.is_open, "no series has begun");
        self.is_open = false;
        Ok(())
    }

    fn metadata(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), Infallible> {
        self.metadata.push(format!("{metadata:?}"));
        Ok(())
    }
}
