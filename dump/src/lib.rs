//! Content of one block or remap, as text and as entries for JSON.
//!
//! Works on views of `chronoxide-format` alone, so that tests of the format can compare dumps, which the spec defines
//! (section 13).
//!
//! | module | contents |
//! |---|---|
//! | `block` | [`dump()`], the complete content of a block, as text that the spec defines |
//! | [`summary`] | summary of a block: counts, times, size of each part |
//! | [`columns`] | series columns: size and values in numbers |
//! | [`metrics`] | type, unit and description of metrics |
//! | [`tables`] | tables and list pools: size and references |
//! | [`plan`] | bytes that the planner saved |
//! | [`remap`] | remaps: summary, dump, target of one series |
//! | [`name`] | label names, quoted where needed |
//! | [`series`] | series as a table, as JSON lines or in Prometheus's notation |
//! | `error` | [`DumpError`] |
//!
//! ```
//! use chronoxide_dump::{dump, summary::Summary};
//! use chronoxide_format::view::BlockView;
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

mod block;
pub mod columns;
mod error;
pub mod metrics;
pub mod name;
pub mod plan;
pub mod remap;
pub mod series;
pub mod summary;
pub mod tables;

pub use block::{DomainEntry, Entry, JobEntry, MetaEntry, dump, dump_entries};
pub use error::DumpError;

/// Returns the name of a section in the spec and in dumps.
#[must_use]
pub fn section_name(section: &chronoxide_format::view::Section) -> String {
    section.known().map_or_else(|| format!("optional-{}", section.kind), |kind| kind.name().to_owned())
}
