//! One walk over a request as protobuf, without a model in memory.
//!
//! Fields may come in any order, and a description may follow the fields that it describes. A message is a slice, so it
//! is walked twice: once for descriptions, once for described fields. Skipping a field costs reading its key and
//! length.

use chronoxide_format::metadata::{MetricMetadata, Temporality};

use super::super::kind::MetricKind;
use super::super::requests::{Level, Needs, PointFacts, RequestPlace, Requests, TooManyParts, Writer};
use super::value::key_value;
use crate::protobuf::{Field, Fields, ProtoError};

/// Decodes one `ExportMetricsServiceRequest`, and adds it to `requests`.
///
/// Fields that labels do not need are not checked, such as exemplars.
///
/// # Errors
///
/// The bytes are not such a request, or have far more parts than bytes. Then nothing is added.
pub fn decode_otlp_proto(bytes: &[u8], needs: Needs, requests: &mut Requests) -> Result<RequestPlace, ProtoError> {
    decode_within(bytes, needs, None, requests)
}

/// Decodes a request whose parts take at most `limit` bytes.
pub(crate) fn decode_within(
    bytes: &[u8],
    needs: Needs,
    limit: Option<usize>,
    requests: &mut Requests,
) -> Result<RequestPlace, ProtoError> {
    let mut walk = Walk { needs, writer: Writer::new(requests, bytes.len(), limit) };
    let result = walk.request(bytes);
    walk.writer.end(result)
}

impl From<TooManyParts> for ProtoError {
    fn from(TooManyParts { limit }: TooManyParts) -> Self {
        Self::TooMany { offset: 0, what: "bytes of parts for its length", limit }
    }
}

/// Returns true if content that starts with `head` looks like a request with at least one resource. Text may begin with
/// the same byte, a newline, so the check descends to attributes and metrics.
#[must_use]
pub fn looks_like_request(head: &[u8]) -> bool {
    let Some((len, resource_metrics)) = within(head, usize::MAX, &[0x0a]) else {
        return false;
    };
    resource_metrics.is_empty()
        || within(resource_metrics, len, &[0x0a, 0x12, 0x1a]).is_some_and(|(_, resource)| {
            resource.first().is_none_or(|key| [0x0a, 0x10, 0x12, 0x1a, 0x22].contains(key))
        })
}

/// Returns the length of the first field of a message and its available bytes, if the field has one of these keys and
/// fits into the message, which has `room` bytes.
fn within<'a>(message: &'a [u8], room: usize, keys: &[u8]) -> Option<(usize, &'a [u8])> {
    let (_, rest) = message.split_first().filter(|(key, _)| keys.contains(key))?;
    let more = rest.iter().take_while(|&&byte| byte >= 0x80).count();
    let (length, content) = rest.split_at_checked(more + 1)?;
    let bits = length.iter().rev().fold(0_u64, |bits, byte| bits << 7 | u64::from(byte & 0x7f));
    let length = usize::try_from(bits).unwrap_or(usize::MAX);
    let fits = room.checked_sub(more + 2).is_some_and(|room| length <= room);
    (fits && (length == 0 || !content.is_empty())).then(|| (length, content.get(..length).unwrap_or(content)))
}

/// State of the walk.
struct Walk<'r> {
    writer: Writer<'r>,
    needs: Needs,
}

