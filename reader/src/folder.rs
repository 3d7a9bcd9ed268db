//! [`Folder`]: the live blocks of a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chronoxide_format::identity::BlockId;

use crate::lineage::{IncompleteJob, Lineage, Reason, Standing, judge};
use crate::listing::names_in;
use crate::{ArchiveMemoryError, Block, Checks, MAX_ARCHIVE_MEMORY, OpenError, check_archives};

/// Maximum listings of a folder before it is reported as changing. Between two jobs, a listing succeeds.
const MAX_LISTINGS: usize = 100;

/// A snapshot of the blocks of a folder that contains each series in one live block.
///
/// Reads files whose name ends in `.cx` and does not begin with a dot; [`judge`] decides which blocks are live. Jobs
/// may publish and delete blocks meanwhile: the folder is listed again until it did not change while its blocks were
/// opened. Open the folder anew to see later changes. Drop an old `Folder`: deleted files keep their space while they
/// are open.
///
/// [`Checks`] decide when damage is found. With lazy checks, damage to a live block may be found after the blocks that
/// it hides were dropped. Use eager checks if that is not acceptable.
///
/// ```
/// use chronoxide_reader::{Checks, Folder};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden");
/// let folder = Folder::read(path, Checks::Eager)?;
/// for entry in folder.live() {
///     println!("{}: {} series", entry.path().display(), entry.block().view().series_count()?);
/// }
/// assert!(folder.unreadable().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Folder {
    lineages: Vec<(PathBuf, Lineage)>,
    live: Vec<Entry>,
    hidden: Vec<Hidden>,
    unreadable: Vec<(PathBuf, OpenError)>,
    incomplete: Vec<IncompleteJob>,
}

/// A live block and its file.
#[derive(Debug)]
pub struct Entry {
    path: PathBuf,
    id: BlockId,
    block: Block,
}

impl Entry {
    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the block's id.
    #[must_use]
    pub fn id(&self) -> BlockId {
        self.id
    }

    /// Returns the block.
    #[must_use]
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Returns the block without its path.
    #[must_use]
    pub fn into_block(self) -> Block {
        self.block
    }
}

/// A hidden block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hidden {
    /// Path of the file.
    pub path: PathBuf,
    /// The block's id.
    pub id: BlockId,
    /// Reason why it is hidden.
    pub reason: Reason,
}

