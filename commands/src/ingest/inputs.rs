//! Inputs that the arguments name: files, folders, patterns, standard input.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chronoxide_ingest::prometheus::tsdb::{MARKERS_FOLDER, is_block};
use chronoxide_ingest::prometheus::wal::{CHUNKS_FOLDER, OUT_OF_ORDER_FOLDER, WAL_FOLDER, is_wal};
use chronoxide_publish::names_in;
use chronoxide_text::human::count_of;
use glob::MatchOptions;

use crate::ingest::archive::Archive;
use crate::ingest::bucket::{self, BucketBlock, BucketBlocks};
use crate::ingest::path_labels;
use crate::ingest::summary::shown;
use crate::{Exit, Failure, Interruption, Message, Quiet, tell, url};

/// Input of the command.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// Path of a file, or of a block or a write-ahead log of Prometheus's TSDB, or `-`; or URL of such a block.
    pub(crate) path: PathBuf,
    /// Folder argument in which the input was found. The format of such an input may be unrecognized.
    pub(crate) folder: Option<PathBuf>,
    /// Block of an object store, if the input is one.
    pub(crate) bucket_block: Option<BucketBlock>,
    /// Texts that the wildcards of the argument stand for, if it is a pattern.
    pub(crate) wildcards: Vec<String>,
}

/// Inputs of the command.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// Inputs in order.
    pub(crate) all: Vec<Input>,
    /// Archives whose members are among the inputs.
    pub(crate) archives: Vec<Archive>,
    /// Objects that are not inputs: where, and what.
    pub(crate) unread: Vec<(PathBuf, String)>,
    /// Links that lead nowhere, found by patterns.
    pub(crate) broken_links: Vec<(PathBuf, std::io::Error)>,
}

impl Inputs {
    fn add(&mut self, path: &Path, folder: Option<&Path>, bucket_block: Option<BucketBlock>) {
        let (path, folder) = (path.to_owned(), folder.map(Path::to_owned));
        self.all.push(Input { path, folder, bucket_block, wildcards: Vec::new() });
    }

    /// Returns the path of an input without the name of its archive.
    pub(crate) fn path_without_archive(&self, input: &Input) -> PathBuf {
        let member = self.archives.iter().find_map(|archive| {
            let member = input.path.strip_prefix(&archive.folder).ok()?;
            Some(archive.path.parent().unwrap_or(Path::new("")).join(member))
        });
        member.unwrap_or_else(|| input.path.clone())
    }

    /// Replaces paths of unpacked members in a text by the path of the archive and the name of the member.
    pub(crate) fn with_archive_names(&self, text: &str) -> String {
        self.archives.iter().fold(text.to_owned(), |text, archive| {
            let (folder, path) = (archive.folder.display().to_string(), archive.path.display());
            text.replace(&format!("{folder}/"), &format!("{path}: ")).replace(&folder, &path.to_string())
        })
    }

    /// Returns a failure with such a text.
    pub(crate) fn with_archive_names_in(&self, failure: Failure) -> Failure {
        if self.archives.is_empty() {
            return failure;
        }
        let text = Message(failure.error()).to_string();
        match self.with_archive_names(&text) {
            named if named == text => failure,
            named => Failure::new(failure.exit(), named),
        }
    }
}

/// Entries of a data folder of Prometheus, or of a tenant of Mimir, that are not inputs by themselves.
const DATA_FOLDER_NAMES: [&str; 4] = ["lock", "queries.active", WAL_FOLDER, MARKERS_FOLDER];

/// Returns the inputs that the arguments name, in order of arguments. Inputs of a folder, a pattern, an archive or a
/// location are sorted by name. Archives are unpacked.
///
/// # Errors
///
/// A folder cannot be listed, a pattern is invalid or matches no file, an archive cannot be unpacked, or there are no
/// blocks below a URL.
pub(crate) fn expand(arguments: &[PathBuf], interruption: &Interruption) -> Result<Inputs, Failure> {
    let mut inputs = Inputs::default();
    expand_into(arguments, interruption, &mut inputs).map_err(|failure| inputs.with_archive_names_in(failure))?;
    Ok(inputs)
}

