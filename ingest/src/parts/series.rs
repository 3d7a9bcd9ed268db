//! Sink that keeps the labels of a series: [`SeriesParts`], and their iterator: [`Labels`].

use super::bytes::{Parts, Reader, Span, TooMany};
use crate::prometheus::text::{Stamp, Time};
use crate::series::SeriesSink;

/// Bit of the code of a time: the line has parts that only OpenMetrics has.
const IS_OPEN_METRICS: u8 = 4;

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

    /// Refuses: parts of a series are labels only, so that its record is decoded where it is assembled.
    fn points(&mut self, _: i64, _: i64) -> Result<(), TooMany> {
        Err(TooMany)
    }

    fn point_without_time(&mut self) -> Result<(), TooMany> {
        Err(TooMany)
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
    /// Appends the stamp of a sample, before its labels.
    pub(super) fn push_stamp(&mut self, stamp: Stamp) {
        let (code, time) = match stamp.time {
            Time::Absent => (0, 0),
            Time::At(time) => (1, time),
            Time::Unusable => (2, 0),
        };
        self.codes.push(code | if stamp.is_open_metrics { IS_OPEN_METRICS } else { 0 });
        self.codes.extend(time.to_le_bytes());
    }

    /// Returns the labels of a series.
    pub(crate) fn series(&self, series: &Span) -> Labels<'_> {
        Labels(self.reader(series))
    }

    /// Returns the labels and the stamp of a sample.
    pub(crate) fn sample(&self, sample: &Span) -> (Labels<'_>, Stamp) {
        let mut reader = self.reader(sample);
        let code = reader.byte().unwrap_or_default();
        let time = match (code & !IS_OPEN_METRICS, reader.array().map(i64::from_le_bytes)) {
            (1, Some(time)) => Time::At(time),
            (2, _) => Time::Unusable,
            _ => Time::Absent,
        };
        (Labels(reader), Stamp { time, is_open_metrics: code & IS_OPEN_METRICS != 0 })
    }
}
