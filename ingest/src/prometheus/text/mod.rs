//! Exposition text: the formats 0.0.4 and 1.0.0, and OpenMetrics 1.0 with the additions of 2.0 to lines.
//!
//! | module | contents |
//! | --- | --- |
//! | `line` | parser of a line, and the labels of a sample |
//! | `cursor` | position in a line |
//! | `number` | values, and decimal text as nanoseconds |
//! | `timestamp` | [`TimestampUnit`], the unit of timestamps |
//! | `floats` | values of `le` and `quantile` as Prometheus formats them |
//! | `family` | metadata of the current metric family |
//! | `detect` | detection of this text by content |
//! | `error` | errors of malformed lines |
//!
//! [`TextDecoder`] takes lines one by one and keeps none. It has its own parser: existing crates read whole documents
//! into models, refuse quoted names, or have licences that require more than a notice.
//!
//! The formats are read as one, as leniently as Prometheus reads the older format: blanks may be between all parts of a
//! line, a comma may follow the last label, lines may end with CR LF, and families may be mixed. Lines that Prometheus
//! refuses in both formats are refused: invalid names, duplicate labels, invalid values. Values of `le` after the
//! `TYPE` of a histogram, and of `quantile` after that of a summary, are stored like in Prometheus 3 (`le="1"` becomes
//! `le="1.0"`), unless they are [kept](TextDecoder::keep_float_labels). The differences:
//!
//! - hexadecimal `le` and `quantile` are not changed;
//! - `_created` lines of OpenMetrics are ordinary series, and exemplars and start timestamps (`st@`) are skipped;
//! - a histogram or summary in braces, as in OpenMetrics 2 and for native histograms in dumps, is one series;
//! - the name of a metric may be the label `__name__`, as in plain dumps of a TSDB;
//! - labels must be separated by commas, and only blank lines may follow `# EOF`.
//!
//! ```
//! use chronoxide_format::metadata::MetricMetadata;
//! use chronoxide_ingest::SeriesSink;
//! use chronoxide_ingest::prometheus::text::{TextDecoder, TextError, TimestampUnit};
//! use std::convert::Infallible;
//!
//! /// Collects the parts as lines.
//! #[derive(Default)]
//! struct Lines(Vec<String>);
//!
//! impl SeriesSink for Lines {
//!     type Error = Infallible;
//!     fn label(&mut self, name: &str, value: &str) -> Result<(), Infallible> {
//!         self.0.push(format!("{name}={value}"));
//!         Ok(())
//!     }
//!     fn points(&mut self, first: i64, last: i64) -> Result<(), Infallible> {
//!         self.0.push(format!("{first} to {last}"));
//!         Ok(())
//!     }
//!     fn metadata(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), Infallible> {
//!         self.0.push(format!("{}: {}", metadata.name, metadata.description));
//!         Ok(())
//!     }
//! }
//!
//! let mut lines = Lines::default();
//! let mut decoder = TextDecoder::new(TimestampUnit::ByShape);
//! decoder.line(b"# HELP up Whether it is up.", &mut lines)?;
//! decoder.line(b"# TYPE up gauge", &mut lines)?;
//! decoder.line(br#"up{job="cart"} 1 1732919138215"#, &mut lines)?;
//! decoder.finish(&mut lines)?;
//! assert_eq!(lines.0, [
//!     "up: Whether it is up.", "__name__=up", "job=cart", "1732919138215000000 to 1732919138215000000",
//! ]);
//! # Ok::<(), TextError<Infallible>>(())
//! ```

mod cursor;
mod detect;
mod error;
mod family;
mod floats;
mod line;
mod number;
mod timestamp;

pub use detect::looks_like_text;
pub(crate) use detect::{is_line_of_text, is_mostly_text, looks_like_settings};
pub use error::{LineError, TextError};
use family::Family;
use floats::Floats;
use line::{Fact, Line, Sample};
pub(crate) use timestamp::Time;
pub use timestamp::TimestampUnit;

use super::FamilyType;
use crate::series::SeriesSink;

/// Decoder of exposition text, line by line. It collects the metadata of the current metric family from the lines
/// `HELP`, `TYPE` and `UNIT`. The sink gets the metadata with the first sample of the family, or when another family
/// begins or the text ends.
#[derive(Default)]
pub struct TextDecoder {
    unit: TimestampUnit,
    family: Family,
    sample: Sample,
    /// Type of the last `TYPE` line of any family, by which Prometheus decides which labels are floats.
    last_type: FamilyType,
    floats: Floats,
    keeps_float_labels: bool,
    is_at_end: bool,
    /// True if the text is known to be OpenMetrics, which must end with `# EOF`.
    is_open_metrics: bool,
}

impl TextDecoder {
    /// Creates a decoder for timestamps in this unit.
    #[must_use]
    pub fn new(unit: TimestampUnit) -> Self {
        Self { unit, is_open_metrics: unit == TimestampUnit::Seconds, ..Self::default() }
    }

    /// Returns true if the text is OpenMetrics and its last line, `# EOF`, was not read: lines before it may be
    /// missing. Without the format, exemplars, start times and fractions of timestamps show that it is OpenMetrics.
    #[must_use]
    pub fn lacks_end(&self) -> bool {
        self.is_open_metrics && !self.is_at_end
    }

    /// Keeps the values of `le` and `quantile` as written.
    #[must_use]
    pub fn keep_float_labels(mut self) -> Self {
        self.keeps_float_labels = true;
        self
    }

