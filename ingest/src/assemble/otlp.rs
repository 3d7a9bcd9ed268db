//! Requests of OTLP.

use chronoxide_format::metadata::MetricMetadata;
use chronoxide_labels::{LabelError, MAX_LABELS, StoreKeyId};

use super::assembler::Assembler;
use super::blocks::BlockSink;
use super::error::AssembleError;
use super::lists::List;
use super::windows::Times;
use crate::error::DecodeError;
use crate::names;
use crate::otlp::{AttributeList, Level, Metric, MetricKind, NO_RECORDED_VALUE, Needs, Point, Request, Requests};
use crate::otlp::{decode_json_within, decode_proto_within};
use crate::protobuf::ProtoError;
use crate::report::Report;

impl<B: BlockSink> Assembler<B> {
    /// Returns what the options need of requests.
    #[must_use]
    pub fn needs(&self) -> Needs {
        Needs {
            buckets: self.options.classic_histograms,
            scope_schema_url: self.options.prometheus_names,
            without_invalid_texts: self.options.skip_invalid_texts,
            checked_attributes: self.options.skip_invalid_texts,
        }
    }

    /// Decodes one request as JSON, and takes its series.
    ///
    /// # Errors
    ///
    /// Errors of [`decode_otlp_json`](crate::otlp::decode_otlp_json) and [`request`](Self::request).
    pub fn otlp_json(&mut self, record: &[u8]) -> Result<(), DecodeError<AssembleError>> {
        let mut requests = Requests::default();
        let place = decode_json_within(record, self.needs(), None, &mut requests)?;
        self.request(requests.get(&place, record))
    }

    /// Decodes one request as protobuf, and takes its series.
    ///
    /// # Errors
    ///
    /// Errors of [`decode_otlp_proto`](crate::otlp::decode_otlp_proto) and [`request`](Self::request).
    pub fn otlp_proto(&mut self, record: &[u8]) -> Result<(), DecodeError<AssembleError>> {
        let mut requests = Requests::default();
        let place = decode_proto_within(record, self.needs(), None, &mut requests)?;
        self.request(requests.get(&place, record))
    }

    /// Takes the series of a request that was decoded.
    ///
    /// # Errors
    ///
    /// An attribute is malformed: series before it were taken. Or a limit is exceeded, or a block is refused.
    pub fn request(&mut self, request: Request<'_>) -> Result<(), DecodeError<AssembleError>> {
        for resource in request.resources() {
            self.begin_resource().map_err(DecodeError::Sink)?;
            self.report.skipped.invalid_texts += u64::from(resource.invalid_texts());
            self.resource.is_invalid |= resource.is_invalid();
            for list in resource.attributes() {
                self.attributes(Level::Resource, list)?;
            }
            for scope in resource.scopes() {
                self.begin_scope();
                self.scope.is_invalid |= scope.is_invalid();
                for list in scope.attributes() {
                    self.attributes(Level::Scope, list)?;
                }
                for metric in scope.metrics() {
                    self.metric(metric)?;
                }
            }
        }
        Ok(())
    }

    fn metric(&mut self, metric: Metric<'_>) -> Result<(), DecodeError<AssembleError>> {
        let metadata = metric.metadata();
        self.begin_metric(&metadata).map_err(DecodeError::Sink)?;
        self.metric_is_invalid = metric.is_invalid();
        let points = metric.points();
        let count = points.len() as u64;
        for point in points {
            self.begin_point().map_err(DecodeError::Sink)?;
            self.point.is_invalid |= point.is_invalid();
            for list in point.attributes() {
                self.attributes(Level::Point, list)?;
            }
            self.end_point(point).map_err(DecodeError::Sink)?;
        }
        self.end_metric(&metadata, count).map_err(DecodeError::Sink)
    }

    fn begin_resource(&mut self) -> Result<(), AssembleError> {
        self.end_resource()?;
        self.resource.clear();
        self.begin_scope();
        self.clear_point();
        self.check_memory_of_work()
    }

