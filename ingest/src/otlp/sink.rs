//! What takes the parts of a request in order.

use super::kind::MetricKind;
use chronoxide_format::metadata::MetricMetadata;

/// The bit of a point's flags that says that it has no value (`FLAG_NO_RECORDED_VALUE_MASK`): the series exists, and
/// was not measured.
pub const NO_RECORDED_VALUE: u64 = 1;

/// What an attribute describes. The more specific level is the greater one, and wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The resource: what was measured, such as a pod or a host.
    Resource,
    /// The instrumentation scope: what measured it.
    Scope,
    /// The data point.
    Point,
}

/// A data point, whose attributes came before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point<'a> {
    /// The kind of its metric.
    pub kind: MetricKind,
    /// Its time in nanoseconds since 1970; 0 if it has none.
    pub time_unix_nano: u64,
    /// Its flags: see [`NO_RECORDED_VALUE`].
    pub flags: u64,
    /// Whether a histogram has a sum.
    pub has_sum: bool,
    /// The upper bounds of a histogram's buckets that have a count, without that of the last one; empty unless
    /// [needed](Needs::buckets).
    pub bucket_bounds: &'a [f64],
    /// The quantiles of a summary; empty unless [needed](Needs::buckets).
    pub quantiles: &'a [f64],
}

/// What a sink needs beyond the least, each at a cost to whoever decodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// All metadata of a metric before its points. In JSON they mostly stand after them, so that points are read twice.
    pub metadata_first: bool,
    /// Bounds of buckets, and quantiles.
    pub buckets: bool,
    /// The schema URL of each scope, as its attribute `otel_scope_schema_url`. In JSON it mostly stands after the metrics of the
    /// scope, so that these are read twice.
    pub scope_schema_url: bool,
}

/// Takes the parts of a request: a resource and its attributes; for each of its scopes its attributes; for each
/// metric of the scope its name; for each point its attributes and the point. Whatever the order in the bytes, they
/// come in this order.
///
/// A call that returns an error is the last one.
pub trait OtlpSink {
    /// Why a part was not taken.
    type Error;

    /// What it needs. Asked once per request.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// A resource begins: attributes of the one before it are no longer valid, nor are those of its scopes.
    fn resource(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A scope begins: attributes of the one before it are no longer valid.
    fn scope(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// An attribute of the resource, the scope, or the next point, in the order of the bytes. A scope's name and
    /// version come after its attributes, as `otel_scope_name` and `otel_scope_version`, and only if not empty.
    fn attribute(&mut self, level: Level, key: &str, value: &str) -> Result<(), Self::Error>;

    /// An attribute as the bytes of its message, where it comes as protobuf. Whether it was taken; if not, it comes again
    /// as [`attribute`](Self::attribute).
    fn encoded_attribute(&mut self, level: Level, bytes: &[u8]) -> Result<bool, Self::Error> {
        let _ = (level, bytes);
        Ok(false)
    }

    /// A metric with this name begins; the name may be empty. The other metadata are what is known so far, which is all
    /// of them if [needed](Needs::metadata_first).
    fn metric(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), Self::Error>;

    /// A point of the metric begins: attributes of the one before it are no longer valid.
    fn point_begins(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The point, after its attributes.
    fn point(&mut self, point: &Point<'_>) -> Result<(), Self::Error>;

    /// The metric ends, after this many points. All its metadata are known now.
    fn metric_ends(&mut self, metadata: &MetricMetadata<'_>, point_count: u64) -> Result<(), Self::Error> {
        let _ = (metadata, point_count);
        Ok(())
    }
}
