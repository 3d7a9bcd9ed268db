//! Opens blocks from memory maps or memory and resolves labelsets in place, without deserialization and without allocation.
//!
//! A [`Block`] owns the bytes of one block; its [`view`](Block::view) answers everything: series by ref, labels in the order of their
//! names, one label by key, label names and values, and the series of a labelset. Labels come as slices of the block itself;
//! [`OwnedLabels`] outlive it.
//!
//! | module | what it is for |
//! |---|---|
//! | `block` | [`Block`]: opening, checking, views and text |
//! | `backing` | the closed set of places where the bytes of a block or a remap may lie |
//! | `checks` | [`Checks`]: when checksums are checked |
//! | `mapping` | the memory map, and the contract of whoever asks for one |
//! | `text` | labels as `&str`, checked once |
//! | `owned` | labels that outlive their block |
//! | `folder` | [`Folder`]: all blocks of a folder, those left out that others stand for |
//! | [`lineage`] | which blocks of a folder count, by what they say of their origin |
//! | `listing` | the names in a folder |
//! | `remap` | [`Remap`]: where the series of a block are after a compaction |
//! | `remap_folder` | [`RemapFolder`]: a series followed from compaction to compaction |
//! | `error` | what can go wrong at opening |
//!
//! ```
//! use chronoxide_reader::{Block, Checks, SeriesRef};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
//! let block = Block::read(path, Checks::Eager)?;
//! let view = block.view();
//! let found = view.find([("__name__", "up"), ("job", "db"), ("pod", "db-1")])?.expect("the block has this series");
//! let series = view.series(found)?.expect("and resolves it");
//! let text = view.text()?;
//! for label in text.labels(&series) {
//!     let label = label?;
//!     println!("{}={}", label.name, label.value);
//! }
//! assert_eq!(series.get("pod")?, Some(&b"db-1"[..]));
//! assert!(view.series(SeriesRef(1000))?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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

mod backing;
mod block;
mod checks;
mod error;
mod folder;
pub mod lineage;
mod listing;
mod mapping;
mod owned;
mod remap;
mod remap_folder;
mod text;

pub use block::{Block, View};
pub use checks::Checks;
pub use chronoxide_format::identity::BlockId;
pub use chronoxide_format::identity::Fingerprint;
pub use chronoxide_format::layout::{RowForm, SectionKind};
pub use chronoxide_format::metadata::{MetricMetadata, MetricType, Temporality};
pub use chronoxide_format::policy::LabelPolicy;
pub use chronoxide_format::remap::{RemapError, RemapPlace, RemapRule, RemapView, Target, Targets};
pub use chronoxide_format::verify::ContentFingerprint;
pub use chronoxide_format::view::{
    BlockView, Column, Domain, FindError, Frame, Job, Keyset, KeysetSeries, Label, LabelIds, LabelIdsIter, Labels,
    Leaves, List, Meta, MetricRows, Metrics, OwnedMeta, Pairs, Pool, Resolver, Section, Sections, Series, SeriesIter,
    Symbols, Table, Text, TextLabel, TextLabels, TimeRange,
};
pub use chronoxide_format::{Corruption, Error, KeyId, PoolId, Rule, SeriesRef, SymbolId, TableId};
pub use error::{FileError, OpenError};
pub use folder::{Entry, Folder, FolderError, Hidden};
pub use owned::OwnedLabels;
pub use remap::Remap;
pub use remap_folder::{FollowError, Followed, REMAP_EXTENSION, RemapFolder};
