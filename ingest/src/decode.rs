//! Decoding of records of any format.

use std::convert::Infallible;

use crate::assemble::{AssembleError, Assembler, BlockSink};
#[cfg(feature = "tables")]
use crate::columns::ArrowFile;
use crate::columns::{ColumnsError, MessageDecoder, SkippedRows};
use crate::decoded::{AheadDecoder, Decoded, Place};
use crate::error::DecodeError;
use crate::input::Format;
use crate::invalid::{Marked, mark};
use crate::otlp::{Needs, Requests, decode_json_within, decode_proto_within};
use crate::prometheus::proto::{decode_metric_family, decode_open_metrics_family};
use crate::prometheus::remote_write::decode_remote_write;
use crate::prometheus::text::{TextDecoder, TimestampUnit};
use crate::protobuf::ProtoError;
use crate::series::SeriesSink;
use crate::series_csv::CsvDecoder;
use crate::series_json::decode_series_json;

/// Memory of a decoded request that is kept for the next one, in bytes.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// Result of giving a record to the assembler.
type Assembled = Result<(), DecodeError<AssembleError>>;

/// Decoder of the records of one input.
pub(crate) struct Decoder {
    format: Format,
    needs: Needs,
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
    /// Request that is decoded here.
    requests: Requests,
}

impl Decoder {
    /// Creates a decoder for an assembler with these needs.
    pub(crate) fn new(format: Format, max_len: usize, keeps_float_labels: bool, needs: Needs) -> Self {
        let text = TextDecoder::new(timestamp_unit(format));
        let text = if keeps_float_labels { text.keep_float_labels() } else { text };
        let (messages, csv) = (MessageDecoder::new(max_len), CsvDecoder::default());
        Self { format, needs, text, csv, messages, max_len, skips: false, requests: Requests::default() }
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

    /// Gives a record that was decoded ahead to an assembler.
    pub(crate) fn take_decoded<B: BlockSink>(
        &mut self,
        record: &[u8],
        (decoded, place): (&Decoded, &Place),
        assembler: &mut Assembler<B>,
    ) -> Assembled {
        match place {
            Place::Request(place) => assembler.request(decoded.requests.get(place, record)),
            Place::Series(place) if self.format == Format::SeriesJson => {
                let mut give = || {
                    assembler.series_begins()?;
                    decoded.series.labels(place).try_for_each(|(name, value)| assembler.label(name, value))?;
                    assembler.series_ends()
                };
                give().map_err(DecodeError::Sink)
            }
            Place::Series(place) => Ok(self.text.sample(decoded.series.labels(place), place.stamp, assembler)?),
        }
    }

    /// Decodes a record for an assembler. If it is malformed, the assembler may have got series of it.
    pub(crate) fn record<B: BlockSink>(&mut self, bytes: &[u8], assembler: &mut Assembler<B>) -> Assembled {
        self.record_with(self.needs, bytes, assembler)
    }

    fn record_with<B: BlockSink>(&mut self, needs: Needs, bytes: &[u8], assembler: &mut Assembler<B>) -> Assembled {
        let requests = &mut self.requests;
        if requests.memory() > MAX_KEPT_BYTES {
            *requests = Requests::default();
        }
        requests.clear();
        let place = match self.format {
            Format::OtlpJson => decode_json_within(bytes, needs, None, requests)?,
            Format::OtlpProto => decode_proto_within(bytes, needs, None, requests)?,
            _ => return self.series(bytes, assembler),
        };
        assembler.request(requests.get(&place, bytes))
    }

    /// Decodes a record of series.
    fn series<S: SeriesSink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<(), DecodeError<S::Error>> {
        match self.format {
            Format::SeriesJson => match if self.skips { mark(bytes) } else { None } {
                Some(text) => decode_series_json(text.as_bytes(), &mut Marked::new(sink)),
                None => decode_series_json(bytes, sink),
            },
            Format::PrometheusText | Format::OpenMetrics => Ok(self.text.line(bytes, sink)?),
            Format::PrometheusProto => Ok(decode_metric_family(bytes, self.needs.buckets, sink)?),
            Format::OpenMetricsProto => Ok(decode_open_metrics_family(bytes, sink)?),
            Format::RemoteWrite => Ok(decode_remote_write(bytes, self.max_len, sink)?),
            Format::Arrow => Ok(self.messages.message(bytes, sink)?),
            Format::Csv => Ok(self.csv.record(bytes, sink)?),
            // A part of a file has no meaning, and requests are no series.
            Format::Parquet | Format::OtlpJson | Format::OtlpProto => Ok(()),
        }
    }

    /// Gives pending metadata to an assembler at the end of the input.
    pub(crate) fn finish<B: BlockSink>(&mut self, assembler: &mut Assembler<B>) -> Assembled {
        Ok(self.text.finish(assembler)?)
    }

    /// Begins an Arrow file with the schema of its footer.
    #[cfg(feature = "tables")]
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
    pub(crate) fn last_record<B: BlockSink>(&mut self, bytes: &[u8], assembler: &mut Assembler<B>) -> Assembled {
        match self.format {
            Format::PrometheusText | Format::OpenMetrics => Ok(self.text.last_line(bytes, assembler)?),
            Format::Csv => Ok(self.csv.last_record(bytes, assembler)?),
            // Damage within a request that is cut off is damage, and found before its end.
            _ => self.record_with(Needs { checked_attributes: true, ..self.needs }, bytes, assembler),
        }
    }

    /// Checks a record before series of it are taken.
    pub(crate) fn check(&mut self, bytes: &[u8]) -> Result<(), DecodeError<Infallible>> {
        match self.format {
            // A malformed one gives nothing. Attributes of requests are checked when records are skipped.
            Format::OtlpJson | Format::OtlpProto | Format::PrometheusText | Format::OpenMetrics | Format::Csv => Ok(()),
            // Decoding a message twice would change dictionaries. A malformed one gives nothing but whole series.
            Format::Arrow => Ok(()),
            _ => self.series(bytes, &mut Nothing { skips: self.skips }),
        }
    }
}

/// Returns a decoder of records apart from those before them, if those of this format can be decoded so.
pub(crate) fn ahead_decoder(format: Format, needs: Needs) -> Option<AheadDecoder> {
    AheadDecoder::new(format, timestamp_unit(format), needs)
}

fn timestamp_unit(format: Format) -> TimestampUnit {
    if format == Format::OpenMetrics { TimestampUnit::Seconds } else { TimestampUnit::ByShape }
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

/// Sink that ignores all series.
struct Nothing {
    /// If true, it leaves out texts that are not UTF-8.
    skips: bool,
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
