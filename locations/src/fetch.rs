//! [`Cache`]: blocks of object stores as files of this machine.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use chronoxide_format::layout::Header;
use chronoxide_publish::{Disk, Existing, PublishError, make_folder, publish, recover};
use chronoxide_reader::{Block, BlockId, Checks, OpenError};
use zerocopy::FromBytes;

use crate::facts::{Facts, header_checksum};
use crate::listing::{BLOCK_SUFFIX, Listed, Listing};
use crate::sparse::{Opening, SparseBlock};
use crate::storage::Object;
use crate::{Location, LocationError};

/// Downloads of a block that is damaged when it arrives. Damage on the way is rare.
const DOWNLOADS: usize = 3;

/// Blocks that are downloaded at a time.
const MAX_DOWNLOADS: usize = 8;

/// Extension of files that are being written.
const SCRATCH: &str = "scratch";
/// Prefix of folders with blocks that are to be uploaded.
const UPLOADS_PREFIX: &str = "uploads-";
/// Name of the file in such a folder that its process locks.
const OWNER: &str = ".owner";
/// Extension of locks of downloads.
const LOCK: &str = "lock";
/// Age after which the writers of files, folders and locks count as dead.
const SCRATCH_AGE: Duration = Duration::from_secs(24 * 3600);

/// Default maximum of a cache, in bytes.
pub const DEFAULT_CACHE_LEN: u64 = 16 << 30;

/// A folder with blocks of object stores, which several processes may share.
///
/// Each block is downloaded once, verified, and published under its id and header checksum. Before a download, the
/// blocks that were not used for the longest time are deleted, so that the folder stays below its maximum; maps of
/// deleted files stay valid on Unix. Blocks of a folder of this machine are not copied.
#[derive(Clone)]
pub struct Cache {
    folder: PathBuf,
    max_len: u64,
    /// Set once the folder is there.
    is_ready: Arc<OnceLock<()>>,
    observer: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("folder", &self.folder).field("max_len", &self.max_len).finish_non_exhaustive()
    }
}

