//! Decompressed files and standard input: [`Source`].

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::content::{self, Content};
use crate::error::IngestError;

/// Bytes that are examined to detect a format.
pub(super) const HEAD_LEN: u64 = 64 * 1024;

/// Bytes per read from the operating system.
const BUFFER_LEN: usize = 256 * 1024;

/// U+FEFF, which some programs write before text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes that are NUL in a file that was truncated while a program wrote to it. Fewer are the start of a message.
pub(super) const MIN_NUL_BYTES: usize = 64;

/// Default maximum window of a zstd stream, which is the default of `zstd`.
pub(super) const MAX_WINDOW_LEN: usize = 128 << 20;

/// Window of a zstd stream that is always allowed.
const MIN_WINDOW_LEN: usize = 1 << 20;

/// Compression format of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "names")]
pub enum Compression {
    None,
    Zstd,
    Gzip,
}

impl Compression {
    /// Detects the compression by the first bytes of a file or a message.
    pub(super) fn detect(head: &[u8]) -> Self {
        // A zstd stream may begin with a skippable frame: 50 to 5F, 2A 4D 18.
        match head {
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0x1f, 0x8b, ..] => Self::Gzip,
            _ => Self::None,
        }
    }

    /// Returns the name for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "plain",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }
}

/// Open input: its decompressed content, and the position in it.
pub struct Source {
    name: String,
    compression: Compression,
    /// First bytes of the content, and those after damage.
    head: Cursor<Vec<u8>>,
    rest: BufReader<Box<dyn Content>>,
    offset: u64,
    /// Length of the file, if the input is a file.
    file_len: Option<u64>,
    /// Path of the file, if the input is a file that is not compressed.
    path: Option<PathBuf>,
    watch: Arc<Watch>,
    /// True if the whole rest of the content was read as its head.
    is_at_hand: bool,
    truncated: bool,
    /// Damage of the compressed stream, which ends the content so far.
    damage: Option<io::Error>,
    /// Statements of the content that a part of it is missing.
    stated_losses: Vec<String>,
    /// True if a byte order mark was skipped.
    has_mark: bool,
}

/// Position in an input before decompression, shared between threads.
#[derive(Debug, Clone)]
pub struct Position {
    len: Option<u64>,
    watch: Arc<Watch>,
}

impl Position {
    /// Creates the start of a file of this length.
    pub(crate) fn start_of(len: u64) -> Self {
        Self { len: Some(len), watch: Arc::default() }
    }

    /// Creates the start of an input of unknown length.
    pub(crate) fn unknown() -> Self {
        Self { len: None, watch: Arc::default() }
    }

    /// Sets the position.
    pub(crate) fn advance_to(&self, offset: u64) {
        self.watch.read.store(offset, Ordering::Relaxed);
    }

    /// Returns the length of the file, if the input is a file.
    #[must_use]
    pub fn file_len(&self) -> Option<u64> {
        self.len
    }

    /// Returns the number of bytes read.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.watch.read.load(Ordering::Relaxed)
    }
}

/// State of the reader below the decompressor.
#[derive(Debug, Default)]
struct Watch {
    /// True if an error came from the operating system instead of the decompressor.
    failed: AtomicBool,
    /// Number of bytes read.
    read: AtomicU64,
}

