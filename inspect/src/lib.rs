//! Shows the content of a block or a remap: the library of `chronoxide-inspect`.
//!
//! | module | contents |
//! |---|---|
//! | [`summary`] | summary of a block: counts, times, size of each part |
//! | [`dump`] | complete content of a block, as text that the spec defines |
//! | [`export`] | series as a Parquet, Arrow, CSV or JSON lines file |
//! | [`metrics`] | type, unit and description of metrics |
//! | [`tables`] | tables and list pools: size and references |
//! | [`plan`] | bytes that the planner saved |
//! | [`remap`] | remaps: summary, dump, target of one series |
//! | [`name`] | label names, quoted where needed |
//! | [`report`] | what multiplies series, and what to drop |
//! | [`query`] | series, labels, values, counts and differences of one or more blocks |
//! | [`series`] | series as a table, as JSON lines or in Prometheus's notation |
//!
//! ```
//! use chronoxide_format::view::BlockView;
//! use chronoxide_inspect::{dump::dump, summary::Summary};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/one-series.cx");
//! let bytes = std::fs::read(path)?;
//! let view = BlockView::open(&bytes)?;
//! assert_eq!(Summary::from_view(&view)?.series, 1);
//! let mut text = Vec::new();
//! dump(&view, None, &mut text)?;
//! assert!(text.starts_with(b"block "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod dump;
mod error;
pub mod export;
pub mod metrics;
pub mod name;
pub mod plan;
pub mod query;
pub mod remap;
pub mod report;
pub mod series;
pub mod summary;
pub mod tables;

pub use error::InspectError;

/// Returns the name of a section in the spec and in dumps.
#[must_use]
pub fn section_name(section: &chronoxide_format::view::Section) -> String {
    section.known().map_or_else(|| format!("optional-{}", section.kind), |kind| kind.name().to_owned())
}
