//! Chunks of one file of `chunks_head`: [`HeadChunks`].

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::ops::Range;

use super::error::WalFileError;
use super::segment::at_end;

/// Magic number of a file. The version and three zeros follow.
const MAGIC: u32 = 0x0130_bc91;

/// Length of the header in bytes.
const FILE_HEADER_LEN: usize = 8;

/// Bytes before the length of a chunk: series, first and last time, encoding.
const CHUNK_HEADER_LEN: usize = 25;

/// Length of a file that Prometheus preallocated and did not truncate yet.
const ALLOCATED_LEN: u64 = 128 << 20;

/// Maximum bytes of the length of a chunk.
const MAX_LENGTH_LEN: usize = 5;

/// Maximum length in bytes of the samples of a chunk that is searched for after a damaged one. Each possible start
/// costs a checksum over the length that it claims.
const MAX_SEARCHED_LEN: usize = 16 << 10;

/// Highest encoding of a chunk that is searched for. Prometheus 3 uses numbers up to 4.
const MAX_SEARCHED_ENCODING: u8 = 16;

/// Bit of the encoding that marks out-of-order chunks.
const OUT_OF_ORDER: u8 = 0x80;

/// Chunk of samples of one series. The samples are not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadChunk {
    /// Reference of the series.
    pub reference: u64,
    /// Time of the first sample, in milliseconds since 1970.
    pub first: i64,
    /// Time of the last sample, in milliseconds since 1970.
    pub last: i64,
}

/// Reader of one file of head chunks. Chunks are not kept in memory.
pub struct HeadChunks<R> {
    reader: BufReader<R>,
    offset: u64,
    is_stopped: bool,
}

impl<R: Read> HeadChunks<R> {
    /// Reads the header of a file. A file that is empty or consists of zeros has no chunks.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not a file of head chunks, or has an unsupported version.
    pub fn open(reader: R) -> Result<Self, WalFileError> {
        let mut chunks = Self { reader: BufReader::new(reader), offset: 0, is_stopped: false };
        let header = chunks.read_up_to::<FILE_HEADER_LEN>()?;
        match header.first_chunk::<FILE_HEADER_LEN>() {
            Some(&[m0, m1, m2, m3, version, ..]) if u32::from_be_bytes([m0, m1, m2, m3]) == MAGIC => {
                if version != 1 {
                    return Err(WalFileError::Version { version });
                }
            }
            _ if header.iter().all(|&byte| byte == 0) && at_end(&mut chunks.reader, 0)? => chunks.is_stopped = true,
            None => return Err(WalFileError::Torn { offset: 0 }),
            Some(_) => return Err(WalFileError::Damaged { offset: 0, reason: "not a file of head chunks" }),
        }
        Ok(chunks)
    }

    /// Returns the number of bytes read.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the next chunk. Returns `None` at the end, and after an error.
    ///
    /// # Errors
    ///
    /// [`WalFileError::Torn`] if the file ends within the chunk; other errors if it cannot be read or is damaged.
    pub fn next_chunk(&mut self) -> Result<Option<HeadChunk>, WalFileError> {
        if self.is_stopped {
            return Ok(None);
        }
        // Cleared on success.
        self.is_stopped = true;
        let chunk = self.chunk()?;
        self.is_stopped = chunk.is_none();
        Ok(chunk)
    }

