//! Decompressed content of an input, frame by frame: [`Content`].
//!
//! A zstd stream is a sequence of frames, and a gzip stream one of members. A program that is killed leaves a torn one,
//! and appends others when it starts again. After damage, reading goes on at the next frame.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use flate2::{Crc, Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::source::{Compression, MAX_WINDOW_LEN};

/// First bytes of a zstd frame.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// First bytes of a gzip member: magic and method.
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];

/// Bytes of a zstd frame that show how its header goes on.
const ZSTD_START_LEN: usize = 5;

/// Bytes before the next one that are kept: two zstd blocks, which a decoder may take for its own before it finds that
/// they are not.
const HISTORY_LEN: usize = 256 << 10;

/// Bytes per read of [`decompress`].
const STEP_LEN: usize = 256 << 10;

/// Content of an input.
pub(super) trait Content: Read + Send {
    /// Goes on at the next frame after an error, which ended the content. Returns false if there is none.
    fn resume(&mut self) -> io::Result<bool>;
}

/// Decompresses a stream of zstd or gzip. Another one stays as it is.
///
/// # Errors
///
/// The first bytes cannot be read.
pub fn decompress(reader: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let (_, content) = open(reader, STEP_LEN, MAX_WINDOW_LEN.ilog2())?;
    Ok(content)
}

/// Opens the content of a stream, which is read in steps of this many bytes. A frame of zstd may have a window of 2 to
/// the power of `max_window_log` bytes.
pub(super) fn open(
    mut reader: impl Read + Send + 'static,
    step: usize,
    max_window_log: u32,
) -> io::Result<(Compression, Box<dyn Content>)> {
    let mut first = Vec::new();
    reader.by_ref().take(4).read_to_end(&mut first)?;
    let compression = Compression::detect(&first);
    let content: Box<dyn Content> = match compression {
        Compression::None => Box::new(Plain(io::Cursor::new(first).chain(reader))),
        Compression::Zstd => Box::new(Compressed::new(Zstd::new(Raw::new(first, reader, step), max_window_log)?)),
        Compression::Gzip => Box::new(Compressed::new(Gzip::new(Raw::new(first, reader, step)))),
    };
    Ok((compression, content))
}

/// Content that is not compressed.
struct Plain<R>(R);

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
struct Raw<R> {
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
    fn new(first: Vec<u8>, inner: R, step: usize) -> Self {
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

/// Decoder of a stream of frames.
trait Frames {
    /// Reads content into `out`, which is not empty. Returns 0 at the end of the stream.
    fn next(&mut self, out: &mut [u8]) -> io::Result<usize>;

    /// Goes to the frame after the current one. Returns false if there is none.
    fn find_next(&mut self) -> io::Result<bool>;
}

/// Content of a stream of frames, which ends at damage.
struct Compressed<F> {
    frames: F,
    has_failed: bool,
}

impl<F: Frames> Compressed<F> {
    fn new(frames: F) -> Self {
        Self { frames, has_failed: false }
    }
}

impl<F: Frames> Read for Compressed<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_failed || buffer.is_empty() {
            return Ok(0);
        }
        let read = self.frames.next(buffer);
        self.has_failed = read.is_err();
        read
    }
}

impl<F: Frames + Send> Content for Compressed<F> {
    fn resume(&mut self) -> io::Result<bool> {
        let is_found = self.frames.find_next()?;
        self.has_failed = !is_found;
        Ok(is_found)
    }
}

/// Decoder of a zstd stream.
struct Zstd<R> {
    raw: Raw<R>,
    decoder: Decoder<'static>,
    /// Position of the current frame.
    frame: u64,
    in_frame: bool,
    /// Bytes that the decoder takes next, at most one block: an error costs no block before it.
    wanted: usize,
}

impl<R: Read> Zstd<R> {
    /// Creates the content. A frame may have a window of 2 to the power of `max_window_log`.
    fn new(raw: Raw<R>, max_window_log: u32) -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(max_window_log))?;
        Ok(Self { raw, decoder, frame: 0, in_frame: false, wanted: ZSTD_START_LEN })
    }
}

impl<R: Read> Frames for Zstd<R> {
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

    fn find_next(&mut self) -> io::Result<bool> {
        self.in_frame = false;
        self.decoder.reinit()?;
        self.raw.find(self.frame + 1, &ZSTD_MAGIC)
    }
}

/// Decoder of a gzip stream.
struct Gzip<R> {
    /// Taken only while a header is parsed.
    raw: Option<Raw<R>>,
    inflate: Decompress,
    checksum: Crc,
    /// Position of the current member.
    member: u64,
    in_member: bool,
    /// Error after the content that was returned last.
    failure: Option<io::Error>,
}

impl<R: Read> Gzip<R> {
    fn new(raw: Raw<R>) -> Self {
        let (inflate, checksum) = (Decompress::new(false), Crc::new());
        Self { raw: Some(raw), inflate, checksum, member: 0, in_member: false, failure: None }
    }

