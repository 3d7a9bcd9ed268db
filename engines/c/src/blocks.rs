//! Blocks: open, refresh, describe, verify, find.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use blocks::{Blocks, Checks, OpenOptions, SeriesId};

use crate::error::{CxError, Failure, guard, guard_value};
use crate::failures::CxFailures;
use crate::label::{CxBlockId, CxLabel, CxSeriesId, CxString};
use crate::pointer::{self, give, required};
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

/// How blocks are opened. Calls accept NULL, and a struct of zeros, for all defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxOpenOptions {
    /// When checksums are checked: one of CX_CHECKS_....
    pub checks: CxChecks,
    /// True to leave out the files of a folder that are not valid blocks, and to list them in cx_blocks_damaged.
    pub skip_damaged: bool,
    /// Maximum memory of the decoded strings of archives in bytes, or 0 for 4 GiB.
    pub max_archive_memory: u64,
}

/// A block, or the live blocks of a folder, as they were when it was opened: a snapshot. It does not change: several
/// threads may use one handle at once.
///
/// Blocks of a folder are its files whose names end in `.cx` and do not begin with a dot. The live ones are those that
/// no finished compaction replaced, so that each series counts once.
pub struct CxBlocks {
    pub(crate) blocks: Blocks,
    damaged: CxFailures,
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

/// Facts about a block. The path is valid as long as the blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxBlockInfo {
    /// Id of the block: blocks with equal ids have equal content.
    pub id: CxBlockId,
    /// Path of its file; empty for a block from bytes, or if it is not UTF-8.
    pub path: CxString,
    /// Number of its series.
    pub series_count: u32,
    /// False if the time range of its data is unknown: then `time` is 0 to 0.
    pub has_time: bool,
    /// Time range of its data.
    pub time: CxTimeRange,
}

/// Returns the options of the caller.
fn options(options: Option<&CxOpenOptions>) -> Result<OpenOptions, Failure> {
    let Some(CxOpenOptions { checks, skip_damaged, max_archive_memory }) = options else {
        return Ok(OpenOptions::new());
    };
    let checks = match *checks {
        CX_CHECKS_LAZY => Checks::Lazy,
        CX_CHECKS_EAGER => Checks::Eager,
        CX_CHECKS_NEVER => Checks::Never,
        other => {
            return Err(Failure::usage(format!("checks: {other} is not one of CX_CHECKS_LAZY, _EAGER, _NEVER")));
        }
    };
    let options = OpenOptions::new().checks(checks).skip_damaged(*skip_damaged);
    Ok(if *max_archive_memory > 0 { options.max_archive_memory(*max_archive_memory) } else { options })
}

impl CxBlocks {
    fn new(blocks: Blocks) -> Self {
        let damaged = CxFailures::default();
        damaged.extend(blocks.damaged().iter().map(Failure::from));
        Self { blocks, damaged }
    }
}

/// Opens a block, or the live blocks of a folder, as memory maps.
///
/// As long as the blocks or anything made from them exist, the files must not be truncated and their bytes must not
/// change: the process could end with SIGBUS, or see other bytes than it checked. Published blocks meet this contract:
/// they are only deleted or replaced by renaming. Where others may write to the files, use cx_blocks_read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_blocks_map(
    path: *const c_char,
    options: Option<&CxOpenOptions>,
    blocks: Option<&mut MaybeUninit<*mut CxBlocks>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(blocks, "blocks", || {
            // SAFETY: the caller's contract.
            let path = unsafe { pointer::path(path, "path") }?;
            // SAFETY: the header states the contract of a map, and the caller keeps it.
            Ok(CxBlocks::new(unsafe { self::options(options)?.map() }.open(path)?))
        })
    })
}

/// Opens a block, or the live blocks of a folder, by reading files into memory. The files may change or disappear
/// afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_blocks_read(
    path: *const c_char,
    options: Option<&CxOpenOptions>,
    blocks: Option<&mut MaybeUninit<*mut CxBlocks>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(blocks, "blocks", || {
            // SAFETY: the caller's contract.
            let path = unsafe { pointer::path(path, "path") }?;
            Ok(CxBlocks::new(self::options(options)?.open(path)?))
        })
    })
}

