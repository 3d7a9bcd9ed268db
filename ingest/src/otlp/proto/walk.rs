//! One walk over a request as protobuf, without a model in memory.
//!
//! Fields may come in any order, and a description may follow the fields that it describes. A message is a slice, so it
//! is walked twice: once for descriptions, once for described fields. Skipping a field costs reading its key and
//! length.

use chronoxide_format::metadata::{MetricMetadata, Temporality};

use super::super::kind::MetricKind;
use super::super::sink::{Level, Needs, OtlpSink, Owner, Point};
use super::value::key_value;
use crate::error::DecodeError;
use crate::protobuf::{Field, Fields, ProtoError};

/// Decodes one `ExportMetricsServiceRequest` and gives its parts to `sink`.
///
/// If the request is malformed, the sink may have got parts of it. To take all or nothing, decode it into a sink that
/// ignores everything first. Fields that labels do not need are not checked, such as exemplars.
///
/// # Errors
///
/// The bytes are not such a request, or the sink refuses a part.
pub fn decode_otlp_proto<S: OtlpSink>(bytes: &[u8], sink: &mut S) -> Result<(), DecodeError<S::Error>> {
    let mut walk = Walk { needs: sink.needs(), sink, bucket_bounds: Vec::new(), quantiles: Vec::new() };
    let mut request = Fields::new(bytes, 0);
    // A nested message that ends early is malformed. Only the outermost message can be truncated.
    let cut_off = |error| match error {
        ProtoError::EndsEarly { offset } => ProtoError::CutOff { offset },
        error => error,
    };
    while let Some(field) = request.next().map_err(cut_off)? {
        if field.number == 1 {
            walk.resource_metrics(field.message()?)?;
        }
    }
    Ok(())
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
struct Walk<'s, S: OtlpSink> {
    sink: &'s mut S,
    needs: Needs,
    /// Bounds and quantiles of the current point.
    bucket_bounds: Vec<f64>,
    quantiles: Vec<f64>,
}

impl<S: OtlpSink> Walk<'_, S> {
    fn resource_metrics(&mut self, fields: Fields<'_>) -> Result<(), DecodeError<S::Error>> {
        self.sink.resource().map_err(DecodeError::Sink)?;
        let mut description = fields;
        while let Some(field) = description.next()? {
            if field.number == 1 {
                let message = field.message()?;
                let mut resource = message;
                loop {
                    let start = resource.offset();
                    let Some(field) = resource.next()? else { break };
                    if field.number == 1 {
                        resource =
                            self.attributes(Level::Resource, (field.bytes()?, field.end()), message.after(start))?;
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

    fn scope_metrics(&mut self, fields: Fields<'_>) -> Result<(), DecodeError<S::Error>> {
        self.sink.scope().map_err(DecodeError::Sink)?;
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
                        1 => name = self.text(&field, Owner::Scope)?,
                        2 => version = self.text(&field, Owner::Scope)?,
                        3 => {
                            scope =
                                self.attributes(Level::Scope, (field.bytes()?, field.end()), message.after(start))?
                        }
                        _ => {}
                    }
                }
            } else if field.number == 3 && self.needs.scope_schema_url {
                schema_url = self.text(&field, Owner::Scope)?;
            }
        }
        let known = [("otel_scope_name", name), ("otel_scope_version", version), ("otel_scope_schema_url", schema_url)];
        for (key, value) in known {
            if !value.is_empty() {
                self.sink.attribute(Level::Scope, key, value).map_err(DecodeError::Sink)?;
            }
        }
        let mut described = fields;
        while let Some(field) = described.next()? {
            if field.number == 2 {
                self.metric(field.message()?)?;
            }
        }
        Ok(())
    }

    fn metric(&mut self, fields: Fields<'_>) -> Result<(), DecodeError<S::Error>> {
        let mut metadata = MetricMetadata::default();
        // A metric has one kind of data, that of its last field. Earlier fields of the same kind are pieces of it.
        let mut data: Option<(MetricKind, Fields<'_>)> = None;
        let mut description = fields;
        loop {
            let before = description;
            let Some(field) = description.next()? else { break };
            match field.number {
                1 => metadata.name = self.text(&field, Owner::Metric)?,
                2 => metadata.description = self.text(&field, Owner::Description)?,
                3 => metadata.unit = self.text(&field, Owner::Metric)?,
                number => {
                    if let Some(kind) = data_kind(number)
                        && data.is_none_or(|(of, _)| of != kind)
                    {
                        data = Some((kind, before));
                    }
                }
            }
        }
        let Some((kind, pieces)) = data else {
            self.sink.metric(&metadata).map_err(DecodeError::Sink)?;
            return self.sink.metric_ends(&metadata, 0).map_err(DecodeError::Sink);
        };
        metadata.metric_type = kind.metric_type();
        describe(kind, pieces, &mut metadata)?;
        self.sink.metric(&metadata).map_err(DecodeError::Sink)?;
        let point_count = self.points(kind, pieces)?;
        self.sink.metric_ends(&metadata, point_count).map_err(DecodeError::Sink)
    }

    fn points(&mut self, kind: MetricKind, mut pieces: Fields<'_>) -> Result<u64, DecodeError<S::Error>> {
        let mut count = 0;
        while let Some(field) = pieces.next()? {
            if data_kind(field.number) == Some(kind) {
                let mut data = field.message()?;
                while let Some(field) = data.next()? {
                    if field.number == 1 {
                        count += 1;
                        self.point(kind, field.message()?)?;
                    }
                }
            }
        }
        Ok(count)
    }

    fn point(&mut self, kind: MetricKind, mut fields: Fields<'_>) -> Result<(), DecodeError<S::Error>> {
        use MetricKind::{ExponentialHistogram, Gauge, Histogram, Sum, Summary};
        self.sink.point_begins().map_err(DecodeError::Sink)?;
        self.bucket_bounds.clear();
        self.quantiles.clear();
        let (mut time_unix_nano, mut flags, mut has_sum, mut bucket_count) = (0, 0, false, 0);
        let message = fields;
        loop {
            // A copy of the remaining fields would cost more than that of their offset.
            let start = fields.offset();
            let Some(field) = fields.next()? else { break };
            match (kind, field.number) {
                (Gauge | Sum | Summary, 7) | (Histogram, 9) | (ExponentialHistogram, 1) => {
                    fields = self.attributes(Level::Point, (field.bytes()?, field.end()), message.after(start))?;
                }
                (_, 3) => time_unix_nano = field.fixed64()?,
                (Gauge | Sum | Summary, 8) | (Histogram | ExponentialHistogram, 10) => flags = field.varint()?,
                (Histogram, 5) => has_sum = true,
                (Histogram, 6) if self.needs.buckets => field.each_fixed64(|_| bucket_count += 1)?,
                (Histogram, 7) if self.needs.buckets => {
                    field.each_fixed64(|bound| self.bucket_bounds.push(f64::from_bits(bound)))?;
                }
                (Summary, 6) if self.needs.buckets => {
                    let (mut quantile, mut quantile_fields) = (0.0, field.message()?);
                    while let Some(field) = quantile_fields.next()? {
                        if field.number == 1 {
                            quantile = field.double()?;
                        }
                    }
                    self.quantiles.push(quantile);
                }
                _ => {}
            }
        }
        let bucket_bounds = self.bucket_bounds.get(..bucket_count).unwrap_or(&self.bucket_bounds);
        let quantiles = &self.quantiles;
        // Flags are 32 bits wide.
        let flags = flags & u64::from(u32::MAX);
        let point = Point { kind, time_unix_nano, flags, has_sum, bucket_bounds, quantiles };
        self.sink.point(&point).map_err(DecodeError::Sink)
    }

    /// Returns the text of a field, or an empty one if it is invalid and the sink leaves out its owner.
    fn text<'a>(&mut self, field: &Field<'a>, owner: Owner) -> Result<&'a str, ProtoError> {
        match field.text() {
            Err(ProtoError::Utf8 { .. }) if self.sink.invalid_text(owner) => Ok(""),
            text => text,
        }
    }

    /// Gives an attribute, the first of `fields` with its end, and those that directly follow it, to the sink. Returns
    /// the fields after them.
    #[inline]
    fn attributes<'a>(
        &mut self,
        level: Level,
        (bytes, end): (&'a [u8], usize),
        fields: Fields<'a>,
    ) -> Result<Fields<'a>, DecodeError<S::Error>> {
        let run = fields.run();
        let after = fields.after(end.max(fields.offset() + run.len()));
        if run.is_empty() {
            odd_attribute(self.sink, level, bytes, end - bytes.len())?;
        } else {
            run_of_attributes(self.sink, level, run, fields.offset())?;
        }
        Ok(after)
    }
}

