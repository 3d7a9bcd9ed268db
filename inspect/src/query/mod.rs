//! The largest counts, and differences: results of queries for `chronoxide-inspect`.
//!
//! | module | contents |
//! |---|---|
//! | `cardinality` | [`Cardinality`], the largest numbers of series |
//! | `difference` | [`Difference`] of two sets of blocks |
//! | `explosions` | [`Explosion`]: a label whose new values bring many series |
//! | `shares` | [`Shares`]: series and bytes by the value of a label |
//! | `line` | [`Line`], a name or value in a line of its own |
//!
//! ```
//! use chronoxide_inspect::query::Cardinality;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
//! let blocks = chronoxide::Blocks::open(path)?;
//! let largest = Cardinality::new(&blocks.query(r#"{job="api"}"#)?, Some(10))?;
//! for metric in largest.metrics_by_series {
//!     println!("{}: {} series", metric.metric, metric.series);
//! }
//! # Ok::<(), chronoxide::Error>(())
//! ```

mod cardinality;
mod difference;
mod explosions;
mod line;
mod shares;

pub use cardinality::{Cardinality, KeysetCount, MetricCount, NameCount, PairCount};
pub use difference::{Changes, Difference, Labels, each_series};
pub use explosions::{Explosion, explosions};
pub use line::Line;
pub use shares::{Share, Shares};
