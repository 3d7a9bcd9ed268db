//! Blocks as commands see them: how damage ends a command, how rows are laid out, how a block is published.

use std::io::{self, Read};
use std::path::Path;

use chronoxide_format::view::BlockView;
use chronoxide_publish::{Candidate, Disk, Existing, PublishError, Published};
use chronoxide_reader::OpenError;
use chronoxide_reader::RemapError;

use crate::exit::{Exit, HasExit};
use crate::failure::Failure;

impl HasExit for chronoxide_format::Error {
    fn exit(&self) -> Exit {
        use chronoxide_format::Error::{UnsupportedFeatures, UnsupportedSection, UnsupportedVersion};
        match self {
            UnsupportedVersion { .. } | UnsupportedFeatures { .. } | UnsupportedSection { .. } => Exit::Unsupported,
            _ => Exit::Corrupt,
        }
    }
}

impl HasExit for RemapError {
    fn exit(&self) -> Exit {
        match self {
            RemapError::UnsupportedVersion { .. } => Exit::Unsupported,
            _ => Exit::Corrupt,
        }
    }
}

impl HasExit for OpenError {
    fn exit(&self) -> Exit {
        match self {
            OpenError::Block { source, .. } => source.exit(),
            OpenError::Remap { source, .. } => source.exit(),
            _ => Exit::Io,
        }
    }
}

/// The layout of a block, as an argument: `--layout factored|bitpacked|fixed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Layout {
    /// What many series share is stored once: the smallest
    Factored,
    /// A row per series, in fields of exactly the bits that they need
    Bitpacked,
    /// A row per series, in fields of 0, 8, 16 or 32 bits
    Fixed,
}

impl From<Layout> for chronoxide_planner::Layout {
    fn from(layout: Layout) -> Self {
        match layout {
            Layout::Factored => Self::Factored,
            Layout::Bitpacked => Self::BitPacked,
            Layout::Fixed => Self::FixedWidth,
        }
    }
}

/// Why a block that was written is not published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unsound {
    /// It could not be read again.
    #[error("cannot read it again")]
    Io(#[from] io::Error),
    /// The disk gave back other bytes than it was given.
    #[error("other bytes were read than written")]
    OtherBytes,
    /// It breaks a rule of the format: an error of this program.
    #[error(transparent)]
    Block(#[from] chronoxide_format::Error),
}

impl HasExit for Unsound {
    /// Nothing is wrong with any input.
    fn exit(&self) -> Exit {
        Exit::Io
    }
}

/// Whether the path of an output means a folder: one that ends as folders do, or that is there.
pub fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&last| std::path::is_separator(last.into()))
        || path.is_dir()
}

/// What becomes of a file that has the output's name. Refuses before the work what publishing would refuse after it.
///
/// # Errors
/// Standard output, and without `force` a file that exists.
pub fn existing(output: &Path, force: bool) -> Result<Existing, Failure> {
    if output == Path::new("-") {
        return Err(Failure::new(Exit::Usage, "an output is a file, and cannot go to standard output"));
    }
    if force {
        return Ok(Existing::Replace);
    }
    if output.symlink_metadata().is_ok() {
        return Err(PublishError::<Unsound>::Exists { path: output.to_owned() }.into());
    }
    Ok(Existing::Refuse)
}

/// Publishes a block, whole or not at all, after it was read again and every rule of the format was checked.
///
/// # Errors
/// A target that exists and is to be left alone, a disk that is full or fails, and bytes that are no sound block.
pub fn publish_block(target: &Path, existing: Existing, block: &[u8]) -> Result<Published, PublishError<Unsound>> {
    chronoxide_publish::publish(&Disk, target, existing, |out| out.write_all(block), |written| verify(written, block))
}

/// Publishes a text, whole or not at all.
///
/// # Errors
/// A target that exists and is to be left alone, and a disk that is full or fails.
pub fn publish_text(target: &Path, existing: Existing, text: &[u8]) -> Result<Published, PublishError<Unsound>> {
    let same = |written: &Candidate<'_>| if read_again(written)? == text { Ok(()) } else { Err(Unsound::OtherBytes) };
    chronoxide_publish::publish(&Disk, target, existing, |out| out.write_all(text), same)
}

fn read_again(written: &Candidate<'_>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    written.file().read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn verify(written: &Candidate<'_>, block: &[u8]) -> Result<(), Unsound> {
    let bytes = read_again(written)?;
    if bytes != block {
        return Err(Unsound::OtherBytes);
    }
    BlockView::open(&bytes)?.verify()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use chronoxide_format::write::{BlockBuilder, BlockMeta};

    use super::*;

    #[test]
    fn only_a_sound_block_is_published() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.cx");
        let mut block =
            BlockBuilder::new(chronoxide_planner::Layout::BitPacked.row_form()).finish(&BlockMeta::default()).unwrap();

        let last = block.len() - 1;
        block[last] ^= 1;
        let error = publish_block(&target, Existing::Refuse, &block).expect_err("a flipped bit");
        assert!(matches!(error, PublishError::Unverified { source: Unsound::Block(_), .. }), "{error:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");

        block[last] ^= 1;
        publish_block(&target, Existing::Refuse, &block).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), block);
    }

    #[test]
    fn a_newer_block_is_unsupported_and_a_broken_one_corrupt() {
        let newer = chronoxide_format::Error::UnsupportedVersion { major: 1, minor: 0 };
        assert_eq!(newer.exit(), Exit::Unsupported);
        assert_eq!(chronoxide_format::Error::NotABlock.exit(), Exit::Corrupt);
    }
}
