//! A file or standard input, decompressed.

use crate::error::IngestError;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes that are looked at to recognise a format.
pub(super) const HEAD_LEN: u64 = 64 * 1024;

/// Bytes read from the operating system at a time.
const BUFFER_LEN: usize = 256 * 1024;

/// Bytes that a zstd stream may look back over: the most that `zstd` itself takes unless told otherwise.
const MAX_WINDOW_LEN: usize = 128 << 20;

/// Bytes that it may look back over in any case.
const MIN_WINDOW_LEN: usize = 1 << 20;

/// What compressed an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "names")]
pub enum Compression {
    None,
    Zstd,
    Gzip,
}

impl Compression {
    /// What the first bytes of a file or a message say.
    pub(super) fn detect(head: &[u8]) -> Self {
        // A zstd stream may begin with a skippable frame: 50 to 5F, 2A 4D 18.
        match head {
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0x1f, 0x8b, ..] => Self::Gzip,
            _ => Self::None,
        }
    }

    /// The name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "plain",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }
}

/// An open input: its content after decompression, and how far it was read.
pub struct Source {
    name: String,
    compression: Compression,
    reader: Chain<Cursor<Vec<u8>>, BufReader<Box<dyn Read + Send>>>,
    offset: u64,
    /// Bytes of the file, if it is one.
    file_len: Option<u64>,
    watch: Arc<Watch>,
    truncated: bool,
}

/// How far an input was read, before decompression.
#[derive(Debug, Clone)]
pub struct Position {
    len: Option<u64>,
    watch: Arc<Watch>,
}

impl Position {
    /// The start of a file of this length.
    pub(crate) fn start_of(len: u64) -> Self {
        Self { len: Some(len), watch: Arc::default() }
    }

    /// The start of an input of unknown length.
    pub(crate) fn unknown() -> Self {
        Self { len: None, watch: Arc::default() }
    }

    /// The file was read up to here.
    pub(crate) fn advance_to(&self, offset: u64) {
        self.watch.read.store(offset, Ordering::Relaxed);
    }

    /// Bytes of the file, if it is one.
    #[must_use]
    pub fn file_len(&self) -> Option<u64> {
        self.len
    }

    /// Bytes that were read.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.watch.read.load(Ordering::Relaxed)
    }
}

/// What is known of the bytes below the decompressor.
#[derive(Debug, Default)]
struct Watch {
    /// Whether an error came from the operating system and not from the decompressor.
    failed: AtomicBool,
    /// Bytes that were read.
    read: AtomicU64,
}

/// Remembers how far was read, and that it failed.
struct Watched<R> {
    inner: R,
    watch: Arc<Watch>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.inner.read(buffer);
        match &result {
            Ok(len) => drop(self.watch.read.fetch_add(*len as u64, Ordering::Relaxed)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.watch.failed.store(true, Ordering::Relaxed),
        }
        result
    }
}

impl Source {
    /// Opens a file, or standard input if the path is `-`.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or its first bytes cannot be read or decompressed.
    pub fn open(path: &Path) -> Result<Self, IngestError> {
        Self::open_within(path, MAX_WINDOW_LEN)
    }