    /// Decodes a line, with or without its line break, and gives its parts to `sink`.
    ///
    /// # Errors
    ///
    /// The line is malformed: nothing of it went to the sink, and decoding can continue with the next line. Or the sink
    /// refuses a part.
    pub fn line<S: SeriesSink>(&mut self, line: &[u8], sink: &mut S) -> Result<(), TextError<S::Error>> {
        self.decode(line, false, sink)
    }

    /// Decodes the last line of an input, which has no line break. A timestamp that lacks digits is not used.
    ///
    /// # Errors
    ///
    /// Errors of [`line`](Self::line).
    pub fn last_line<S: SeriesSink>(&mut self, line: &[u8], sink: &mut S) -> Result<(), TextError<S::Error>> {
        self.decode(line, true, sink)
    }

    fn decode<S: SeriesSink>(
        &mut self,
        line: &[u8],
        is_unterminated: bool,
        sink: &mut S,
    ) -> Result<(), TextError<S::Error>> {
        let line = without_break(line);
        if self.is_at_end {
            let is_blank = line.trim_ascii().is_empty();
            return if is_blank { Ok(()) } else { Err(TextError::Line(LineError::AfterEnd)) };
        }
        match Line::parse(line, self.unit, &mut self.sample).map_err(TextError::Line)? {
            Line::Comment => Ok(()),
            Line::End => {
                self.is_at_end = true;
                self.finish(sink)
            }
            Line::Metadata(name, fact) => {
                if !self.family.is(&name) {
                    self.finish(sink)?;
                    self.family.begin(&name);
                }
                self.family.learn(&fact);
                if let Fact::Type(family_type) = fact {
                    self.last_type = family_type;
                }
                Ok(())
            }
            Line::Sample => {
                self.give_metadata(sink)?;
                let float_label = self.float_label();
                self.is_open_metrics |= self.sample.is_open_metrics;
                let time = if is_unterminated { self.sample.time.at_end() } else { self.sample.time };
                give(self.sample.labels(), time, float_label, &mut self.floats, sink).map_err(TextError::Sink)
            }
        }
    }

    /// Gives a sample, which a [`SampleParser`] parsed, to `sink`, like its [line](Self::line).
    pub(crate) fn sample<'a, S: SeriesSink>(
        &mut self,
        labels: impl Iterator<Item = (&'a str, &'a str)>,
        Stamp { time, is_open_metrics }: Stamp,
        sink: &mut S,
    ) -> Result<(), TextError<S::Error>> {
        if self.is_at_end {
            return Err(TextError::Line(LineError::AfterEnd));
        }
        self.is_open_metrics |= is_open_metrics;
        self.give_metadata(sink)?;
        let float_label = self.float_label();
        give(labels, time, float_label, &mut self.floats, sink).map_err(TextError::Sink)
    }

    /// Returns the name of the labels whose values are floats.
    fn float_label(&self) -> &'static str {
        match self.last_type {
            _ if self.keeps_float_labels => "",
            FamilyType::Histogram => "le",
            FamilyType::Summary => "quantile",
            _ => "",
        }
    }

    /// Gives `sink` the metadata of the last family. The text need not end with `# EOF`.
    ///
    /// # Errors
    ///
    /// The sink refuses it.
    pub fn finish<S: SeriesSink>(&mut self, sink: &mut S) -> Result<(), TextError<S::Error>> {
        self.give_metadata(sink)?;
        self.family.begin("");
        Ok(())
    }

    fn give_metadata<S: SeriesSink>(&mut self, sink: &mut S) -> Result<(), TextError<S::Error>> {
        match self.family.take_news() {
            Some(metadata) => sink.metadata(&metadata).map_err(TextError::Sink),
            None => Ok(()),
        }
    }
}

/// Facts of a sample besides its labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Time of the sample.
    pub(crate) time: Time,
    /// True if the line has parts that only OpenMetrics has.
    pub(crate) is_open_metrics: bool,
}

/// Parser of single lines, without the lines before them.
#[derive(Default)]
pub(crate) struct SampleParser {
    unit: TimestampUnit,
    sample: Sample,
}

impl SampleParser {
    /// Creates a parser for timestamps in this unit.
    pub(crate) fn new(unit: TimestampUnit) -> Self {
        Self { unit, ..Self::default() }
    }

    /// Returns the labels and the stamp of a sample, for [`TextDecoder::sample`]. Returns `None` if the line is
    /// malformed or not a sample.
    pub(crate) fn parse(&mut self, line: &[u8]) -> Option<(impl Iterator<Item = (&str, &str)>, Stamp)> {
        let parsed = Line::parse(without_break(line), self.unit, &mut self.sample);
        let stamp = Stamp { time: self.sample.time, is_open_metrics: self.sample.is_open_metrics };
        matches!(parsed, Ok(Line::Sample)).then(|| (self.sample.labels(), stamp))
    }
}

/// Returns a line without its line break.
fn without_break(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Gives a sample to `sink`. The value of `float_label` is formatted like in Prometheus, if it is a float.
fn give<'a, S: SeriesSink>(
    labels: impl Iterator<Item = (&'a str, &'a str)>,
    time: Time,
    float_label: &str,
    floats: &mut Floats,
    sink: &mut S,
) -> Result<(), S::Error> {
    sink.series_begins()?;
    for (name, value) in labels {
        let value = if name == float_label { floats.formatted(value) } else { value };
        sink.label(name, value)?;
    }
    match time {
        Time::Absent => {}
        Time::At(time) => sink.points(time, time)?,
        Time::Unusable => sink.point_without_time()?,
    }
    sink.series_ends()
}
