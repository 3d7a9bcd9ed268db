//! Queries of the labels of one or more blocks. Selectors and results see the labels of series, and not the external
//! labels of blocks.
//!
//! Damage that a query finds is kept in the [`Queried`] block, which is left out from there on.
//!
//! | module | contents |
//! |---|---|
//! | `queried` | [`Queried`], a block with its selected series |
//! | `distinct` | [`each_distinct`], the series of several blocks, equal ones once |
//! | `labels` | [`label_names`] and [`label_values`] |
//! | `line` | [`Line`], a name or value in a line of its own |
//! | `counts` | number of series of each keyset, name and value |
//! | `cardinality` | [`Cardinality`], the largest of these counts |
//! | `difference` | [`Difference`] of two sets of blocks |
//!
//! ```
//! use chronoxide_inspect::query::{Queried, label_values};
//! use chronoxide_reader::{Block, Checks};
//! use chronoxide_select::{IndexedBlock, Selector};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
//! let block = IndexedBlock::new(Block::read(path, Checks::Lazy)?);
//! let selector: Selector = r#"up{job="api"}"#.parse()?;
//! let queried = Queried::new(&block, &[selector])?;
//! let values = label_values(&[queried], "pod", "", None);
//! assert!(values.into_iter().eq(["api-1", "api-2"]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cardinality;
mod counts;
mod difference;
mod distinct;
mod labels;
mod line;
mod queried;

pub use cardinality::{Cardinality, KeysetCount, MetricCount, NameCount, PairCount};
pub use difference::{Changes, Difference, Labels};
pub use distinct::{Found, each_distinct};
pub use labels::{label_names, label_values};
pub use line::Line;
pub use queried::Queried;
