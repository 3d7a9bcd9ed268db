//! Tar archives of captures and data folders: [`Archive`].

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use chronoxide_ingest::input::decompress;
use chronoxide_ingest::prometheus::tsdb::CHUNKS;
use tar::EntryType;
use tempfile::TempDir;

use crate::{Exit, Failure, Interruption};

/// Length of the header of a member in bytes.
const HEADER_LEN: usize = 512;

/// Place of the mark in the header of the first member, and the mark.
const MARK: (usize, &[u8]) = (257, b"ustar");

/// Maximum length in bytes of the headers of a member, with its long names.
const MAX_HEADERS_LEN: u64 = 1 << 20;

/// Maximum number of members.
const MAX_MEMBERS: u64 = 1_000_000;

/// Maximum number of folders in the path of a member.
const MAX_DEPTH: usize = 64;

/// Maximum ratio of the content to the archive, above the bytes that are always allowed. Preallocated files of a data
/// folder are zeros, which compress well.
const MAX_EXPANSION: u64 = 1_000;

/// Bytes of content that are always allowed: the preallocated files of a data folder.
const MIN_CONTENT_LEN: u64 = 4 << 30;

/// Errors of an archive that ends within a header or a padding.
const CUT: [&str; 2] = ["failed to read entire block", "unexpected EOF"];

/// Maximum number of skipped members whose names are kept, and maximum length of a name.
const MAX_SKIPPED: (usize, usize) = (100, 256);

/// Bytes that are copied between two checks for an interruption.
const COPY_LEN: u64 = 1 << 20;

/// Members of an archive, in a temporary folder that is deleted with this value.
#[derive(Debug)]
pub(crate) struct Archive {
    /// Path of the archive.
    pub(crate) path: PathBuf,
    /// Folder of the members.
    pub(crate) folder: PathBuf,
    /// True if the archive was named, and not found in a folder.
    pub(crate) is_named: bool,
    /// Reason why members are missing, if any are.
    pub(crate) loss: Option<Loss>,
    /// Members that were skipped: symbolic links, devices, and paths out of the archive.
    pub(crate) skipped: Vec<String>,
    /// Number of further skipped members.
    pub(crate) more_skipped: u64,
    _folder: TempDir,
}

/// Reason why members of an archive are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The archive ends early, after this number of bytes of members.
    Truncated(u64),
    /// The archive is damaged.
    Damaged(String),
}

impl Archive {
    /// Unpacks a file if it is a tar archive, plain or compressed with gzip or zstd. Chunks of blocks are left out. The
    /// members before damage are unpacked.
    ///
    /// # Errors
    ///
    /// The file cannot be read, a member cannot be written, the members are too many or too large for the archive, or
    /// the user interrupted the command.
    pub(crate) fn unpack(path: &Path, is_named: bool, interruption: &Interruption) -> Result<Option<Self>, Failure> {
        let unreadable = |error| Failure::new(Exit::Io, format!("{}: cannot read: {error}", path.display()));
        let mut head = [0; HEADER_LEN];
        let is_archive = match open(path).and_then(|mut content| content.read_exact(&mut head)) {
            Ok(()) => is_header(&head),
            // Other inputs are opened again, and then errors are reported.
            Err(_) => false,
        };
        if !is_archive {
            return Ok(None);
        }
        // The folder is deleted in order after a signal.
        interruption.begin();
        let temporary = tempfile::Builder::new().prefix("chronoxide-ingest-").tempdir();
        let temporary = temporary
            .map_err(|error| Failure::new(Exit::Io, format!("cannot create a temporary folder (TMPDIR): {error}")))?;
        let folder = temporary.path().join(path.file_name().unwrap_or_default());
        let len = fs::metadata(path).map_err(unreadable)?.len();
        let (loss, skipped, more_skipped) = (None, Vec::new(), 0);
        let mut archive =
            Self { path: path.to_owned(), folder, is_named, loss, skipped, more_skipped, _folder: temporary };
        let limit = len.saturating_mul(MAX_EXPANSION).max(MIN_CONTENT_LEN);
        archive.write_members(open(path).map_err(unreadable)?, limit, interruption)?;
        Ok(Some(archive))
    }

