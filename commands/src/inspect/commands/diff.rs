//! The command `diff`.

use std::io::{self, Write};

use chronoxide_dump::series::{Format, SeriesWriter};
use chronoxide_inspect::query::{Difference, Explosion, Labels, each_series};
use serde_json::{Map, json};

use super::arguments::DiffArguments;
use super::inputs::Inputs;
use crate::inspect::{screen, worse};
use crate::{Exit, Failure, Quiet, json_line, print};

pub(crate) fn diff(arguments: &DiffArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let paths = [arguments.a.as_path(), arguments.b.as_path()];
    Inputs::check(paths)?;
    let mut inputs = paths.map(|path| Inputs::open_packed([path], quiet));
    Inputs::unpack(&mut inputs, None)?;
    let [a, b] = inputs;
    let (a, b) = (a.query(&arguments.asked)?, b.query(&arguments.asked)?);
    arguments.asked.tell(&[&a, &b], quiet)?;
    let mut difference = Difference::new(&a.query, &b.query)?;
    if a.lacks_blocks() {
        // Values of the missing series would look new.
        difference.explosions.clear();
    }
    let mut differs = false;
    // A side that cannot be read at all would look as if all of its series were gone.
    if !a.has_failed() && !b.has_failed() {
        differs = !difference.is_empty();
        print(|out| match arguments.json {
            true => write_json(arguments, &difference, out),
            false => write_text(arguments, &difference, out),
        })?;
    }
    Ok(match worse(a.finish(), b.finish()) {
        Exit::Ok if differs => Exit::Findings,
        exit => exit,
    })
}

fn write_text(arguments: &DiffArguments, difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
    screen::difference::write(difference, most(arguments), out)?;
    if arguments.series {
        let mut writer = SeriesWriter::new(Format::Prometheus);
        each_series(&difference.gone, |labels| writer.write("- ", None, labels, out))?;
        each_series(&difference.came, |labels| writer.write("+ ", None, labels, out))?;
    }
    Ok(())
}

fn write_json(arguments: &DiffArguments, difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
    let Difference { same, gone, came, metrics, explosions } = difference;
    json_line(out, &json!({ "type": "total", "same": same, "gone": gone.len(), "came": came.len() }))?;
    for Explosion { label, also, owner, values_before, values_after, series } in explosions {
        let line = json!({
            "type": "explosion", "label": label, "also": also, "owner": owner, "values_before": values_before,
            "values_after": values_after, "series": series,
        });
        json_line(out, &line)?;
    }
    for (metric, changes) in metrics.iter().take(most(arguments)) {
        let line = json!({ "type": "metric", "metric": metric, "gone": changes.gone, "came": changes.came });
        json_line(out, &line)?;
    }
    if arguments.series {
        let mut write = |kind, labels: &Labels<'_>| {
            let labels: Map<_, _> = labels.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
            json_line(out, &json!({ "type": kind, "labels": labels }))
        };
        each_series(gone, |labels| write("gone", labels))?;
        each_series(came, |labels| write("came", labels))?;
    }
    Ok(())
}

fn most(arguments: &DiffArguments) -> usize {
    if arguments.first > 0 { arguments.first } else { usize::MAX }
}
