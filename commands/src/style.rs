//! Colours of messages and summaries.

use std::fmt::{self, Display};
use std::io;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style as Ansi};

/// Decision whether a stream gets colours.
///
/// Terminals get colours, except with `TERM=dumb` or `CLICOLOR=0`. `NO_COLOR` turns colours off, and `CLICOLOR_FORCE`
/// turns them on for pipes too (<https://no-color.org>, <https://bixense.com/clicolors>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    coloured: bool,
}

impl Style {
    /// Returns the style of standard output.
    #[must_use]
    pub fn stdout() -> Self {
        Style::for_stream(&io::stdout())
    }

    /// Returns the style of standard error.
    #[must_use]
    pub fn stderr() -> Self {
        Style::for_stream(&io::stderr())
    }

    /// Returns the style without colours.
    #[must_use]
    pub fn plain() -> Self {
        Style { coloured: false }
    }

    fn for_stream(stream: &impl RawStream) -> Self {
        Style { coloured: AutoStream::choice(stream) != ColorChoice::Never }
    }

    /// Returns true if there are colours.
    #[must_use]
    pub fn is_coloured(self) -> bool {
        self.coloured
    }

    /// Returns `coloured` or `plain`, as this style is.
    pub fn choose<T>(self, coloured: T, plain: T) -> T {
        if self.coloured { coloured } else { plain }
    }

    /// Paints a heading.
    pub fn heading<T: Display>(self, text: T) -> Painted<T> {
        self.paint(Ansi::new().bold(), text)
    }

    /// Paints text that matters less than the text around it.
    pub fn faint<T: Display>(self, text: T) -> Painted<T> {
        self.paint(Ansi::new().dimmed(), text)
    }

    /// Paints a good result.
    pub fn good<T: Display>(self, text: T) -> Painted<T> {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    /// Paints an error or a bad result.
    pub fn bad<T: Display>(self, text: T) -> Painted<T> {
        self.paint(AnsiColor::Red.on_default().bold(), text)
    }

    fn paint<T: Display>(self, style: Ansi, text: T) -> Painted<T> {
        Painted { style: if self.coloured { style } else { Ansi::new() }, text }
    }
}

/// Text with a colour. Width and alignment apply to the text alone.
#[derive(Debug, Clone, Copy)]
pub struct Painted<T> {
    style: Ansi,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.style.render())?;
        self.text.fmt(f)?;
        write!(f, "{}", self.style.render_reset())
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Runs this test again in processes whose standard output is a pipe.
    #[test]
    fn pipes_get_colours_if_they_are_forced_and_not_forbidden() {
        const CHILD: &str = "CHRONOXIDE_STYLE_CHILD";
        if let Some(expected) = std::env::var_os(CHILD) {
            assert_eq!(Style::stdout().is_coloured(), expected == "coloured");
            return;
        }
        for (variables, expected) in [
            (&[][..], "plain"),
            (&[("CLICOLOR_FORCE", "1")], "coloured"),
            (&[("CLICOLOR_FORCE", "")], "plain"),
            (&[("NO_COLOR", "1")], "plain"),
            (&[("NO_COLOR", ""), ("CLICOLOR_FORCE", "1")], "coloured"),
            (&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], "plain"),
        ] {
            let status = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "style::tests::pipes_get_colours_if_they_are_forced_and_not_forbidden",
                    "--nocapture",
                ])
                .env_remove("NO_COLOR")
                .env_remove("CLICOLOR_FORCE")
                .env_remove("CLICOLOR")
                .envs(variables.iter().copied())
                .env(CHILD, expected)
                .stdout(Stdio::piped())
                .output()
                .unwrap()
                .status;
            assert!(status.success(), "{variables:?} {expected}");
        }
    }

    #[test]
    fn width_applies_to_the_text() {
        let style = Style { coloured: true };
        assert_eq!(format!("[{:>4}]", style.bad("no")), "[\u{1b}[1m\u{1b}[31m  no\u{1b}[0m]");
        assert_eq!(format!("[{:>4}]", Style::plain().bad("no")), "[  no]");
    }
}
