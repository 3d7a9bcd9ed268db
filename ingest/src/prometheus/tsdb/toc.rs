//! Places of the sections of an index: [`Toc`].

use std::io::{Read, Seek};
use std::ops::Range;

use super::error::TsdbBlockError;
use super::files::MAGIC;
use super::input::Input;

/// Bytes before the first section: magic number and version.
const HEADER_LEN: u64 = 5;

/// Length of the table of contents: six offsets and a checksum.
const TOC_LEN: usize = 52;

/// Version of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexVersion {
    /// References to symbols are offsets in the file, and series are not aligned.
    V1,
    /// References to symbols are numbers, and series are aligned to 16 bytes. Version 3 is read in the same way.
    V2,
}

/// Header and table of contents of an index, as far as they are needed.
#[derive(Clone, Debug)]
pub(super) struct Toc {
    pub(super) version: IndexVersion,
    /// Start of the symbols, if there are any, and their maximum end.
    pub(super) symbols: Option<Range<u64>>,
    /// Range of the series.
    pub(super) series: Range<u64>,
}

impl Toc {
    pub(super) fn read<R: Read + Seek>(input: &mut Input<R>) -> Result<Self, TsdbBlockError> {
        let len = input.len()?;
        let end = len.checked_sub(TOC_LEN as u64).filter(|&end| end >= HEADER_LEN);
        let end = end.ok_or(TsdbBlockError::Damaged { offset: len, reason: "too short for an index" })?;
        input.seek(0)?;
        let found = input.array()?;
        if found != MAGIC {
            return Err(TsdbBlockError::Magic { found: u32::from_be_bytes(found) });
        }
        let version = match input.array()? {
            [1] => IndexVersion::V1,
            [2 | 3] => IndexVersion::V2,
            [version] => return Err(TsdbBlockError::Version { version }),
        };
        input.seek(end)?;
        let mut offsets = [0_u64; 6];
        let mut checksum = 0;
        for (place, offset) in (end..).step_by(8).zip(&mut offsets) {
            let bytes = input.array()?;
            checksum = crc32c::crc32c_append(checksum, &bytes);
            *offset = u64::from_be_bytes(bytes);
            if *offset != 0 && !(HEADER_LEN..=end).contains(offset) {
                return Err(TsdbBlockError::Damaged { offset: place, reason: "section starts outside of the index" });
            }
        }
        input.check("table of contents", end, checksum)?;
        let [symbols, series, others @ ..] = offsets;
        // A section ends where the next one starts. The sections after the series have no fixed order.
        let next =
            |start: u64, starts: &[u64]| starts.iter().copied().filter(|&other| other >= start).fold(end, u64::min);
        Ok(Self {
            version,
            symbols: (symbols != 0).then(|| symbols..next(symbols + 1, &offsets)),
            series: if series == 0 { end..end } else { series..next(series, &others) },
        })
    }
}
