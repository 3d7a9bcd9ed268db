//! Requests as arrays: [`Requests`].

use std::ops::Range;

use chronoxide_format::metadata::{MetricMetadata, Monotonicity};

use super::kind::MetricKind;
use super::request::Request;
use crate::prometheus::varint::uvarint;

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

/// Optional parts of requests, and how strictly requests are read. Each costs decoding time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Bounds of buckets, and quantiles.
    pub buckets: bool,
    /// Schema URL of each scope, as its attribute `otel_scope_schema_url`.
    pub scope_schema_url: bool,
    /// Texts that are not valid UTF-8 are left out, and what they belong to is marked as invalid. Otherwise they make
    /// a request malformed.
    pub without_invalid_texts: bool,
    /// Attributes of protobuf are checked. Otherwise a malformed one is found when its list is
    /// [read](super::AttributeList::iter).
    pub checked_attributes: bool,
}

/// Requests as arrays: what a decoder found, each level in an array of its own. An entry has the start of what belongs
/// to it, which ends where that of the next entry starts.
///
/// Attributes are kept as they are in protobuf, so that a list whose bytes are known need not be decoded. Those of a
/// request of protobuf stay in the request, and only their place is here.
#[derive(Debug, Default)]
pub struct Requests {
    pub(super) resources: Vec<ResourceEntry>,
    pub(super) scopes: Vec<ScopeEntry>,
    pub(super) metrics: Vec<MetricEntry>,
    pub(super) points: Vec<PointEntry>,
    /// Times of the points.
    pub(super) times: Vec<u64>,
    /// Facts that neighbouring points have in common.
    pub(super) details: Vec<Details>,
    /// Lists of attributes of resources and scopes.
    pub(super) lists: Vec<ListEntry>,
    /// Lists of attributes of points.
    pub(super) point_lists: Vec<ListEntry>,
    /// Bounds of buckets, and quantiles.
    pub(super) doubles: Vec<f64>,
    /// Attributes that are not in a request, as fields of protobuf.
    pub(super) fields: Vec<u8>,
    /// Names, units and descriptions of metrics.
    pub(super) text: String,
}

/// Place of a request in [`Requests`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPlace(pub(super) Range<usize>);

#[derive(Debug)]
pub(super) struct ResourceEntry {
    pub(super) lists: Range<u32>,
    pub(super) scopes: u32,
    /// Texts of the resource, and of what belongs to it, that are not UTF-8.
    pub(super) invalid_texts: u32,
    pub(super) is_invalid: bool,
}

#[derive(Debug)]
pub(super) struct ScopeEntry {
    pub(super) lists: Range<u32>,
    /// List with the schema URL, which comes after the other attributes.
    pub(super) schema_url: Range<u32>,
    pub(super) metrics: u32,
    pub(super) is_invalid: bool,
}

#[derive(Debug)]
pub(super) struct MetricEntry {
    pub(super) points: u32,
    /// Start of the texts, and the lengths of name, unit and description.
    pub(super) text: u32,
    pub(super) lens: [u32; 3],
    /// Codes of type and temporality: there may be a metric for each point, so that entries are small.
    pub(super) metric_type: u8,
    pub(super) temporality: u8,
    pub(super) is_monotonic: bool,
    pub(super) is_invalid: bool,
}

#[derive(Debug)]
pub(super) struct PointEntry {
    pub(super) lists: u32,
    pub(super) details: u32,
}

/// Facts of points. Most points of a metric have the same.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Details {
    pub(super) facts: PointFacts,
    pub(super) doubles: Range<u32>,
}

impl Details {
    pub(super) const NONE: Self = Self { facts: PointFacts::new(MetricKind::Gauge), doubles: 0..0 };
}

#[derive(Debug)]
pub(super) struct ListEntry {
    pub(super) start: u32,
    pub(super) len: u32,
    /// True if the list is in the request, and false if it is in `fields`.
    pub(super) is_in_request: bool,
}

/// Error of a request whose arrays would take many times its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct TooManyParts {
    /// Bytes that the arrays may take.
    pub(super) limit: usize,
}

impl Requests {
    /// Removes all requests.
    pub fn clear(&mut self) {
        self.truncate(&Lens::default());
    }

    /// Returns a request, which was decoded from the bytes `record`.
    #[must_use]
    pub fn get<'a>(&'a self, place: &RequestPlace, record: &'a [u8]) -> Request<'a> {
        Request::new(self, record, place.0.clone())
    }

