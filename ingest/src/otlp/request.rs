//! A request as it is read: [`Request`] and its levels.

use std::borrow::Cow;
use std::ops::Range;

use chronoxide_format::metadata::{MetricMetadata, MetricType, Temporality};

use super::kind::MetricKind;
use super::proto::key_value;
use super::requests::{Details, ListEntry, PointEntry, Requests};
use crate::protobuf::{Fields, ProtoError};

/// Flag of a point that has no recorded value (`FLAG_NO_RECORDED_VALUE_MASK`): the series exists, but was not measured.
pub const NO_RECORDED_VALUE: u32 = 1;

/// Request of OTLP: resources with their scopes, these with their metrics, these with their points.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    requests: &'a Requests,
    /// Bytes of the request, in which attributes may be.
    record: &'a [u8],
    first: usize,
    end: usize,
}

/// Resource, with the scopes that measured it.
#[derive(Debug, Clone, Copy)]
pub struct Resource<'a> {
    request: Request<'a>,
    number: usize,
}

/// Instrumentation scope, with its metrics.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    request: Request<'a>,
    number: usize,
}

/// Metric, with its points.
#[derive(Debug, Clone, Copy)]
pub struct Metric<'a> {
    request: Request<'a>,
    number: usize,
}

/// Data point.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    request: Request<'a>,
    number: usize,
    details: &'a Details,
}

/// Neighbouring attributes of a level, as fields of protobuf with one key.
#[derive(Debug, Clone, Copy)]
pub struct AttributeList<'a> {
    bytes: &'a [u8],
    /// Start in the request, for errors.
    offset: usize,
}

/// Returns the numbers from the start of an entry to the start of the next one, or to the end of the array.
fn range<T>(entries: &[T], number: usize, start: impl Fn(&T) -> u32, end: usize) -> Range<usize> {
    let start_of = |number: usize| entries.get(number).map_or(end, |entry| start(entry) as usize);
    start_of(number)..start_of(number + 1)
}

impl<'a> Request<'a> {
    pub(super) fn new(requests: &'a Requests, record: &'a [u8], resources: Range<usize>) -> Self {
        Self { requests, record, first: resources.start, end: resources.end }
    }

    /// Returns the resources.
    pub fn resources(self) -> impl Iterator<Item = Resource<'a>> {
        (self.first..self.end).map(move |number| Resource { request: self, number })
    }

    fn lists(self, entries: &'a [ListEntry]) -> impl Iterator<Item = AttributeList<'a>> {
        entries.iter().map(move |list| {
            let start = list.start as usize;
            let content = if list.is_in_request { self.record } else { &self.requests.fields };
            AttributeList { bytes: content.get(start..start + list.len as usize).unwrap_or_default(), offset: start }
        })
    }

    /// Returns lists of a resource or a scope.
    fn level_lists(self, numbers: &Range<u32>) -> impl Iterator<Item = AttributeList<'a>> {
        let range = numbers.start as usize..numbers.end as usize;
        self.lists(self.requests.lists.get(range).unwrap_or_default())
    }
}

impl<'a> Resource<'a> {
    /// Returns the attributes, in order of the request.
    pub fn attributes(self) -> impl Iterator<Item = AttributeList<'a>> {
        let entry = self.request.requests.resources.get(self.number);
        self.request.level_lists(entry.map_or(&(0..0), |entry| &entry.lists))
    }

    /// Returns true if an attribute is not UTF-8.
    #[must_use]
    pub fn is_invalid(self) -> bool {
        self.request.requests.resources.get(self.number).is_some_and(|entry| entry.is_invalid)
    }

    /// Returns the number of texts that are not UTF-8 in the resource and in what belongs to it, besides those in
    /// lists of attributes.
    #[must_use]
    pub fn invalid_texts(self) -> u32 {
        self.request.requests.resources.get(self.number).map_or(0, |entry| entry.invalid_texts)
    }

    /// Returns the scopes.
    pub fn scopes(self) -> impl Iterator<Item = Scope<'a>> {
        let Requests { resources, scopes, .. } = self.request.requests;
        range(resources, self.number, |resource| resource.scopes, scopes.len())
            .map(move |number| Scope { request: self.request, number })
    }
}

