//! The state to cells of the screen.

use chronoxide_text::escape::{Escaped, TerminalSafe};
use chronoxide_text::human;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style as Cells};
use ratatui::text::Span;

use super::browser::Browser;
use super::keys::{HELP, Mode};
use super::level::Level;
use super::table::Table;
use crate::style::Style;

const KEYS: &str = "Enter open  Esc back  Tab labels  / filter  s sort  w without  ? help  q quit";

/// Lines of the screen, from top to bottom.
struct Lines {
    header: Rect,
    headings: Rect,
    rows: Rect,
    footer: Rect,
}

impl Lines {
    /// Divides the screen. The rows keep the last line of a low screen.
    fn new(area: Rect) -> Self {
        let [header, headings, footer] = match area.height {
            0..3 => [0, 0, 0],
            3..8 => [0, 1, 1],
            8.. => [3, 1, 1],
        };
        let mut y = area.y;
        let mut next = |height| {
            y += height;
            Rect { y: y - height, height, ..area }
        };
        Self {
            header: next(header),
            headings: next(headings),
            rows: next(area.height - header - headings - footer),
            footer: next(footer),
        }
    }
}

/// Returns the number of rows of a list on the screen.
pub(super) fn row_count(area: Rect) -> usize {
    Lines::new(area).rows.height.into()
}

/// Draws the state on the whole screen.
pub(super) fn draw(browser: &Browser, style: Style, frame: &mut Frame<'_>) {
    let lines = Lines::new(frame.area());
    let paint = Paint { style };
    let buffer = frame.buffer_mut();
    let level = browser.level();
    let series = format!("{}: {} series", browser.input(), human::count(browser.series()));
    let header = [(series, Cells::new()), (level.view.to_string(), paint.heading()), (status(level), paint.faint())];
    for (line, (text, cells)) in lines.header.rows().zip(header) {
        write(buffer, line, &text, cells);
    }
    if browser.mode() == Mode::Help {
        draw_help(buffer, lines.rows, paint);
    } else {
        draw_rows(buffer, level, &lines, paint);
    }
    let filter = format!("/{}", TerminalSafe(level.filter()));
    match (browser.mode(), browser.notice()) {
        (Mode::Filter, _) => {
            let end = write(buffer, lines.footer, &filter, paint.heading());
            if lines.footer.height > 0 && lines.footer.width > 0 {
                frame.set_cursor_position(Position::new(end.min(lines.footer.right() - 1), lines.footer.y));
            }
        }
        (Mode::Help, _) => _ = write(buffer, lines.footer, "any key closes the help  q quit", paint.faint()),
        (Mode::Browse, Some(notice)) => _ = write(buffer, lines.footer, notice, paint.heading()),
        (Mode::Browse, None) => _ = write(buffer, lines.footer, KEYS, paint.faint()),
    }
}

/// Returns the number of rows, their order and the filter.
fn status(level: &Level) -> String {
    let noun = level.view.noun();
    let mut text = match (level.list.len(), level.len()) {
        (all, matching) if level.filter().is_empty() || all == 0 => human::count_of(matching as u64, noun),
        (all, matching) => format!("{} of {}", human::count(matching as u64), human::count_of(all as u64, noun)),
    };
    text.push_str(" by ");
    text.push_str(level.list.sort_text(level.sort));
    if !level.filter().is_empty() {
        text.push_str(&format!(", filter {}", Escaped(level.filter())));
    }
    text
}

fn draw_rows(buffer: &mut Buffer, level: &Level, lines: &Lines, paint: Paint) {
    let table = Table::new(level, lines.rows.width.into());
    write(buffer, lines.headings, &table.headings(), paint.heading());
    for (line, (row, is_selected)) in lines.rows.rows().zip(level.on_screen(lines.rows.height.into())) {
        let (numbers, bar, name) = table.row(row);
        let at = write(buffer, line, if is_selected { "> " } else { "  " }, Cells::new());
        let at = write(buffer, from(line, at), &numbers, Cells::new());
        let at = write(buffer, from(line, at), &bar, paint.bar());
        write_cut(buffer, from(line, at), &name);
        if is_selected {
            buffer.set_style(line, Cells::new().add_modifier(Modifier::REVERSED));
        }
    }
    if level.len() == 0 {
        let text = if level.filter().is_empty() { "  nothing to show" } else { "  nothing matches the filter" };
        write(buffer, lines.rows, text, paint.faint());
    }
}

