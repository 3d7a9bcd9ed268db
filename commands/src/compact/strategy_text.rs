//! Writes a strategy as text.

use std::io::{self, Write};

use chronoxide_compactor::strategy::{Description, Group, GroupReason, Strategy, UnmergedReason};
use chronoxide_format::view::TimeRange;
use chronoxide_text::escape::{Escaped, TerminalSafe};
use chronoxide_text::human::{self, count, count_of};

use crate::style::Style;

/// Writes a strategy: a summary line, each group with its reason and its blocks, then the unmerged blocks with their
/// reasons.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write(strategy: &Strategy<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
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
        UnmergedReason::ReadOnly { reason } => format!("read-only: {reason}"),
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

#[cfg(test)]
mod tests {

    use chronoxide_compactor::strategy::{StrategyOptions, choose};
    use chronoxide_format::identity::BlockId;
    use chronoxide_format::policy::LabelPolicy;
    use chronoxide_format::view::TimeRange;
    use chronoxide_planner::Layout;
    use serde_json::json;

    use super::*;

    const HOUR: i64 = 3_600_000_000_000;
    /// 2025-11-13T00:00:00Z, the beginning of a week.
    const WEEK: i64 = 1_762_992_000_000_000_000;

    fn block(number: u8, file: &str, hours: Option<(i64, i64)>) -> Description {
        Description {
            file: file.into(),
            id: BlockId([number; 16]),
            bytes: 1_000 << number,
            series: 1_500,
            time: hours.map(|(start, end)| TimeRange { start: WEEK + start * HOUR, end: WEEK + end * HOUR }),
            window: None,
            job: None,
            external_labels: vec![("cluster".to_owned(), "eu\n1".to_owned())],
            policy: LabelPolicy::NONE,
            read_only: None,
            layout: Layout::Factored,
        }
    }

    fn blocks() -> Vec<Description> {
        vec![
            block(0, "a.cx", Some((0, 1))),
            block(1, "evil\u{1b}[2J.cx", Some((1, 2))),
            block(2, "newest.cx", Some((2, 4))),
            block(3, "timeless.cx", None),
        ]
    }

    fn shown(blocks: &[Description]) -> String {
        let mut out = Vec::new();
        write(&choose(blocks, &StrategyOptions::default()), Style::plain(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_plan_is_shown_with_its_reasons() {
        let expected = r#"strategy: 4 blocks, 1 merge, 3 blocks afterwards
merge 1: 2h, 2025-11-13T00:00:00Z to before 2025-11-13T02:00:00Z, is complete
  with "cluster"="eu\u000a1"
  a.cx               2025-11-13T00:00:00Z to before 2025-11-13T01:00:00Z  1,500 series  1,000 bytes
  evil\u001b[2J.cx   2025-11-13T01:00:00Z to before 2025-11-13T02:00:00Z  1,500 series  2,000 bytes
  2.9 KiB (3,000 bytes) in, at most 3,000 series out
not merged:
  newest.cx          2025-11-13T02:00:00Z to before 2025-11-13T04:00:00Z  1,500 series  4,000 bytes  range of 6h, 2025-11-13T00:00:00Z to before 2025-11-13T06:00:00Z, is not complete
  timeless.cx        time unknown                                  1,500 series  8,000 bytes  times unknown, too few blocks of similar size
"#;
        // Columns are as wide as the widest cell.
        let squeezed = |text: &str| {
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(squeezed(&shown(&blocks())), squeezed(expected));
        let shown = shown(&blocks());
        let places: Vec<_> =
            shown.lines().filter_map(|line| line.find(" series ").filter(|_| line.contains(".cx"))).collect();
        assert_eq!(places.len(), 4);
        assert!(places.windows(2).all(|pair| pair[0] == pair[1]), "{places:?}");
    }

    #[test]
    fn nothing_to_merge_is_said() {
        assert_eq!(shown(&[]), "strategy: 0 blocks, nothing to merge\n");
        let alone = &blocks()[3..];
        assert!(
            shown(alone).starts_with("strategy: 1 block, nothing to merge\nnot merged:\n  timeless.cx"),
            "{}",
            shown(alone)
        );
    }

    #[test]
    fn a_plan_is_json() {
        let blocks = blocks();
        let strategy = serde_json::to_value(choose(&blocks, &StrategyOptions::default())).unwrap();
        assert_eq!((&strategy["blocks"], &strategy["blocks_after"]), (&json!(4), &json!(3)));
        let range = |start: &str, end: &str| json!({"start": format!("2025-11-13T{start}:00:00Z"), "end": format!("2025-11-13T{end}:00:00Z")});
        let group = &strategy["groups"][0];
        assert_eq!(group["reason"], json!({"kind": "range", "length": "2h", "range": range("00", "02")}));
        assert_eq!((&group["series_at_most"], &group["bytes"]), (&json!(3_000), &json!(3_000)));
        assert_eq!(
            group["blocks"][1],
            json!({
                "file": "evil\u{1b}[2J.cx",
                "id": "01040G2081040G2081040G2081",
                "bytes": 2_000,
                "series": 1_500,
                "time": range("01", "02"),
                "window": null,
                "external_labels": {"cluster": "eu\n1"},
                "max_name_len": 65_535,
                "max_value_len": 65_535,
                "layout": "factored",
            })
        );
        let reasons: Vec<_> =
            strategy["unmerged"].as_array().unwrap().iter().map(|unmerged| unmerged["reason"].clone()).collect();
        assert_eq!(
            reasons,
            [json!({"kind": "open", "length": "6h", "range": range("00", "06")}), json!({"kind": "few-alike"})]
        );
        assert_eq!(strategy["unmerged"][1]["block"]["time"], json!(null));
    }
}
