//! A plan for people.

use std::io::{self, Write};

use chronoxide_cli::escape::{Escaped, TerminalSafe};
use chronoxide_cli::human::{self, count, count_of};
use chronoxide_cli::style::Style;
use chronoxide_format::view::TimeRange;

use super::{AloneReason, Description, Group, GroupReason, Plan};

/// Writes a plan: a line that sums it up, each group with its reason and its blocks, then the blocks that stay alone with theirs.
///
/// # Errors
/// Those of `out`.
pub fn write(plan: &Plan<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (before, after) = (plan.blocks() as u64, plan.blocks_after() as u64);
    match plan.groups.len() as u64 {
        0 => writeln!(out, "{}: {}, nothing to merge", style.heading("plan"), count_of(before, "block"))?,
        groups => {
            let (blocks, groups) = (count_of(before, "block"), count_of(groups, "merge"));
            writeln!(out, "{}: {blocks}, {groups}, {} afterwards", style.heading("plan"), count_of(after, "block"))?;
        }
    }
    let blocks = plan.groups.iter().flat_map(|group| &group.blocks).copied();
    let columns = Columns::of(blocks.chain(plan.alone.iter().map(|alone| alone.block)));
    for (number, group) in (1..).zip(&plan.groups) {
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
    if !plan.alone.is_empty() {
        writeln!(out, "{}", style.heading("stay as they are:"))?;
    }
    for alone in &plan.alone {
        writeln!(out, "  {}  {}", columns.row(alone.block), alone_reason(alone.reason))?;
    }
    Ok(())
}

/// "Series" is its own plural.
fn count_of_series(number: u64) -> String {
    format!("{} series", count(number))
}

fn group_reason(reason: GroupReason) -> String {
    match reason {
        GroupReason::Range { range, length } => format!("{length}, {}, is complete", times(range)),
        GroupReason::Filling { range, length } => format!("of like size while {length}, {}, fills", times(range)),
        GroupReason::LikeSize => "of like size, times not known".to_owned(),
    }
}

fn alone_reason(reason: AloneReason<'_>) -> String {
    match reason {
        AloneReason::Copy { of } => format!("the same block as {}", TerminalSafe(&of.display().to_string())),
        AloneReason::OutsideTimes => "not between the chosen times".to_owned(),
        AloneReason::NoTimes => "times were chosen, its own are not known".to_owned(),
        AloneReason::Only => "no other lies in a range with it".to_owned(),
        AloneReason::Open { range, length } => format!("{length}, {}, is not complete", times(range)),
        AloneReason::TooManySeries { range, length } => {
            format!("too many series with its neighbours in {length}, {}", times(range))
        }
        AloneReason::OverBoundary => "reaches over a boundary of every range".to_owned(),
        AloneReason::FewAlike => "times not known, too few of like size".to_owned(),
    }
}

/// The external labels of a group, if it has any.
fn labels(group: &Group<'_>) -> Option<String> {
    let labels = &group.blocks.first()?.external_labels;
    let pairs = labels.iter().map(|(key, value)| format!("{}={}", Escaped(key), Escaped(value)));
    (!labels.is_empty()).then(|| pairs.collect::<Vec<_>>().join(", "))
}

fn times(range: TimeRange) -> String {
    human::times(range.start, range.end)
}

/// What a row says of a block.
fn cells(block: &Description) -> [String; 4] {
    [
        TerminalSafe(&block.file.display().to_string()).to_string(),
        block.extent().map_or_else(|| "time unknown".to_owned(), times),
        count_of_series(block.series),
        count_of(block.bytes, "byte"),
    ]
}

/// How wide the columns of all rows are.
struct Columns {
    widths: [usize; 4],
}

impl Columns {
    fn of<'a>(blocks: impl Iterator<Item = &'a Description>) -> Self {
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
