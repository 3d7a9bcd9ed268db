//! One walk over a request as JSON, without a model in memory.
//!
//! Fields may come in any order: each level is written into an array of its own.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;

use chronoxide_format::metadata::{MetricMetadata, MetricType, Temporality};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::super::requests::{Level, Needs, PointFacts, RequestPlace, Requests, TooManyParts, Writer};
use super::schema::{Field, Message};
use super::text::{Double, Text, Unsigned};
use super::value::KeyValue;
use crate::error::DecodeError;
use crate::invalid::{is_marked, mark};
use crate::surrogates::replace_lone;

/// Decodes one `ExportMetricsServiceRequest`, and adds it to `requests`.
///
/// # Errors
///
/// The bytes are not JSON or not such a request, or have far more parts than bytes. Then nothing is added.
pub fn decode_otlp_json(
    bytes: &[u8],
    needs: Needs,
    requests: &mut Requests,
) -> Result<RequestPlace, DecodeError<Infallible>> {
    decode_within(bytes, needs, None, requests)
}

/// Decodes a request whose parts take at most `limit` bytes.
pub(crate) fn decode_within<E>(
    bytes: &[u8],
    needs: Needs,
    limit: Option<usize>,
    requests: &mut Requests,
) -> Result<RequestPlace, DecodeError<E>> {
    let marked = if needs.without_invalid_texts { mark(bytes) } else { None };
    let text = match &marked {
        Some(text) => text,
        None => std::str::from_utf8(bytes)?,
    };
    let text = replace_lone(text);
    let mut walk = Walk {
        needs,
        is_marked: marked.is_some(),
        writer: Writer::new(requests, bytes.len(), limit),
        metric: Metric::default(),
        point_is_invalid: false,
    };
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    let result = Node { walk: &mut walk, message: Message::Request }
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    walk.writer.end(result).map_err(DecodeError::Json)
}

/// State of the walk.
struct Walk<'r, 'de> {
    needs: Needs,
    /// True if texts that are not UTF-8 are [marked](crate::invalid).
    is_marked: bool,
    writer: Writer<'r>,
    metric: Metric<'de>,
    point_is_invalid: bool,
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
}

fn too_many<E: Error>(TooManyParts { limit }: TooManyParts) -> E {
    E::custom(format_args!("more than {limit} bytes of parts for its length"))
}

impl Walk<'_, '_> {
    /// Returns true if a text is left out because it is not UTF-8, and counts it.
    fn leaves_out(&mut self, text: &str) -> bool {
        let is_left_out = self.is_marked && is_marked(text);
        if is_left_out {
            self.writer.count_invalid_text();
        }
        is_left_out
    }

    fn attribute(&mut self, level: Level, key: &str, value: &str) -> Result<(), TooManyParts> {
        // One text is counted if both are invalid.
        if self.leaves_out(key) || self.leaves_out(value) {
            self.point_is_invalid |= level == Level::Point;
            self.writer.mark_invalid(level);
            return Ok(());
        }
        self.writer.attribute(level, key, value)
    }

    /// Writes the fields of a scope.
    fn scope_fields(&mut self, name: &str, version: &str, schema_url: &str) -> Result<(), TooManyParts> {
        let [name, version, schema_url] = [name, version, schema_url].map(|text| {
            if self.leaves_out(text) {
                self.writer.mark_invalid(Level::Scope);
                return "";
            }
            text
        });
        self.writer.scope_fields(name, version, schema_url)
    }

    fn end_metric(&mut self) -> Result<(), TooManyParts> {
        let Metric { name, unit, description, metric_type, temporality, is_monotonic } =
            std::mem::take(&mut self.metric);
        let [name, unit, description] =
            [(&name, true), (&unit, true), (&description, false)].map(|(text, is_needed)| {
                if self.leaves_out(text) {
                    if is_needed {
                        self.writer.mark_metric_invalid();
                    }
                    return "";
                }
                text
            });
        let monotonicity = is_monotonic.into();
        self.writer.metadata(&MetricMetadata { name, metric_type, temporality, monotonicity, unit, description })
    }
}

