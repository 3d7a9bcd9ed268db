//! Decoding of records of any format.

use std::convert::Infallible;

use chronoxide_format::metadata::MetricMetadata;

use crate::columns::{ArrowFile, ColumnsError, MessageDecoder, SkippedRows};
use crate::error::DecodeError;
use crate::input::Format;
use crate::invalid::{Marked, mark};
use crate::otlp::{Level, Needs, OtlpSink, Owner, Point, decode_otlp_json, decode_otlp_proto};
use crate::parts::{Parts, PartsDecoder, Span};
use crate::prometheus::proto::{decode_metric_family, decode_open_metrics_family};
use crate::prometheus::remote_write::decode_remote_write;
use crate::prometheus::text::{TextDecoder, TimestampUnit};
use crate::protobuf::ProtoError;
use crate::series::SeriesSink;
use crate::series_csv::CsvDecoder;
use crate::series_json::decode_series_json;

/// Sink for records of any format.
pub(crate) trait RecordSink: OtlpSink + SeriesSink<Error = <Self as OtlpSink>::Error> {}

impl<E, S: OtlpSink<Error = E> + SeriesSink<Error = E>> RecordSink for S {}

/// Decoder of the records of one input.
pub(crate) struct Decoder {
    format: Format,
    /// State that lines of exposition text share.
    text: TextDecoder,
    /// Header of CSV.
    csv: CsvDecoder,
    /// Schema and dictionaries of messages of Arrow IPC.
    messages: MessageDecoder,
    /// Maximum length of a decompressed record.
    max_len: usize,
    /// If true, texts that are not UTF-8 cost the series that they belong to, and not the record.
    skips: bool,
    /// Decoder to parts on this thread, and its buffer.
    ahead: Option<(PartsDecoder, Parts)>,
}

/// Parts of a record, if it was decoded on another thread.
#[derive(Clone, Copy)]
pub(crate) enum DecodedAhead<'p> {
    /// The record was not decoded.
    Not,
    /// The record is malformed or has too many parts.
    Refused,
    /// Parts of the record.
    Parts(&'p Parts, &'p Span),
}

impl Decoder {
    /// Creates a decoder for a sink with these needs.
    pub(crate) fn new(format: Format, max_len: usize, keeps_float_labels: bool, needs: Needs) -> Self {
        let text = TextDecoder::new(timestamp_unit(format));
        let text = if keeps_float_labels { text.keep_float_labels() } else { text };
        // The sink gets the same calls from a request of protobuf and from its parts.
        let is_direct = format == Format::OtlpProto;
        let ahead = if is_direct { None } else { parts_decoder(format, needs, false) };
        let ahead = ahead.map(|decoder| (decoder, Parts::default()));
        let (messages, csv) = (MessageDecoder::new(max_len), CsvDecoder::default());
        Self { format, text, csv, messages, max_len, skips: false, ahead }
    }

    /// Leaves out series with texts that are not UTF-8, and rows of them. The sink must leave out the series too.
    pub(crate) fn skipping(mut self, skips: bool) -> Self {
        self.skips = skips;
        if skips {
            self.messages.skip_rows();
        }
        self
    }

    /// Ignores series columns of tables, unless `keeps`.
    pub(crate) fn keeping_values(mut self, keeps: bool) -> Self {
        if !keeps {
            self.messages.ignore_values();
        }
        self
    }

