//! Uploads that are read again, copies and deletions.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, PutResult};

use super::retry::is_not_implemented;
use super::{MAX_COPY_LEN, PART_LEN, PARTS_AT_ONCE, Remote};
use crate::LocationError;
use crate::storage::{Created, Storage};

/// Attempts to create an object that others create and delete at the same time.
const CREATION_ATTEMPTS: usize = 4;

/// The bytes of an upload.
#[derive(Clone)]
pub(super) enum Source {
    /// A file, which must not change.
    File {
        file: Arc<File>,
        name: Arc<str>,
        byte_len: u64,
    },
    Memory(Bytes),
}

impl Source {
    pub(super) fn open(path: &FilePath) -> Result<Self, LocationError> {
        let name = path.display().to_string();
        let failed = |source| LocationError::io(name.as_str(), "read", source);
        let file = File::open(path).map_err(failed)?;
        let byte_len = file.metadata().map_err(failed)?.len();
        Ok(Self::File { file: Arc::new(file), name: name.into(), byte_len })
    }

    fn byte_len(&self) -> u64 {
        match self {
            Self::File { byte_len, .. } => *byte_len,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Returns the bytes of a range.
    fn read(&self, range: Range<u64>) -> Result<Bytes, LocationError> {
        match self {
            Self::File { file, name, .. } => {
                let mut bytes = vec![0; (range.end - range.start) as usize];
                let read = read_exact_at(file, &mut bytes, range.start);
                read.map_err(|source| LocationError::io(&**name, "read", source))?;
                Ok(bytes.into())
            }
            Self::Memory(bytes) => Ok(bytes.slice(range.start as usize..range.end as usize)),
        }
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], position: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, position)
}

#[cfg(not(unix))]
fn read_exact_at(file: &File, bytes: &mut [u8], position: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    // Parts are read by one thread at a time.
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(position))?;
    file.read_exact(bytes)
}

/// Returns the result of a request with the condition that the object does not exist.
fn created(result: object_store::Result<PutResult>) -> object_store::Result<Created> {
    match result {
        Ok(_) => Ok(Created::New),
        // Perhaps by an attempt whose answer was lost.
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(Created::Found),
        Err(error) => Err(error),
    }
}

impl Remote {
    /// Creates an object, unless it exists, and compares it with the source.
    pub(super) fn upload(&self, key: &str, source: &Source) -> Result<Created, LocationError> {
        for _ in 0..CREATION_ATTEMPTS {
            let (this, owned, cloned) = (self.clone(), key.to_owned(), source.clone());
            let created = self.wait(async move { this.create_object(&owned, &cloned).await })?;
            match self.holds(key, source) {
                Ok(true) => return Ok(created),
                Ok(false) => return Err(LocationError::Occupied { object: self.name(key) }),
                // Another process deleted it, or a conflict was reported for an object that was not created.
                Err(LocationError::Missing { .. }) => {}
                Err(LocationError::Request { object, attempts, source, .. }) => {
                    return Err(LocationError::Request {
                        object,
                        operation: "read what was written",
                        attempts,
                        source,
                    });
                }
                Err(error) => return Err(error),
            }
        }
        let source = io::Error::other("each attempt ended in a conflict, and there is no object");
        Err(LocationError::Io { object: self.name(key), operation: "create", source })
    }

    async fn create_object(&self, key: &str, source: &Source) -> Result<Created, LocationError> {
        if source.byte_len() <= PART_LEN {
            return self.put_new(key, source.read(0..source.byte_len())?).await;
        }
        // Saves an upload that would be refused. A store without conditions has no other check.
        if self.find_object(key).await?.is_some() {
            return Ok(Created::Found);
        }
        self.put_parts(key, source.byte_len(), async |range| source.read(range)).await
    }

    /// Creates an object in one request, unless it exists.
    async fn put_new(&self, key: &str, bytes: Bytes) -> Result<Created, LocationError> {
        let path = self.path(key);
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let put = || async {
            match created(self.objects.put_opts(&path, bytes.clone().into(), options.clone()).await) {
                Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => Ok(None),
                created => created.map(Some),
            }
        };
        if let Some(created) = self.patience.run(&self.name(key), "create", put).await? {
            return Ok(created);
        }
        // The store has no conditions.
        if self.find_object(key).await?.is_some() {
            return Ok(Created::Found);
        }
        self.put(key, bytes).await?;
        Ok(Created::New)
    }