    fn begin_scope(&mut self) {
        self.scope.clear();
        self.untranslated.scope_begins();
        self.base_is_current = false;
        self.template.discard();
    }

    /// Adds attributes of the current resource, scope or point.
    #[inline]
    fn attributes(&mut self, level: Level, list: AttributeList<'_>) -> Result<(), DecodeError<AssembleError>> {
        if self.options.prometheus_names {
            return self.each_attribute(level, list);
        }
        match level {
            Level::Resource | Level::Scope => self.clear_point(),
            Level::Point => {
                self.put_point_attributes();
                self.point_list = None;
            }
        }
        let Some(known) = self.lists.get(level, list.bytes()) else { return self.new_attributes(level, list) };
        if level == Level::Point && self.point.list.is_empty() && !self.point.is_overfull {
            self.point_list = Some(known);
            self.point_is_deferred = true;
            return Ok(());
        }
        for position in 0..self.lists.labels(known).len() {
            if let Some(&label) = self.lists.labels(known).get(position) {
                self.set_label(level, label.key, Some(label));
            }
        }
        Ok(())
    }

    /// Decodes a list, and keeps it in the cache unless its attributes are counted, truncated or left out.
    fn new_attributes(&mut self, level: Level, list: AttributeList<'_>) -> Result<(), DecodeError<AssembleError>> {
        let (before, problems) = self.list_state(level);
        self.each_attribute(level, list)?;
        let (after, problems_now) = self.list_state(level);
        if problems != problems_now || after > MAX_LABELS {
            return Ok(());
        }
        let Self { lists, resource, scope, point, .. } = self;
        let attributes = match level {
            Level::Resource => resource,
            Level::Scope => scope,
            Level::Point => point,
        };
        let labels = attributes.list.get(before..).unwrap_or_default().iter().filter_map(|&(_, label)| label);
        let known = lists.insert(level, list.bytes(), labels);
        if level == Level::Point && before == 0 {
            self.point_list = known;
        }
        Ok(())
    }

    fn each_attribute(&mut self, level: Level, list: AttributeList<'_>) -> Result<(), DecodeError<AssembleError>> {
        for attribute in list.iter() {
            let (key, value) = match attribute {
                Err(ProtoError::Utf8 { .. }) if self.options.skip_invalid_texts => {
                    self.report.skipped.invalid_texts += 1;
                    self.level(level).is_invalid = true;
                    continue;
                }
                attribute => attribute?,
            };
            if self.options.prometheus_names {
                self.put_attribute(level, &key, &value);
            } else {
                self.set(level, &key, &value).map_err(|error| DecodeError::Sink(error.into()))?;
            }
        }
        Ok(())
    }

    fn begin_metric(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), AssembleError> {
        self.windows.metric_begins();
        self.metric.clear();
        if !metadata.name.is_empty() {
            let translated = self.options.prometheus_names.then(|| names::metric(metadata));
            let name = self.intern_label("__name__", translated.as_deref().unwrap_or(metadata.name))?;
            self.metric.push(name);
            if self.options.type_and_unit_labels {
                self.push_type_and_unit(metadata, &names::unit(metadata.unit))?;
            }
        }
        if !self.base_is_current {
            if self.options.prometheus_names {
                self.translate_base()?;
            } else {
                self.update_base();
            }
        }
        Ok(())
    }

    #[inline]
    fn begin_point(&mut self) -> Result<(), AssembleError> {
        self.clear_point();
        self.untranslated.point_begins();
        self.check_memory_of_work()
    }

