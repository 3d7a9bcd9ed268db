//! One walk over a request as JSON, without a model in memory.
//!
//! Parts are given to the sink as they are read. In the order of the protocol, descriptions come first (the resource
//! before its scopes, the scope before its metrics, the name before the points). JSON may have another order: fields
//! before their description are kept as text and read at the end of their message. At most five levels can be deferred,
//! so no byte is read more than six times.

use std::borrow::Cow;
use std::fmt;

use chronoxide_format::metadata::{MetricMetadata, MetricType, Temporality};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::sink::{Level, Needs, OtlpSink, Point};
use super::schema::{Field, Message};
use super::text::{Double, Text, Unsigned};
use super::value::KeyValue;
use crate::error::DecodeError;
use crate::surrogates::replace_lone;

/// Decodes one `ExportMetricsServiceRequest` and gives its parts to `sink`.
///
/// Memory is bounded: only deferred fields are kept. If the request is malformed, the sink may have got parts of it. To
/// take all or nothing, decode it into a sink that ignores everything first.
///
/// # Errors
///
/// The bytes are not JSON or not such a request, or the sink refuses a part.
pub fn decode_otlp_json<S: OtlpSink>(bytes: &[u8], sink: &mut S) -> Result<(), DecodeError<S::Error>> {
    let text = replace_lone(std::str::from_utf8(bytes)?);
    let mut walk = Walk {
        needs: sink.needs(),
        sink,
        failure: None,
        metric: Metric::default(),
        bucket_bounds: Vec::new(),
        quantiles: Vec::new(),
    };
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    let result = Node { walk: &mut walk, message: Message::Request }
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    match (walk.failure, result) {
        (Some(failure), _) => Err(DecodeError::Sink(failure)),
        (None, result) => result.map_err(DecodeError::Json),
    }
}

/// State of the walk.
struct Walk<'s, 'de, S: OtlpSink> {
    sink: &'s mut S,
    needs: Needs,
    /// Error of the sink that stopped the walk, while serde returns an error of its own.
    failure: Option<S::Error>,
    metric: Metric<'de>,
    /// Bounds and quantiles of the current point.
    bucket_bounds: Vec<f64>,
    quantiles: Vec<f64>,
}

/// Current metric.
#[derive(Default)]
struct Metric<'de> {
    name: Cow<'de, str>,
    unit: Cow<'de, str>,
    description: Cow<'de, str>,
    metric_type: MetricType,
    temporality: Temporality,
    is_monotonic: bool,
    /// True if the sink got the metric.
    has_begun: bool,
    point_count: u64,
}

impl Metric<'_> {
    fn metadata(&self) -> MetricMetadata<'_> {
        MetricMetadata {
            name: &self.name,
            metric_type: self.metric_type,
            temporality: self.temporality,
            monotonicity: self.is_monotonic.into(),
            unit: &self.unit,
            description: &self.description,
        }
    }
}

impl<S: OtlpSink> Walk<'_, '_, S> {
    /// Gives a part to the sink.
    fn give<E: Error>(&mut self, give: impl FnOnce(&mut S) -> Result<(), S::Error>) -> Result<(), E> {
        give(self.sink).map_err(|failure| stopped(&mut self.failure, failure))
    }

    /// Begins the metric before its first point, or at its end.
    fn begin_metric<E: Error>(&mut self) -> Result<(), E> {
        if std::mem::replace(&mut self.metric.has_begun, true) {
            return Ok(());
        }
        let result = self.sink.metric(&self.metric.metadata());
        result.map_err(|failure| stopped(&mut self.failure, failure))
    }

    fn end_metric<E: Error>(&mut self) -> Result<(), E> {
        self.begin_metric()?;
        let result = self.sink.metric_ends(&self.metric.metadata(), self.metric.point_count);
        result.map_err(|failure| stopped(&mut self.failure, failure))
    }

    fn end_point<E: Error>(&mut self, point: Point<'_>, bucket_count: usize) -> Result<(), E> {
        let bucket_bounds = self.bucket_bounds.get(..bucket_count).unwrap_or(&self.bucket_bounds);
        let point = Point { bucket_bounds, quantiles: &self.quantiles, ..point };
        let result = self.sink.point(&point);
        result.map_err(|failure| stopped(&mut self.failure, failure))
    }
}

/// Keeps the error of the sink. Returns the error for serde.
fn stopped<F, E: Error>(place: &mut Option<F>, failure: F) -> E {
    *place = Some(failure);
    E::custom("stopped by the sink")
}

/// Deserializer of a message.
struct Node<'w, 's, 'de, S: OtlpSink> {
    walk: &'w mut Walk<'s, 'de, S>,
    message: Message,
}

