//! Published blocks: one file, the files of a folder, or objects of a store.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chronoxide_compactor::CompactOptions;
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_ingest::publish::Destination;
use chronoxide_ingest::{BlockSink, SealedBlock};
use chronoxide_locations::LocationError;
use chronoxide_publish::Existing;
use serde::Serialize;

use crate::ingest::pieces::Pieces;
use crate::ingest::report::Statistics;
use crate::{Exit, Failure, Interruption, OrExit, Upload, existing, is_folder};

/// Error of a run that the user interrupted.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub(crate) struct Interrupted;

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

/// Publishes blocks: in a folder as they are sealed, as a file in the end.
pub(crate) struct Output {
    place: Place,
    /// Destination of published blocks if the output is the URL of an object store.
    upload: Option<Upload>,
    interruption: Interruption,
    pub(crate) written: WrittenBlocks,
    /// Statistics for the report, if there is one.
    pub(crate) statistics: Option<Statistics>,
}

enum Place {
    Folder(Destination),
    File(Box<OneFile>),
    /// The file is published.
    Finished,
}

/// A file, and the blocks that become its content.
struct OneFile {
    path: PathBuf,
    existing: Existing,
    destination: Destination,
    /// The first block, as long as it is the only one.
    only: Option<SealedBlock>,
    pieces: Pieces,
}

impl Output {
    /// Checks the output path or URL before the work, creates the folder, and removes temporary files of killed runs.
    ///
    /// # Errors
    ///
    /// The path is standard output or an existing file, its folder does not exist, or the folder cannot be created. As
    /// [`Upload::begin`] for a URL.
    pub(crate) fn new(
        path: &Path,
        force: bool,
        memory_limit: usize,
        statistics: Option<Statistics>,
        interruption: Interruption,
    ) -> Result<Self, Failure> {
        let upload = Upload::begin(path, force)?;
        let local = upload.as_ref().map(Upload::path);
        let path = local.as_deref().unwrap_or(path);
        let place = if is_folder(path) {
            let existing = if force { Existing::Replace } else { Existing::Refuse };
            Place::Folder(Destination::folder(path, existing).or_exit(Exit::Io)?)
        } else {
            let existing = existing(path, force)?;
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
                return Err(Failure::new(Exit::Io, format!("{}: no such folder", parent.display())));
            }
            let destination = Destination::file(path, existing);
            let (path, pieces) = (path.to_owned(), Pieces::beside(path, memory_limit));
            Place::File(Box::new(OneFile { path, existing, destination, only: None, pieces }))
        };
        Ok(Self { place, upload, interruption, written: WrittenBlocks::default(), statistics })
    }

    /// Publishes the file, if the output is one; several blocks are merged with these options.
    ///
    /// # Errors
    ///
    /// The block cannot be published, or the blocks cannot be merged.
    pub(crate) fn finish(&mut self, options: &CompactOptions) -> Result<(), Failure> {
        let Place::File(file) = std::mem::replace(&mut self.place, Place::Finished) else { return Ok(()) };
        if self.interruption.is_set() {
            return Err(Failure::new(Exit::Interrupted, "interrupted"));
        }
        let OneFile { path, existing, destination, only, pieces } = *file;
        match only {
            Some(sealed) => {
                let view = BlockView::open(&sealed.block).or_exit(Exit::Io)?;
                destination.publish(view.block_id(), &sealed.block).or_exit(Exit::Io)?;
                if let Some(statistics) = &mut self.statistics {
                    statistics.add(&sealed).map_err(|error| Failure::new(Exit::Io, error))?;
                }
                note(&self.written, &self.send(path)?, &view).or_exit(Exit::Io)
            }
            None => {
                let block = pieces.merge(&path, existing, options, &self.interruption)?;
                note(&self.written, &self.send(path)?, &block.view()).or_exit(Exit::Io)
            }
        }
    }

    /// Uploads a published block if the output is the URL of an object store. Returns the path or the URL of the block.
    fn send(&self, path: PathBuf) -> Result<PathBuf, LocationError> {
        match &self.upload {
            Some(upload) => Ok(upload.create(&path)?.0),
            None => Ok(path),
        }
    }

    /// Returns the published blocks in order.
    pub(crate) fn take_written(&self) -> Vec<Written> {
        self.written.lock().map(|mut written| std::mem::take(&mut *written)).unwrap_or_default()
    }
}

/// Adds a published block to the list.
fn note(written: &WrittenBlocks, path: &Path, block: &BlockView<'_>) -> chronoxide_format::Result<()> {
    let block = Written::new(path, block)?;
    if let Ok(mut all) = written.lock() {
        // Equal blocks of several cuts are one file.
        all.retain(|other| other.path != block.path);
        all.push(block);
    }
    Ok(())
}

impl Written {
    fn new(path: &Path, view: &BlockView<'_>) -> chronoxide_format::Result<Self> {
        let meta = view.meta()?;
        Ok(Self {
            path: path.display().to_string(),
            block_id: view.block_id().to_string(),
            bytes: view.bytes().len() as u64,
            series: meta.series_count(),
            labels: meta.label_count(),
            keysets: view.keyset_count().into(),
            keys: view.key_count().into(),
            symbols: view.symbols().count().into(),
            time: meta.time().map(|TimeRange { start, end }| (start, end)),
        })
    }
}

impl BlockSink for Output {
    /// Publishes a block of a folder under its id. An existing file with the same bytes is kept. Keeps a block of a
    /// file.
    fn take(&mut self, sealed: SealedBlock) -> Result<(), Box<dyn Error + Send + Sync>> {
        match &mut self.place {
            Place::Folder(destination) => {
                let view = BlockView::open(&sealed.block)?;
                let path = destination.publish(view.block_id(), &sealed.block)?;
                if let Some(statistics) = &mut self.statistics {
                    statistics.add(&sealed)?;
                }
                Ok(note(&self.written, &self.send(path)?, &view)?)
            }
            Place::File(file) => {
                if self.interruption.is_set() {
                    return Err(Interrupted.into());
                }
                let pieces = &mut file.pieces;
                match file.only.take() {
                    None if pieces.is_empty() => file.only = Some(sealed),
                    None => pieces.push(&sealed.block)?,
                    Some(first) => {
                        pieces.push(&first.block)?;
                        pieces.push(&sealed.block)?;
                    }
                }
                Ok(())
            }
            Place::Finished => Err("the file is published already".into()),
        }
    }
}
