//! Parts of a request, given to a sink.

use chronoxide_format::metadata::{MetricMetadata, MetricType, Temporality};

use super::bytes::{Parts, Reader, Span};
use super::request::{self as code, kind};
use crate::error::DecodeError;
use crate::otlp::{Level, OtlpSink, Point, attributes};
use crate::protobuf::Fields;

impl Parts {
    /// Gives the parts of a request to a sink, in order.
    ///
    /// # Errors
    ///
    /// The sink refuses a part.
    pub(crate) fn replay<S: OtlpSink>(&self, request: &Span, sink: &mut S) -> Result<(), DecodeError<S::Error>> {
        let mut reader = self.reader(request);
        let mut doubles = [Vec::new(), Vec::new()];
        // A request that was kept is whole: nothing is missing at its end.
        while part(&mut reader, &mut doubles, sink).transpose()?.is_some() {}
        Ok(())
    }
}

/// Gives the next part to a sink. Returns `None` at the end.
#[inline]
fn part<S: OtlpSink>(
    reader: &mut Reader<'_>,
    doubles: &mut [Vec<f64>; 2],
    sink: &mut S,
) -> Option<Result<(), DecodeError<S::Error>>> {
    let result = match reader.byte()? {
        code::RESOURCE => sink.resource(),
        code::SCOPE => sink.scope(),
        code::POINT_BEGINS => sink.point_begins(),
        code::METRIC => sink.metric(&metadata(reader)?),
        code::METRIC_ENDS => {
            let metadata = metadata(reader)?;
            sink.metric_ends(&metadata, reader.number()?)
        }
        list @ code::ATTRIBUTES..code::METRIC => {
            let len = u32::from_le_bytes(reader.array()?);
            let level: Level = *code::LEVELS.get(usize::from(list - code::ATTRIBUTES))?;
            return Some(attributes(sink, level, Fields::new(reader.bytes(len as usize)?, 0)));
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

fn metadata<'p>(reader: &mut Reader<'p>) -> Option<MetricMetadata<'p>> {
    let [metric_type, temporality] = reader.array()?;
    Some(MetricMetadata {
        metric_type: MetricType::from_code(metric_type)?,
        temporality: Temporality::from_code(temporality & !code::IS_MONOTONIC)?,
        is_monotonic: temporality & code::IS_MONOTONIC != 0,
        name: reader.text()?,
        unit: reader.text()?,
        description: reader.text()?,
    })
}
