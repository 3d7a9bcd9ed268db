//! The state of the screen.

use chronoxide_inspect::report::{Explorer, ReportError};
use chronoxide_text::escape::TerminalSafe;

use super::keys::{Action, Edit, Mode, Step};
use super::level::Level;
use super::list::List;
use super::view::{Subset, View};

/// Maximum characters of a filter.
const MAX_FILTER: usize = 256;

/// State of the screen: levels from the top to the current one, and the meaning of keys.
pub(super) struct Browser {
    /// Inputs as the user named them, without characters that control a terminal.
    input: String,
    /// Number of series of all inputs.
    series: u64,
    top: Level,
    /// Labels if `top` lists metrics and the other way round, once they were listed.
    other_top: Option<Level>,
    /// Levels below the top.
    below: Vec<Level>,
    mode: Mode,
    notice: Option<String>,
    /// Number of rows on the screen.
    height: usize,
    has_quit: bool,
}

impl Browser {
    /// Opens a view of all series.
    ///
    /// # Errors
    /// As [`Explorer::metrics`].
    pub(super) fn open_top(input: &str, view: View, explorer: &Explorer<'_>) -> Result<Self, ReportError> {
        let series = explorer.series();
        Ok(Self {
            input: TerminalSafe(input).to_string(),
            series,
            top: Level::load(view, series, explorer)?,
            other_top: None,
            below: Vec::new(),
            mode: Mode::Browse,
            notice: None,
            height: 0,
            has_quit: false,
        })
    }

    pub(super) fn input(&self) -> &str {
        &self.input
    }

    pub(super) fn series(&self) -> u64 {
        self.series
    }