impl Cache {
    /// Opens a cache, and makes its folder if it is missing. A block that is larger than `max_len` is kept alone.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub fn open(folder: impl Into<PathBuf>, max_len: u64) -> Result<Self, LocationError> {
        let cache = Self { folder: folder.into(), max_len, is_ready: Arc::default(), observer: None };
        cache.make()?;
        Ok(cache)
    }

    /// Makes the folder, unless it was made before.
    ///
    /// # Errors
    /// As [`Cache::open`].
    pub fn make(&self) -> Result<(), LocationError> {
        if self.is_ready.get().is_some() {
            return Ok(());
        }
        let failed = |source| LocationError::io(self.folder.display().to_string(), "open the cache", source);
        make_folder(&Disk, &self.folder).map_err(|error| failed(io::Error::other(error)))?;
        // Files of processes that died.
        recover(&Disk, &self.folder).map_err(failed)?;
        let _ = self.is_ready.set(());
        Ok(())
    }

    /// Returns the cache that the environment names: `CHRONOXIDE_CACHE`, or `chronoxide` in the user's folder for
    /// caches. Its folder is made when the first block is fetched: blocks of folders need none.
    #[must_use]
    pub fn from_environment(max_len: u64) -> Self {
        let named = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let of_user = || named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
        let folder = named("CHRONOXIDE_CACHE").or_else(|| Some(of_user()?.join("chronoxide")));
        let folder = folder.unwrap_or_else(|| std::env::temp_dir().join("chronoxide"));
        Self { folder, max_len, is_ready: Arc::default(), observer: None }
    }

    /// Calls `observer` with the number of bytes of each downloaded part, from any thread.
    #[must_use]
    pub fn with_observer(self, observer: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self { observer: Some(Arc::new(observer)), ..self }
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the file of a block. Downloads and verifies it if the cache does not have it.
    ///
    /// # Errors
    /// Errors of reading and writing, [`LocationError::Changed`] if the object is not the listed block, and
    /// [`LocationError::Block`] if it is damaged.
    pub fn fetch(&self, location: &Location, block: &Wanted<'_>) -> Result<PathBuf, LocationError> {
        self.fetch_beside(location, block, &BTreeSet::new())
    }

    /// Like [`Cache::fetch`], but also checks the checksums of a file that was downloaded before. Downloads it again if
    /// one is wrong.
    ///
    /// # Errors
    /// As [`Cache::fetch`].
    pub fn fetch_sound(&self, location: &Location, block: &Wanted<'_>) -> Result<PathBuf, LocationError> {
        let path = self.fetch(location, block)?;
        // SAFETY: a file of the cache is never changed, only deleted or replaced by renaming.
        let is_damaged = || matches!(unsafe { Block::map_packed(&path, Checks::Eager) }, Err(OpenError::Block { .. }));
        if !location.is_remote() || !is_damaged() {
            return Ok(path);
        }
        let _ = fs::remove_file(&path);
        self.fetch(location, block)
    }

    /// Like [`Cache::fetch`], but does not delete some files.
    fn fetch_beside(
        &self,
        location: &Location,
        block: &Wanted<'_>,
        kept: &BTreeSet<PathBuf>,
    ) -> Result<PathBuf, LocationError> {
        if let Some(path) = location.path(block.key) {
            check_local(location, block, &path)?;
            return Ok(path);
        }
        self.make()?;
        let path = self.path(block);
        let failed = |source| LocationError::io(path.display().to_string(), "lock", source);
        // One process downloads; the others wait for it.
        let lock = File::options().create(true).truncate(false).write(true).open(path.with_extension(LOCK));
        let lock = lock.map_err(failed)?;
        lock.lock().map_err(failed)?;
        if is_there(&path, block.byte_len) && has_header(&path, block).unwrap_or(false) {
            // The time of the last use decides what is deleted first.
            let _ = File::options().write(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        } else {
            self.make_room(block.byte_len, kept);
            self.download(location, block, &path)?;
        }
        let _ = fs::remove_file(path.with_extension(LOCK));
        Ok(path)
    }

    /// Returns the files of listed blocks, in their order, as [`Cache::fetch`]. Several are downloaded at a time. None
    /// of them is deleted to make room for another, so that the cache exceeds its maximum if they do.
    ///
    /// # Errors
    /// The error of the first block that cannot be fetched.
    pub fn fetch_all(&self, location: &Location, blocks: &[Listed]) -> Result<Vec<PathBuf>, LocationError> {
        self.fetch_each(location, blocks).into_iter().collect()
    }

    /// Fetches blocks as [`Cache::fetch_all`], and goes on behind damaged ones. Another error ends the list.
    fn fetch_each(&self, location: &Location, blocks: &[Listed]) -> Vec<Result<PathBuf, LocationError>> {
        let kept = blocks.iter().map(|block| self.path(&block.wanted())).collect();
        // Downloads at the same time do not see each other's bytes: there is room for all of them first.
        if location.is_remote() {
            let wanted = blocks.iter().map(Listed::wanted);
            let missing = wanted.filter(|block| !is_there(&self.path(block), block.byte_len));
            self.make_room(missing.map(|block| block.byte_len).sum(), &kept);
        }
        let next = AtomicUsize::new(0);
        let fetch_some = || {
            let mut fetched = Vec::new();
            while let Some((place, block)) = blocks.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
                let path = self.fetch_beside(location, &block.wanted(), &kept);
                if path.as_ref().is_err_and(|error| !is_damage(error)) {
                    next.store(blocks.len(), Ordering::Relaxed);
                }
                fetched.push((place, path));
            }
            fetched
        };
        let mut all = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..MAX_DOWNLOADS.min(blocks.len())).map(|_| scope.spawn(fetch_some)).collect();
            let fetched = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            fetched.flatten().collect::<Vec<_>>()
        });
        all.sort_unstable_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, path)| path).collect()
    }

    /// Lists a location, and returns the files of its live blocks, in their order, as [`Cache::fetch_all`]. Blocks that
    /// turn out to be damaged become [unreadable](Listing::unreadable) ones of the listing. If a block is not the one
    /// that the manifest describes, lists the location again by its blocks alone.
    ///
    /// # Errors
    /// As [`Listing::read`] and [`Cache::fetch_all`].
    pub fn fetch_live(&self, location: &Location) -> Result<(Listing, Vec<PathBuf>), LocationError> {
        let mut listing = Listing::read(location)?;
        let mut fetched = self.fetch_each(location, &listing.live);
        if listing.from_manifest > 0 && fetched.iter().any(|path| matches!(path, Err(LocationError::Changed { .. }))) {
            listing = Listing::read_blocks(location)?;
            fetched = self.fetch_each(location, &listing.live);
        }
        let mut paths = Vec::with_capacity(fetched.len());
        for (block, path) in std::mem::take(&mut listing.live).into_iter().zip(fetched) {
            match path {
                Ok(path) => {
                    paths.push(path);
                    listing.live.push(block);
                }
                Err(error) if is_damage(&error) => listing.unreadable.push((block.object.key, error)),
                Err(error) => return Err(error),
            }
        }
        Ok((listing, paths))
    }

    /// Returns the file of the block of a URL, as [`Cache::fetch`].
    ///
    /// # Errors
    /// As [`SparseBlock::open_url`] and [`Cache::fetch`].
    pub fn fetch_url(&self, url: &str) -> Result<PathBuf, LocationError> {
        self.fetch_url_with(url, &[])
    }

    /// Like [`Cache::fetch_url`], with settings as [`Location::open_with`].
    ///
    /// # Errors
    /// As [`Cache::fetch_url`].
    pub fn fetch_url_with(&self, url: &str, settings: &[(String, String)]) -> Result<PathBuf, LocationError> {
        let object = Location::open_object_with(url, settings)?;
        let mut block = SparseBlock::open_object(object, Opening::SHORT)?;
        let facts = block.facts()?;
        self.fetch(block.location(), &Listed { object: block.object().clone(), facts }.wanted())
    }

    /// Reads a whole block of a location again and verifies it, whatever the cache has.
    ///
    /// # Errors
    /// As [`Cache::fetch`], and [`LocationError::Missing`] if it does not exist.
    pub fn prove(&self, location: &Location, block: &Wanted<'_>) -> Result<(), LocationError> {
        if let Some(path) = location.path(block.key) {
            return verify(&path, block).map_err(|unfit| refused(location, block, unfit));
        }
        let path = self.scratch(&block.id.to_string())?;
        let downloaded = self.download(location, block, &path);
        let _ = fs::remove_file(path);
        downloaded
    }

    /// Returns the path of a new file for a block that is being written, whose name begins with `name`. Several runs of
    /// a job, on machines that share the cache, get different paths. A file that was left behind is deleted after a
    /// day.
    ///
    /// # Errors
    /// As [`Cache::open`].
    pub fn scratch(&self, name: &str) -> Result<PathBuf, LocationError> {
        self.make()?;
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Ok(self.folder.join(format!("{name}-{}-{since}-{number}.{SCRATCH}", std::process::id())))
    }

    /// Makes a temporary folder for blocks that are to be uploaded. Deletes those that dead processes left behind more
    /// than a day ago.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn upload_folder(&self) -> Result<UploadFolder, LocationError> {
        self.make()?;
        self.delete_left_behind();
        let failed = |source| LocationError::io(self.folder.display().to_string(), "make a folder", source);
        let folder = tempfile::Builder::new().prefix(UPLOADS_PREFIX).tempdir_in(&self.folder).map_err(failed)?;
        let owner = File::create(folder.path().join(OWNER)).map_err(failed)?;
        owner.lock().map_err(failed)?;
        Ok(UploadFolder { folder, _owner: owner })
    }

    /// Moves a verified file of this machine into the cache, as the file of this block.
    ///
    /// # Errors
    /// The file cannot be moved: it may be on another file system.
    pub fn adopt(&self, file: &Path, block: &Wanted<'_>) -> Result<PathBuf, LocationError> {
        let path = self.path(block);
        self.make_room(block.byte_len, &BTreeSet::new());
        fs::rename(file, &path).map_err(|source| LocationError::io(file.display().to_string(), "move", source))?;
        Ok(path)
    }

    /// Downloads a block to a temporary file, verifies it, and publishes it.
    fn download(&self, location: &Location, block: &Wanted<'_>, path: &Path) -> Result<(), LocationError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut failed = None;
            let write = |out: &mut dyn chronoxide_publish::Output| {
                let mut out = Observed { out, observer: self.observer.as_deref() };
                location.download(block.key, block.byte_len, &mut out).map_err(|error| {
                    failed = Some(error);
                    io::Error::other("the download failed")
                })
            };
            let published = publish(&Disk, path, Existing::Replace, write, |candidate| verify(candidate.path(), block));
            let error = match published {
                Ok(_) => return Ok(()),
                Err(PublishError::Unverified { source, .. }) => refused(location, block, source),
                Err(error) => {
                    let (object, source) = (location.name(block.key), io::Error::other(error));
                    return Err(failed.unwrap_or(LocationError::Io { object, operation: "download", source }));
                }
            };
            // A file that cannot be opened would not be better the next time.
            if attempts == DOWNLOADS || matches!(error, LocationError::Io { .. }) {
                return Err(error);
            }
        }
    }

    fn path(&self, block: &Wanted<'_>) -> PathBuf {
        self.folder.join(format!("{}-{:08x}{BLOCK_SUFFIX}", block.id, block.header_checksum))
    }

    /// Deletes files and folders that dead processes left behind more than a day ago. Errors are ignored: another
    /// process may delete the same files.
    fn delete_left_behind(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if !metadata.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > SCRATCH_AGE)) {
                continue;
            }
            let path = entry.path();
            let is_scratch = path.extension().is_some_and(|extension| extension == SCRATCH || extension == LOCK);
            let is_upload = || entry.file_name().to_string_lossy().starts_with(UPLOADS_PREFIX) && !has_owner(&path);
            if metadata.is_dir() && is_upload() {
                let _ = fs::remove_dir_all(path);
            } else if metadata.is_file() && is_scratch {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Deletes blocks, but none of `kept`, until `byte_len` more bytes fit. Errors are ignored: another process may
    /// delete the same files.
    fn make_room(&self, byte_len: u64, kept: &BTreeSet<PathBuf>) {
        self.delete_left_behind();
        let mut files = BTreeSet::new();
        let mut total = byte_len;
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() && entry.path().extension().is_some_and(|extension| extension == "cx") {
                total += metadata.len();
                files.insert((metadata.modified().ok(), entry.path(), metadata.len()));
            }
        }
        for (_, path, len) in files {
            if total <= self.max_len {
                break;
            }
            if !kept.contains(&path) && fs::remove_file(path).is_ok() {
                total -= len;
            }
        }
    }
}

