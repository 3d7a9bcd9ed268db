//! Remaps: files that map each series of a compacted block to a series of an output, or to none.
//!
//! An engine that stores samples by series ref follows a compaction with a remap, without resolving labels. It is read
//! in place like a block: a [`RemapView`] borrows the bytes, and a lookup is a few binary searches that allocate
//! nothing. The normative text is `spec/REMAP.md`.
//!
//! Modules refer only to those above them.
//!
//! | module | contents |
//! |---|---|
//! | `layout` | the structs and constants of the file |
//! | `rule` | the rules of its spec |
//! | `error` | [`RemapError`] |
//! | `frame` | the place of each array |
//! | `view` | arrays and fields |
//! | `keyset` | start and layout of keysets |
//! | `keyset_targets` | [`KeysetTargets`]: input of the builder |
//! | `lookup` | lookups |
//! | `targets` | all series in order |
//! | `encoding` | ways to write the rows of a keyset, and their sizes |
//! | `build` | [`RemapBuilder`] |
//! | `verify` | every rule |
//!
//! ```
//! use chronoxide_format::SeriesRef;
//! use chronoxide_format::identity::BlockId;
//! use chronoxide_format::remap::{KeysetTargets, RemapBuilder, RemapOutput, RemapView};
//!
//! let outputs = [RemapOutput { block_id: BlockId([1; 16]), series_count: 10, shard: 0 }];
//! let mut builder = RemapBuilder::new(BlockId([0; 16]), [0; 16], &outputs)?;
//! // A keyset with two prefixes: all series of the first are there, and the last of the second is not.
//! let mut keyset = KeysetTargets::default();
//! keyset.push_row([Some(2), Some(3), Some(5)]);
//! keyset.push_row([Some(6), Some(7), None]);
//! builder.push_keyset(&keyset)?;
//! let bytes = builder.finish()?;
//!
//! let remap = RemapView::open(&bytes)?;
//! remap.verify()?;
//! let target = remap.get(SeriesRef(2))?.expect("it is in the output");
//! assert_eq!((target.output, target.series), (0, SeriesRef(5)));
//! assert_eq!(remap.get(SeriesRef(5))?, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod encoding;
mod error;
mod frame;
mod keyset;
mod keyset_targets;
pub mod layout;
mod lookup;
mod rule;
mod targets;
mod verify;
mod view;

pub use build::{RemapBuildError, RemapBuilder, RemapOutput};
pub use error::{RemapError, RemapErrorKind, RemapPlace};
pub use frame::RemapFrame;
pub use keyset_targets::KeysetTargets;
pub use lookup::Target;
pub use rule::RemapRule;
pub use targets::Targets;
pub use view::RemapView;
