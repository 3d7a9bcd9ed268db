//! The block file format: everything between labels and the bytes of a `*.cx` file.
//!
//! A block keeps the labelsets of a time window. Its strings stand once in an *arena*, in byte order; everything else is
//! *tables* of bit-packed codes over the arena or over earlier tables, so that a labelset is resolved by a few loads
//! from flat arrays. The normative text is `spec/FORMAT.md`; doc comments name its sections.
//!
//! | module | what it is for |
//! |---|---|
//! | [`layout`] | the structs, constants and limits of the file, each declared once |
//! | [`bits`] | bit streams, read and written |
//! | [`checksum`] | checksums bound to their place, and the proofs of chunks already checked |
//! | [`identity`] | fingerprints of content and ids of blocks |
//! | [`shard`] | which of several blocks a series belongs to |
//! | [`policy`] | how long labels are cut |
//! | [`metadata`] | what is known about a metric beside its labels |
//! | [`view`] | a block's bytes as meaning: symbols, tables, keysets, series, lookups |
//! | [`write`] | meaning as a block's bytes |
//! | [`verify`] | every rule of the spec |
//! | [`remap`] | what became of the series of a block in a compaction |
//!
//! The crate opens no file, starts no thread and contains no unsafe code; views allocate nothing.
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
//! assert_eq!(series.get(b"job")?, Some(&b"db"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
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
pub mod error;
pub mod identity;
pub mod layout;
pub mod metadata;
mod number;
pub mod policy;
pub mod remap;
pub mod rule;
pub mod shard;
pub mod verify;
pub mod view;
pub mod write;

pub use error::{Corruption, Error, Result};
pub use number::{KeyId, PoolId, SeriesRef, SymbolId, TableId};
pub use rule::Rule;
