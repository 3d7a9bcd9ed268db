//! Records of one file of a write-ahead log: [`Segment`].

use std::io::{BufRead, BufReader, ErrorKind, Read};

use super::error::WalFileError;

/// Length of a page in bytes. No fragment of a record crosses its end.
const PAGE_LEN: usize = 32 * 1024;

/// Bytes before a fragment: type, length, checksum.
const HEADER_LEN: usize = 7;

/// Upper limit of the ratio by which snappy compresses: its best code makes 64 bytes of 3, rounded up.
const MAX_SNAPPY_EXPANSION: usize = 22;

/// Reader of one file of a log. Memory is that of a page and of a record, whose length is limited.
pub struct Segment<R> {
    reader: BufReader<R>,
    page: Vec<u8>,
    /// Start of the page in the file.
    page_offset: u64,
    /// Start of the next fragment in the page.
    position: usize,
    /// Fragments of the current record.
    fragments: Vec<u8>,
    /// Current record, decompressed.
    content: Vec<u8>,
    record_offset: u64,
    max_record_len: usize,
    is_stopped: bool,
    /// Position in the page from which to look for a record after an error.
    resume_at: usize,
}

/// Compression of a record.
#[derive(Clone, Copy, PartialEq)]
enum Compression {
    None,
    Snappy,
    Zstd,
}

/// Position of a fragment in its record.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Full,
    First,
    Middle,
    Last,
}

