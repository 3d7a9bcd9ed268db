//! [`Remote`]: a prefix of a bucket.
//!
//! | module | contents |
//! |---|---|
//! | `connect` | from a URL and the environment to a client |
//! | `condition` | uploads in parts that replace no object |
//! | `retry` | retries with backoff and jitter |
//! | `read` | listings, whole objects, ranges and downloads |
//! | `write` | uploads that are read again, copies and deletions |
//! | `runtime` | the threads that requests run on |

mod condition;
mod connect;
mod read;
mod retry;
mod runtime;
mod write;

use std::fmt;
use std::io::Write;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use chronoxide_publish::FileSystem;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};

use self::retry::Patience;
use self::write::Source;
use crate::LocationError;
use crate::storage::{Created, Object, RangedRead, ReadSink, Storage};

/// Bytes per request of a download or an upload of a large object.
const PART_LEN: u64 = 8 << 20;
/// Maximum length of an object that a store copies in one request. S3 allows 5 GiB, but the time limit of a request
/// also holds for a copy.
const MAX_COPY_LEN: u64 = 256 << 20;
/// Requests at a time for parts of one object.
const PARTS_AT_ONCE: usize = 4;
/// Requests at a time for ranges of many objects.
const READS_AT_ONCE: usize = 32;

/// Objects of a bucket with a common prefix.
#[derive(Clone)]
pub(crate) struct Remote {
    objects: Arc<dyn ObjectStore>,
    parts: Arc<dyn MultipartStore>,
    prefix: Path,
    /// Ends in `/`.
    url: Arc<str>,
    patience: Patience,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Remote {
    /// Connects to the location of a URL. Nothing is requested yet.
    pub(crate) fn open(url: &str, settings: &[(String, String)]) -> Result<Self, LocationError> {
        let connected = connect::connect(url, settings)?;
        let bucket = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        let prefix = connected.prefix;
        let escaped = escape(prefix.as_ref());
        let url = if escaped.is_empty() { format!("{bucket}/") } else { format!("{bucket}/{escaped}/") };
        Ok(Self {
            objects: connected.objects,
            parts: connected.parts,
            prefix,
            url: url.into(),
            patience: Patience::DEFAULT,
        })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn path(&self, key: &str) -> Path {
        let joined = match self.prefix.as_ref() {
            "" => key.to_owned(),
            prefix => format!("{prefix}/{key}"),
        };
        Path::parse(&joined).unwrap_or_else(|_| Path::from(joined))
    }

    fn object(&self, meta: &ObjectMeta) -> Object {
        let modified = meta.last_modified.timestamp();
        let key = meta.location.as_ref();
        let key = key.strip_prefix(self.prefix.as_ref()).unwrap_or(key);
        Object {
            key: key.trim_start_matches('/').to_owned(),
            byte_len: meta.size,
            version: meta.e_tag.clone().unwrap_or_else(|| meta.last_modified.timestamp_micros().to_string()),
            modified,
        }
    }

    /// Waits for a future of this location.
    fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, LocationError>> + Send + 'static,
    ) -> Result<T, LocationError> {
        runtime::wait(future).unwrap_or_else(|| {
            let source = std::io::Error::other("no thread could be started for requests");
            Err(LocationError::Io { object: self.url.to_string(), operation: "send requests", source })
        })
    }
}

/// Escapes the characters of a key that mean something else in a URL.
fn escape(key: &str) -> String {
    key.replace('%', "%25").replace('?', "%3F").replace('#', "%23")
}

impl Storage for Remote {
    fn name(&self, key: &str) -> String {
        format!("{}{}", self.url, escape(key))
    }

    fn list(&self, prefix: &str, deep: bool) -> Result<Vec<Object>, LocationError> {
        let (this, prefix) = (self.clone(), prefix.to_owned());
        self.wait(async move { this.list_objects(&prefix, deep).await })
    }

    fn find(&self, key: &str) -> Result<Option<Object>, LocationError> {
        let (this, key) = (self.clone(), key.to_owned());
        self.wait(async move { this.find_object(&key).await })
    }

    fn read(&self, key: &str) -> Result<Vec<u8>, LocationError> {
        let (this, key) = (self.clone(), key.to_owned());
        self.wait(async move { this.read_whole(&key).await })
    }

    fn read_ranges(&self, reads: Vec<RangedRead>, sink: ReadSink<'_>) {
        self.read_many(reads, sink);
    }

    fn download(&self, key: &str, byte_len: u64, out: &mut dyn Write) -> Result<(), LocationError> {
        self.download_parts(key, byte_len, &mut |bytes| out.write_all(bytes))
    }

    fn path(&self, _: &str) -> Option<PathBuf> {
        None
    }

    fn system(&self) -> Option<&dyn FileSystem> {
        None
    }

    fn create(&self, key: &str, file: &FilePath) -> Result<Created, LocationError> {
        self.upload(key, &Source::open(file)?)
    }

    fn create_bytes(&self, key: &str, bytes: &[u8]) -> Result<Created, LocationError> {
        self.upload(key, &Source::Memory(bytes.to_vec().into()))
    }

    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), LocationError> {
        let (this, key, bytes) = (self.clone(), key.to_owned(), bytes.to_vec().into());
        self.wait(async move { this.put(&key, bytes).await })
    }

    fn copy(&self, from: &str, to: &str) -> Result<(), LocationError> {
        let (this, from, to) = (self.clone(), from.to_owned(), to.to_owned());
        self.wait(async move { this.copy_object(&from, &to).await })
    }

    fn delete(&self, keys: &[String], done: &mut dyn FnMut(&str)) -> Result<(), LocationError> {
        for key in keys {
            let (this, owned) = (self.clone(), key.clone());
            self.wait(async move { this.delete_object(&owned).await })?;
            done(key);
        }
        Ok(())
    }
}
