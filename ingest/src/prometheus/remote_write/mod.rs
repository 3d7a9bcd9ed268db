//! Prometheus's remote-write requests, versions [1.0][v1] and [2.0][v2]: protobuf within a snappy block.
//!
//! | module | contents |
//! | --- | --- |
//! | `message` | the messages of the protocol that series need |
//! | `detect` | detection of a request by content |
//! | `error` | errors of malformed requests |
//!
//! The fields of a request show its version; HTTP headers are not needed. Values, exemplars and start timestamps are
//! skipped. In version 2 metadata belongs to a series instead of a family: the family's name is the name of the series
//! without the suffix of a classic histogram or summary (`_bucket`, `_sum`, `_count`). Duplicate labels, which senders
//! must not send, are left to the sink.
//!
//! [v1]: https://prometheus.io/docs/specs/prw/remote_write_spec/
//! [v2]: https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/

mod detect;
mod error;
mod message;

pub use detect::looks_like_remote_write;
pub use error::{RemoteWriteError, RequestError};
use message::{MetadataV1, MetadataV2, Request, SeriesV1, SeriesV2, Symbols, Timestamps};

use super::{FamilyType, NAME, give_point};
use crate::protobuf::{Fields, ProtoError};
use crate::series::SeriesSink;

/// Upper limit of the ratio by which snappy compresses: its best code makes 64 bytes of 3, rounded up.
const MAX_EXPANSION: usize = 22;

/// Decodes the body of a request and gives its parts to `sink`.
///
/// Memory is a small multiple of the uncompressed length, which must not exceed `max_len` bytes. A length that the body
/// states allocates nothing before it is plausible.
///
/// # Errors
///
/// The body is not a snappy block with a request, expands to more than `max_len` bytes, has a malformed part, or the
/// sink refuses a part. The sink gets the parts before a malformed one, and nothing of the malformed one.
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
    let request = Request::parse(&content).map_err(RequestError::Message)?;
    let v1_count = request.series_v1.len() + request.metadata_v1.len();
    let v2_count = request.series_v2.len() + request.symbols_v2.len();
    match (v1_count, v2_count) {
        (_, 0) => version_1(&request, sink),
        (0, _) => version_2(&request, sink),
        _ => Err(RequestError::Mixed { v1_count, v2_count }.into()),
    }
}

fn version_1<S: SeriesSink>(request: &Request<'_>, sink: &mut S) -> Result<(), RemoteWriteError<S::Error>> {
    for (number, &fields) in request.metadata_v1.iter().enumerate() {
        let part = match parse("metadata", number, fields, MetadataV1::parse) {
            Err(error) if error.is_invalid_text() && sink.invalid_metadata() => continue,
            part => part?,
        };
        let metadata = part.family_type.metadata(part.family_name, part.unit, part.help);
        sink.metadata(&metadata).map_err(RemoteWriteError::Sink)?;
    }
    for (number, &fields) in request.series_v1.iter().enumerate() {
        let part = match parse("series", number, fields, SeriesV1::parse) {
            Err(error) if error.is_invalid_text() && sink.invalid_series() => continue,
            part => part?,
        };
        give(&part.labels, &part.timestamps, sink).map_err(RemoteWriteError::Sink)?;
    }
    Ok(())
}

fn version_2<S: SeriesSink>(request: &Request<'_>, sink: &mut S) -> Result<(), RemoteWriteError<S::Error>> {
    let symbols = Symbols::parse(&request.symbols_v2)?;
    let mut last = None;
    for (number, &fields) in request.series_v2.iter().enumerate() {
        let part = parse("series", number, fields, SeriesV2::parse)?;
        let (pairs, []) = part.labels_refs.as_chunks::<2>() else {
            return Err(RequestError::OddRefs { series: number, count: part.labels_refs.len() }.into());
        };
        let label = |&[name, value]: &[u32; 2]| Ok((symbols.get(number, name)?, symbols.get(number, value)?));
        let labels: Vec<(&str, &str)> = match pairs.iter().map(label).collect::<Result<_, RequestError>>() {
            Err(error) if error.is_invalid_text() && sink.invalid_series() => continue,
            labels => labels?,
        };
        if part.metadata != MetadataV2::default() {
            let name = labels.iter().find(|(name, _)| *name == NAME).map_or("", |(_, value)| *value);
            let kind = FamilyType::from_number(part.metadata.family_type);
            let name = if part.timestamps.histograms.is_empty() { kind.family_of(name) } else { name };
            let mut text = |symbol| match symbols.get(number, symbol) {
                Err(error) if error.is_invalid_text() && sink.invalid_metadata() => Ok(""),
                text => text,
            };
            let (unit, help) = (text(part.metadata.unit_ref)?, text(part.metadata.help_ref)?);
            // Series of one family are mostly neighbours.
            let metadata = kind.metadata(name, unit, help);
            if !name.is_empty() && last != Some(metadata) {
                sink.metadata(&metadata).map_err(RemoteWriteError::Sink)?;
                last = Some(metadata);
            }
        }
        give(&labels, &part.timestamps, sink).map_err(RemoteWriteError::Sink)?;
    }
    Ok(())
}

/// Parses part `number` of its kind.
fn parse<'a, T>(
    part: &'static str,
    number: usize,
    fields: Fields<'a>,
    parse: impl FnOnce(Fields<'a>) -> Result<T, ProtoError>,
) -> Result<T, RequestError> {
    parse(fields).map_err(|source| RequestError::Part { part, number, source })
}

/// Gives a series to `sink`, with the times of its samples before those of its histograms.
fn give<S: SeriesSink>(labels: &[(&str, &str)], timestamps: &Timestamps, sink: &mut S) -> Result<(), S::Error> {
    sink.series_begins()?;
    for (name, value) in labels {
        sink.label(name, value)?;
    }
    for &milliseconds in timestamps.samples.iter().chain(&timestamps.histograms) {
        give_point(milliseconds, sink)?;
    }
    sink.series_ends()
}
