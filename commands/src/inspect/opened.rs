//! Files of either kind, told apart by their first bytes.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use chronoxide_format::layout::MAGIC;
use chronoxide_format::remap::layout::REMAP_MAGIC;
use chronoxide_reader::{ArchiveMemoryError, Block, Checks, OpenError, Remap, check_archives};
use chronoxide_text::human;

use crate::inspect::remote;
use crate::memory::default_limit;
use crate::{Exit, Failure};

/// A block or a remap.
pub(crate) enum Opened {
    /// A block.
    Block(Block),
    /// A remap.
    Remap(Remap),
}

impl Opened {
    /// Opens a file, or standard input if the path is `-`. A file that begins like neither a block nor a remap is
    /// opened as a block, so that the error names the missing magic.
    pub(crate) fn open(path: &Path, checks: Checks) -> Result<Self, OpenError> {
        if crate::url(path).is_some() {
            return open_block(path, checks).map(Self::Block);
        }
        let is_remap = match stream(path)? {
            Some(bytes) if bytes.starts_with(&REMAP_MAGIC) => {
                let remap = Remap::from_vec(bytes, checks);
                return remap.map(Self::Remap).map_err(|source| OpenError::Remap { path: path.to_owned(), source });
            }
            Some(bytes) => return unpacked(path, packed_from(path, bytes, checks)?).map(Self::Block),
            None => {
                let mut magic = [0; REMAP_MAGIC.len()];
                // A file that cannot be read is opened once more for its error.
                let begun = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
                begun.is_ok() && magic == REMAP_MAGIC
            }
        };
        if is_remap { map_remap(path, checks).map(Self::Remap) } else { open_block(path, checks).map(Self::Block) }
    }

    /// Checks every rule of the format.
    pub(crate) fn verify(&self, path: &Path) -> Result<Verified, OpenError> {
        match self {
            Self::Block(block) => {
                let content = block.verify().map_err(|source| OpenError::Block { path: path.to_owned(), source })?;
                Ok(Verified { series: content.series_count, unknown_ro_compat: block.view().unknown_ro_compat() })
            }
            Self::Remap(remap) => {
                let series = remap.verify().and_then(|()| remap.view().series_count());
                let series = series.map_err(|source| OpenError::Remap { path: path.to_owned(), source })?;
                Ok(Verified { series, unknown_ro_compat: 0 })
            }
        }
    }
}

/// Result of the verification of a sound block or remap.
pub(crate) struct Verified {
    /// Number of series.
    pub(crate) series: u64,
    /// Unknown bits of `ro_compat`. If there are any, only rules of class R were checked.
    pub(crate) unknown_ro_compat: u32,
}

/// Opens a block: a file is mapped, so that it may be larger than memory. The strings of an archive are decoded, unless
/// they take more than half of the memory that the process may use.
pub(crate) fn open_block(path: &Path, checks: Checks) -> Result<Block, OpenError> {
    unpacked(path, open_packed_block(path, checks)?)
}

/// Opens a block like [`open_block`], but does not decode the strings of an archive.
pub(crate) fn open_packed_block(path: &Path, checks: Checks) -> Result<Block, OpenError> {
    let map = |path: &Path| {
        // SAFETY: published blocks are never changed, only deleted or replaced by renaming, which does not affect a
        // map. The documentation of the format forbids changing a block in place.
        unsafe { Block::map_packed(path, checks) }
    };
    if let Some(url) = crate::url(path) {
        return map(&remote::fetch(url)?).map(|block| block.with_path(path));
    }
    match stream(path)? {
        Some(bytes) => packed_from(path, bytes, checks),
        None => map(path),
    }
}

/// Checks the memory for the decoded strings of the archives among blocks, before one is decoded: the limit is that of
/// `--memory-limit`, or half of the memory that the process may use.
pub(crate) fn check_archive_memory<'b>(
    blocks: impl IntoIterator<Item = &'b Block>,
    memory_limit: Option<usize>,
) -> Result<(), Failure> {
    let limit = memory_limit.unwrap_or_else(default_limit);
    check_archives(blocks, limit as u64).map_err(|ArchiveMemoryError { needed, limit }| {
        let advice = match memory_limit {
            Some(_) => "raise --memory-limit",
            None => "allow the process more memory: the limit is half of it",
        };
        let [needed, limit] = [needed, limit].map(human::size);
        let message = format!(
            "the strings of the archives take {needed} of memory, the limit is {limit}: name fewer archives, or {advice}"
        );
        Failure::new(Exit::Usage, message)
    })
}

/// Decodes the strings of an archive that is opened alone.
fn unpacked(path: &Path, block: Block) -> Result<Block, OpenError> {
    let path = || path.to_owned();
    check_archives([&block], default_limit() as u64)
        .map_err(|source| OpenError::ArchiveMemory { path: path(), source })?;
    block.unpack().map_err(|source| OpenError::Block { path: path(), source })?;
    Ok(block)
}

/// Opens a remap like [`open_block`].
pub(crate) fn open_remap(path: &Path, checks: Checks) -> Result<Remap, OpenError> {
    match stream(path)? {
        Some(bytes) => {
            Remap::from_vec(bytes, checks).map_err(|source| OpenError::Remap { path: path.to_owned(), source })
        }
        None => map_remap(path, checks),
    }
}

fn map_remap(path: &Path, checks: Checks) -> Result<Remap, OpenError> {
    // SAFETY: remaps are published as blocks are.
    unsafe { Remap::map(path, checks) }
}

fn packed_from(path: &Path, bytes: Vec<u8>, checks: Checks) -> Result<Block, OpenError> {
    let block = Block::from_vec_packed(bytes, checks);
    block.map(|block| block.with_path(path)).map_err(|source| OpenError::Block { path: path.to_owned(), source })
}

/// Returns the bytes of standard input or a device. Returns `None` for a file that can be mapped or cannot be opened;
/// mapping it gives the error then.
///
/// If it begins like neither a block nor a remap, only the beginning is read: a device may have no end.
fn stream(path: &Path) -> Result<Option<Vec<u8>>, OpenError> {
    let failed = |source| OpenError::Io { path: path.to_owned(), source };
    if path == Path::new("-") {
        return read_known(io::stdin().lock()).map(Some).map_err(failed);
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let reason = "is a folder: name a block in it (`chronoxide-inspect FOLDER` lists them)";
            Err(failed(io::Error::new(io::ErrorKind::IsADirectory, reason)))
        }
        // Opening a pipe would wait for a writer.
        Ok(metadata) if is_pipe(&metadata) => {
            let reason = "pipe or socket: redirect it to standard input and name it `-`";
            Err(failed(io::Error::new(io::ErrorKind::InvalidInput, reason)))
        }
        Ok(metadata) if !metadata.is_file() => File::open(path).and_then(read_known).map(Some).map_err(failed),
        _ => Ok(None),
    }
}

fn read_known(mut source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let magic_len = MAGIC.len().max(REMAP_MAGIC.len());
    source.by_ref().take(magic_len as u64).read_to_end(&mut bytes)?;
    if bytes.starts_with(&MAGIC) || bytes.starts_with(&REMAP_MAGIC) {
        source.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

#[cfg(unix)]
fn is_pipe(metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_fifo() || metadata.file_type().is_socket()
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}
