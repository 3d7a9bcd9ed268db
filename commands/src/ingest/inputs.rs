//! Inputs that the arguments name: files, folders, patterns, standard input.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chronoxide_ingest::prometheus::tsdb::is_block;
use chronoxide_ingest::prometheus::wal::{CHUNKS_FOLDER, OUT_OF_ORDER_FOLDER, WAL_FOLDER, is_wal};
use chronoxide_publish::names_in;
use glob::MatchOptions;

use crate::ingest::path_labels;
use crate::ingest::summary::shown;
use crate::{Exit, Failure, tell, url};

/// Input of the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    /// Path of a file, or of a block or a write-ahead log of Prometheus's TSDB, or `-`.
    pub(crate) path: PathBuf,
    /// Folder argument in which the input was found. The format of such an input may be unrecognized.
    pub(crate) folder: Option<PathBuf>,
    /// Texts that the wildcards of the argument stand for, if it is a pattern.
    pub(crate) wildcards: Vec<String>,
}

/// Entries of a data folder of Prometheus that are not inputs by themselves.
const DATA_FOLDER_NAMES: [&str; 3] = ["lock", "queries.active", WAL_FOLDER];

/// Returns the inputs that the arguments name, in order of arguments. Inputs of a folder or a pattern are sorted by
/// name.
///
/// # Errors
///
/// A folder cannot be listed, a pattern is invalid or matches no file, or an argument is a URL.
pub(crate) fn expand(arguments: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    for argument in arguments {
        if url(argument).is_some() {
            let reason = "captures are files of this machine; download it, or pipe it to `chronoxide-ingest -`";
            return Err(Failure::new(Exit::Usage, format!("{}: {reason}", argument.display())));
        }
        let pattern = argument.to_str().filter(|text| text.contains(['*', '?', '[']));
        match pattern {
            // Shells pass patterns without matches unchanged, and Windows passes all patterns unchanged.
            Some(pattern) if !argument.exists() => matches(pattern, &mut inputs)?,
            _ => list(argument, None, &mut inputs)?,
        }
    }
    Ok(inputs)
}

fn matches(pattern: &str, inputs: &mut Vec<Input>) -> Result<(), Failure> {
    let before = inputs.len();
    // The behaviour of shells.
    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::default() };
    let paths =
        glob::glob_with(pattern, options).map_err(|error| Failure::new(Exit::Usage, format!("{pattern}: {error}")))?;
    for path in paths {
        let path = path.map_err(|error| Failure::new(Exit::Io, error))?;
        let first = inputs.len();
        list(&path, None, inputs)?;
        let wildcards = path_labels::wildcards(pattern, &path);
        inputs.iter_mut().skip(first).for_each(|input| input.wildcards.clone_from(&wildcards));
    }
    if inputs.len() == before {
        return Err(Failure::new(Exit::Io, format!("{pattern}: no file matches")));
    }
    Ok(())
}

/// Adds a file, a block or a write-ahead log of Prometheus's TSDB, or the contents of another folder. Hidden files and
/// blocks in it are skipped: the folder may be the output folder. `folder` is the argument in which the path was found.
fn list(path: &Path, folder: Option<&Path>, inputs: &mut Vec<Input>) -> Result<(), Failure> {
    if !path.is_dir() || is_block(path) || is_wal(path) {
        if path != Path::new("-") {
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
        if folder.is_some() && !path.is_dir() && !path.is_file() {
            let name = path.display().to_string();
            tell(|out| writeln!(out, "chronoxide-ingest: warning: {}: skipped: not a file", shown(&name)));
            return Ok(());
        }
        inputs.push(Input { path: path.to_owned(), folder: folder.map(Path::to_owned), wildcards: Vec::new() });
        return Ok(());
    }
    let folder = folder.unwrap_or(path);
    let unreadable = |error| Failure::new(Exit::Io, format!("{}: cannot list: {error}", path.display()));
    let (mut entries, mut has_blocks) = (Vec::new(), false);
    for name in names_in(path).map_err(unreadable)? {
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
        if has_blocks {
            let message =
                format!("{name}: no captures in this folder, only blocks (use chronoxide-compact to merge blocks)");
            return Err(Failure::new(Exit::Unsupported, message));
        }
        tell(|out| writeln!(out, "chronoxide-ingest: warning: {}: no captures in this folder", shown(&name)));
    }
    entries.sort();
    let wal = path.join(WAL_FOLDER);
    let has_wal = is_wal(&wal);
    if !has_wal && !entries.iter().any(|entry| is_block(entry)) {
        return entries.iter().try_for_each(|entry| list(entry, Some(folder), inputs));
    }
    for entry in &entries {
        let is_read_with_wal = has_wal && (entry.ends_with(CHUNKS_FOLDER) || entry.ends_with(OUT_OF_ORDER_FOLDER));
        if !is_read_with_wal && !is_of_data_folder(entry) {
            list(entry, Some(folder), inputs)?;
        }
    }
    // The newest data comes last.
    if has_wal { list(&wal, Some(folder), inputs) } else { Ok(()) }
}

/// Returns true if an entry of a data folder of Prometheus is not an input by itself: locks, query logs, folders that
/// were being written or deleted, snapshots of the head, and the write-ahead log, which is read last.
fn is_of_data_folder(entry: &Path) -> bool {
    let name = entry.file_name().and_then(OsStr::to_str).unwrap_or_default();
    DATA_FOLDER_NAMES.contains(&name) || name.contains(".tmp") || name.starts_with("chunk_snapshot.")
}
