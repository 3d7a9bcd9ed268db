//! From the parts of records to series: [`Collector`].
//!
//! # The labels of a point
//!
//! A data point of OTLP has these labels; one series per distinct labelset, so a histogram is one series:
//!
//! 1. `__name__`, the name of its metric
//! 2. the point's attributes
//! 3. the scope's name and version, as `otel_scope_name` and `otel_scope_version`, and its attributes
//! 4. the resource's attributes
//!
//! Where two have the same name, the one further up in this list wins. Within one level the last one wins, and a
//! scope's name and version win over attributes of those names. Keys are taken as they are, dots and all.
//!
//! Names and values are cut by the [label policy](chronoxide_format::policy) first; should two names become the same
//! by it, they are the same name from then on. An empty value is no label, and is dropped last: an empty attribute of
//! a point leaves the point without a label that its resource would give it, as setting a label to nothing does in
//! Prometheus.

use crate::otlp::{Level, NO_RECORDED_VALUE, OtlpSink, Point};
use crate::report::Report;
use crate::series::SeriesSink;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_labels::{KeyId, KeysetStore, LabelError, LabelId};
use std::borrow::Cow;

/// Collects series from the parts of records.
///
/// Labels of resources and scopes are interned once for all their points, so that a known point costs its own
/// attributes and two lookups.
#[derive(Debug, Default)]
pub struct Collector {
    store: KeysetStore,
    policy: LabelPolicy,
    report: Report,
    resource: Attributes,
    scope: Attributes,
    point: Attributes,
    /// What resource and scope give to each of their points, without empty values.
    base: Vec<LabelId>,
    base_is_current: bool,
    /// `__name__` with the name of the current metric.
    name: Option<LabelId>,
    name_key: Option<KeyId>,
    /// The labels of one series; kept to keep its memory.
    labels: Vec<LabelId>,
}

/// The attributes of one level, each key once.
#[derive(Debug, Default)]
struct Attributes {
    /// Keys with their labels; none if the value is empty.
    list: Vec<(KeyId, Option<LabelId>)>,
    /// For each key the generation in which it was set last, and where it is in the list.
    marks: Vec<(u32, u32)>,
    /// Counts how often the level began anew; marks of other generations mean nothing.
    generation: u32,
}

impl Attributes {
    fn clear(&mut self) {
        self.list.clear();
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.marks.clear();
            self.generation = 1;
        }
    }

    fn position(&self, key: KeyId) -> Option<usize> {
        let &(generation, position) = self.marks.get(key.index())?;
        // Generation 0 is that of marks that were never set, also before the first `clear`.
        (generation == self.generation && generation != 0).then_some(position as usize)
    }

    /// Sets the label of a key; whether it had one.
    fn set(&mut self, key: KeyId, label: Option<LabelId>) -> bool {
        if let Some(place) = self.position(key).and_then(|position| self.list.get_mut(position)) {
            place.1 = label;
            return true;
        }
        if self.marks.len() <= key.index() {
            self.marks.resize(key.index() + 1, (0, 0));
        }
        if let Some(mark) = self.marks.get_mut(key.index()) {
            *mark = (self.generation, self.list.len() as u32);
        }
        self.list.push((key, label));
        false
    }
}

impl Collector {
    /// A collector without series.
    #[must_use]
    pub fn new(policy: LabelPolicy) -> Self {
        let mut collector = Self { policy, ..Self::default() };
        collector.resource.clear();
        collector.scope.clear();
        collector.point.clear();
        collector
    }

