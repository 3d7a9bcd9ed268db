//! The block file format: views, builders and verification of `*.cx` files.
//!
//! A block stores the labelsets of the series of a time window. Each distinct string is stored once, in the *arena*, in
//! byte order. Everything else is bit-packed *tables* of codes that refer to the arena or to earlier tables, so that a
//! few loads from flat arrays resolve a labelset in place. A *remap* (`*.cxr`) maps the series of a compacted block to
//! those of the outputs. The normative text is `spec/FORMAT.md` and `spec/REMAP.md`; doc comments name their sections.
//!
//! ```text
//! a block                                      a lookup
//!
//! +---------------------+
//! | header, directory   |  place of each       series ref 6
//! +---------------------+  section                 |  binary search over keysets
//! | meta                |  counts, times,          v
//! |                     |  parents             keyset (__name__, job, pod)
//! | catalogue           |  keys, tables,           |  row 3 of its table: codes 2, 1, 2
//! |                     |  pools, keysets          v
//! | symbols             |  start of each       value dictionary of `pod`
//! |                     |  symbol                  |  code 2: symbol 9
//! | rows                |  codes of tables         v
//! | members             |  lists, anchors      symbols
//! | arena               |  strings                 |  symbol 9: bytes 36..40
//! | metric metadata     |  optional                v
//! +---------------------+                      arena: "db-1"
//! | checks              |  CRC-32 of each 8 KiB
//! +---------------------+
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`view`] | reading: symbols, tables, keysets, series, lookups |
//! | [`mod@write`] | writing: from sorted symbols, keys, tables and rows to bytes |
//! | [`verify`] | checks of every rule of the spec |
//! | [`remap`] | reading, writing and verification of remaps |
//! | [`layout`] | structs, constants and limits of the file |
//! | [`lists`] | coding of lists |
//! | [`packed`] | the arena as a zstd frame |
//! | [`bits`] | bit streams |
//! | [`unpack`] | many fields of a bit stream at once |
//! | [`checksum`] | checksums, and a record of checked chunks |
//! | [`identity`] | fingerprints of content, ids of blocks |
//! | [`shard`] | assignment of series to shards |
//! | [`policy`] | length limits of label names and values |
//! | [`metadata`] | type, unit and description of metrics |
//! | [`mod@column`] | types of series columns, and ways to merge them |
//! | [`edition`] | what the texts of a time define |
//! | [`error`] | errors, with the place in the file |
//! | [`rule`] | ids of the rules of the spec |
//! | `forecast` | [`Forecast`], the expected size of a block that was planned from a sample |
//! | `number` | conversions of numbers |
//!
//! The feature `archive`, which is off by default, reads and writes archives: blocks whose arena is a zstd frame. It
//! compiles zstd with a C compiler; without it, this crate needs none. Then symbols of an archive are
//! [`ErrorKind::UnsupportedArchive`], and all else of it is read.
//!
//! The crate opens no file and starts no thread. Its one line of unsafe code, in [`unpack`], calls a safe function that
//! needs AVX2 if the processor has it. Views without paths do not allocate, except for the order of refs that are
//! resolved at once.
//!
//! ```
//! use chronoxide_format::{write::{BlockBuilder, BlockMeta}, layout::RowForm, view::BlockView, SeriesRef};
//!
//! // `{__name__="up", job="api"}` and `{__name__="up", job="db"}`
//! let mut builder = BlockBuilder::new(RowForm::BitPacked);
//! let mut symbols = Vec::new();
//! for symbol in ["__name__", "api", "db", "job", "up"] {
//!     symbols.push(builder.push_symbol(symbol)?);
//! }
//! let name = builder.push_key(symbols[0], &[symbols[4]])?;
//! let job = builder.push_key(symbols[3], &[symbols[1], symbols[2]])?;
//! builder.push_keyset(&[name, job], &[0, 0, /* second row */ 0, 1])?;
//! let bytes = builder.finish(&BlockMeta::default())?;
//!
//! let block = BlockView::open(&bytes)?;
//! block.verify()?;
//! let series = block.series(SeriesRef(1))?.expect("there are two series");
//! assert_eq!(series.get("job")?, Some(&b"db"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)] // `unpack` has the one call
#![cfg_attr(
    not(test),
    deny(
        clippy::as_conversions,
        clippy::expect_used,
        clippy::host_endian_bytes,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
    )
)]

pub mod bits;
pub mod checksum;
pub mod column;
pub mod edition;
pub mod error;
mod forecast;
pub mod identity;
pub mod layout;
pub mod lists;
pub mod metadata;
mod number;
pub mod packed;
pub mod policy;
pub mod remap;
pub mod rule;
pub mod shard;
pub mod unpack;
pub mod verify;
pub mod view;
pub mod write;

pub use error::{Corruption, Error, ErrorKind, Result};
pub use forecast::{Forecast, NotAForecast, PLAN_KEY};
pub use number::{KeyId, PoolId, SeriesRef, SymbolId, TableId};
pub use rule::{Rule, RuleClass};
