//! Output of the command for remaps.

use std::collections::BTreeSet;
use std::path::Path;

use chronoxide_dump::remap::{Followed, RemapSummary, dump, dump_entries, follow as follow_series};
use chronoxide_reader::{
    BlockId, Checks, Folder, FollowError, Followed as FollowedTo, OpenError, Remap, RemapFolder, SeriesRef,
};

use crate::inspect::arguments::FollowArguments;
use crate::inspect::opened::{Opened, open_remap};
use crate::inspect::{screen, write_out, write_styled};
use crate::{Exit, Failure, OrExit, json_line};

pub(crate) fn summary(path: &Path, remap: &Remap, json: bool) -> Result<Exit, Failure> {
    write_styled(path, |out, style| {
        let summary = RemapSummary::from_view(&remap.view())?;
        if json { Ok(json_line(out, &summary)?) } else { Ok(screen::remap::write(&summary, style, out)?) }
    })
}

pub(crate) fn dump_remap(path: &Path, remap: &Remap, first: Option<u32>, json: bool) -> Result<Exit, Failure> {
    write_out(path, |out| {
        if !json {
            return Ok(dump(&remap.view(), first, out)?);
        }
        Ok(dump_entries(&remap.view(), first, &mut |entry| Ok(json_line(out, &entry)?))?)
    })
}

/// Writes the target of each series. Checks only the chunks that lookups read, so that one series does not cost a pass
/// over the file.
pub(crate) fn follow(arguments: &FollowArguments) -> Result<Exit, Failure> {
    if let Some(folder) = &arguments.remaps {
        return follow_through(arguments, folder);
    }
    let path = &arguments.remap;
    let damaged = |source| OpenError::Remap { path: path.clone(), source };
    let remap = open_remap(path, Checks::Lazy)?;
    let view = remap.view();
    let mut all = Vec::with_capacity(arguments.series.len());
    for &series in &arguments.series {
        let Some(followed) = follow_series(&view, series).map_err(damaged)? else {
            let count = view.series_count().map_err(damaged)?;
            return Err(Failure::new(
                Exit::Usage,
                format!("series {series} is out of range: the input has {count} series, from 0"),
            ));
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

/// Follows each series through the remaps of a folder. The exit code is 5 if a series is in a missing block.
fn follow_through(arguments: &FollowArguments, folder: &Path) -> Result<Exit, Failure> {
    let path = &arguments.remap;
    let block = block_id(path)?;
    let present: Option<BTreeSet<BlockId>> = match &arguments.blocks {
        // SAFETY: published blocks are never changed, only deleted or replaced by renaming. The maps are gone when this
        // line ends.
        Some(blocks) => Some(unsafe { Folder::map_packed(blocks, Checks::Never) }.or_exit(Exit::Io)?.ids().collect()),
        None => None,
    };
    let is_there = |block: BlockId| present.as_ref().is_some_and(|present| present.contains(&block));
    let mut remaps = RemapFolder::new(folder, Checks::Lazy);
    let mut all = Vec::with_capacity(arguments.series.len());
    for &series_ref in &arguments.series {
        let found = remaps.follow(block, SeriesRef(series_ref), is_there).map_err(|error| match error {
            FollowError::Open(error) => Failure::from(error),
            FollowError::Remap { path, source } => OpenError::Remap { path, source }.into(),
            error @ FollowError::NoSeries { .. } => Failure::new(Exit::Usage, error),
            error => Failure::new(Exit::Corrupt, error),
        })?;
        let (place, missing) = match found {
            FollowedTo::Found { block, series } => (Some((block, series)), false),
            FollowedTo::Lost { block, series } => (Some((block, series)), present.is_some()),
            FollowedTo::Dropped { .. } => (None, false),
        };
        all.push(Followed {
            series_ref,
            block_id: place.map(|(block, _)| block.to_string()),
            output: None,
            series: place.map(|(_, series)| series.0),
            missing,
        });
    }
    write_out(path, |out| {
        for followed in &all {
            if arguments.json { json_line(out, followed)? } else { writeln!(out, "{followed}")? }
        }
        Ok(())
    })?;
    Ok(if all.iter().any(|followed| followed.missing) { Exit::Findings } else { Exit::Ok })
}

/// Returns the id of a block: from the text of the id, from the block itself, or from its remap.
fn block_id(path: &Path) -> Result<BlockId, Failure> {
    if let Some(id) = path.to_str().and_then(|text| text.parse().ok()) {
        return Ok(id);
    }
    Ok(match Opened::open(path, Checks::Lazy)? {
        Opened::Block(block) => block.view().block_id(),
        Opened::Remap(remap) => remap.view().input_id(),
    })
}
