//! Writes an index: [`IndexWriter`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, ErrorKind, Write};

use super::files::MAGIC;
use super::series::ALIGNMENT;
use crate::prometheus::chunk_lists::ChunkPlace;
use crate::prometheus::varint::{uvarint, varint};

/// Alignment of postings.
const POSTINGS_ALIGNMENT: u64 = 4;

/// Version of the index.
const VERSION: u8 = 2;

/// Writes an index of version 2, byte for byte as Prometheus does: series by series, in the order of their labels.
///
/// Memory holds the symbols, and 4 bytes per label of each series.
///
/// ```
/// use chronoxide_ingest::prometheus::chunk_lists::ChunkPlace;
/// use chronoxide_ingest::prometheus::tsdb::IndexWriter;
///
/// let mut index = IndexWriter::new(Vec::new(), ["__name__", "up"].into())?;
/// index.series(&[("__name__", "up")], &[ChunkPlace { reference: 8, first: 0, last: 15_000 }])?;
/// let bytes = index.finish()?;
/// assert_eq!(bytes[..5], [0xba, 0xaa, 0xd7, 0x00, 2]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct IndexWriter<'a, W> {
    out: W,
    position: u64,
    /// Numbers of symbols.
    symbols: HashMap<&'a str, u32>,
    /// Places of the series with each label, by the numbers of name and value.
    postings: BTreeMap<(u32, u32), Vec<u32>>,
    series: Vec<u32>,
    symbols_start: u64,
    series_start: u64,
    /// Bytes of the part that is written, to keep their memory.
    buffer: Vec<u8>,
}

impl<'a, W: Write> IndexWriter<'a, W> {
    /// Begins an index with these symbols: all names and values of its labels.
    ///
    /// # Errors
    ///
    /// The output fails, or there are too many symbols.
    pub fn new(out: W, symbols: BTreeSet<&'a str>) -> io::Result<Self> {
        let mut writer = Self {
            out,
            position: 0,
            symbols: HashMap::new(),
            postings: BTreeMap::new(),
            series: Vec::new(),
            symbols_start: 0,
            series_start: 0,
            buffer: Vec::new(),
        };
        let mut header = MAGIC.to_vec();
        header.push(VERSION);
        writer.write(&header)?;
        writer.symbols_start = writer.position;
        let mut content = number(symbols.len())?.to_vec();
        for (place, symbol) in (0..).zip(&symbols) {
            text(symbol, &mut content);
            writer.symbols.insert(symbol, place);
        }
        writer.section(&content)?;
        writer.series_start = writer.position;
        Ok(writer)
    }

    /// Writes a series: its labels by name, and its chunks by time. It comes after those with lesser labels. Returns
    /// its reference, which tombstones have.
    ///
    /// # Errors
    ///
    /// The output fails, a label is not among the symbols, or the index gets longer than 64 GiB.
    pub fn series(&mut self, labels: &[(&'a str, &'a str)], chunks: &[ChunkPlace]) -> io::Result<u32> {
        self.pad(ALIGNMENT)?;
        let place =
            u32::try_from(self.position / ALIGNMENT).map_err(|_| too_long("the index is longer than 64 GiB"))?;
        let mut content = Vec::new();
        uvarint(labels.len() as u64, &mut content);
        for &(name, value) in labels {
            let symbol = |text| self.symbols.get(text).copied().ok_or_else(|| too_long("a label that is not a symbol"));
            let (name_symbol, value_symbol) = (symbol(name)?, symbol(value)?);
            uvarint(name_symbol.into(), &mut content);
            uvarint(value_symbol.into(), &mut content);
            self.postings.entry((name_symbol, value_symbol)).or_default().push(place);
        }
        uvarint(chunks.len() as u64, &mut content);
        let mut before: Option<ChunkPlace> = None;
        for chunk in chunks {
            match before {
                None => varint(chunk.first, &mut content),
                Some(before) => uvarint(chunk.first.wrapping_sub(before.last).cast_unsigned(), &mut content),
            }
            uvarint(chunk.last.wrapping_sub(chunk.first).cast_unsigned(), &mut content);
            match before {
                None => uvarint(chunk.reference, &mut content),
                Some(before) => {
                    varint(chunk.reference.wrapping_sub(before.reference).cast_signed(), &mut content);
                }
            }
            before = Some(*chunk);
        }
        let mut entry = std::mem::take(&mut self.buffer);
        entry.clear();
        uvarint(content.len() as u64, &mut entry);
        entry.extend_from_slice(&content);
        entry.extend_from_slice(&crc32c::crc32c(&content).to_be_bytes());
        self.write(&entry)?;
        self.buffer = entry;
        self.series.push(place);
        Ok(place)
    }