/// Reason why a folder could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The folder cannot be listed.
    #[error("cannot list {}", path.display())]
    Io {
        /// Path of the folder.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The folder changed during each attempt to open its blocks.
    #[error("{}: the folder keeps changing; try again", path.display())]
    Changing {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The decoded strings of the live archives take more memory than the limit. None of them was decoded.
    #[error("{}: {source}; open fewer of them, or raise the limit", path.display())]
    ArchiveMemory {
        /// Path of the folder.
        path: PathBuf,
        /// Memory and limit.
        source: ArchiveMemoryError,
    },
}

impl Folder {
    /// Opens a folder by reading its blocks into memory. The decoded strings of its live archives take at most
    /// [`MAX_ARCHIVE_MEMORY`].
    ///
    /// # Errors
    /// [`FolderError`] if the folder cannot be listed, keeps changing, or has too large archives. A block that cannot
    /// be opened is not an error, but [listed](Self::unreadable).
    pub fn read(path: impl AsRef<Path>, checks: Checks) -> Result<Self, FolderError> {
        Self::read_within(path, checks, MAX_ARCHIVE_MEMORY)
    }

    /// Like [`Folder::read`], with another limit of the decoded strings of archives, in bytes.
    ///
    /// # Errors
    /// As [`Folder::read`].
    pub fn read_within(path: impl AsRef<Path>, checks: Checks, archive_memory: u64) -> Result<Self, FolderError> {
        Self::open(path.as_ref(), |file| Block::read_packed(file, checks), Some(archive_memory))
    }

    /// Opens a folder by mapping its blocks. The decoded strings of its live archives take at most
    /// [`MAX_ARCHIVE_MEMORY`].
    ///
    /// # Safety
    /// The contract of [`Block::map`], for each file of the folder whose name ends in `.cx`.
    ///
    /// # Errors
    /// As [`Folder::read`].
    pub unsafe fn map(path: impl AsRef<Path>, checks: Checks) -> Result<Self, FolderError> {
        // SAFETY: the caller keeps the same contract.
        unsafe { Self::map_within(path, checks, MAX_ARCHIVE_MEMORY) }
    }

    /// Like [`Folder::map`], with another limit of the decoded strings of archives, in bytes.
    ///
    /// # Safety
    /// As [`Folder::map`].
    ///
    /// # Errors
    /// As [`Folder::read`].
    pub unsafe fn map_within(path: impl AsRef<Path>, checks: Checks, archive_memory: u64) -> Result<Self, FolderError> {
        // SAFETY: the caller keeps the same contract.
        let open = |file: &Path| unsafe { Block::map_packed(file, checks) };
        Self::open(path.as_ref(), open, Some(archive_memory))
    }

    /// Like [`Folder::map`], but does not decode archives; see [`Block::map_packed`]. Files that share an id and
    /// differ in their headers are verified, which decodes one arena at a time.
    ///
    /// # Safety
    /// The contract of [`Block::map`], for each file of the folder whose name ends in `.cx`.
    ///
    /// # Errors
    /// Those of [`Folder::map`].
    pub unsafe fn map_packed(path: impl AsRef<Path>, checks: Checks) -> Result<Self, FolderError> {
        // SAFETY: the caller keeps the same contract.
        Self::open(path.as_ref(), |file| unsafe { Block::map_packed(file, checks) }, None)
    }

    /// Opens a folder with blocks whose archives are packed, and decodes the live ones if there is a limit for them.
    fn open(
        path: &Path,
        open: impl Fn(&Path) -> Result<Block, OpenError>,
        archive_memory: Option<u64>,
    ) -> Result<Self, FolderError> {
        let io = |source| FolderError::Io { path: path.to_owned(), source };
        let mut opened = BTreeMap::new();
        let mut names = list(path).map_err(io)?;
        // If a job deleted a block before it was opened, its series are in other blocks, which may have appeared after
        // the listing. The listing is not atomic either: it may lack both.
        for _ in 0..MAX_LISTINGS {
            for name in &names {
                if !opened.contains_key(name) {
                    opened.insert(name.clone(), open_file(&path.join(name), &open));
                }
            }
            let again = list(path).map_err(io)?;
            if again == names {
                let too_large = |source| FolderError::ArchiveMemory { path: path.to_owned(), source };
                return Self::from_opened(path, opened, archive_memory).map_err(too_large);
            }
            opened.retain(|name, _| again.contains(name));
            names = again;
        }
        Err(FolderError::Changing { path: path.to_owned() })
    }

    fn from_opened(
        folder: &Path,
        opened: BTreeMap<OsString, Result<(Block, Lineage), OpenError>>,
        archive_memory: Option<u64>,
    ) -> Result<Self, ArchiveMemoryError> {
        let (mut blocks, mut unreadable) = (Vec::new(), Vec::new());
        for (name, result) in opened {
            let path = folder.join(name);
            match result {
                Ok((block, lineage)) => blocks.push((lineage, path, block)),
                Err(error) => unreadable.push((path, error)),
            }
        }
        // Stable: copies stay in the order of their names.
        blocks.sort_by_key(|(lineage, ..)| lineage.id);
        set_damaged_aside(&mut blocks, &mut unreadable);
        let (mut lineages, mut files): (Vec<Lineage>, Vec<Entry>) = blocks
            .into_iter()
            .map(|(lineage, path, block)| {
                let id = lineage.id;
                (lineage, Entry { path, id, block })
            })
            .unzip();
        let judgement = loop {
            let judgement = judge(&lineages);
            let Some(limit) = archive_memory else { break judgement };
            let mut damaged = unpack_live(&files, &judgement.standings, limit)?;
            if damaged.is_empty() {
                break judgement;
            }
            // An archive that cannot be decoded hides no other block.
            let all = std::mem::take(&mut lineages).into_iter().zip(std::mem::take(&mut files));
            for (place, (lineage, entry)) in all.enumerate() {
                match damaged.remove(&place) {
                    Some(source) => unreadable.push((entry.path.clone(), OpenError::block(&entry.path, source))),
                    None => {
                        lineages.push(lineage);
                        files.push(entry);
                    }
                }
            }
            unreadable.sort_by(|(a, _), (b, _)| a.cmp(b));
        };
        let lineages = files.iter().map(|entry| entry.path.clone()).zip(lineages).collect();
        let (mut live, mut hidden) = (Vec::new(), Vec::new());
        for (entry, standing) in files.into_iter().zip(judgement.standings) {
            match standing {
                Standing::Live => live.push(entry),
                Standing::Hidden(reason) => hidden.push(Hidden { path: entry.path, id: entry.id, reason }),
            }
        }
        Ok(Self { lineages, live, hidden, unreadable, incomplete: judgement.incomplete })
    }

    /// Returns the live blocks, by id, which is the order of their times.
    #[must_use]
    pub fn live(&self) -> &[Entry] {
        &self.live
    }

    /// Converts the folder into its live blocks.
    #[must_use]
    pub fn into_live(self) -> Vec<Entry> {
        self.live
    }

    /// Returns the hidden blocks, by id. They are not kept open.
    #[must_use]
    pub fn hidden(&self) -> &[Hidden] {
        &self.hidden
    }

    /// Returns the origin of each readable block, live or hidden, by id. Copies are included.
    #[must_use]
    pub fn lineages(&self) -> &[(PathBuf, Lineage)] {
        &self.lineages
    }

    /// Returns the ids of all readable blocks, live or hidden.
    pub fn ids(&self) -> impl Iterator<Item = BlockId> + use<'_> {
        self.lineages.iter().map(|(_, lineage)| lineage.id)
    }

    /// Returns the files that cannot be opened as blocks, by name. They hide no other block.
    #[must_use]
    pub fn unreadable(&self) -> &[(PathBuf, OpenError)] {
        &self.unreadable
    }

    /// Converts the folder into the files that cannot be opened as blocks. Closes all blocks.
    #[must_use]
    pub fn into_unreadable(self) -> Vec<(PathBuf, OpenError)> {
        self.unreadable
    }

    /// Converts the folder into its live blocks and the files that cannot be opened as blocks.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Entry>, Vec<(PathBuf, OpenError)>) {
        (self.live, self.unreadable)
    }

    /// Returns the jobs that lack outputs or whose claims were rejected, by id. They were killed and can be run again,
    /// or their outputs were lost.
    #[must_use]
    pub fn incomplete(&self) -> &[IncompleteJob] {
        &self.incomplete
    }
}

