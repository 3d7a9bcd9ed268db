//! Series as CSV (RFC 4180): a header with the names of labels, then a record per series.
//!
//! An empty field is not a label. A column of refs, as exports of blocks have it, is not a label.

use csv_core::{ReadRecordResult, Reader};

use crate::columns::{ColumnsError, RowsError, SchemaError};
use crate::series::SeriesSink;
use crate::series_json::is_ref_name;

/// Name of the label that shows that content is a table of series.
const METRIC_NAME: &str = "__name__";

/// Maximum number of columns. Each takes memory besides its bytes.
const MAX_COLUMNS: usize = 1 << 16;

/// Maximum number of columns by which a format is recognized.
const MAX_EXAMINED_COLUMNS: usize = 1 << 12;

/// Decoder of the records of an input.
#[derive(Default)]
pub(crate) struct CsvDecoder {
    /// Names of the columns, after the first record.
    header: Option<Header>,
    fields: Fields,
    rows: u64,
}

struct Header {
    names: Vec<String>,
    /// Position of the column of refs.
    series_ref: Option<usize>,
}

impl CsvDecoder {
    /// Returns the number of series so far.
    pub(crate) fn row_count(&self) -> u64 {
        self.rows
    }

    /// Decodes the header or a series. Nothing goes to the sink from a malformed record.
    ///
    /// # Errors
    ///
    /// The header has no names of labels or one of them twice; a series has another number of fields, or a field that
    /// is not UTF-8; or the sink refuses a part.
    pub(crate) fn record<S: SeriesSink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<(), RowsError<S::Error>> {
        let Self { header, fields, rows } = self;
        let Some(header) = header else {
            fields.read(bytes, MAX_COLUMNS)?;
            self.header = Some(Header::new(fields)?);
            return Ok(());
        };
        let expected = header.names.len();
        fields.read(bytes, expected)?;
        if fields.ends.len() != expected {
            return Err(ColumnsError::Fields { found: fields.ends.len(), expected }.into());
        }
        // Files that were joined have a header each.
        if header.names.iter().map(String::as_bytes).eq(fields.iter()) {
            return Ok(());
        }
        let mut texts = Vec::with_capacity(expected);
        for (name, field) in header.names.iter().zip(fields.iter()) {
            let text = str::from_utf8(field);
            texts.push(
                text.map_err(|_| ColumnsError::Data(format!("the value in column {name:?} is not valid UTF-8")))?,
            );
        }
        sink.series_begins().map_err(RowsError::Sink)?;
        for (column, (name, text)) in header.names.iter().zip(texts).enumerate() {
            // A label may have the name of refs if the refs were not exported.
            let is_ref = header.series_ref == Some(column) && text.bytes().all(|byte| byte.is_ascii_digit());
            if !text.is_empty() && !is_ref {
                sink.label(name, text).map_err(RowsError::Sink)?;
            }
        }
        *rows += 1;
        sink.series_ends().map_err(RowsError::Sink)
    }

    /// Decodes the last record, if no line break ends it.
    ///
    /// # Errors
    ///
    /// The errors of [`record`](Self::record). [`ColumnsError::CutOff`] if the record is a part of one.
    pub(crate) fn last_record<S: SeriesSink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<(), RowsError<S::Error>> {
        let has_open_quote = memchr::memchr_iter(b'"', bytes).count() % 2 == 1;
        if has_open_quote || str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none()) {
            return Err(ColumnsError::CutOff.into());
        }
        self.record(bytes, sink).map_err(|error| match error {
            RowsError::Columns(ColumnsError::Fields { found, expected }) if found < expected => {
                ColumnsError::CutOff.into()
            }
            error => error,
        })
    }
}

impl Header {
    fn new(fields: &Fields) -> Result<Self, ColumnsError> {
        let names: Result<Vec<String>, _> = fields.iter().map(|name| str::from_utf8(name).map(str::to_owned)).collect();
        let names = names.map_err(|_| ColumnsError::Message("a name in the header is not valid UTF-8"))?;
        // In exports refs come before labels, which may have such a name too.
        let series_ref = names.iter().position(|name| is_ref_name(name));
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        if let Some([name, _]) = sorted.array_windows().find(|[left, right]| left == right) {
            return Err(SchemaError::DuplicateColumn { name: (*name).clone() }.into());
        }
        if names.iter().enumerate().all(|(column, name)| series_ref == Some(column) || name.is_empty()) {
            return Err(SchemaError::NoLabels { columns: names }.into());
        }
        Ok(Self { names, series_ref })
    }
}