    /// Begins a member with its header. Returns false at the end of the stream.
    fn begin(&mut self) -> io::Result<bool> {
        let Some(mut raw) = self.raw.take() else { return Ok(false) };
        // Zeros fill the last block of a tape, and of some files.
        let has_more = loop {
            let zeros = match raw.fill_buf() {
                Ok([]) => break Ok(false),
                Ok(bytes) => bytes.iter().take_while(|&&byte| byte == 0).count(),
                Err(error) => break Err(error),
            };
            if zeros == 0 {
                break Ok(true);
            }
            raw.consume(zeros);
        };
        self.member = raw.position();
        if !matches!(has_more, Ok(true)) {
            self.raw = Some(raw);
            return has_more;
        }
        let decoder = GzDecoder::new(raw);
        let has_header = decoder.header().is_some();
        let mut raw = decoder.into_inner();
        let is_end = raw.fill_buf().map(<[u8]>::is_empty);
        self.raw = Some(raw);
        match is_end? {
            _ if has_header => {}
            true => return Err(io::ErrorKind::UnexpectedEof.into()),
            false => return Err(io::Error::new(io::ErrorKind::InvalidData, "invalid header of a gzip member")),
        }
        self.inflate.reset(false);
        self.checksum.reset();
        self.in_member = true;
        Ok(true)
    }

    /// Ends a member with its checksum and length.
    fn end(&mut self) -> io::Result<()> {
        let mut stored = [0; 8];
        if let Some(raw) = &mut self.raw {
            raw.read_exact(&mut stored)?;
        }
        self.in_member = false;
        let found = u64::from(self.checksum.sum()) | u64::from(self.checksum.amount()) << 32;
        if u64::from_le_bytes(stored) == found {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "checksum mismatch of a gzip member"))
        }
    }
}

impl<R: Read> Frames for Gzip<R> {
    fn next(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        loop {
            if !self.in_member && !self.begin()? {
                return Ok(0);
            }
            let Some(raw) = &mut self.raw else { return Ok(0) };
            let (read, written) = (self.inflate.total_in(), self.inflate.total_out());
            let input = raw.fill_buf()?;
            let is_end = input.is_empty();
            let status = self.inflate.decompress(input, out, FlushDecompress::None);
            raw.consume((self.inflate.total_in() - read) as usize);
            // Content before an error counts.
            let written = (self.inflate.total_out() - written) as usize;
            self.checksum.update(out.get(..written).unwrap_or_default());
            let result = match status {
                Ok(Status::StreamEnd) => self.end(),
                Ok(_) if is_end && written == 0 => Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => Ok(()),
                Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            };
            match result {
                Err(error) if written == 0 => return Err(error),
                result => self.failure = result.err(),
            }
            if written > 0 {
                return Ok(written);
            }
        }
    }

    fn find_next(&mut self) -> io::Result<bool> {
        (self.in_member, self.failure) = (false, None);
        self.raw.as_mut().map_or(Ok(false), |raw| raw.find(self.member + 1, &GZIP_MAGIC))
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
            let mut reader = Compressed::new(Zstd::new(Raw::new(Vec::new(), content.as_slice(), step), 20).unwrap());
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

    #[test]
    fn content_before_an_error_does_not_depend_on_buffers() {
        let text: String = (0..40_000_u64).map(|number| format!("{} ", number.wrapping_mul(0x9e37_79b9))).collect();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        let whole = encoder.finish().unwrap();
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 0x20;
        for (content, is_damaged) in [(&whole, false), (&damaged, true)] {
            let mut lens = Vec::new();
            for (step, piece) in [(1 << 18, 1 << 18), (7, 64), (1_000, 1)] {
                let mut reader = Compressed::new(Gzip::new(Raw::new(Vec::new(), content.as_slice(), step)));
                let (mut read, mut buffer) = (Vec::new(), vec![0; piece]);
                let error = loop {
                    match reader.read(&mut buffer) {
                        Ok(0) => break None,
                        Ok(count) => read.extend_from_slice(&buffer[..count]),
                        Err(error) => break Some(error),
                    }
                };
                assert_eq!(error.is_some(), is_damaged);
                assert!(is_damaged || read == text.as_bytes());
                lens.push(read.len());
            }
            assert!(lens.iter().all(|&len| len == lens[0] && len > text.len() / 3), "{lens:?} of {}", text.len());
        }
    }

    #[test]
    fn a_frame_within_the_last_block_of_a_torn_one_is_found() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .take(1 << 20)
        .collect();
        let torn = zstd::encode_all(noise.as_slice(), 1).unwrap();
        let content = [&torn[..torn.len() - 60_000], &zstd::encode_all(&b"last"[..], 1).unwrap()].concat();
        for step in [7, 1 << 16] {
            let mut reader = Compressed::new(Zstd::new(Raw::new(Vec::new(), content.as_slice(), step), 22).unwrap());
            assert!(reader.read_to_end(&mut Vec::new()).is_err());
            assert!(reader.resume().unwrap(), "steps of {step} bytes");
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, "last");
        }
    }
}