impl Inputs {
    /// Keeps only blocks of Prometheus's TSDB. Files of folders that are none are unread, except write-ahead logs:
    /// their samples are still those of a running Prometheus.
    ///
    /// # Errors
    ///
    /// A named input is something else, or no block is left.
    pub(crate) fn keep_tsdb_blocks(&mut self, quiet: Quiet) -> Result<(), Failure> {
        let is_block = |input: &Input| input.bucket_block.is_some() || input.path.is_dir() && !is_wal(&input.path);
        let (blocks, others): (Vec<Input>, Vec<Input>) = std::mem::take(&mut self.all).into_iter().partition(is_block);
        self.all = blocks;
        if let Some(named) = others.iter().find(|input| input.folder.is_none()) {
            let message = format!("{}: --chunks reads blocks of Prometheus's TSDB only", named.path.display());
            return Err(Failure::new(Exit::Usage, message));
        }
        if let (true, Some(Input { folder: Some(folder), .. })) = (self.all.is_empty(), others.first()) {
            let message = format!("{}: no blocks of Prometheus's TSDB in this folder", folder.display());
            return Err(Failure::new(Exit::Unsupported, message));
        }
        for other in others {
            if is_wal(&other.path) {
                let name = self.with_archive_names(&other.path.display().to_string());
                if !quiet.is_set() {
                    tell(|out| {
                        writeln!(
                            out,
                            "chronoxide-ingest: note: {}: left out: the head of a TSDB has no chunk files",
                            shown(&name)
                        )
                    });
                }
            } else {
                self.unread.push((other.path, "not a block of Prometheus's TSDB".to_owned()));
            }
        }
        Ok(())
    }
}

fn expand_into(arguments: &[PathBuf], interruption: &Interruption, inputs: &mut Inputs) -> Result<(), Failure> {
    for argument in arguments {
        if let Some(url) = url(argument) {
            add_blocks_of(url, argument, inputs)?;
            continue;
        }
        let pattern = argument.to_str().filter(|text| text.contains(['*', '?', '[']));
        match pattern {
            // Shells pass patterns without matches unchanged, and Windows passes all patterns unchanged.
            Some(pattern) if !argument.exists() => matches(pattern, interruption, inputs)?,
            _ => list(argument, None, Some(interruption), inputs)?,
        }
    }
    Ok(())
}

/// Adds the blocks of Prometheus's TSDB below a URL.
fn add_blocks_of(url: &str, argument: &Path, inputs: &mut Inputs) -> Result<(), Failure> {
    let BucketBlocks { blocks, other_count } = bucket::find(url)?;
    for (name, block) in blocks {
        let is_argument = name.trim_end_matches('/') == url.trim_end_matches('/');
        inputs.add(Path::new(&name), (!is_argument).then_some(argument), Some(block));
    }
    if other_count > 0 {
        let found = format!("{} that no block of Prometheus's TSDB has", count_of(other_count as u64, "object"));
        inputs.unread.push((argument.to_owned(), found));
    }
    Ok(())
}

fn matches(pattern: &str, interruption: &Interruption, inputs: &mut Inputs) -> Result<(), Failure> {
    let before = inputs.all.len();
    // The behaviour of shells.
    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::default() };
    let paths =
        glob::glob_with(pattern, options).map_err(|error| Failure::new(Exit::Usage, format!("{pattern}: {error}")))?;
    for path in paths {
        let path = path.map_err(|error| Failure::new(Exit::Io, error))?;
        // Unlike an argument, it was not asked for by name.
        if path.is_symlink()
            && let Err(error) = fs::metadata(&path)
        {
            inputs.broken_links.push((path, error));
            continue;
        }
        let first = inputs.all.len();
        list(&path, None, Some(interruption), inputs)?;
        let wildcards = path_labels::wildcards(pattern, &path);
        inputs.all.iter_mut().skip(first).for_each(|input| input.wildcards.clone_from(&wildcards));
    }
    if inputs.all.len() == before {
        if let Some((path, error)) = inputs.broken_links.first() {
            return Err(Failure::new(Exit::Io, format!("{}: cannot open: {error}", path.display())));
        }
        return Err(Failure::new(Exit::Io, format!("{pattern}: no file matches")));
    }
    Ok(())
}