/// A temporary folder for blocks that are to be uploaded. Dropping it deletes it.
#[derive(Debug)]
pub struct UploadFolder {
    folder: tempfile::TempDir,
    /// Locked as long as the process lives.
    _owner: File,
}

impl UploadFolder {
    /// Returns the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Returns true if the process that made an upload folder lives.
fn has_owner(folder: &Path) -> bool {
    File::open(folder.join(OWNER)).is_ok_and(|owner| owner.try_lock().is_err())
}

/// A block that is wanted: where it is, and how to recognize it.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Key in its location.
    pub key: &'a str,
    /// Length in bytes.
    pub byte_len: u64,
    /// Block id.
    pub id: BlockId,
    /// Checksum of the header.
    pub header_checksum: u32,
}

impl Listed {
    /// Returns the block as one that is wanted.
    #[must_use]
    pub fn wanted(&self) -> Wanted<'_> {
        let Facts { id, header_checksum, .. } = self.facts;
        Wanted { key: &self.object.key, byte_len: self.object.byte_len, id, header_checksum }
    }
}

/// Checks that a file of this machine is the wanted block, as far as its header says.
fn check_local(location: &Location, wanted: &Wanted<'_>, path: &Path) -> Result<(), LocationError> {
    let is_wanted =
        || -> io::Result<bool> { Ok(fs::metadata(path)?.len() == wanted.byte_len && has_header(path, wanted)?) };
    match is_wanted() {
        Ok(true) => Ok(()),
        Ok(false) => Err(changed(location, wanted)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(changed(location, wanted)),
        Err(source) => Err(LocationError::io(location.name(wanted.key), "read", source)),
    }
}

/// Returns true if a file begins with the header of the wanted block.
fn has_header(path: &Path, wanted: &Wanted<'_>) -> io::Result<bool> {
    let mut header = [0; size_of::<Header>()];
    File::open(path)?.read_exact(&mut header)?;
    Ok(Header::ref_from_bytes(&header).is_ok_and(|parsed| parsed.block_id == wanted.id.0)
        && header_checksum(&header) == wanted.header_checksum)
}

fn is_there(path: &Path, byte_len: u64) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == byte_len)
}

