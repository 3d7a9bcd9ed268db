//! Errors instead of decoding and encoding, without the feature `archive`.

use crate::write::BuildError;
use crate::{Error, Result};

/// Returns an error: a frame is decoded with zstd only.
pub(super) const fn decode(_frame: &[u8], _len: u64, _arena: &mut Vec<u8>) -> Result<()> {
    Err(Error::UnsupportedArchive)
}

/// Returns an error: an arena is packed with zstd only.
pub(crate) const fn encode(_arena: &[u8]) -> Result<Option<Vec<u8>>, BuildError> {
    Err(BuildError::UnsupportedArchive)
}

/// These tests are run by `cargo test -p chronoxide-format`: `--workspace` enables the feature.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rule;
    use crate::layout::RowForm;
    use crate::view::BlockView;
    use crate::write::{BlockBuilder, BlockMeta};

    fn golden() -> Vec<u8> {
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/archive-small.cx")).unwrap()
    }

    #[test]
    fn the_strings_of_an_archive_are_unsupported() {
        let bytes = golden();
        let view = BlockView::open(&bytes).unwrap();
        assert!(view.is_packed() && view.packed_arena().unwrap().unwrap().arena_len() > 0);
        let mut arena = b"before".to_vec();
        let error = BlockView::open_unpacked(&bytes, &mut arena).map(|view| view.block_id()).unwrap_err();
        assert_eq!(error, Error::UnsupportedArchive);
        assert!(error.is_unsupported());
        assert_eq!(
            error.to_string(),
            "unsupported block: an archive, which chronoxide-format reads only with its feature `archive`"
        );
        assert_eq!(arena, b"");
    }

    #[test]
    fn a_damaged_frame_is_corrupt() {
        let mut bytes = golden();
        let frame = bytes.windows(4).position(|window| window == [0x28, 0xB5, 0x2F, 0xFD]).unwrap();
        bytes[frame] ^= 1;
        let error = BlockView::open_unpacked(&bytes, &mut Vec::new()).map(|view| view.block_id()).unwrap_err();
        assert_eq!((error.is_unsupported(), error.rule()), (false, Rule::PackedFrame));
    }

    #[test]
    fn an_archive_is_not_written() {
        for (archive, expected) in [(false, None), (true, Some(BuildError::UnsupportedArchive))] {
            let built = BlockBuilder::new(RowForm::BitPacked).finish(&BlockMeta { archive, ..BlockMeta::default() });
            assert_eq!(built.err(), expected);
        }
    }
}
