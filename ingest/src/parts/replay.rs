//! Parts of a request, given to a sink.

use chronoxide_format::metadata::{MetricMetadata, MetricType, Temporality};

use super::bytes::{Parts, Reader, Span};
use super::request::{self as code, kind};
use crate::error::DecodeError;
use crate::otlp::{Level, OtlpSink, Point, odd_attribute, run_of_attributes};

impl Parts {
    /// Gives the parts of a request, which was decoded from `record`, to a sink, in order.
    ///
    /// # Errors
    ///
    /// The sink refuses a part, or an attribute that was not checked is malformed.
    pub(crate) fn replay<S: OtlpSink>(
        &self,
        record: &[u8],
        request: &Span,
        sink: &mut S,
    ) -> Result<(), DecodeError<S::Error>> {
        let (reader, metadata) = (self.reader(request), MetricMetadata::default());
        let mut replay = Replay { reader, record, metadata, doubles: [Vec::new(), Vec::new()] };
        // A request that was kept is whole: nothing is missing at its end.
        while part(&mut replay, sink).transpose()?.is_some() {}
        Ok(())
    }
}

/// State of giving the parts of a request.
struct Replay<'p, 'r> {
    reader: Reader<'p>,
    record: &'r [u8],
    /// Metadata of the current metric at its beginning.
    metadata: MetricMetadata<'p>,
    /// Bounds and quantiles of the current point.
    doubles: [Vec<f64>; 2],
}

/// Gives the next part to a sink. Returns `None` at the end.
#[inline]
fn part<S: OtlpSink>(replay: &mut Replay<'_, '_>, sink: &mut S) -> Option<Result<(), DecodeError<S::Error>>> {
    let Replay { reader, record, metadata, doubles } = replay;
    let result = match reader.byte()? {
        code::RESOURCE => sink.resource(),
        code::SCOPE => sink.scope(),
        code::POINT_BEGINS => sink.point_begins(),
        code::METRIC => {
            *metadata = read_metadata(reader)?;
            sink.metric(metadata)
        }
        code::METRIC_ENDS => {
            let metadata = read_metadata(reader)?;
            sink.metric_ends(&metadata, reader.number()?)
        }
        code::METRIC_ENDS_AS_BEGUN => sink.metric_ends(metadata, reader.number()?),
        list @ code::ATTRIBUTES..code::METRIC => {
            let len = u32::from_le_bytes(reader.array()?);
            let run = reader.bytes(len as usize)?;
            return Some(run_of_attributes(sink, level(list - code::ATTRIBUTES)?, run, 0));
        }
        run @ code::RUN..code::ODD_ATTRIBUTE => {
            let (bytes, offset) = place(reader, record)?;
            return Some(run_of_attributes(sink, level(run - code::RUN)?, bytes, offset));
        }
        odd @ code::ODD_ATTRIBUTE..code::TEXT_ATTRIBUTE => {
            let (bytes, offset) = place(reader, record)?;
            return Some(odd_attribute(sink, level(odd - code::ODD_ATTRIBUTE)?, bytes, offset));
        }
        text @ code::TEXT_ATTRIBUTE..code::METRIC_ENDS_AS_BEGUN => {
            sink.attribute(level(text - code::TEXT_ATTRIBUTE)?, reader.text()?, reader.text()?)
        }
        point => {
            let flags = reader.byte()?;
            let has = |flag| flags & flag != 0;
            let time_unix_nano = if has(code::HAS_TIME) { u64::from_le_bytes(reader.array()?) } else { 0 };
            let point_flags = if has(code::HAS_FLAGS) { reader.number()? } else { 0 };
            doubles.iter_mut().for_each(Vec::clear);
            if has(code::HAS_BUCKETS) {
                for doubles in &mut *doubles {
                    for _ in 0..reader.number()? {
                        doubles.push(f64::from_le_bytes(reader.array()?));
                    }
                }
            }
            let [bucket_bounds, quantiles] = doubles;
            sink.point(&Point {
                kind: kind(point - code::POINT)?,
                time_unix_nano,
                flags: point_flags,
                has_sum: has(code::HAS_SUM),
                bucket_bounds,
                quantiles,
            })
        }
    };
    Some(result.map_err(DecodeError::Sink))
}

fn level(number: u8) -> Option<Level> {
    code::LEVELS.get(usize::from(number)).copied()
}

/// Reads a place in a record. Returns its bytes and its start.
#[inline]
fn place<'r>(reader: &mut Reader<'_>, record: &'r [u8]) -> Option<(&'r [u8], usize)> {
    let start = usize::try_from(reader.number()?).ok()?;
    let len = usize::try_from(reader.number()?).ok()?;
    Some((record.get(start..start.checked_add(len)?)?, start))
}

fn read_metadata<'p>(reader: &mut Reader<'p>) -> Option<MetricMetadata<'p>> {
    let [metric_type, temporality] = reader.array()?;
    Some(MetricMetadata {
        metric_type: MetricType::from_code(metric_type.into()),
        temporality: Temporality::from_code((temporality & !code::IS_MONOTONIC).into()),
        monotonicity: (temporality & code::IS_MONOTONIC != 0).into(),
        name: reader.text()?,
        unit: reader.text()?,
        description: reader.text()?,
    })
}
