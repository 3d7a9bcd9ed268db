//! Parts of a file that needs random access, in order: it is copied before it is read.

use super::found::Found;
use super::source::Source;
use crate::error::IngestError;

/// Reads the next buffered bytes into `buffer`.
pub(super) fn next(source: &mut Source, buffer: &mut Vec<u8>) -> Result<Found, IngestError> {
    let bytes = source.fill()?;
    buffer.extend_from_slice(bytes);
    let count = bytes.len();
    source.consume(count);
    Ok(if count == 0 { Found::End } else { Found::Whole })
}
