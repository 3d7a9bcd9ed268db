//! Pages of a column in a row group: [`Pages`].

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;

use super::codec::decompress;
use super::delta::count_and_end;
use super::header::{Content, Header};
use super::meter::Meter;
use crate::columns::error::ColumnsError;

/// Bytes that are read to find the header of a page. Headers with long statistics are read again, with more bytes.
const HEADER_LEN: usize = 512;

/// Maximum length of a header.
const MAX_HEADER_LEN: usize = 16 << 20;

/// Memory of an entry of a map besides its text: a view and two levels, which grow by doubling.
const MEMORY_PER_ENTRY: u64 = 40;

/// Bytes of a text of no bytes in a dictionary: its length.
const MIN_TEXT_LEN: usize = 4;

/// Encodings whose texts the decoder assembles from parts, so that it copies them.
const DELTA_BYTE_ARRAY: i64 = 7;
const DELTA_LENGTH_BYTE_ARRAY: i64 = 6;

/// Limits of reading pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Maximum length of a page in bytes, compressed and decompressed.
    pub(super) max_page_len: usize,
    /// Number of rows of a batch.
    pub(super) batch_rows: usize,
}

/// Reader of the pages of a column in a row group.
pub(super) struct Pages {
    file: Arc<File>,
    offset: u64,
    end: u64,
    codec: Compression,
    max_definition: i16,
    max_repetition: i16,
    limits: Limits,
    meter: Arc<Meter>,
    /// Header at `offset`, if it was read.
    next: Option<Header>,
    /// Memory of the last page of data.
    last_len: u64,
}