    /// What was counted so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    pub(crate) fn report_mut(&mut self) -> &mut Report {
        &mut self.report
    }

    /// The series so far.
    #[must_use]
    pub fn store(&self) -> &KeysetStore {
        &self.store
    }

    /// The policy that names and values are cut by.
    #[must_use]
    pub fn policy(&self) -> LabelPolicy {
        self.policy
    }

    /// The series and what was counted.
    #[must_use]
    pub fn into_parts(self) -> (KeysetStore, Report) {
        (self.store, self.report)
    }

    fn set(&mut self, level: Level, name: &str, value: &str) -> Result<(), LabelError> {
        if name.is_empty() {
            self.report.empty_keys += 1;
            return Ok(());
        }
        let name = self.policy.name(name);
        self.report.names_cut += u64::from(matches!(name, Cow::Owned(_)));
        let key = self.store.intern_name(&name)?;
        let label = if value.is_empty() {
            self.report.empty_values.add(level);
            None
        } else {
            Some(self.intern_value(key, value)?)
        };
        let attributes = match level {
            Level::Resource => &mut self.resource,
            Level::Scope => &mut self.scope,
            Level::Point => &mut self.point,
        };
        if attributes.set(key, label) {
            self.report.duplicate_keys.add(level);
        }
        Ok(())
    }

    fn intern_value(&mut self, key: KeyId, value: &str) -> Result<LabelId, LabelError> {
        let value = self.policy.value(value);
        self.report.values_cut += u64::from(matches!(value, Cow::Owned(_)));
        self.store.intern_value(key, &value)
    }

    /// Puts the labels of resource and scope together.
    fn update_base(&mut self) {
        self.base.clear();
        self.base.extend(self.scope.list.iter().filter_map(|&(_, label)| label));
        for &(key, label) in &self.resource.list {
            match (self.scope.position(key), label) {
                (Some(_), _) => self.report.shadowed.by_scope += 1,
                (None, label) => self.base.extend(label),
            }
        }
        self.base_is_current = true;
    }

    /// Stores the series of the collected labels.
    fn insert(&mut self) -> Result<(), LabelError> {
        match self.store.insert_ids(&self.labels) {
            Ok((_, is_new)) => self.report.series += u64::from(is_new),
            Err(LabelError::TooManyLabels { .. }) => self.report.skipped.too_many_labels += 1,
            Err(LabelError::NoLabels) => self.report.skipped.series_without_labels += 1,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl OtlpSink for Collector {
    type Error = LabelError;

    fn resource(&mut self) -> Result<(), LabelError> {
        self.resource.clear();
        self.scope()
    }

    fn scope(&mut self) -> Result<(), LabelError> {
        self.scope.clear();
        self.base_is_current = false;
        Ok(())
    }

    fn attribute(&mut self, level: Level, key: &str, value: &str) -> Result<(), LabelError> {
        self.set(level, key, value)
    }

    fn metric(&mut self, name: &str) -> Result<(), LabelError> {
        self.name = None;
        if !name.is_empty() {
            let key = match self.name_key {
                Some(key) => key,
                None => *self.name_key.insert(self.store.intern_name("__name__")?),
            };
            self.name = Some(self.intern_value(key, name)?);
        }
        if !self.base_is_current {
            self.update_base();
        }
        Ok(())
    }

    fn point_begins(&mut self) -> Result<(), LabelError> {
        self.point.clear();
        Ok(())
    }

    fn point(&mut self, point: Point) -> Result<(), LabelError> {
        let report = &mut self.report;
        report.points += 1;
        report.points_by_kind.add(point.kind);
        let Some(name) = self.name else {
            report.skipped.points_without_name += 1;
            return Ok(());
        };
        report.points_without_recorded_value += u64::from(point.flags & NO_RECORDED_VALUE != 0);
        match i64::try_from(point.time_unix_nano) {
            // The range is half-open, so its end must fit too.
            Ok(time) if time > 0 && time < i64::MAX => {
                let (first, last) = report.time.unwrap_or((time, time));
                report.time = Some((first.min(time), last.max(time)));
            }
            _ => report.points_without_time += 1,
        }

        self.labels.clear();
        self.labels.push(name);
        for &(key, label) in &self.point.list {
            if key == name.key {
                report.shadowed.by_metric_name += 1;
            } else {
                self.labels.extend(label);
            }
        }
        for &label in &self.base {
            if label.key == name.key {
                report.shadowed.by_metric_name += 1;
            } else if self.point.position(label.key).is_some() {
                report.shadowed.by_point += 1;
            } else {
                self.labels.push(label);
            }
        }
        self.insert()
    }

    fn metric_ends(&mut self, point_count: u64) -> Result<(), LabelError> {
        self.report.metrics_without_points += u64::from(point_count == 0);
        Ok(())
    }
}

impl SeriesSink for Collector {
    type Error = LabelError;

    fn series_begins(&mut self) -> Result<(), LabelError> {
        self.point.clear();
        Ok(())
    }

    fn label(&mut self, name: &str, value: &str) -> Result<(), LabelError> {
        self.set(Level::Point, name, value)
    }

    fn series_ends(&mut self) -> Result<(), LabelError> {
        self.labels.clear();
        self.labels.extend(self.point.list.iter().filter_map(|&(_, label)| label));
        self.insert()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::decode_otlp_json;
    use crate::report::{Levels, Shadowed, Skipped};
    use crate::series_json::decode_series_json;
    use chronoxide_labels::LabelSetStore;

    fn collected(records: &[&str]) -> Collector {
        let mut collector = Collector::new(LabelPolicy::default());
        for record in records {
            decode_otlp_json(record.as_bytes(), &mut collector).unwrap();
        }
        collector
    }

    /// The series as text, in the order of arrival.
    fn series(collector: &Collector) -> Vec<String> {
        let store = collector.store();
        let all = 0..store.len() as u32;
        all.map(|number| {
            let mut labels = Vec::new();
            let each = |name: &str, value: &str| labels.push(format!("{name}={value}"));
            store.visit(chronoxide_labels::StoreRef(number), each).unwrap();
            labels.join(" ")
        })
        .collect()
    }

    fn attributes(pairs: &[(&str, &str)]) -> String {
        let one = |(key, value): &(&str, &str)| format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#);
        format!(r#""attributes":[{}]"#, pairs.iter().map(one).collect::<Vec<_>>().join(","))
    }

    /// A request with the fields of one resource, the fields of one scope, and metrics.
    fn request(resource: &str, scope: &str, metrics: &str) -> String {
        let scope_metrics = format!(r#"{{"scope":{{{scope}}},"metrics":[{metrics}]}}"#);
        format!(r#"{{"resourceMetrics":[{{"resource":{{{resource}}},"scopeMetrics":[{scope_metrics}]}}]}}"#)
    }

    #[test]
    fn the_more_specific_attribute_wins_and_the_metric_name_always() {
        let resource = attributes(&[("a", "resource"), ("b", "resource"), ("c", "resource"), ("__name__", "resource")]);
        let scope = attributes(&[("b", "scope"), ("c", "scope"), ("otel_scope_name", "attribute")]);
        let point = attributes(&[("c", "point"), ("__name__", "point"), ("otel_scope_version", "point")]);
        let collector = collected(&[&request(
            &resource,
            &format!(r#""name":"meter","version":"1",{scope}"#),
            &format!(r#"{{"name":"metric","gauge":{{"dataPoints":[{{{point}}}]}}}}"#),
        )]);
        assert_eq!(
            series(&collector),
            ["__name__=metric a=resource b=scope c=point otel_scope_name=meter otel_scope_version=point"]
        );
        let report = collector.report();
        assert_eq!(report.shadowed, Shadowed { by_scope: 2, by_point: 2, by_metric_name: 2 });
        assert_eq!(report.duplicate_keys, Levels { scope: 1, ..Levels::default() });
    }

    #[test]
    fn the_order_of_fields_does_not_matter() {
        let ordered = r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"r","value":{"stringValue":"1"}}]},"scopeMetrics":[
            {"scope":{"name":"s"},"metrics":[{"name":"m","sum":{"dataPoints":[{"attributes":[{"key":"p","value":{"intValue":"1"}}],"timeUnixNano":"5"}]}}]}]}]}"#;
        let reversed = r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"sum":{"dataPoints":[{"timeUnixNano":"5","attributes":[
            {"value":{"intValue":"1"},"key":"p"}]}]},"name":"m"}],"scope":{"name":"s"}}],"resource":{"attributes":[{"value":{"stringValue":"1"},"key":"r"}]}}]}"#;
        let (ordered, reversed) = (collected(&[ordered]), collected(&[reversed]));
        assert_eq!(series(&ordered), ["__name__=m otel_scope_name=s p=1 r=1"]);
        assert_eq!(series(&ordered), series(&reversed));
        assert_eq!(ordered.report(), reversed.report());
    }

    #[test]
    fn nothing_leaks_from_one_resource_scope_or_point_to_the_next() {
        let collector = collected(&[
            r#"{"resourceMetrics":[
            {"resource":{"attributes":[{"key":"r","value":{"stringValue":"1"}}]},"scopeMetrics":[
                {"scope":{"name":"s"},"metrics":[{"name":"m","gauge":{"dataPoints":[{"attributes":[{"key":"p","value":{"intValue":"1"}}]},{}]}}]},
                {"metrics":[{"name":"m","gauge":{"dataPoints":[{}]}}]}]},
            {"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{}]}},{"gauge":{"dataPoints":[{}]}},{"name":"n","summary":{}}]}]}]}"#,
            r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"o","histogram":{"dataPoints":[{}]}}]}]}]}"#,
        ]);
        assert_eq!(
            series(&collector),
            [
                "__name__=m otel_scope_name=s p=1 r=1",
                "__name__=m otel_scope_name=s r=1",
                "__name__=m r=1",
                "__name__=m",
                "__name__=o"
            ]
        );
        let report = collector.report();
        assert_eq!((report.points, report.series, report.metrics_without_points), (6, 5, 1));
        assert_eq!(report.skipped, Skipped { points_without_name: 1, ..Skipped::default() });
        assert_eq!(report.points_without_time, 5);
    }

    #[test]
    fn an_empty_value_is_no_label_and_hides_what_it_shadows() {
        let collector = collected(&[
            r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"a","value":{"stringValue":"r"}},{"key":"b"},{"key":"","value":{"stringValue":"x"}}]},
            "scopeMetrics":[{"scope":{"name":"","version":""},"metrics":[{"name":"m","gauge":{"dataPoints":[
                {"attributes":[{"key":"a","value":{"stringValue":""}},{"key":"b","value":{"stringValue":"p"}}]}, {}]}}]}]}]}"#,
        ]);
        assert_eq!(series(&collector), ["__name__=m b=p", "__name__=m a=r"]);
        let report = collector.report();
        assert_eq!(report.empty_values, Levels { resource: 1, scope: 0, point: 1 });
        assert_eq!((report.empty_keys, report.shadowed.by_point), (1, 1));
    }

    #[test]
    fn long_names_and_values_are_cut_and_may_meet() {
        let long = "n".repeat(1_025);
        let cut = LabelPolicy::default().name(&long).into_owned();
        let value = "v".repeat(2_049);
        let resource = attributes(&[(&cut, "short"), ("v", &value)]);
        let point = attributes(&[(&long, "long")]);
        let collector =
            collected(&[&request(&resource, "", &format!(r#"{{"name":"m","gauge":{{"dataPoints":[{{{point}}}]}}}}"#))]);
        let value = LabelPolicy::default().value(&value).into_owned();
        assert_eq!(series(&collector), [format!("__name__=m {cut}=long v={value}")]);
        let report = collector.report();
        assert_eq!((report.names_cut, report.values_cut, report.shadowed.by_point), (1, 1, 1));
    }

    #[test]
    fn points_are_counted_by_kind_time_and_flag() {
        let mut metrics = Vec::new();
        for (number, kind) in ["gauge", "sum", "histogram", "exponentialHistogram", "summary"].iter().enumerate() {
            metrics.push(format!(
                r#"{{"name":"m{number}","{kind}":{{"dataPoints":[{{"timeUnixNano":"{}","flags":{}}}]}}}}"#,
                100 + number,
                number % 2
            ));
        }
        metrics.push(r#"{"name":"m9","gauge":{"dataPoints":[{"timeUnixNano":"18446744073709551615"}]}}"#.to_owned());
        let collector = collected(&[&request("", "", &metrics.join(","))]);
        let report = collector.report();
        let kinds = report.points_by_kind;
        assert_eq!(
            (kinds.gauge, kinds.sum, kinds.histogram, kinds.exponential_histogram, kinds.summary),
            (2, 1, 1, 1, 1)
        );
        assert_eq!((report.points_without_recorded_value, report.points_without_time), (2, 1));
        assert_eq!((report.time, report.series), (Some((100, 104)), 6));
    }

    #[test]
    fn too_many_labels_cost_one_series_and_not_the_record() {
        let many: Vec<(String, String)> = (0..512).map(|key| (format!("k{key}"), "v".to_owned())).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let points = format!(r#"{{{}}},{{{}}}"#, attributes(&many), attributes(&many[..511]));
        let collector =
            collected(&[&request("", "", &format!(r#"{{"name":"m","gauge":{{"dataPoints":[{points}]}}}}"#))]);
        assert_eq!(collector.report().series, 1);
        assert_eq!(collector.report().skipped, Skipped { too_many_labels: 1, ..Skipped::default() });
        assert!(collector.report().is_partial(false));
    }

    #[test]
    fn series_keep_the_last_of_equal_names_and_drop_empty_values() {
        let mut collector = Collector::new(LabelPolicy::default());
        for record in [
            r#"{"a":"1","b":"2","a":"3"}"#,
            r#"{"b":"2","a":"3"}"#,
            r#"{"a":"3","b":"2","c":""}"#,
            r#"{"a":"1","a":""}"#,
            "{}",
            r#"{"":"x"}"#,
        ] {
            decode_series_json(record.as_bytes(), &mut collector).unwrap();
        }
        assert_eq!(series(&collector), ["a=3 b=2"]);
        let report = collector.report();
        assert_eq!((report.duplicate_keys.point, report.empty_values.point, report.empty_keys), (2, 2, 1));
        assert_eq!(report.skipped.series_without_labels, 3);
    }
}
