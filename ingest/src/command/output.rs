//! Published blocks: one file, or the files of a folder.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chronoxide_cli::{Exit, Failure, Interruption, OrExit, existing, is_folder};
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_ingest::{BlockSink, SealedBlock};
use chronoxide_publish::{Disk, Existing, make_folder, recover};
use serde::Serialize;

use crate::publish::publish_block;
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
    path: PathBuf,
    is_folder: bool,
    existing: Existing,
    interruption: Interruption,
    pub(crate) written: WrittenBlocks,
    /// Statistics for the report, if there is one.
    pub(crate) statistics: Option<Statistics>,
}

impl Output {
    /// Checks the output path before the work, creates the folder, and removes temporary files of killed runs.
    ///
    /// The folder is not locked: a run only adds files, which does not disturb a compaction of the folder.
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
        let is_folder = is_folder(path);
        let existing = if is_folder {
            make_folder(&Disk, path).or_exit(Exit::Io)?;
            if force { Existing::Replace } else { Existing::Refuse }
        } else {
            existing(path, force)?
        };
        // Files that cannot be removed only take space.
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

    /// Returns the published blocks in order.
    pub(crate) fn take_written(&self) -> Vec<Written> {
        self.written.lock().map(|mut written| std::mem::take(&mut *written)).unwrap_or_default()
    }
}

/// Returns the folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl BlockSink for Output {
    /// Publishes a block, in a folder under its id. An existing file with the same bytes is kept.
    fn take(&mut self, sealed: SealedBlock) -> Result<(), Box<dyn Error + Send + Sync>> {
        if !self.is_folder && self.interruption.is_set() {
            return Err("interrupted".into());
        }
        let block = &sealed.block;
        let view = BlockView::open(block)?;
        let meta = view.meta()?;
        let block_id = view.block_id().to_string();
        let path = if self.is_folder { self.path.join(format!("{block_id}.cx")) } else { self.path.clone() };
        let is_published = self.is_folder && fs::read(&path).is_ok_and(|found| &found == block);
        if !is_published {
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
            // Equal blocks of several cuts are one file.
            all.retain(|other| other.path != written.path);
            all.push(written);
        }
        Ok(())
    }
}
