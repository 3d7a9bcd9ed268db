//! Text output of the summary of a folder.

use std::io::{self, Write};

use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;

use super::summary::times;
use crate::inspect::commands::FolderSummary;
use crate::style::Style;

/// Maximum number of blocks that are listed: a folder of thousands would push its totals off the screen.
const MAX_BLOCKS: usize = 10;

/// Writes a summary.
pub(crate) fn write(summary: &FolderSummary, style: Style, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{} {}", style.heading("folder"), TerminalSafe(&summary.folder))?;
    let replaced = if summary.has_replaced { "; blocks that a compaction replaced are left out" } else { "" };
    writeln!(out, "  blocks     {} live{replaced}", human::count(summary.blocks.len() as u64))?;
    if !summary.unreadable.is_empty() {
        writeln!(out, "  unreadable {}", human::count_of(summary.unreadable.len() as u64, "file"))?;
    }
    let size = human::bytes(summary.bytes);
    match summary.bytes_per_series {
        Some(per_series) => writeln!(out, "  size       {size}, {} bytes per series", human::per(per_series))?,
        None => writeln!(out, "  size       {size}")?,
    }
    writeln!(out, "  time       {}", times(summary.time.as_ref()))?;
    let series = human::count(summary.series);
    let shared = if summary.blocks.len() > 1 { ", some of them perhaps in several blocks" } else { "" };
    writeln!(out, "  series     {series}{shared}")?;
    if summary.blocks.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading(format_args!("{:>14} {:>14}  block", "series", "bytes")))?;
    for block in summary.blocks.iter().take(MAX_BLOCKS) {
        let (series, bytes) = (human::count(block.series), human::count(block.bytes));
        writeln!(out, "{series:>14} {bytes:>14}  {}", TerminalSafe(&block.path))?;
    }
    match summary.blocks.len().checked_sub(MAX_BLOCKS) {
        Some(more @ 1..) => writeln!(out, "... {}", human::count_of(more as u64, "more block")),
        _ => Ok(()),
    }
}
