//! Keys to actions.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Meaning of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Browse,
    /// Keys are text of the filter.
    Filter,
    /// Help covers the list.
    Help,
}

/// Change of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Move(Step),
    /// Opens the selected row.
    Open,
    /// Returns to the level above.
    Back,
    /// Clears the filter, or without one returns to the level above.
    Escape,
    /// Changes between metrics and labels of all series.
    Switch,
    Sort,
    /// Counts the series that remain when the selected label is dropped.
    Drop,
    Filter(Edit),
    Help,
    /// Closes the help.
    Close,
    Quit,
}

/// Move of the selected row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

/// Change of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    Begin,
    Type(char),
    EraseOne,
    EraseAll,
    Keep,
    Clear,
}

/// Keys and their meaning, for the help.
pub(super) const HELP: &[(&str, &str)] = &[
    ("Up, Down, k, j", "select a row; also PgUp, PgDn, Home, End, g and G"),
    ("Enter, Right", "open a metric (its labels) or a label (its values)"),
    ("Left, Backspace", "go back"),
    ("Esc", "clear the filter, or go back"),
    ("Tab", "change between all metrics and all labels"),
    ("/", "filter by a part of the name, in any case: Enter keeps, Esc clears"),
    ("s", "change the order: by number, by name, by the other number"),
    ("w", "count the series that remain when the selected label is dropped from all"),
    ("q, Ctrl-C", "quit"),
];

impl Action {
    /// Returns the action of a key, or `None` if it has none.
    pub(super) fn from_key(key: KeyEvent, mode: Mode) -> Option<Self> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            return Some(Self::Quit);
        }
        match mode {
            Mode::Browse if is_control || key.modifiers.contains(KeyModifiers::ALT) => None,
            Mode::Browse => Self::from_browse(key.code),
            Mode::Filter => Self::from_filter(key.code, key.modifiers),
            Mode::Help if key.code == KeyCode::Char('q') => Some(Self::Quit),
            Mode::Help => Some(Self::Close),
        }
    }

    fn from_browse(code: KeyCode) -> Option<Self> {
        Some(match code {
            KeyCode::Char('k') => Self::Move(Step::Up),
            KeyCode::Char('j') => Self::Move(Step::Down),
            KeyCode::Char('g') => Self::Move(Step::First),
            KeyCode::Char('G') => Self::Move(Step::Last),
            KeyCode::Enter | KeyCode::Right => Self::Open,
            KeyCode::Left | KeyCode::Backspace => Self::Back,
            KeyCode::Esc => Self::Escape,
            KeyCode::Tab | KeyCode::BackTab => Self::Switch,
            KeyCode::Char('s') => Self::Sort,
            KeyCode::Char('w') => Self::Drop,
            KeyCode::Char('/') => Self::Filter(Edit::Begin),
            KeyCode::Char('?') => Self::Help,
            KeyCode::Char('q') => Self::Quit,
            _ => return Self::from_cursor(code),
        })
    }

    fn from_filter(code: KeyCode, modifiers: KeyModifiers) -> Option<Self> {
        // AltGr is Ctrl and Alt on some systems, and types text.
        let is_text = !modifiers.contains(KeyModifiers::CONTROL) || modifiers.contains(KeyModifiers::ALT);
        let edit = match code {
            KeyCode::Char('u') if !is_text => Edit::EraseAll,
            KeyCode::Char(char) if is_text => Edit::Type(char),
            KeyCode::Backspace => Edit::EraseOne,
            KeyCode::Enter => Edit::Keep,
            KeyCode::Esc => Edit::Clear,
            _ => return Self::from_cursor(code),
        };
        Some(Self::Filter(edit))
    }

    fn from_cursor(code: KeyCode) -> Option<Self> {
        Some(Self::Move(match code {
            KeyCode::Up => Step::Up,
            KeyCode::Down => Step::Down,
            KeyCode::PageUp => Step::PageUp,
            KeyCode::PageDown => Step::PageDown,
            KeyCode::Home => Step::First,
            KeyCode::End => Step::Last,
            _ => return None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(code: KeyCode, modifiers: KeyModifiers, mode: Mode) -> Option<Action> {
        Action::from_key(KeyEvent::new(code, modifiers), mode)
    }

    #[test]
    fn letters_are_commands_or_text() {
        let none = KeyModifiers::NONE;
        for (char, command) in [
            ('q', Some(Action::Quit)),
            ('j', Some(Action::Move(Step::Down))),
            ('G', Some(Action::Move(Step::Last))),
            ('/', Some(Action::Filter(Edit::Begin))),
            ('w', Some(Action::Drop)),
            ('x', None),
        ] {
            assert_eq!(action(KeyCode::Char(char), none, Mode::Browse), command);
            let text = Some(Action::Filter(Edit::Type(char)));
            assert_eq!(action(KeyCode::Char(char), none, Mode::Filter), text);
        }
        assert_eq!(action(KeyCode::Char('x'), none, Mode::Help), Some(Action::Close));
        assert_eq!(action(KeyCode::Char('q'), none, Mode::Help), Some(Action::Quit));
    }

    #[test]
    fn arrows_move_also_while_a_filter_is_typed() {
        for mode in [Mode::Browse, Mode::Filter] {
            assert_eq!(action(KeyCode::Down, KeyModifiers::NONE, mode), Some(Action::Move(Step::Down)));
            assert_eq!(action(KeyCode::End, KeyModifiers::NONE, mode), Some(Action::Move(Step::Last)));
        }
        assert_eq!(action(KeyCode::Right, KeyModifiers::NONE, Mode::Filter), None);
    }

    #[test]
    fn control_c_quits_in_every_mode_and_other_controls_are_not_text() {
        let control = KeyModifiers::CONTROL;
        for mode in [Mode::Browse, Mode::Filter, Mode::Help] {
            assert_eq!(action(KeyCode::Char('c'), control, mode), Some(Action::Quit));
        }
        assert_eq!(action(KeyCode::Char('q'), control, Mode::Browse), None);
        assert_eq!(action(KeyCode::Char('a'), control, Mode::Filter), None);
        assert_eq!(action(KeyCode::Char('u'), control, Mode::Filter), Some(Action::Filter(Edit::EraseAll)));
        let typed = Some(Action::Filter(Edit::Type('@')));
        assert_eq!(action(KeyCode::Char('@'), control | KeyModifiers::ALT, Mode::Filter), typed);
    }

    #[test]
    fn released_keys_do_nothing() {
        let mut key = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        key.kind = KeyEventKind::Release;
        assert_eq!(Action::from_key(key, Mode::Browse), None);
    }
}