    fn end_point(&mut self, point: Point<'_>) -> Result<(), AssembleError> {
        let report = &mut self.report;
        report.points += 1;
        report.points_by_kind.add(point.kind());
        if self.resource.is_invalid || self.scope.is_invalid || self.metric_is_invalid || self.point.is_invalid {
            report.skipped.invalid_series += 1;
            return Ok(());
        }
        if self.metric.is_empty() {
            report.skipped.points_without_name += 1;
            return Ok(());
        }
        if self.options.prometheus_names {
            self.translate_point()?;
        }
        let report = &mut self.report;
        if self.resource.is_overfull || self.scope.is_overfull || self.point.is_overfull {
            report.skipped.too_many_labels += 1;
            return Ok(());
        }
        report.points_without_recorded_value += u64::from(point.flags() & NO_RECORDED_VALUE != 0);
        let times = match i64::try_from(point.time_unix_nano()) {
            // The range is half-open, so its end must fit too.
            Ok(time) if time > 0 && time < i64::MAX => {
                report.add_times((time, time));
                Some((time, time))
            }
            _ => {
                report.points_without_time += 1;
                self.default_times()
            }
        };

        if self.options.prometheus_names {
            self.untranslated.add_times(times);
        }

        match point.kind() {
            MetricKind::Histogram if self.options.classic_histograms => {
                self.put_point_attributes();
                if point.has_sum() {
                    self.insert_part("_sum", None, times)?;
                }
                self.insert_part("_count", None, times)?;
                for bound in point.bounds().iter().filter(|bound| **bound != f64::INFINITY) {
                    self.insert_part("_bucket", Some(("le", &decimal(*bound))), times)?;
                }
                self.insert_part("_bucket", Some(("le", "+Inf")), times)
            }
            MetricKind::Summary if self.options.classic_histograms => {
                self.put_point_attributes();
                self.insert_part("_sum", None, times)?;
                self.insert_part("_count", None, times)?;
                for quantile in point.bounds() {
                    self.insert_part("", Some(("quantile", &decimal(*quantile))), times)?;
                }
                Ok(())
            }
            _ => self.insert_point(times),
        }
    }

    fn end_metric(&mut self, metadata: &MetricMetadata<'_>, point_count: u64) -> Result<(), AssembleError> {
        self.report.metrics += 1;
        self.report.metrics_without_points += u64::from(point_count == 0);
        let Some(&name) = self.metric.first().filter(|_| point_count > 0) else {
            return Ok(());
        };
        // Borrowed from the metadata if possible: the cache of names borrows the assembler.
        let translated = self.options.prometheus_names.then(|| self.store.value(name).unwrap_or_default().to_owned());
        let name = translated.as_deref().unwrap_or(metadata.name);
        if let Some(number) = self.intern_metadata(&MetricMetadata { name, ..*metadata }) {
            self.windows.metric_ends(number);
        }
        Ok(())
    }

    /// Combines the labels of resource and scope.
    fn update_base(&mut self) {
        self.base.clear();
        self.base.extend(self.scope.list.iter().filter_map(|&(_, label)| label));
        for &(key, label) in &self.resource.list {
            match (self.scope.position(key), label) {
                (Some(_), _) => self.report.shadowed.by_scope += 1,
                (None, label) => self.base.extend(label),
            }
        }
        for &label in &self.input {
            if self.scope.position(label.key).is_none() && self.resource.position(label.key).is_none() {
                self.base.push(label);
            }
        }
        self.base_is_current = true;
    }

    /// Returns the number of attributes of a level, and a number that increases with each attribute that is counted in
    /// the report, truncated or left out.
    fn list_state(&mut self, level: Level) -> (usize, u64) {
        let Report { names_cut, values_cut, empty_keys, empty_values, duplicate_keys, skipped, .. } = self.report;
        let counts = [empty_values, duplicate_keys].map(|counts| counts.resource + counts.scope + counts.point);
        let attributes = self.level(level);
        let problems = names_cut + values_cut + empty_keys + skipped.reserved_names + counts.into_iter().sum::<u64>();
        let is_incomplete = attributes.is_overfull || attributes.is_invalid;
        (attributes.list.len(), problems + u64::from(is_incomplete))
    }

