//! The command `series`.

use std::io::IsTerminal;

use chronoxide_cli::{Exit, Failure, Quiet, print};
use chronoxide_inspect::query::each_distinct;
use chronoxide_inspect::series::{Format, SeriesWriter};

use super::arguments::SeriesArguments;

pub(crate) fn series(arguments: &SeriesArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let inputs = arguments.sources.open(quiet)?;
    arguments.matching.tell_wide(quiet);
    let queries = inputs.query(&arguments.matching.selectors);
    arguments.matching.tell_unknown(&[&queries], quiet);
    let format = if arguments.json { Format::SeriesJson } else { arguments.format };
    let mut writer = SeriesWriter::new(format, std::io::stdout().is_terminal());
    let mut left = if arguments.first > 0 { arguments.first } else { usize::MAX };
    print(|out| {
        each_distinct(&queries.blocks, |found| {
            let series = inputs.is_one_file().then(|| found.series_ref());
            writer.write("", series, found.labels, out)?;
            left -= 1;
            Ok(left > 0)
        })
    })?;
    Ok(queries.finish())
}
