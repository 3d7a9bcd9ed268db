//! Metric metadata of a block, one line per row.

use std::fmt;
use std::io::Write;

use chronoxide_format::metadata::{MetricMetadata, MetricType, Monotonicity, Temporality};
use chronoxide_format::view::BlockView;
use chronoxide_text::escape::Escaped;
use serde::{Serialize, Serializer};

use crate::DumpError;

/// Metadata of one metric, as JSON.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MetricEntry<'v> {
    /// The name.
    pub name: &'v str,
    /// The word of the spec for the type (METRICS.md).
    #[serde(serialize_with = "as_text")]
    pub metric_type: MetricType,
    /// The word of the spec for the temporality.
    #[serde(serialize_with = "as_text")]
    pub temporality: Temporality,
    /// The word of the spec for monotonicity; in JSON true if values are known only to grow.
    #[serde(rename = "monotonic", serialize_with = "as_bool")]
    pub monotonicity: Monotonicity,
    /// Unit; absent if unknown.
    pub unit: &'v str,
    /// Description; absent if unknown.
    pub description: &'v str,
}

impl<'v> From<MetricMetadata<'v>> for MetricEntry<'v> {
    fn from(metadata: MetricMetadata<'v>) -> Self {
        let MetricMetadata { name, metric_type, temporality, monotonicity, unit, description } = metadata;
        Self { name, metric_type, temporality, monotonicity, unit, description }
    }
}

fn as_text<T: fmt::Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn as_bool<S: Serializer>(value: &Monotonicity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(*value == Monotonicity::Monotonic)
}

/// Writes the metadata of all metrics of a block, or of the metric with one name: one line per row, as words or as a
/// JSON object. Unknown values are omitted.
///
/// # Errors
/// Returns an error if the block is damaged or writing fails.
pub fn write_metrics(
    view: &BlockView<'_>,
    name: Option<&str>,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), DumpError> {
    let metrics = view.metric_metadata()?;
    let rows = match name {
        Some(name) => metrics.find(name)?,
        None => metrics.iter(),
    };
    for row in rows {
        let metadata = row?;
        if json {
            serde_json::to_writer(&mut *out, &MetricEntry::from(metadata)).map_err(std::io::Error::from)?;
            writeln!(out)?;
        } else {
            words(&metadata, out)?;
        }
    }
    Ok(())
}

fn words(metadata: &MetricMetadata<'_>, out: &mut dyn Write) -> Result<(), DumpError> {
    let MetricMetadata { name, metric_type, temporality, monotonicity, unit, description } = *metadata;
    write!(out, "{} {}", Escaped(name), metric_type)?;
    if temporality != Temporality::Unspecified {
        write!(out, " {temporality}")?;
    }
    if monotonicity != Monotonicity::NotMonotonic {
        write!(out, " {monotonicity}")?;
    }
    for (what, text) in [("unit", unit), ("description", description)] {
        if !text.is_empty() {
            write!(out, " {what}={}", Escaped(text))?;
        }
    }
    writeln!(out)?;
    Ok(())
}
