//! What a collector makes of series.

use super::blocks::BlockSink;
use super::collect::Collector;
use super::error::CollectError;
use crate::otlp::Level;
use crate::series::SeriesSink;
use chronoxide_format::metadata::{MetricMetadata, OwnedMetricMetadata};

/// What Prometheus appends to the name of a metric for the series that it has of it.
const SUFFIXES: [&str; 9] = ["", "_total", "_bucket", "_sum", "_count", "_created", "_info", "_gsum", "_gcount"];

impl<B: BlockSink> SeriesSink for Collector<B> {
    type Error = CollectError;

    fn series_begins(&mut self) -> Result<(), CollectError> {
        self.recall.drop_pending();
        self.point.clear();
        self.metric.clear();
        self.series_times.clear();
        Ok(())
    }

    #[inline]
    fn label(&mut self, name: &str, value: &str) -> Result<(), CollectError> {
        if self.options.type_and_unit_labels && name == "__name__" {
            self.add_type_and_unit(value)?;
        }
        Ok(self.set(Level::Point, name, value)?)
    }

    fn points(&mut self, first: i64, last: i64) -> Result<(), CollectError> {
        self.series_times.push((first, last));
        Ok(())
    }

    fn series_ends(&mut self) -> Result<(), CollectError> {
        let Self { labels, metric, point, .. } = self;
        labels.clear();
        labels.extend_from_slice(metric);
        let own = point.list.iter().filter(|(key, _)| !metric.iter().any(|label| label.key == *key));
        labels.extend(own.filter_map(|&(_, label)| label));

        let times = std::mem::take(&mut self.series_times);
        let result = if times.is_empty() {
            self.insert([self.options.time.map(|range| (range.start, range.end.saturating_sub(1)))])
        } else {
            self.report.points += times.len() as u64;
            times.iter().for_each(|&times| self.report.add_times(times));
            self.insert(times.iter().copied().map(Some))
        };
        self.series_times = times;
        result
    }

    fn metadata(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), CollectError> {
        self.report.metrics += 1;
        self.said = OwnedMetricMetadata::from(*metadata);
        if let Some(number) = self.intern_metadata(metadata) {
            self.windows.everywhere(number);
        }
        Ok(())
    }
}

impl<B: BlockSink> Collector<B> {
    /// Gives the series type and unit, if the metadata that came last are those of its metric.
    fn add_type_and_unit(&mut self, name: &str) -> Result<(), CollectError> {
        let said = std::mem::take(&mut self.said);
        let metadata = said.borrowed();
        if name.strip_prefix(metadata.name).is_some_and(|suffix| SUFFIXES.contains(&suffix)) {
            self.push_type_and_unit(&metadata, metadata.unit)?;
        }
        self.said = said;
        Ok(())
    }
}