/// Adds a file, a block or a write-ahead log of Prometheus's TSDB, or the contents of another folder. Hidden files and
/// blocks in it are skipped: the folder may be the output folder. `folder` is the argument in which the path was found.
/// Members of archives are unpacked, unless `unpack` is `None`: within archives, which could contain themselves.
fn list(path: &Path, folder: Option<&Path>, unpack: Option<&Interruption>, inputs: &mut Inputs) -> Result<(), Failure> {
    let is_log = is_wal(path);
    if !path.is_dir() || is_block(path) || is_log {
        // In a folder, an error of one input does not end the run. A log that was deleted may have left head chunks.
        if path != Path::new("-") && folder.is_none() && !is_log {
            // Fail now instead of after hours of reading earlier inputs.
            fs::metadata(path).map_err(|error| {
                let name = path.display();
                let names_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
                let message = match error.kind() {
                    ErrorKind::NotFound if names_folder => format!("{name}: no such folder"),
                    _ => format!("{name}: cannot open: {error}"),
                };
                Failure::new(Exit::Io, message)
            })?;
        }
        // Opening a pipe waits for a writer. Only a pipe that is an argument is expected to have one.
        if folder.is_some() && path.exists() && !path.is_dir() && !path.is_file() {
            let name = path.display().to_string();
            tell(|out| writeln!(out, "chronoxide-ingest: warning: {}: skipped: not a file", shown(&name)));
            return Ok(());
        }
        if let Some(interruption) = unpack.filter(|_| path.is_file())
            && let Some(archive) = Archive::unpack(path, folder.is_none(), interruption)?
        {
            let members = archive.folder.clone();
            inputs.archives.push(archive);
            return list(&members, Some(folder.unwrap_or(path)), None, inputs);
        }
        inputs.add(path, folder, None);
        return Ok(());
    }
    // A link to a folder around itself has no end. The folder may be around another link on the way: f/g links to g,
    // and g/f to f.
    let leads_back = |target: PathBuf| {
        let mut around = path.ancestors().skip(1).map_while(|folder| match folder.as_os_str().is_empty() {
            true => Path::new(".").canonicalize().ok(),
            false => folder.canonicalize().ok(),
        });
        Some(around.any(|folder| folder.starts_with(&target)))
    };
    if folder.is_some() && path.is_symlink() && path.canonicalize().ok().and_then(leads_back) == Some(true) {
        let name = path.display().to_string();
        tell(|out| {
            writeln!(out, "chronoxide-ingest: warning: {}: skipped: a link to a folder around it", shown(&name))
        });
        return Ok(());
    }
    let names = match names_in(path) {
        Ok(names) => names,
        // The run counts it as an input that cannot be read.
        Err(_) if folder.is_some() => {
            inputs.add(path, folder, None);
            return Ok(());
        }
        Err(error) => return Err(Failure::new(Exit::Io, format!("{}: cannot list: {error}", path.display()))),
    };
    let (is_named, folder) = (folder.is_none(), folder.unwrap_or(path));
    let (mut entries, mut has_blocks) = (Vec::new(), false);
    for name in names {
        let entry = path.join(name);
        let is_hidden = entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let is_block = entry.extension().is_some_and(|extension| extension == "cx");
        if !is_hidden && !is_block {
            entries.push(entry);
        } else if is_block {
            has_blocks = true;
        }
    }
    if entries.is_empty() {
        let name = path.display().to_string();
        if has_blocks && is_named {
            let message =
                format!("{name}: no captures in this folder, only blocks (use chronoxide-compact to merge blocks)");
            return Err(Failure::new(Exit::Unsupported, message));
        }
        if !has_blocks {
            tell(|out| writeln!(out, "chronoxide-ingest: warning: {}: no captures in this folder", shown(&name)));
        }
    }
    entries.sort();
    let wal = path.join(WAL_FOLDER);
    let has_wal = is_wal(&wal);
    if !has_wal && !entries.iter().any(|entry| is_block(entry)) {
        return entries.iter().try_for_each(|entry| list(entry, Some(folder), unpack, inputs));
    }
    for entry in &entries {
        let is_read_with_wal = has_wal && (entry.ends_with(CHUNKS_FOLDER) || entry.ends_with(OUT_OF_ORDER_FOLDER));
        if !is_read_with_wal && !is_of_data_folder(entry) {
            list(entry, Some(folder), unpack, inputs)?;
        }
    }
    // The newest data comes last.
    if has_wal { list(&wal, Some(folder), unpack, inputs) } else { Ok(()) }
}

/// Returns true if an entry of a data folder of Prometheus is not an input by itself: locks, query logs, folders that
/// were being written or deleted, snapshots of the head, marks of blocks, which are read with them, and the write-ahead
/// log, which is read last.
fn is_of_data_folder(entry: &Path) -> bool {
    let name = entry.file_name().and_then(OsStr::to_str).unwrap_or_default();
    DATA_FOLDER_NAMES.contains(&name) || name.contains(".tmp") && entry.is_dir() || name.starts_with("chunk_snapshot.")
}
