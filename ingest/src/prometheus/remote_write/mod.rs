//! Requests of Prometheus's remote write, versions [1.0][v1] and [2.0][v2]: a snappy block around protobuf.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `schema` | the part of the protocol that series come from |
//! | `detect` | detection of a request by content |
//! | `error` | what can be wrong with a request |
//!
//! Which version it is shows in the fields that are there; what a request was sent with is not needed. Values, exemplars
//! and start timestamps are not looked at. The metadata of version 2 belongs to a series and not to a family: its name is
//! that of the series, without the suffix that classic histograms and summaries have (`_bucket`, `_sum`, `_count`).
//! That a label stands twice, which no sender should do, is left to the sink.
//!
//! [v1]: https://prometheus.io/docs/specs/prw/remote_write_spec/
//! [v2]: https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/

mod detect;
mod error;
mod schema;

pub use detect::looks_like_remote_write;
pub use error::{RemoteWriteError, RequestError};

use super::{FamilyType, MILLISECOND, NAME};
use crate::series::SeriesSink;
use prost::Message;
use prost::bytes::Bytes;
use schema::{Histogram, MetadataV1, MetadataV2, Request, Sample, SeriesV1, SeriesV2};

/// A copy of 64 bytes takes three, and nothing takes less; this is rounded up.
const MAX_EXPANSION: usize = 22;

/// Reads the body of a request and gives its parts to `sink`. Memory is a small multiple of what the body expands to, of
/// which at most `max_len` bytes are allowed, and of which it never says more than there is.
///
/// # Errors
///
/// The body is no snappy block around a request, or expands to more than `max_len` bytes, or a part is broken, or the sink
/// did not take a part. Parts before a broken one went to the sink, and nothing of that part did.
pub fn decode_remote_write<S: SeriesSink>(
    body: &[u8],
    max_len: usize,
    sink: &mut S,
) -> Result<(), RemoteWriteError<S::Error>> {
    let len = snap::raw::decompress_len(body).map_err(RequestError::Snappy)?;
    if len > max_len {
        return Err(RequestError::TooLong { len, limit: max_len }.into());
    }
    if len > body.len().saturating_mul(MAX_EXPANSION) {
        return Err(RequestError::Expansion { len, body_len: body.len() }.into());
    }
    let content = snap::raw::Decoder::new().decompress_vec(body).map_err(RequestError::Snappy)?;
    let request = Request::decode(Bytes::from(content)).map_err(RequestError::Message)?;
    let v1_count = request.series_v1.len() + request.metadata_v1.len();
    let v2_count = request.series_v2.len() + request.symbols_v2.len();
    match (v1_count, v2_count) {
        (_, 0) => version_1(&request, sink),
        (0, _) => version_2(&request, sink),
        _ => Err(RequestError::Mixed { v1_count, v2_count }.into()),
    }
}

fn version_1<S: SeriesSink>(request: &Request, sink: &mut S) -> Result<(), RemoteWriteError<S::Error>> {
    for (number, bytes) in request.metadata_v1.iter().enumerate() {
        let part: MetadataV1 = decoded("metadata", number, bytes)?;
        let metadata = FamilyType::from_number(part.family_type).metadata(&part.family_name, &part.unit, &part.help);
        sink.metadata(&metadata).map_err(RemoteWriteError::Sink)?;
    }
    for (number, bytes) in request.series_v1.iter().enumerate() {
        let part: SeriesV1 = decoded("series", number, bytes)?;
        let times = times(number, &part.samples, &part.histograms)?;
        let labels = part.labels.iter().map(|label| (label.name.as_str(), label.value.as_str()));
        give(labels, times, sink).map_err(RemoteWriteError::Sink)?;
    }
    Ok(())
}

fn version_2<S: SeriesSink>(request: &Request, sink: &mut S) -> Result<(), RemoteWriteError<S::Error>> {
    let symbols = Symbols::read(&request.symbols_v2)?;
    let mut last = None;
    for (number, bytes) in request.series_v2.iter().enumerate() {
        let part: SeriesV2 = decoded("series", number, bytes)?;
        let times = times(number, &part.samples, &part.histograms)?;
        let (pairs, []) = part.labels_refs.as_chunks::<2>() else {
            return Err(RequestError::OddRefs { series: number, count: part.labels_refs.len() }.into());
        };
        let mut labels = Vec::new();
        for &[name, value] in pairs {
            labels.push((symbols.get(number, name)?, symbols.get(number, value)?));
        }
        if let Some(metadata) = part.metadata.filter(|metadata| *metadata != MetadataV2::default()) {
            let name = labels.iter().find(|(name, _)| *name == NAME).map_or("", |(_, value)| *value);
            let kind = FamilyType::from_number(metadata.family_type);
            let name = if part.histograms.is_empty() { kind.family_of(name) } else { name };
            let (unit, help) = (symbols.get(number, metadata.unit_ref)?, symbols.get(number, metadata.help_ref)?);
            // Series of one family mostly stand together.
            let metadata = kind.metadata(name, unit, help);
            if !name.is_empty() && last != Some(metadata) {
                sink.metadata(&metadata).map_err(RemoteWriteError::Sink)?;
                last = Some(metadata);
            }
        }
        give(labels.into_iter(), times, sink).map_err(RemoteWriteError::Sink)?;
    }
    Ok(())
}

fn decoded<M: Message + Default>(part: &'static str, number: usize, bytes: &Bytes) -> Result<M, RequestError> {
    M::decode(bytes.clone()).map_err(|source| RequestError::Part { part, number, source })
}

/// The symbols of a request.
struct Symbols<'a>(Vec<&'a str>);

impl<'a> Symbols<'a> {
    fn read(symbols: &'a [Bytes]) -> Result<Self, RequestError> {
        if let Some(first) = symbols.first()
            && !first.is_empty()
        {
            return Err(RequestError::FirstSymbol { len: first.len() });
        }
        let mut texts = Vec::with_capacity(symbols.len());
        for (number, symbol) in symbols.iter().enumerate() {
            let text = std::str::from_utf8(symbol).map_err(|error| {
                let offset = error.valid_up_to();
                RequestError::SymbolText { symbol: number, offset }
            })?;
            texts.push(text);
        }
        Ok(Self(texts))
    }

    fn get(&self, series: usize, symbol: u32) -> Result<&'a str, RequestError> {
        let found = usize::try_from(symbol).ok().and_then(|symbol| self.0.get(symbol));
        found.copied().ok_or(RequestError::SymbolRef { series, symbol, symbol_count: self.0.len() })
    }
}

/// The times of points, in nanoseconds.
fn times(series: usize, samples: &[Sample], histograms: &[Histogram]) -> Result<Vec<i64>, RequestError> {
    let samples = samples.iter().map(|sample| sample.timestamp);
    let all = samples.chain(histograms.iter().map(|histogram| histogram.timestamp));
    let nanoseconds = |milliseconds: i64| {
        milliseconds.checked_mul(MILLISECOND).ok_or(RequestError::TimeRange { series, milliseconds })
    };
    all.map(nanoseconds).collect()
}

/// Gives a series to `sink`.
fn give<'a, S: SeriesSink>(
    labels: impl Iterator<Item = (&'a str, &'a str)>,
    times: Vec<i64>,
    sink: &mut S,
) -> Result<(), S::Error> {
    sink.series_begins()?;
    for (name, value) in labels {
        sink.label(name, value)?;
    }
    for time in times {
        sink.points(time, time)?;
    }
    sink.series_ends()
}
