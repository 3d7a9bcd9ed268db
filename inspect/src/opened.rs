//! Files of either kind, told apart by their first bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use chronoxide_format::remap::layout::REMAP_MAGIC;
use chronoxide_reader::{Block, Checks, OpenError, Remap};

/// A block or a remap.
pub(crate) enum Opened {
    /// A block.
    Block(Block),
    /// A remap.
    Remap(Remap),
}

impl Opened {
    /// Opens a file or, as `-`, standard input. What begins like neither is taken for a block, which it is then said not to be.
    pub(crate) fn read(path: &Path, checks: Checks) -> Result<Self, OpenError> {
        if path == Path::new("-") {
            let bytes = standard_input(path)?;
            return if bytes.starts_with(&REMAP_MAGIC) {
                let remap = Remap::from_vec(bytes, checks);
                Ok(Self::Remap(remap.map_err(|source| OpenError::Remap { path: path.to_owned(), source })?))
            } else {
                let block = Block::from_vec(bytes, checks);
                Ok(Self::Block(block.map_err(|source| OpenError::Block { path: path.to_owned(), source })?))
            };
        }
        let mut magic = [0; REMAP_MAGIC.len()];
        // A file that cannot be read is opened once more, which says why.
        let begun = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
        if begun.is_ok() && magic == REMAP_MAGIC {
            return Remap::read(path, checks).map(Self::Remap);
        }
        Block::read(path, checks).map(Self::Block)
    }

    /// Checks every rule of its format, and says how many series it has.
    pub(crate) fn verify(&self, path: &Path) -> Result<u64, OpenError> {
        match self {
            Self::Block(block) => {
                let content = block.verify().map_err(|source| OpenError::Block { path: path.to_owned(), source })?;
                Ok(content.series_count)
            }
            Self::Remap(remap) => {
                let series = remap.verify().and_then(|()| remap.view().series_count());
                series.map_err(|source| OpenError::Remap { path: path.to_owned(), source })
            }
        }
    }
}

/// The bytes of standard input.
pub(crate) fn standard_input(path: &Path) -> Result<Vec<u8>, OpenError> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
    Ok(bytes)
}
