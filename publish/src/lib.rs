//! Publishes a file completely or not at all.
//!
//! Readers must never see a partially written block: not when they open the folder during a write, not after a crash,
//! not after the disk was full. [`publish`] writes a temporary file in the folder of the target, syncs it, reads it
//! back for verification by the caller, and renames it, without replacing an existing file unless requested.
//! [`recover`] removes files of dead writers.
//!
//! A job with several outputs holds a [`FolderLock`], keeps data that does not fit into memory in [`Spool`]s, and
//! removes its inputs with [`remove_files`]. All system calls that change a folder or a file go through the trait
//! [`FileSystem`], so that tests can make each of them fail: see [`faults`].
//!
//! | module | contents |
//! | --- | --- |
//! | `file_system` | [`FileSystem`], the system calls that change files, and [`Disk`], the real ones |
//! | `target` | checks of the target before the work |
//! | `temporary` | temporary files: creation, locks and removal |
//! | `temporary_name` | names of temporary files |
//! | `publication` | [`publish`], and [`publish_in`] for a file that is named by its content |
//! | `recovery` | [`recover`], removal of stale temporary files |
//! | `listing` | [`names_in`], names in a folder, without panics |
//! | `folder` | [`make_folder`], durable creation of folders |
//! | `removal` | [`remove_files`], durable removal of files |
//! | `spool` | [`Spool`], scratch data in memory or in a temporary file |
//! | `lock` | [`FolderLock`], a lock for one job at a time |
//! | `error` | [`PublishError`] and the [`Step`] that failed |
//! | [`faults`] | file system that fails or dies at a chosen call |
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
//! // The target exists now, and is not changed.
//! let again = publish(&Disk, &target, Existing::Refuse, |out| out.write_all(b"others"), |c| verify(c.file()));
//! assert!(matches!(again, Err(PublishError::Exists { .. })));
//! assert_eq!(std::fs::read(&target)?, b"labels");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! After [`publish`] returns `Ok`, the target has exactly the bytes that were written and verified. They survive a
//! power loss as far as the operating system and the disk implement `fsync`. After an error, or a crash at any call,
//! the target is unchanged or is the complete new file; the latter only if one of the last steps failed (see
//! [`PublishError::may_be_in_place`]).
//!
//! Reading back goes through the page cache: it detects errors of the writer, of buffers and of the file system, but
//! not a disk that stored other bytes. Checksums in the file detect that later.

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
pub use publication::{Candidate, Output, Published, make_durable, publish, publish_in};
pub use recovery::{Recovered, recover};
pub use removal::{RemoveError, Removed, remove_files};
pub use spool::{Contents, ContentsReader, Spool, SpoolError, SpoolStep};
pub use target::Existing;
pub use temporary_name::{TEMPORARY_PREFIX, is_temporary_name};
