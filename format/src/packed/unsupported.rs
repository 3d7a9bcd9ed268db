//! Errors instead of decoding and encoding, without the feature `archive`.

use crate::write::BuildError;
use crate::{ErrorKind, Result};

/// Returns an error: a frame is decoded with zstd only.
pub(super) fn decode(_frame: &[u8], _len: u64, _content: &mut Vec<u8>) -> Result<()> {
    Err(ErrorKind::UnsupportedArchive.into())
}

/// Returns an error: content is packed with zstd only.
pub(crate) const fn encode(_content: &[u8]) -> Result<Option<Vec<u8>>, BuildError> {
    Err(BuildError::UnsupportedArchive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_unsupported_and_the_error_names_the_feature() {
        let error = decode(&[], 0, &mut Vec::new()).unwrap_err();
        assert!(error.is_unsupported());
        assert_eq!(
            error.to_string(),
            "unsupported block: an archive, which chronoxide-format reads only with its feature `archive`"
        );
        assert_eq!(encode(b"api"), Err(BuildError::UnsupportedArchive));
    }
}
