//! A metric before it has points.

use std::borrow::Cow;

use crate::telemetry::dimension::Dimension;

/// Kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Gauge,
    /// A sum that only grows, since the pod was started.
    Counter,
    /// A sum that only grows, since the last scrape.
    Delta,
    /// A sum that grows and shrinks.
    UpDown,
    /// With these bounds.
    Histogram(&'static [f64]),
    Exponential,
    Summary,
}

/// A metric and what its points are distinguished by.
#[derive(Clone, Debug)]
pub(crate) struct Instrument {
    pub(crate) name: Cow<'static, str>,
    pub(crate) unit: &'static str,
    pub(crate) description: &'static str,
    pub(crate) kind: Kind,
    pub(crate) dimensions: Cow<'static, [Dimension]>,
}

impl Instrument {
    pub(crate) const fn new(
        name: &'static str,
        unit: &'static str,
        description: &'static str,
        kind: Kind,
        dimensions: &'static [Dimension],
    ) -> Self {
        Self { name: Cow::Borrowed(name), unit, description, kind, dimensions: Cow::Borrowed(dimensions) }
    }
}
