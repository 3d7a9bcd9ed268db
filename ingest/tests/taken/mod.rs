//! Sink that collects series.

use std::convert::Infallible;

use chronoxide_format::metadata::{MetricMetadata, MetricType, Monotonicity, Temporality};
use chronoxide_ingest::SeriesSink;

/// Labels in the order in which they came, and times of points.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    pub labels: Vec<(String, String)>,
    pub points: Vec<(i64, i64)>,
    /// Number of points whose time is not usable.
    pub untimed: usize,
}

/// Metadata that outlives what it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    pub name: String,
    pub metric_type: MetricType,
    pub temporality: Temporality,
    pub is_monotonic: bool,
    pub unit: String,
    pub description: String,
}

/// Received calls, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    pub series: Vec<Series>,
    pub metadata: Vec<Metadata>,
    /// The series that has begun.
    open: Option<Series>,
}

impl Taken {
    /// True while a series is open.
    #[allow(dead_code, reason = "each test file uses a part")]
    pub fn is_torn(&self) -> bool {
        self.open.is_some()
    }
}

impl SeriesSink for Taken {
    type Error = Infallible;

    fn series_begins(&mut self) -> Result<(), Infallible> {
        self.open = Some(Series::default());
        Ok(())
    }

    fn label(&mut self, name: &str, value: &str) -> Result<(), Infallible> {
        let series = self.open.as_mut().expect("a series has begun");
        series.labels.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    fn point_without_time(&mut self) -> Result<(), Infallible> {
        self.open.as_mut().expect("a series has begun").untimed += 1;
        Ok(())
    }

    fn points(&mut self, first: i64, last: i64) -> Result<(), Infallible> {
        self.open.as_mut().expect("a series has begun").points.push((first, last));
        Ok(())
    }

    fn series_ends(&mut self) -> Result<(), Infallible> {
        self.series.push(self.open.take().expect("a series has begun"));
        Ok(())
    }

    fn metadata(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), Infallible> {
        self.metadata.push(Metadata {
            name: metadata.name.to_owned(),
            metric_type: metadata.metric_type,
            temporality: metadata.temporality,
            is_monotonic: metadata.monotonicity == Monotonicity::Monotonic,
            unit: metadata.unit.to_owned(),
            description: metadata.description.to_owned(),
        });
        Ok(())
    }
}