fn draw_help(buffer: &mut Buffer, area: Rect, paint: Paint) {
    for (line, (keys, meaning)) in area.rows().zip(HELP) {
        let at = write(buffer, line, &format!("  {keys:<17} "), paint.heading());
        write(buffer, from(line, at), meaning, Cells::new());
    }
}

/// Writes text on the first line of an area, and cuts what does not fit. Returns the column after it.
fn write(buffer: &mut Buffer, area: Rect, text: &str, cells: Cells) -> u16 {
    if area.is_empty() {
        return area.x;
    }
    buffer.set_stringn(area.x, area.y, text, area.width.into(), cells).0
}

/// Writes text on a line. The end of text that does not fit becomes an ellipsis.
fn write_cut(buffer: &mut Buffer, line: Rect, text: &str) {
    if Span::raw(text).width() <= line.width.into() {
        write(buffer, line, text, Cells::new());
        return;
    }
    let short = Rect { width: line.width.saturating_sub(1), ..line };
    let at = write(buffer, short, text, Cells::new());
    write(buffer, from(line, at), "…", Cells::new());
}

/// Returns the part of a line from a column on.
fn from(line: Rect, x: u16) -> Rect {
    Rect { x, width: line.right().saturating_sub(x), ..line }
}

/// Looks of cells; without colours, only of weight.
#[derive(Clone, Copy)]
struct Paint {
    style: Style,
}

impl Paint {
    fn heading(self) -> Cells {
        Cells::new().add_modifier(Modifier::BOLD)
    }

    fn faint(self) -> Cells {
        self.style.choose(Cells::new().add_modifier(Modifier::DIM), Cells::new())
    }

