//! A list with a filter, an order and a selected row.

use chronoxide_inspect::report::{Explorer, ReportError};
use rayon::prelude::*;
use regex::{Regex, RegexBuilder};

use super::list::{List, Sort};
use super::view::{NO_NAME, View};

/// A view on the way from the top to the current one.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) view: View,
    pub(super) list: List,
    /// Number of series that the view counts.
    pub(super) total: u64,
    /// Largest count of all rows.
    pub(super) largest: u64,
    pub(super) sort: Sort,
    filter: String,
    /// All rows in the order of `sort`.
    sorted: Vec<u32>,
    /// Rows that match the filter, in the same order.
    matching: Vec<u32>,
    /// Position of the selected row in `matching`; 0 if there is none.
    selected: usize,
    /// Position of the first row on the screen in `matching`.
    first: usize,
}

impl Level {
    pub(super) fn load(view: View, total: u64, explorer: &Explorer<'_>) -> Result<Self, ReportError> {
        let list = List::load(&view, explorer)?;
        Ok(Self::new(view, list, total))
    }

    pub(super) fn new(view: View, list: List, total: u64) -> Self {
        let sorted = list.sorted(Sort::Count);
        Self {
            largest: (0..list.len()).map(|row| list.count(row)).max().unwrap_or_default(),
            matching: sorted.clone(),
            sorted,
            view,
            list,
            total,
            sort: Sort::Count,
            filter: String::new(),
            selected: 0,
            first: 0,
        }
    }

    pub(super) fn filter(&self) -> &str {
        &self.filter
    }

    /// Returns the number of rows that match the filter.
    pub(super) fn len(&self) -> usize {
        self.matching.len()
    }

    /// Returns the selected row of the list, or `None` if no row matches the filter.
    pub(super) fn selected(&self) -> Option<usize> {
        self.matching.get(self.selected).map(|&row| row as usize)
    }

    /// Keeps the rows whose names contain a text, in any case. The selected row stays selected if it matches. Costs
    /// some 100 ns per row in one thread, because names are spread over memory. A filter that continues the last one
    /// looks only at the rows that matched.
    pub(super) fn set_filter(&mut self, filter: String) {
        let selected = self.selected();
        match pattern(&filter) {
            None => self.matching.clone_from(&self.sorted),
            Some(pattern) => {
                let rows = if filter.starts_with(&self.filter) { &self.matching } else { &self.sorted };
                let matches = |row: &u32| pattern.is_match(self.list.name(*row as usize).unwrap_or(NO_NAME));
                self.matching = rows.par_iter().copied().filter(matches).collect();
            }
        }
        self.filter = filter;
        self.select(selected);
    }

    /// Changes to the next order, and selects the first row.
    pub(super) fn cycle_sort(&mut self) {
        self.sort = self.list.next_sort(self.sort);
        self.sorted = self.list.sorted(self.sort);
        let filter = std::mem::take(&mut self.filter);
        self.set_filter(String::new());
        self.set_filter(filter);
        self.move_to(0);
    }

    /// Selects the row with a name. Returns false if no row that matches the filter has it.
    pub(super) fn select_name(&mut self, name: Option<&str>) -> bool {
        let row = self.matching.iter().find(|&&row| self.list.name(row as usize) == name);
        let Some(&row) = row else { return false };
        self.select(Some(row as usize));
        true
    }

    /// Selects the row at a position, or the last row.
    pub(super) fn move_to(&mut self, position: usize) {
        self.selected = position.min(self.matching.len().saturating_sub(1));
    }

    /// Selects the row a number of rows below, or above if negative, up to the ends.
    pub(super) fn move_by(&mut self, rows: isize) {
        self.move_to(self.selected.saturating_add_signed(rows));
    }

    /// Scrolls so that the selected row is among the `height` rows on the screen, and so that no line stays empty
    /// without need.
    pub(super) fn scroll(&mut self, height: usize) {
        let height = height.max(1);
        let lowest = (self.selected + 1).saturating_sub(height);
        self.first = self.first.clamp(lowest, self.selected).min(self.matching.len().saturating_sub(height));
    }

    /// Returns at most `height` rows on the screen; true for the selected row.
    pub(super) fn on_screen(&self, height: usize) -> impl Iterator<Item = (usize, bool)> {
        let positions = self.first..self.matching.len().min(self.first.saturating_add(height));
        positions.map(|position| (self.matching[position] as usize, position == self.selected))
    }

    fn select(&mut self, row: Option<usize>) {
        let position = row.and_then(|row| self.matching.iter().position(|&other| other as usize == row));
        self.move_to(position.unwrap_or_default());
    }
}

/// Returns the pattern of a filter, or `None` if it is empty.
fn pattern(filter: &str) -> Option<Regex> {
    let pattern = RegexBuilder::new(&regex::escape(filter)).case_insensitive(true).build();
    // Only a text of a million characters is too long for a pattern.
    pattern.ok().filter(|_| !filter.is_empty())
}

#[cfg(test)]
mod tests {
    use chronoxide_inspect::report::ValueSeries;

    use super::*;
    use crate::inspect::commands::top::view::Subset;

