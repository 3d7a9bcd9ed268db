//! Points: when they are, and what they say.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::summary_data_point::ValueAtQuantile;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram, HistogramDataPoint,
    Metric, NumberDataPoint, Sum, Summary, SummaryDataPoint,
};

use crate::random::Random;
use crate::telemetry::instrument::{Instrument, Kind};

/// When a scrape is, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Since when cumulative sums count.
    pub(crate) start: u64,
    /// The scrape before this one: since when deltas count.
    pub(crate) previous: u64,
    /// The scrape.
    pub(crate) time: u64,
}

impl Moment {
    /// Returns the count since `since` at a rate per minute.
    fn count(self, since: u64, per_minute: u64) -> u64 {
        let nanos = u128::from(self.time.saturating_sub(since)) * u128::from(per_minute);
        u64::try_from(nanos / 60_000_000_000).unwrap_or(u64::MAX)
    }
}

/// The attributes of a point, and a seed for its values.
type Point = (Vec<KeyValue>, u64);

/// A metric with its points.
pub(crate) fn metric(instrument: &Instrument, points: Vec<Point>, moment: Moment) -> Metric {
    let cumulative = AggregationTemporality::Cumulative.into();
    let sum = |points, aggregation_temporality: AggregationTemporality, is_monotonic| {
        Data::Sum(Sum { data_points: points, aggregation_temporality: aggregation_temporality.into(), is_monotonic })
    };
    let Moment { start, previous, .. } = moment;
    let data = match instrument.kind {
        Kind::Gauge => {
            let level = |(attributes, seed)| number(attributes, 0, moment, level(seed, moment));
            Data::Gauge(Gauge { data_points: points.into_iter().map(level).collect() })
        }
        Kind::Counter => {
            let points = points.into_iter().map(|point| counted(point, start, moment)).collect();
            sum(points, AggregationTemporality::Cumulative, true)
        }
        Kind::Delta => {
            let points = points.into_iter().map(|point| counted(point, previous, moment)).collect();
            sum(points, AggregationTemporality::Delta, true)
        }
        Kind::UpDown => {
            let level = |(attributes, seed)| {
                number(attributes, start, moment, Value::AsInt(Random::at(&[seed, moment.time]).below(5000) as i64))
            };
            sum(points.into_iter().map(level).collect(), AggregationTemporality::Cumulative, false)
        }
        Kind::Histogram(bounds) => Data::Histogram(Histogram {
            data_points: points.into_iter().map(|point| histogram(point, bounds, moment)).collect(),
            aggregation_temporality: cumulative,
        }),
        Kind::Exponential => Data::ExponentialHistogram(ExponentialHistogram {
            data_points: points.into_iter().map(|point| exponential(point, moment)).collect(),
            aggregation_temporality: cumulative,
        }),
        Kind::Summary => {
            Data::Summary(Summary { data_points: points.into_iter().map(|point| summary(point, moment)).collect() })
        }
    };
    Metric {
        name: instrument.name.clone().into_owned(),
        description: instrument.description.to_owned(),
        unit: instrument.unit.to_owned(),
        metadata: Vec::new(),
        data: Some(data),
    }
}

fn number(attributes: Vec<KeyValue>, start: u64, moment: Moment, value: Value) -> NumberDataPoint {
    NumberDataPoint {
        attributes,
        start_time_unix_nano: start,
        time_unix_nano: moment.time,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

/// A whole number or one with quarters, which any machine adds and prints alike.
fn level(seed: u64, moment: Moment) -> Value {
    let quarters = Random::at(&[seed, moment.time]).below(1 << 20);
    if seed.is_multiple_of(2) { Value::AsInt(quarters as i64) } else { Value::AsDouble(quarters as f64 / 4.0) }
}

fn per_minute(seed: u64) -> u64 {
    1 + Random::at(&[seed]).below(20_000)
}

fn counted((attributes, seed): Point, since: u64, moment: Moment) -> NumberDataPoint {
    let count = moment.count(since, per_minute(seed));
    number(attributes, since, moment, Value::AsInt(i64::try_from(count).unwrap_or(i64::MAX)))
}

/// Shares of a count, which fall to both sides of a middle; together they are the count.
fn shares(count: u64, buckets: usize, seed: u64) -> Vec<u64> {
    let middle = Random::at(&[seed, 1]).index(buckets);
    let mut rest = count;
    let mut shares = vec![0; buckets];
    for place in (0..buckets).filter(|place| *place != middle) {
        let distance = place.abs_diff(middle).min(20) as u32;
        let share = (count / 3) >> (2 * distance);
        let share = share.min(rest);
        shares[place] = share;
        rest -= share;
    }
    if let Some(share) = shares.get_mut(middle) {
        *share += rest;
    }
    shares
}

fn histogram((attributes, seed): Point, bounds: &[f64], moment: Moment) -> HistogramDataPoint {
    let count = moment.count(moment.start, per_minute(seed));
    HistogramDataPoint {
        attributes,
        start_time_unix_nano: moment.start,
        time_unix_nano: moment.time,
        count,
        sum: Some(count as f64 / 8.0),
        bucket_counts: shares(count, bounds.len() + 1, seed),
        explicit_bounds: bounds.to_vec(),
        ..HistogramDataPoint::default()
    }
}

fn exponential((attributes, seed): Point, moment: Moment) -> ExponentialHistogramDataPoint {
    let count = moment.count(moment.start, per_minute(seed));
    let zero_count = count / 64;
    let offset = Random::at(&[seed, 2]).below(16) as i32 - 8;
    ExponentialHistogramDataPoint {
        attributes,
        start_time_unix_nano: moment.start,
        time_unix_nano: moment.time,
        count,
        sum: Some(count as f64 / 4.0),
        scale: 3,
        zero_count,
        positive: Some(Buckets { offset, bucket_counts: shares(count - zero_count, 12, seed) }),
        ..ExponentialHistogramDataPoint::default()
    }
}

fn summary((attributes, seed): Point, moment: Moment) -> SummaryDataPoint {
    let count = moment.count(moment.start, per_minute(seed));
    let median = 1.0 + Random::at(&[seed, 3]).below(1000) as f64 / 4.0;
    let value = |(quantile, factor): (f64, f64)| ValueAtQuantile { quantile, value: median * factor };
    SummaryDataPoint {
        attributes,
        start_time_unix_nano: moment.start,
        time_unix_nano: moment.time,
        count,
        sum: count as f64 * median,
        quantile_values: [(0.5, 1.0), (0.9, 2.0), (0.99, 8.0)].map(value).to_vec(),
        ..SummaryDataPoint::default()
    }
}
