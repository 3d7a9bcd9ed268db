//! The commands `labels` and `values`.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use chronoxide_inspect::query::{Line, label_names, label_values};
use chronoxide_text::escape::{Escaped, TerminalSafe};

use super::arguments::{LabelsArguments, ValuesArguments, tell_unknown_label};
use crate::{Exit, Failure, Quiet, print, tell};

pub(crate) fn labels(arguments: &LabelsArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let inputs = arguments.sources.open(None, quiet)?;
    arguments.matching.tell_wide(quiet);
    let queries = inputs.query(&arguments.matching.selectors);
    arguments.matching.tell_unknown(&[&queries], quiet);
    let names = label_names(&queries.blocks);
    print(|out| write_lines(&names, arguments.json, out))?;
    Ok(queries.finish())
}

pub(crate) fn values(arguments: &ValuesArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let ValuesArguments { name, labels, prefix, limit } = arguments;
    let inputs = labels.sources.open(None, quiet)?;
    labels.matching.tell_wide(quiet);
    let queries = inputs.query(&labels.matching.selectors);
    labels.matching.tell_unknown(&[&queries], quiet);
    let values = label_values(&queries.blocks, name, prefix, (*limit > 0).then_some(*limit));
    if queries.has_failed() && Path::new(name).is_file() && !quiet.is_set() {
        tell(|out| writeln!(out, "chronoxide-inspect: note: {} is a file: name the label first", Escaped(name)));
    }
    if values.is_empty() && !queries.has_failed() && !tell_unknown_label(name, &[&queries], quiet) && !quiet.is_set() {
        tell(|out| writeln!(out, "chronoxide-inspect: note: no such value of the label {}", Escaped(name)));
    }
    print(|out| write_lines(&values, labels.json, out))?;
    Ok(queries.finish())
}

fn write_lines(texts: &BTreeSet<&str>, json: bool, out: &mut dyn Write) -> io::Result<()> {
    let terminal = io::stdout().is_terminal();
    for text in texts {
        match (json, terminal) {
            (false, _) => writeln!(out, "{}", Line(text))?,
            (true, false) => writeln!(out, "{}", serde_json::to_string(text)?)?,
            (true, true) => writeln!(out, "{}", TerminalSafe(&serde_json::to_string(text)?))?,
        }
    }
    Ok(())
}