    /// Returns a level of values; the first has the most series.
    fn level(values: impl IntoIterator<Item = impl Into<String>>) -> Level {
        let values: Vec<String> = values.into_iter().map(Into::into).collect();
        let count = values.len() as u64;
        let row = |(series, value)| ValueSeries { value, series };
        let rows = (1..=count).rev().zip(values).map(row).collect();
        Level::new(View::Values(Subset::All, "pod".to_owned()), List::Values(rows), count)
    }

    fn names(level: &Level) -> Vec<&str> {
        level.on_screen(usize::MAX).map(|(row, _)| level.list.name(row).unwrap()).collect()
    }

    fn selected(level: &Level) -> Option<&str> {
        level.selected().and_then(|row| level.list.name(row))
    }

    #[test]
    fn a_filter_is_a_part_of_the_name_in_any_case() {
        let mut level = level(["Web-1", "api.1", "WEB-2", "Größe", "a\u{1b}b"]);
        for (filter, expected) in [
            ("web", &["Web-1", "WEB-2"][..]),
            ("EB-2", &["WEB-2"]),
            (".", &["api.1"]),
            ("GRÖSSE", &[]),
            ("GRÖ", &["Größe"]),
            ("\u{1b}", &["a\u{1b}b"]),
            ("none", &[]),
            // Continued, changed and shortened filters.
            ("w", &["Web-1", "WEB-2"]),
            ("we", &["Web-1", "WEB-2"]),
            ("web-1", &["Web-1"]),
            ("web-", &["Web-1", "WEB-2"]),
            ("1", &["Web-1", "api.1"]),
            ("", &["Web-1", "api.1", "WEB-2", "Größe", "a\u{1b}b"]),
        ] {
            level.set_filter(filter.to_owned());
            assert_eq!(names(&level), expected, "{filter:?}");
            assert_eq!(level.len(), expected.len());
            assert_eq!(selected(&level).is_some(), !expected.is_empty());
        }
    }

    #[test]
    fn a_filter_keeps_the_selected_row_if_it_matches() {
        let mut level = level(["a1", "b1", "a2", "b2"]);
        level.move_to(3);
        level.set_filter("b".to_owned());
        assert_eq!(selected(&level), Some("b2"));
        level.set_filter(String::new());
        assert_eq!(selected(&level), Some("b2"));
        level.set_filter("a".to_owned());
        assert_eq!(selected(&level), Some("a1"), "the first, because b2 does not match");
    }

    #[test]
    fn orders_apply_to_the_rows_that_match() {
        let mut level = level(["c1", "a1", "x", "b1"]);
        level.set_filter("1".to_owned());
        level.move_to(2);
        level.cycle_sort();
        assert_eq!((level.sort, names(&level)), (Sort::Name, vec!["a1", "b1", "c1"]));
        assert_eq!(selected(&level), Some("a1"), "the first row");
        level.set_filter(String::new());
        assert_eq!(names(&level), ["a1", "b1", "c1", "x"]);
        level.cycle_sort();
        assert_eq!((level.sort, names(&level)), (Sort::Count, vec!["c1", "a1", "x", "b1"]));
    }

    #[test]
    fn moves_stop_at_the_ends() {
        let mut level = level(["a", "b", "c"]);
        for (rows, expected) in
            [(-1, "a"), (1, "b"), (5, "c"), (1, "c"), (-2, "a"), (isize::MAX, "c"), (isize::MIN, "a")]
        {
            level.move_by(rows);
            assert_eq!(selected(&level), Some(expected), "{rows}");
        }
    }

    #[test]
    fn an_empty_list_has_no_selected_row() {
        let mut level = level([""; 0]);
        for height in [0, 1, 10] {
            level.move_by(1);
            level.move_to(usize::MAX);
            level.scroll(height);
            assert_eq!((level.selected(), level.on_screen(height).count()), (None, 0));
        }
        level.cycle_sort();
        level.set_filter("a".to_owned());
        assert_eq!((level.len(), level.select_name(Some("a"))), (0, false));
    }

    #[test]
    fn the_selected_row_is_on_the_screen_and_no_line_is_empty_without_need() {
        let mut level = level((0..10).map(|value| value.to_string()));
        let mut check = |position: usize, height: usize, expected: &[&str]| {
            level.move_to(position);
            level.scroll(height);
            let shown: Vec<(&str, bool)> = level
                .on_screen(height)
                .map(|(row, is_selected)| (level.list.name(row).unwrap(), is_selected))
                .collect();
            let expected: Vec<_> = expected.iter().map(|&name| (name, name == position.to_string())).collect();
            assert_eq!(shown, expected, "{position} of {height}");
        };
        check(0, 3, &["0", "1", "2"]);
        check(2, 3, &["0", "1", "2"]);
        check(3, 3, &["1", "2", "3"]);
        check(1, 3, &["1", "2", "3"]);
        check(9, 3, &["7", "8", "9"]);
        check(9, 5, &["5", "6", "7", "8", "9"]);
        check(9, 1, &["9"]);
        check(9, 0, &[]);
        check(4, 20, &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    }
}
