//! Merges blocks: the library behind `chronoxide-compact`.
//!
//! A [`Compaction`] takes any number of blocks and writes one or more blocks that have each of their series once.
//! Strings are compared only to merge the arenas. From then on numbers are renumbered in this order: symbols, value
//! dictionaries, shared tables and lists, rows of keysets. Renumbering keeps the order of a sorted domain, so sorted
//! rows stay sorted. Where inputs are factored alike, rows are prefixes with lists of series, and only prefixes and
//! lists are merged. Tables and pieces of keysets are merged in parallel; the result does not depend on the number of
//! threads or the order of the inputs.
//!
//! | module | what it is for |
//! |---|---|
//! | `compaction` | [`Compaction`]: the way in |
//! | `compact` | the steps from inputs to outputs |
//! | `options` | options of a merge |
//! | [`strategy`] | chooses the blocks of a folder to merge |
//! | `rewrite` | drops and renames labels |
//! | `external` | external labels |
//! | `columns` | merges values of series |
//! | `merge` | merges symbols, dictionaries, tables, lists and rows |
//! | `row_merger` | merges rows piece by piece, and assigns them to outputs |
//! | `output` | turns merged rows into blocks |
//! | `ranks` | new numbers of what is used |
//! | `batches` | cuts items into batches of limited size |
//! | `remap` | finds the series of the inputs in the outputs |
//! | `meta` | meta of the outputs |
//! | `verification` | verifies blocks on all threads |
//! | `memory` | estimates memory |
//! | `progress` | progress and cancellation |
//! | [`engine`] | publishes outputs in a location, and deletes inputs |
//! | [`schedule`] | jobs for many machines, over a folder or an object store |
//! | `error` | errors |
//!
//! ```
//! use chronoxide_compactor::{CompactOptions, Compaction};
//! use chronoxide_format::view::BlockView;
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/");
//! let a = std::fs::read(format!("{folder}plain-bitpacked.cx"))?;
//! let b = std::fs::read(format!("{folder}lists-fixedwidth.cx"))?;
//! let inputs = [BlockView::open(&a)?, BlockView::open(&b)?];
//! let summary = Compaction::new(&inputs, &CompactOptions::default()).merge_to_memory()?.summary;
//! assert_eq!(summary.duplicates, 0);
//! assert_eq!(summary.series_out, summary.series_in);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batches;
mod columns;
mod compact;
mod compaction;
pub mod engine;
mod error;
mod external;
mod hashing;
mod memory;
mod merge;
mod meta;
mod options;
mod output;
mod progress;
mod ranks;
mod remap;
mod rewrite;
mod row_merger;
pub mod schedule;
pub mod strategy;
mod verification;

pub use chronoxide_reader::REMAP_EXTENSION;
pub use compact::{Compacted, Summary};
pub use compaction::{Compaction, PLANNED_SERIES, RemapRefused, SCRATCH_MEMORY};
pub use engine::CompactionError;
pub use error::CompactError;
pub use hashing::{HashLabels, HashedLabel, ShortKey};
pub use memory::LEAST_MEMORY;
pub use options::{AnnotationPolicy, CompactOptions, KeptColumns, Origin, Shards};
pub use output::Draft;
pub use progress::{NoObserver, Observer, Phase, Timings};
pub use rewrite::Rewrite;
pub use verification::{verify, verify_block, verify_file};