    /// Returns the memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.resources.capacity() * size_of::<ResourceEntry>()
            + self.scopes.capacity() * size_of::<ScopeEntry>()
            + self.metrics.capacity() * size_of::<MetricEntry>()
            + self.points.capacity() * size_of::<PointEntry>()
            + self.times.capacity() * size_of::<u64>()
            + self.details.capacity() * size_of::<Details>()
            + (self.lists.capacity() + self.point_lists.capacity()) * size_of::<ListEntry>()
            + self.doubles.capacity() * size_of::<f64>()
            + self.fields.capacity()
            + self.text.capacity()
    }

    fn lens(&self) -> Lens {
        Lens([
            self.resources.len(),
            self.scopes.len(),
            self.metrics.len(),
            self.points.len(),
            self.details.len(),
            self.lists.len(),
            self.point_lists.len(),
            self.doubles.len(),
            self.fields.len(),
            self.text.len(),
        ])
    }

    fn truncate(&mut self, &Lens(lens): &Lens) {
        let [resources, scopes, metrics, points, details, lists, point_lists, doubles, fields, text] = lens;
        self.resources.truncate(resources);
        self.scopes.truncate(scopes);
        self.metrics.truncate(metrics);
        self.points.truncate(points);
        self.times.truncate(points);
        self.details.truncate(details);
        self.lists.truncate(lists);
        self.point_lists.truncate(point_lists);
        self.doubles.truncate(doubles);
        self.fields.truncate(fields);
        self.text.truncate(text);
    }
}

/// Lengths of the arrays.
#[derive(Default)]
struct Lens([usize; 10]);

/// Largest arrays of one request, as a multiple of its bytes. Those of real requests take as much as the request.
const MAX_RATIO: usize = 3;

/// Arrays that small requests may always have, in bytes.
const MIN_BYTES: usize = 2 << 20;

/// Writer of one request.
pub(super) struct Writer<'r> {
    requests: &'r mut Requests,
    /// Bytes that may still be added.
    room: usize,
    limit: usize,
    /// Level of the list that the next attribute continues.
    open: Option<Level>,
    /// Doubles before the last point.
    doubles: usize,
    /// Lengths of the arrays before the request.
    before: Lens,
}

impl<'r> Writer<'r> {
    /// Begins a request of `len` bytes. Its arrays may take `limit` bytes, or by default a small multiple of its own.
    pub(super) fn new(requests: &'r mut Requests, len: usize, limit: Option<usize>) -> Self {
        // Places have 32 bits.
        let most = u32::MAX as usize - requests.fields.len().max(requests.text.len()).min(u32::MAX as usize);
        let limit = limit.unwrap_or(len.saturating_mul(MAX_RATIO).max(MIN_BYTES)).min(most);
        let before = requests.lens();
        Self { requests, room: limit, limit, open: None, doubles: 0, before }
    }

    /// Ends the request. Returns its place, or removes it if it is malformed.
    pub(super) fn end<E>(self, result: Result<(), E>) -> Result<RequestPlace, E> {
        match result {
            Ok(()) => {
                let Lens([first, ..]) = self.before;
                Ok(RequestPlace(first..self.requests.resources.len()))
            }
            Err(error) => {
                self.requests.truncate(&self.before);
                Err(error)
            }
        }
    }

    #[inline]
    fn take(&mut self, bytes: usize) -> Result<(), TooManyParts> {
        self.open = None;
        self.room = self.room.checked_sub(bytes).ok_or(TooManyParts { limit: self.limit })?;
        Ok(())
    }

    pub(super) fn resource(&mut self) -> Result<(), TooManyParts> {
        self.take(size_of::<ResourceEntry>())?;
        let (lists, scopes) = (self.requests.lists.len() as u32, self.requests.scopes.len() as u32);
        self.requests.resources.push(ResourceEntry {
            lists: lists..lists,
            scopes,
            invalid_texts: 0,
            is_invalid: false,
        });
        Ok(())
    }

    pub(super) fn scope(&mut self) -> Result<(), TooManyParts> {
        self.take(size_of::<ScopeEntry>())?;
        let (lists, metrics) = (self.requests.lists.len() as u32, self.requests.metrics.len() as u32);
        self.requests.scopes.push(ScopeEntry {
            lists: lists..lists,
            schema_url: lists..lists,
            metrics,
            is_invalid: false,
        });
        Ok(())
    }