/// Descriptions of a message, known at its end.
#[derive(Default)]
struct Known<'de> {
    name: Cow<'de, str>,
    version: Cow<'de, str>,
    time: u64,
    flags: u64,
    has_sum: bool,
    bucket_count: usize,
    quantile: f64,
}

impl<'de, S: OtlpSink> Node<'_, '_, 'de, S> {
    fn begin<E: Error>(&mut self) -> Result<(), E> {
        let walk = &mut *self.walk;
        match self.message {
            Message::ResourceMetrics => walk.give(S::resource),
            Message::ScopeMetrics => walk.give(S::scope),
            Message::Metric => {
                walk.metric = Metric::default();
                Ok(())
            }
            Message::Data(kind) => {
                walk.metric.metric_type = kind.metric_type();
                Ok(())
            }
            Message::Point(_) => {
                walk.begin_metric()?;
                walk.metric.point_count += 1;
                walk.bucket_bounds.clear();
                walk.quantiles.clear();
                walk.give(S::point_begins)
            }
            _ => Ok(()),
        }
    }

    fn end<E: Error>(&mut self, known: &Known<'de>) -> Result<(), E> {
        match self.message {
            Message::Scope => {
                for (key, value) in [("otel_scope_name", &known.name), ("otel_scope_version", &known.version)] {
                    if !value.is_empty() {
                        self.walk.give(|sink| sink.attribute(Level::Scope, key, value))?;
                    }
                }
                Ok(())
            }
            Message::Metric => self.walk.end_metric(),
            Message::Point(kind) => {
                let point = Point {
                    kind,
                    time_unix_nano: known.time,
                    flags: known.flags,
                    has_sum: known.has_sum,
                    bucket_bounds: &[],
                    quantiles: &[],
                };
                self.walk.end_point(point, known.bucket_count)
            }
            Message::Quantile => {
                self.walk.quantiles.push(known.quantile);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn field<D: Deserializer<'de>>(&mut self, field: Field, known: &mut Known<'de>, value: D) -> Result<(), D::Error> {
        let walk = &mut *self.walk;
        match field {
            Field::One(message) => Node { walk, message }.deserialize(value)?,
            Field::Many(message) => Items { walk, item: Item::Message(message) }.deserialize(value)?,
            Field::Attributes(level) => Items { walk, item: Item::Attribute(level) }.deserialize(value)?,
            Field::Name if self.message == Message::Metric => walk.metric.name = Text.deserialize(value)?,
            Field::Name => known.name = Text.deserialize(value)?,
            Field::Version => known.version = Text.deserialize(value)?,
            Field::SchemaUrl => {
                let url = Text.deserialize(value)?;
                if !url.is_empty() {
                    walk.give(|sink| sink.attribute(Level::Scope, "otel_scope_schema_url", &url))?;
                }
            }
            Field::Description => walk.metric.description = Text.deserialize(value)?,
            Field::Unit => walk.metric.unit = Text.deserialize(value)?,
            Field::Temporality => walk.metric.temporality = TemporalityName.deserialize(value)?,
            Field::IsMonotonic => walk.metric.is_monotonic = Option::deserialize(value)?.unwrap_or_default(),
            Field::Time => known.time = Unsigned.deserialize(value)?,
            Field::Flags => known.flags = Unsigned.deserialize(value)?,
            Field::Sum => known.has_sum = Option::<IgnoredAny>::deserialize(value)?.is_some(),
            Field::BucketCounts => {
                known.bucket_count = Option::<Vec<IgnoredAny>>::deserialize(value)?.unwrap_or_default().len();
            }
            Field::BucketBounds => Items { walk, item: Item::BucketBound }.deserialize(value)?,
            Field::Quantiles => Items { walk, item: Item::Message(Message::Quantile) }.deserialize(value)?,
            Field::Quantile => known.quantile = Double.deserialize(value)?,
        }
        Ok(())
    }

    /// Returns true if the field can be skipped.
    fn skips(&self, field: Field) -> bool {
        matches!(field, Field::Sum | Field::BucketCounts | Field::BucketBounds | Field::Quantiles)
            && !self.walk.needs.buckets
            || field == Field::SchemaUrl && !self.walk.needs.scope_schema_url
    }

    /// Returns true if the field is always read at the end of its message.
    fn is_last(&self, field: Field) -> bool {
        let is_described = matches!(
            (self.message, field),
            (Message::Metric, Field::One(Message::Data(_))) | (Message::Data(_), Field::Many(Message::Point(_)))
        );
        let is_metric = (self.message, field) == (Message::ScopeMetrics, Field::Many(Message::Metric));
        is_described && self.walk.needs.metadata_first || is_metric && self.walk.needs.scope_schema_url
    }
}

impl<'de, S: OtlpSink> DeserializeSeed<'de> for Node<'_, '_, 'de, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: OtlpSink> Visitor<'de> for Node<'_, '_, 'de, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message.name())
    }

