//! Blocks in folders and object stores.
//!
//! A [`Location`] is a folder, or a prefix of a bucket (`s3://`, `gs://`, `az://`). A [`Listing`] tells its blocks and
//! which of them are live, from a ranged read per block or from a [`Manifest`]. A [`Cache`] keeps blocks as files,
//! which the reader maps; a [`SparseBlock`] reads only the chunks that a query needs. All calls wait: the asynchronous
//! code of the client stays inside this crate.
//!
//! ```text
//! Location::open("s3://bucket/prefix/")
//!    |-- Listing::read -----> Listed { object, facts }, live or hidden
//!    |      `-- Manifest: the facts of all blocks in one object
//!    |-- Cache::fetch ------> a verified file, to be mapped
//!    |-- SparseBlock::query > chunks of 8 KiB, as a query needs them
//!    `-- create, copy, delete, list, read: see Storage
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `location` | [`Location`]: from a text to a storage |
//! | `storage` | [`Storage`]: what a folder and an object store can do |
//! | `local` | a folder: files are published |
//! | `remote` | an object store: requests with retries, uploads that are read again; with the feature of that name |
//! | `facts` | [`Facts`]: what a block says about itself |
//! | `sparse` | [`SparseBlock`]: chunks that are read when they are needed |
//! | `listing` | [`Listing`]: blocks, live and hidden |
//! | `manifest` | [`Manifest`]: the facts of many blocks in one object |
//! | `document` | JSON objects with a checksum |
//! | `fetch` | [`Cache`]: verified copies on this machine |
//! | [`text`] | ids as text in JSON |
//! | `error` | [`LocationError`] |
//!
//! ```
//! use chronoxide_locations::{Listing, Location};
//!
//! # let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden");
//! let location = Location::open(golden)?;
//! let listing = Listing::read(&location)?;
//! let series: u64 = listing.live.iter().map(|block| block.facts.series).sum();
//! assert!(series > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod document;
mod error;
mod facts;
mod fetch;
mod listing;
mod local;
mod location;
mod manifest;
#[cfg(feature = "remote")]
mod remote;
mod sparse;
mod storage;
pub mod text;

pub use document::{read_document, to_document};
pub use error::LocationError;
pub use facts::{Counts, Facts, JobFacts, header_checksum};
pub use fetch::{Cache, DEFAULT_CACHE_LEN, UploadFolder, Wanted};
pub use listing::{BLOCK_SUFFIX, HiddenBlock, Listed, Listing};
pub use location::Location;
pub use manifest::{MANIFEST_KEY, Manifest};
pub use sparse::SparseBlock;
pub use storage::{Created, MAX_READ_LEN, Object, RangedRead, ReadSink, Storage};
