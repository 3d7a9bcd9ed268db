//! Labels as Prometheus's OTLP receiver makes them.

use std::collections::BTreeMap;

use chronoxide_format::metadata::{MetricMetadata, MetricType};
use chronoxide_labels::{LabelError, Origin};

use super::assembler::Assembler;
use super::blocks::BlockSink;
use super::error::AssembleError;
use super::input_labels::add_missing;
use super::untranslated::Untranslated;
use crate::otlp::Level;

const SERVICE_NAME: &str = "service.name";
const SERVICE_NAMESPACE: &str = "service.namespace";
const SERVICE_INSTANCE: &str = "service.instance.id";

/// Attributes of a scope that the decoders derive from its fields.
const SCOPE_FIELDS: [&str; 3] = ["otel_scope_name", "otel_scope_version", "otel_scope_schema_url"];

/// Metadata of the series with the attributes of a resource.
const TARGET_INFO: MetricMetadata<'static> = MetricMetadata {
    name: "target_info",
    metric_type: MetricType::Gauge,
    temporality: chronoxide_format::metadata::Temporality::Unspecified,
    monotonicity: chronoxide_format::metadata::Monotonicity::NotMonotonic,
    unit: "",
    description: "Target metadata",
};

/// Returns the first value of a key, which Prometheus takes if there are several.
fn get<'a>(attributes: &'a [(String, String)], key: &str) -> Option<&'a str> {
    attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

impl<B: BlockSink> Assembler<B> {
    /// Keeps an attribute until its level is complete.
    pub(super) fn put_attribute(&mut self, level: Level, key: &str, value: &str) {
        if self.refuses_name(key) {
            return;
        }
        if value.is_empty() {
            self.report.empty_values.add(level);
        }
        let attributes = match level {
            Level::Resource => &mut self.untranslated.resource,
            Level::Scope => &mut self.untranslated.scope,
            Level::Point => &mut self.untranslated.point,
        };
        attributes.push((key.to_owned(), value.to_owned()));
    }

    /// Combines the labels that resource and scope add to all points.
    pub(super) fn translate_base(&mut self) -> Result<(), LabelError> {
        let untranslated = std::mem::take(&mut self.untranslated);
        let mut labels = BTreeMap::new();
        for (key, value) in &untranslated.resource {
            if self.options.promote_resource_attributes.contains(key) {
                labels.insert(self.names.label(key).to_string(), (value.clone(), Origin::Resource));
            }
        }
        labels.retain(|_, (value, _)| !value.is_empty());
        let mut strong = self.identity(&untranslated.resource);
        let is_named = get(&untranslated.scope, SCOPE_FIELDS[0]).is_some_and(|name| !name.is_empty());
        for (key, value) in untranslated.scope.iter().filter(|_| is_named) {
            let name = if SCOPE_FIELDS.contains(&key.as_str()) { key.clone() } else { format!("otel_scope_{key}") };
            strong.insert(self.names.label(&name).to_string(), (value.clone(), Origin::Point));
        }
        strong.retain(|_, (value, _)| !value.is_empty());
        self.untranslated = Untranslated { strong: strong.keys().cloned().collect(), ..untranslated };
        labels.append(&mut strong);
        self.base.clear();
        for (name, (value, origin)) in labels {
            let label = self.intern_label(&name, &value)?;
            self.store.note_origin(label.key, origin);
            self.base.push(label);
        }
        add_missing(&mut self.base, &self.input);
        self.base_is_current = true;
        Ok(())
    }

    /// Sets the attributes of the current point.
    pub(super) fn translate_point(&mut self) -> Result<(), LabelError> {
        let mut attributes = std::mem::take(&mut self.untranslated.point);
        for (name, value) in self.joined(&mut attributes) {
            if self.untranslated.strong.binary_search(&name).is_err() {
                self.set(Level::Point, &name, &value)?;
            }
        }
        self.untranslated.point = attributes;
        Ok(())
    }

    /// Ends a resource: adds a series with its attributes, if it had points and gives `job` or `instance`, and more.
    pub(super) fn end_resource(&mut self) -> Result<(), AssembleError> {
        if !self.options.prometheus_names {
            return Ok(());
        }
        let mut untranslated = std::mem::take(&mut self.untranslated);
        let identity = self.identity(&untranslated.resource);
        let of_identity = [SERVICE_NAME, SERVICE_NAMESPACE, SERVICE_INSTANCE];
        // Each of them counts once, as in Prometheus.
        let identity_count = of_identity.iter().filter(|key| get(&untranslated.resource, key).is_some()).count();
        if !untranslated.has_points || untranslated.resource.len() == identity_count {
            return Ok(());
        }
        untranslated.resource.retain(|(key, _)| !of_identity.contains(&key.as_str()));
        let mut labels = self.joined(&mut untranslated.resource);
        labels.extend(identity.into_iter().map(|(name, (value, _))| (name, value)));
        // An attribute may have one of these names too.
        if !labels.contains_key("job") && !labels.contains_key("instance") {
            return Ok(());
        }
        labels.insert("__name__".to_owned(), TARGET_INFO.name.to_owned());
        self.windows.metric_begins();
        self.clear_point();
        self.labels.clear();
        for (name, value) in labels {
            let label = self.intern_label(&name, &value)?;
            self.store.note_origin(label.key, Origin::Resource);
            self.labels.push(label);
        }
        add_missing(&mut self.labels, &self.input);
        let times = untranslated.times.or(self.default_times());
        self.insert([times])?;
        if let Some(number) = self.intern_metadata(&TARGET_INFO) {
            self.windows.metric_ends(number);
        }
        Ok(())
    }

    /// Returns `job` and `instance` of a resource, if it has them.
    fn identity(&self, resource: &[(String, String)]) -> BTreeMap<String, (String, Origin)> {
        let mut identity = BTreeMap::new();
        let job = get(resource, SERVICE_NAME).map(|name| match get(resource, SERVICE_NAMESPACE) {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        });
        let instance = get(resource, SERVICE_INSTANCE).map(str::to_owned);
        for (name, value) in [("job", job), ("instance", instance)] {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                identity.insert(name.to_owned(), (value, Origin::Resource));
            }
        }
        identity
    }

    /// Translates attributes to names of Prometheus, and joins values of attributes that get the same name.
    fn joined(&mut self, attributes: &mut [(String, String)]) -> BTreeMap<String, String> {
        attributes.sort_by(|left, right| left.0.cmp(&right.0));
        let mut joined: BTreeMap<String, String> = BTreeMap::new();
        for (key, value) in attributes.iter() {
            let known = joined.entry(self.names.label(key).to_string()).or_default();
            if !known.is_empty() {
                known.push(';');
            }
            known.push_str(value);
        }
        joined.retain(|_, value| !value.is_empty());
        joined
    }
}
