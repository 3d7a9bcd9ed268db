//! From content to a packed section.

use std::io;

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::U64;
use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, Strategy};

use super::section::PackedSection;
use crate::layout::PackedHeader;
use crate::number::length;
use crate::write::BuildError;

/// Level of compression, which decides what [`parameters`] do not.
const LEVEL: i32 = 17;

/// Returns the parameters of the encoder: the optimal parser of level 17, with small tables. The neighbours of a symbol
/// in the arena are the most like it, so that a wide and deep search gains little. An arena of 32 MB with random ids
/// takes 3.7 s of a processor and 8.3 MB (`zstd -17 --zstd=wlog=20,hlog=17,clog=17,slog=2`). It takes 33 s and 7.9 MB
/// with level 17 alone, and 3.1 s and 12.2 MB with level 9, which has no optimal parser.
const fn parameters() -> [CParameter; 8] {
    [
        CParameter::WindowLog(20),
        CParameter::HashLog(17),
        CParameter::ChainLog(17),
        CParameter::SearchLog(2),
        CParameter::Strategy(Strategy::ZSTD_btopt),
        CParameter::ChecksumFlag(false),
        CParameter::ContentSizeFlag(true),
        CParameter::DictIdFlag(false),
    ]
}

/// Returns the packed section, or `None` if its frame would be too short for content of this length.
pub(crate) fn encode(content: &[u8]) -> Result<Option<Vec<u8>>, BuildError> {
    let frame = compress(content).map_err(|_| BuildError::Pack)?;
    let header = PackedHeader { content_len: U64::new(length(content.len())) };
    let section = [header.as_bytes(), &frame].concat();
    // The only rule that an encoder cannot keep: very many bytes in few.
    Ok(PackedSection::parse(&section).is_ok().then_some(section))
}

fn compress(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressor = Compressor::new(LEVEL)?;
    for parameter in parameters() {
        compressor.set_parameter(parameter)?;
    }
    compressor.compress(content)
}
