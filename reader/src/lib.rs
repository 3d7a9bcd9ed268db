//! Reads blocks of labelsets in place, from memory maps or memory.
//!
//! A [`Block`] owns the bytes of one block, and clones of it share them. Its [`View`] resolves series by ref, finds the
//! series with given labels, and lists label names and values, without deserialization and without allocation. Labels
//! are slices of the block: they may outlive the view, and [`OwnedLabels`] outlive the block. A [`Folder`] opens all
//! blocks of a folder so that each series counts once, and a [`Remap`] follows series through a compaction.
//!
//! ```text
//! Block::read ----> Block ----> view() ----> View
//!  or ::map          |                        |-- find([("job", "db"), ...]) --> SeriesRef
//!                    |                        |-- series(SeriesRef) -----------> Series
//!                 clone()                     |                                   |-- labels()   --> Label { name, value }: &[u8]
//!             to other threads                |                                   `-- get("job") --> &[u8]
//!                                             |-- text() --> Text
//!                                             |               `-- labels(&series) -------------> TextLabel { name, value }: &str
//!                                             `-- resolver(), series_iter(), keys, values, tables, ...
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `block` | [`Block`] and [`View`]: opening, checking, content |
//! | `owned` | [`OwnedLabels`]: labels that outlive their block |
//! | `folder` | [`Folder`]: the live blocks of a folder |
//! | [`lineage`] | rules that choose the live blocks, from parents and jobs |
//! | `remap` | [`Remap`]: targets of the series of a compacted block |
//! | `remap_folder` | [`RemapFolder`]: a series followed through many compactions |
//! | `archives` | [`check_archives`]: the memory of archives that are decoded together |
//! | `checks` | [`Checks`]: when checksums are checked |
//! | `error` | errors of opening, and errors with their path |
//! | `backing` | the bytes of an open file: a map or a buffer |
//! | `mapping` | memory maps (unsafe) |
//! | `text` | cached check of UTF-8 (unsafe) |
//! | `listing` | file names of a folder |
//!
//! The feature `archive`, which is off by default, reads archives: blocks whose strings are a zstd frame. It compiles
//! zstd with a C compiler; without it, this crate needs none. Then opening an archive gives
//! [`ErrorKind::UnsupportedArchive`], except with [`Block::map_packed`].
//!
//! The folder `examples` has a program for each of these uses: `lookup`, `scan`, `folder` and `follow`.
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

mod archives;
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

pub use archives::{ArchiveMemoryError, MAX_ARCHIVE_MEMORY, check_archives};
pub use block::{Block, View};
pub use checks::Checks;
pub use chronoxide_format::identity::BlockId;
pub use chronoxide_format::identity::Fingerprint;
pub use chronoxide_format::layout::{RowForm, SectionKind};
pub use chronoxide_format::metadata::{MetricMetadata, MetricType, Temporality};
pub use chronoxide_format::policy::LabelPolicy;
pub use chronoxide_format::remap::{RemapError, RemapErrorKind, RemapPlace, RemapRule, RemapView, Target, Targets};
pub use chronoxide_format::verify::ContentFingerprint;
pub use chronoxide_format::view::{
    BlockView, Column, Domain, FindError, Frame, Job, Keyset, KeysetSeries, Label, LabelIds, LabelIdsIter, Labels,
    List, Meta, MetricRows, Metrics, OwnedMeta, Pairs, Paths, Pool, Resolver, Section, Sections, Series, SeriesIter,
    Symbols, Table, TableKeys, Text, TextLabel, TextLabels, TimeRange,
};
pub use chronoxide_format::{Corruption, Error, ErrorKind, KeyId, PoolId, Rule, SeriesRef, SymbolId, TableId};
pub use error::{FileError, OpenError};
pub use folder::{Entry, Folder, FolderError, Hidden, is_block_name};
pub use owned::OwnedLabels;
pub use remap::Remap;
pub use remap_folder::{FollowError, Followed, REMAP_EXTENSION, RemapFolder};
pub use text::TextResolver;
