//! What takes series that come as labels: [`SeriesSink`].

use chronoxide_format::metadata::MetricMetadata;

/// Takes the series of inputs that have labels and not attributes: a series begins, its labels come in the order of the
/// input, then the times of its points as far as they are known, then it ends. Metadata of metrics may come before and
/// after any series.
///
/// A call that returns an error is the last one. A series that does not end was broken.
pub trait SeriesSink {
    /// Why a part was not taken.
    type Error;

    /// A series begins: labels of one that did not end are no longer valid.
    fn series_begins(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A label of the series.
    fn label(&mut self, name: &str, value: &str) -> Result<(), Self::Error>;

    /// The series has points from `first` to `last`, both included, in nanoseconds since 1970. May come several times,
    /// and does not come if times are not known.
    fn points(&mut self, first: i64, last: i64) -> Result<(), Self::Error> {
        let _ = (first, last);
        Ok(())
    }

    /// The series ends.
    fn series_ends(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// What is known about a metric.
    fn metadata(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), Self::Error> {
        let _ = metadata;
        Ok(())
    }
}