impl Walk<'_> {
    fn request(&mut self, bytes: &[u8]) -> Result<(), ProtoError> {
        let mut request = Fields::new(bytes, 0);
        // A nested message that ends early is malformed. Only the outermost message can be truncated.
        let cut_off = |error| match error {
            ProtoError::EndsEarly { offset } => ProtoError::CutOff { offset },
            error => error,
        };
        while let Some(field) = request.next().map_err(cut_off)? {
            if field.number == 1 {
                self.resource_metrics(field.message()?)?;
            }
        }
        Ok(())
    }

    fn resource_metrics(&mut self, fields: Fields<'_>) -> Result<(), ProtoError> {
        self.writer.resource()?;
        let mut description = fields;
        while let Some(field) = description.next()? {
            if field.number == 1 {
                let message = field.message()?;
                let mut resource = message;
                loop {
                    let start = resource.offset();
                    let Some(field) = resource.next()? else { break };
                    if field.number == 1 {
                        resource = self.attributes(Level::Resource, &field, message.after(start))?.0;
                    }
                }
            }
        }
        let mut described = fields;
        while let Some(field) = described.next()? {
            // Field 1000 is the former number of scopes.
            if matches!(field.number, 2 | 1000) {
                self.scope_metrics(field.message()?)?;
            }
        }
        Ok(())
    }

    fn scope_metrics(&mut self, fields: Fields<'_>) -> Result<(), ProtoError> {
        self.writer.scope()?;
        let (mut name, mut version, mut schema_url) = ("", "", "");
        let mut description = fields;
        while let Some(field) = description.next()? {
            if field.number == 1 {
                let message = field.message()?;
                let mut scope = message;
                loop {
                    let start = scope.offset();
                    let Some(field) = scope.next()? else { break };
                    match field.number {
                        1 => name = self.text(&field, Self::mark_scope)?,
                        2 => version = self.text(&field, Self::mark_scope)?,
                        3 => scope = self.attributes(Level::Scope, &field, message.after(start))?.0,
                        _ => {}
                    }
                }
            } else if field.number == 3 && self.needs.scope_schema_url {
                schema_url = self.text(&field, Self::mark_scope)?;
            }
        }
        self.writer.scope_fields(name, version, schema_url)?;
        let mut described = fields;
        while let Some(field) = described.next()? {
            if field.number == 2 {
                self.metric(field.message()?)?;
            }
        }
        Ok(())
    }

    fn metric(&mut self, fields: Fields<'_>) -> Result<(), ProtoError> {
        self.writer.metric()?;
        let mut metadata = MetricMetadata::default();
        // A metric has one kind of data, that of its last field. Earlier fields of the same kind are pieces of it.
        let mut data: Option<(MetricKind, Fields<'_>)> = None;
        let mut description = fields;
        loop {
            let before = description;
            let Some(field) = description.next()? else { break };
            match field.number {
                1 => metadata.name = self.text(&field, Self::mark_metric)?,
                2 => metadata.description = self.text(&field, |_| {})?,
                3 => metadata.unit = self.text(&field, Self::mark_metric)?,
                number => {
                    if let Some(kind) = data_kind(number)
                        && data.is_none_or(|(of, _)| of != kind)
                    {
                        data = Some((kind, before));
                    }
                }
            }
        }
        if let Some((kind, pieces)) = data {
            metadata.metric_type = kind.metric_type();
            describe(kind, pieces, &mut metadata)?;
            self.points(kind, pieces)?;
        }
        Ok(self.writer.metadata(&metadata)?)
    }

    fn points(&mut self, kind: MetricKind, mut pieces: Fields<'_>) -> Result<(), ProtoError> {
        while let Some(field) = pieces.next()? {
            if data_kind(field.number) == Some(kind) {
                let mut data = field.message()?;
                while let Some(field) = data.next()? {
                    if field.number == 1 {
                        self.point(kind, field.message()?)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn point(&mut self, kind: MetricKind, mut fields: Fields<'_>) -> Result<(), ProtoError> {
        use MetricKind::{ExponentialHistogram, Gauge, Histogram, Sum, Summary};
        self.writer.point()?;
        let mut facts = PointFacts::new(kind);
        let (mut time_unix_nano, mut bucket_count) = (0, 0);
        let message = fields;
        loop {
            // A copy of the remaining fields would cost more than that of their offset.
            let start = fields.offset();
            let Some(field) = fields.next()? else { break };
            match (kind, field.number) {
                (Gauge | Sum | Summary, 7) | (Histogram, 9) | (ExponentialHistogram, 1) => {
                    let (after, is_invalid) = self.attributes(Level::Point, &field, message.after(start))?;
                    fields = after;
                    facts.is_invalid |= is_invalid;
                }
                (_, 3) => time_unix_nano = field.fixed64()?,
                // Flags are 32 bits wide.
                (Gauge | Sum | Summary, 8) | (Histogram | ExponentialHistogram, 10) => {
                    facts.flags = field.varint()? as u32;
                }
                (Histogram, 5) if self.needs.buckets => facts.has_sum = true,
                (Histogram, 6) if self.needs.buckets => field.each_fixed64(|_| bucket_count += 1)?,
                (Histogram, 7) if self.needs.buckets => {
                    let mut added = Ok(());
                    field.each_fixed64(|bound| {
                        added = added.and_then(|()| self.writer.double(f64::from_bits(bound)));
                    })?;
                    added?;
                }
                (Summary, 6) if self.needs.buckets => {
                    let (mut quantile, mut quantile_fields) = (0.0, field.message()?);
                    while let Some(field) = quantile_fields.next()? {
                        if field.number == 1 {
                            quantile = field.double()?;
                        }
                    }
                    self.writer.double(quantile)?;
                }
                _ => {}
            }
        }
        Ok(self.writer.point_ends(time_unix_nano, facts, bucket_count)?)
    }

    fn mark_scope(&mut self) {
        self.writer.mark_invalid(Level::Scope);
    }

    fn mark_metric(&mut self) {
        self.writer.mark_metric_invalid();
    }

    /// Returns the text of a field. If it is invalid and left out, it is empty, and `mark` marks its owner.
    fn text<'a>(&mut self, field: &Field<'a>, mark: impl FnOnce(&mut Self)) -> Result<&'a str, ProtoError> {
        match field.text() {
            Err(ProtoError::Utf8 { .. }) if self.needs.without_invalid_texts => {
                self.writer.count_invalid_text();
                mark(self);
                Ok("")
            }
            text => text,
        }
    }

    /// Adds attributes: `field`, which is the first of `fields`, and those that directly follow it. Returns the fields
    /// after them, and true if one is invalid and was left out.
    #[inline]
    fn attributes<'a>(
        &mut self,
        level: Level,
        field: &Field<'a>,
        fields: Fields<'a>,
    ) -> Result<(Fields<'a>, bool), ProtoError> {
        let (run, start) = (fields.run(), fields.offset());
        let after = fields.after(field.end().max(start + run.len()));
        if run.is_empty() {
            return Ok((after, self.odd_attribute(level, field.message()?)?));
        }
        if self.needs.checked_attributes {
            check(Fields::new(run, start), self.needs.without_invalid_texts)?;
        }
        self.writer.run(level, start, run.len())?;
        Ok((after, false))
    }

    /// Adds an attribute whose field does not have the usual key. Returns true if it is invalid and was left out.
    fn odd_attribute(&mut self, level: Level, attribute: Fields<'_>) -> Result<bool, ProtoError> {
        match key_value(attribute) {
            Err(ProtoError::Utf8 { .. }) if self.needs.without_invalid_texts => {
                self.writer.count_invalid_text();
                self.writer.mark_invalid(level);
                Ok(true)
            }
            attribute => {
                let (key, value) = attribute?;
                self.writer.attribute(level, &key, &value.into_text())?;
                Ok(false)
            }
        }
    }
}

/// Checks the attributes of a run. If invalid texts are left out, they are found when the attributes are read.
fn check(mut run: Fields<'_>, without_invalid_texts: bool) -> Result<(), ProtoError> {
    while let Some(bytes) = run.next_of_run() {
        match key_value(Fields::new(bytes, run.offset() - bytes.len())) {
            Err(ProtoError::Utf8 { .. }) if without_invalid_texts => {}
            attribute => drop(attribute?),
        }
    }
    Ok(())
}

/// Returns the kind of data of a field of a metric.
fn data_kind(number: u32) -> Option<MetricKind> {
    Some(match number {
        5 => MetricKind::Gauge,
        7 => MetricKind::Sum,
        9 => MetricKind::Histogram,
        10 => MetricKind::ExponentialHistogram,
        11 => MetricKind::Summary,
        _ => return None,
    })
}

/// Reads the metadata of data besides its points.
fn describe(kind: MetricKind, mut pieces: Fields<'_>, metadata: &mut MetricMetadata<'_>) -> Result<(), ProtoError> {
    use MetricKind::{ExponentialHistogram, Histogram, Sum};
    while let Some(field) = pieces.next()? {
        if data_kind(field.number) == Some(kind) {
            let mut data = field.message()?;
            while let Some(field) = data.next()? {
                match (kind, field.number) {
                    (Sum | Histogram | ExponentialHistogram, 2) => {
                        // An enum has 32 bits. Unknown values are unspecified.
                        metadata.temporality = Temporality::from_otlp(field.uint32()?.into());
                    }
                    (Sum, 3) => metadata.monotonicity = field.bool()?.into(),
                    _ => {}
                }
            }
        }
    }
    Ok(())
}
