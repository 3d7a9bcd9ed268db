//! Sink of series.

use chronoxide_format::column::Value;
use chronoxide_format::metadata::MetricMetadata;
use chronoxide_format::policy::is_reserved_name;

use super::assembler::Assembler;
use super::blocks::BlockSink;
use super::error::AssembleError;
use crate::otlp::Level;
use crate::series::{ColumnFacts, KnownLabels, SeriesSink};

impl<B: BlockSink> SeriesSink for Assembler<B> {
    type Error = AssembleError;

    fn series_begins(&mut self) -> Result<(), AssembleError> {
        self.clear_point();
        self.metric.clear();
        self.series_times.clear();
        self.untimed_points = 0;
        self.windows.metric_begins();
        self.check_memory_of_work()
    }

    #[inline]
    fn label(&mut self, name: &str, value: &str) -> Result<(), AssembleError> {
        if self.options.type_and_unit_labels && name == "__name__" {
            self.add_type_and_unit(value)?;
        }
        Ok(self.set(Level::Point, name, value)?)
    }

    #[inline]
    fn known_label(&mut self, known: &KnownLabels, number: u128) -> bool {
        let Some(label) = known.get(self.generation, number) else { return false };
        self.set_label(Level::Point, label.key, Some(label));
        true
    }

    fn keep_label(
        &mut self,
        known: &mut KnownLabels,
        number: Option<u128>,
        name: &str,
        value: &str,
    ) -> Result<(), AssembleError> {
        let cut = self.report.names_cut + self.report.values_cut;
        let is_label = !name.is_empty() && !is_reserved_name(name) && !value.is_empty();
        let is_cached = is_label && !self.options.type_and_unit_labels;
        let Some(number) = number.filter(|_| is_cached) else { return self.label(name, value) };
        if self.point.refuses() {
            return Ok(());
        }
        self.work += 1;
        let label = self.intern_label(name, value)?;
        // Truncations are counted each time, so these labels are not kept.
        if cut == self.report.names_cut + self.report.values_cut {
            known.insert(self.generation, number, label);
        }
        self.set_label(Level::Point, label.key, Some(label));
        Ok(())
    }

    fn column(&mut self, column: &ColumnFacts) -> Result<usize, AssembleError> {
        self.columns.number(column, &self.input_name)
    }

    fn value(&mut self, column: usize, value: Value<'_>) -> Result<(), AssembleError> {
        self.columns.note(column, value);
        self.series_values.push((column, value.into()));
        Ok(())
    }

    fn value_out_of_range(&mut self, _: usize) -> Result<(), AssembleError> {
        self.report.skipped.values_out_of_range += 1;
        Ok(())
    }

    fn points(&mut self, first: i64, last: i64) -> Result<(), AssembleError> {
        // The range is half-open, so its end must fit too.
        self.series_times.push((first.min(i64::MAX - 1), last.min(i64::MAX - 1)));
        Ok(())
    }

    fn point_without_time(&mut self) -> Result<(), AssembleError> {
        self.untimed_points += 1;
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
        self.add_input_labels();

        self.report.points += self.untimed_points;
        self.report.points_without_time += self.untimed_points;
        let times = std::mem::take(&mut self.series_times);
        let result = if times.is_empty() {
            self.insert([self.default_times()])
        } else {
            self.report.points += times.len() as u64;
            times.iter().for_each(|&times| self.report.add_times(times));
            self.insert(times.iter().copied().map(Some))
        };
        self.series_times = times;
        result
    }

    fn invalid_series(&mut self) -> bool {
        let skips = self.options.skip_invalid_texts;
        self.report.skipped.invalid_texts += u64::from(skips);
        self.report.skipped.invalid_series += u64::from(skips);
        skips
    }

    fn invalid_metadata(&mut self) -> bool {
        let skips = self.options.skip_invalid_texts;
        self.report.skipped.invalid_texts += u64::from(skips);
        skips
    }

    fn metadata(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), AssembleError> {
        self.report.metrics += 1;
        self.families.add(metadata, self.options.type_and_unit_labels);
        if let Some(number) = self.intern_metadata(metadata) {
            self.windows.everywhere(number);
        }
        Ok(())
    }
}

impl<B: BlockSink> Assembler<B> {
    /// Adds type and unit to the series, if there is metadata of its metric.
    fn add_type_and_unit(&mut self, name: &str) -> Result<(), AssembleError> {
        self.metric.clear();
        let families = std::mem::take(&mut self.families);
        let added = families.find(name).map_or(Ok(()), |metadata| self.push_type_and_unit(&metadata, metadata.unit));
        self.families = families;
        Ok(added?)
    }
}
