//! Captures that real software wrote: those of the repository, those beside it, and their text.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::requirement::{say, skip_or_fail};

/// Returns the path of a capture that is not part of the repository, or `None` if the test must be skipped.
///
/// It is below the folder that `CHRONOXIDE_DATA` names, or else below `../shared/data` beside the repository. A clone
/// without either passes with a message, even if everything is required: acceptance runs on `testdata/captures` there.
///
/// # Panics
///
/// The capture is missing, its folder is expected (`CHRONOXIDE_DATA` is set, or `../shared` exists), and everything is
/// required ([`skip_or_fail`]).
pub fn real(name: &str) -> Option<PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let named = std::env::var_os("CHRONOXIDE_DATA").map(PathBuf::from);
    let is_expected = named.is_some() || shared.exists();
    let path = named.unwrap_or_else(|| shared.join("data")).join(name);
    if path.exists() {
        return Some(path);
    }
    if is_expected {
        skip_or_fail(name, format_args!("{} does not exist", path.display()));
    } else {
        say(&format!("skipped: {name}: no ../shared/data beside the repository, and CHRONOXIDE_DATA is not set"));
    }
    None
}

/// Returns the path of a capture of the repository.
#[must_use]
pub fn committed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures").join(name)
}

/// The text of a capture, plain or, if its name ends in `.zst`, compressed.
///
/// # Panics
///
/// It cannot be read.
#[must_use]
pub fn text(path: &Path) -> String {
    let mut file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    let read = match path.extension().is_some_and(|extension| extension == "zst") {
        true => zstd::Decoder::new(file).and_then(|mut decoder| decoder.read_to_string(&mut text)),
        false => file.read_to_string(&mut text),
    };
    read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}
