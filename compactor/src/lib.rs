//! Merges blocks: the library behind `chronoxide-compact`.
//!
//! [`compact`] takes any number of blocks and gives one with each of their series once; [`compact_into`] gives several, written as they come. Strings are
//! compared only to merge the arenas; from then on everything is numbers that are renumbered in order: symbols, then value dictionaries, then shared
//! tables and lists, then the rows of each keyset. Merging a sorted domain keeps its order, so that rows which were sorted stay sorted; and where inputs
//! are factored alike, a row is a prefix with a list of series, so that it is prefixes and lists that are merged and not series. Tables and pieces of
//! keysets are independent of one another and merged in parallel; the result is the same whatever the number of threads and the order of the inputs.
//!
//! | module | what it is for |
//! |---|---|
//! | `compaction` | the whole with its files: published in a folder, or as one file |
//! | `compact` | the whole: inputs to outputs, with the balance of series |
//! | `options` | how blocks are merged |
//! | [`strategy`] | which blocks of a folder are merged together |
//! | `rewrite` | labels dropped and renamed |
//! | `external` | external labels, set and made labels of series |
//! | `merge` | from inputs to merged rows |
//! | `merger` | rows merged piece by piece, for the outputs that they are for |
//! | `output` | from merged rows to blocks |
//! | `remap` | where the series of the inputs are in the outputs |
//! | `meta` | what the outputs say of themselves |
//! | `verification` | blocks verified on all threads |
//! | `memory` | how much memory it takes at most |
//! | `progress` | how far it is, and whether it is to go on |
//! | [`job`] | many outputs published, and then the inputs deleted |
//! | `error` | what can go wrong |
//!
//! ```
//! use chronoxide_compactor::{CompactOptions, Compaction};
//! use chronoxide_format::view::BlockView;
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/");
//! let a = std::fs::read(format!("{folder}plain-bitpacked.cx"))?;
//! let b = std::fs::read(format!("{folder}lists-fixedwidth.cx"))?;
//! let inputs = [BlockView::open(&a)?, BlockView::open(&b)?];
//! let summary = Compaction::new(&inputs, &CompactOptions::default()).into_memory()?.summary;
//! assert_eq!(summary.duplicates, 0);
//! assert_eq!(summary.series_out, summary.series_in);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compact;
mod compaction;
mod error;
mod external;
pub mod job;
mod memory;
mod merge;
mod meta;
mod options;
mod output;
mod progress;
mod remap;
mod rewrite;
mod row_merger;
pub mod strategy;
mod verification;

pub use chronoxide_reader::REMAP_EXTENSION;
pub use compact::{Compacted, Summary};
pub use compaction::{Compaction, CompactionError, RemapRefused, SCRATCH_MEMORY};
pub use error::CompactError;
pub use options::{CompactOptions, Shards, UserPairs};
pub use output::Draft;
pub use progress::{NoObserver, Observer, Phase, Timings};
pub use rewrite::Rewrite;
pub use verification::verify;
