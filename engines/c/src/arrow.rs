//! Selected series as streams of Arrow record batches.

use std::mem::MaybeUninit;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use blocks::BatchOptions;

use crate::blocks::CxBlocks;
use crate::error::{CxError, Failure, guard};
use crate::label::CxString;
use crate::pointer::required;
use crate::query::{Asked, CxQuery};
use crate::rows::{CX_ORDER_LABELS, CX_ORDER_REFS, CxOrder};
use crate::status::CxStatus;

/// Description of a stream of Arrow record batches. Calls accept NULL, and a struct of zeros, for all defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxArrowOptions {
    /// Names of the labels that become columns, each under its name; a label that no block has becomes a column of
    /// nulls. NULL for all labels of the blocks.
    pub labels: *const CxString,
    /// Number of `labels`.
    pub label_count: usize,
    /// Names of series columns that become columns behind the labels, each under its name, and
    /// `chronoxide.fingerprint` for the fingerprints of series (16 bytes). A column that only some blocks have is null
    /// in the others; one that none has gives CX_USAGE. NULL for none.
    pub values: *const CxString,
    /// Number of `values`.
    pub value_count: usize,
    /// True for one column `labels` with a map of all labels, instead of a column per label.
    pub as_map: bool,
    /// True for columns of type `Utf8View` instead of `Dictionary(UInt32, Utf8View)`, for consumers without
    /// dictionaries.
    pub without_dictionaries: bool,
    /// True for a column `block` with the ids of blocks.
    pub block_ids: bool,
    /// Order of the series of each block: one of CX_ORDER_....
    pub order: CxOrder,
    /// Number of series per batch, or 0 for 8,192.
    pub batch_size: usize,
    /// Maximum number of series, or 0 for all.
    pub max_series: u64,
}

/// Makes a stream of Arrow record batches of the series of a query, block by block: a column `series_ref`, with an
/// underscore before it if a label has this name, and a column per label, or one map of all. Strings are those of the
/// blocks, without copies.
///
/// The consumer releases the stream, and each schema and array that it takes from it, as the Arrow C stream interface
/// says. They keep the blocks open. If the call fails, `stream` is marked as released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_query_arrow_stream(
    blocks: Option<&CxBlocks>,
    query: Option<&CxQuery<'_>>,
    options: Option<&CxArrowOptions>,
    stream: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let stream = required(stream, "stream")?;
        stream.write(FFI_ArrowArrayStream::empty());
        let asked = Asked::new(blocks, query)?;
        // SAFETY: the caller's contract includes what the options point to.
        let options = unsafe { batch_options(options) }?;
        // SAFETY: the caller's contract.
        let batches = unsafe { asked.ask(query, |query| Ok(query.batches(&options)?)) }?;
        stream.write(FFI_ArrowArrayStream::new(Box::new(batches)));
        Ok(())
    })
}

/// Returns the options of the caller.
///
/// # Safety
/// The labels and values of the options are as many as these count, and each points to its bytes.
unsafe fn batch_options(options: Option<&CxArrowOptions>) -> Result<BatchOptions, Failure> {
    let Some(wanted) = options else { return Ok(BatchOptions::new()) };
    let is_sorted = match wanted.order {
        CX_ORDER_REFS => false,
        CX_ORDER_LABELS => true,
        other => {
            return Err(Failure::usage(format!("order: {other} is not one of CX_ORDER_REFS, CX_ORDER_LABELS")));
        }
    };
    let mut options = BatchOptions::new().sorted(is_sorted).as_map(wanted.as_map).block_ids(wanted.block_ids);
    options = options.without_dictionaries(wanted.without_dictionaries);
    if !wanted.labels.is_null() {
        // SAFETY: this function's contract.
        options = options.labels(unsafe { CxString::texts(wanted.labels, wanted.label_count, "labels") }?);
    }
    if !wanted.values.is_null() {
        // SAFETY: this function's contract.
        options = options.values(unsafe { CxString::texts(wanted.values, wanted.value_count, "values") }?);
    }
    if wanted.batch_size > 0 {
        options = options.batch_size(wanted.batch_size);
    }
    Ok(if wanted.max_series > 0 { options.limit(wanted.max_series) } else { options })
}
