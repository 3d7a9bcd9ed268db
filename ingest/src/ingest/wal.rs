//! Reads the head of Prometheus's TSDB.

use std::convert::Infallible;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::Ingest;
use crate::assemble::BlockSink;
use crate::error::IngestError;
use crate::input::Position;
use crate::prometheus::tombstones::Tombstones;
use crate::prometheus::wal::{
    Head, HeadChunks, HeadCounts, HeadError, HeadFile, HeadFiles, Segment, SegmentGap, WalEntry, WalError,
    WalFileError, decode_wal_record, find_chunk, has_tombstones,
};
use crate::report::{TsdbWarning, Warning};

/// Records between two progress reports.
const RECORDS_PER_PROGRESS_REPORT: u64 = 1 << 8;

/// Divisor of the memory for assembling and sealing: the labels of a head may use half of it.
const MEMORY_SHARE: usize = 2;

/// Maximum length of a damaged file of head chunks whose other chunks are searched for, in bytes. It is read into
/// memory. Prometheus begins another file at 128 MiB.
const MAX_SEARCHED_FILE_LEN: u64 = 130 << 20;

impl<B: BlockSink> Ingest<B> {
    /// Reads the [head of Prometheus's TSDB](crate::prometheus::wal) whose write-ahead log is in this folder, with the
    /// sibling folders that belong to it. Series whose samples are all deleted are left out and counted.
    ///
    /// The last segment and the last file of head chunks may end within a record, since they are often copied while
    /// Prometheus runs. That record is skipped and counted, with a warning. If malformed records are skipped, the same
    /// holds for missing segments, and reading goes on after damaged bytes at the next record with a right checksum.
    ///
    /// # Errors
    ///
    /// A file cannot be read or is damaged, a segment is missing, or the labels of the head exceed the memory limit.
    /// Series before the error are kept. Other errors are those of [`read`](Self::read).
    pub fn read_wal(&mut self, folder: &Path) -> Result<(), IngestError> {
        let result = self.read_wal_files(folder);
        self.or_sealing(result)
    }

    fn read_wal_files(&mut self, folder: &Path) -> Result<(), IngestError> {
        let name = folder.display().to_string();
        let broken = |source| IngestError::Wal { input: name.clone(), source };
        let files = HeadFiles::find(folder).map_err(broken)?;
        self.check_gaps(&name, &files.gaps)?;
        let position = Position::start_of(files.total_len());
        let tombstones = self.deletions(&name, &files, &position)?;
        let options = &self.options.assemble;
        let head = Head::new(options.policy, options.window)
            .without_deleted(tombstones)
            .skip_invalid_series(self.options.skip_broken_records);
        let mut reading = Reading { head, input: name.clone(), position, done_len: 0, records: 0 };
        self.assembler.input_has_external_labels(std::iter::empty())?;
        self.assembler.input_has_no_window()?;
        let points_before = self.assembler.report().points;
        let read = self.read_head(&files, &mut reading);
        if let Err(error) = read {
            self.assembler.set_outside_memory(0);
            if matches!(error, IngestError::Wal { .. }) {
                // Other inputs may follow: what was read until then is not lost with the rest.
                reading.head.finish(&mut self.assembler).map_err(|error| failure(&name, folder, 0, error))?;
                self.assembler.input_ends();
                self.assembler.report_mut().points = points_before;
            }
            return Err(error);
        }
        let records = reading.records;
        let counts = reading.head.finish(&mut self.assembler).map_err(|error| failure(&name, folder, 0, error))?;
        self.assembler.set_outside_memory(0);
        self.assembler.input_ends();
        self.count(&name, counts);
        let report = self.assembler.report_mut();
        report.inputs += 1;
        report.content_bytes += files.total_len();
        // The timestamps of series are not points.
        report.points = points_before;
        if records == 0 {
            report.warn(Warning::NoSeries { input: name });
        }
        Ok(())
    }

    /// Counts missing segments, or fails at the first.
    fn check_gaps(&mut self, input: &str, gaps: &[SegmentGap]) -> Result<(), IngestError> {
        for SegmentGap { folder, first, count } in gaps.iter().cloned() {
            if !self.options.skip_broken_records {
                let source = WalError::MissingSegment { folder, first, count };
                return Err(IngestError::Wal { input: input.to_owned(), source });
            }
            let report = self.assembler.report_mut();
            report.tsdb.missing_segments = report.tsdb.missing_segments.saturating_add(count);
            report.warn(TsdbWarning::MissingSegments { folder: folder.display().to_string(), first, count }.into());
        }
        Ok(())
    }

