//! The terminal: events in, drawings out.

use std::io::{self, IsTerminal};
use std::process;
use std::thread;
use std::time::Duration;

use chronoxide_inspect::report::Explorer;
use ratatui::DefaultTerminal;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;

use super::browser::Browser;
use super::draw;
use super::keys::Action;
use crate::style::Style;
use crate::{Exit, Failure, Interruption};

/// Time between looks at the signals.
const PATIENCE: Duration = Duration::from_millis(200);

/// Returns true if standard input and output are a terminal with a cursor.
pub(super) fn is_possible() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    // Windows has no TERM.
    let has_cursor = cfg!(windows) || !is_dumb;
    has_cursor && io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Shows the screen until the user quits. The terminal is then as before, also after an error, a panic or a signal.
pub(super) fn run(browser: &mut Browser, explorer: &Explorer<'_>, style: Style) -> Result<Exit, Failure> {
    // A signal before this ends the process, and one after it ends the loop below.
    let interruption = Interruption::watch()?;
    interruption.begin();
    end_without_terminal(interruption.clone());
    let outcome = match ratatui::try_init() {
        // Dropping the terminal shows the cursor.
        Ok(mut terminal) => browse(&mut terminal, browser, explorer, style, &interruption),
        Err(error) => Err(error.into()),
    };
    let restored = ratatui::try_restore();
    let exit = outcome?;
    restored?;
    Ok(exit)
}

/// Ends the process after a signal, if the screen does not end within a second. A terminal that is gone gives neither
/// events nor errors, and waiting for one of them would never end.
fn end_without_terminal(interruption: Interruption) {
    let wait = move || {
        while !interruption.is_set() {
            thread::sleep(PATIENCE);
        }
        thread::sleep(Duration::from_secs(1));
        let _ = ratatui::try_restore();
        let _ = execute!(io::stdout(), Show);
        process::exit(Exit::Interrupted.code().into());
    };
    // Without the thread, a second signal ends the process.
    let _ = thread::Builder::new().spawn(wait);
}

fn browse(
    terminal: &mut DefaultTerminal,
    browser: &mut Browser,
    explorer: &Explorer<'_>,
    style: Style,
    interruption: &Interruption,
) -> Result<Exit, Failure> {
    // Installs the handler of changes of the size, so that none after the first drawing is missed.
    event::poll(Duration::ZERO)?;
    redraw(terminal, browser, style)?;
    while !browser.has_quit() {
        if interruption.is_set() {
            return Ok(Exit::Interrupted);
        }
        if !event::poll(PATIENCE)? {
            continue;
        }
        // Events that wait are handled before the next drawing, or a held key would scroll on after its release.
        while !browser.has_quit() && event::poll(Duration::ZERO)? {
            let Event::Key(key) = event::read()? else { continue };
            let Some(action) = Action::from_key(key, browser.mode()) else { continue };
            if browser.announce(action) {
                redraw(terminal, browser, style)?;
            }
            browser.apply(action, explorer)?;
        }
        redraw(terminal, browser, style)?;
    }
    Ok(Exit::Ok)
}

fn redraw(terminal: &mut DefaultTerminal, browser: &mut Browser, style: Style) -> io::Result<()> {
    terminal.draw(|frame| {
        browser.fit(draw::row_count(frame.area()));
        draw::draw(browser, style, frame);
    })?;
    Ok(())
}