    /// Gives the parts of a whole record to a sink, after it was decoded here or `ahead`. Returns `None` if it must be
    /// decoded by [`record`](Self::record): nothing went to the sink then.
    ///
    /// The assembler treats parts and records differently: its caches, whose memory counts, recognize parts by their
    /// bytes. Thus a record is taken as parts whenever it has them, on any number of threads. Only parts of protobuf
    /// give the same calls as the record.
    pub(crate) fn parts<S: RecordSink>(
        &mut self,
        record: &[u8],
        ahead: DecodedAhead<'_>,
        sink: &mut S,
    ) -> Option<Result<(), DecodeError<<S as OtlpSink>::Error>>> {
        match (ahead, &mut self.ahead) {
            (DecodedAhead::Parts(parts, span), _) => {
                Some(replay(self.format, &mut self.text, (record, parts, span), sink))
            }
            (DecodedAhead::Refused, _) | (_, None) => None,
            (DecodedAhead::Not, Some((decoder, parts))) => {
                parts.clear();
                let span = decoder.decode(record, parts)?;
                Some(replay(self.format, &mut self.text, (record, parts, &span), sink))
            }
        }
    }

    /// Decodes a record. If it is malformed, the sink may have got parts of it.
    pub(crate) fn record<S: RecordSink>(
        &mut self,
        bytes: &[u8],
        sink: &mut S,
    ) -> Result<(), DecodeError<<S as OtlpSink>::Error>> {
        let is_json = matches!(self.format, Format::OtlpJson | Format::SeriesJson);
        if self.skips
            && is_json
            && let Some(text) = mark(bytes)
        {
            let (bytes, sink) = (text.as_bytes(), &mut Marked::new(sink));
            return match self.format {
                Format::OtlpJson => decode_otlp_json(bytes, sink),
                _ => decode_series_json(bytes, sink),
            };
        }
        match self.format {
            Format::OtlpJson => decode_otlp_json(bytes, sink),
            Format::OtlpProto => decode_otlp_proto(bytes, sink),
            Format::SeriesJson => decode_series_json(bytes, sink),
            Format::PrometheusText | Format::OpenMetrics => Ok(self.text.line(bytes, sink)?),
            Format::PrometheusProto => Ok(decode_metric_family(bytes, sink.needs().buckets, sink)?),
            Format::OpenMetricsProto => Ok(decode_open_metrics_family(bytes, sink)?),
            Format::RemoteWrite => Ok(decode_remote_write(bytes, self.max_len, sink)?),
            Format::Arrow => Ok(self.messages.message(bytes, sink)?),
            Format::Csv => Ok(self.csv.record(bytes, sink)?),
            // A part of a file has no meaning.
            Format::Parquet => Ok(()),
        }
    }

    /// Gives pending metadata to the sink at the end of the input.
    pub(crate) fn finish<S: RecordSink>(&mut self, sink: &mut S) -> Result<(), DecodeError<<S as OtlpSink>::Error>> {
        Ok(self.text.finish(sink)?)
    }

    /// Begins an Arrow file with the schema of its footer.
    pub(crate) fn begin_arrow_file(&mut self, file: &ArrowFile) -> Result<(), ColumnsError> {
        file.begin(&mut self.messages)
    }

    /// Returns the rows that were skipped since the last call.
    pub(crate) fn take_skipped_rows(&mut self) -> SkippedRows {
        self.messages.take_skipped()
    }

    /// Returns true if the input lacks the mark that ends it: `# EOF` of OpenMetrics.
    pub(crate) fn lacks_end(&self) -> bool {
        matches!(self.format, Format::PrometheusText | Format::OpenMetrics) && self.text.lacks_end()
    }

    /// Returns the rows and the ignored columns of a table that is read record by record.
    pub(crate) fn columns(&self) -> Option<(u64, &[String])> {
        match self.format {
            Format::Arrow => Some((self.messages.row_count(), self.messages.ignored())),
            Format::Csv => Some((self.csv.row_count(), &[])),
            _ => None,
        }
    }

    /// Decodes the last record of an input, which nothing ends.
    pub(crate) fn last_record<S: RecordSink>(
        &mut self,
        bytes: &[u8],
        sink: &mut S,
    ) -> Result<(), DecodeError<<S as OtlpSink>::Error>> {
        match self.format {
            Format::PrometheusText | Format::OpenMetrics => Ok(self.text.last_line(bytes, sink)?),
            Format::Csv => Ok(self.csv.last_record(bytes, sink)?),
            _ => self.record(bytes, sink),
        }
    }

