//! Publishes blocks and reports: each is read again and compared before it gets its name.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chronoxide_format::identity::BlockId;
use chronoxide_format::view::BlockView;
use chronoxide_publish::{
    Candidate, Disk, Existing, MakeFolderError, PublishError, Published, make_folder, publish, recover,
};

/// Error of a written file that does not pass verification.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The file cannot be read.
    #[error("cannot read the file back")]
    Io(#[from] io::Error),
    /// The disk returned other bytes than were written.
    #[error("written bytes differ when read back")]
    Differs,
    /// The block breaks a rule of the format: an error of this program.
    #[error(transparent)]
    Block(#[from] chronoxide_format::Error),
}

/// Place of the blocks of a run: one file, or a folder.
#[derive(Clone, Debug)]
pub struct Destination {
    path: PathBuf,
    is_folder: bool,
    existing: Existing,
}

impl Destination {
    /// Blocks go to this file. There can be only one.
    #[must_use]
    pub fn file(path: &Path, existing: Existing) -> Self {
        remove_leftovers(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")));
        Self { path: path.to_owned(), is_folder: false, existing }
    }

    /// Blocks go to this folder, which is created, each under its id. The folder is not locked: files are only added,
    /// which does not disturb a compaction of the folder.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn folder(path: &Path, existing: Existing) -> Result<Self, MakeFolderError> {
        make_folder(&Disk, path)?;
        remove_leftovers(path);
        Ok(Self { path: path.to_owned(), is_folder: true, existing })
    }

    /// Returns true for a folder.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.is_folder
    }

    /// Publishes a block, and returns its path. A file of the folder with the same bytes is kept.
    ///
    /// # Errors
    /// As [`publish_block`].
    pub fn publish(&self, id: BlockId, block: &[u8]) -> Result<PathBuf, PublishError<VerifyError>> {
        let path = if self.is_folder { self.path.join(format!("{id}.cx")) } else { self.path.clone() };
        let is_published = self.is_folder && fs::read(&path).is_ok_and(|found| found == block);
        if !is_published {
            publish_block(&path, self.existing, block)?;
        }
        Ok(path)
    }
}

/// Removes temporary files of killed runs. Files that cannot be removed only take space.
fn remove_leftovers(folder: &Path) {
    let _ = recover(&Disk, folder);
}

/// Publishes a block, whole or not at all, after it was read back and all rules of the format were checked.
///
/// # Errors
/// The file cannot be written or read back, exists, or is not a sound block.
pub fn publish_block(target: &Path, existing: Existing, block: &[u8]) -> Result<Published, PublishError<VerifyError>> {
    publish(
        &Disk,
        target,
        existing,
        |out| out.write_all(block),
        |written| {
            let bytes = read_back(written, block)?;
            BlockView::open_unpacked(&bytes, &mut Vec::new())?.verify()?;
            Ok(())
        },
    )
}

/// Publishes a text, whole or not at all, after it was read back.
///
/// # Errors
/// The file cannot be written or read back, or exists.
pub fn publish_text(target: &Path, existing: Existing, text: &[u8]) -> Result<Published, PublishError<VerifyError>> {
    publish(&Disk, target, existing, |out| out.write_all(text), |written| read_back(written, text).map(drop))
}

/// Returns the bytes of the file, which must be those that were written.
fn read_back(file: &Candidate<'_>, written: &[u8]) -> Result<Vec<u8>, VerifyError> {
    let mut bytes = Vec::new();
    file.file().read_to_end(&mut bytes)?;
    if bytes == written { Ok(bytes) } else { Err(VerifyError::Differs) }
}

#[cfg(test)]
mod tests {
    use chronoxide_format::write::{BlockBuilder, BlockMeta};
    use chronoxide_labels::Layout;

    use super::*;

    #[test]
    fn only_a_sound_block_is_published() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.cx");
        let mut block = BlockBuilder::new(Layout::BitPacked.row_form()).finish(&BlockMeta::default()).unwrap();

        let last = block.len() - 1;
        block[last] ^= 1;
        let error = publish_block(&target, Existing::Refuse, &block).expect_err("a flipped bit");
        assert!(matches!(error, PublishError::Unverified { source: VerifyError::Block(_), .. }), "{error:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no file is left");

        block[last] ^= 1;
        publish_block(&target, Existing::Refuse, &block).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), block);
    }
}