    /// Begins a metric, whose metadata may come after its points.
    pub(super) fn metric(&mut self) -> Result<(), TooManyParts> {
        self.take(size_of::<MetricEntry>())?;
        self.requests.metrics.push(MetricEntry {
            points: self.requests.points.len() as u32,
            text: 0,
            lens: [0; 3],
            metric_type: 0,
            temporality: 0,
            is_monotonic: false,
            is_invalid: false,
        });
        Ok(())
    }

    /// Sets the metadata of the last metric.
    pub(super) fn metadata(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), TooManyParts> {
        let texts = [metadata.name, metadata.unit, metadata.description];
        self.take(texts.iter().map(|text| text.len()).sum())?;
        let Requests { metrics, text, .. } = &mut *self.requests;
        if let Some(metric) = metrics.last_mut() {
            metric.text = text.len() as u32;
            metric.lens = texts.map(|text| text.len() as u32);
            // No kind of metric has a number that is not in these bytes.
            metric.metric_type = u8::try_from(metadata.metric_type.code()).unwrap_or_default();
            metric.temporality = u8::try_from(metadata.temporality.code()).unwrap_or_default();
            metric.is_monotonic = metadata.monotonicity == Monotonicity::Monotonic;
            texts.iter().for_each(|part| text.push_str(part));
        }
        Ok(())
    }

    /// Begins a point. What follows of its attributes and doubles belongs to it.
    #[inline]
    pub(super) fn point(&mut self) -> Result<(), TooManyParts> {
        self.take(size_of::<PointEntry>() + size_of::<u64>())?;
        let requests = &mut *self.requests;
        let (lists, details) = (requests.point_lists.len() as u32, requests.details.len() as u32);
        self.doubles = requests.doubles.len();
        requests.points.push(PointEntry { lists, details });
        requests.times.push(0);
        Ok(())
    }

    /// Adds a bound of a bucket or a quantile to the last point.
    pub(super) fn double(&mut self, double: f64) -> Result<(), TooManyParts> {
        self.take(size_of::<f64>())?;
        self.requests.doubles.push(double);
        Ok(())
    }

    /// Ends the last point. Bounds of a histogram beyond the number of its buckets do not count.
    #[inline]
    pub(super) fn point_ends(
        &mut self,
        time_unix_nano: u64,
        facts: PointFacts,
        bucket_count: usize,
    ) -> Result<(), TooManyParts> {
        let (requests, doubles) = (&mut *self.requests, self.doubles);
        if facts.kind == MetricKind::Histogram {
            requests.doubles.truncate(doubles.saturating_add(bucket_count));
        }
        let end = requests.doubles.len();
        let doubles = if doubles < end { doubles as u32..end as u32 } else { 0..0 };
        let details = Details { facts, doubles };
        if requests.details.last() != Some(&details) {
            requests.details.push(details);
            self.take(size_of::<Details>())?;
        }
        let number = self.requests.details.len() as u32 - 1;
        if let (Some(point), Some(time)) = (self.requests.points.last_mut(), self.requests.times.last_mut()) {
            point.details = number;
            *time = time_unix_nano;
        }
        Ok(())
    }

    /// Adds neighbouring attributes to the last resource, scope or point: their fields, which are a
    /// [run](crate::protobuf::Fields::run), by their place in the request.
    #[inline]
    pub(super) fn run(&mut self, level: Level, start: usize, len: usize) -> Result<(), TooManyParts> {
        self.take(size_of::<ListEntry>())?;
        let place = |number: usize| u32::try_from(number).map_err(|_| TooManyParts { limit: u32::MAX as usize });
        self.push_list(level, ListEntry { start: place(start)?, len: place(len)?, is_in_request: true });
        Ok(())
    }

    /// Adds an attribute to the last resource, scope or point.
    pub(super) fn attribute(&mut self, level: Level, key: &str, value: &str) -> Result<(), TooManyParts> {
        let is_open = self.open == Some(level);
        let start = self.requests.fields.len();
        push_attribute(&mut self.requests.fields, level, key, value);
        let len = self.requests.fields.len() - start;
        self.take(len + if is_open { 0 } else { size_of::<ListEntry>() })?;
        self.open = Some(level);
        let lists = if level == Level::Point { &mut self.requests.point_lists } else { &mut self.requests.lists };
        match lists.last_mut().filter(|_| is_open) {
            Some(list) => list.len += len as u32,
            None => self.push_list(level, ListEntry { start: start as u32, len: len as u32, is_in_request: false }),
        }
        Ok(())
    }

