//! Columns of a list on the screen.

use chronoxide_text::human;

use super::level::Level;
use super::list::{Column, List};
use super::view::{Subset, View};

/// Columns of a bar.
const BAR: usize = 10;
/// Least columns for the name of a row; bars and numbers other than the first give way to it.
const NAME: usize = 16;
/// Columns of the mark of the selected row.
const MARK: usize = 2;
const REMAINS: Column = Column { heading: "remain without", width: 15 };

/// Columns of a list that fit on the screen.
pub(super) struct Table<'a> {
    level: &'a Level,
    columns: &'static [Column],
    has_bar: bool,
    has_remains: bool,
}

impl<'a> Table<'a> {
    pub(super) fn new(level: &'a Level, width: usize) -> Self {
        let all = level.list.columns();
        let wide: usize = MARK + all.iter().map(|column| column.width + 2).sum::<usize>() + NAME;
        let has_remains = level.view == View::Labels(Subset::All) && width >= wide + REMAINS.width + 2;
        let used = wide + if has_remains { REMAINS.width + 2 } else { 0 };
        let columns = if width >= wide { all } else { &all[..1] };
        Self { level, columns, has_bar: width >= used + BAR + 2, has_remains }
    }

    pub(super) fn headings(&self) -> String {
        let mut text = " ".repeat(MARK);
        let remains = self.has_remains.then_some(&REMAINS);
        for column in self.columns.iter().chain(remains) {
            text.push_str(&format!("{:>width$}  ", column.heading, width = column.width));
        }
        if self.has_bar {
            text.push_str(&" ".repeat(BAR + 2));
        }
        text + self.level.view.noun()
    }

    /// Returns the numbers, the bar and the name of a row.
    pub(super) fn row(&self, row: usize) -> (String, String, String) {
        let Level { list, total, largest, .. } = self.level;
        let mut numbers = String::new();
        for (number, column) in list.numbers(row, *total).iter().zip(self.columns) {
            numbers.push_str(&format!("{number:>width$}  ", width = column.width));
        }
        if let (true, List::Labels(rows)) = (self.has_remains, list) {
            let remains = rows[row].remains.map(human::count).unwrap_or_default();
            numbers.push_str(&format!("{remains:>width$}  ", width = REMAINS.width));
        }
        let bar = if self.has_bar {
            format!("{:<width$}", bar(list.count(row), *largest), width = BAR + 2)
        } else {
            String::new()
        };
        (numbers, bar, list.name_text(row))
    }
}

/// Returns a bar of at most [`BAR`] columns, in eighths of a column. Only a count of 0 has none.
fn bar(count: u64, largest: u64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let full = BAR as u64 * 8;
    let eighths = (u128::from(count) * u128::from(full)).div_ceil(u128::from(largest.max(1))).min(full.into()) as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share_of_the_largest() {
        for (count, largest, expected) in [
            (0, 10, ""),
            (1, 10, "█"),
            (10, 10, "██████████"),
            (1, 75_000_000, "▏"),
            (0, 0, ""),
            (u64::MAX, u64::MAX, "██████████"),
        ] {
            assert_eq!(bar(count, largest), expected, "{count} of {largest}");
        }
    }
}