/// Deserializer of a message.
struct Node<'w, 'r, 'de> {
    walk: &'w mut Walk<'r, 'de>,
    message: Message,
}

/// Fields of a message.
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

impl<'de> Node<'_, '_, 'de> {
    fn begin(&mut self) -> Result<(), TooManyParts> {
        let walk = &mut *self.walk;
        match self.message {
            Message::ResourceMetrics => walk.writer.resource(),
            Message::ScopeMetrics => walk.writer.scope(),
            Message::Metric => walk.writer.metric(),
            Message::Data(kind) => {
                // The last kind counts, with what is said of it, as in protobuf.
                if walk.metric.metric_type != kind.metric_type() {
                    (walk.metric.temporality, walk.metric.is_monotonic) = (Temporality::default(), false);
                }
                walk.metric.metric_type = kind.metric_type();
                Ok(())
            }
            Message::Point(_) => {
                walk.point_is_invalid = false;
                walk.writer.point()
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, known: &Known<'de>) -> Result<(), TooManyParts> {
        let walk = &mut *self.walk;
        match self.message {
            Message::Scope => walk.scope_fields(&known.name, &known.version, ""),
            Message::Metric => walk.end_metric(),
            Message::Point(kind) => {
                let facts = PointFacts {
                    kind,
                    // Flags are 32 bits wide.
                    flags: known.flags as u32,
                    has_sum: known.has_sum,
                    is_invalid: walk.point_is_invalid,
                };
                walk.writer.point_ends(known.time, facts, known.bucket_count)
            }
            Message::Quantile => walk.writer.double(known.quantile),
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
                walk.scope_fields("", "", &url).map_err(too_many)?;
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
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message.name())
    }

    /// `null` is a missing message.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.begin().map_err(too_many)?;
        let mut known = Known::default();
        let (mut has_description, mut has_described) = (false, false);
        let (mut is_empty, mut is_known) = (true, false);
        while let Some(field) = map.next_key_seed(FieldOf(self.message))? {
            (is_empty, is_known) = (false, is_known || field.is_some());
            let Some(field) = field.filter(|&field| !self.skips(field)) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            // A description may come before or after what it describes, but not in two parts around it: its lists
            // are neighbours.
            if self.message.describes(field) {
                if has_described {
                    return Err(A::Error::custom(format_args!(
                        "{} is described a second time, after what it describes",
                        self.message.name()
                    )));
                }
                has_description = true;
            } else if self.message.is_described(field) {
                has_described = has_description;
            }
            map.next_value_seed(FieldValue { node: &mut self, known: &mut known, field })?;
        }
        if self.message == Message::Request && !is_empty && !is_known {
            return Err(A::Error::custom("an object without resourceMetrics is not a request"));
        }
        self.end(&known).map_err(too_many)
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
struct FieldValue<'n, 'w, 'r, 'de> {
    node: &'n mut Node<'w, 'r, 'de>,
    known: &'n mut Known<'de>,
    field: Field,
}

impl<'de> DeserializeSeed<'de> for FieldValue<'_, '_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        self.node.field(self.field, self.known, value)
    }
}

/// Deserializer of a repeated field.
struct Items<'w, 'r, 'de> {
    walk: &'w mut Walk<'r, 'de>,
    item: Item,
}

/// Content of a repeated field.
#[derive(Clone, Copy)]
enum Item {
    Message(Message),
    Attribute(Level),
    BucketBound,
}

impl<'de> DeserializeSeed<'de> for Items<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_, 'de> {
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
                    self.walk.attribute(level, &key, &value.into_text()).map_err(too_many)?;
                }
            }
            Item::BucketBound => {
                while let Some(bound) = items.next_element_seed(Double)? {
                    self.walk.writer.double(bound).map_err(too_many)?;
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