    fn write_members(
        &mut self,
        content: Box<dyn Read + Send>,
        limit: u64,
        interruption: &Interruption,
    ) -> Result<(), Failure> {
        create_folder(&self.folder).map_err(|error| unwritable(&self.folder, &error))?;
        let budget = Rc::new(Cell::new(0));
        let zeros = Rc::new(Cell::new(0));
        let mut archive = tar::Archive::new(Bounded { reader: content, budget: budget.clone(), zeros: zeros.clone() });
        // Archives may follow each other, and the checksum of a compressed stream comes at its end.
        archive.set_ignore_zeros(true);
        budget.set(MAX_HEADERS_LEN);
        let mut members = match archive.entries() {
            Ok(members) => members,
            Err(error) => return self.lose(&error, 0),
        };
        let (mut count, mut written) = (0_u64, 0_u64);
        loop {
            // The content of a member is read to its end below: the next bytes are headers.
            budget.set(MAX_HEADERS_LEN);
            let mut member = match members.next() {
                None => break,
                Some(Ok(member)) => member,
                Some(Err(error)) => return self.lose(&error, written),
            };
            count += 1;
            if count > MAX_MEMBERS {
                return self.too_large(&format!("it has more than {MAX_MEMBERS} members"));
            }
            budget.set(u64::MAX);
            let kind = member.header().entry_type();
            let target = self.target(&member.path_bytes(), kind);
            if let (EntryType::Link, Some(Target::File(path))) = (kind, &target) {
                let source = member.link_name_bytes().and_then(|name| self.target(&name, EntryType::Link));
                self.link(source, path)?;
                continue;
            }
            let mut out = match &target {
                Some(Target::Folder(folder)) => self.created(create_folder(folder), folder)?.and(None),
                Some(Target::File(path)) => {
                    let folder = create_folder(path.parent().unwrap_or(&self.folder));
                    // A member may come again, and its file may be that of a link.
                    let created = folder.and_then(|()| {
                        if path.is_file() {
                            fs::remove_file(path)?;
                        }
                        File::create(path)
                    });
                    self.created(created, path)?
                }
                None => None,
            };
            let (mut got, size) = (0_u64, member.size());
            loop {
                if interruption.is_set() {
                    return Err(Failure::new(Exit::Interrupted, "interrupted"));
                }
                let mut part = Vec::new();
                match (&mut member).take(COPY_LEN).read_to_end(&mut part) {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) => {
                        write_part(&mut out, &part, &target)?;
                        return self.lose(&error, written + part.len() as u64);
                    }
                }
                got += part.len() as u64;
                written += part.len() as u64;
                if written > limit {
                    return self.too_large(&format!("its content has more than {limit} bytes"));
                }
                write_part(&mut out, &part, &target)?;
            }
            if got < size {
                return self.lose(&io::Error::from(ErrorKind::UnexpectedEof), written);
            }
        }
        // Blocks of zeros end an archive. One that is cut between two members lacks them.
        if zeros.get() < HEADER_LEN as u64 {
            self.loss = Some(Loss::Truncated(written));
        }
        Ok(())
    }

    /// Writes a member that is the same file as an earlier one, as in snapshots of Prometheus.
    fn link(&mut self, source: Option<Target>, path: &Path) -> Result<(), Failure> {
        let linked = match source {
            // Only members that were unpacked are in the folder, and none of them is a symbolic link.
            Some(Target::File(source)) => {
                create_folder(path.parent().unwrap_or(&self.folder)).and_then(|()| fs::hard_link(source, path))
            }
            _ => Err(ErrorKind::InvalidInput.into()),
        };
        self.created(linked, path).map(drop)
    }

    /// Returns a created file, or `None` if its name cannot be one, such as that of a folder that exists.
    fn created<T>(&mut self, created: io::Result<T>, path: &Path) -> Result<Option<T>, Failure> {
        match created {
            Ok(file) => Ok(Some(file)),
            Err(error) => match error.kind() {
                ErrorKind::AlreadyExists
                | ErrorKind::NotFound
                | ErrorKind::NotADirectory
                | ErrorKind::IsADirectory
                | ErrorKind::InvalidFilename
                | ErrorKind::InvalidInput => {
                    let name = path.strip_prefix(&self.folder).unwrap_or(path).display().to_string();
                    self.skip(name);
                    Ok(None)
                }
                _ => Err(unwritable(path, &error)),
            },
        }
    }

    /// Notes a member that is not read.
    fn skip(&mut self, mut name: String) {
        let (max_count, max_len) = MAX_SKIPPED;
        if self.skipped.len() < max_count {
            name.truncate(name.floor_char_boundary(max_len));
            self.skipped.push(name);
        } else {
            self.more_skipped += 1;
        }
    }

    /// Notes why the rest of the members is missing.
    fn lose(&mut self, error: &io::Error, written: u64) -> Result<(), Failure> {
        // The crate has no kind for a header or a padding that is cut.
        let is_cut =
            error.kind() == ErrorKind::UnexpectedEof || CUT.iter().any(|text| error.to_string().contains(text));
        self.loss = Some(if is_cut { Loss::Truncated(written) } else { Loss::Damaged(error.to_string()) });
        Ok(())
    }

    /// Ends the run, or only the archive if it was found in a folder.
    fn too_large(&mut self, reason: &str) -> Result<(), Failure> {
        if !self.is_named {
            self.loss = Some(Loss::Damaged(reason.to_owned()));
            return Ok(());
        }
        let message = format!("{}: {reason}: unpack the archive, and name its folder", self.path.display());
        Err(Failure::new(Exit::Usage, message))
    }

    /// Returns the path to which a member is written, if it is.
    fn target(&mut self, name: &[u8], kind: EntryType) -> Option<Target> {
        let name = String::from_utf8_lossy(name).into_owned();
        let mut path = self.folder.clone();
        let mut parts = Vec::new();
        for component in Path::new(&name).components() {
            match component {
                Component::Normal(part) => parts.push(part.to_owned()),
                // Paths from the root begin in the archive, as for `tar`.
                Component::CurDir | Component::RootDir => {}
                Component::ParentDir | Component::Prefix(_) => {
                    self.skip(name);
                    return None;
                }
            }
        }
        if parts.len() > MAX_DEPTH {
            self.skip(name);
            return None;
        }
        path.extend(&parts);
        match kind {
            EntryType::Directory => Some(Target::Folder(path)),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse | EntryType::Link => {
                let mut last = parts.iter().rev().map(|part| part.as_encoded_bytes());
                let is_number = last.next().is_some_and(|name| name.len() >= 6 && name.iter().all(u8::is_ascii_digit));
                let in_chunks = is_number && last.next() == Some(CHUNKS.as_bytes());
                // The files are most of a data folder, and are not read. Their folder tells that this is a block.
                Some(if in_chunks { Target::Folder(path.parent()?.to_owned()) } else { Target::File(path) })
            }
            EntryType::XGlobalHeader | EntryType::XHeader => None,
            _ => {
                self.skip(name);
                None
            }
        }
    }
}