    /// Stores the series of the current point, which is not expanded.
    fn insert_point(&mut self, times: Option<Times>) -> Result<(), AssembleError> {
        // A point over a time may be inserted again for each of its windows, by its labels.
        let is_instant = times.is_none_or(|(first, last)| first == last);
        // Points without attributes are points with an empty list.
        let is_empty = !self.options.prometheus_names && self.point.list.is_empty();
        let list = self.point_list.or(is_empty.then_some(List::EMPTY));
        let Some(list) = list.filter(|_| is_instant) else {
            self.put_point_attributes();
            self.compose(None);
            return self.insert([times]);
        };
        if self.template.set(&self.metric, self.lists.labels(list)) {
            let mut inserted = self.template.insert(&mut self.store);
            if matches!(inserted, Ok((_, true))) && self.is_full() {
                self.put_point_attributes();
                self.compose(None);
                inserted = self.cut_before_last()?;
            } else {
                self.report.shadowed.by_point += self.template.shadowed();
            }
            return self.add_points(inserted, [times]);
        }
        self.put_point_attributes();
        let before = self.report.shadowed;
        self.compose(None);
        let shadowed = self.report.shadowed;
        if shadowed.by_metric_name > before.by_metric_name {
            return self.insert([times]);
        }
        let Self { template, store, labels, .. } = self;
        let changing_count = self.metric.len() + self.lists.labels(list).len();
        let made = template.make(store, labels, changing_count, shadowed.by_point - before.by_point);
        let mut inserted = made.and_then(|()| template.insert(store));
        if matches!(inserted, Ok((_, true))) && self.is_full() {
            inserted = self.cut_before_last()?;
        }
        self.add_points(inserted, [times])
    }

    pub(super) fn push_type_and_unit(&mut self, metadata: &MetricMetadata<'_>, unit: &str) -> Result<(), LabelError> {
        for (name, value) in [("__type__", names::metric_type(metadata)), ("__unit__", unit)] {
            if !value.is_empty() {
                let label = self.intern_label(name, value)?;
                self.metric.push(label);
            }
        }
        Ok(())
    }

    /// Combines the labels of the current point, those of its metric first, without the label of key `left_out`.
    #[inline]
    fn compose(&mut self, left_out: Option<StoreKeyId>) {
        let Self { labels, metric, point, base, report, .. } = self;
        labels.clear();
        labels.extend_from_slice(metric);
        let belongs_to_metric = |key: StoreKeyId| Some(key) == left_out || metric.iter().any(|label| label.key == key);
        for &(key, label) in &point.list {
            if belongs_to_metric(key) {
                report.shadowed.by_metric_name += 1;
            } else {
                labels.extend(label);
            }
        }
        for &label in &*base {
            if belongs_to_metric(label.key) {
                report.shadowed.by_metric_name += 1;
            } else if point.position(label.key).is_some() {
                report.shadowed.by_point += 1;
            } else {
                labels.push(label);
            }
        }
    }

    /// Stores one of the classic Prometheus series of the current point.
    fn insert_part(
        &mut self,
        suffix: &str,
        label: Option<(&str, &str)>,
        times: Option<Times>,
    ) -> Result<(), AssembleError> {
        let label = label.map(|(name, value)| self.intern_label(name, value)).transpose()?;
        self.compose(label.map(|label| label.key));
        self.labels.extend(label);
        if let Some(&name) = self.metric.first()
            && !suffix.is_empty()
        {
            let text = format!("{}{suffix}", self.store.value(name).unwrap_or_default());
            let name = self.intern_value(name.key, &text)?;
            if let Some(place) = self.labels.first_mut() {
                *place = name;
            }
        }
        self.insert([times])
    }
}

/// Formats a bound or a quantile like Prometheus.
fn decimal(number: f64) -> String {
    if number.is_finite() || number.is_nan() {
        return number.to_string();
    }
    if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
}
