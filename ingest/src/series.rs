//! Sink of series: [`SeriesSink`].

use chronoxide_format::metadata::MetricMetadata;

/// Sink of series with labels.
///
/// For each series the calls are: `series_begins`, the labels in order of the input, the known times of its points,
/// `series_ends`. Metadata of metrics comes between series.
///
/// No call follows one that returned an error. A series without `series_ends` was malformed.
pub trait SeriesSink {
    /// Error of refusing a part.
    type Error;

    /// Begins a series. Labels of an unfinished series are discarded.
    fn series_begins(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Adds a label to the series.
    fn label(&mut self, name: &str, value: &str) -> Result<(), Self::Error>;

    /// Adds points from `first` to `last`, both inclusive, in nanoseconds since 1970. Called any number of times, and
    /// not at all if times are unknown.
    fn points(&mut self, first: i64, last: i64) -> Result<(), Self::Error> {
        let _ = (first, last);
        Ok(())
    }

    /// Ends the series.
    fn series_ends(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Adds the metadata of a metric.
    fn metadata(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), Self::Error> {
        let _ = metadata;
        Ok(())
    }
}
