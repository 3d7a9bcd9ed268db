//! Records of CSV, whose quoted fields may have line breaks: [`CsvRecords`].

use csv_core::{ReadRecordResult, Reader};

use super::found::Found;
use super::source::Source;
use crate::error::IngestError;

/// Bytes for fields and their number, which are not needed to find the end of a record.
const SCRATCH_LEN: usize = 256;

/// Reader of records.
#[derive(Default)]
pub(super) struct CsvRecords {
    /// Made for the first record: the reader takes some hundred bytes.
    reader: Option<Box<Reader>>,
}

impl CsvRecords {
    /// Reads the next record with its line break into `buffer`, if it has at most `max_len` bytes.
    pub(super) fn next(
        &mut self,
        source: &mut Source,
        max_len: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Found, IngestError> {
        let reader = self.reader.get_or_insert_with(|| Box::new(Reader::new()));
        let (mut text, mut ends) = ([0; SCRATCH_LEN], [0; SCRATCH_LEN]);
        let mut is_too_long = false;
        loop {
            let bytes = source.fill()?;
            if bytes.is_empty() {
                return Ok(match () {
                    () if is_too_long => Found::TooLong,
                    () if buffer.trim_ascii().is_empty() => Found::End,
                    () => Found::Unterminated,
                });
            }
            let (result, read, _, _) = reader.read_record(bytes, &mut text, &mut ends);
            let part = bytes.get(..read).unwrap_or_default();
            if is_too_long || buffer.len() + part.len() > max_len {
                is_too_long = true;
                buffer.clear();
            } else {
                buffer.extend_from_slice(part);
            }
            source.consume(read);
            if result == ReadRecordResult::Record {
                return Ok(if is_too_long { Found::TooLong } else { Found::Whole });
            }
        }
    }
}
