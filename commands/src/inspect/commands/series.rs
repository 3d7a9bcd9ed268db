//! The command `series`.

use std::io::{self, Write};

use chronoxide::{OpenOptions, Query};
use chronoxide_dump::series::{Format, SeriesWriter};
use chronoxide_reader::SeriesRef;

use super::arguments::SeriesArguments;
use super::inputs::Inputs;
use crate::{Exit, Failure, Quiet, print};

pub(crate) fn series(arguments: &SeriesArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let asked = &arguments.asked;
    let (selectors, time) = (&asked.matching.selectors, asked.time()?);
    let inputs = match &arguments.sources.paths[..] {
        [path] if !selectors.is_empty() && crate::url(path).is_some() && crate::location_url(path).is_none() => {
            // Only what the query reads is fetched.
            let read = |blocks: &chronoxide::Blocks| {
                let inputs = Inputs::from_blocks(blocks.clone());
                write(arguments, &inputs.selected(selectors, time)?, true, &mut io::sink()).map(drop)
            };
            Inputs::from_blocks(OpenOptions::new().open_for(path, read)?)
        }
        _ => arguments.sources.open(None, quiet)?,
    };
    let queries = inputs.query(asked)?;
    asked.tell(&[&queries], quiet)?;
    let mut read = Ok(());
    print(|out| {
        let written = write(arguments, &queries.query, inputs.is_one_file(), out);
        written.unwrap_or_else(|error| {
            read = Err(error);
            Ok(())
        })
    })?;
    read?;
    Ok(queries.finish())
}

/// Writes the selected series. The inner result is that of the output.
fn write(
    arguments: &SeriesArguments,
    query: &Query<'_>,
    is_one_file: bool,
    out: &mut dyn Write,
) -> Result<io::Result<()>, chronoxide::Error> {
    let format = if arguments.json { Format::SeriesJson } else { arguments.format.into() };
    let mut writer = SeriesWriter::new(format);
    let (mut rows, mut labels) = (query.distinct_series()?, Vec::new());
    let most = if arguments.first > 0 { arguments.first } else { usize::MAX };
    for _ in 0..most {
        let Some(series) = rows.next()? else { break };
        labels.clear();
        labels.extend(series.labels().iter().map(|&label| <(&str, &str)>::from(label)));
        let id = series.ids().next().filter(|_| is_one_file);
        if let Err(error) = writer.write("", id.map(|id| SeriesRef(id.series)), &labels, out) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}
