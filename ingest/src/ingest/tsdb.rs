//! Reads blocks of Prometheus's TSDB.

use std::io::{Read, Seek};
use std::path::Path;

use super::{Ingest, SERIES_PER_PROGRESS_REPORT, chain};
use crate::assemble::BlockSink;
use crate::error::IngestError;
use crate::input::Position;
use crate::prometheus::tombstones::Tombstones;
use crate::prometheus::tsdb::{
    INDEX, TsdbBlockError, TsdbError, TsdbFiles, TsdbIndex, TsdbMeta, is_block_id, parse_tombstones,
};
use crate::report::TsdbWarning;

impl<B: BlockSink> Ingest<B> {
    /// Reads the series of a [block of Prometheus's TSDB](crate::prometheus::tsdb) in a folder, as
    /// [`read_tsdb_files`](Self::read_tsdb_files) does.
    ///
    /// # Errors
    ///
    /// A file of the block cannot be opened. Other errors are those of `read_tsdb_files`.
    pub fn read_tsdb_block(&mut self, folder: &Path) -> Result<(), IngestError> {
        let name = folder.display().to_string();
        let files = TsdbFiles::in_folder(folder);
        let files = files.map_err(|source| IngestError::TsdbBlock { input: name.clone(), source })?;
        self.read_tsdb_files(&name, files)
    }

    /// Reads the series of a [block of Prometheus's TSDB](crate::prometheus::tsdb). Each chunk counts as a point over
    /// its whole time range. A block that is marked as deleted is skipped, and so are series whose chunks are all
    /// deleted; both are counted.
    ///
    /// If malformed records are skipped, a damaged series costs only itself, damaged deletions are not applied, and
    /// without valid metadata the block has no window and no external labels.
    ///
    /// # Errors
    ///
    /// The block cannot be read or is damaged. Other errors are those of [`read`](Self::read).
    pub fn read_tsdb_files<R: Read + Seek>(&mut self, name: &str, files: TsdbFiles<R>) -> Result<(), IngestError> {
        let result = self.read_index(name, files);
        self.or_sealing(result)
    }

    fn read_index<R: Read + Seek>(&mut self, name: &str, files: TsdbFiles<R>) -> Result<(), IngestError> {
        if files.has_deletion_mark && !self.options.ignore_deletions {
            let report = self.assembler.report_mut();
            report.tsdb.deleted_blocks += 1;
            report.warn(TsdbWarning::DeletedBlock { input: name.to_owned() }.into());
            return Ok(());
        }
        let broken = |source| IngestError::TsdbBlock { input: name.to_owned(), source };
        let meta = match TsdbMeta::parse(files.meta.as_deref()) {
            Ok(meta) => Some(meta),
            Err(error) if self.options.skip_broken_records && error.is_damage() && files.index.is_some() => {
                self.skip_part(TsdbWarning::NoMeta { input: name.to_owned(), reason: chain(&error) });
                None
            }
            Err(error) => return Err(broken(error)),
        };
        let index = files.index.ok_or_else(|| broken(TsdbBlockError::Missing { name: INDEX }))?;
        let index = TsdbIndex::open(index).map_err(broken)?;
        let tombstones = self.tombstones(name, files.tombstones.as_deref()).map_err(broken)?;
        self.read_tsdb_index(name, meta.as_ref(), index.without_deleted(tombstones))
    }

    fn read_tsdb_index<R: Read + Seek>(
        &mut self,
        name: &str,
        meta: Option<&TsdbMeta>,
        mut index: TsdbIndex<R>,
    ) -> Result<(), IngestError> {
        let position = Position::start_of(index.file_len());
        if self.options.chunk_lists && meta.is_some_and(TsdbMeta::is_downsampled) {
            return Err(IngestError::TsdbBlock { input: name.to_owned(), source: TsdbBlockError::Downsampled });
        }
        if self.options.chunk_lists {
            let id = meta.map(|meta| meta.ulid.as_str()).unwrap_or_default();
            if !is_block_id(id) {
                let source = TsdbBlockError::Id { found: id.to_owned() };
                return Err(IngestError::TsdbBlock { input: name.to_owned(), source });
            }
            // Readers of samples look for a folder of this name.
            if name.trim_end_matches('/').rsplit(['/', '\\']).next() != Some(id) {
                let warning = TsdbWarning::OtherFolder { input: name.to_owned(), id: id.to_owned() };
                self.assembler.report_mut().warn(warning.into());
            }
            self.assembler.input_is_separate()?;
            index = index.with_chunk_lists(id, &mut self.assembler)?;
        }
        self.assembler.input_has_external_labels(meta.into_iter().flat_map(TsdbMeta::external_labels))?;
        match meta.and_then(TsdbMeta::window) {
            Some(window) => self.assembler.input_has_window(window)?,
            None => self.assembler.input_has_no_window()?,
        }
        let points_before = self.assembler.report().points;
        let read = self.read_series(name, &position, &mut index);
        let report = self.assembler.report_mut();
        // Chunks are not points.
        report.points = points_before;
        report.tsdb.deleted_series += index.deleted_series();
        let count = read?;
        let report = self.assembler.report_mut();
        report.inputs += 1;
        report.content_bytes += position.file_len().unwrap_or_default();
        report.samples += meta.map_or(0, |meta| meta.stats.num_samples);
        if count + index.deleted_series() == 0 {
            report.warn(crate::Warning::NoSeries { input: name.to_owned() });
        }
        Ok(())
    }

    /// Reads the series of an index. Returns their number, without deleted ones.
    fn read_series<R: Read + Seek>(
        &mut self,
        name: &str,
        position: &Position,
        index: &mut TsdbIndex<R>,
    ) -> Result<u64, IngestError> {
        let broken = |source| IngestError::TsdbBlock { input: name.to_owned(), source };
        let mut count = 0_u64;
        loop {
            let before = index.offset();
            match index.next_series(&mut self.assembler) {
                Ok(true) => {}
                Ok(false) => return Ok(count),
                Err(TsdbError::Block(error)) if self.options.skip_broken_records && error.is_damage() => {
                    index.resume().map_err(broken)?;
                    self.skip_part(TsdbWarning::SkippedSeries { input: name.to_owned(), reason: chain(&error) });
                    continue;
                }
                Err(TsdbError::Block(error)) => return Err(broken(error)),
                Err(TsdbError::Sink(error)) => return Err(error.into()),
            }
            let after = index.offset();
            self.assembler.record_ends((after - before) as usize)?;
            count += 1;
            if count.is_multiple_of(SERIES_PER_PROGRESS_REPORT) {
                position.advance_to(after);
                self.report_progress(name, position)?;
            }
        }
    }

    /// Returns the deletions of a block.
    fn tombstones(&mut self, name: &str, content: Option<&[u8]>) -> Result<Tombstones, TsdbBlockError> {
        let Some(content) = content.filter(|_| !self.options.ignore_deletions) else {
            return Ok(Tombstones::default());
        };
        match parse_tombstones(content) {
            Err(error) if self.options.skip_broken_records => {
                self.skip_part(TsdbWarning::NoTombstones { input: name.to_owned(), reason: chain(&error) });
                Ok(Tombstones::default())
            }
            parsed => parsed,
        }
    }
}
