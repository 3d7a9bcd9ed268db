//! Decompressed content of an input, frame by frame: [`Content`].
//!
//! A zstd stream is a sequence of frames, and a gzip stream one of members. A program that is killed leaves a torn one,
//! and appends others when it starts again. After damage, reading goes on at the next frame.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

/// First bytes of a zstd frame.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// First bytes of a gzip member: magic and method.
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];

/// Bytes of a zstd frame that show how its header goes on.
const ZSTD_START_LEN: usize = 5;

/// Bytes before the next one that are kept: two zstd blocks, which a decoder may take for its own before it finds that
/// they are not.
const HISTORY_LEN: usize = 256 << 10;

/// Content of an input.
pub(super) trait Content: Read + Send {
    /// Goes on at the next frame after an error, which ended the content. Returns false if there is none.
    fn resume(&mut self) -> io::Result<bool>;
}

/// Content that is not compressed.
pub(super) struct Plain<R>(pub(super) R);

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<R: Read + Send> Content for Plain<R> {
    fn resume(&mut self) -> io::Result<bool> {
        Ok(false)
    }
}

/// Reader that keeps some bytes before the next one.
pub(super) struct Raw<R> {
    inner: R,
    buffer: Vec<u8>,
    /// Position of the buffer in the input.
    offset: u64,
    /// Next byte in the buffer.
    next: usize,
    /// Bytes per read.
    step: usize,
}

impl<R: Read> Raw<R> {
    /// Creates a reader whose first bytes were read already.
    pub(super) fn new(first: Vec<u8>, inner: R, step: usize) -> Self {
        Self { inner, buffer: first, offset: 0, next: 0, step }
    }

    fn position(&self) -> u64 {
        self.offset + self.next as u64
    }

    /// Reads more bytes. Returns false at the end.
    fn extend(&mut self) -> io::Result<bool> {
        if self.next >= 2 * HISTORY_LEN {
            let forgotten = self.next - HISTORY_LEN;
            self.buffer.drain(..forgotten);
            self.offset += forgotten as u64;
            self.next -= forgotten;
        }
        let before = self.buffer.len();
        self.buffer.resize(before + self.step, 0);
        let read = loop {
            match self.inner.read(self.buffer.get_mut(before..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(before + read.as_ref().copied().unwrap_or_default());
        Ok(read? > 0)
    }

    /// Goes to the first `magic` at or after `position`. Returns false if there is none.
    fn find(&mut self, position: u64, magic: &[u8]) -> io::Result<bool> {
        let finder = memchr::memmem::Finder::new(magic);
        self.next =
            usize::try_from(position.saturating_sub(self.offset)).map_or(self.next, |next| next.min(self.buffer.len()));
        loop {
            let rest = self.buffer.get(self.next..).unwrap_or_default();
            if let Some(place) = finder.find(rest) {
                self.next += place;
                return Ok(true);
            }
            // The magic may begin at the end of what was read.
            self.next += (rest.len() + 1).saturating_sub(magic.len());
            if !self.extend()? {
                self.next = self.buffer.len();
                return Ok(false);
            }
        }
    }
}

impl<R: Read> Read for Raw<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: Read> BufRead for Raw<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.next >= self.buffer.len() {
            self.extend()?;
        }
        Ok(self.buffer.get(self.next..).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.next = (self.next + count).min(self.buffer.len());
    }
}

/// Content of a zstd stream.
pub(super) struct Zstd<R> {
    raw: Raw<R>,
    decoder: Decoder<'static>,
    /// Position of the current frame.
    frame: u64,
    in_frame: bool,
    /// Bytes that the decoder takes next, at most one block: an error costs no block before it.
    wanted: usize,
    has_failed: bool,
}

impl<R: Read> Zstd<R> {
    /// Creates the content. A frame may have a window of 2 to the power of `max_window_log`.
    pub(super) fn new(raw: Raw<R>, max_window_log: u32) -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(max_window_log))?;
        Ok(Self { raw, decoder, frame: 0, in_frame: false, wanted: ZSTD_START_LEN, has_failed: false })
    }

