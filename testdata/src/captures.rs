//! Real captures, which are no part of the repository: where they are, and their text.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Where a real capture is: below the folder that `CHRONOXIDE_DATA` names, or else below `../shared/data` beside the repository. Where it is
/// absent, says so on standard output.
pub fn real(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = std::env::var_os("CHRONOXIDE_DATA").map_or_else(beside, PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not here (CHRONOXIDE_DATA says where real captures are)", path.display());
    None
}

/// The text of a capture, plain or, if its name ends in `.zst`, compressed.
///
/// # Panics
///
/// It cannot be read.
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
