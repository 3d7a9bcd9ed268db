//! Arrow files by their footers: [`ArrowFile`].
//!
//! A file is a stream of messages with a footer, which repeats the schema and lists the other messages. The stream
//! alone is not enough: some writers leave out the frame of the schema or the mark at the end, and dictionaries may
//! come after the batches that use them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use arrow_buffer::Buffer;
use arrow_ipc::{Block, root_as_footer};

use super::guard::catch;
use super::ipc::MessageDecoder;
use crate::columns::error::{ArrowFileError, ColumnsError};

/// Bytes of the length of the footer and the magic after it.
const END_LEN: u64 = 10;

/// Last bytes of a file.
const END_MAGIC: [u8; 6] = *b"ARROW1";

/// File whose footer was read.
pub(crate) struct ArrowFile {
    file: File,
    byte_len: u64,
    footer: Buffer,
    /// Positions and lengths of the dictionaries, then of the batches.
    messages: Vec<(u64, u64)>,
}

impl ArrowFile {
    /// Reads the footer, if it has at most `max_len` bytes.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or its footer is missing, too long or malformed.
    pub(crate) fn open(mut file: File, max_len: usize) -> Result<Self, ArrowFileError> {
        let byte_len = file.seek(SeekFrom::End(0)).map_err(ArrowFileError::Read)?;
        let mut end = [0; END_LEN as usize];
        let end_start = byte_len.checked_sub(END_LEN).ok_or(ArrowFileError::NoFooter)?;
        read_at(&mut file, end_start, &mut end)?;
        let [a, b, c, d, magic @ ..] = end;
        let len = u64::from(u32::from_le_bytes([a, b, c, d]));
        let start = end_start.checked_sub(len).filter(|_| magic == END_MAGIC).ok_or(ArrowFileError::NoFooter)?;
        if len > max_len as u64 {
            return Err(ColumnsError::TooLarge { what: "the footer", len, limit: max_len as u64 }.into());
        }
        let mut footer = vec![0; len as usize];
        read_at(&mut file, start, &mut footer)?;
        // The parser refuses a footer that is not aligned.
        let footer = Buffer::from(footer.as_slice());
        let messages = catch(|| places(&footer, start))?;
        Ok(Self { file, byte_len, footer, messages })
    }

    /// Returns the length of the file.
    pub(crate) fn byte_len(&self) -> u64 {
        self.byte_len
    }

    /// Gives the schema of the footer to `decoder`.
    pub(crate) fn begin(&self, decoder: &mut MessageDecoder) -> Result<(), ColumnsError> {
        catch(|| {
            let footer = root_as_footer(&self.footer).map_err(malformed)?;
            let schema = footer.schema().ok_or(ColumnsError::Message("the footer has no schema"))?;
            decoder.begin_schema(schema)
        })
    }

    /// Returns the positions and lengths of the messages after the schema.
    pub(crate) fn messages(&self) -> &[(u64, u64)] {
        &self.messages
    }

    /// Reads a message into `buffer`.
    pub(crate) fn read(&mut self, (offset, len): (u64, u64), buffer: &mut Vec<u8>) -> Result<(), ArrowFileError> {
        buffer.clear();
        buffer.resize(len as usize, 0);
        read_at(&mut self.file, offset, buffer)
    }
}

fn read_at(file: &mut File, offset: u64, buffer: &mut [u8]) -> Result<(), ArrowFileError> {
    let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(buffer));
    read.map_err(ArrowFileError::Read)
}

fn malformed(error: impl std::fmt::Display) -> ColumnsError {
    ColumnsError::Data(format!("invalid footer: {error}"))
}

/// Returns the positions and lengths of the dictionaries and batches of a footer. All lie before it, at `end`, and none
/// is listed twice: a small file could list a large batch a million times.
fn places(footer: &[u8], end: u64) -> Result<Vec<(u64, u64)>, ColumnsError> {
    let footer = root_as_footer(footer).map_err(malformed)?;
    let blocks = [footer.dictionaries(), footer.recordBatches()].into_iter().flatten().flatten();
    let outside = || ColumnsError::Message("the footer names bytes outside of the messages");
    let places: Vec<(u64, u64)> =
        blocks.map(|block| place(block, end).ok_or_else(outside)).collect::<Result<_, ColumnsError>>()?;
    let mut sorted = places.clone();
    sorted.sort_unstable();
    if sorted.array_windows().any(|&[(start, len), (next, _)]| start + len > next) {
        return Err(ColumnsError::Message("messages in the footer overlap"));
    }
    Ok(places)
}

fn place(block: &Block, end: u64) -> Option<(u64, u64)> {
    let offset = u64::try_from(block.offset()).ok()?;
    let len = u64::try_from(block.metaDataLength()).ok()?.checked_add(u64::try_from(block.bodyLength()).ok()?)?;
    offset.checked_add(len).filter(|&message_end| message_end <= end).map(|_| (offset, len))
}