    /// Opens a file, or standard input if the path is `-`. A zstd stream may look back over `max_window_len` bytes, which
    /// take as much memory, and over at least 1 MiB; more is an error of that stream.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_within(path: &Path, max_window_len: usize) -> Result<Self, IngestError> {
        let window = max_window_len.clamp(MIN_WINDOW_LEN, MAX_WINDOW_LEN);
        if path == Path::new("-") {
            return Self::with_buffers("standard input".to_owned(), io::stdin(), BUFFER_LEN, window);
        }
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => {
                // A pipe or a device has no length that says how much comes.
                let file_len =
                    file.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
                Ok(Self { file_len, ..Self::with_buffers(name, file, BUFFER_LEN, window)? })
            }
            Err(source) => Err(IngestError::Open { input: name, source }),
        }
    }

    /// An input from any reader. The name is for messages.
    ///
    /// # Errors
    ///
    /// The first bytes cannot be read or decompressed.
    pub fn new(name: String, reader: impl Read + Send + 'static) -> Result<Self, IngestError> {
        Self::with_buffer_len(name, reader, BUFFER_LEN)
    }

    /// As [`new`](Self::new), with buffers of another length: for tests, in which small ones have their ends everywhere in an input.
    #[doc(hidden)]
    pub fn with_buffer_len(
        name: String,
        reader: impl Read + Send + 'static,
        buffer_len: usize,
    ) -> Result<Self, IngestError> {
        Self::with_buffers(name, reader, buffer_len, MAX_WINDOW_LEN)
    }

    fn with_buffers(
        name: String,
        reader: impl Read + Send + 'static,
        buffer_len: usize,
        window: usize,
    ) -> Result<Self, IngestError> {
        let watch = Arc::new(Watch::default());
        let mut raw = BufReader::with_capacity(buffer_len, Watched { inner: reader, watch: watch.clone() });
        let read_error = |source| IngestError::Read { input: name.clone(), offset: 0, source };
        let mut head = Vec::new();
        raw.by_ref().take(4).read_to_end(&mut head).map_err(read_error)?;
        let compression = Compression::detect(&head);
        let raw = Cursor::new(head).chain(raw);
        let content: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(raw),
            Compression::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(raw).map_err(read_error)?;
                decoder.window_log_max(window.ilog2()).map_err(read_error)?;
                Box::new(decoder)
            }
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(raw)),
        };
        let mut source = Self {
            name,
            compression,
            reader: Cursor::new(Vec::new()).chain(BufReader::with_capacity(buffer_len, content)),
            offset: 0,
            file_len: None,
            watch,
            truncated: false,
        };
        let mut head = Vec::new();
        let (_, rest) = source.reader.get_mut();
        let result = rest.take(HEAD_LEN).read_to_end(&mut head);
        source.survive(result)?;
        // A byte order mark says nothing in UTF-8, and JSON does not allow it.
        let mark_len = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let (first, _) = source.reader.get_mut();
        *first = Cursor::new(head);
        source.consume(mark_len);
        Ok(source)
    }

    /// The name, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How far it was read, in bytes of the content.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the compressed stream ended before its end. Its content up to there was read.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// How far it is read, also while another thread reads it.
    #[must_use]
    pub fn position(&self) -> Position {
        Position { len: self.file_len, watch: self.watch.clone() }
    }

    /// Whether the next bytes are there without asking the operating system or the decompressor.
    pub(super) fn has_buffered(&self) -> bool {
        let (first, rest) = self.reader.get_ref();
        (first.position() as usize) < first.get_ref().len() || !rest.buffer().is_empty()
    }

    /// Whether all of its content was looked at already, because it is small.
    pub(crate) fn is_at_hand(&self) -> bool {
        (self.head().len() as u64) < HEAD_LEN - 3
    }

    /// The first bytes, while nothing was read.
    pub(super) fn head(&self) -> &[u8] {
        let (first, _) = self.reader.get_ref();
        first.get_ref().get(first.position() as usize..).unwrap_or_default()
    }

    /// The next bytes, empty at the end. They stay there until [`consume`](Self::consume).
    pub(super) fn fill(&mut self) -> Result<&[u8], IngestError> {
        // Asked twice, because a borrow that is returned cannot be given up on the other way.
        loop {
            match self.reader.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.survive(Err(error))?;
                    return Ok(&[]);
                }
            }
        }
        self.reader.fill_buf().map_err(|source| IngestError::Read {
            input: self.name.clone(),
            offset: self.offset,
            source,
        })
    }

    /// Moves on.
    pub(super) fn consume(&mut self, count: usize) {
        self.reader.consume(count);
        self.offset += count as u64;
    }

    /// What an error means: a compressed stream that ends too early is an end that is remembered, other errors stay
    /// errors.
    fn survive(&mut self, result: io::Result<usize>) -> Result<(), IngestError> {
        let Err(source) = result else { return Ok(()) };
        let (input, offset) = (self.name.clone(), self.offset);
        if self.compression == Compression::None || self.watch.failed.load(Ordering::Relaxed) {
            return Err(IngestError::Read { input, offset, source });
        }
        if source.kind() == io::ErrorKind::UnexpectedEof {
            self.truncated = true;
            return Ok(());
        }
        Err(IngestError::Compression { input, compression: self.compression.name(), offset, source })
    }
}
