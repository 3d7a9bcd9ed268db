//! Arguments to inputs: files, folders, patterns, standard input.

use crate::summary::shown;
use chronoxide_cli::{Exit, Failure, tell};
use chronoxide_ingest::prometheus::tsdb::is_block;
use glob::MatchOptions;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The inputs that arguments name, in the order of the arguments, those of a folder or a pattern in the order of their
/// names.
///
/// # Errors
///
/// A folder cannot be listed, a pattern is wrong, or one matches nothing.
pub(crate) fn expand(arguments: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut inputs = Vec::new();
    for argument in arguments {
        let pattern = argument.to_str().filter(|text| text.contains(['*', '?', '[']));
        match pattern {
            // A shell leaves a pattern that matches nothing as it is, and Windows all of them.
            Some(pattern) if !argument.exists() => matches(pattern, &mut inputs)?,
            _ => list(argument, &mut inputs)?,
        }
    }
    Ok(inputs)
}

fn matches(pattern: &str, inputs: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let before = inputs.len();
    // As shells have it.
    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::default() };
    let paths =
        glob::glob_with(pattern, options).map_err(|error| Failure::new(Exit::Usage, format!("{pattern}: {error}")))?;
    for path in paths {
        list(&path.map_err(|error| Failure::new(Exit::Io, error))?, inputs)?;
    }
    if inputs.len() == before {
        return Err(Failure::new(Exit::Io, format!("{pattern}: nothing matches")));
    }
    Ok(())
}

/// Adds a file, a block of Prometheus's TSDB, or what is in another folder. Hidden files and blocks in it are left alone: the folder may be where the output
/// goes.
fn list(path: &Path, inputs: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if !path.is_dir() || is_block(path) {
        if path != Path::new("-") {
            // Better now than after hours of reading what comes before it.
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
        inputs.push(path.to_owned());
        return Ok(());
    }
    let unreadable = |error| Failure::new(Exit::Io, format!("{}: cannot list: {error}", path.display()));
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?.path();
        let is_hidden = entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let is_block = entry.extension().is_some_and(|extension| extension == "cx");
        if !is_hidden && !is_block {
            entries.push(entry);
        }
    }
    if entries.is_empty() {
        let name = path.display().to_string();
        tell(|out| writeln!(out, "chronoxide-ingest: warning: {}: no captures in this folder", shown(&name)));
    }
    entries.sort();
    entries.iter().try_for_each(|entry| list(entry, inputs))
}
