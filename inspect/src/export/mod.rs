//! Series of a block as a file that other programs read: Parquet, Arrow, CSV or JSON lines.
//!
//! [`export`] reads a scan batch by batch and passes the encoded bytes on as they are ready. Memory holds one batch,
//! one row group of Parquet, and the dictionaries of the columns: it grows with distinct values, not with series.
//!
//! ```
//! use chronoxide_arrow::{BlockTable, Column};
//! use chronoxide_inspect::export::{Format, export};
//! use chronoxide_reader::{Block, Checks};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
//! let table = BlockTable::new(Block::read(path, Checks::Lazy)?)?;
//! let scan = table.scan().with_columns([Column::label("pod")]).with_limit(2);
//! let mut text = Vec::new();
//! export(&scan, Format::Csv, &mut text, &mut |_| true)?;
//! assert_eq!(String::from_utf8(text)?.lines().next(), Some("pod"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Fields of series columns have the name, the way to merge and the unit of the column as metadata
//! ([`field_key`](chronoxide_format::column::field_key)), in Parquet as part of an Arrow schema in the footer. Text has
//! times as RFC 3339, and bytes as hexadecimal digits after `0x`.
//!
//! | module | contents |
//! |---|---|
//! | `format` | [`Format`] |
//! | `value_fields` | [`value_columns`]: series columns beside labels, and metadata of their fields |
//! | `encoder` | `Encoder`: batches to bytes |
//! | `parquet_file` | Parquet |
//! | `arrow_file` | Arrow IPC, as a file or a stream |
//! | `compacted` | batches whose dictionaries do not refer to the block |
//! | `text` | CSV and JSON lines |
//! | `cells` | columns of a batch, as the text formats read them |
//! | `error` | [`ExportError`] |

mod arrow_file;
mod cells;
mod compacted;
mod encoder;
mod error;
mod format;
mod parquet_file;
mod text;
mod value_fields;

use std::io::Write;

use chronoxide_arrow::{ColumnContent, Scan};
use chronoxide_format::column::ValueType;

pub use error::ExportError;
pub use format::Format;
pub use value_fields::value_columns;

/// Bytes of the columns of one batch, about.
const BATCH_BYTES: usize = 4 << 20;
/// Series of a batch, whatever the number of columns.
const MIN_BATCH_SIZE: usize = 16;
const MAX_BATCH_SIZE: usize = 1 << 16;
/// Series of a batch with values of the type bytes: one may take 64 KiB.
const MAX_BATCH_SIZE_OF_BYTES: usize = 1 << 10;

/// Writes the series of a scan in a format, and flushes the output. Returns the number of series.
///
/// The type of strings and the batch size of the scan are replaced by those that suit the format. `progress` gets the
/// number of series written so far after each batch. If it returns false, the export ends with
/// [`ExportError::Cancelled`].
///
/// # Errors
/// [`ExportError::Table`] if the block is damaged or two columns have the same name, [`ExportError::Write`] if the
/// output fails, [`ExportError::Encode`] if the format cannot hold the columns.
pub fn export(
    scan: &Scan,
    format: Format,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<u64, ExportError> {
    let columns = scan.columns()?;
    let has_bytes = columns
        .iter()
        .any(|column| matches!(column.content(), ColumnContent::Values { value_type: ValueType::Bytes, .. }));
    let max_batch_size = if has_bytes { MAX_BATCH_SIZE_OF_BYTES } else { MAX_BATCH_SIZE };
    let bytes = columns.len().max(1) * format.bytes_per_cell();
    let batch_size = (BATCH_BYTES / bytes).clamp(MIN_BATCH_SIZE, max_batch_size);
    let scan = scan.clone().with_strings(format.strings()).with_batch_size(batch_size);
    let mut encoder = encoder::new(format, &scan)?;
    let mut batches = scan.batches()?;
    let mut series_count = 0;
    while let Some(batch) = batches.next().transpose().map_err(ExportError::from_batch)? {
        out.write_all(&encoder.encode(&batch)?)?;
        series_count += batch.num_rows() as u64;
        if !progress(series_count) {
            return Err(ExportError::Cancelled);
        }
    }
    out.write_all(&encoder.finish()?)?;
    out.flush()?;
    Ok(series_count)
}