    /// Writes the postings and the table of contents, flushes the output, and returns it.
    ///
    /// # Errors
    ///
    /// The output fails, or a part gets longer than its length can say.
    pub fn finish(mut self) -> io::Result<W> {
        // Label indices are not written any more. The padding before the postings counts as a part of them.
        let postings_start = self.position;
        let mut texts: Vec<&str> = vec![""; self.symbols.len()];
        for (symbol, place) in &self.symbols {
            if let Some(text) = texts.get_mut(*place as usize) {
                *text = symbol;
            }
        }
        let postings = std::mem::take(&mut self.postings);
        let mut table = number(postings.len() + 1)?.to_vec();
        let all = std::mem::take(&mut self.series);
        self.postings(("", ""), &all, &mut table)?;
        // Numbers of symbols are in the order of the symbols.
        for ((name, value), series) in &postings {
            let label = (texts.get(*name as usize), texts.get(*value as usize));
            let (Some(name), Some(value)) = label else { continue };
            self.postings((name, value), series, &mut table)?;
        }
        let table_start = self.position;
        self.section(&table)?;
        let starts = [self.symbols_start, self.series_start, postings_start, table_start, postings_start, table_start];
        let mut contents: Vec<u8> = starts.iter().flat_map(|start| start.to_be_bytes()).collect();
        contents.extend_from_slice(&crc32c::crc32c(&contents).to_be_bytes());
        self.write(&contents)?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes the series with a label, and adds their place to the table of postings.
    fn postings(&mut self, (name, value): (&str, &str), series: &[u32], table: &mut Vec<u8>) -> io::Result<()> {
        self.pad(POSTINGS_ALIGNMENT)?;
        uvarint(2, table);
        text(name, table);
        text(value, table);
        uvarint(self.position, table);
        let mut content = number(series.len())?.to_vec();
        content.extend(series.iter().flat_map(|place| place.to_be_bytes()));
        self.section(&content)
    }

    /// Writes a part with its length before it and its checksum behind it.
    fn section(&mut self, content: &[u8]) -> io::Result<()> {
        self.write(&number(content.len())?)?;
        self.write(content)?;
        self.write(&crc32c::crc32c(content).to_be_bytes())
    }

    fn pad(&mut self, alignment: u64) -> io::Result<()> {
        let missing = self.position.next_multiple_of(alignment) - self.position;
        self.write(&[0; 16][..missing as usize])
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.position += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}

/// Returns a number as an index has it.
fn number(number: usize) -> io::Result<[u8; 4]> {
    let number = u32::try_from(number).map_err(|_| too_long("a part of the index is longer than 4 GiB"))?;
    Ok(number.to_be_bytes())
}

fn too_long(reason: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, reason)
}

fn text(text: &str, out: &mut Vec<u8>) {
    uvarint(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// Returns a file of tombstones: for each series by its reference, first and last deleted times.
#[must_use]
pub fn tombstones_file(deleted: &[(u32, i64, i64)]) -> Vec<u8> {
    let mut body = Vec::new();
    for &(reference, first, last) in deleted {
        uvarint(reference.into(), &mut body);
        varint(first, &mut body);
        varint(last, &mut body);
    }
    let mut file = super::tombstones::HEADER.to_vec();
    file.extend_from_slice(&body);
    file.extend_from_slice(&crc32c::crc32c(&body).to_be_bytes());
    file
}
