//! Texts that are not UTF-8 in JSON: [`mark`] and [`Marked`].
//!
//! A program that cuts values after a number of bytes cuts some within a character. Such a value makes the record
//! malformed. If malformed records are skipped, only the series with the value are left out: in protobuf, the decoders
//! tell the sink of each such text. A decoder of JSON takes valid text only, so invalid bytes are replaced by a
//! character that no text has, before it is decoded.

use chronoxide_format::metadata::MetricMetadata;

use crate::otlp::{Level, Needs, OtlpSink, Owner, Point};
use crate::series::SeriesSink;

/// Replacement of invalid bytes: a code point that is reserved for use within a program.
const MARK: char = '\u{fdd0}';

/// Returns text with a mark in place of each invalid sequence of bytes, or `None` if all bytes are valid, or if there
/// are marks already.
pub(crate) fn mark(bytes: &[u8]) -> Option<String> {
    if std::str::from_utf8(bytes).is_ok() {
        return None;
    }
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 16);
    for chunk in bytes.utf8_chunks() {
        if is_marked(chunk.valid()) {
            return None;
        }
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(MARK);
        }
    }
    Some(text)
}

fn is_marked(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), MARK.encode_utf8(&mut [0; 4]).as_bytes()).is_some()
}

/// Sink that tells another sink of marked texts, instead of giving them to it.
pub(crate) struct Marked<'s, S> {
    sink: &'s mut S,
    /// True if the current series has a marked text.
    is_invalid: bool,
}

impl<'s, S> Marked<'s, S> {
    /// Creates a sink in front of `sink`, which must leave out what has invalid texts.
    pub(crate) fn new(sink: &'s mut S) -> Self {
        Self { sink, is_invalid: false }
    }
}

impl<S: OtlpSink> OtlpSink for Marked<'_, S> {
    type Error = S::Error;

    fn needs(&self) -> Needs {
        self.sink.needs()
    }

    fn resource(&mut self) -> Result<(), S::Error> {
        self.sink.resource()
    }

    fn scope(&mut self) -> Result<(), S::Error> {
        self.sink.scope()
    }

    fn attribute(&mut self, level: Level, key: &str, value: &str) -> Result<(), S::Error> {
        if is_marked(key) || is_marked(value) {
            self.sink.invalid_text(Owner::from(level));
            return Ok(());
        }
        self.sink.attribute(level, key, value)
    }

    fn metric(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), S::Error> {
        for (text, owner) in
            [(metadata.name, Owner::Metric), (metadata.unit, Owner::Metric), (metadata.description, Owner::Description)]
        {
            if is_marked(text) {
                self.sink.invalid_text(owner);
            }
        }
        self.sink.metric(&unmarked(metadata))
    }

    fn point_begins(&mut self) -> Result<(), S::Error> {
        self.sink.point_begins()
    }

    fn point(&mut self, point: &Point<'_>) -> Result<(), S::Error> {
        self.sink.point(point)
    }

    fn metric_ends(&mut self, metadata: &MetricMetadata<'_>, point_count: u64) -> Result<(), S::Error> {
        self.sink.metric_ends(&unmarked(metadata), point_count)
    }
}

/// Returns metadata without marked texts.
fn unmarked<'m>(metadata: &MetricMetadata<'m>) -> MetricMetadata<'m> {
    let unless_marked = |text: &'m str| if is_marked(text) { "" } else { text };
    MetricMetadata {
        name: unless_marked(metadata.name),
        unit: unless_marked(metadata.unit),
        description: unless_marked(metadata.description),
        ..*metadata
    }
}

impl<S: SeriesSink> SeriesSink for Marked<'_, S> {
    type Error = S::Error;

    fn series_begins(&mut self) -> Result<(), S::Error> {
        self.is_invalid = false;
        self.sink.series_begins()
    }

    fn label(&mut self, name: &str, value: &str) -> Result<(), S::Error> {
        self.is_invalid |= is_marked(name) || is_marked(value);
        if self.is_invalid { Ok(()) } else { self.sink.label(name, value) }
    }

    fn points(&mut self, first: i64, last: i64) -> Result<(), S::Error> {
        self.sink.points(first, last)
    }

    fn point_without_time(&mut self) -> Result<(), S::Error> {
        self.sink.point_without_time()
    }

    fn series_ends(&mut self) -> Result<(), S::Error> {
        if self.is_invalid {
            self.sink.invalid_series();
            return Ok(());
        }
        self.sink.series_ends()
    }
}
