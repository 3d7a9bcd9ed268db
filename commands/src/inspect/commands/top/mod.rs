//! The command `top`: metrics, labels and values by their number of series, on a full screen or as a plain table.
//!
//! | module | contents |
//! |---|---|
//! | `arguments` | arguments of the command |
//! | `view` | views, and the series that they count |
//! | `list` | rows of a view: names, numbers, orders |
//! | `level` | a list with a filter, an order and a selected row |
//! | `browser` | the state of the screen: levels from the top to the current one |
//! | `start` | the list to begin with |
//! | `keys` | keys to actions |
//! | `table` | columns of a list on the screen |
//! | `draw` | the state to cells of the screen |
//! | `screen` | the terminal: events, and what it looked like before |
//! | `plain` | table and JSON for pipes and files |

pub(crate) mod arguments;
mod browser;
mod draw;
#[cfg(test)]
mod fixture;
mod keys;
mod level;
mod list;
mod plain;
mod screen;
mod start;
mod table;
mod view;

use chronoxide_inspect::report::{Options, explore};

use self::arguments::TopArguments;
use self::browser::Browser;
use super::counting::Counting;
use crate::inspect::worse;
use crate::memory::default_limit;
use crate::style::Style;
use crate::{Exit, Failure, Quiet, print_styled, tell};

pub(crate) fn top(arguments: &TopArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let inputs = arguments.sources.open(arguments.memory_limit, quiet)?;
    arguments.matching.tell_wide(quiet);
    let (queries, unread) = arguments.queries.read(quiet)?;
    let name = arguments.sources.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let input = inputs.reported(&name);
    if input.blocks.is_empty() {
        // The reasons are reported already.
        return Ok(worse(inputs.exit(), unread));
    }
    let options = Options {
        selectors: &arguments.matching.selectors,
        memory_limit: Some(arguments.memory_limit.unwrap_or_else(default_limit)),
        queries: queries.as_ref(),
        ..Options::default()
    };
    if arguments.churn {
        let churn = explore(&input, &options, |explorer| explorer.churn(first(arguments)))??;
        plain::print_churn(churn.as_ref(), arguments.json, quiet)?;
        return Ok(inputs.exit());
    }
    let is_screen = !arguments.json && screen::is_possible();
    let counting = is_screen.then(|| Counting::show(quiet));
    let exit = explore(&input, &options, |explorer| {
        let mut browser = Browser::new(&name, arguments.start(), explorer)?;
        drop(counting);
        if is_screen { screen::run(&mut browser, explorer, Style::stdout()) } else { print(arguments, &browser, quiet) }
    })??;
    Ok(if exit == Exit::Ok { worse(inputs.exit(), unread) } else { exit })
}

/// Returns the number of rows of a list.
fn first(arguments: &TopArguments) -> usize {
    if arguments.first > 0 { arguments.first } else { usize::MAX }
}

/// Prints the list to begin with, or a note if it does not exist.
fn print(arguments: &TopArguments, browser: &Browser, quiet: Quiet) -> Result<Exit, Failure> {
    if let Some(notice) = browser.notice() {
        if !quiet.is_set() {
            tell(|out| writeln!(out, "chronoxide-inspect: note: {notice}"));
        }
        return Ok(Exit::Ok);
    }
    let first = first(arguments);
    print_styled(|out, style| match arguments.json {
        true => plain::write_json(browser.level(), first, out),
        false => plain::write(browser.level(), first, style, out),
    })?;
    Ok(Exit::Ok)
}
