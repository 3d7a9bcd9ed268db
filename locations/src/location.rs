//! [`Location`]: a folder or a prefix of a bucket, by its name.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use chronoxide_publish::{Disk, FileSystem};

use crate::LocationError;
use crate::local::Local;
#[cfg(feature = "remote")]
use crate::remote::Remote;
use crate::storage::Storage;

/// Schemes of object stores.
const REMOTE_SCHEMES: [&str; 8] = ["s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl"];
/// Scheme of files of this machine.
const FILE_SCHEME: &str = "file";

/// A folder, or a prefix of a bucket. Clones share the connections.
///
/// ```
/// use chronoxide_locations::Location;
///
/// # let folder = tempfile::tempdir()?;
/// # let text = format!("file://{}", folder.path().display());
/// let location = Location::open(&text)?;
/// location.create_bytes("notes/first", b"text")?;
/// assert_eq!(location.read("notes/first")?, b"text");
/// assert_eq!(location.list("", true)?[0].key, "notes/first");
/// assert!(location.list("", false)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Location {
    storage: Arc<dyn Storage>,
    text: Arc<str>,
    is_remote: bool,
}

impl Location {
    /// Opens a location: a path, or a URL such as `s3://bucket/prefix/`, `gs://bucket`, `az://container/prefix` or
    /// `file:///folder`. Credentials and endpoints of object stores come from the environment (`AWS_*`, `GOOGLE_*`,
    /// `AZURE_*`). Nothing is read yet.
    ///
    /// # Errors
    /// [`LocationError::Location`] if the text is not a location, or settings are missing.
    pub fn open(text: &str) -> Result<Self, LocationError> {
        Self::open_with(text, &[])
    }

    /// Like [`Location::open`], with settings that come before those of the environment, by the same names.
    ///
    /// # Errors
    /// As [`Location::open`].
    pub fn open_with(text: &str, settings: &[(String, String)]) -> Result<Self, LocationError> {
        let path = match text.split_once("://") {
            None => PathBuf::from(text),
            Some((scheme, _)) if REMOTE_SCHEMES.contains(&scheme) => return Self::open_remote(text, settings),
            Some((FILE_SCHEME, path)) if path.starts_with('/') => PathBuf::from(path),
            Some((FILE_SCHEME, _)) => {
                let reason =
                    "a file URL has three slashes and an absolute path, such as file:///data/blocks".to_owned();
                return Err(LocationError::Location { location: text.to_owned(), reason });
            }
            Some((scheme, _)) => {
                let reason = format!("unknown scheme {scheme}: use s3://, gs://, az:// or file://");
                return Err(LocationError::Location { location: text.to_owned(), reason });
            }
        };
        Ok(Self::folder(path))
    }

    /// Returns the location of a folder of this machine.
    #[must_use]
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self::folder_on(path, Arc::new(Disk))
    }

    /// Like [`Location::folder`], with another file system for all calls that change files.
    #[must_use]
    pub fn folder_on(path: impl Into<PathBuf>, system: Arc<dyn FileSystem>) -> Self {
        let path = path.into();
        let text = path.display().to_string().into();
        Self { storage: Arc::new(Local::new(path, system)), text, is_remote: false }
    }

    #[cfg(feature = "remote")]
    fn open_remote(text: &str, settings: &[(String, String)]) -> Result<Self, LocationError> {
        let remote = Remote::open(text, settings)?;
        let text = remote.url().into();
        Ok(Self { storage: Arc::new(remote), text, is_remote: true })
    }

    #[cfg(not(feature = "remote"))]
    fn open_remote(text: &str, _: &[(String, String)]) -> Result<Self, LocationError> {
        let reason = "object stores need the feature `remote` of chronoxide-locations".to_owned();
        Err(LocationError::Location { location: text.to_owned(), reason })
    }

    /// Opens the location of one object, and returns its key.
    ///
    /// # Errors
    /// As [`Location::open`], and a text that ends in `/`.
    pub fn open_object(text: &str) -> Result<(Self, String), LocationError> {
        Self::open_object_with(text, &[])
    }

    /// Like [`Location::open_object`], with settings as [`Location::open_with`].
    ///
    /// # Errors
    /// As [`Location::open_object`].
    pub fn open_object_with(text: &str, settings: &[(String, String)]) -> Result<(Self, String), LocationError> {
        let (folder, key) = match text.rsplit_once('/') {
            Some((folder, key)) if !folder.ends_with('/') || folder.ends_with("///") => (folder, key),
            Some(_) => {
                let reason = "missing key: name an object of the bucket".to_owned();
                return Err(LocationError::Location { location: text.to_owned(), reason });
            }
            None => (".", text),
        };
        if key.is_empty() {
            let reason = "names a location: name one object in it".to_owned();
            return Err(LocationError::Location { location: text.to_owned(), reason });
        }
        let location = Self::open_with(if folder.is_empty() { "/" } else { folder }, settings)?;
        let key = if location.is_remote() { unescape(text, key)? } else { key.to_owned() };
        Ok((location, key))
    }

    /// Returns true for a URL: a text that names a scheme.
    #[must_use]
    pub fn is_url(text: &str) -> bool {
        text.split_once("://").is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+')
        })
    }

    /// Returns the location as text: a URL that ends in `/`, or a path.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true for an object store.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.is_remote
    }

    /// Returns the storage.
    #[must_use]
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
}

/// Decodes the percent-encoded characters of the key of a URL.
#[cfg(feature = "remote")]
fn unescape(url: &str, key: &str) -> Result<String, LocationError> {
    let refused = |error: object_store::path::Error| LocationError::Location {
        location: url.to_owned(),
        reason: error.to_string(),
    };
    Ok(object_store::path::Path::from_url_path(key).map_err(refused)?.into())
}

#[cfg(not(feature = "remote"))]
fn unescape(_: &str, key: &str) -> Result<String, LocationError> {
    Ok(key.to_owned())
}

impl Deref for Location {
    type Target = dyn Storage;

    fn deref(&self) -> &(dyn Storage + 'static) {
        &*self.storage
    }
}
