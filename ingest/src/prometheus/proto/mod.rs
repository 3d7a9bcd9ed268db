//! Exposition formats as protobuf: length-delimited `io.prometheus.client.MetricFamily` messages, which Prometheus
//! scrapes to get native histograms, and the `MetricSet` of OpenMetrics.
//!
//! | module | contents |
//! | --- | --- |
//! | `message` | the messages that series need |
//! | `open_metrics` | families of OpenMetrics |
//! | `detect` | detection of such messages by content |
//! | `error` | errors of malformed families |
//!
//! A family has the series of Prometheus 3: `_bucket` with `le`, including `+Inf`, `_sum` and `_count` for a classic
//! histogram; `quantile`, `_sum` and `_count` for a summary; one series for each other metric. A histogram with native
//! buckets is one series, even if it has classic buckets, unless classic series are requested. Values, exemplars and
//! created timestamps are not read.

mod detect;
mod error;
mod message;
mod open_metrics;

pub use detect::{looks_like_metric_families, looks_like_metric_set};
pub use error::{ExpositionError, FamilyError};
use message::{Metric, MetricFamily};
pub(crate) use open_metrics::FAMILY_KEY;
pub use open_metrics::decode_open_metrics_family;

use super::{FamilyType, NAME, give_point, open_metrics_float};
use crate::protobuf::ProtoError;
use crate::series::SeriesSink;

/// Decodes a metric family, without its length prefix, and gives its parts to `sink`. With `classic_histograms`,
/// histograms with native and classic buckets get the classic series.
///
/// # Errors
///
/// The family is malformed, or the sink refuses a part. Metrics before a malformed one went to the sink.
pub fn decode_metric_family<S: SeriesSink>(
    message: &[u8],
    classic_histograms: bool,
    sink: &mut S,
) -> Result<(), ExpositionError<S::Error>> {
    let family = MetricFamily::parse(message).map_err(FamilyError::Message)?;
    if family.name.is_empty() {
        return Err(FamilyError::NoName.into());
    }
    let family_type = family.family_type();
    match (family.unit, family.help) {
        (Ok(unit), Ok(help)) => {
            sink.metadata(&family_type.metadata(family.name, unit, help)).map_err(ExpositionError::Sink)?;
        }
        (Err(error), _) | (_, Err(error)) => {
            if !sink.invalid_metadata() {
                return Err(FamilyError::Message(error).into());
            }
        }
    }
    for (number, &fields) in family.metrics.iter().enumerate() {
        let malformed = |source| FamilyError::Metric { family: family.name.to_owned(), number, source };
        let metric = match Metric::parse(fields) {
            Err(ProtoError::Utf8 { .. }) if sink.invalid_series() => continue,
            metric => metric.map_err(malformed)?,
        };
        // A missing field and 0 are equal in protobuf.
        let milliseconds = Some(metric.timestamp_ms).filter(|&milliseconds| milliseconds != 0);
        let mut series = MetricSeries { name: family.name, labels: &metric.labels, milliseconds, sink };
        give(family_type, &metric, classic_histograms, &mut series).map_err(ExpositionError::Sink)?;
    }
    Ok(())
}

fn give<S: SeriesSink>(
    family_type: FamilyType,
    metric: &Metric<'_>,
    classic_histograms: bool,
    series: &mut MetricSeries<'_, S>,
) -> Result<(), S::Error> {
    match family_type {
        FamilyType::Histogram | FamilyType::GaugeHistogram => {
            let histogram = &metric.histogram;
            let has_classic = classic_histograms && !histogram.upper_bounds.is_empty();
            if histogram.is_native() && !has_classic {
                return series.give("", None);
            }
            for &bound in &histogram.upper_bounds {
                if bound != f64::INFINITY {
                    series.give("_bucket", Some(("le", &open_metrics_float(bound))))?;
                }
            }
            series.give("_bucket", Some(("le", "+Inf")))?;
        }
        FamilyType::Summary => {
            for &quantile in &metric.quantiles {
                series.give("", Some(("quantile", &open_metrics_float(quantile))))?;
            }
        }
        _ => return series.give("", None),
    }
    series.give("_sum", None)?;
    series.give("_count", None)
}

/// Series of one metric.
struct MetricSeries<'a, S> {
    name: &'a str,
    labels: &'a [(&'a str, &'a str)],
    milliseconds: Option<i64>,
    sink: &'a mut S,
}

impl<S: SeriesSink> MetricSeries<'_, S> {
    /// Gives the series with this suffix and label to the sink.
    fn give(&mut self, suffix: &str, label: Option<(&str, &str)>) -> Result<(), S::Error> {
        let sink = &mut *self.sink;
        sink.series_begins()?;
        if suffix.is_empty() {
            sink.label(NAME, self.name)?;
        } else {
            sink.label(NAME, &format!("{}{suffix}", self.name))?;
        }
        for (name, value) in self.labels {
            sink.label(name, value)?;
        }
        if let Some((name, value)) = label {
            sink.label(name, value)?;
        }
        if let Some(milliseconds) = self.milliseconds {
            give_point(milliseconds, sink)?;
        }
        sink.series_ends()
    }
}
