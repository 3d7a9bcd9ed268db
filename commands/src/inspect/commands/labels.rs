//! The commands `labels` and `values`.

use std::io::{self, Write};

use chronoxide_inspect::query::Line;
use chronoxide_text::escape::Escaped;

use super::arguments::{LabelsArguments, ValuesArguments, tell_unknown_label};
use crate::inspect::worse;
use crate::{Exit, Failure, Quiet, json_line, print, tell};

pub(crate) fn labels(arguments: &LabelsArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let inputs = arguments.sources.open(None, quiet)?;
    let queries = inputs.query(&arguments.asked)?;
    arguments.asked.tell(&[&queries], quiet)?;
    let names = queries.query.label_names()?;
    print(|out| write_lines(&names, arguments.json, out))?;
    Ok(queries.finish())
}

pub(crate) fn values(arguments: &ValuesArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let ValuesArguments { name, labels, prefix, limit } = arguments;
    labels.sources.check_name(name)?;
    let inputs = labels.sources.open(None, quiet)?;
    let queries = inputs.query(&labels.asked)?;
    labels.asked.tell(&[&queries], quiet)?;
    let most = if *limit > 0 { *limit } else { usize::MAX };
    let values = queries.query.clone().max_strings(most).label_values_with_prefix(name, prefix)?;
    let is_empty = values.is_empty() && !queries.has_failed();
    let unknown = if is_empty { tell_unknown_label(name, &[&queries], quiet)? } else { None };
    if is_empty && unknown.is_none() && !quiet.is_set() {
        tell(|out| writeln!(out, "chronoxide-inspect: note: no such value of the label {}", Escaped(name)));
    }
    print(|out| write_lines(&values, labels.json, out))?;
    Ok(worse(unknown.unwrap_or(Exit::Ok), queries.finish()))
}

fn write_lines(texts: &[&str], json: bool, out: &mut dyn Write) -> io::Result<()> {
    for text in texts {
        if json { json_line(out, text)? } else { writeln!(out, "{}", Line(text))? }
    }
    Ok(())
}
