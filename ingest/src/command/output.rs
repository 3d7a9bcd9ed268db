//! Where blocks go: one file, or a folder.

use crate::publish::publish_block;
use crate::report::Statistics;
use chronoxide_cli::{Exit, Failure, Interruption, OrExit, existing, is_folder};
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_ingest::{BlockSink, SealedBlock};
use chronoxide_publish::{Disk, Existing, make_folder, recover};
use serde::Serialize;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A block that was published.
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
    /// Start and end of its times, in nanoseconds since 1970; the end is not in the range.
    pub(crate) time: Option<(i64, i64)>,
}

/// Blocks that were published, also for those who have to tell of them when a run fails.
pub(crate) type WrittenBlocks = Arc<Mutex<Vec<Written>>>;

/// Publishes blocks as they come.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    is_folder: bool,
    existing: Existing,
    interruption: Interruption,
    pub(crate) written: WrittenBlocks,
    /// What the report says of the blocks, if there is to be one.
    pub(crate) statistics: Option<Statistics>,
}

impl Output {
    /// Refuses before the work what publishing would refuse after it. Makes the folder, for good, and removes the
    /// temporary files that killed runs left in it.
    ///
    /// The folder is not locked: this run only adds files, which a compaction of the folder does not mind.
    ///
    /// # Errors
    ///
    /// Standard output, a file that exists, a folder that cannot be made.
    pub(crate) fn new(
        path: &Path,
        force: bool,
        statistics: Option<Statistics>,
        interruption: Interruption,
    ) -> Result<Self, Failure> {
        let is_folder = is_folder(path);
        let existing = if is_folder {
            make_folder(&Disk, path).or_exit(Exit::Io)?;
            if force { Existing::Replace } else { Existing::Refuse }
        } else {
            existing(path, force)?
        };
        // What cannot be removed takes space and does no other harm.
        let _ = recover(&Disk, if is_folder { path } else { folder_of(path) });
        Ok(Self {
            path: path.to_owned(),
            is_folder,
            existing,
            interruption,
            written: WrittenBlocks::default(),
            statistics,
        })
    }

    /// The blocks that were published, in their order.
    pub(crate) fn take_written(&self) -> Vec<Written> {
        self.written.lock().map(|mut written| std::mem::take(&mut *written)).unwrap_or_default()
    }
}

/// The folder that has the name of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl BlockSink for Output {
    /// Publishes a block, under its id if there may be several. One that is there already, byte by byte, stays.
    fn take(&mut self, sealed: SealedBlock) -> Result<(), Box<dyn Error + Send + Sync>> {
        if !self.is_folder && self.interruption.is_there() {
            return Err("interrupted".into());
        }
        let block = &sealed.block;
        let view = BlockView::open(block)?;
        let meta = view.meta()?;
        let block_id = view.block_id().to_string();
        let path = if self.is_folder { self.path.join(format!("{block_id}.cx")) } else { self.path.clone() };
        let is_there = self.is_folder && fs::read(&path).is_ok_and(|there| &there == block);
        if !is_there {
            publish_block(&path, self.existing, block)?;
        }
        if let Some(statistics) = &mut self.statistics {
            statistics.add(&sealed)?;
        }
        let written = Written {
            path: path.display().to_string(),
            block_id,
            bytes: block.len() as u64,
            series: meta.series_count(),
            labels: meta.label_count(),
            keysets: view.keyset_count().into(),
            keys: view.key_count().into(),
            symbols: view.symbols().count().into(),
            time: meta.time().map(|TimeRange { start, end }| (start, end)),
        };
        if let Ok(mut all) = self.written.lock() {
            // The same block again, after a cut, is one file.
            all.retain(|other| other.path != written.path);
            all.push(written);
        }
        Ok(())
    }
}
