//! [`Local`]: a folder.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use chronoxide_publish::{
    Candidate, Existing, FileSystem, PublishError, is_temporary_name, make_durable, make_folder, names_in, publish,
    remove_files,
};
use chronoxide_reader::is_block_name;

use crate::LocationError;
use crate::storage::{Created, Object, RangedRead, ReadSink, Storage, check_read_len};

/// Bytes that are copied or compared at a time.
const BUFFER_LEN: usize = 1 << 20;

/// Sign of a character that is not text, in a key.
const NO_TEXT: char = char::REPLACEMENT_CHARACTER;

/// A folder of this machine. Files are published: synced, read again, and renamed.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    folder: PathBuf,
    system: Arc<dyn FileSystem>,
}

impl Local {
    pub(crate) fn new(folder: PathBuf, system: Arc<dyn FileSystem>) -> Self {
        Self { folder, system }
    }

    /// Returns the file of a key. The key of a name that is not text has signs for what is none.
    fn file(&self, key: &str) -> PathBuf {
        if key.is_empty() {
            return self.folder.clone();
        }
        let exact = self.folder.join(key);
        if !key.contains(NO_TEXT) || exact.symlink_metadata().is_ok() {
            return exact;
        }
        let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
        let folder = self.folder.join(folder);
        let found = names_in(&folder).into_iter().flatten().find(|found| found.to_string_lossy() == name);
        found.map_or(exact, |found| folder.join(found))
    }