/// An output whose written bytes are counted.
struct Observed<'a> {
    out: &'a mut dyn chronoxide_publish::Output,
    observer: Option<&'a (dyn Fn(u64) + Send + Sync)>,
}

impl io::Write for Observed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        if let Some(observer) = self.observer {
            observer(written as u64);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reason why a downloaded file is refused.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("other block")]
    Other,
}

/// Returns true if an object is a damaged block.
fn is_damage(error: &LocationError) -> bool {
    matches!(error, LocationError::Block { .. })
}

/// Returns the error of a file that was refused.
fn refused(location: &Location, wanted: &Wanted<'_>, unfit: Unfit) -> LocationError {
    let object = location.name(wanted.key);
    match unfit {
        Unfit::Open(OpenError::Block { source, .. }) => LocationError::Block { object, source },
        Unfit::Open(error) => LocationError::Io { object, operation: "verify", source: io::Error::other(error) },
        Unfit::Other => changed(location, wanted),
    }
}

fn changed(location: &Location, wanted: &Wanted<'_>) -> LocationError {
    let reason = format!("it is not the block {} that was listed", wanted.id);
    LocationError::Changed { object: location.name(wanted.key), reason }
}

/// Verifies a downloaded block, and that it is the wanted one.
fn verify(path: &Path, wanted: &Wanted<'_>) -> Result<(), Unfit> {
    let block = open(path)?;
    if block.view().block_id() != wanted.id || header_checksum(block.bytes()) != wanted.header_checksum {
        return Err(Unfit::Other);
    }
    block.verify().map_err(|source| OpenError::Block { path: path.to_owned(), source })?;
    Ok(())
}

fn open(path: &Path) -> Result<Block, OpenError> {
    // SAFETY: published blocks are never changed, only deleted or replaced by renaming, and a temporary file belongs to
    // this process.
    unsafe { Block::map_packed(path, Checks::Never) }
}

/// Reads a whole block into memory and verifies it.
pub(crate) fn verify_in_memory(location: &Location, object: &Object) -> Result<(), LocationError> {
    let damaged = |source| LocationError::Block { object: location.name(&object.key), source };
    let mut bytes = Vec::new();
    location.download(&object.key, object.byte_len, &mut bytes)?;
    Block::from_vec(bytes, Checks::Eager).and_then(|block| block.verify()).map(|_| ()).map_err(damaged)
}
