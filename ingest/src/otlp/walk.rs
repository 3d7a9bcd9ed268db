//! One walk over a request, without a model in memory.
//!
//! Parts go to the sink as they are read. The protocol's own order has each description before what it describes (the
//! resource before its scopes, the scope before its metrics, the name before the points); JSON need not. What comes
//! before its description is put off as text and read at the end of its message: at most three levels can be put off,
//! so no byte is read more than four times.

use super::schema::{Field, Message};
use super::sink::{Level, OtlpSink, Point};
use super::text::{Text, Unsigned};
use super::value::KeyValue;
use crate::error::DecodeError;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Reads one `ExportMetricsServiceRequest` and gives its parts to `sink`.
///
/// Memory stays bounded whatever the bytes say: parts that need not be put off are not kept. So a sink may have got
/// parts of a request that then turns out to be broken; who wants all or nothing reads it into a sink that does
/// nothing first.
///
/// # Errors
///
/// The bytes are no JSON, or no such request, or the sink did not take a part.
pub fn decode_otlp_json<S: OtlpSink>(bytes: &[u8], sink: &mut S) -> Result<(), DecodeError<S::Error>> {
    let text = std::str::from_utf8(bytes)?;
    let mut walk = Walk { sink, failure: None, point_count: 0 };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let result = Node { walk: &mut walk, message: Message::Request }
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    match (walk.failure, result) {
        (Some(failure), _) => Err(DecodeError::Sink(failure)),
        (None, result) => result.map_err(DecodeError::Json),
    }
}

/// What the walk carries along.
struct Walk<'s, S: OtlpSink> {
    sink: &'s mut S,
    /// Why the sink stopped the walk. It waits here while serde carries an error of its own up.
    failure: Option<S::Error>,
    /// Points of the current metric.
    point_count: u64,
}

impl<S: OtlpSink> Walk<'_, S> {
    /// Gives something to the sink.
    fn give<E: Error>(&mut self, give: impl FnOnce(&mut S) -> Result<(), S::Error>) -> Result<(), E> {
        give(self.sink).map_err(|failure| {
            self.failure = Some(failure);
            E::custom("stopped by the sink")
        })
    }
}

/// A message, to be read.
struct Node<'w, 's, S: OtlpSink> {
    walk: &'w mut Walk<'s, S>,
    message: Message,
}

/// What of a message is known when it ends.
#[derive(Default)]
struct Known<'de> {
    name: Cow<'de, str>,
    version: Cow<'de, str>,
    time: u64,
    flags: u64,
}

impl<'de, S: OtlpSink> Node<'_, '_, S> {
    fn begin<E: Error>(&mut self) -> Result<(), E> {
        match self.message {
            Message::ResourceMetrics => self.walk.give(S::resource),
            Message::ScopeMetrics => self.walk.give(S::scope),
            Message::Point(_) => {
                self.walk.point_count += 1;
                self.walk.give(S::point_begins)
            }
            _ => Ok(()),
        }
    }

    /// Everything that describes the message is known; what it describes comes now.
    fn described<E: Error>(&mut self, known: &Known<'de>) -> Result<(), E> {
        if self.message != Message::Metric {
            return Ok(());
        }
        self.walk.point_count = 0;
        self.walk.give(|sink| sink.metric(&known.name))
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
            Message::Metric => {
                let point_count = self.walk.point_count;
                self.walk.give(|sink| sink.metric_ends(point_count))
            }
            Message::Point(kind) => {
                let point = Point { kind, time_unix_nano: known.time, flags: known.flags };
                self.walk.give(|sink| sink.point(point))
            }
            _ => Ok(()),
        }
    }

    fn field<D: Deserializer<'de>>(&mut self, field: Field, known: &mut Known<'de>, value: D) -> Result<(), D::Error> {
        match field {
            Field::One(message) => Node { walk: &mut *self.walk, message }.deserialize(value)?,
            Field::Many(message) => Items { walk: &mut *self.walk, item: Item::Message(message) }.deserialize(value)?,
            Field::Attributes(level) => {
                Items { walk: &mut *self.walk, item: Item::Attribute(level) }.deserialize(value)?
            }
            Field::Name => known.name = Text.deserialize(value)?,
            Field::Version => known.version = Text.deserialize(value)?,
            Field::Time => known.time = Unsigned.deserialize(value)?,
            Field::Flags => known.flags = Unsigned.deserialize(value)?,
        }
        Ok(())
    }
}

impl<'de, S: OtlpSink> DeserializeSeed<'de> for Node<'_, '_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: OtlpSink> Visitor<'de> for Node<'_, '_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message.name())
    }

    /// `null` is a message that is not there.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.begin()?;
        let mut known = Known::default();
        let mut put_off: Vec<(Field, &'de RawValue)> = Vec::new();
        let (mut has_description, mut has_begun) = (false, false);
        while let Some(field) = map.next_key_seed(FieldOf(self.message))? {
            let Some(field) = field else {
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
            } else if self.message.is_described(field) {
                if !has_description {
                    put_off.push((field, map.next_value()?));
                    continue;
                }
                if !has_begun {
                    self.described(&known)?;
                    has_begun = true;
                }
            }
            map.next_value_seed(FieldValue { node: &mut self, known: &mut known, field })?;
        }
        if !has_begun {
            self.described(&known)?;
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

/// Reads what a field holds.
struct FieldValue<'n, 'w, 's, 'de, S: OtlpSink> {
    node: &'n mut Node<'w, 's, S>,
    known: &'n mut Known<'de>,
    field: Field,
}

impl<'de, S: OtlpSink> DeserializeSeed<'de> for FieldValue<'_, '_, '_, 'de, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        self.node.field(self.field, self.known, value)
    }
}

/// A repeated field, to be read.
struct Items<'w, 's, S: OtlpSink> {
    walk: &'w mut Walk<'s, S>,
    item: Item,
}

/// What a repeated field holds.
#[derive(Clone, Copy)]
enum Item {
    Message(Message),
    Attribute(Level),
}

impl<'de, S: OtlpSink> DeserializeSeed<'de> for Items<'_, '_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: OtlpSink> Visitor<'de> for Items<'_, '_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.item {
            Item::Message(message) => write!(f, "an array, each item {}", message.name()),
            Item::Attribute(_) => f.write_str("an array of attributes"),
        }
    }

    /// `null` is a field that is not there.
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
        }
        Ok(())
    }
}
