//! The command `cardinality`.

use std::io::IsTerminal;

use chronoxide_inspect::query::Cardinality;

use super::arguments::CardinalityArguments;
use crate::inspect::{screen, shown_json_line};
use crate::style::Style;
use crate::{Exit, Failure, Quiet, print};

pub(crate) fn cardinality(arguments: &CardinalityArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let inputs = arguments.sources.open(None, quiet)?;
    arguments.matching.tell_wide(quiet);
    let queries = inputs.query(&arguments.matching.selectors);
    arguments.matching.tell_unknown(&[&queries], quiet);
    // Zeros would hide the error.
    if !queries.has_failed() {
        let counts = Cardinality::new(&queries.blocks, (arguments.first > 0).then_some(arguments.first));
        let terminal = std::io::stdout().is_terminal();
        print(|out| match arguments.json {
            true => shown_json_line(out, &counts, terminal),
            false => screen::cardinality::write(&counts, Style::stdout(), screen::most(terminal), out),
        })?;
    }
    Ok(queries.finish())
}