    fn chunk(&mut self) -> Result<Option<HeadChunk>, WalFileError> {
        let start = self.offset;
        let header = self.read_up_to::<CHUNK_HEADER_LEN>()?;
        // Files are preallocated: zeros mark the end.
        let is_end = header.iter().take(CHUNK_HEADER_LEN - 1).all(|&byte| byte == 0);
        if is_end {
            // References begin with zeros too: fewer zeros than a header are the start of a truncated one.
            let is_cut = (1..CHUNK_HEADER_LEN).contains(&header.len()) && self.offset != ALLOCATED_LEN;
            if is_cut {
                return Err(WalFileError::Torn { offset: start });
            }
            return if at_end(&mut self.reader, self.offset)? {
                Ok(None)
            } else {
                Err(WalFileError::Damaged { offset: start, reason: "chunks after the end of the content" })
            };
        }
        let torn = WalFileError::Torn { offset: start };
        let Some(header) = header.first_chunk::<CHUNK_HEADER_LEN>() else { return Err(torn) };
        let number =
            |at: usize| header.iter().skip(at).take(8).fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
        let mut crc = crc32c::crc32c(header);
        let mut left = 0_u64;
        for place in 0.. {
            let byte = self.read_up_to::<1>()?;
            let &[byte] = byte.as_slice() else { return Err(torn) };
            crc = crc32c::crc32c_append(crc, &[byte]);
            left |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                break;
            }
            if place + 1 == MAX_LENGTH_LEN {
                return Err(WalFileError::Damaged { offset: start, reason: "length of a chunk has too many bytes" });
            }
        }
        while left > 0 {
            let bytes = fill(&mut self.reader, self.offset)?;
            if bytes.is_empty() {
                return Err(torn);
            }
            let data = bytes.get(..usize::try_from(left).unwrap_or(usize::MAX)).unwrap_or(bytes);
            crc = crc32c::crc32c_append(crc, data);
            let len = data.len();
            self.reader.consume(len);
            self.offset += len as u64;
            left -= len as u64;
        }
        let expected = self.read_up_to::<4>()?;
        let Some(&expected) = expected.first_chunk::<4>() else { return Err(torn) };
        let expected = u32::from_be_bytes(expected);
        if crc != expected {
            let is_last = at_end(&mut self.reader, self.offset)?;
            return Err(if is_last { torn } else { WalFileError::Checksum { offset: start, expected, found: crc } });
        }
        let chunk = HeadChunk { reference: number(0), first: number(8).cast_signed(), last: number(16).cast_signed() };
        if chunk.last < chunk.first {
            return Err(WalFileError::Damaged { offset: start, reason: "chunk ends before it starts" });
        }
        Ok(Some(chunk))
    }

    /// Reads `N` bytes, or the rest of the file.
    fn read_up_to<const N: usize>(&mut self) -> Result<Vec<u8>, WalFileError> {
        let mut bytes = Vec::with_capacity(N);
        let read = (&mut self.reader).take(N as u64).read_to_end(&mut bytes);
        read.map_err(|source| WalFileError::Read { offset: self.offset, source })?;
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }
}

/// Returns the next bytes, none at the end.
fn fill<R: Read>(reader: &mut BufReader<R>, offset: u64) -> Result<&[u8], WalFileError> {
    // Filled twice: the borrow checker does not allow returning the first borrow from a loop.
    loop {
        match reader.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(source) => return Err(WalFileError::Read { offset, source }),
        }
    }
    Ok(reader.buffer())
}

/// Finds the first chunk with a right checksum that starts at or after `from`, in the bytes of a file. Returns it with
/// its start and its end.
#[must_use]
pub fn find_chunk(file: &[u8], from: usize) -> Option<(HeadChunk, Range<usize>)> {
    (from..file.len()).find_map(|start| {
        let chunk = file.get(start..)?;
        let (header, rest) = chunk.split_first_chunk::<CHUNK_HEADER_LEN>()?;
        // Most places fail here, at little cost.
        if !(1..=MAX_SEARCHED_ENCODING).contains(&(header.last()? & !OUT_OF_ORDER)) {
            return None;
        }
        let number =
            |at: usize| header.iter().skip(at).take(8).fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
        let (first, last) = (number(8).cast_signed(), number(16).cast_signed());
        if last < first {
            return None;
        }
        let (mut len, mut len_len) = (0_usize, 0);
        for &byte in rest.iter().take(MAX_LENGTH_LEN) {
            len |= usize::from(byte & 0x7f) << (7 * len_len);
            len_len += 1;
            if byte < 0x80 {
                break;
            }
        }
        if len > MAX_SEARCHED_LEN {
            return None;
        }
        let (content, checksum) = chunk.split_at_checked(CHUNK_HEADER_LEN + len_len + len)?;
        let is_right = crc32c::crc32c(content) == u32::from_be_bytes(*checksum.first_chunk::<4>()?);
        is_right.then_some((HeadChunk { reference: number(0), first, last }, start..start + content.len() + 4))
    })
}
