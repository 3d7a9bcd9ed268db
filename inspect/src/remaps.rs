//! What the command shows of remaps.

use std::path::Path;

use chronoxide_cli::style::Style;
use chronoxide_cli::{Exit, Failure};
use chronoxide_inspect::remap::{RemapSummary, dump, dump_entries, follow as follow_series};
use chronoxide_reader::{Checks, OpenError, Remap};

use crate::arguments::FollowArguments;
use crate::opened::open_remap;
use crate::{json_line, screen, write_out};

pub(crate) fn summary(path: &Path, remap: &Remap, json: bool) -> Result<Exit, Failure> {
    write_out(path, |out| {
        let summary = RemapSummary::of(&remap.view())?;
        if json { json_line(out, &summary) } else { Ok(screen::remap::write(&summary, Style::stdout(), out)?) }
    })
}

/// The summary, and the beginning of the dump.
pub(crate) fn overview(path: &Path, remap: &Remap, first: Option<u32>) -> Result<Exit, Failure> {
    write_out(path, |out| {
        let view = remap.view();
        screen::remap::write(&RemapSummary::of(&view)?, Style::stdout(), out)?;
        writeln!(out)?;
        dump(&view, first, out)
    })
}

pub(crate) fn dump_remap(path: &Path, remap: &Remap, first: Option<u32>, json: bool) -> Result<Exit, Failure> {
    write_out(path, |out| {
        if !json {
            return dump(&remap.view(), first, out);
        }
        dump_entries(&remap.view(), first, &mut |entry| json_line(out, &entry))
    })
}

/// Says of each series where it is now. Only what lookups touch is checked, so that one series of many costs no pass over the file.
pub(crate) fn follow(arguments: &FollowArguments) -> Result<Exit, Failure> {
    let path = &arguments.remap;
    let damaged = |source| OpenError::Remap { path: path.clone(), source };
    let remap = open_remap(path, Checks::Lazy)?;
    let view = remap.view();
    let mut all = Vec::with_capacity(arguments.series.len());
    for &series in &arguments.series {
        let Some(followed) = follow_series(&view, series).map_err(damaged)? else {
            let count = view.series_count().map_err(damaged)?;
            return Err(Failure::new(Exit::Usage, format!("no series {series}: the input has {count}, from 0 on")));
        };
        all.push(followed);
    }
    write_out(path, |out| {
        for followed in &all {
            if arguments.json { json_line(out, followed)? } else { writeln!(out, "{followed}")? }
        }
        Ok(())
    })
}
