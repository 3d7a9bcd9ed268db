//! Writes a strategy as text.

use std::io::{self, Write};

use chronoxide_cli::escape::{Escaped, TerminalSafe};
use chronoxide_cli::human::{self, count, count_of};
use chronoxide_cli::style::Style;
use chronoxide_format::view::TimeRange;

use super::{Description, Group, GroupReason, Strategy, UnmergedReason};

/// Writes a strategy: a summary line, each group with its reason and its blocks, then the unmerged blocks with their
/// reasons.
///
/// # Errors
/// Errors of `out`.
pub fn write(strategy: &Strategy<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (before, after) = (strategy.blocks() as u64, strategy.blocks_after() as u64);
    match strategy.groups.len() as u64 {
        0 => writeln!(out, "{}: {}, nothing to merge", style.heading("strategy"), count_of(before, "block"))?,
        groups => {
            let (blocks, groups) = (count_of(before, "block"), count_of(groups, "merge"));
            writeln!(
                out,
                "{}: {blocks}, {groups}, {} afterwards",
                style.heading("strategy"),
                count_of(after, "block")
            )?;
        }
    }
    let blocks = strategy.groups.iter().flat_map(|group| &group.blocks).copied();
    let columns = Columns::for_blocks(blocks.chain(strategy.unmerged.iter().map(|unmerged| unmerged.block)));
    for (number, group) in (1..).zip(&strategy.groups) {
        writeln!(out, "{} {}", style.heading(format_args!("merge {number}:")), group_reason(group.reason))?;
        if let Some(labels) = labels(group) {
            writeln!(out, "  with {labels}")?;
        }
        for block in &group.blocks {
            writeln!(out, "  {}", columns.row(block))?;
        }
        let (series, bytes) = (count_of_series(group.series()), human::bytes(group.bytes()));
        writeln!(out, "  {}", style.faint(format_args!("{bytes} in, at most {series} out")))?;
    }
    if !strategy.unmerged.is_empty() {
        writeln!(out, "{}", style.heading("not merged:"))?;
    }
    for unmerged in &strategy.unmerged {
        writeln!(out, "  {}  {}", columns.row(unmerged.block), unmerged_reason(unmerged.reason))?;
    }
    Ok(())
}

/// Formats a number of series; the plural of "series" is "series".
fn count_of_series(number: u64) -> String {
    format!("{} series", count(number))
}

fn group_reason(reason: GroupReason) -> String {
    match reason {
        GroupReason::Range { range, length } => format!("{length}, {}, is complete", times(range)),
        GroupReason::Filling { range, length } => {
            format!("similar size, in incomplete range of {length}, {}", times(range))
        }
        GroupReason::LikeSize => "similar size, times unknown".to_owned(),
    }
}

fn unmerged_reason(reason: UnmergedReason<'_>) -> String {
    match reason {
        UnmergedReason::Copy { of } => format!("copy of {}", TerminalSafe(&of.display().to_string())),
        UnmergedReason::ReadOnly { bits } => format!("read-only: unknown ro_compat bits {bits:#x}"),
        UnmergedReason::OutsideTimes => "not between --min-time and --max-time".to_owned(),
        UnmergedReason::NoTimes => "times unknown".to_owned(),
        UnmergedReason::Only => "no other block to merge in its range".to_owned(),
        UnmergedReason::Siblings => "the other blocks in its range are outputs of the same merge".to_owned(),
        UnmergedReason::Open { range, length } => format!("range of {length}, {}, is not complete", times(range)),
        UnmergedReason::TooManySeries { range, length } => {
            format!("too many series together with other blocks in range of {length}, {}", times(range))
        }
        UnmergedReason::OverBoundary => "crosses a boundary of every range".to_owned(),
        UnmergedReason::FewAlike => "times unknown, too few blocks of similar size".to_owned(),
    }
}

/// Returns the external labels of a group, if it has any.
fn labels(group: &Group<'_>) -> Option<String> {
    let labels = &group.blocks.first()?.external_labels;
    let pairs = labels.iter().map(|(key, value)| format!("{}={}", Escaped(key), Escaped(value)));
    (!labels.is_empty()).then(|| pairs.collect::<Vec<_>>().join(", "))
}

fn times(range: TimeRange) -> String {
    human::times(range.start, range.end)
}

/// Returns the cells of a block's row.
fn cells(block: &Description) -> [String; 4] {
    [
        TerminalSafe(&block.file.display().to_string()).to_string(),
        block.extent().map_or_else(|| "time unknown".to_owned(), times),
        count_of_series(block.series),
        count_of(block.bytes, "byte"),
    ]
}

/// Widths of the columns.
struct Columns {
    widths: [usize; 4],
}

impl Columns {
    fn for_blocks<'a>(blocks: impl Iterator<Item = &'a Description>) -> Self {
        let mut widths = [0; 4];
        for block in blocks {
            for (width, cell) in widths.iter_mut().zip(cells(block)) {
                *width = cell.chars().count().max(*width);
            }
        }
        Self { widths }
    }

    fn row(&self, block: &Description) -> String {
        let ([file, time, series, bytes], [a, b, c, d]) = (cells(block), self.widths);
        format!("{file:a$}  {time:b$}  {series:>c$}  {bytes:>d$}")
    }
}
