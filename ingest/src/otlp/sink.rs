//! Sink of the parts of a request: [`OtlpSink`].

use chronoxide_format::metadata::MetricMetadata;

use super::kind::MetricKind;

/// Flag of a point that has no recorded value (`FLAG_NO_RECORDED_VALUE_MASK`): the series exists, but was not measured.
pub const NO_RECORDED_VALUE: u64 = 1;

/// Level of an attribute. The more specific level is greater, and wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Resource: the measured entity, such as a pod or a host.
    Resource,
    /// Instrumentation scope: the measuring library.
    Scope,
    /// Data point.
    Point,
}

/// Owner of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Resource, by an attribute.
    Resource,
    /// Scope, by an attribute, its name or its version.
    Scope,
    /// Metric, by its name or unit.
    Metric,
    /// Point, by an attribute.
    Point,
    /// Description of a metric, which no series depends on.
    Description,
}

impl From<Level> for Owner {
    fn from(level: Level) -> Self {
        match level {
            Level::Resource => Self::Resource,
            Level::Scope => Self::Scope,
            Level::Point => Self::Point,
        }
    }
}

/// Data point. Its attributes come before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point<'a> {
    /// Kind of its metric.
    pub kind: MetricKind,
    /// Time in nanoseconds since 1970, or 0 if it has none.
    pub time_unix_nano: u64,
    /// Flags: see [`NO_RECORDED_VALUE`].
    pub flags: u64,
    /// True if a histogram has a sum.
    pub has_sum: bool,
    /// Upper bounds of a histogram's buckets, except for the last bucket. Empty unless [needed](Needs::buckets).
    pub bucket_bounds: &'a [f64],
    /// Quantiles of a summary. Empty unless [needed](Needs::buckets).
    pub quantiles: &'a [f64],
}

/// Optional needs of a sink. Each costs decoding time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// All metadata of a metric before its points. In JSON it is mostly written after them, so that points are read
    /// twice.
    pub metadata_first: bool,
    /// Bounds of buckets, and quantiles.
    pub buckets: bool,
    /// Schema URL of each scope, as its attribute `otel_scope_schema_url`. In JSON it is mostly written after the
    /// metrics of the scope, so that these are read twice.
    pub scope_schema_url: bool,
}

/// Sink of the parts of a request: a resource and its attributes; for each of its scopes the attributes; for each
/// metric of the scope its name; for each point its attributes and the point. Parts come in this order, whatever their
/// order in the bytes.
///
/// No call follows one that returned an error.
pub trait OtlpSink {
    /// Error of refusing a part.
    type Error;

    /// Returns the needs of the sink. Called once per request.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Begins a resource. Attributes of the resource before it and of its scopes are no longer valid.
    fn resource(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Begins a scope. Attributes of the scope before it are no longer valid.
    fn scope(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Adds an attribute of the resource, the scope, or the next point, in order of the bytes. A scope's name and
    /// version come after its attributes, as `otel_scope_name` and `otel_scope_version`, if they are not empty.
    fn attribute(&mut self, level: Level, key: &str, value: &str) -> Result<(), Self::Error>;

    /// Adds an attribute as the bytes of its protobuf message. Returns true if it was taken; otherwise it is given
    /// again to [`attribute`](Self::attribute).
    fn encoded_attribute(&mut self, level: Level, bytes: &[u8]) -> Result<bool, Self::Error> {
        let _ = (level, bytes);
        Ok(false)
    }

    /// Adds neighbouring attributes as the bytes of their protobuf fields, keys included. Returns true if they were
    /// taken. Otherwise each of them is given again, and then
    /// [`encoded_attributes_end`](Self::encoded_attributes_end) is called with the same bytes.
    ///
    /// The bytes may be empty: then one attribute follows whose field does not have the usual key.
    fn encoded_attributes(&mut self, level: Level, bytes: &[u8]) -> Result<bool, Self::Error> {
        let _ = (level, bytes);
        Ok(false)
    }

    /// Ends neighbouring attributes that were not taken as bytes.
    fn encoded_attributes_end(&mut self, level: Level, bytes: &[u8]) -> Result<(), Self::Error> {
        let _ = (level, bytes);
        Ok(())
    }

    /// Tells of a text that is not valid UTF-8, in place of the text. Returns true if the sink leaves out all points of
    /// the owner, and false if the request is malformed. A text of a metric comes before the metric.
    fn invalid_text(&mut self, owner: Owner) -> bool {
        let _ = owner;
        false
    }

    /// Begins a metric. The name may be empty. The other metadata is what is known so far, or all of it if
    /// [needed](Needs::metadata_first).
    fn metric(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), Self::Error>;

    /// Begins a point of the metric. Attributes of the point before it are no longer valid.
    fn point_begins(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Adds the point, after its attributes.
    fn point(&mut self, point: &Point<'_>) -> Result<(), Self::Error>;

    /// Ends the metric after `point_count` points. All its metadata is known now.
    fn metric_ends(&mut self, metadata: &MetricMetadata<'_>, point_count: u64) -> Result<(), Self::Error> {
        let _ = (metadata, point_count);
        Ok(())
    }
}