/// Place of a member.
enum Target {
    Folder(PathBuf),
    File(PathBuf),
}

fn write_part(out: &mut Option<File>, part: &[u8], target: &Option<Target>) -> Result<(), Failure> {
    match (out, target) {
        (Some(file), Some(Target::File(path))) => file.write_all(part).map_err(|error| unwritable(path, &error)),
        _ => Ok(()),
    }
}

fn create_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Io, format!("{}: cannot unpack to TMPDIR: {error}", path.display()))
}

/// Opens a file, and decompresses it.
fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    decompress(File::open(path)?)
}

/// Returns true if these bytes are the header of a member: it has the mark or, as in old archives, only a right
/// checksum.
fn is_header(head: &[u8; HEADER_LEN]) -> bool {
    let has_mark = head.get(MARK.0..).is_some_and(|rest| rest.starts_with(MARK.1));
    let header = tar::Header::from_byte_slice(head);
    // The field of the checksum counts as spaces.
    let sum: u32 =
        head.iter().enumerate().map(|(at, &byte)| if (148..156).contains(&at) { 32 } else { byte.into() }).sum();
    has_mark || header.cksum().is_ok_and(|checksum| checksum == sum)
}

/// Reader of a limited number of bytes, which counts the zeros at the end of what was read.
struct Bounded<R> {
    reader: R,
    budget: Rc<Cell<u64>>,
    zeros: Rc<Cell<u64>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(out)?;
        let read = out.get(..count).unwrap_or_default();
        let zeros = read.iter().rev().take_while(|&&byte| byte == 0).count();
        // Any number of empty blocks may follow the members.
        let is_empty_block = zeros == count && out.len() <= HEADER_LEN;
        let left = self.budget.get().checked_sub(if is_empty_block { 0 } else { count as u64 });
        self.budget.set(left.ok_or_else(|| io::Error::other("the headers of a member are too long"))?);
        let before = if zeros == count { self.zeros.get() } else { 0 };
        self.zeros.set(before + zeros as u64);
        Ok(count)
    }
}