/// Opens a block from bytes, which are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_blocks_from_bytes(
    bytes: *const u8,
    len: usize,
    options: Option<&CxOpenOptions>,
    blocks: Option<&mut MaybeUninit<*mut CxBlocks>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(blocks, "blocks", || {
            // SAFETY: the caller's contract.
            let bytes = unsafe { pointer::array(bytes, len, "bytes") }?;
            Ok(CxBlocks::new(self::options(options)?.open_bytes(bytes.to_vec())?))
        })
    })
}

/// Opens the same path again, in the same way, and keeps the indexes of blocks that are still there. The old blocks
/// stay valid: free them to release deleted files.
#[unsafe(no_mangle)]
pub extern "C" fn cx_blocks_refresh(
    blocks: Option<&CxBlocks>,
    fresh: Option<&mut MaybeUninit<*mut CxBlocks>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || give(fresh, "fresh", || Ok(CxBlocks::new(required(blocks, "blocks")?.blocks.refresh()?))))
}

/// Frees blocks, or does nothing for NULL. What was made from them stays valid, and so do labels and strings as long as
/// one of these handles exists, other than those of cx_blocks_refresh.
#[unsafe(no_mangle)]
pub extern "C" fn cx_blocks_free(blocks: Option<Box<CxBlocks>>) {
    guard_value(|| drop(blocks));
}

/// Returns the number of blocks; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_blocks_count(blocks: Option<&CxBlocks>) -> usize {
    guard_value(|| blocks.map_or(0, |blocks| blocks.blocks.len()))
}

/// Writes facts about the block at `position`. Blocks without a time range come first, the others by start time.
#[unsafe(no_mangle)]
pub extern "C" fn cx_blocks_info(
    blocks: Option<&CxBlocks>,
    position: usize,
    info: Option<&mut MaybeUninit<CxBlockInfo>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let (blocks, info) = (&required(blocks, "blocks")?.blocks, required(info, "info")?);
        let Some(found) = blocks.iter().nth(position).transpose()? else {
            return Err(Failure::usage(format!("position: {position} of {} blocks", blocks.len())));
        };
        let path = found.path.and_then(std::path::Path::to_str).unwrap_or_default();
        let (start, end) = found.time.unwrap_or_default();
        info.write(CxBlockInfo {
            id: found.id.into(),
            path: path.into(),
            series_count: found.series_count,
            has_time: found.time.is_some(),
            time: CxTimeRange { start, end },
        });
        Ok(())
    })
}

/// Returns the errors of files that are not valid blocks, if these were skipped; NULL for NULL. They belong to the
/// blocks.
#[unsafe(no_mangle)]
pub extern "C" fn cx_blocks_damaged(blocks: Option<&CxBlocks>) -> Option<&CxFailures> {
    blocks.map(|blocks| &blocks.damaged)
}

/// Checks every rule of the format in all blocks: takes about as long as reading all labels.
#[unsafe(no_mangle)]
pub extern "C" fn cx_blocks_verify(blocks: Option<&CxBlocks>, error: Option<&mut MaybeUninit<CxError>>) -> CxStatus {
    guard(error, || Ok(required(blocks, "blocks")?.blocks.verify()?))
}

/// Finds the series with exactly these labels, and writes its ids, one per block that has it, to a buffer with room for
/// `capacity` ids, and their number to `count`; 0 if no block has it. This is not a matcher: see cx_query_series.
///
/// If there are more than `capacity` ids, returns CX_TOO_SMALL: `count` is the capacity that is needed. That of
/// cx_blocks_count is never too small.
///
/// Labels may come in any order, and those with an empty value are ignored. Searches are two to four times faster after
/// the first query of the blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_blocks_find(
    blocks: Option<&CxBlocks>,
    labels: *const CxLabel,
    label_count: usize,
    ids: *mut CxSeriesId,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let (blocks, count) = (&required(blocks, "blocks")?.blocks, required(count, "count")?);
        count.write(0);
        // SAFETY: the caller's contract.
        let (labels, buffer) =
            unsafe { (CxLabel::pairs(labels, label_count)?, pointer::buffer(ids, capacity, "ids")?) };
        let found: Vec<SeriesId> = blocks.find(labels)?;
        count.write(found.len());
        if found.len() > capacity {
            let text = format!("the series has {} ids, the buffer has room for {capacity}", found.len());
            return Err(Failure::new(CX_TOO_SMALL, text));
        }
        for (to, id) in buffer.iter_mut().zip(found) {
            to.write(id.into());
        }
        Ok(())
    })
}
