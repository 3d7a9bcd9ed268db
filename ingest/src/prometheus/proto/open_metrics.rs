//! Messages of OpenMetrics as protobuf: families of a `MetricSet`.
//!
//! Each point gives the series that the text of the same point has: `_total` of a counter, `_bucket`, `_count` and
//! `_sum` of a histogram, and so on.

use super::MetricSeries;
use super::error::{ExpositionError, FamilyError};
use crate::prometheus::label_pair::{label_pair, push_label};
use crate::prometheus::{FamilyType, open_metrics_float};
use crate::protobuf::{Field, Fields, ProtoError};
use crate::series::SeriesSink;

/// Key of a family in a `MetricSet`.
pub(crate) const FAMILY_KEY: u8 = 0x0a;

/// Decodes a metric family of OpenMetrics, without its key and length, and gives its parts to `sink`.
///
/// # Errors
///
/// The family is malformed, or the sink refuses a part. Metrics before a malformed one went to the sink.
pub fn decode_open_metrics_family<S: SeriesSink>(
    message: &[u8],
    sink: &mut S,
) -> Result<(), ExpositionError<S::Error>> {
    let mut family = Family::parse(Fields::new(message, 0)).map_err(FamilyError::Message)?;
    if family.name.is_empty() {
        return Err(FamilyError::NoName.into());
    }
    match std::mem::replace(&mut family.description, Ok(("", ""))) {
        Ok((unit, help)) => {
            let metadata = family.family_type.metadata(family.name, unit, help);
            sink.metadata(&metadata).map_err(ExpositionError::Sink)?;
        }
        Err(error) => {
            if !sink.invalid_metadata() {
                return Err(FamilyError::Message(error).into());
            }
        }
    }
    let (mut fields, mut number) = (Fields::new(message, 0), 0);
    let malformed = |number| move |source| FamilyError::Metric { family: family.name.to_owned(), number, source };
    while let Some(field) = fields.next().map_err(FamilyError::Message)? {
        if field.number != 5 {
            continue;
        }
        let metric = field.message().and_then(|fields| Ok((fields, labels(fields)?)));
        match metric {
            Err(ProtoError::Utf8 { .. }) if sink.invalid_series() => {}
            metric => {
                let (mut metric, labels) = metric.map_err(malformed(number))?;
                while let Some(field) = metric.next().map_err(malformed(number))? {
                    if field.number == 2 {
                        let point = field.message().and_then(Point::parse);
                        let point = match point {
                            Err(ProtoError::Utf8 { .. }) if sink.invalid_series() => continue,
                            point => point.map_err(malformed(number))?,
                        };
                        give(&family, &labels, &point, sink).map_err(ExpositionError::Sink)?;
                    }
                }
            }
        }
        number += 1;
    }
    Ok(())
}

/// `MetricFamily` without its metrics.
struct Family<'a> {
    name: &'a str,
    family_type: FamilyType,
    /// Unit and help, or the error of a text that is not UTF-8.
    description: Result<(&'a str, &'a str), ProtoError>,
}

impl<'a> Family<'a> {
    fn parse(mut fields: Fields<'a>) -> Result<Self, ProtoError> {
        let (mut name, mut number) = ("", 0);
        let (mut unit, mut help) = (Ok(""), Ok(""));
        while let Some(field) = fields.next()? {
            match field.number {
                1 => name = field.text()?,
                2 => number = field.int32()?,
                3 => unit = field.text(),
                4 => help = field.text(),
                _ => {}
            }
        }
        let family_type = match number {
            1 => FamilyType::Gauge,
            2 => FamilyType::Counter,
            3 => FamilyType::StateSet,
            4 => FamilyType::Info,
            5 => FamilyType::Histogram,
            6 => FamilyType::GaugeHistogram,
            7 => FamilyType::Summary,
            _ => FamilyType::Unknown,
        };
        Ok(Self { name, family_type, description: unit.and_then(|unit| Ok((unit, help?))) })
    }
}

