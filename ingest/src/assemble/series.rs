//! What an assembler makes of series.

use super::assembler::Assembler;
use super::blocks::BlockSink;
use super::error::AssembleError;
use crate::otlp::Level;
use crate::series::SeriesSink;
use chronoxide_format::metadata::{MetricMetadata, OwnedMetricMetadata};
use std::collections::HashMap;

/// What Prometheus appends to the name of a metric for the series that it has of it.
const SUFFIXES: [&str; 9] = ["", "_total", "_bucket", "_sum", "_count", "_created", "_info", "_gsum", "_gcount"];

/// Bytes of memory for what is said of one metric, beside its texts.
const SAID_OVERHEAD: usize = 256;

impl<B: BlockSink> SeriesSink for Assembler<B> {
    type Error = AssembleError;

    fn series_begins(&mut self) -> Result<(), AssembleError> {
        self.recall.drop_pending();
        self.point.clear();
        self.metric.clear();
        self.series_times.clear();
        self.windows.metric_begins();
        self.look_at_work()
    }

    #[inline]
    fn label(&mut self, name: &str, value: &str) -> Result<(), AssembleError> {
        if self.options.type_and_unit_labels && name == "__name__" {
            self.add_type_and_unit(value)?;
        }
        Ok(self.set(Level::Point, name, value)?)
    }

    fn points(&mut self, first: i64, last: i64) -> Result<(), AssembleError> {
        // A range is half-open, so its end must fit too.
        self.series_times.push((first.min(i64::MAX - 1), last.min(i64::MAX - 1)));
        Ok(())
    }

    fn series_ends(&mut self) -> Result<(), AssembleError> {
        if self.point.is_overfull {
            self.report.skipped.too_many_labels += 1;
            return Ok(());
        }
        let Self { labels, metric, point, .. } = self;
        labels.clear();
        labels.extend_from_slice(metric);
        let own = point.list.iter().filter(|(key, _)| !metric.iter().any(|label| label.key == *key));
        labels.extend(own.filter_map(|&(_, label)| label));

        let times = std::mem::take(&mut self.series_times);
        let result = if times.is_empty() {
            self.insert([self.said_times()])
        } else {
            self.report.points += times.len() as u64;
            times.iter().for_each(|&times| self.report.add_times(times));
            self.insert(times.iter().copied().map(Some))
        };
        self.series_times = times;
        result
    }

    fn metadata(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), AssembleError> {
        self.report.metrics += 1;
        self.last_said = OwnedMetricMetadata::from(*metadata);
        if self.options.type_and_unit_labels {
            self.remember(metadata);
        }
        if let Some(number) = self.intern_metadata(metadata) {
            self.windows.everywhere(number);
        }
        Ok(())
    }
}

/// Bytes of memory for what is said of a metric.
fn said_len(metadata: &MetricMetadata<'_>) -> usize {
    SAID_OVERHEAD + 2 * metadata.name.len() + metadata.unit.len() + metadata.description.len()
}

impl<B: BlockSink> Assembler<B> {
    /// Remembers what is said of a metric for labels of its series.
    fn remember(&mut self, metadata: &MetricMetadata<'_>) {
        self.said_bytes += said_len(metadata);
        if let Some(before) = self.said.insert(metadata.name.into(), self.last_said.clone()) {
            self.said_bytes -= said_len(&before.borrowed());
        }
    }

    /// Forgets what was said of all metrics but the last: families of exposition text stand together.
    pub(super) fn forget_said(&mut self) {
        self.said = HashMap::new();
        self.said_bytes = 0;
        if self.options.type_and_unit_labels && !self.last_said.borrowed().name.is_empty() {
            let last = std::mem::take(&mut self.last_said);
            self.said_bytes = said_len(&last.borrowed());
            self.said.insert(last.borrowed().name.into(), last.clone());
            self.last_said = last;
        }
    }

    /// Gives the series type and unit, if its metric is one of those of which something was said.
    fn add_type_and_unit(&mut self, name: &str) -> Result<(), AssembleError> {
        self.metric.clear();
        let said = std::mem::take(&mut self.said);
        let family = SUFFIXES.iter().find_map(|suffix| said.get(name.strip_suffix(suffix)?));
        let added = family
            .map(OwnedMetricMetadata::borrowed)
            .map_or(Ok(()), |metadata| self.push_type_and_unit(&metadata, metadata.unit));
        self.said = said;
        Ok(added?)
    }
}
