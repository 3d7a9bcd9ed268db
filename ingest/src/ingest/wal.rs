//! Reads the head of Prometheus's TSDB.

use std::fs::File;
use std::path::Path;

use super::Ingest;
use crate::assemble::BlockSink;
use crate::error::IngestError;
use crate::input::Position;
use crate::prometheus::wal::{
    Head, HeadChunks, HeadCounts, HeadError, HeadFile, HeadFiles, Segment, WalError, WalFileError,
};
use crate::report::Warning;

/// Records between two progress reports.
const RECORDS_PER_PROGRESS_REPORT: u64 = 1 << 8;

/// Divisor of the memory for assembling and sealing: the labels of a head may use half of it.
const MEMORY_SHARE: usize = 2;

impl<B: BlockSink> Ingest<B> {
    /// Reads the [head of Prometheus's TSDB](crate::prometheus::wal) whose write-ahead log is in this folder, with the
    /// sibling folders that belong to it.
    ///
    /// The last segment and the last file of head chunks may end within a record, since they are often copied while
    /// Prometheus runs. That record is skipped and counted, with a warning.
    ///
    /// # Errors
    ///
    /// A file cannot be read or is damaged, or the labels of the head exceed the memory limit. Other errors are those
    /// of
    /// [`read`](Self::read).
    pub fn read_wal(&mut self, folder: &Path) -> Result<(), IngestError> {
        let name = folder.display().to_string();
        let broken = |source| IngestError::Wal { input: name.clone(), source };
        let files = HeadFiles::find(folder).map_err(broken)?;
        let position = Position::start_of(files.total_len());
        let options = &self.options.assemble;
        let mut reading = Reading {
            head: Head::new(options.policy, options.window),
            input: name.clone(),
            position,
            done_len: 0,
            records: 0,
        };
        self.assembler.input_has_external_labels(std::iter::empty())?;
        self.assembler.input_has_no_window()?;
        let points_before = self.assembler.report().points;
        for file in &files.segments {
            self.read_segment(file, &mut reading)?;
            reading.done_len += file.len;
        }
        for file in &files.chunks {
            self.read_head_chunks(file, &mut reading)?;
            reading.done_len += file.len;
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

    fn read_segment(&mut self, file: &HeadFile, reading: &mut Reading) -> Result<(), IngestError> {
        let mut segment = Segment::new(open(file, &reading.input)?, self.options.max_record_len);
        loop {
            let len = match segment.next_record() {
                Ok(Some(record)) => {
                    let taken = reading.head.take_record(record, &mut self.assembler);
                    let len = record.len();
                    let offset = segment.record_offset();
                    taken.map_err(|error| failure(&reading.input, &file.path, offset, error))?;
                    len
                }
                Ok(None) => return Ok(()),
                Err(error) => return self.broken_file(error, file, reading),
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
            Err(error) => return self.broken_file(error, file, reading),
        };
        let mut count = 0_u64;
        loop {
            match chunks.next_chunk() {
                Ok(Some(chunk)) => {
                    let taken = reading.head.take_chunk(chunk, &mut self.assembler);
                    taken.map_err(|error| failure(&reading.input, &file.path, chunks.offset(), error))?;
                }
                Ok(None) => return Ok(()),
                Err(error) => return self.broken_file(error, file, reading),
            }
            count += 1;
            if count.is_multiple_of(RECORDS_PER_PROGRESS_REPORT) {
                reading.position.advance_to(reading.done_len + chunks.offset());
                self.report_progress(&reading.input, &reading.position)?;
            }
        }
    }

    /// Handles a file that cannot be read to its end. The last file of a log may be truncated.
    fn broken_file(&mut self, error: WalFileError, file: &HeadFile, reading: &Reading) -> Result<(), IngestError> {
        let path = file.path.display().to_string();
        let report = self.assembler.report_mut();
        match error {
            WalFileError::Torn { offset } if file.is_last => {
                report.torn_records += 1;
                report.warn(Warning::TornSegment { path, offset });
                Ok(())
            }
            WalFileError::Read { .. } | WalFileError::Version { .. } => Err(reading.failed(file, error)),
            error if self.options.skip_broken_records => {
                report.skipped.broken_records += 1;
                report.warn(Warning::SkippedRestOfSegment { path, reason: error.to_string() });
                Ok(())
            }
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