    fn bar(self) -> Cells {
        self.style.choose(Cells::new().fg(Color::Cyan), Cells::new())
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::inspect::commands::top::fixture::{SERIES, with_explorer};
    use crate::inspect::commands::top::keys::{Action, Edit, Step};
    use crate::inspect::commands::top::start::Start;

    /// Draws the state after actions on a screen. Returns its cells.
    fn drawn(series: &[&[(&str, &str)]], start: Start<'_>, actions: &[Action], width: u16, height: u16) -> Buffer {
        with_explorer(series, |explorer| {
            let mut browser = Browser::new("week.cx", start, explorer).unwrap();
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            for action in actions.iter().map(Some).chain([None]) {
                terminal
                    .draw(|frame| {
                        browser.fit(row_count(frame.area()));
                        draw(&browser, Style::plain(), frame);
                    })
                    .unwrap();
                if let Some(&action) = action {
                    browser.apply(action, explorer).unwrap();
                }
            }
            terminal.backend().buffer().clone()
        })
    }

    /// Returns the lines of a screen. The second cell of a wide character is empty.
    fn lines(buffer: &Buffer) -> Vec<String> {
        let width = usize::from(buffer.area.width);
        let line = |cells: &[ratatui::buffer::Cell]| {
            cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned()
        };
        buffer.content.chunks(width).map(line).collect()
    }

    #[test]
    fn a_screen_shows_the_path_the_numbers_and_the_keys() {
        let buffer = drawn(SERIES, Start::Metrics, &[Action::Move(Step::Down)], 90, 9);
        let expected = [
            "week.cx: 6 series",
            "All > metrics",
            "3 metrics by series",
            "         series   share      label bytes              metric",
            "              3   50.0%               66  ██████████  up",
            ">             2   33.3%               36  ██████▊     load",
            "              1   16.7%                7  ███▍        (no __name__)",
            "",
            KEYS,
        ];
        assert_eq!(lines(&buffer), expected);
        // The mark and reversed cells show the selected row without colours.
        let reversed = |y: u16| buffer[(5, y)].modifier.contains(Modifier::REVERSED);
        assert_eq!([4, 5, 6].map(reversed), [false, true, false]);
        assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    }

    #[test]
    fn labels_of_all_series_have_a_column_for_what_remains() {
        let buffer = drawn(SERIES, Start::Labels { label: None }, &[Action::Drop], 100, 9);
        let lines = lines(&buffer);
        // Without `job`, load has one series, and the series without a name has no label.
        assert_eq!(lines[3], "         values         series   share   remain without              label");
        assert_eq!(lines[4], ">             3              6    100%                4  ██████████  job");
        assert_eq!(lines[5], "              3              3   50.0%                   ██████████  pod");
    }

    #[test]
    fn a_filter_and_a_notice_take_the_last_line() {
        let filter = ["u", "p"].map(|text| Action::Filter(Edit::Type(text.chars().next().unwrap())));
        let actions = [&[Action::Filter(Edit::Begin)][..], &filter].concat();
        let shown = lines(&drawn(SERIES, Start::Metrics, &actions, 60, 8));
        assert_eq!((shown[2].as_str(), shown[7].as_str()), ("1 of 3 metrics by series, filter \"up\"", "/up"));
        let start = Start::Metric { name: "none", label: None };
        let shown = lines(&drawn(SERIES, start, &[], 60, 8));
        assert_eq!(shown[7], "no metric has the name \"none\"");
    }

    #[test]
    fn help_lists_all_keys() {
        let shown = lines(&drawn(SERIES, Start::Metrics, &[Action::Help], 100, 24)).join("\n");
        for (keys, meaning) in HELP {
            assert!(shown.contains(keys) && shown.contains(meaning), "{keys}: {shown}");
        }
    }

    #[test]
    fn narrow_and_low_screens_keep_the_selected_name() {
        let down = [Action::Move(Step::Down)];
        for (width, height, expected) in [
            (40, 1, ">             2  load"),
            (40, 2, ">             2  load"),
            (60, 3, ">             2   33.3%               36  load"),
            (75, 7, ">             2   33.3%               36  ██████▊     load"),
            (3, 1, ">"),
        ] {
            let shown = lines(&drawn(SERIES, Start::Metrics, &down, width, height));
            assert_eq!(shown.len(), usize::from(height));
            assert!(shown.iter().any(|line| line == expected), "{width}x{height}: {shown:#?}");
        }
    }

    #[test]
    fn every_size_can_be_drawn_in_every_mode() {
        let modes: [&[Action]; 5] = [
            &[],
            &[Action::Help],
            &[Action::Filter(Edit::Begin), Action::Filter(Edit::Type('世'))],
            &[Action::Open, Action::Open],
            &[Action::Switch, Action::Drop],
        ];
        let mut count = 0;
        for (width, height) in (1..=12).flat_map(|width| (1..=9).map(move |height| (width, height))).chain([(200, 60)])
        {
            for actions in modes {
                let buffer = drawn(SERIES, Start::Metrics, actions, width, height);
                assert_eq!(buffer.area, Rect::new(0, 0, width, height));
                count += 1;
            }
        }
        assert_eq!(count, 5 * (12 * 9 + 1));
    }

    #[test]
    fn wide_and_hostile_values_keep_the_layout() {
        let series: &[&[(&str, &str)]] =
            &[&[("v", "世界世界")], &[("v", "a\u{1b}[2J\u{202e}\r\nb")], &[("v", "e\u{301}")]];
        let shown = lines(&drawn(series, Start::Labels { label: Some("v") }, &[], 80, 8));
        let values: Vec<&str> =
            shown[4..7].iter().map(|line| line.split_once('█').unwrap().1.trim_start_matches('█').trim()).collect();
        assert_eq!(values, [r#""a\u001b[2J\u202e\u000d\u000ab""#, "\"e\u{301}\"", "\"世 界 世 界 \""]);
        // The ellipsis takes the place of each character that does not fit, which may be wide.
        for (width, expected) in [(21, "  \"世 …"), (20, "  \"…"), (19, "  \"…"), (18, "  …"), (17, "1")] {
            let narrow = drawn(series, Start::Labels { label: Some("v") }, &[], width, 8);
            let line = &lines(&narrow)[6];
            assert!(line.ends_with(expected), "{width}: {line:?}");
        }
    }
}
