//! A run over inputs: each record decoded, what is broken counted or refused.

use crate::collector::Collector;
use crate::error::{BrokenRecord, DecodeError, IngestError};
use crate::input::{Format, Record, RecordContent, Records, Source};
use crate::otlp::{Level, OtlpSink, Point, decode_otlp_json};
use crate::report::{Report, Warning};
use crate::series::SeriesSink;
use crate::series_json::decode_series_json;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_labels::KeysetStore;
use std::convert::Infallible;

/// The most bytes of a record unless told otherwise: 64 MiB.
pub const DEFAULT_MAX_RECORD_LEN: usize = 64 << 20;

/// How inputs are read.
#[derive(Debug, Clone)]
pub struct JobOptions {
    /// The format of all inputs; by their first bytes if none.
    pub format: Option<Format>,
    /// How long names and values may be.
    pub policy: LabelPolicy,
    /// The most bytes of a record. A record is the most that is held of an input.
    pub max_record_len: usize,
    /// Whether broken records are left out and counted. They stop the run otherwise.
    ///
    /// Costs a second reading of each record, so that a broken one is left out whole.
    pub skip_broken_records: bool,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            format: None,
            policy: LabelPolicy::default(),
            max_record_len: DEFAULT_MAX_RECORD_LEN,
            skip_broken_records: false,
        }
    }
}

/// A run over inputs.
///
/// ```
/// use chronoxide_ingest::{Job, JobOptions, input::Source};
///
/// let capture = "{\"__name__\":\"up\",\"job\":\"cart\"}\n{\"__name__\":\"up\",\"job\":\"checkout\"}\n";
/// let mut job = Job::new(JobOptions::default());
/// job.read(Source::new("capture".to_owned(), capture.as_bytes())?)?;
/// let (store, report) = job.finish();
/// assert_eq!((report.records, report.series), (2, 2));
/// assert_eq!(store.keyset_count(), 1);
/// # Ok::<(), chronoxide_ingest::IngestError>(())
/// ```
pub struct Job {
    options: JobOptions,
    collector: Collector,
}

impl Job {
    /// A run that has read nothing.
    #[must_use]
    pub fn new(options: JobOptions) -> Self {
        let collector = Collector::new(options.policy);
        Self { options, collector }
    }

    /// Reads one input to its end.
    ///
    /// The last record may be cut off: a capture is often copied while it is written. It is left out, counted, and
    /// warned of.
    ///
    /// # Errors
    ///
    /// The input cannot be read, is of no known format, or has a broken record; or the series do not fit into one
    /// block. What was read before stays in the run.
    pub fn read(&mut self, source: Source) -> Result<(), IngestError> {
        let mut records = Records::new(source, self.options.format, self.options.max_record_len)?;
        let format = records.format();
        let name = records.source().name().to_owned();
        let records_before = self.seen();
        while let Some(record) = records.next_record()? {
            self.take(record, format, &name)?;
        }
        let report = self.collector.report_mut();
        report.inputs += 1;
        report.blank_lines += records.blank_lines();
        report.content_bytes += records.source().offset();
        if records.source().is_truncated() {
            report.truncated_inputs += 1;
            report.warn(Warning::TruncatedInput { input: name.clone(), offset: records.source().offset() });
        }
        if self.seen() == records_before {
            self.collector.report_mut().warn(Warning::NoRecords { input: name, format });
        }
        Ok(())
    }

    /// The series and what was counted.
    #[must_use]
    pub fn finish(self) -> (KeysetStore, Report) {
        self.collector.into_parts()
    }

    /// What was counted so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.collector.report()
    }

    /// Records so far, whatever became of them.
    fn seen(&self) -> u64 {
        let report = self.collector.report();
        report.records + report.skipped.broken_records + report.torn_records
    }

    fn take(&mut self, record: Record<'_>, format: Format, input: &str) -> Result<(), IngestError> {
        let (bytes, is_unterminated) = match record.content {
            RecordContent::Whole(bytes) => (bytes, false),
            RecordContent::Unterminated(bytes) => (bytes, true),
            RecordContent::TooLong => {
                let limit = self.options.max_record_len as u64;
                return self.broken(record, input, BrokenRecord::TooLong { limit });
            }
        };
        // The collector keeps what it got, so a record that may be left out is read without it first.
        if self.options.skip_broken_records || is_unterminated {
            let result = match format {
                Format::OtlpJson => decode_otlp_json(bytes, &mut Nothing),
                Format::SeriesJson => decode_series_json(bytes, &mut Nothing),
            };
            if let Err(error) = result {
                if is_unterminated && is_cut_off(&error, bytes) {
                    let report = self.collector.report_mut();
                    report.torn_records += 1;
                    let (input, Record { number, offset, .. }) = (input.to_owned(), record);
                    report.warn(Warning::TornRecord { input, number, offset });
                    return Ok(());
                }
                return self.broken(record, input, error.into());
            }
        }
        let result = match format {
            Format::OtlpJson => decode_otlp_json(bytes, &mut self.collector),
            Format::SeriesJson => decode_series_json(bytes, &mut self.collector),
        };
        match result {
            Ok(()) => {
                self.collector.report_mut().records += 1;
                Ok(())
            }
            Err(DecodeError::Sink(error)) => Err(error.into()),
            Err(DecodeError::Json(error)) => self.broken(record, input, DecodeError::Json(error).into()),
            Err(DecodeError::Utf8(error)) => self.broken(record, input, DecodeError::Utf8(error).into()),
        }
    }

    fn broken(&mut self, record: Record<'_>, input: &str, source: BrokenRecord) -> Result<(), IngestError> {
        let (input, Record { number, offset, .. }) = (input.to_owned(), record);
        if !self.options.skip_broken_records {
            return Err(IngestError::Record { input, number, offset, source });
        }
        let report = self.collector.report_mut();
        report.skipped.broken_records += 1;
        report.warn(Warning::SkippedRecord { input, number, offset, reason: source.to_string() });
        Ok(())
    }
}

/// Whether the error is that the record ends too early. A record that is wrong before its end was not cut off.
fn is_cut_off(error: &DecodeError<Infallible>, bytes: &[u8]) -> bool {
    match error {
        DecodeError::Json(error) => error.is_eof(),
        // The last character is cut; whether what stands before it is right does not matter any more.
        DecodeError::Utf8(error) => error.error_len().is_none() && error.valid_up_to() + 4 > bytes.len(),
        DecodeError::Sink(never) => match *never {},
    }
}

/// Takes everything and does nothing: whether a record is broken.
struct Nothing;

impl OtlpSink for Nothing {
    type Error = Infallible;

    fn attribute(&mut self, _: Level, _: &str, _: &str) -> Result<(), Infallible> {
        Ok(())
    }

    fn metric(&mut self, _: &str) -> Result<(), Infallible> {
        Ok(())
    }

    fn point(&mut self, _: Point) -> Result<(), Infallible> {
        Ok(())
    }
}

impl SeriesSink for Nothing {
    type Error = Infallible;

    fn label(&mut self, _: &str, _: &str) -> Result<(), Infallible> {
        Ok(())
    }
}
