//! Messages of `io.prometheus.client`, as far as series need them. Unknown fields are skipped.

use crate::prometheus::label_pair::push_label;
use crate::prometheus::{FamilyType, label_pair};
use crate::protobuf::{Field, Fields, ProtoError};

/// `MetricFamily`. Metrics are not decoded yet: a decoded metric takes many times its bytes.
#[derive(Debug)]
pub(super) struct MetricFamily<'a> {
    pub(super) name: &'a str,
    /// Help, or the error of a text that is not UTF-8.
    pub(super) help: Result<&'a str, ProtoError>,
    pub(super) family_type: i32,
    pub(super) metrics: Vec<Fields<'a>>,
    /// Unit, or the error of a text that is not UTF-8.
    pub(super) unit: Result<&'a str, ProtoError>,
}

impl<'a> MetricFamily<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, ProtoError> {
        let mut family = Self { name: "", help: Ok(""), family_type: 0, metrics: Vec::new(), unit: Ok("") };
        let mut fields = Fields::new(bytes, 0);
        let mut count = 0;
        fields.each_number(|number| count += usize::from(number == 4))?;
        fields.check_parts(count * size_of::<Fields<'_>>(), count)?;
        family.metrics.reserve_exact(count);
        while let Some(field) = fields.next()? {
            match field.number {
                1 => family.name = field.text()?,
                2 => family.help = text(&field)?,
                3 => family.family_type = field.int32()?,
                4 => family.metrics.push(field.message()?),
                5 => family.unit = text(&field)?,
                _ => {}
            }
        }
        Ok(family)
    }

    /// Returns the type of the family, [`FamilyType::Unknown`] for numbers that are not known.
    pub(super) fn family_type(&self) -> FamilyType {
        match self.family_type {
            0 => FamilyType::Counter,
            1 => FamilyType::Gauge,
            2 => FamilyType::Summary,
            4 => FamilyType::Histogram,
            5 => FamilyType::GaugeHistogram,
            _ => FamilyType::Unknown,
        }
    }
}

/// Returns the text of a field, or the error of a text that is not UTF-8.
fn text<'a>(field: &Field<'a>) -> Result<Result<&'a str, ProtoError>, ProtoError> {
    field.bytes()?;
    Ok(field.text())
}

/// `Metric`.
#[derive(Debug, Default)]
pub(super) struct Metric<'a> {
    pub(super) labels: Vec<(&'a str, &'a str)>,
    /// Quantiles of the summary.
    pub(super) quantiles: Vec<f64>,
    pub(super) timestamp_ms: i64,
    pub(super) histogram: Histogram,
}

impl<'a> Metric<'a> {
    pub(super) fn parse(mut fields: Fields<'a>) -> Result<Self, ProtoError> {
        let mut metric = Self::default();
        while let Some(field) = fields.next()? {
            match field.number {
                1 => push_label(&mut metric.labels, label_pair(field.message()?)?, &field)?,
                4 => {
                    let mut summary = field.message()?;
                    while let Some(field) = summary.next()? {
                        if field.number == 3 {
                            metric.quantiles.push(last_double(field.message()?, 1)?);
                        }
                    }
                }
                6 => metric.timestamp_ms = field.int64()?,
                7 => metric.histogram.extend(field.message()?)?,
                _ => {}
            }
        }
        Ok(metric)
    }
}

/// `Histogram`. The default is a histogram without buckets.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    /// Upper bounds of the classic buckets.
    pub(super) upper_bounds: Vec<f64>,
    zero_threshold: f64,
    zero_count: u64,
    has_spans: bool,
}

impl Histogram {
    /// Reads a piece of the message. A message in several pieces is their concatenation.
    fn extend(&mut self, mut fields: Fields<'_>) -> Result<(), ProtoError> {
        while let Some(field) = fields.next()? {
            match field.number {
                3 => self.upper_bounds.push(last_double(field.message()?, 2)?),
                6 => self.zero_threshold = field.double()?,
                7 => self.zero_count = field.varint()?,
                // Negative and positive spans of native buckets.
                9 | 12 => {
                    let mut span = field.message()?;
                    while span.next()?.is_some() {}
                    self.has_spans = true;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns true if it has native buckets, by the rule of Prometheus.
    pub(super) fn is_native(&self) -> bool {
        self.zero_threshold > 0.0 || self.zero_count > 0 || self.has_spans
    }
}

/// Returns the `double` in field `number` of a message, or 0 if there is none.
pub(super) fn last_double(mut fields: Fields<'_>, number: u32) -> Result<f64, ProtoError> {
    let mut value = 0.0;
    while let Some(field) = fields.next()? {
        if field.number == number {
            value = field.double()?;
        }
    }
    Ok(value)
}