    fn next(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame {
                self.frame = self.raw.position();
                self.wanted = ZSTD_START_LEN;
            }
            let input = self.raw.fill_buf()?;
            let is_end = input.is_empty();
            if is_end && !self.in_frame {
                return Ok(0);
            }
            let mut from = InBuffer::around(input.get(..self.wanted).unwrap_or(input));
            let mut to = OutBuffer::around(&mut *out);
            let wanted = self.decoder.run(&mut from, &mut to);
            let (read, written) = (from.pos(), to.pos());
            self.raw.consume(read);
            self.wanted = wanted?;
            self.in_frame = self.wanted > 0;
            if written > 0 {
                return Ok(written);
            }
            if is_end && self.in_frame {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_failed || buffer.is_empty() {
            return Ok(0);
        }
        let read = self.next(buffer);
        self.has_failed = read.is_err();
        read
    }
}

impl<R: Read + Send> Content for Zstd<R> {
    fn resume(&mut self) -> io::Result<bool> {
        let is_found = self.raw.find(self.frame + 1, &ZSTD_MAGIC)?;
        self.decoder.reinit()?;
        (self.in_frame, self.has_failed) = (false, !is_found);
        Ok(is_found)
    }
}

/// Content of a gzip stream.
pub(super) struct Gzip<R> {
    /// Decoder of the current member. Taken only while another one is made.
    decoder: Option<GzDecoder<Raw<R>>>,
    /// Position of the member.
    member: u64,
    has_failed: bool,
}

impl<R: Read> Gzip<R> {
    pub(super) fn new(raw: Raw<R>) -> Self {
        let member = raw.position();
        Self { decoder: Some(GzDecoder::new(raw)), member, has_failed: false }
    }

    fn next(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(0) };
            let read = decoder.read(out)?;
            if read > 0 {
                return Ok(read);
            }
            if decoder.get_mut().fill_buf()?.is_empty() {
                return Ok(0);
            }
            let raw = self.decoder.take().map(GzDecoder::into_inner);
            self.begin(raw);
        }
    }

    /// Begins the member at which `raw` is.
    fn begin(&mut self, raw: Option<Raw<R>>) {
        self.member = raw.as_ref().map_or(self.member, Raw::position);
        self.decoder = raw.map(GzDecoder::new);
    }
}

impl<R: Read> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_failed || buffer.is_empty() {
            return Ok(0);
        }
        let read = self.next(buffer);
        self.has_failed = read.is_err();
        read
    }
}

impl<R: Read + Send> Content for Gzip<R> {
    fn resume(&mut self) -> io::Result<bool> {
        let Some(mut raw) = self.decoder.take().map(GzDecoder::into_inner) else { return Ok(false) };
        let is_found = raw.find(self.member + 1, &GZIP_MAGIC)?;
        self.has_failed = !is_found;
        self.begin(Some(raw));
        Ok(is_found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_goes_on_at_the_frame_after_a_torn_one() {
        let frame = |text: &str| zstd::encode_all(text.repeat(40).as_bytes(), 1).unwrap();
        let torn = frame("abcdefgh");
        let content = [frame("first"), torn[..torn.len() - 4].to_vec(), frame("last")].concat();
        for step in [1, 7, 1 << 16] {
            let mut reader = Zstd::new(Raw::new(Vec::new(), content.as_slice(), step), 20).unwrap();
            let mut text = Vec::new();
            let error = reader.read_to_end(&mut text).unwrap_err();
            assert!(text.starts_with("first".repeat(40).as_bytes()), "{error}");
            assert_eq!(reader.read(&mut [0; 8]).unwrap(), 0, "an error ends the content");
            assert!(reader.resume().unwrap());
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, "last".repeat(40));
            assert!(!reader.resume().unwrap());
        }
    }
}
