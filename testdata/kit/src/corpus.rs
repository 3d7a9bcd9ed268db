//! Corpora of the fuzz targets: one archive (`testdata/corpus/TARGET.tar.zst`) per target.
//!
//! `testdata/corpus.sh` unpacks them for a fuzzer, and packs them again.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// An input of a fuzz target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusInput {
    /// Name in the archive.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Returns the folder of the archives.
#[must_use]
pub fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")
}

/// Reads the corpus of a target, in the order of its archive.
///
/// # Errors
/// The archive cannot be read.
pub fn read_corpus(target: &str) -> io::Result<Vec<CorpusInput>> {
    let archive = File::open(corpus_folder().join(format!("{target}.tar.zst")))?;
    let mut archive = tar::Archive::new(zstd::Decoder::new(archive)?);
    let mut inputs = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        inputs.push(CorpusInput { name, bytes });
    }
    Ok(inputs)
}
