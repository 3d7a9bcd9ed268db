//! Sink that keeps the labels of a series: [`SeriesParts`], and their iterator: [`Labels`].

use super::bytes::{Parts, Reader, Span, TooMany};
use crate::series::SeriesSink;

/// Sink that keeps the labels of one series.
pub(super) struct SeriesParts<'p> {
    parts: &'p mut Parts,
    max_len: usize,
}

impl<'p> SeriesParts<'p> {
    /// Creates a sink for a series in a record of `len` bytes. It refuses more parts than the record has bytes.
    pub(super) fn new(parts: &'p mut Parts, len: usize) -> Self {
        let max_len = parts.max_len(len);
        Self { parts, max_len }
    }
}

impl SeriesSink for SeriesParts<'_> {
    type Error = TooMany;

    fn label(&mut self, name: &str, value: &str) -> Result<(), TooMany> {
        self.parts.push_text(name);
        self.parts.push_text(value);
        if self.parts.len() <= self.max_len { Ok(()) } else { Err(TooMany) }
    }
}

/// Labels of a series in order of the record, as names and values.
#[derive(Debug, Clone)]
pub(crate) struct Labels<'p>(Reader<'p>);

impl<'p> Iterator for Labels<'p> {
    type Item = (&'p str, &'p str);

    #[inline]
    fn next(&mut self) -> Option<(&'p str, &'p str)> {
        Some((self.0.text()?, self.0.text()?))
    }
}

impl Parts {
    /// Appends the time of a sample, before its labels.
    pub(super) fn push_time(&mut self, time: Option<i64>) {
        self.codes.push(time.is_some().into());
        self.codes.extend(time.unwrap_or_default().to_le_bytes());
    }

    /// Returns the labels of a series.
    pub(crate) fn series(&self, series: &Span) -> Labels<'_> {
        Labels(self.reader(series))
    }

    /// Returns the labels and the time of a sample.
    pub(crate) fn sample(&self, sample: &Span) -> (Labels<'_>, Option<i64>) {
        let mut reader = self.reader(sample);
        let has_time = reader.byte() == Some(1);
        let time = reader.array().map(i64::from_le_bytes).filter(|_| has_time);
        (Labels(reader), time)
    }
}