/// Gives attributes to a sink: the bytes of their fields, which are a [run](Fields::run), and their start in the
/// record.
#[inline]
pub(crate) fn run_of_attributes<S: OtlpSink>(
    sink: &mut S,
    level: Level,
    run: &[u8],
    offset: usize,
) -> Result<(), DecodeError<S::Error>> {
    if sink.encoded_attributes(level, run).map_err(DecodeError::Sink)? {
        return Ok(());
    }
    each_attribute(sink, level, Fields::new(run, offset))?;
    sink.encoded_attributes_end(level, run).map_err(DecodeError::Sink)
}

/// Gives an attribute whose field does not have the usual key to a sink: the bytes of its message, and their start in
/// the record.
pub(crate) fn odd_attribute<S: OtlpSink>(
    sink: &mut S,
    level: Level,
    bytes: &[u8],
    offset: usize,
) -> Result<(), DecodeError<S::Error>> {
    if sink.encoded_attributes(level, &[]).map_err(DecodeError::Sink)? {
        return Ok(());
    }
    attribute(sink, level, bytes, offset)?;
    sink.encoded_attributes_end(level, &[]).map_err(DecodeError::Sink)
}

/// Gives the attributes of a run to the sink.
#[inline]
fn each_attribute<S: OtlpSink>(sink: &mut S, level: Level, mut run: Fields<'_>) -> Result<(), DecodeError<S::Error>> {
    while let Some(bytes) = run.next_of_run() {
        attribute(sink, level, bytes, run.offset() - bytes.len())?;
    }
    Ok(())
}

/// Gives an attribute, whose bytes start at `offset`, to the sink.
#[inline]
fn attribute<S: OtlpSink>(
    sink: &mut S,
    level: Level,
    bytes: &[u8],
    offset: usize,
) -> Result<(), DecodeError<S::Error>> {
    if sink.encoded_attribute(level, bytes).map_err(DecodeError::Sink)? {
        return Ok(());
    }
    let (key, value) = match key_value(Fields::new(bytes, offset)) {
        Err(ProtoError::Utf8 { .. }) if sink.invalid_text(Owner::from(level)) => return Ok(()),
        pair => pair?,
    };
    sink.attribute(level, &key, &value.into_text()).map_err(DecodeError::Sink)
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
