//! A sealed store to a verified file.

use chronoxide_cli::{Exit, Failure, HasExit};
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Candidate, Disk, Existing, PublishError};
use std::io::{self, Read};
use std::path::Path;

/// Why the file that was written is not published.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifyError {
    /// It cannot be read again.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Other bytes come back than were written.
    #[error("other bytes were read than were written")]
    Differs,
    /// It is no valid block. The store or the builder has a bug then.
    #[error(transparent)]
    Block(#[from] chronoxide_format::Error),
}

impl HasExit for VerifyError {
    fn exit(&self) -> Exit {
        match self {
            Self::Io(_) => Exit::Io,
            Self::Differs | Self::Block(_) => Exit::Corrupt,
        }
    }
}

/// What becomes of a file that has the output's name. Refuses early what publishing would refuse after all the work.
pub(crate) fn check(output: &Path, force: bool) -> Result<Existing, Failure> {
    if output == Path::new("-") {
        return Err(Failure::new(Exit::Usage, "a block is a file, and cannot go to standard output"));
    }
    if force {
        return Ok(Existing::Replace);
    }
    if output.symlink_metadata().is_ok() {
        return Err(PublishError::<VerifyError>::Exists { path: output.to_owned() }.into());
    }
    Ok(Existing::Refuse)
}

/// Publishes a block; its bytes.
pub(crate) fn publish(output: &Path, existing: Existing, block: &[u8]) -> Result<u64, Failure> {
    let published = chronoxide_publish::publish(
        &Disk,
        output,
        existing,
        |file| file.write_all(block),
        |candidate| verify(candidate, block),
    )?;
    Ok(published.byte_len)
}

/// Reads the file again, and proves every rule of the format on what comes back.
fn verify(candidate: &Candidate<'_>, block: &[u8]) -> Result<(), VerifyError> {
    let mut bytes = Vec::with_capacity(block.len());
    candidate.file().read_to_end(&mut bytes)?;
    if bytes != block {
        return Err(VerifyError::Differs);
    }
    BlockView::open(&bytes)?.verify()?;
    Ok(())
}