    /// Adds the objects below `prefix` to `found`. A symbolic link may stand for an object of the location itself, but
    /// not for one of its folders, and for nothing in them: it may lead anywhere.
    fn walk(&self, prefix: &str, deep: bool, found: &mut Vec<Object>) -> Result<(), LocationError> {
        let folder = self.file(prefix);
        let failed = |source| LocationError::io(folder.display().to_string(), "list", source);
        for name in names_in(&folder).map_err(failed)? {
            if name.to_str().is_some_and(is_temporary_name) {
                continue;
            }
            let (path, key) = (folder.join(&name), format!("{prefix}{}", name.to_string_lossy()));
            let metadata = if prefix.is_empty() { fs::metadata } else { fs::symlink_metadata };
            match metadata(&path) {
                Ok(metadata) if metadata.is_dir() && deep && !is_link(&path) => {
                    self.walk(&format!("{key}/"), deep, found)?
                }
                Ok(metadata) if metadata.is_file() => found.push(object(key, &metadata)),
                // Reading it gives the error, so that the block is missed.
                Ok(metadata) if prefix.is_empty() && is_block_name(&key) => found.push(object(key, &metadata)),
                // Likewise a link that leads nowhere.
                Err(_) if is_link(&path) => {
                    let link = fs::symlink_metadata(&path).map_err(failed)?;
                    found.push(object(key, &link));
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(LocationError::io(path.display().to_string(), "find", error));
                }
                // Deleted since the listing, or neither a file nor a folder.
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the error of reading an object. It costs this object, not the listing: the file exists.
    fn cannot_read(&self, key: &str, source: io::Error) -> LocationError {
        let (file, object) = (self.file(key), self.name(key));
        match source.kind() {
            _ if is_link(&file) && fs::metadata(&file).is_err() => LocationError::BrokenLink { object, source },
            io::ErrorKind::NotFound => LocationError::Missing { object },
            _ => LocationError::Unreadable { object, source },
        }
    }

    /// Opens a file for reading. Opening a pipe would wait for a writer.
    fn open(&self, key: &str) -> io::Result<File> {
        let path = self.file(key);
        if !fs::metadata(&path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        File::open(path)
    }

    fn read_some(&self, read: &RangedRead) -> io::Result<Vec<Bytes>> {
        let mut file = self.open(&read.key)?;
        let mut found = Vec::with_capacity(read.ranges.len());
        for range in &read.ranges {
            let mut bytes = vec![0; usize::try_from(range.end - range.start).map_err(io::Error::other)?];
            file.seek(SeekFrom::Start(range.start))?;
            file.read_exact(&mut bytes)?;
            found.push(bytes.into());
        }
        Ok(found)
    }

    /// Publishes what `open` gives, and compares the file with it.
    fn publish_from<R: Read>(
        &self,
        key: &str,
        existing: Existing,
        open: &dyn Fn() -> io::Result<R>,
    ) -> Result<Created, LocationError> {
        let path = self.file(key);
        if let Some(folder) = path.parent() {
            make_folder(&*self.system, folder).map_err(|error| LocationError::Io {
                object: folder.display().to_string(),
                operation: "make the folder",
                source: io::Error::other(error),
            })?;
        }
        let failed = |source| LocationError::Io { object: self.name(key), operation: "write", source };
        let write = |out: &mut dyn chronoxide_publish::Output| {
            let mut buffer = vec![0; BUFFER_LEN];
            let mut source = open()?;
            loop {
                match source.read(&mut buffer)? {
                    0 => return Ok(()),
                    read => out.write_all(&buffer[..read])?,
                }
            }
        };
        let check = |candidate: &Candidate<'_>| match is_equal(&mut candidate.file(), &mut open()?)? {
            true => Ok(()),
            false => Err(io::Error::other("the file does not have the bytes that were written")),
        };
        match publish(&*self.system, &path, existing, write, check) {
            Ok(_) => Ok(Created::New),
            Err(PublishError::Exists { .. }) => {
                let mut file = File::open(&path).map_err(|source| LocationError::io(self.name(key), "read", source))?;
                match is_equal(&mut file, &mut open().map_err(failed)?).map_err(failed)? {
                    true => make_durable(&*self.system, &path).map_err(failed).map(|()| Created::Found),
                    false => Err(LocationError::Occupied { object: self.name(key) }),
                }
            }
            Err(error) => Err(failed(io::Error::other(error))),
        }
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

fn object(key: String, metadata: &fs::Metadata) -> Object {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    Object {
        key,
        byte_len: metadata.len(),
        version: modified.as_nanos().to_string(),
        modified: i64::try_from(modified.as_secs()).unwrap_or(i64::MAX),
    }
}

fn is_equal(a: &mut dyn Read, b: &mut dyn Read) -> io::Result<bool> {
    let mut buffers = [vec![0; BUFFER_LEN], vec![0; BUFFER_LEN]];
    loop {
        let [first, second] = &mut buffers;
        let (read, other) = (fill(a, first)?, fill(b, second)?);
        if first[..read] != second[..other] {
            return Ok(false);
        }
        if read == 0 {
            return Ok(true);
        }
    }
}

/// Reads until the buffer is full or the source ends.
fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

impl Storage for Local {
    fn name(&self, key: &str) -> String {
        self.file(key).display().to_string()
    }

    fn list(&self, prefix: &str, deep: bool) -> Result<Vec<Object>, LocationError> {
        let mut found = Vec::new();
        match self.walk(prefix, deep, &mut found) {
            Err(LocationError::Missing { .. }) if !prefix.is_empty() => {}
            Err(LocationError::Missing { .. }) => {
                return Err(LocationError::NoLocation { location: self.folder.display().to_string() });
            }
            walked => walked?,
        }
        found.sort();
        if let Some(pair) = found.windows(2).find(|pair| pair[0].key == pair[1].key) {
            let source = io::Error::other("two names that are not UTF-8 look alike: rename one of the files");
            return Err(LocationError::Io { object: self.name(&pair[0].key), operation: "list", source });
        }
        Ok(found)
    }

    fn find(&self, key: &str) -> Result<Option<Object>, LocationError> {
        match fs::metadata(self.file(key)) {
            Ok(metadata) if metadata.is_file() => Ok(Some(object(key.to_owned(), &metadata))),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(LocationError::io(self.name(key), "find", source)),
        }
    }

    fn read(&self, key: &str) -> Result<Vec<u8>, LocationError> {
        let failed = |source| self.cannot_read(key, source);
        let mut file = self.open(key).map_err(failed)?;
        check_read_len(file.metadata().map_err(failed)?.len(), || self.name(key))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    fn read_ranges(&self, reads: Vec<RangedRead>, sink: ReadSink<'_>) {
        for (place, read) in reads.iter().enumerate() {
            let result = self.read_some(read).map_err(|source| self.cannot_read(&read.key, source));
            if !sink(place, result) {
                break;
            }
        }
    }

    fn download(&self, key: &str, byte_len: u64, out: &mut dyn Write) -> Result<(), LocationError> {
        let failed = |source| self.cannot_read(key, source);
        let mut file = self.open(key).map_err(failed)?;
        let copied = io::copy(&mut file, out).map_err(failed)?;
        if copied == byte_len {
            return Ok(());
        }
        let reason = format!("{copied} bytes were read, not {byte_len}");
        Err(LocationError::Changed { object: self.name(key), reason })
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        Some(self.file(key))
    }

    fn system(&self) -> Option<&dyn FileSystem> {
        Some(&*self.system)
    }

    fn create(&self, key: &str, file: &Path) -> Result<Created, LocationError> {
        self.publish_from(key, Existing::Refuse, &|| File::open(file))
    }

    fn create_bytes(&self, key: &str, bytes: &[u8]) -> Result<Created, LocationError> {
        self.publish_from(key, Existing::Refuse, &|| Ok(bytes))
    }

    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), LocationError> {
        self.publish_from(key, Existing::Replace, &|| Ok(bytes)).map(|_| ())
    }

    fn copy(&self, from: &str, to: &str) -> Result<(), LocationError> {
        let source = self.file(from);
        if !source.is_file() {
            return Err(LocationError::Missing { object: self.name(from) });
        }
        self.create(to, &source).map(|_| ())
    }

    fn delete(&self, keys: &[String], done: &mut dyn FnMut(&str)) -> Result<(), LocationError> {
        let paths: Vec<PathBuf> = keys.iter().map(|key| self.file(key)).collect();
        if paths.is_empty() {
            // A process that deleted objects before may have died before that was durable.
            let failed = |source| LocationError::io(self.name(""), "sync the folder", source);
            return self.system.sync_folder(&self.folder).map_err(failed);
        }
        let (removed, result) = match remove_files(&*self.system, &paths) {
            Ok(removed) => (removed.removed, Ok(())),
            Err(error) => (error.removed.clone(), Err(error.into())),
        };
        let mut removed = removed.iter().peekable();
        keys.iter().zip(&paths).filter(|(_, path)| removed.next_if_eq(path).is_some()).for_each(|(key, _)| done(key));
        result.map(|()| self.remove_empty_folders(keys))
    }
}

impl Local {
    /// Removes the folders of deleted keys that are empty now. An object store has no folders.
    fn remove_empty_folders(&self, keys: &[String]) {
        for key in keys {
            let mut folder = Path::new(key).parent();
            while let Some(below) = folder.filter(|below| !below.as_os_str().is_empty()) {
                if fs::remove_dir(self.folder.join(below)).is_err() {
                    break;
                }
                folder = below.parent();
            }
        }
    }
}
