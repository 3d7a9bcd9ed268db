//! Publishes blocks and reports: each is read again and compared before it gets its name.

use std::io::{self, Read};
use std::path::Path;

use chronoxide_cli::{Exit, HasExit};
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Candidate, Disk, Existing, PublishError, Published, publish};

/// Error of a written file that does not pass verification.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifyError {
    #[error("cannot read the file back")]
    Io(#[from] io::Error),
    /// The disk returned other bytes than were written.
    #[error("written bytes differ when read back")]
    Differs,
    /// The block breaks a rule of the format: an error of this program.
    #[error(transparent)]
    Block(#[from] chronoxide_format::Error),
}

impl HasExit for VerifyError {
    /// No input is at fault.
    fn exit(&self) -> Exit {
        Exit::Io
    }
}

/// Publishes a block, whole or not at all, after it was read back and all rules of the format were checked.
pub(crate) fn publish_block(
    target: &Path,
    existing: Existing,
    block: &[u8],
) -> Result<Published, PublishError<VerifyError>> {
    publish(
        &Disk,
        target,
        existing,
        |out| out.write_all(block),
        |written| {
            let bytes = read_back(written, block)?;
            BlockView::open(&bytes)?.verify()?;
            Ok(())
        },
    )
}

/// Publishes a text, whole or not at all, after it was read back.
pub(crate) fn publish_text(
    target: &Path,
    existing: Existing,
    text: &[u8],
) -> Result<Published, PublishError<VerifyError>> {
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
