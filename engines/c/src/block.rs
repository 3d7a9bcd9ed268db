//! Blocks: open, verify, count, resolve, find.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::Arc;

use chronoxide_reader::{Block, Checks, SeriesRef};

use crate::error::{CxError, Failure, guard, guard_value};
use crate::label::{CX_NO_SERIES, CxLabel};
use crate::opened::{BlockCell, give};
use crate::pointer::{self, required};
use crate::status::{CX_TOO_SMALL, CxStatus};

/// When the checksums of a block are checked: one of CX_CHECKS_.... Header and directory always are, when it is
/// opened.
pub type CxChecks = i32;

/// Each chunk of 8 KiB when it is first read. Opening costs the same for any size of block.
pub const CX_CHECKS_LAZY: CxChecks = 0;
/// All of them at opening: one pass over the block at some 20 GB/s, and no further cost.
pub const CX_CHECKS_EAGER: CxChecks = 1;
/// Never, for bytes that were checked before. Damage gives an error or wrong values, and crashes nothing.
pub const CX_CHECKS_NEVER: CxChecks = 2;

/// Bytes of the text of a block id, with the NUL at its end.
pub const CX_BLOCK_ID_LEN: usize = 27;

/// An open block. It does not change: several threads may use one handle at once.
pub struct CxBlock {
    pub(crate) cell: Arc<BlockCell>,
}

/// A half-open range of times, in nanoseconds since 1970-01-01T00:00:00Z.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxTimeRange {
    /// First time of the range.
    pub start: i64,
    /// First time after the range.
    pub end: i64,
}

/// Returns the checks of a constant.
pub(crate) fn checks(checks: CxChecks) -> Result<Checks, Failure> {
    match checks {
        CX_CHECKS_LAZY => Ok(Checks::Lazy),
        CX_CHECKS_EAGER => Ok(Checks::Eager),
        CX_CHECKS_NEVER => Ok(Checks::Never),
        other => Err(Failure::usage(format!("checks: {other} is not one of CX_CHECKS_LAZY, _EAGER, _NEVER"))),
    }
}

impl CxBlock {
    fn new(block: Block) -> Self {
        Self { cell: BlockCell::share(block.into()) }
    }
}

/// Opens a block as a memory map.
///
/// As long as the block or anything made from it exists, the file must not be truncated and its bytes must not change:
/// the process could end with SIGBUS, or see other bytes than it checked. Published blocks meet this contract: they are
/// only deleted or replaced by renaming. Where others may write to the file, use cx_block_read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_block_map(
    path: *const c_char,
    checks: CxChecks,
    block: Option<&mut MaybeUninit<*mut CxBlock>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(block, "block", || {
            // SAFETY: the caller's contract.
            let path = unsafe { pointer::path(path, "path") }?;
            // SAFETY: the header states the contract of a map, and the caller keeps it.
            Ok(CxBlock::new(unsafe { Block::map(path, self::checks(checks)?) }?))
        })
    })
}

/// Opens a block by reading its file into memory. The file may change or disappear afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_block_read(
    path: *const c_char,
    checks: CxChecks,
    block: Option<&mut MaybeUninit<*mut CxBlock>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(block, "block", || {
            // SAFETY: the caller's contract.
            let path = unsafe { pointer::path(path, "path") }?;
            Ok(CxBlock::new(Block::read(path, self::checks(checks)?)?))
        })
    })
}

/// Opens a block from bytes, which are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_block_from_bytes(
    bytes: *const u8,
    len: usize,
    checks: CxChecks,
    block: Option<&mut MaybeUninit<*mut CxBlock>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(block, "block", || {
            // SAFETY: the caller's contract.
            let bytes = unsafe { pointer::array(bytes, len, "bytes") }?;
            Ok(CxBlock::new(Block::from_vec(bytes.to_vec(), self::checks(checks)?)?))
        })
    })
}

/// Frees a block, or does nothing for NULL. What was made from it stays valid, and so do labels and strings as long as
/// one of these handles exists.
#[unsafe(no_mangle)]
pub extern "C" fn cx_block_free(block: Option<Box<CxBlock>>) {
    guard_value(|| drop(block));
}

/// Checks every rule of the format: takes about as long as reading all labels.
#[unsafe(no_mangle)]
pub extern "C" fn cx_block_verify(block: Option<&CxBlock>, error: Option<&mut MaybeUninit<CxError>>) -> CxStatus {
    guard(error, || {
        let cell = &required(block, "block")?.cell;
        cell.block().verify().map(|_| ()).map_err(|error| cell.locate(error))
    })
}