    pub(super) fn level(&self) -> &Level {
        self.below.last().unwrap_or(&self.top)
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the answer to the last action, without characters that control a terminal.
    pub(super) fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    pub(super) fn set_notice(&mut self, notice: String) {
        self.notice = Some(notice);
    }

    pub(super) fn has_quit(&self) -> bool {
        self.has_quit
    }

    /// Shows that counting may take a while, if the action counts.
    pub(super) fn announce(&mut self, action: Action) -> bool {
        let counts = matches!(action, Action::Open | Action::Switch | Action::Drop);
        if counts {
            self.notice = Some("counting...".to_owned());
        }
        counts
    }

    /// Scrolls for a screen with this number of rows.
    pub(super) fn fit(&mut self, height: usize) {
        self.height = height;
        self.current().scroll(height);
    }

    /// Carries out an action.
    ///
    /// # Errors
    /// As [`Explorer::metrics`].
    pub(super) fn apply(&mut self, action: Action, explorer: &Explorer<'_>) -> Result<(), ReportError> {
        self.notice = None;
        match action {
            Action::Move(step) => self.step(step),
            Action::Open => self.open(explorer)?,
            Action::Back => self.back(),
            Action::Escape if !self.level().filter().is_empty() => self.current().set_filter(String::new()),
            Action::Escape => self.back(),
            Action::Switch => self.switch(explorer)?,
            Action::Sort => self.current().cycle_sort(),
            Action::Drop => self.drop_label(explorer)?,
            Action::Filter(edit) => self.edit(edit),
            Action::Help => self.mode = Mode::Help,
            Action::Close => self.mode = Mode::Browse,
            Action::Quit => self.has_quit = true,
        }
        Ok(())
    }

    pub(super) fn current(&mut self) -> &mut Level {
        self.below.last_mut().unwrap_or(&mut self.top)
    }

    fn step(&mut self, step: Step) {
        let page = isize::try_from(self.height.max(2) - 1).unwrap_or(isize::MAX);
        let level = self.current();
        match step {
            Step::Up => level.move_by(-1),
            Step::Down => level.move_by(1),
            Step::PageUp => level.move_by(-page),
            Step::PageDown => level.move_by(page),
            Step::First => level.move_to(0),
            Step::Last => level.move_to(usize::MAX),
        }
    }

    /// Opens the selected row.
    pub(super) fn open(&mut self, explorer: &Explorer<'_>) -> Result<(), ReportError> {
        let level = self.level();
        let Some(row) = level.selected() else { return Ok(()) };
        let name = level.list.name(row).map(str::to_owned);
        let (view, total) = match (&level.view, name) {
            (View::Metrics, name) => (View::Labels(Subset::Metric(name)), level.list.series(row)),
            (View::Labels(subset), Some(label)) => (View::Values(subset.clone(), label), level.total),
            _ => {
                self.notice = Some("a value cannot be opened".to_owned());
                return Ok(());
            }
        };
        self.below.push(Level::load(view, total, explorer)?);
        Ok(())
    }

    fn back(&mut self) {
        self.below.pop();
    }

    fn switch(&mut self, explorer: &Explorer<'_>) -> Result<(), ReportError> {
        if !self.below.is_empty() {
            self.notice = Some("Tab works at the top: go back first".to_owned());
            return Ok(());
        }
        let other = match (self.other_top.take(), &self.top.view) {
            (Some(other), _) => other,
            (None, View::Metrics) => Level::load(View::Labels(Subset::All), self.series, explorer)?,
            (None, _) => Level::load(View::Metrics, self.series, explorer)?,
        };
        self.other_top = Some(std::mem::replace(&mut self.top, other));
        Ok(())
    }

    fn drop_label(&mut self, explorer: &Explorer<'_>) -> Result<(), ReportError> {
        let level = self.current();
        match (&level.view, level.selected(), &mut level.list) {
            (View::Labels(Subset::All), Some(row), List::Labels(rows)) => {
                let label = &mut rows[row];
                label.remains = Some(explorer.remaining(&label.count.name)?);
            }
            (View::Labels(Subset::All), None, _) => {}
            _ => self.notice = Some("w works on the labels of all series: go back to the top and press Tab".to_owned()),
        }
        Ok(())
    }

    fn edit(&mut self, edit: Edit) {
        let level = self.current();
        let mut filter = level.filter().to_owned();
        match edit {
            Edit::Begin => return self.mode = Mode::Filter,
            Edit::Keep => return self.mode = Mode::Browse,
            Edit::Type(char) if filter.chars().count() < MAX_FILTER => filter.push(char),
            Edit::Type(_) => return,
            Edit::EraseOne => _ = filter.pop(),
            Edit::EraseAll | Edit::Clear => filter.clear(),
        }
        level.set_filter(filter);
        if edit == Edit::Clear {
            self.mode = Mode::Browse;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::commands::top::fixture::{SERIES, with_explorer};

    /// Opens a view, carries out actions, and returns what `see` sees.
    fn after<T>(top: View, actions: &[Action], see: impl FnOnce(&Browser) -> T) -> T {
        with_explorer(SERIES, |explorer| {
            let mut browser = Browser::open_top("a.cx", top, explorer).unwrap();
            for &action in actions {
                browser.fit(4);
                browser.apply(action, explorer).unwrap();
            }
            browser.fit(4);
            see(&browser)
        })
    }

    fn path(browser: &Browser) -> String {
        browser.level().view.to_string()
    }

    fn rows(browser: &Browser) -> Vec<(String, u64)> {
        let level = browser.level();
        level.on_screen(usize::MAX).map(|(row, _)| (level.list.name_text(row), level.list.count(row))).collect()
    }

    fn selected(browser: &Browser) -> Option<String> {
        browser.level().selected().map(|row| browser.level().list.name_text(row))
    }

    fn typed(text: &str) -> Vec<Action> {
        let text = text.chars().map(|char| Action::Filter(Edit::Type(char)));
        [Action::Filter(Edit::Begin)].into_iter().chain(text).collect()
    }

    const DOWN: Action = Action::Move(Step::Down);

    #[test]
    fn enter_opens_the_labels_of_a_metric_and_then_the_values_of_a_label() {
        after(View::Metrics, &[], |browser| {
            assert_eq!(path(browser), "All > metrics");
            let expected = [("up", 3), ("load", 2), ("(no __name__)", 1)];
            assert_eq!(rows(browser), expected.map(|(name, count)| (name.to_owned(), count)));
            assert_eq!((browser.series(), browser.level().total), (6, 6));
        });
        after(View::Metrics, &[Action::Open], |browser| {
            assert_eq!((path(browser).as_str(), browser.level().total), ("All > metric up > labels", 3));
            let expected = [("pod", 3), ("job", 2), ("__name__", 1)];
            assert_eq!(rows(browser), expected.map(|(name, count)| (name.to_owned(), count)));
        });
        after(View::Metrics, &[Action::Open, DOWN, Action::Open], |browser| {
            assert_eq!((path(browser).as_str(), browser.level().total), ("All > metric up > label job", 3));
            assert_eq!(rows(browser), [("\"api\"".to_owned(), 2), ("\"web\"".to_owned(), 1)]);
        });
        after(View::Metrics, &[Action::Open, DOWN, Action::Open, Action::Open], |browser| {
            assert_eq!(
                (path(browser).as_str(), browser.notice()),
                ("All > metric up > label job", Some("a value cannot be opened"))
            );
        });
        after(View::Metrics, &[DOWN, DOWN, Action::Open], |browser| {
            assert_eq!((path(browser).as_str(), browser.level().total), ("All > metric (no __name__) > labels", 1));
            assert_eq!(rows(browser), [("job".to_owned(), 1)]);
        });
    }

    #[test]
    fn going_back_keeps_the_selected_row_and_the_filter() {
        let open_load = [&typed("O")[..], &[Action::Filter(Edit::Keep), DOWN, Action::Open, DOWN]].concat();
        let check = |browser: &Browser| {
            assert_eq!((path(browser).as_str(), browser.level().filter()), ("All > metrics", "O"));
            assert_eq!(rows(browser).len(), 2, "load, (no __name__)");
            assert_eq!(selected(browser).as_deref(), Some("(no __name__)"));
        };
        after(View::Metrics, &[&open_load[..], &[Action::Back]].concat(), check);
        after(View::Metrics, &[&open_load[..], &[Action::Escape]].concat(), check);
        after(View::Metrics, &[Action::Back, Action::Escape], |browser| assert_eq!(path(browser), "All > metrics"));
    }

    #[test]
    fn a_filter_applies_while_it_is_typed() {
        after(View::Metrics, &typed("UP"), |browser| {
            assert_eq!((browser.mode(), rows(browser)), (Mode::Filter, vec![("up".to_owned(), 3)]));
        });
        let erased = [&typed("upx")[..], &[Action::Filter(Edit::EraseOne), Action::Filter(Edit::Keep)]].concat();
        after(View::Metrics, &erased, |browser| {
            assert_eq!((browser.mode(), browser.level().filter(), browser.level().len()), (Mode::Browse, "up", 1));
        });
        let cleared = [&typed("up")[..], &[Action::Filter(Edit::Clear)]].concat();
        after(View::Metrics, &cleared, |browser| {
            assert_eq!((browser.mode(), browser.level().filter(), browser.level().len()), (Mode::Browse, "", 3));
        });
        let escaped = [&erased[..], &[Action::Escape]].concat();
        after(View::Metrics, &escaped, |browser| assert_eq!(browser.level().len(), 3));
        after(View::Metrics, &typed(&"x".repeat(300)), |browser| {
            assert_eq!((browser.level().filter().len(), browser.level().len()), (MAX_FILTER, 0));
        });
    }

    #[test]
    fn tab_changes_between_metrics_and_labels_and_keeps_both() {
        after(View::Metrics, &[DOWN, Action::Switch], |browser| {
            assert_eq!(path(browser), "All > labels");
            let expected = [("job", 3), ("pod", 3), ("__name__", 2)];
            assert_eq!(rows(browser), expected.map(|(name, count)| (name.to_owned(), count)));
        });
        after(View::Metrics, &[DOWN, Action::Switch, Action::Switch], |browser| {
            assert_eq!((path(browser).as_str(), selected(browser).as_deref()), ("All > metrics", Some("load")));
        });
        after(View::Metrics, &[Action::Open, Action::Switch], |browser| {
            assert_eq!(path(browser), "All > metric up > labels");
            assert_eq!(browser.notice(), Some("Tab works at the top: go back first"));
        });
    }

    #[test]
    fn dropping_a_label_counts_the_series_that_remain() {
        after(View::Labels(Subset::All), &[DOWN, Action::Drop], |browser| {
            let List::Labels(rows) = &browser.level().list else { panic!("labels are listed") };
            let remains: Vec<_> = rows.iter().map(|row| (row.count.name.as_str(), row.remains)).collect();
            // Without `pod`, up has two series: those of `api` are equal.
            assert_eq!(remains, [("job", None), ("pod", Some(5)), ("__name__", None)]);
        });
        after(View::Metrics, &[Action::Drop], |browser| {
            assert!(browser.notice().unwrap().starts_with("w works on the labels of all series"));
        });
    }

    #[test]
    fn pages_are_one_row_shorter_than_the_screen() {
        after(View::Metrics, &[Action::Move(Step::PageDown)], |browser| {
            assert_eq!(selected(browser).as_deref(), Some("(no __name__)"), "the last of three rows");
        });
        after(View::Metrics, &[Action::Move(Step::Last), Action::Move(Step::First), DOWN], |browser| {
            assert_eq!(selected(browser).as_deref(), Some("load"));
        });
    }

    #[test]
    fn a_block_without_series_has_nothing_to_open() {
        with_explorer(&[], |explorer| {
            let mut browser = Browser::open_top("a\u{1b}.cx", View::Metrics, explorer).unwrap();
            assert_eq!(browser.input(), "a\\u001b.cx");
            for action in [Action::Open, DOWN, Action::Sort, Action::Switch, Action::Open, Action::Drop, Action::Back] {
                browser.apply(action, explorer).unwrap();
                browser.fit(3);
                assert_eq!((browser.level().len(), browser.level().selected()), (0, None), "{action:?}");
            }
            assert_eq!(path(&browser), "All > labels");
            assert!(!browser.has_quit());
            browser.apply(Action::Quit, explorer).unwrap();
            assert!(browser.has_quit());
        });
    }
}
