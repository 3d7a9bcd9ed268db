//! The command `series`.

use std::io::{self, Write};

use chronoxide_dump::series::{Format, SeriesWriter};
use chronoxide_inspect::query::{Queried, each_distinct};

use super::arguments::SeriesArguments;
use super::inputs::Inputs;
use crate::inspect::remote;
use crate::{Exit, Failure, Quiet, print};

pub(crate) fn series(arguments: &SeriesArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let selectors = &arguments.matching.selectors;
    let inputs = match &arguments.sources.paths[..] {
        [path] if crate::location_url(path).is_none() && !selectors.is_empty() => match crate::url(path) {
            Some(url) => {
                let read = |queried: &[Queried<'_>]| write(arguments, queried, true, &mut std::io::sink());
                Inputs::from_block(path, remote::open_for(url, selectors, read)?)
            }
            None => arguments.sources.open(None, quiet)?,
        },
        _ => arguments.sources.open(None, quiet)?,
    };
    arguments.matching.tell_wide(quiet);
    let queries = inputs.query(selectors);
    arguments.matching.tell_unknown(&[&queries], quiet);
    print(|out| write(arguments, &queries.blocks, inputs.is_one_file(), out))?;
    Ok(queries.finish())
}

/// Writes the selected series.
fn write(
    arguments: &SeriesArguments,
    blocks: &[Queried<'_>],
    is_one_file: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let format = if arguments.json { Format::SeriesJson } else { arguments.format.into() };
    let mut writer = SeriesWriter::new(format);
    let mut left = if arguments.first > 0 { arguments.first } else { usize::MAX };
    each_distinct(blocks, |found| {
        let series = is_one_file.then(|| found.series_ref());
        writer.write("", series, found.labels, out)?;
        left -= 1;
        Ok(left > 0)
    })
}
