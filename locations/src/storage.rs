//! [`Storage`]: what a folder and an object store can do.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use chronoxide_publish::FileSystem;

use crate::LocationError;

/// An object of a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// Key relative to the location, with `/` between its parts.
    pub key: String,
    /// Length in bytes.
    pub byte_len: u64,
    /// Text that differs if the object was replaced: the entity tag, or the time of the last change.
    pub version: String,
    /// Time of the last change in seconds since 1970.
    pub modified: i64,
}

/// Result of creating an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// This call created it.
    New,
    /// An object with the same bytes existed.
    Found,
}

/// Ranges of an object to read.
#[derive(Clone, Debug)]
pub struct RangedRead {
    /// Key of the object.
    pub key: String,
    /// Ranges of bytes, each inside the object.
    pub ranges: Vec<Range<u64>>,
}

/// Maximum length in bytes of an object that is read whole: a manifest or a record. A manifest of half a million blocks
/// is shorter.
pub const MAX_READ_LEN: u64 = 256 << 20;

/// Refuses to read an object of this length whole.
pub(crate) fn check_read_len(byte_len: u64, name: impl FnOnce() -> String) -> Result<(), LocationError> {
    if byte_len <= MAX_READ_LEN {
        return Ok(());
    }
    Err(LocationError::Json { object: name(), reason: format!("{byte_len} bytes, more than {MAX_READ_LEN}") })
}

/// Receives the result of each [`RangedRead`] by its position. Returns false to stop.
pub type ReadSink<'a> = &'a mut dyn FnMut(usize, Result<Vec<Bytes>, LocationError>) -> bool;

/// Objects below a location: files of a folder, or objects of a bucket with a common prefix.
///
/// Keys are relative to the location. Every call may be repeated: creating an object that exists with the same bytes,
/// and deleting one that is missing, succeed. Calls wait, so that callers need no asynchronous code.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Returns the name of an object for messages: its URL or path. The empty key is the location itself.
    fn name(&self, key: &str) -> String;

    /// Lists the objects whose keys begin with `prefix`, which is empty or ends in `/`, by key. Without `deep`, those
    /// with a further `/` in their keys are left out.
    ///
    /// # Errors
    /// The location cannot be listed. A missing folder is an empty listing in an object store, and an error on a disk
    /// unless the prefix names it.
    fn list(&self, prefix: &str, deep: bool) -> Result<Vec<Object>, LocationError>;

    /// Returns an object's properties, or `None` if it does not exist.
    ///
    /// # Errors
    /// The store cannot be asked.
    fn find(&self, key: &str) -> Result<Option<Object>, LocationError>;

    /// Reads a whole object into memory: for manifests and records, not for blocks.
    ///
    /// # Errors
    /// [`LocationError::Missing`] if it does not exist, [`LocationError::Json`] if it is longer than [`MAX_READ_LEN`],
    /// and errors of reading.
    fn read(&self, key: &str) -> Result<Vec<u8>, LocationError>;

    /// Reads ranges of many objects, several at a time, and hands each object's ranges to `sink` in the order in which
    /// they arrive.
    fn read_ranges(&self, reads: Vec<RangedRead>, sink: ReadSink<'_>);

    /// Writes an object's bytes to `out`, in order.
    ///
    /// # Errors
    /// Errors of reading, and of `out`. An object with another length than `byte_len` has changed.
    fn download(&self, key: &str, byte_len: u64, out: &mut dyn std::io::Write) -> Result<(), LocationError>;

    /// Returns the path of an object that is a file of this machine. The empty key is the folder of the location.
    fn path(&self, key: &str) -> Option<PathBuf>;

    /// Returns the file system of a folder of this machine, for callers that publish files in it without a copy.
    fn system(&self) -> Option<&dyn FileSystem>;

    /// Creates an object with the bytes of a file. It appears whole or not at all, and is read again and compared.
    ///
    /// # Errors
    /// [`LocationError::Occupied`] if it exists with other bytes, and errors of reading and writing.
    fn create(&self, key: &str, file: &Path) -> Result<Created, LocationError>;

    /// Creates an object with these bytes, as [`Storage::create`].
    ///
    /// # Errors
    /// As [`Storage::create`].
    fn create_bytes(&self, key: &str, bytes: &[u8]) -> Result<Created, LocationError>;

    /// Creates an object, or replaces it: readers see the old bytes or the new ones.
    ///
    /// # Errors
    /// Errors of writing.
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), LocationError>;

    /// Copies an object inside the location. The copy appears whole or not at all. If an object with the name `to`
    /// exists, it is replaced or kept.
    ///
    /// # Errors
    /// [`LocationError::Missing`] if `from` does not exist, and errors of copying.
    fn copy(&self, from: &str, to: &str) -> Result<(), LocationError>;

    /// Deletes objects, in order. Those that do not exist are skipped. Calls `done` with each deleted key. Without
    /// keys, makes earlier deletions durable.
    ///
    /// # Errors
    /// The first deletion that failed. Later ones are not tried.
    fn delete(&self, keys: &[String], done: &mut dyn FnMut(&str)) -> Result<(), LocationError>;
}
