//! The command `cardinality`.

use std::io::IsTerminal;

use chronoxide_inspect::query::Cardinality;

use super::arguments::CardinalityArguments;
use crate::inspect::screen;
use crate::{Exit, Failure, Quiet, json_line, print_styled};

pub(crate) fn cardinality(arguments: &CardinalityArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let inputs = arguments.sources.open(None, quiet)?;
    let queries = inputs.query(&arguments.asked)?;
    arguments.asked.tell(&[&queries], quiet)?;
    let counts = Cardinality::new(&queries.query, (arguments.first > 0).then_some(arguments.first))?;
    // Zeros would hide the error.
    if !queries.has_failed() {
        let terminal = std::io::stdout().is_terminal();
        print_styled(|out, style| match arguments.json {
            true => json_line(out, &counts),
            false => screen::cardinality::write(&counts, style, screen::most(terminal), out),
        })?;
    }
    Ok(queries.finish())
}