impl<'a> Scope<'a> {
    /// Returns the attributes, in order of the request. Name and version come after them, as `otel_scope_name` and
    /// `otel_scope_version`, if they are not empty, and then the schema URL, if it is [needed](super::Needs).
    pub fn attributes(self) -> impl Iterator<Item = AttributeList<'a>> {
        let entry = self.request.requests.scopes.get(self.number);
        let (lists, schema_url) = entry.map_or((&(0..0), &(0..0)), |entry| (&entry.lists, &entry.schema_url));
        self.request.level_lists(lists).chain(self.request.level_lists(schema_url))
    }

    /// Returns true if an attribute, the name or the version is not UTF-8.
    #[must_use]
    pub fn is_invalid(self) -> bool {
        self.request.requests.scopes.get(self.number).is_some_and(|entry| entry.is_invalid)
    }

    /// Returns the metrics.
    pub fn metrics(self) -> impl Iterator<Item = Metric<'a>> {
        let Requests { scopes, metrics, .. } = self.request.requests;
        range(scopes, self.number, |scope| scope.metrics, metrics.len())
            .map(move |number| Metric { request: self.request, number })
    }
}

impl<'a> Metric<'a> {
    /// Returns the metadata. The name may be empty.
    #[must_use]
    pub fn metadata(self) -> MetricMetadata<'a> {
        let Requests { metrics, text, .. } = self.request.requests;
        let Some(entry) = metrics.get(self.number) else { return MetricMetadata::default() };
        let mut start = entry.text as usize;
        let [name, unit, description] = entry.lens.map(|len| {
            let part = text.get(start..start + len as usize).unwrap_or_default();
            start += len as usize;
            part
        });
        MetricMetadata {
            name,
            metric_type: MetricType::from_code(entry.metric_type.into()),
            temporality: Temporality::from_code(entry.temporality.into()),
            monotonicity: entry.is_monotonic.into(),
            unit,
            description,
        }
    }

    /// Returns true if the name or the unit is not UTF-8.
    #[must_use]
    pub fn is_invalid(self) -> bool {
        self.request.requests.metrics.get(self.number).is_some_and(|entry| entry.is_invalid)
    }

    /// Returns the points.
    #[must_use]
    pub fn points(self) -> impl ExactSizeIterator<Item = Point<'a>> {
        let Requests { metrics, points, details, .. } = self.request.requests;
        range(metrics, self.number, |metric| metric.points, points.len()).map(move |number| {
            let details = points.get(number).and_then(|point| details.get(point.details as usize));
            Point { request: self.request, number, details: details.unwrap_or(&Details::NONE) }
        })
    }
}

impl<'a> Point<'a> {
    /// Returns the attributes, in order of the request.
    #[inline]
    pub fn attributes(self) -> impl Iterator<Item = AttributeList<'a>> {
        let Requests { points, point_lists, .. } = self.request.requests;
        let range = range(points, self.number, |point: &PointEntry| point.lists, point_lists.len());
        self.request.lists(point_lists.get(range).unwrap_or_default())
    }

    /// Returns the kind of the metric.
    #[must_use]
    pub fn kind(self) -> MetricKind {
        self.details.facts.kind
    }

    /// Returns the time in nanoseconds since 1970, or 0 if there is none.
    #[must_use]
    pub fn time_unix_nano(self) -> u64 {
        self.request.requests.times.get(self.number).copied().unwrap_or_default()
    }

    /// Returns the flags: see [`NO_RECORDED_VALUE`].
    #[must_use]
    pub fn flags(self) -> u32 {
        self.details.facts.flags
    }

    /// Returns true if a histogram has a sum, which is known if [buckets are needed](super::Needs::buckets).
    #[must_use]
    pub fn has_sum(self) -> bool {
        self.details.facts.has_sum
    }

    /// Returns true if an attribute is not UTF-8.
    #[must_use]
    pub fn is_invalid(self) -> bool {
        self.details.facts.is_invalid
    }

    /// Returns the upper bounds of a histogram's buckets, except for the last bucket, or the quantiles of a summary, if
    /// they are [needed](super::Needs::buckets).
    #[must_use]
    pub fn bounds(self) -> &'a [f64] {
        let Range { start, end } = self.details.doubles;
        self.request.requests.doubles.get(start as usize..end as usize).unwrap_or_default()
    }
}

impl<'a> AttributeList<'a> {
    /// Returns the bytes of the fields, by which a list can be recognized.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the keys and the texts of the attributes.
    ///
    /// # Errors
    ///
    /// The items after a malformed attribute are those that its field leaves.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Result<(Cow<'a, str>, Cow<'a, str>), ProtoError>> {
        let mut run = Fields::new(self.bytes, self.offset);
        std::iter::from_fn(move || {
            let attribute = run.next_of_run()?;
            let pair = key_value(Fields::new(attribute, run.offset() - attribute.len()));
            Some(pair.map(|(key, value)| (key, value.into_text())))
        })
    }
}