impl<R: Read> Segment<R> {
    /// Creates a reader. Records have at most `max_record_len` bytes, also after decompression.
    pub fn new(reader: R, max_record_len: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(PAGE_LEN, reader),
            page: Vec::new(),
            page_offset: 0,
            position: 0,
            fragments: Vec::new(),
            content: Vec::new(),
            record_offset: 0,
            max_record_len,
            is_stopped: false,
            resume_at: 0,
        }
    }

    /// Returns the start of the current record.
    pub fn record_offset(&self) -> u64 {
        self.record_offset
    }

    /// Returns the number of bytes read.
    pub fn offset(&self) -> u64 {
        self.page_offset + self.position as u64
    }

    /// Reads the next record. Returns `None` at the end, and after an error.
    ///
    /// # Errors
    ///
    /// [`WalFileError::Torn`] if the file ends within a record; other errors if it cannot be read or is damaged.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>, WalFileError> {
        if self.is_stopped {
            return Ok(None);
        }
        // Cleared on success.
        self.is_stopped = true;
        let joined = self.join_fragments();
        // A sound fragment may be the error: the start of a record within another one. It would be too long again.
        self.resume_at = self.position + usize::from(matches!(joined, Err(WalFileError::TooLong { .. })));
        let Some(compression) = joined? else { return Ok(None) };
        self.is_stopped = false;
        if compression == Compression::None {
            return Ok(Some(&self.fragments));
        }
        self.decompress(compression).inspect_err(|_| self.is_stopped = true)?;
        Ok(Some(&self.content))
    }

    /// Continues after an error: the next call of [`next_record`](Self::next_record) reads the next record that begins
    /// with a right checksum. Returns its start, or `None` if there is none.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn resume(&mut self) -> Result<Option<u64>, WalFileError> {
        let mut from = self.resume_at;
        loop {
            let starts = from..self.page.len();
            if let Some(start) = starts.into_iter().find(|&start| starts_record(&self.page, start)) {
                self.position = start;
                self.is_stopped = false;
                return Ok(Some(self.offset()));
            }
            if !self.read_page()? {
                return Ok(None);
            }
            from = 0;
        }
    }

    /// Joins the fragments of the next record.
    fn join_fragments(&mut self) -> Result<Option<Compression>, WalFileError> {
        self.fragments.clear();
        let mut is_open = false;
        loop {
            if self.position >= self.page.len() && !self.read_page()? {
                let torn = WalFileError::Torn { offset: self.record_offset };
                return if is_open { Err(torn) } else { Ok(None) };
            }
            let offset = self.offset();
            if !is_open {
                self.record_offset = offset;
            }
            let damaged = |reason| WalFileError::Damaged { offset, reason };
            let rest = self.page.get(self.position..).unwrap_or_default();
            let &[kind, ..] = rest else { continue };
            let part = match kind & 7 {
                0 => {
                    if rest.iter().any(|&byte| byte != 0) {
                        return Err(damaged("page does not end with zeros"));
                    }
                    self.position = self.page.len();
                    continue;
                }
                1 => Part::Full,
                2 => Part::First,
                3 => Part::Middle,
                4 => Part::Last,
                _ => return Err(damaged("unknown kind of fragment")),
            };
            let compression = match kind >> 3 {
                0 => Compression::None,
                1 => Compression::Snappy,
                2 => Compression::Zstd,
                _ => return Err(damaged("unknown compression of a record")),
            };
            if is_open != matches!(part, Part::Middle | Part::Last) {
                return Err(damaged("fragments of a record are not in order"));
            }
            let is_short_page = self.page.len() < PAGE_LEN;
            let torn = WalFileError::Torn { offset: self.record_offset };
            let Some((header, rest)) = rest.split_first_chunk::<HEADER_LEN>() else {
                return Err(if is_short_page { torn } else { damaged("fragment crosses the end of a page") });
            };
            let &[_, len_high, len_low, crc @ ..] = header;
            let (len, expected) = (usize::from(u16::from_be_bytes([len_high, len_low])), u32::from_be_bytes(crc));
            if self.position + HEADER_LEN + len > PAGE_LEN {
                return Err(damaged("fragment crosses the end of a page"));
            }
            let Some((data, behind)) = rest.split_at_checked(len) else { return Err(torn) };
            let found = crc32c::crc32c(data);
            if found != expected || len == 0 {
                // Allocated and unwritten bytes are zeros.
                let is_last = behind.iter().all(|&byte| byte == 0) && at_end(&mut self.reader, offset)?;
                return Err(match () {
                    () if is_last => torn,
                    () if len == 0 => damaged("empty fragment"),
                    () => WalFileError::Checksum { offset, expected, found },
                });
            }
            if self.fragments.len() + len > self.max_record_len {
                return Err(WalFileError::TooLong { offset: self.record_offset, limit: self.max_record_len });
            }
            self.fragments.extend_from_slice(data);
            self.position += HEADER_LEN + len;
            if matches!(part, Part::Full | Part::Last) {
                return Ok(Some(compression));
            }
            is_open = true;
        }
    }

    /// Reads the next page, which may be shorter at the end of the file. Returns true if there is one.
    fn read_page(&mut self) -> Result<bool, WalFileError> {
        self.page_offset += self.page.len() as u64;
        self.position = 0;
        self.page.clear();
        let read = (&mut self.reader).take(PAGE_LEN as u64).read_to_end(&mut self.page);
        let read = read.map_err(|source| WalFileError::Read { offset: self.page_offset, source })?;
        Ok(read > 0)
    }

    fn decompress(&mut self, compression: Compression) -> Result<(), WalFileError> {
        let (offset, limit) = (self.record_offset, self.max_record_len);
        let failed = |reason: String| WalFileError::Compression { offset, reason };
        self.content.clear();
        if compression == Compression::Zstd {
            zstd::Decoder::with_buffer(self.fragments.as_slice())
                .and_then(|decoder| decoder.take(limit as u64 + 1).read_to_end(&mut self.content))
                .map_err(|error| failed(error.to_string()))?;
            let is_short = self.content.len() <= limit;
            return if is_short { Ok(()) } else { Err(WalFileError::TooLong { offset, limit }) };
        }
        let len = snap::raw::decompress_len(&self.fragments).map_err(|error| failed(error.to_string()))?;
        if len > limit {
            return Err(WalFileError::TooLong { offset, limit });
        }
        if len > self.fragments.len().saturating_mul(MAX_SNAPPY_EXPANSION) {
            return Err(failed(format!("{} bytes of snappy cannot expand to {len}", self.fragments.len())));
        }
        self.content.resize(len, 0);
        let decompressed = snap::raw::Decoder::new().decompress(&self.fragments, &mut self.content);
        decompressed.map(drop).map_err(|error| failed(error.to_string()))
    }
}

/// Returns true if the first fragment of a record, with a right checksum, starts here.
fn starts_record(page: &[u8], start: usize) -> bool {
    let Some((&[kind, len_high, len_low, crc @ ..], rest)) =
        page.get(start..).and_then(|rest| rest.split_first_chunk::<HEADER_LEN>())
    else {
        return false;
    };
    let len = usize::from(u16::from_be_bytes([len_high, len_low]));
    let data = rest.get(..len).filter(|data| !data.is_empty());
    matches!(kind & 7, 1 | 2)
        && kind >> 3 < 3
        && data.is_some_and(|data| crc32c::crc32c(data) == u32::from_be_bytes(crc))
}

/// Returns true if only zeros follow.
pub(super) fn at_end<R: BufRead>(reader: &mut R, offset: u64) -> Result<bool, WalFileError> {
    loop {
        match reader.fill_buf() {
            Ok([]) => return Ok(true),
            Ok(bytes) if bytes.iter().all(|&byte| byte == 0) => {
                let len = bytes.len();
                reader.consume(len);
            }
            Ok(_) => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(source) => return Err(WalFileError::Read { offset, source }),
        }
    }
}