    /// Checks a record without a sink.
    pub(crate) fn check(&mut self, bytes: &[u8]) -> Result<(), DecodeError<Infallible>> {
        match self.format {
            // A malformed line gives nothing to the sink.
            Format::PrometheusText | Format::OpenMetrics | Format::Csv => Ok(()),
            // Decoding a message twice would change dictionaries. A malformed one gives nothing but whole series.
            Format::Arrow => Ok(()),
            _ => self.record(bytes, &mut Nothing { skips: self.skips }),
        }
    }
}

/// Returns the decoder of records to parts, if records of this format have parts.
pub(crate) fn parts_decoder(format: Format, needs: Needs, skips_broken_records: bool) -> Option<PartsDecoder> {
    PartsDecoder::new(format, timestamp_unit(format), needs, skips_broken_records)
}

fn timestamp_unit(format: Format) -> TimestampUnit {
    if format == Format::OpenMetrics { TimestampUnit::Seconds } else { TimestampUnit::ByShape }
}

/// Gives the parts of a record to a sink.
fn replay<S: RecordSink>(
    format: Format,
    text: &mut TextDecoder,
    (record, parts, span): (&[u8], &Parts, &Span),
    sink: &mut S,
) -> Result<(), DecodeError<<S as OtlpSink>::Error>> {
    match format {
        Format::OtlpJson | Format::OtlpProto => parts.replay(record, span, sink),
        Format::SeriesJson => {
            let mut give = || {
                sink.series_begins()?;
                parts.series(span).try_for_each(|(name, value)| sink.label(name, value))?;
                sink.series_ends()
            };
            give().map_err(DecodeError::Sink)
        }
        _ => {
            let (labels, stamp) = parts.sample(span);
            Ok(text.sample(labels, stamp, sink)?)
        }
    }
}

/// Returns true if the error is caused by the end of the record. A record with an error before its end is malformed,
/// not truncated.
pub(crate) fn is_cut_off(error: &DecodeError<Infallible>, bytes: &[u8]) -> bool {
    match error {
        DecodeError::Json(error) => error.is_eof(),
        // Truncated lines cannot be distinguished from malformed ones.
        DecodeError::Text(_) => true,
        DecodeError::RemoteWrite(error) => error.is_cut_off(),
        DecodeError::Columns(error) => matches!(error, ColumnsError::CutOff),
        DecodeError::Family(_) => false,
        DecodeError::Proto(error) => matches!(error, ProtoError::CutOff { .. }),
        // The last character is cut off. Errors before it do not matter.
        DecodeError::Utf8(error) => error.error_len().is_none() && error.valid_up_to() + 4 > bytes.len(),
        DecodeError::Sink(never) => match *never {},
    }
}

/// Sink that ignores everything.
struct Nothing {
    /// If true, it leaves out texts that are not UTF-8.
    skips: bool,
}

impl OtlpSink for Nothing {
    type Error = Infallible;

    fn attribute(&mut self, _: Level, _: &str, _: &str) -> Result<(), Infallible> {
        Ok(())
    }

    fn metric(&mut self, _: &MetricMetadata<'_>) -> Result<(), Infallible> {
        Ok(())
    }

    fn point(&mut self, _: &Point<'_>) -> Result<(), Infallible> {
        Ok(())
    }

    fn invalid_text(&mut self, _: Owner) -> bool {
        self.skips
    }
}

impl SeriesSink for Nothing {
    type Error = Infallible;

    fn label(&mut self, _: &str, _: &str) -> Result<(), Infallible> {
        Ok(())
    }

    fn invalid_series(&mut self) -> bool {
        self.skips
    }

    fn invalid_metadata(&mut self) -> bool {
        self.skips
    }
}
