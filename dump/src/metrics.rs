//! Metric metadata of a block, one line per row.

use std::io::Write;

use chronoxide_format::metadata::{MetricMetadata, Temporality};
use chronoxide_format::view::BlockView;
use chronoxide_text::escape::Escaped;
use serde::Serialize;

use crate::DumpError;

/// Metadata of one metric, as JSON.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MetricEntry<'v> {
    /// The name.
    pub name: &'v str,
    /// The word of the spec for the type (its section 10).
    pub metric_type: &'static str,
    /// The word of the spec for the temporality.
    pub temporality: &'static str,
    /// True if values only grow.
    pub monotonic: bool,
    /// Unit; absent if unknown.
    pub unit: &'v str,
    /// Description; absent if unknown.
    pub description: &'v str,
}

impl<'v> From<MetricMetadata<'v>> for MetricEntry<'v> {
    fn from(metadata: MetricMetadata<'v>) -> Self {
        let MetricMetadata { name, metric_type, temporality, is_monotonic, unit, description } = metadata;
        let (metric_type, temporality) = (metric_type.name(), temporality.name());
        Self { name, metric_type, temporality, monotonic: is_monotonic, unit, description }
    }
}

impl MetricEntry<'_> {
    /// Returns the word of the spec for monotonicity.
    pub(crate) const fn monotonicity(&self) -> &'static str {
        if self.monotonic { "monotonic" } else { "not-monotonic" }
    }
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
    let MetricMetadata { name, metric_type, temporality, is_monotonic, unit, description } = *metadata;
    write!(out, "{} {}", Escaped(name), metric_type.name())?;
    if temporality != Temporality::Unspecified {
        write!(out, " {}", temporality.name())?;
    }
    if is_monotonic {
        write!(out, " monotonic")?;
    }
    for (what, text) in [("unit", unit), ("description", description)] {
        if !text.is_empty() {
            write!(out, " {what}={}", Escaped(text))?;
        }
    }
    writeln!(out)?;
    Ok(())
}
