//! Publishes a file whole or not at all.
//!
//! A block must never be seen half written: not by a reader that opens the folder at the wrong moment, not after a
//! crash, not after a disk that was full. [`publish`] writes a temporary file beside the target, makes it durable,
//! reads it again, lets the caller verify it, and only then gives it its name, without replacing anything unless it was
//! asked to. [`recover`] removes what dead writers left behind. A job that makes many files of many holds a
//! [`FolderLock`], keeps what does not fit its memory in [`Spool`]s, and ends with [`remove_files`]. Every system call
//! that changes a folder or a file goes through one trait, [`FileSystem`], so that each point of failure can be counted
//! and tried; [`faults`] does that, for this crate's tests and for others'.
//!
//! | module | holds |
//! | --- | --- |
//! | `file_system` | [`FileSystem`], the seam of changing calls, and [`Disk`], the real one |
//! | `target` | checks of the target before any work is done |
//! | `temporary` | temporary files: creation, locks and removal |
//! | `temporary_name` | names of temporary files |
//! | `publication` | [`publish`], the order of the calls |
//! | `recovery` | [`recover`], removal of stale temporary files |
//! | `listing` | [`names_in`], the names in a folder, without panics |
//! | `folder` | [`make_folder`], folders that are made for good |
//! | `removal` | [`remove_files`], removal of files that are no longer needed |
//! | `spool` | [`Spool`], scratch bytes in memory or in a temporary file |
//! | `lock` | [`FolderLock`], one job at a time in a folder |
//! | `error` | [`PublishError`] and the [`Step`] that failed |
//! | [`faults`] | a file system that fails, or dies, at a chosen call |
//!
//! ```
//! use chronoxide_publish::{Disk, Existing, PublishError, publish};
//! use std::io::{self, Read};
//!
//! let folder = tempfile::tempdir()?;
//! let target = folder.path().join("metrics.cx");
//!
//! let verify = |mut file: &std::fs::File| -> io::Result<()> {
//!     let mut text = String::new();
//!     file.read_to_string(&mut text)?;
//!     if text == "labels" { Ok(()) } else { Err(io::Error::other("not what was written")) }
//! };
//! let published = publish(&Disk, &target, Existing::Refuse, |out| out.write_all(b"labels"), |c| verify(c.file()))?;
//! assert_eq!(published.byte_len, 6);
//!
//! // The name is taken now, and stays as it is.
//! let again = publish(&Disk, &target, Existing::Refuse, |out| out.write_all(b"others"), |c| verify(c.file()));
//! assert!(matches!(again, Err(PublishError::Exists { .. })));
//! assert_eq!(std::fs::read(&target)?, b"labels");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is promised
//!
//! After [`publish`] returns `Ok`, the target holds exactly what was written and verified, and that survives a
//! loss of power as far as the operating system and the disk keep the promise of `fsync`. After an error, or a
//! crash at any call, the target is what it was before, or the whole new file; the latter only when the last
//! steps failed (see [`PublishError::may_be_in_place`]).
//!
//! Reading again goes through the page cache: it finds mistakes of the writer, of the buffers and of the file
//! system, not a disk that stored something else than it was given. Checksums in the file find that, later.

mod error;
pub mod faults;
mod file_system;
mod folder;
mod listing;
mod lock;
mod publication;
mod recovery;
mod removal;
mod spool;
mod target;
mod temporary;
mod temporary_name;

pub use error::{PublishError, Step};
pub use file_system::{Disk, FileSystem};
pub use folder::{MakeFolderError, make_folder};
pub use listing::names_in;
pub use lock::{FolderLock, LockError};
pub use publication::{Candidate, Output, Published, publish};
pub use recovery::{Recovered, recover};
pub use removal::{RemoveError, Removed, remove_files};
pub use spool::{Contents, ContentsReader, Spool, SpoolError, SpoolStep};
pub use target::Existing;
pub use temporary_name::{TEMPORARY_PREFIX, is_temporary_name};
