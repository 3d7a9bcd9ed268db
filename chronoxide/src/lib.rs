//! Labelsets of time series in immutable files: writes, merges and queries *blocks* (`*.cx`).
//!
//! A labelset is a metric name and some 25 label pairs, repeated over millions of series. A TSDB keeps them in an index
//! of 250 bytes per series; a block takes about 2, is queried in place, and needs no server.
//!
//! # Write
//!
//! ```
//! use chronoxide::BlockWriter;
//!
//! # let folder = tempfile::tempdir()?;
//! # let week = folder.path().join("week.cx");
//! let mut writer = BlockWriter::new();
//! for pod in ["web-1", "web-2"] {
//!     writer.insert([("__name__", "up"), ("job", "api"), ("pod", pod)])?;
//! }
//! let written = writer.finish(&week)?;
//! println!("{} bytes", written.byte_len);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Query
//!
//! [`Blocks`] are the block of a file, or the live blocks of a folder. A selector is that of PromQL.
//!
//! ```
//! use std::time::Duration;
//!
//! use chronoxide::Blocks;
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
//! let blocks = Blocks::open(folder)?;
//! let query = blocks.query(r#"{job=~"api|db",pod!=""}"#)?.max_series(5_000_000).timeout(Duration::from_secs(10));
//! let mut rows = query.series()?;
//! while let Some(series) = rows.next()? {
//!     for label in series.labels() {
//!         println!("{}={}", label.name, label.value);
//!     }
//! }
//! println!("{} series in jobs {:?}", query.count()?, query.label_values("job")?);
//! for group in query.group_by(&["job"])? {
//!     println!("{:?}: {} series", group.labels, group.series);
//! }
//! # Ok::<(), chronoxide::Error>(())
//! ```
//!
//! The document `docs/engine.md` builds a query engine on these calls.
//!
//! # Columns
//!
//! A block can hold values of its series: when they were first seen, where their samples are, the number that an engine
//! gave them. They cost bytes for what they say and no more: equal values of neighbours take none. [`Column`] has an
//! example. [`compact`](crate#features) combines the values of series that become one.
//!
//! # Cost
//!
//! Opening a file of any size by [`OpenOptions::map`] takes microseconds, and bytes that no query reads are not loaded.
//! The first query of a block makes an index in memory, of about a byte per series. A selector takes 1 to 30 us for
//! exact values of a million series, and up to a few milliseconds for regular expressions. [`SeriesRows`] read a series
//! with 25 labels in some 300 ns in the order of refs, and in 4 to 6 us in the order of labels; counts and groups read
//! no labels. Queries of several blocks run on all threads.
//!
//! All of this holds for one block. If several blocks have selected series, as consecutive windows do, counts, groups
//! and rows compare hashes of the series first: some 50 to 100 ns per series and block, and 40 bytes of memory per
//! series. [`Query::distinct_series`] searches instead, and keeps nothing; sorted series cost some 5 us per series and
//! block. [`compact`](crate#features) makes one block of several.
//!
//! # Errors
//!
//! There is one [`Error`], whose text is complete. Damaged files are found when they are read, by a checksum for each
//! 8 KiB: a query of a damaged block is an error, and never a shorter result, unless the caller takes the errors
//! ([`Query::skip_damaged`]).
//!
//! # Features
//!
//! All are off by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `compact` | `compact`: merges blocks; brings `archive` |
//! | `archive` | reads blocks whose strings are compressed; needs a C compiler |
//! | `arrow` | `Query::batches`: selected series as record batches; brings `archive` |
//! | `objects` | opens URLs: see below; brings `archive` |
//!
//! With `objects`, paths may be URLs of S3, Google Cloud Storage and Azure: `s3://bucket/folder/` for all live blocks
//! below it, `s3://bucket/folder/week.cx` for one. Credentials are those of the environment, by the names that the
//! clients of these stores use. Blocks are copied to the folder that `CHRONOXIDE_CACHE` names, or to `chronoxide` in
//! the user's folder for caches, and opened there.
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | `blocks` | [`OpenOptions`] and [`Blocks`]: open files |
//! | `query` | [`Query`]: selected series, and what is asked about them |
//! | `selection` | [`Selection`]: selected series, to be kept and combined |
//! | `selector` | [`Selector`]: matchers that are parsed once |
//! | `series` | [`SeriesRows`], [`Series`], [`SeriesId`], [`LabelReader`] |
//! | `distinct` | series of several blocks, each once |
//! | `owned` | [`OwnedRows`], [`OwnedReader`]: with their blocks, to be kept |
//! | `label` | [`AsLabel`]: labels that a caller gives |
//! | `groups` | [`Group`]: numbers of series by label |
//! | `columns` | [`Column`]: a value per series |
//! | `cardinality` | [`Cardinality`]: numbers of series by keyset, name and value |
//! | `stored_bytes` | [`Blocks::stored_bytes`]: what each value of a label costs |
//! | `write` | [`BlockWriter`] |
//! | `arrow`, `compact`, `remote` | what the features `arrow`, `compact` and `objects` add |
//! | `error`, `damage` | [`Error`], and [`Damage`]: the errors of blocks that are left out |
//!
//! The crates `chronoxide-format`, `chronoxide-reader`, `chronoxide-select`, `chronoxide-labels` and others are its
//! parts. They are published for tasks that this crate does not do, and change more often.

#[cfg(feature = "arrow")]
mod arrow;
mod blocks;
mod cardinality;
mod columns;
#[cfg(feature = "compact")]
mod compact;
mod damage;
mod difference;
mod distinct;
mod error;
mod groups;
mod label;
mod owned;
mod query;
#[cfg(feature = "objects")]
mod remote;
mod selection;
mod selector;
mod series;
mod stored_bytes;
mod write;

#[cfg(feature = "arrow")]
pub use arrow::{BatchOptions, Batches};
pub use blocks::{BlockInfo, Blocks, OpenOptions};
pub use cardinality::Cardinality;
pub use chronoxide_format::column::{ColumnMerge, Value, ValueType};
pub use chronoxide_labels::Layout;
pub use chronoxide_reader::{BlockId, Checks, TextLabel as Label};
pub use chronoxide_select::Operator;
pub use columns::{Column, ColumnInfo};
#[cfg(feature = "compact")]
pub use compact::{CompactOptions, Compacted, compact};
pub use damage::Damage;
pub use difference::Difference;
pub use error::{Error, ErrorKind};
pub use groups::{Group, Groups};
pub use label::AsLabel;
pub use owned::{OwnedReader, OwnedRows};
pub use query::Query;
pub use selection::Selection;
pub use selector::Selector;
pub use series::{LabelReader, Series, SeriesId, SeriesRows};
pub use write::{BlockWriter, ColumnNumber, SeriesNumber, WriteOptions, Written};

/// The examples of the guide are tests of this crate.
#[cfg(doctest)]
#[doc = include_str!("../../docs/engine.md")]
struct EngineGuide;

/// The examples of the guide to columns are tests of this crate.
#[cfg(doctest)]
#[doc = include_str!("../../docs/columns.md")]
struct ColumnsGuide;