/// Decodes the strings of the live archives, unless all of them exceed the limit. Returns the places of those that are
/// damaged, and then of the hidden ones that are, too: the blocks that live ones hid must not be judged again for each
/// archive of a chain of damaged ones.
fn unpack_live(
    files: &[Entry],
    standings: &[Standing],
    limit: u64,
) -> Result<BTreeMap<usize, chronoxide_format::Error>, ArchiveMemoryError> {
    let blocks = |is_live: bool| {
        let all = files.iter().zip(standings).enumerate();
        let wanted = all.filter(move |(_, (_, standing))| (**standing == Standing::Live) == is_live);
        wanted.map(|(place, (entry, _))| (place, &entry.block))
    };
    check_archives(blocks(true).map(|(_, block)| block), limit)?;
    let failed = |(place, block): (usize, &Block)| block.unpack().err().map(|error| (place, error));
    let mut damaged: BTreeMap<_, _> = blocks(true).filter_map(failed).collect();
    if !damaged.is_empty() {
        let failed = |(place, block): (usize, &Block)| block.check_arena().err().map(|error| (place, error));
        damaged.extend(blocks(false).filter_map(failed));
    }
    Ok(damaged)
}

/// Moves damaged blocks to `unreadable` if several files share an id and differ in their headers: such files are not
/// copies, and none of them may hide the sound one. Verifies each of these files: one pass per file.
fn set_damaged_aside(blocks: &mut Vec<(Lineage, PathBuf, Block)>, unreadable: &mut Vec<(PathBuf, OpenError)>) {
    let header = |block: &Block| block.view().header_bytes().to_vec();
    let mut first: BTreeMap<BlockId, Vec<u8>> = BTreeMap::new();
    let mut disputed = BTreeSet::new();
    for (lineage, _, block) in &*blocks {
        if *first.entry(lineage.id).or_insert_with(|| header(block)) != header(block) {
            disputed.insert(lineage.id);
        }
    }
    if disputed.is_empty() {
        return;
    }
    for (lineage, path, block) in std::mem::take(blocks) {
        let verified = if disputed.contains(&lineage.id) { block.verify().map(|_| ()) } else { Ok(()) };
        match verified {
            Ok(()) => blocks.push((lineage, path, block)),
            Err(source) => unreadable.push((path.clone(), OpenError::Block { path, source })),
        }
    }
    unreadable.sort_by(|(a, _), (b, _)| a.cmp(b));
}

/// Returns true for names of blocks in a folder or a location: they end in `.cx` and do not begin with a dot.
#[must_use]
pub fn is_block_name(name: impl AsRef<OsStr>) -> bool {
    let name = name.as_ref();
    !name.as_encoded_bytes().starts_with(b".") && Path::new(name).extension() == Some(OsStr::new("cx"))
}

fn list(folder: &Path) -> io::Result<BTreeSet<OsString>> {
    let mut names = BTreeSet::new();
    for name in names_in(folder)? {
        if is_block_name(&name) {
            names.insert(name);
        }
    }
    Ok(names)
}

fn open_file(path: &Path, open: impl Fn(&Path) -> Result<Block, OpenError>) -> Result<(Block, Lineage), OpenError> {
    // Opening a pipe would wait for a writer.
    let metadata = fs::metadata(path).map_err(|source| OpenError::io(path, source))?;
    if !metadata.is_file() {
        return Err(OpenError::io(path, io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    let block = open(path)?;
    let lineage =
        Lineage::from_view(&block.view()).map_err(|source| OpenError::Block { path: path.to_owned(), source })?;
    Ok((block, lineage))
}