/// Fields of a record.
struct Fields {
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Default for Fields {
    fn default() -> Self {
        Self { reader: Reader::new(), text: Vec::new(), ends: Vec::new() }
    }
}

impl Fields {
    /// Reads the fields of a record, at most `max_count`.
    fn read(&mut self, mut bytes: &[u8], max_count: usize) -> Result<(), ColumnsError> {
        let Self { reader, text, ends } = self;
        // Fields without their quotes are not longer than the record.
        text.resize(bytes.len() + 1, 0);
        // Room for one more, so that the error has a number of fields.
        ends.resize(max_count + 1, 0);
        let (mut text_len, mut count) = (0, 0);
        while let (Some(text), Some(free)) = (text.get_mut(text_len..), ends.get_mut(count..)) {
            let (result, read, written, ended) = reader.read_record(bytes, text, free);
            bytes = bytes.get(read..).unwrap_or_default();
            (text_len, count) = (text_len + written, count + ended);
            match result {
                // The end of the bytes ends a record without a line break.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record | ReadRecordResult::End => break,
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    *reader = Reader::new();
                    return Err(ColumnsError::Fields { found: max_count + 1, expected: max_count });
                }
            }
        }
        ends.truncate(count);
        Ok(())
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| self.text.get(start..end).unwrap_or_default())
    }
}

/// Returns true if the first record is a header of series: it names the column of metric names or of refs.
pub(crate) fn looks_like_csv(head: &[u8]) -> bool {
    let mut fields = Fields::default();
    fields.read(head, MAX_EXAMINED_COLUMNS).is_ok()
        && fields.iter().all(|name| str::from_utf8(name).is_ok())
        && fields
            .iter()
            .filter_map(|name| str::from_utf8(name).ok())
            .any(|name| name == METRIC_NAME || is_ref_name(name))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[derive(Default)]
    struct Texts(Vec<String>);

    impl SeriesSink for Texts {
        type Error = Infallible;

        fn series_begins(&mut self) -> Result<(), Infallible> {
            self.0.push(String::new());
            Ok(())
        }

        fn label(&mut self, name: &str, value: &str) -> Result<(), Infallible> {
            self.0.last_mut().unwrap().push_str(&format!("{name}={value};"));
            Ok(())
        }
    }

    /// Decodes records, the last one without its line break. Returns the series or the error.
    fn decode(records: &[&[u8]]) -> Result<String, String> {
        let (mut decoder, mut sink) = (CsvDecoder::default(), Texts::default());
        let (last, others) = records.split_last().unwrap();
        for record in others {
            decoder.record(record, &mut sink).map_err(text)?;
        }
        decoder.last_record(last, &mut sink).map_err(text)?;
        assert_eq!(decoder.row_count(), sink.0.len() as u64);
        Ok(sink.0.join("|"))
    }

    fn text(error: RowsError<Infallible>) -> String {
        match error {
            RowsError::Columns(error) => error.to_string(),
            RowsError::Sink(never) => match never {},
        }
    }

    #[test]
    fn fields_are_labels() {
        for (records, expected) in [
            (
                &["__name__,job\n", "up,a\r\n", "down,\n", "\"u\"\"p\n\",\",\"\n", "x,y"][..],
                "__name__=up;job=a;|__name__=down;|__name__=u\"p\n;job=,;|__name__=x;job=y;",
            ),
            (&["series_ref,a\r\n", "\n17,b"], "a=b;"),
            (&["_series_ref,series_ref,a\n", "1,2,b"], "series_ref=2;a=b;"),
            (&["series_ref,a\n", "x,b"], "series_ref=x;a=b;"),
            (&["a,b\n", "\u{feff}x,"], "a=\u{feff}x;"),
            (&["a,b"], ""),
            (&["a\n", "\"\"\n", "b"], "|a=b;"),
        ] {
            let records: Vec<&[u8]> = records.iter().map(|record| record.as_bytes()).collect();
            assert_eq!(decode(&records).as_deref(), Ok(expected), "{records:?}");
        }
    }

    #[test]
    fn malformed_records_are_refused() {
        for (records, expected) in [
            (&[&b"a,b\n"[..], b"x\n", b""][..], "1 field, but the header has 2"),
            (&[b"a,b\n", b"x,y,z,z\n", b""], "3 fields, but the header has 2"),
            (&[b"a,b\n", b"x,\xff\n", b""], "the value in column \"b\" is not valid UTF-8"),
            (&[b"a,\xff\n", b""], "a name in the header is not valid UTF-8"),
            (&[b"a,a\n", b""], "two columns are called \"a\""),
            (
                &[b"series_ref\n", b""],
                "no column holds labels: expected columns of text, or a map `labels` from text to text; found series_ref",
            ),
            (&[b"a,b\n", b"x"], "the record is cut off"),
            (&[b"a,b\n", b"x,\"y"], "the record is cut off"),
            (&[b"a,b\n", b"x,\xc3"], "the record is cut off"),
        ] {
            assert_eq!(decode(records), Err(expected.to_owned()), "{records:?}");
        }
    }

    #[test]
    fn a_header_shows_series() {
        for (head, expected) in [
            ("__name__,job\nup,a\n", true),
            ("\"job\",\"__name__\"\r\n", true),
            ("series_ref,pod\n", true),
            ("_series_ref,series_ref\n", true),
            ("__name__", true),
            ("\"a\nb\",series_ref\n", true),
            ("job,pod\nup,a\n", false),
            ("__name__ 1\n", false),
            ("{\"__name__\":\"up\",\"a\":\"b\"}\n", false),
            ("", false),
        ] {
            assert_eq!(looks_like_csv(head.as_bytes()), expected, "{head:?}");
        }
    }
}
