//! Colours, when they are wanted.

use std::env;
use std::ffi::OsString;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal};

/// Whether a stream gets colours.
///
/// `NO_COLOR` forbids them, `CLICOLOR_FORCE` wants them in any case, and otherwise they are for terminals other
/// than `TERM=dumb` (<https://no-color.org>, <https://bixense.com/clicolors>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    coloured: bool,
}

impl Style {
    /// For standard output.
    pub fn stdout() -> Self {
        Style::decide(|name| env::var_os(name), io::stdout().is_terminal())
    }

    /// For standard error.
    pub fn stderr() -> Self {
        Style::decide(|name| env::var_os(name), io::stderr().is_terminal())
    }

    /// Without colours.
    pub fn plain() -> Self {
        Style { coloured: false }
    }

    fn decide(variable: impl Fn(&str) -> Option<OsString>, is_terminal: bool) -> Self {
        let is = |name, value: &str| variable(name).is_some_and(|set| set == value);
        let is_set = |name| variable(name).is_some_and(|set| !set.is_empty());
        let coloured = if is_set("NO_COLOR") {
            false
        } else if is_set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") {
            true
        } else {
            is_terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb")
        };
        Style { coloured }
    }

    /// Whether there are colours.
    pub fn is_coloured(self) -> bool {
        self.coloured
    }

    /// One of two texts that were made for both cases.
    pub fn choose<T>(self, coloured: T, plain: T) -> T {
        if self.coloured { coloured } else { plain }
    }

    /// A heading.
    pub fn heading<T: Display>(self, text: T) -> Painted<T> {
        self.paint("1", text)
    }

    /// What matters less than the text around it.
    pub fn faint<T: Display>(self, text: T) -> Painted<T> {
        self.paint("2", text)
    }

    /// What is right.
    pub fn good<T: Display>(self, text: T) -> Painted<T> {
        self.paint("32", text)
    }

    /// What is wrong.
    pub fn bad<T: Display>(self, text: T) -> Painted<T> {
        self.paint("1;31", text)
    }

    fn paint<T: Display>(self, code: &'static str, text: T) -> Painted<T> {
        Painted { code: self.coloured.then_some(code), text }
    }
}

/// Text that is printed in its colour. Width and alignment apply to the text alone.
#[derive(Debug, Clone, Copy)]
pub struct Painted<T> {
    code: Option<&'static str>,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(code) = self.code else {
            return self.text.fmt(f);
        };
        write!(f, "\u{1b}[{code}m")?;
        self.text.fmt(f)?;
        f.write_str("\u{1b}[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coloured(variables: &[(&str, &str)], is_terminal: bool) -> bool {
        let variable =
            |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| OsString::from(value));
        Style::decide(variable, is_terminal).is_coloured()
    }

    #[test]
    fn terminals_get_colours_and_pipes_do_not() {
        assert!(coloured(&[], true));
        assert!(!coloured(&[], false));
        assert!(!coloured(&[("TERM", "dumb")], true));
        assert!(!coloured(&[("CLICOLOR", "0")], true));
    }

    #[test]
    fn no_color_wins_over_force_and_force_over_pipes() {
        assert!(coloured(&[("CLICOLOR_FORCE", "1")], false));
        assert!(!coloured(&[("CLICOLOR_FORCE", "0")], false));
        assert!(!coloured(&[("CLICOLOR_FORCE", "")], false));
        assert!(!coloured(&[("NO_COLOR", "1")], true));
        assert!(coloured(&[("NO_COLOR", "")], true));
        assert!(!coloured(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true));
    }

    #[test]
    fn width_applies_to_the_text() {
        let style = Style { coloured: true };
        assert_eq!(format!("[{:>4}]", style.bad("no")), "[\u{1b}[1;31m  no\u{1b}[0m]");
        assert_eq!(format!("[{:>4}]", Style::plain().bad("no")), "[  no]");
    }
}
