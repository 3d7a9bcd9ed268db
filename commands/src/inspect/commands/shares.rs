//! The command `shares`.

use std::io::{self, Write};

use chronoxide_inspect::query::{Share, Shares};
use serde_json::json;

use super::arguments::{Asked, SharesArguments, tell_unknown_label};
use crate::inspect::{screen, worse};
use crate::{Exit, Failure, Quiet, json_line, print_styled};

pub(crate) fn shares(arguments: &SharesArguments, quiet: Quiet) -> Result<Exit, Failure> {
    let SharesArguments { name, sources, first, json } = arguments;
    sources.check_name(name)?;
    let inputs = sources.open(None, quiet)?;
    let queries = inputs.query(&Asked::default())?;
    let (shares, damaged) = Shares::new(&queries.query, name)?;
    damaged.iter().for_each(|error| queries.report(error));
    let unknown = if shares.values == 0 { tell_unknown_label(name, &[&queries], quiet)? } else { None };
    if !queries.has_failed() {
        let most = if *first > 0 { *first } else { usize::MAX };
        print_styled(|out, style| match json {
            true => write_json(name, &shares, most, out),
            false => screen::shares::write(name, &shares, most, style, out),
        })?;
    }
    Ok(worse(unknown.unwrap_or(Exit::Ok), queries.finish()))
}

fn write_json(name: &str, shares: &Shares, most: usize, out: &mut dyn Write) -> io::Result<()> {
    let Shares { series, bytes, values, shares } = shares;
    let (bytes, label) = (bytes.round() as u64, name);
    json_line(out, &json!({ "type": "total", "label": label, "values": values, "series": series, "bytes": bytes }))?;
    for Share { value, series, bytes } in shares.iter().take(most) {
        json_line(out, &json!({ "type": "share", "value": value, "series": series, "bytes": bytes }))?;
    }
    Ok(())
}