impl Pages {
    pub(super) fn new(file: Arc<File>, chunk: &ColumnChunkMetaData, limits: Limits, meter: Arc<Meter>) -> Self {
        let (offset, len) = chunk.byte_range();
        let column = chunk.column_descr();
        Self {
            file,
            offset,
            end: offset.saturating_add(len),
            codec: chunk.compression(),
            max_definition: column.max_def_level(),
            max_repetition: column.max_rep_level(),
            limits,
            meter,
            next: None,
            last_len: 0,
        }
    }

    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&*self.file).seek(SeekFrom::Start(offset))?;
        (&*self.file).take(len as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Returns the header of the next page that holds rows or a dictionary, or `None` after the last page.
    fn header(&mut self) -> Result<Option<Header>> {
        while self.next.is_none() && self.offset < self.end {
            let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
            let mut len = HEADER_LEN;
            let header = loop {
                let bytes = self.read(self.offset, len.min(left))?;
                match Header::parse(&bytes) {
                    Err(_) if bytes.len() == len && len < left && len < MAX_HEADER_LEN => len *= 8,
                    parsed => break parsed.map_err(external)?,
                }
            };
            if header.compressed_len > left.saturating_sub(header.len) {
                return Err(external(ColumnsError::Message("a page extends beyond its column chunk")));
            }
            match header.content {
                Content::Other => self.offset += (header.len + header.compressed_len) as u64,
                _ => self.next = Some(header),
            }
        }
        Ok(self.next)
    }

    /// Checks the claims of a header before anything is allocated by them.
    fn check(&self, header: &Header) -> std::result::Result<(), ColumnsError> {
        let limit = self.limits.max_page_len;
        if let Some(len) = [header.uncompressed_len, header.compressed_len].into_iter().find(|&len| len > limit) {
            return Err(ColumnsError::TooLarge { what: "a page", len: len as u64, limit: limit as u64 });
        }
        match header.content {
            Content::Dictionary { values, .. } if values as usize > header.uncompressed_len / MIN_TEXT_LEN => {
                Err(ColumnsError::Message("a dictionary has more values than its bytes can hold"))
            }
            _ => Ok(()),
        }
    }

    /// Counts the memory of a page.
    fn count(&mut self, header: &Header, encoding: i64, values: u32) -> std::result::Result<(), ColumnsError> {
        let len = header.uncompressed_len as u64;
        // Each text may repeat all bytes of the texts before it.
        let copies = if encoding == DELTA_BYTE_ARRAY { self.limits.batch_rows.min(values as usize) as u64 } else { 1 };
        let entries = if self.max_repetition > 0 { u64::from(values) * MEMORY_PER_ENTRY } else { 0 };
        let memory = len.saturating_mul(copies).saturating_add(entries);
        self.meter.add(memory, self.last_len)?;
        self.last_len = memory;
        Ok(())
    }

    /// Checks the number of texts that a page with a delta encoding claims. The decoder allocates by it.
    fn check_delta(&self, page: &[u8], header: &Header) -> std::result::Result<(), ColumnsError> {
        const DAMAGED: ColumnsError = ColumnsError::Message("the lengths of texts in a page are damaged");
        let (start, encoding, values) = match header.content {
            Content::DataV2 { encoding, values, definition_len, repetition_len, .. } => {
                (definition_len as usize + repetition_len as usize, encoding, values)
            }
            Content::Data { encoding, values, .. } => {
                let levels = usize::from(self.max_repetition > 0) + usize::from(self.max_definition > 0);
                (levels_len(page, levels).ok_or(DAMAGED)?, encoding, values)
            }
            _ => return Ok(()),
        };
        let lists = match encoding {
            DELTA_BYTE_ARRAY => 2,
            DELTA_LENGTH_BYTE_ARRAY => 1,
            _ => return Ok(()),
        };
        let mut at = start;
        for _ in 0..lists {
            let (count, end) = count_and_end(page, at).ok_or(DAMAGED)?;
            if count > u64::from(values) || count > self.limits.max_page_len as u64 / 4 {
                return Err(ColumnsError::Message("a page has more texts than its header says"));
            }
            at = end;
        }
        Ok(())
    }

    fn page(&mut self, header: Header) -> Result<Page> {
        self.check(&header).map_err(external)?;
        let start = self.offset + header.len as u64;
        let compressed = self.read(start, header.compressed_len)?;
        if compressed.len() < header.compressed_len {
            return Err(external(ColumnsError::Message("the file ends within a page")));
        }
        if let Some(expected) = header.crc {
            let mut crc = flate2::Crc::new();
            crc.update(&compressed);
            if crc.sum() != expected {
                return Err(external(ColumnsError::Message("the checksum of a page does not match")));
            }
        }
        // Levels of version 2 are not compressed.
        let (plain_len, is_compressed) = match header.content {
            Content::DataV2 { definition_len, repetition_len, is_compressed, .. } => {
                (definition_len as usize + repetition_len as usize, is_compressed)
            }
            _ => (0, true),
        };
        let bytes = if is_compressed && self.codec != Compression::UNCOMPRESSED {
            let levels = compressed.get(..plain_len).filter(|_| plain_len <= header.uncompressed_len);
            let levels = levels.ok_or_else(|| external(ColumnsError::Message("the levels of a page exceed it")))?;
            let mut out = vec![0; header.uncompressed_len];
            let (to_levels, to_values) = out.split_at_mut(plain_len);
            to_levels.copy_from_slice(levels);
            // A page of NULLs has no bytes to decompress.
            if !to_values.is_empty() {
                decompress(self.codec, compressed.get(plain_len..).unwrap_or_default(), to_values).map_err(external)?;
            }
            out
        } else {
            if compressed.len() != header.uncompressed_len || plain_len > compressed.len() {
                return Err(external(ColumnsError::Message("a page has another length than its header says")));
            }
            compressed
        };
        self.check_delta(&bytes, &header).map_err(external)?;
        let buf = Bytes::from(bytes);
        let page = match header.content {
            Content::Dictionary { values, encoding } => {
                // Views of the values.
                let len = buf.len() as u64 + u64::from(values) * 16;
                self.meter.add(len, 0).map_err(external)?;
                Page::DictionaryPage { buf, num_values: values, encoding: known(encoding)?, is_sorted: false }
            }
            Content::Data { values, encoding, definition_encoding, repetition_encoding } => {
                self.count(&header, encoding, values).map_err(external)?;
                Page::DataPage {
                    buf,
                    num_values: values,
                    encoding: known(encoding)?,
                    def_level_encoding: known(definition_encoding)?,
                    rep_level_encoding: known(repetition_encoding)?,
                    statistics: None,
                }
            }
            Content::DataV2 { values, nulls, rows, encoding, definition_len, repetition_len, is_compressed } => {
                self.count(&header, encoding, values).map_err(external)?;
                Page::DataPageV2 {
                    buf,
                    num_values: values,
                    encoding: known(encoding)?,
                    num_nulls: nulls,
                    num_rows: rows,
                    def_levels_byte_len: definition_len,
                    rep_levels_byte_len: repetition_len,
                    is_compressed,
                    statistics: None,
                }
            }
            Content::Other => return Err(external(ColumnsError::Message("unexpected kind of page"))),
        };
        self.pass(header);
        Ok(page)
    }

    fn pass(&mut self, header: Header) {
        self.offset += (header.len + header.compressed_len) as u64;
        self.next = None;
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.header()?.map(|header| self.page(header)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Ok(self.header()?.map(|header| match header.content {
            Content::Data { values, .. } => {
                // Without repetition each value is a row. With it, a row may extend over several pages.
                let num_rows = (self.max_repetition == 0).then_some(values as usize);
                PageMetadata { num_rows, num_levels: Some(values as usize), is_dict: false }
            }
            Content::DataV2 { values, rows, .. } => {
                PageMetadata { num_rows: Some(rows as usize), num_levels: Some(values as usize), is_dict: false }
            }
            _ => PageMetadata { num_rows: None, num_levels: None, is_dict: true },
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        if let Some(header) = self.header()? {
            self.pass(header);
        }
        Ok(())
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Returns the length of the levels of a page of version 1, which each have their length before them.
fn levels_len(page: &[u8], levels: usize) -> Option<usize> {
    let mut at = 0_usize;
    for _ in 0..levels {
        let prefix = page.get(at..)?.first_chunk::<4>()?;
        at = at.checked_add(4)?.checked_add(usize::try_from(u32::from_le_bytes(*prefix)).ok()?)?;
    }
    Some(at)
}

fn known(encoding: i64) -> Result<Encoding> {
    Ok(match encoding {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        #[expect(deprecated, reason = "old files have it")]
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        DELTA_LENGTH_BYTE_ARRAY => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        DELTA_BYTE_ARRAY => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return Err(external(ColumnsError::Data(format!("unknown encoding {encoding}")))),
    })
}

fn external(error: ColumnsError) -> ParquetError {
    ParquetError::External(Box::new(error))
}
