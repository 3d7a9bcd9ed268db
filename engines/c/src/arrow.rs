//! Selections as streams of Arrow record batches.

use std::mem::MaybeUninit;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use chronoxide_arrow::{Batches, Column, Guarded, Strings, TableError};

use crate::cursor::{CX_ORDER_LABELS, CX_ORDER_REFS, CxOrder};
use crate::error::{CxError, Failure, guard};
use crate::label::CxString;
use crate::pointer::{self, required};
use crate::selection::{CxSelection, Selected};
use crate::status::{CX_UNSUPPORTED, CX_USAGE, CxStatus, HasStatus};

/// Description of a stream of Arrow record batches. Calls accept NULL, and a struct of zeros, for all defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxArrowOptions {
    /// Names of the labels that become columns, each under its name; a label that the block does not have becomes a
    /// column of nulls. NULL for all labels of the block.
    pub labels: *const CxString,
    /// Number of `labels`.
    pub label_count: usize,
    /// True for one column `labels` with a map of all labels, instead of a column per label.
    pub as_map: bool,
    /// True for columns of type `Utf8View` instead of `Dictionary(UInt32, Utf8View)`, for consumers without
    /// dictionaries.
    pub without_dictionaries: bool,
    /// Order of the series: one of CX_ORDER_....
    pub order: CxOrder,
    /// Number of series per batch, or 0 for 8,192.
    pub batch_size: usize,
    /// Maximum number of series, or 0 for all.
    pub max_series: u64,
}

impl HasStatus for TableError {
    fn status(&self) -> CxStatus {
        match self {
            Self::Select(error) => error.status(),
            Self::DuplicateColumn { .. } => CX_USAGE,
            _ => CX_UNSUPPORTED,
        }
    }
}

/// Makes a stream of Arrow record batches of a selection: a column `series_ref`, with an underscore before it if a
/// label has this name, and a column per label, or one map of all. Strings are those of the block, without copies.
///
/// The consumer releases the stream, and each schema and array that it takes from it, as the Arrow C stream interface
/// says. They keep the block open. If the call fails, `stream` is marked as released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_selection_arrow_stream(
    selection: Option<&CxSelection>,
    options: Option<&CxArrowOptions>,
    stream: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let stream = required(stream, "stream")?;
        stream.write(FFI_ArrowArrayStream::empty());
        let selected = &required(selection, "selection")?.selected;
        // SAFETY: the caller's contract includes what the options point to.
        let batches = unsafe { batches(selected, options) }?;
        stream.write(FFI_ArrowArrayStream::new(Box::new(Guarded::new(batches))));
        Ok(())
    })
}

/// Starts reading a selection.
///
/// # Safety
/// The labels of the options are those that these count, and each points to its bytes.
unsafe fn batches(selected: &Selected, options: Option<&CxArrowOptions>) -> Result<Batches, Failure> {
    let table = selected.cell.table()?;
    let columns = table.columns()?.into_iter().map(Column::without_nul);
    let mut scan = table.scan().with_selection(selected.selection.clone()).with_columns(columns);
    let Some(options) = options else { return Ok(scan.batches()?) };
    if options.as_map {
        scan = scan.with_columns([Column::series_ref(), Column::labels()]);
    } else if !options.labels.is_null() {
        // SAFETY: this function's contract.
        let names = unsafe { pointer::array(options.labels, options.label_count, "labels") }?;
        let mut labels = Vec::with_capacity(names.len());
        for name in names {
            // SAFETY: this function's contract.
            labels.push(unsafe { pointer::text(name.data, name.len, "label name") }?.to_owned());
        }
        let columns = Column::with_labels([Column::series_ref()], labels);
        scan = scan.with_columns(columns.into_iter().map(Column::without_nul));
    }
    if options.without_dictionaries {
        scan = scan.with_strings(Strings::View);
    }
    scan = match options.order {
        CX_ORDER_REFS => scan,
        CX_ORDER_LABELS => scan.in_label_order(),
        other => {
            return Err(Failure::usage(format!("order: {other} is not one of CX_ORDER_REFS, CX_ORDER_LABELS")));
        }
    };
    if options.batch_size > 0 {
        scan = scan.with_batch_size(options.batch_size);
    }
    if options.max_series > 0 {
        scan = scan.with_limit(options.max_series);
    }
    Ok(scan.batches()?)
}