    pub(super) async fn put(&self, key: &str, bytes: Bytes) -> Result<(), LocationError> {
        let path = self.path(key);
        let put = || self.objects.put(&path, PutPayload::from(bytes.clone()));
        self.patience.run(&self.name(key), "write", put).await.map(|_| ())
    }

    /// Creates an object of these many bytes in parts. It appears when all are there. Stores without conditions replace
    /// an object that appeared meanwhile.
    async fn put_parts<R>(
        &self,
        key: &str,
        byte_len: u64,
        read: impl Fn(Range<u64>) -> R,
    ) -> Result<Created, LocationError>
    where
        R: Future<Output = Result<Bytes, LocationError>>,
    {
        let (path, name) = (self.path(key), self.name(key));
        let upload = self.patience.run(&name, "begin an upload", || self.parts.create_multipart(&path)).await?;
        let put = |(number, range): (usize, Range<u64>)| {
            let (path, upload, name, bytes) = (&path, &upload, &name, read(range));
            async move {
                let bytes = bytes.await?;
                let put = || self.parts.put_part(path, upload, number, bytes.clone().into());
                self.patience.run(name, "upload a part", put).await
            }
        };
        let part = |part: u64| part * PART_LEN..byte_len.min((part + 1) * PART_LEN);
        let ranges = (0..byte_len.div_ceil(PART_LEN)).map(part);
        let parts = stream::iter(ranges.enumerate()).map(put).buffered(PARTS_AT_ONCE);
        let completed = match parts.try_collect::<Vec<_>>().await {
            Ok(parts) => {
                let complete = || async { created(self.parts.complete_multipart(&path, &upload, parts.clone()).await) };
                self.patience.run(&name, "complete an upload", complete).await
            }
            Err(error) => Err(error),
        };
        if let Ok(Created::New) = completed {
            return completed;
        }
        // The answer to an attempt that completed it may have been lost: the upload is unknown then. What is there is
        // compared with the source.
        if completed.is_err() && self.find_object(key).await?.is_some_and(|object| object.byte_len == byte_len) {
            return Ok(Created::New);
        }
        // The store may keep parts of an upload that is neither completed nor aborted.
        let _ = self.parts.abort_multipart(&path, &upload).await;
        match completed {
            Err(error) if is_not_implemented(&error) => Err(LocationError::NoConditions { object: name }),
            completed => completed,
        }
    }

    /// Returns true if an object has the bytes of a source. A difference is looked at twice: it may have arisen on the
    /// way.
    fn holds(&self, key: &str, source: &Source) -> Result<bool, LocationError> {
        let found = self.find(key)?.ok_or_else(|| LocationError::Missing { object: self.name(key) })?;
        if found.byte_len != source.byte_len() {
            return Ok(false);
        }
        for _ in 0..2 {
            if self.is_equal(key, source)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_equal(&self, key: &str, source: &Source) -> Result<bool, LocationError> {
        let (mut position, mut is_equal, mut failed) = (0, true, None);
        self.download_parts(key, source.byte_len(), &mut |bytes| {
            let end = position + bytes.len() as u64;
            match source.read(position..end) {
                Ok(expected) => is_equal &= expected == bytes,
                Err(error) => failed = Some(error),
            }
            position = end;
            Ok(())
        })?;
        failed.map_or(Ok(is_equal), Err)
    }

    /// Copies an object. The store does it if the object is short enough; a longer one is read and written in parts.
    pub(super) async fn copy_object(&self, from: &str, to: &str) -> Result<(), LocationError> {
        let found = self.find_object(from).await?.ok_or_else(|| LocationError::Missing { object: self.name(from) })?;
        if found.byte_len > MAX_COPY_LEN {
            return self.put_parts(to, found.byte_len, |range| self.read_range(from, range)).await.map(|_| ());
        }
        let (from, target, name) = (self.path(from), self.path(to), self.name(to));
        self.patience.run(&name, "copy an object to", || self.objects.copy(&from, &target)).await
    }

    pub(super) async fn delete_object(&self, key: &str) -> Result<(), LocationError> {
        let path = self.path(key);
        match self.patience.run(&self.name(key), "delete", || self.objects.delete(&path)).await {
            Err(LocationError::Missing { .. }) => Ok(()),
            deleted => deleted,
        }
    }
}
