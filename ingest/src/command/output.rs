//! Published blocks: one file, or the files of a folder.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex};

use chronoxide_cli::{Exit, Failure, Interruption, OrExit, existing, is_folder};
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_ingest::publish::Destination;
use chronoxide_ingest::{BlockSink, SealedBlock};
use chronoxide_publish::Existing;
use serde::Serialize;

use crate::report::Statistics;

/// Published block.
#[derive(Debug, Serialize)]
pub(crate) struct Written {
    pub(crate) path: String,
    pub(crate) block_id: String,
    pub(crate) bytes: u64,
    pub(crate) series: u64,
    pub(crate) labels: u64,
    pub(crate) keysets: u64,
    pub(crate) keys: u64,
    pub(crate) symbols: u64,
    /// Half-open time range, in nanoseconds since 1970.
    pub(crate) time: Option<(i64, i64)>,
}

/// Published blocks, shared with the reporting of failed runs.
pub(crate) type WrittenBlocks = Arc<Mutex<Vec<Written>>>;

/// Publishes blocks as they are sealed.
#[derive(Debug)]
pub(crate) struct Output {
    destination: Destination,
    interruption: Interruption,
    pub(crate) written: WrittenBlocks,
    /// Statistics for the report, if there is one.
    pub(crate) statistics: Option<Statistics>,
}

impl Output {
    /// Checks the output path before the work, creates the folder, and removes temporary files of killed runs.
    ///
    /// # Errors
    ///
    /// The path is standard output or an existing file, or the folder cannot be created.
    pub(crate) fn new(
        path: &Path,
        force: bool,
        statistics: Option<Statistics>,
        interruption: Interruption,
    ) -> Result<Self, Failure> {
        let destination = if is_folder(path) {
            let existing = if force { Existing::Replace } else { Existing::Refuse };
            Destination::folder(path, existing).or_exit(Exit::Io)?
        } else {
            Destination::file(path, existing(path, force)?)
        };
        Ok(Self { destination, interruption, written: WrittenBlocks::default(), statistics })
    }

    /// Returns the published blocks in order.
    pub(crate) fn take_written(&self) -> Vec<Written> {
        self.written.lock().map(|mut written| std::mem::take(&mut *written)).unwrap_or_default()
    }
}

impl BlockSink for Output {
    /// Publishes a block, in a folder under its id. An existing file with the same bytes is kept.
    fn take(&mut self, sealed: SealedBlock) -> Result<(), Box<dyn Error + Send + Sync>> {
        if !self.destination.is_folder() && self.interruption.is_set() {
            return Err("interrupted".into());
        }
        let block = &sealed.block;
        let view = BlockView::open(block)?;
        let meta = view.meta()?;
        let path = self.destination.publish(view.block_id(), block)?;
        if let Some(statistics) = &mut self.statistics {
            statistics.add(&sealed)?;
        }
        let written = Written {
            path: path.display().to_string(),
            block_id: view.block_id().to_string(),
            bytes: block.len() as u64,
            series: meta.series_count(),
            labels: meta.label_count(),
            keysets: view.keyset_count().into(),
            keys: view.key_count().into(),
            symbols: view.symbols().count().into(),
            time: meta.time().map(|TimeRange { start, end }| (start, end)),
        };
        if let Ok(mut all) = self.written.lock() {
            // Equal blocks of several cuts are one file.
            all.retain(|other| other.path != written.path);
            all.push(written);
        }
        Ok(())
    }
}