/// Reader that records its position and failures.
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

    /// Opens a file, or standard input if the path is `-`. The window of a zstd stream may have `max_window_len` bytes,
    /// which take as much memory, and at least 1 MiB. A larger window is an error of the stream.
    ///
    /// # Errors
    ///
    /// Errors of [`open`](Self::open).
    pub fn open_within(path: &Path, max_window_len: usize) -> Result<Self, IngestError> {
        let window = max_window_len.clamp(MIN_WINDOW_LEN, MAX_WINDOW_LEN);
        if path == Path::new("-") {
            return Self::with_buffers("standard input".to_owned(), io::stdin(), BUFFER_LEN, window);
        }
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => {
                // The length of a pipe or a device is unknown.
                let file_len =
                    file.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
                let source = Self::with_buffers(name, file, BUFFER_LEN, window)?;
                let is_plain = source.compression == Compression::None;
                let path = file_len.filter(|_| is_plain).map(|_| path.to_owned());
                Ok(Self { file_len, path, ..source })
            }
            Err(source) => Err(IngestError::Open { input: name, source }),
        }
    }

    /// Creates an input from any reader. The name is for messages.
    ///
    /// # Errors
    ///
    /// The first bytes cannot be read or decompressed.
    pub fn new(name: String, reader: impl Read + Send + 'static) -> Result<Self, IngestError> {
        Self::with_buffer_len(name, reader, BUFFER_LEN)
    }

    /// Like [`new`](Self::new), with another buffer length: tests use small buffers, whose ends lie everywhere in an
    /// input.
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
        let raw = Watched { inner: reader, watch: watch.clone() };
        let opened = content::open(raw, buffer_len, window.ilog2());
        let (compression, content) =
            opened.map_err(|source| IngestError::Read { input: name.clone(), offset: 0, source })?;
        let mut source = Self {
            name,
            compression,
            head: Cursor::default(),
            rest: BufReader::with_capacity(buffer_len, content),
            offset: 0,
            file_len: None,
            path: None,
            watch,
            is_at_hand: false,
            truncated: false,
            damage: None,
            stated_losses: Vec::new(),
            has_mark: false,
        };
        source.read_head()?;
        // A byte order mark has no meaning in UTF-8, and JSON does not allow it.
        source.has_mark = source.head().starts_with(BYTE_ORDER_MARK);
        source.consume(source.mark().len());
        Ok(source)
    }

    /// Returns the name for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the position in the decompressed content.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns true if the compressed stream is truncated. Its content up to there was read.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Adds statements of the content that a part of it is missing.
    pub(super) fn states_loss(&mut self, reasons: impl IntoIterator<Item = String>) {
        self.stated_losses.extend(reasons);
    }

    /// Returns the statements of the content so far that a part of it is missing.
    pub(crate) fn stated_losses(&self) -> &[String] {
        &self.stated_losses
    }

    /// Returns the byte order mark that the content began with, or nothing. It was skipped.
    pub(crate) fn mark(&self) -> &'static [u8] {
        if self.has_mark { BYTE_ORDER_MARK } else { &[] }
    }

    /// Returns the position in the compressed input, which another thread may advance.
    #[must_use]
    pub fn position(&self) -> Position {
        Position { len: self.file_len, watch: self.watch.clone() }
    }

    /// Returns the path of the file if its content can be read at any position: it is a file, and not compressed.
    pub(crate) fn random_access(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns true if the next bytes are buffered.
    pub(super) fn has_buffered(&self) -> bool {
        !self.head().is_empty() || !self.rest.buffer().is_empty()
    }

    /// Returns true if the whole content is buffered, because it is small.
    pub(crate) fn is_at_hand(&self) -> bool {
        self.is_at_hand
    }

    /// Returns the first bytes, before anything is consumed.
    pub(super) fn head(&self) -> &[u8] {
        self.head.get_ref().get(self.head.position() as usize..).unwrap_or_default()
    }

    /// Reads more of the head, up to twice its length. Returns false at the end of the content.
    pub(super) fn extend_head(&mut self) -> Result<bool, IngestError> {
        let before = self.head.get_ref().len();
        let result = self.rest.by_ref().take(before as u64).read_to_end(self.head.get_mut());
        let is_longer = self.head.get_ref().len() > before;
        self.survive(result)?;
        Ok(is_longer)
    }

    /// Passes over heads of nothing but NUL bytes. Returns the number of bytes.
    pub(super) fn pass_nul_bytes(&mut self) -> Result<u64, IngestError> {
        let before = self.offset;
        if self.head().len() < MIN_NUL_BYTES {
            return Ok(0);
        }
        while !self.head().is_empty() && self.head().iter().all(|&byte| byte == 0) {
            self.consume(self.head().len());
            self.read_head()?;
        }
        Ok(self.offset - before)
    }

    /// Reads the first bytes of the rest.
    fn read_head(&mut self) -> Result<(), IngestError> {
        self.head = Cursor::default();
        let result = self.rest.by_ref().take(HEAD_LEN).read_to_end(self.head.get_mut());
        self.is_at_hand = (self.head.get_ref().len() as u64) < HEAD_LEN;
        self.survive(result)
    }

    /// Returns true if the compressed stream is damaged or cut off before any content.
    pub(crate) fn has_failed_at_once(&self) -> bool {
        self.head().is_empty() && (self.truncated || self.damage.is_some())
    }

    /// Goes on after damage of the compressed stream, or after its end within a frame, if there is another frame.
    pub(crate) fn resume(&mut self) -> Result<bool, IngestError> {
        let resumed = self.rest.get_mut().resume();
        let is_resumed =
            resumed.map_err(|source| IngestError::Read { input: self.name.clone(), offset: self.offset, source })?;
        if is_resumed {
            self.truncated = false;
            self.damage = None;
            self.read_head()?;
        }
        Ok(is_resumed)
    }

    /// Returns the error of the damage or truncation of the compressed stream that ended the content so far.
    #[must_use]
    pub fn damage(&self) -> Option<IngestError> {
        let source = match &self.damage {
            Some(error) => io::Error::new(error.kind(), error.to_string()),
            None if self.truncated => io::Error::new(io::ErrorKind::UnexpectedEof, "a frame is cut off"),
            None => return None,
        };
        let (input, compression) = (self.name.clone(), self.compression.name());
        Some(IngestError::Compression { input, compression, offset: self.offset, source })
    }

    /// Returns the next bytes, empty at the end. [`consume`](Self::consume) advances.
    pub(super) fn fill(&mut self) -> Result<&[u8], IngestError> {
        if self.head().is_empty() {
            // Filled twice: the borrow checker does not allow to return the first borrow conditionally.
            loop {
                match self.rest.fill_buf() {
                    Ok(_) => break,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        self.survive(Err(error))?;
                        return Ok(&[]);
                    }
                }
            }
            return self.rest.fill_buf().map_err(|source| IngestError::Read {
                input: self.name.clone(),
                offset: self.offset,
                source,
            });
        }
        Ok(self.head())
    }

    /// Advances by `count` bytes.
    pub(super) fn consume(&mut self, count: usize) {
        if self.head().is_empty() {
            self.rest.consume(count);
        } else {
            self.head.consume(count);
        }
        self.offset += count as u64;
    }

    /// Converts an error: damage and truncation of a compressed stream are recorded and end the content; other errors
    /// are returned.
    fn survive(&mut self, result: io::Result<usize>) -> Result<(), IngestError> {
        let Err(source) = result else { return Ok(()) };
        let (input, offset) = (self.name.clone(), self.offset);
        if self.compression == Compression::None || self.watch.failed.load(Ordering::Relaxed) {
            return Err(IngestError::Read { input, offset, source });
        }
        if source.kind() == io::ErrorKind::UnexpectedEof {
            self.truncated = true;
        } else {
            self.damage = Some(source);
        }
        Ok(())
    }
}