    /// Reads the deletions of a log. This is a pass of its own: a deletion follows its samples, which are given to the
    /// sink before if there are windows.
    fn deletions(&mut self, input: &str, files: &HeadFiles, position: &Position) -> Result<Tombstones, IngestError> {
        let mut all = Vec::new();
        if self.options.ignore_deletions {
            return Ok(Tombstones::default());
        }
        let mut records = 0_u64;
        for file in &files.segments {
            let mut segment = Segment::new(open(file, input)?, self.options.max_record_len);
            loop {
                match segment.next_record() {
                    Ok(Some(record)) if has_tombstones(record) => {
                        // The second pass reports malformed records.
                        let _ = decode_wal_record(record, |entry| {
                            if let WalEntry::Tombstone { reference, first, last } = entry {
                                all.push((reference, first, last));
                            }
                            Ok::<_, Infallible>(())
                        });
                        let used = all.capacity() * size_of::<(u64, i64, i64)>();
                        if self.options.assemble.max_memory.is_some_and(|most| used > most / MEMORY_SHARE) {
                            return Err(IngestError::Wal {
                                input: input.to_owned(),
                                source: WalError::Memory { used },
                            });
                        }
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(_) => {
                        if !segment.resume().is_ok_and(|next| next.is_some()) {
                            break;
                        }
                    }
                }
                records += 1;
                if records.is_multiple_of(RECORDS_PER_PROGRESS_REPORT) {
                    self.report_progress(input, position)?;
                }
            }
        }
        Ok(all.into_iter().collect())
    }

    fn read_head(&mut self, files: &HeadFiles, reading: &mut Reading) -> Result<(), IngestError> {
        for file in &files.segments {
            self.read_segment(file, reading)?;
            reading.done_len += file.len;
        }
        for file in &files.chunks {
            self.read_head_chunks(file, reading)?;
            reading.done_len += file.len;
        }
        Ok(())
    }

    fn read_segment(&mut self, file: &HeadFile, reading: &mut Reading) -> Result<(), IngestError> {
        let mut segment = Segment::new(open(file, &reading.input)?, self.options.max_record_len);
        loop {
            let len = match segment.next_record() {
                Ok(Some(record)) => {
                    let taken = reading.head.take_record(record, &mut self.assembler);
                    let len = record.len();
                    if let Err(error) = taken {
                        let next = Some(segment.offset());
                        self.skip_record(error, file, segment.record_offset(), next, reading)?;
                    }
                    len
                }
                Ok(None) => return Ok(()),
                Err(error) => {
                    let may_skip = self.options.skip_broken_records && error.is_damage();
                    let next =
                        if may_skip { segment.resume().map_err(|error| reading.failed(file, error))? } else { None };
                    // A damaged length looks like the end of the file.
                    let is_end = file.is_last && next.is_none();
                    let Some(reason) = self.damage(error, is_end, file, reading)? else { return Ok(()) };
                    self.skip_part(TsdbWarning::SkippedBytes { path: file.path.display().to_string(), next, reason });
                    if next.is_none() {
                        return Ok(());
                    }
                    continue;
                }
            };
            self.assembler.set_outside_memory(reading.head.estimated_bytes());
            self.refuse_memory(reading)?;
            self.assembler.record_ends(len)?;
            reading.records += 1;
            if reading.records.is_multiple_of(RECORDS_PER_PROGRESS_REPORT) {
                reading.position.advance_to(reading.done_len + segment.offset());
                self.report_progress(&reading.input, &reading.position)?;
            }
        }
    }

    fn read_head_chunks(&mut self, file: &HeadFile, reading: &mut Reading) -> Result<(), IngestError> {
        let mut chunks = match HeadChunks::open(open(file, &reading.input)?) {
            Ok(chunks) => chunks,
            Err(error) => return self.search_chunks(error, file, reading),
        };
        let mut count = 0_u64;
        loop {
            match chunks.next_chunk() {
                Ok(Some(chunk)) => {
                    let taken = reading.head.take_chunk(chunk, &mut self.assembler);
                    taken.map_err(|error| failure(&reading.input, &file.path, chunks.offset(), error))?;
                }
                Ok(None) => return Ok(()),
                Err(error) => return self.search_chunks(error, file, reading),
            }
            count += 1;
            if count.is_multiple_of(RECORDS_PER_PROGRESS_REPORT) {
                reading.position.advance_to(reading.done_len + chunks.offset());
                self.report_progress(&reading.input, &reading.position)?;
            }
        }
    }

    /// Takes the chunks with a right checksum that follow an error, if damage is skipped.
    fn search_chunks(
        &mut self,
        error: WalFileError,
        file: &HeadFile,
        reading: &mut Reading,
    ) -> Result<(), IngestError> {
        let start = error.offset();
        let Some(reason) = self.damage(error, file.is_last, file, reading)? else { return Ok(()) };
        let path = file.path.display().to_string();
        let mut bytes = Vec::new();
        let read = open(file, &reading.input)?.take(MAX_SEARCHED_FILE_LEN).read_to_end(&mut bytes);
        read.map_err(|source| reading.failed(file, WalFileError::Read { offset: start, source }))?;
        let mut from = usize::try_from(start).unwrap_or(usize::MAX).saturating_add(1);
        let (mut is_damaged, mut count) = (true, 0_u64);
        while let Some((chunk, place)) = find_chunk(&bytes, from) {
            if is_damaged || place.start != from {
                let next = Some(place.start as u64);
                self.skip_part(TsdbWarning::SkippedBytes { path: path.clone(), next, reason: reason.clone() });
            }
            let taken = reading.head.take_chunk(chunk, &mut self.assembler);
            taken.map_err(|error| failure(&reading.input, &file.path, place.start as u64, error))?;
            (from, is_damaged) = (place.end, false);
            count += 1;
            if count.is_multiple_of(RECORDS_PER_PROGRESS_REPORT) {
                self.report_progress(&reading.input, &reading.position)?;
            }
        }
        // Files are preallocated: zeros mark the end.
        let has_rest = bytes.get(from..).is_some_and(|rest| rest.iter().any(|&byte| byte != 0));
        if is_damaged || has_rest {
            self.skip_part(TsdbWarning::SkippedBytes { path, next: None, reason });
        }
        Ok(())
    }

    /// Skips a record with a right checksum and malformed content, or fails.
    fn skip_record(
        &mut self,
        error: HeadError<crate::AssembleError>,
        file: &HeadFile,
        offset: u64,
        next: Option<u64>,
        reading: &Reading,
    ) -> Result<(), IngestError> {
        match error {
            HeadError::Record(source) if self.options.skip_broken_records => {
                let reason = format!("the record at byte {offset} is malformed: {source}");
                self.skip_part(TsdbWarning::SkippedBytes { path: file.path.display().to_string(), next, reason });
                Ok(())
            }
            error => Err(failure(&reading.input, &file.path, offset, error)),
        }
    }

    /// Handles an error of a file. Returns the reason if the damage is skipped, and `None` if the file is truncated at
    /// the end of a log, which is counted.
    fn damage(
        &mut self,
        error: WalFileError,
        is_end: bool,
        file: &HeadFile,
        reading: &Reading,
    ) -> Result<Option<String>, IngestError> {
        match error {
            WalFileError::Torn { offset } if is_end => {
                let report = self.assembler.report_mut();
                report.torn_records += 1;
                report.warn(Warning::TornSegment { path: file.path.display().to_string(), offset });
                Ok(None)
            }
            error if self.options.skip_broken_records && error.is_damage() => Ok(Some(error.to_string())),
            error => Err(reading.failed(file, error)),
        }
    }

    /// Fails if the labels of the head use too much memory. Cutting a block does not help: labels are needed until all
    /// samples were read.
    fn refuse_memory(&self, reading: &Reading) -> Result<(), IngestError> {
        let used = reading.head.estimated_bytes();
        match self.options.assemble.max_memory {
            Some(most) if used > most / MEMORY_SHARE => {
                Err(IngestError::Wal { input: reading.input.clone(), source: WalError::Memory { used } })
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, input: &str, counts: HeadCounts) {
        let report = self.assembler.report_mut();
        report.samples += counts.samples;
        report.series_without_samples += counts.series_without_samples;
        report.names_cut += counts.names_cut;
        report.values_cut += counts.values_cut;
        report.skipped.too_many_labels += counts.too_many_labels;
        report.skipped.broken_records += counts.invalid_series;
        report.tsdb.deleted_series += counts.deleted_series;
        if counts.invalid_series > 0 {
            let (input, count) = (input.to_owned(), counts.invalid_series);
            report.warn(TsdbWarning::SkippedLabels { input, count }.into());
        }
        let HeadCounts { unknown_samples: samples, unknown_chunks: chunks, unknown_records, .. } = counts;
        if samples + chunks > 0 {
            report.unknown_series_refs += samples + chunks;
            report.warn(Warning::UnknownSeriesRefs { input: input.to_owned(), samples, chunks });
        }
        if unknown_records > 0 {
            report.warn(Warning::UnknownRecords { input: input.to_owned(), count: unknown_records });
        }
    }
}

/// State of reading a head.
struct Reading {
    head: Head,
    input: String,
    position: Position,
    /// Bytes of the files that were read completely.
    done_len: u64,
    records: u64,
}

impl Reading {
    fn failed(&self, file: &HeadFile, source: WalFileError) -> IngestError {
        let source = WalError::File { path: file.path.clone(), source };
        IngestError::Wal { input: self.input.clone(), source }
    }
}

fn open(file: &HeadFile, input: &str) -> Result<File, IngestError> {
    File::open(&file.path).map_err(|source| IngestError::Wal {
        input: input.to_owned(),
        source: WalError::Open { path: file.path.clone(), source },
    })
}

fn failure(input: &str, path: &Path, offset: u64, error: HeadError<crate::AssembleError>) -> IngestError {
    match error {
        HeadError::Sink(error) => error.into(),
        HeadError::Record(source) => IngestError::Wal {
            input: input.to_owned(),
            source: WalError::File { path: path.to_owned(), source: WalFileError::Record { offset, source } },
        },
    }
}
