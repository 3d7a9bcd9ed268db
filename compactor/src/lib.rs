//! Merges blocks: the library behind `chronoxide-compact`.
//!
//! [`compact`] takes any number of blocks and gives one with each of their series once. Strings are looked at only to merge the arenas; from
//! then on everything is numbers that are renumbered in order: symbols, then value dictionaries, then the rows of each keyset. Merging a
//! sorted domain keeps its order, so that rows which were sorted stay sorted. Dictionaries and keysets are independent of one another
//! and merged in parallel; the result is the same whatever the number of threads and the order of the inputs.
//!
//! | module | what it is for |
//! |---|---|
//! | `compact` | the whole: inputs to output, with the balance of series |
//! | `symbols` | arenas merged, and what each symbol becomes |
//! | `dictionaries` | keys and their dictionaries merged, and what each code becomes |
//! | `keysets` | rows merged, and what was there twice |
//! | `meta` | what the output says of itself |
//! | [`job`] | many outputs published, and then the inputs deleted |
//! | `error` | what can go wrong |
//!
//! ```
//! use chronoxide_compactor::{CompactOptions, compact};
//! use chronoxide_format::view::BlockView;
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/");
//! let a = std::fs::read(format!("{folder}plain-bitpacked.cx"))?;
//! let b = std::fs::read(format!("{folder}lists-fixedwidth.cx"))?;
//! let inputs = [BlockView::open(&a)?, BlockView::open(&b)?];
//! let compacted = compact(&inputs, &CompactOptions::default())?;
//! assert_eq!(compacted.duplicates, 0);
//! assert_eq!(compacted.series_out, compacted.series_in);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compact;
mod dictionaries;
mod error;
pub mod job;
mod keysets;
mod meta;
mod symbols;

pub use compact::{CompactOptions, Compacted, compact};
pub use error::CompactError;