    /// Adds the fields of the last scope that become attributes: texts that are not empty.
    pub(super) fn scope_fields(&mut self, name: &str, version: &str, schema_url: &str) -> Result<(), TooManyParts> {
        for (key, value) in [("otel_scope_name", name), ("otel_scope_version", version)] {
            if !value.is_empty() {
                self.attribute(Level::Scope, key, value)?;
            }
        }
        if schema_url.is_empty() { Ok(()) } else { self.schema_url(schema_url) }
    }

    /// Adds the schema URL of the last scope.
    pub(super) fn schema_url(&mut self, url: &str) -> Result<(), TooManyParts> {
        let requests = &mut *self.requests;
        let start = requests.fields.len();
        push_attribute(&mut requests.fields, Level::Scope, "otel_scope_schema_url", url);
        let len = requests.fields.len() - start;
        let number = requests.lists.len() as u32;
        requests.lists.push(ListEntry { start: start as u32, len: len as u32, is_in_request: false });
        if let Some(scope) = requests.scopes.last_mut() {
            scope.schema_url = number..number + 1;
        }
        self.take(len + size_of::<ListEntry>())
    }

    #[inline]
    fn push_list(&mut self, level: Level, list: ListEntry) {
        let Requests { resources, scopes, lists, point_lists, .. } = &mut *self.requests;
        let owner = match level {
            Level::Resource => resources.last_mut().map(|resource| &mut resource.lists),
            Level::Scope => scopes.last_mut().map(|scope| &mut scope.lists),
            Level::Point => {
                point_lists.push(list);
                return;
            }
        };
        let number = lists.len() as u32;
        lists.push(list);
        if let Some(range) = owner {
            let start = if range.start == range.end { number } else { range.start };
            *range = start..number + 1;
        }
    }

    /// Counts a text that is not UTF-8 in a resource, or in what belongs to it.
    pub(super) fn count_invalid_text(&mut self) {
        if let Some(resource) = self.requests.resources.last_mut() {
            resource.invalid_texts += 1;
        }
    }

    /// Marks the last resource or scope as invalid. A point is marked at its end.
    pub(super) fn mark_invalid(&mut self, level: Level) {
        let Requests { resources, scopes, .. } = &mut *self.requests;
        match (level, resources.last_mut(), scopes.last_mut()) {
            (Level::Resource, Some(resource), _) => resource.is_invalid = true,
            (Level::Scope, _, Some(scope)) => scope.is_invalid = true,
            _ => {}
        }
    }

    /// Marks the last metric as invalid.
    pub(super) fn mark_metric_invalid(&mut self) {
        if let Some(metric) = self.requests.metrics.last_mut() {
            metric.is_invalid = true;
        }
    }
}

/// Facts of a point besides its time, attributes and doubles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PointFacts {
    pub(super) kind: MetricKind,
    pub(super) flags: u32,
    pub(super) has_sum: bool,
    pub(super) is_invalid: bool,
}

impl PointFacts {
    pub(super) const fn new(kind: MetricKind) -> Self {
        Self { kind, flags: 0, has_sum: false, is_invalid: false }
    }
}

/// Keys of the fields of attributes in a resource, a scope and a point.
const ATTRIBUTE_KEYS: [u8; 3] = [0x0a, 0x1a, 0x3a];

/// Keys of the first and the second field of bytes of a message.
const FIRST: u8 = 0x0a;
const SECOND: u8 = 0x12;

/// Appends an attribute as a field of protobuf.
fn push_attribute(out: &mut Vec<u8>, level: Level, key: &str, value: &str) {
    let field_len = |len: usize| 1 + varint_len(len) + len;
    let value_len = field_len(value.len());
    let mut push = |field: u8, len: usize, content: &[u8]| {
        out.push(field);
        uvarint(len as u64, out);
        out.extend_from_slice(content);
    };
    let attribute_key = ATTRIBUTE_KEYS.get(level as usize).copied().unwrap_or_default();
    push(attribute_key, field_len(key.len()) + field_len(value_len), &[]);
    push(FIRST, key.len(), key.as_bytes());
    push(SECOND, value_len, &[]);
    push(FIRST, value.len(), value.as_bytes());
}

/// Returns the length of a number as a varint.
#[inline]
fn varint_len(number: usize) -> usize {
    (usize::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_varints_are_those_that_are_written() {
        for number in [0, 1, 127, 128, 16_383, 16_384, 1 << 21, u32::MAX as usize, usize::MAX] {
            let mut out = Vec::new();
            uvarint(number as u64, &mut out);
            assert_eq!(varint_len(number), out.len(), "{number}");
        }
    }
}