/// Returns the labels of a metric.
fn labels(mut fields: Fields<'_>) -> Result<Vec<(&str, &str)>, ProtoError> {
    let mut labels = Vec::new();
    while let Some(field) = fields.next()? {
        if field.number == 1 {
            push_label(&mut labels, label_pair(field.message()?)?, &field)?;
        }
    }
    Ok(labels)
}

/// `MetricPoint`, as far as series need it.
#[derive(Default)]
struct Point<'a> {
    milliseconds: Option<i64>,
    /// Upper bounds of buckets, or quantiles.
    bounds: Vec<f64>,
    /// Names of states.
    states: Vec<&'a str>,
    /// Labels of an info.
    info: Vec<(&'a str, &'a str)>,
    has_created: bool,
}

impl<'a> Point<'a> {
    fn parse(mut fields: Fields<'a>) -> Result<Self, ProtoError> {
        let mut point = Self::default();
        while let Some(field) = fields.next()? {
            match field.number {
                number @ 3..=7 => point.value(number, field.message()?)?,
                8 => point.milliseconds = Some(milliseconds(field.message()?)?),
                _ => {}
            }
        }
        Ok(point)
    }

    fn value(&mut self, number: u32, mut fields: Fields<'a>) -> Result<(), ProtoError> {
        while let Some(field) = fields.next()? {
            match (number, field.number) {
                // A counter's time of creation is before its exemplar, that of the others after their count.
                (3, 3) | (4 | 7, 4) => self.has_created = true,
                (4, 5) => self.bounds.push(last_double(&field, 2)?),
                (7, 5) => self.bounds.push(last_double(&field, 1)?),
                (5, 1) => {
                    let mut state = field.message()?;
                    while let Some(field) = state.next()? {
                        if field.number == 2 {
                            self.states.push(field.text()?);
                        }
                    }
                }
                (6, 1) => push_label(&mut self.info, label_pair(field.message()?)?, &field)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn last_double(field: &Field<'_>, number: u32) -> Result<f64, ProtoError> {
    super::message::last_double(field.message()?, number)
}

/// Returns the time of a `google.protobuf.Timestamp`. A time out of range is one that fits nowhere.
fn milliseconds(mut fields: Fields<'_>) -> Result<i64, ProtoError> {
    let (mut seconds, mut nanos) = (0_i64, 0_i64);
    while let Some(field) = fields.next()? {
        match field.number {
            1 => seconds = field.int64()?,
            2 => nanos = field.int64()?,
            _ => {}
        }
    }
    Ok(seconds.saturating_mul(1_000).saturating_add(nanos / 1_000_000))
}

fn give<S: SeriesSink>(
    family: &Family<'_>,
    labels: &[(&str, &str)],
    point: &Point<'_>,
    sink: &mut S,
) -> Result<(), S::Error> {
    let all: Vec<(&str, &str)> = labels.iter().chain(&point.info).copied().collect();
    let mut series = MetricSeries { name: family.name, labels: &all, milliseconds: point.milliseconds, sink };
    let (count, sum) = match family.family_type {
        FamilyType::Counter => {
            series.give("_total", None)?;
            return if point.has_created { series.give("_created", None) } else { Ok(()) };
        }
        FamilyType::Info => return series.give("_info", None),
        FamilyType::StateSet => {
            return point.states.iter().try_for_each(|state| series.give("", Some((family.name, state))));
        }
        FamilyType::Histogram => ("_count", "_sum"),
        FamilyType::GaugeHistogram => ("_gcount", "_gsum"),
        FamilyType::Summary => ("_count", "_sum"),
        FamilyType::Gauge | FamilyType::Unknown => return series.give("", None),
    };
    let (suffix, label) = if family.family_type == FamilyType::Summary { ("", "quantile") } else { ("_bucket", "le") };
    for &bound in &point.bounds {
        series.give(suffix, Some((label, &open_metrics_float(bound))))?;
    }
    series.give(count, None)?;
    series.give(sum, None)?;
    if point.has_created { series.give("_created", None) } else { Ok(()) }
}
