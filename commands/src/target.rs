//! Paths and URLs of inputs and outputs.

use std::io;
use std::path::Path;

use chronoxide_locations::{BLOCK_SUFFIX, Location};
use chronoxide_publish::{Existing, PublishError};
use chronoxide_text::escape::TerminalSafe;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::tell;

/// Returns the path as a URL, or `None` if it is not one.
#[must_use]
pub fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| Location::is_url(text))
}

/// Returns the path as the URL of a location, or `None` if it is not a URL, or names a block.
#[must_use]
pub fn location_url(path: &Path) -> Option<&str> {
    url(path).filter(|url| !url.ends_with(BLOCK_SUFFIX))
}

/// Returns true if the path of an output is a folder: it ends with a separator, or a folder has this name.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&last| std::path::is_separator(last.into()))
        || path.is_dir()
}

/// Returns true if an output is a folder, or a location of an object store.
#[must_use]
pub fn is_folder_or_location(output: &Path) -> bool {
    if url(output).is_some() { location_url(output).is_some() } else { is_folder(output) }
}

/// Refuses a URL as an output that must be on this machine: it would become a folder `s3:`.
fn refuse_url(output: &Path) -> Result<(), Failure> {
    if url(output).is_some() {
        let reason = "only blocks can be written to a URL: name a path, and copy the file";
        return Err(Failure::new(Exit::Usage, format!("{}: {reason}", output.display())));
    }
    Ok(())
}

/// Extensions of files that the commands read or write.
const EXTENSIONS: [&str; 13] =
    ["arrow", "csv", "cx", "cxr", "feather", "htm", "html", "ipc", "json", "jsonl", "md", "ndjson", "parquet"];

/// Warns if the name of an output promises another content, such as `-o week.parquet` of a block.
pub fn warn_of_extension(program: &str, output: &Path, what: &str, expected: &[&str]) {
    let Some(extension) = output.extension().and_then(|extension| extension.to_str()).map(str::to_lowercase) else {
        return;
    };
    if expected.contains(&extension.as_str()) || !EXTENSIONS.contains(&extension.as_str()) {
        return;
    }
    let (path, usual) = (output.display().to_string(), expected.first().copied().unwrap_or_default());
    let path = TerminalSafe(&path);
    let hint = match (what, extension.as_str()) {
        (BLOCK, "arrow" | "csv" | "feather" | "ipc" | "json" | "jsonl" | "ndjson" | "parquet") => {
            "; `chronoxide-inspect export` makes tables of blocks"
        }
        (BLOCK, "htm" | "html") => "; `chronoxide-inspect report` makes pages of blocks",
        _ => "",
    };
    tell(|out| {
        writeln!(out, "{program}: warning: {path}: the file is {what}, whose name usually ends with .{usual}{hint}")
    });
}

/// Name of the outputs of `chronoxide-ingest` and `chronoxide-compact` in [`warn_of_extension`].
const BLOCK: &str = "a block";

/// Warns of an output that is a file with an extension that blocks do not have.
pub fn warn_of_block_extension(program: &str, output: &Path) {
    if !is_folder_or_location(output) {
        warn_of_extension(program, output, BLOCK, &["cx"]);
    }
}

/// Returns how to treat an existing file at `output`, and refuses early what publishing would refuse after the work.
///
/// # Errors
/// `output` is `-` or a URL, or it exists and `force` is false.
pub fn existing(output: &Path, force: bool) -> Result<Existing, Failure> {
    refuse_url(output)?;
    if output == Path::new("-") {
        return Err(Failure::new(Exit::Usage, "the output must be a file; standard output is not supported"));
    }
    if force {
        return Ok(Existing::Replace);
    }
    if output.symlink_metadata().is_ok() {
        return Err(PublishError::<io::Error>::Exists { path: output.to_owned() }.into());
    }
    Ok(Existing::Refuse)
}
