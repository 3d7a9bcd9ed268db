//! The command `summary` of a folder or location.

use std::path::Path;

use chronoxide_dump::summary::{Times, per, times};
use chronoxide_format::view::{BlockView, TimeRange};
use serde::Serialize;

use super::inputs::Inputs;
use crate::inspect::screen;
use crate::{Exit, Failure, Quiet, json_line, print_styled};

/// The live blocks of a folder.
#[derive(Debug, Serialize)]
pub(crate) struct FolderSummary {
    pub(crate) folder: String,
    /// True if the folder also has blocks that a compaction replaced.
    pub(crate) has_replaced: bool,
    /// Files that cannot be read as blocks.
    pub(crate) unreadable: Vec<String>,
    pub(crate) bytes: u64,
    /// Sum over the blocks: a series of two blocks counts twice.
    pub(crate) series: u64,
    pub(crate) bytes_per_series: Option<f64>,
    /// From the first time to the last one, if any block has times.
    pub(crate) time: Option<Times>,
    /// Live blocks in the order of their ids, which is that of their times.
    pub(crate) blocks: Vec<BlockLine>,
}

/// A live block.
#[derive(Debug, Serialize)]
pub(crate) struct BlockLine {
    pub(crate) path: String,
    pub(crate) block_id: String,
    pub(crate) bytes: u64,
    pub(crate) series: u64,
    pub(crate) time: Option<Times>,
    #[serde(skip)]
    range: Option<TimeRange>,
}

impl BlockLine {
    fn new(path: &Path, view: &BlockView<'_>) -> chronoxide_format::Result<Self> {
        let meta = view.meta()?;
        Ok(Self {
            path: path.display().to_string(),
            block_id: view.block_id().to_string(),
            bytes: view.bytes().len() as u64,
            series: meta.series_count(),
            time: meta.time().map(times),
            range: meta.time(),
        })
    }
}

/// Shows the live blocks of a folder or location. Costs the checksums of each block; series are not read.
pub(crate) fn summarize_folder(path: &Path, json: bool, quiet: Quiet) -> Result<Exit, Failure> {
    let inputs = Inputs::open([path], None, quiet)?;
    let mut blocks = Vec::new();
    for (path, block) in inputs.blocks() {
        match BlockLine::new(path, &block.view()) {
            Ok(line) => blocks.push(line),
            Err(error) => inputs.report_damage(path, error.into()),
        }
    }
    if blocks.is_empty() && inputs.exit() != Exit::Ok {
        // The reasons are reported already.
        return Ok(inputs.exit());
    }
    let (bytes, series) = blocks.iter().fold((0, 0), |(bytes, series), block| {
        (block.bytes.saturating_add(bytes), block.series.saturating_add(series))
    });
    let ranges = || blocks.iter().filter_map(|block| block.range);
    let start = ranges().map(|range| range.start).min();
    let end = ranges().map(|range| range.end).max();
    let summary = FolderSummary {
        folder: path.display().to_string(),
        has_replaced: inputs.has_replaced(),
        unreadable: inputs.unreadable().map(|path| path.display().to_string()).collect(),
        bytes,
        series,
        bytes_per_series: per(bytes, series),
        time: start.zip(end).map(|(start, end)| times(TimeRange { start, end })),
        blocks,
    };
    print_styled(|out, style| match json {
        true => json_line(out, &summary),
        false => screen::folder::write(&summary, style, out),
    })?;
    Ok(inputs.exit())
}