    /// `null` is a missing message.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.begin()?;
        let mut known = Known::default();
        let mut put_off: Vec<(Field, &'de RawValue)> = Vec::new();
        let (mut has_description, mut has_begun) = (false, false);
        let (mut is_empty, mut is_known) = (true, false);
        while let Some(field) = map.next_key_seed(FieldOf(self.message))? {
            (is_empty, is_known) = (false, is_known || field.is_some());
            let Some(field) = field.filter(|&field| !self.skips(field)) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if self.message.describes(field) {
                if has_begun {
                    return Err(A::Error::custom(format_args!(
                        "{} is described a second time, after what it describes",
                        self.message.name()
                    )));
                }
                has_description = true;
            } else if self.is_last(field) || self.message.is_described(field) && !has_description {
                put_off.push((field, map.next_value()?));
                continue;
            } else if self.message.is_described(field) {
                has_begun = true;
            }
            map.next_value_seed(FieldValue { node: &mut self, known: &mut known, field })?;
        }
        if self.message == Message::Request && !is_empty && !is_known {
            return Err(A::Error::custom("an object without resourceMetrics is not a request"));
        }
        for (field, text) in put_off {
            let mut value = serde_json::Deserializer::from_str(text.get());
            self.field(field, &mut known, &mut value).map_err(A::Error::custom)?;
        }
        self.end(&known)
    }
}

/// Reads the name of a field.
struct FieldOf(Message);

impl<'de> DeserializeSeed<'de> for FieldOf {
    type Value = Option<Field>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Field>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldOf {
    type Value = Option<Field>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Option<Field>, E> {
        Ok(self.0.field(name))
    }
}

/// Reads the content of a field.
struct FieldValue<'n, 'w, 's, 'de, S: OtlpSink> {
    node: &'n mut Node<'w, 's, 'de, S>,
    known: &'n mut Known<'de>,
    field: Field,
}

impl<'de, S: OtlpSink> DeserializeSeed<'de> for FieldValue<'_, '_, '_, 'de, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        self.node.field(self.field, self.known, value)
    }
}

/// Deserializer of a repeated field.
struct Items<'w, 's, 'de, S: OtlpSink> {
    walk: &'w mut Walk<'s, 'de, S>,
    item: Item,
}

/// Content of a repeated field.
#[derive(Clone, Copy)]
enum Item {
    Message(Message),
    Attribute(Level),
    BucketBound,
}

impl<'de, S: OtlpSink> DeserializeSeed<'de> for Items<'_, '_, 'de, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: OtlpSink> Visitor<'de> for Items<'_, '_, 'de, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.item {
            Item::Message(message) => write!(f, "an array, each item {}", message.name()),
            Item::Attribute(_) => f.write_str("an array of attributes"),
            Item::BucketBound => f.write_str("an array of doubles"),
        }
    }

    /// `null` is a missing field.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        match self.item {
            Item::Message(message) => {
                while items.next_element_seed(Node { walk: &mut *self.walk, message })?.is_some() {}
            }
            Item::Attribute(level) => {
                while let Some((key, value)) = items.next_element_seed(KeyValue)? {
                    self.walk.give(|sink| sink.attribute(level, &key, &value.into_text()))?;
                }
            }
            Item::BucketBound => {
                while let Some(bound) = items.next_element_seed(Double)? {
                    self.walk.bucket_bounds.push(bound);
                }
            }
        }
        Ok(())
    }
}

/// Reads an `AggregationTemporality`: its number, as in the protocol, or its name, as some writers of JSON do. Unknown
/// values are unspecified.
struct TemporalityName;

impl<'de> DeserializeSeed<'de> for TemporalityName {
    type Value = Temporality;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Temporality, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for TemporalityName {
    type Value = Temporality;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an AggregationTemporality")
    }

    fn visit_unit<E: Error>(self) -> Result<Temporality, E> {
        Ok(Temporality::Unspecified)
    }

    fn visit_u64<E: Error>(self, code: u64) -> Result<Temporality, E> {
        Ok(Temporality::from_otlp(code))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Temporality, E> {
        Ok(Temporality::Unspecified)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Temporality, E> {
        Ok(match name {
            "AGGREGATION_TEMPORALITY_DELTA" | "1" => Temporality::Delta,
            "AGGREGATION_TEMPORALITY_CUMULATIVE" | "2" => Temporality::Cumulative,
            _ => Temporality::Unspecified,
        })
    }
}