/// Writes the id of a block as text, with a NUL at its end, to a buffer with room for `capacity` bytes; CX_BLOCK_ID_LEN
/// are needed. Blocks with equal ids have equal content.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_block_id(
    block: Option<&CxBlock>,
    id: *mut c_char,
    capacity: usize,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let text = required(block, "block")?.cell.view().block_id().to_string();
        // SAFETY: the caller's contract.
        let buffer = unsafe { pointer::buffer(id, capacity, "id") }?;
        if buffer.len() < CX_BLOCK_ID_LEN {
            return Err(Failure::new(CX_TOO_SMALL, format!("id: {capacity} bytes, {CX_BLOCK_ID_LEN} are needed")));
        }
        for (to, from) in buffer.iter_mut().zip(text.bytes().chain([0])) {
            to.write(c_char::from_ne_bytes([from]));
        }
        Ok(())
    })
}

/// Writes the time range of a block, and if it is known. An unknown one is written as 0 to 0.
#[unsafe(no_mangle)]
pub extern "C" fn cx_block_time_range(
    block: Option<&CxBlock>,
    range: Option<&mut MaybeUninit<CxTimeRange>>,
    is_known: Option<&mut MaybeUninit<bool>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let (cell, range) = (&required(block, "block")?.cell, required(range, "range")?);
        let time = cell.view().meta().map_err(|error| cell.locate(error))?.time();
        range.write(
            time.map_or(CxTimeRange { start: 0, end: 0 }, |time| CxTimeRange { start: time.start, end: time.end }),
        );
        required(is_known, "is_known")?.write(time.is_some());
        Ok(())
    })
}

/// Writes the number of series of a block. Refs are the numbers below it.
#[unsafe(no_mangle)]
pub extern "C" fn cx_block_series_count(
    block: Option<&CxBlock>,
    count: Option<&mut MaybeUninit<u32>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let (cell, count) = (&required(block, "block")?.cell, required(count, "count")?);
        count.write(cell.view().series_count().map_err(|error| cell.locate(error))?);
        Ok(())
    })
}

/// Writes the labels of a series, in the order of their names, to a buffer with room for `capacity` labels, and their
/// number to `count`. The number is 0 if the block does not have the series: each series has a label.
///
/// If there are more than `capacity` labels, returns CX_TOO_SMALL: `count` is the capacity that is needed, and the
/// content of the buffer is unspecified. A buffer for CX_MAX_LABELS is never too small.
///
/// Allocates nothing. For many series, cx_resolver_labels and cx_cursor_next are faster.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_block_labels(
    block: Option<&CxBlock>,
    series: u32,
    labels: *mut CxLabel,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let (cell, count) = (&required(block, "block")?.cell, required(count, "count")?);
        // SAFETY: the caller's contract.
        let buffer = unsafe { pointer::buffer(labels, capacity, "labels") }?;
        count.write(0);
        let Some(series) = cell.view().series(SeriesRef(series)).map_err(|error| cell.locate(error))? else {
            return Ok(());
        };
        let needed = usize::try_from(series.label_count()).unwrap_or(usize::MAX);
        if needed > capacity {
            count.write(needed);
            return Err(Failure::new(
                CX_TOO_SMALL,
                format!("the series has {needed} labels, the buffer has room for {capacity}"),
            ));
        }
        let mut written = 0;
        for (to, label) in buffer.iter_mut().zip(series.labels()) {
            to.write(label.map_err(|error| cell.locate(error))?.into());
            written += 1;
        }
        count.write(written);
        Ok(())
    })
}

/// Writes the ref of the series with exactly these labels, or CX_NO_SERIES if the block does not have it. This is not a
/// matcher: see cx_block_select.
///
/// Labels may come in any order, and those with an empty value are ignored. Searches are two to four times faster after
/// the first query of the block with a selector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_block_find(
    block: Option<&CxBlock>,
    labels: *const CxLabel,
    label_count: usize,
    series: Option<&mut MaybeUninit<u32>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let (cell, series) = (&required(block, "block")?.cell, required(series, "series")?);
        // SAFETY: the caller's contract.
        let labels = unsafe { CxLabel::pairs(labels, label_count) }?;
        series.write(cell.open().find(&labels)?.map_or(CX_NO_SERIES, |series| series.0));
        Ok(())
    })
}
