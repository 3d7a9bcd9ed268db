//! Reads tables at any position: Parquet files, and Arrow files by their footers.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::time::Duration;

use super::{Ingest, SERIES_PER_PROGRESS_REPORT};
use crate::assemble::BlockSink;
use crate::columns::{ArrowFile, ArrowFileError, ColumnsError, ParquetError, ParquetFile, RowsError, SchemaError};
use crate::decode::Decoder;
use crate::error::IngestError;
use crate::input::{BatchRecord, Format, Position, Record, RecordContent, Records, Source};
use crate::report::Warning;

impl<B: BlockSink> Ingest<B> {
    /// Reads a table, whose rows are found from the end of the file: its file, or a copy of its content.
    pub(super) fn read_whole(&mut self, records: Records, name: &str, path: Option<&Path>) -> Result<(), IngestError> {
        let format = records.format();
        if let Some(path) = path {
            let file = File::open(path).map_err(|source| IngestError::Open { input: name.to_owned(), source })?;
            return self.read_table(format, name, file);
        }
        let mut copy = Copy::new(format, name)?;
        // Positions in these formats count from the first byte of the file.
        copy.append(records.source().mark())?;
        let source = self.read_part(records, &mut |_, record| match record.record.content {
            RecordContent::Whole(bytes) => copy.append(bytes),
            _ => Ok(()),
        })?;
        match source.damage() {
            Some(damage) if !source.is_truncated() => Err(damage),
            _ => self.read_table(format, name, copy.into_file()?),
        }
    }

    /// Reads a file that needs random access.
    fn read_table(&mut self, format: Format, name: &str, file: File) -> Result<(), IngestError> {
        if format == Format::Arrow {
            self.read_arrow_file(name, file)?
        } else {
            self.read_parquet(name, file)?
        }
        self.assembler.report_mut().inputs += 1;
        Ok(())
    }

    /// Reads an Arrow file by its footer, message by message; or if that is missing or damaged, the stream of messages
    /// in the file.
    fn read_arrow_file(&mut self, name: &str, file: File) -> Result<(), IngestError> {
        let broken = |source| IngestError::ArrowFile { input: name.to_owned(), source };
        let max_len = self.options.max_record_len;
        let mut decoder = Decoder::new(Format::Arrow, max_len, false, self.assembler.needs())
            .skipping(self.options.skip_broken_records)
            .keeping_values(self.options.keep_columns);
        let mut copy = file.try_clone().map_err(|error| broken(ArrowFileError::Read(error)))?;
        let opened = ArrowFile::open(file, max_len)
            .and_then(|file| decoder.begin_arrow_file(&file).map(|()| file).map_err(ArrowFileError::from));
        let mut file = match opened {
            Ok(file) => file,
            Err(ArrowFileError::Footer(error)) if error.is_unsupported() => return Err(broken(error.into())),
            Err(error @ (ArrowFileError::NoFooter | ArrowFileError::Footer(_))) => {
                copy.rewind().map_err(|error| broken(ArrowFileError::Read(error)))?;
                let source = Source::new(name.to_owned(), copy)?;
                let Some(records) = Records::messages_of_file(source, max_len) else { return Err(broken(error)) };
                return self.read_messages(name, records, decoder, &error);
            }
            Err(error) => return Err(broken(error)),
        };
        let position = Position::start_of(file.byte_len());
        let mut buffer = Vec::new();
        // The schema is the first record of a file.
        for (number, place) in (2..).zip(file.messages().to_vec()) {
            let (offset, len) = place;
            let content = if len > max_len as u64 {
                RecordContent::TooLong
            } else {
                file.read(place, &mut buffer).map_err(broken)?;
                RecordContent::Whole(&buffer)
            };
            let record = Record { number, offset, content };
            let record = BatchRecord { record, decoded: None, decoding: Duration::ZERO };
            self.take_timed(&record, &mut decoder, name)?;
            position.advance_to(offset + len);
            self.report_progress(name, &position)?;
        }
        self.assembler.report_mut().content_bytes += file.byte_len();
        self.count_rows(name, &decoder);
        Ok(())
    }

    /// Reads the stream of messages in an Arrow file whose footer cannot be used.
    fn read_messages(
        &mut self,
        name: &str,
        mut records: Records,
        mut decoder: Decoder,
        error: &ArrowFileError,
    ) -> Result<(), IngestError> {
        let position = records.source().position();
        while let Some(record) = records.next_record()? {
            let record = BatchRecord { record, decoded: None, decoding: Duration::ZERO };
            self.take_timed(&record, &mut decoder, name)?;
            self.report_progress(name, &position)?;
        }
        let report = self.assembler.report_mut();
        report.content_bytes += records.source().offset();
        // A missing footer is a record that is cut off.
        if let ArrowFileError::Footer(reason) = error {
            report.inputs_without_end += 1;
            report.warn(Warning::DamagedFooter { input: name.to_owned(), reason: reason.to_string() });
        }
        self.count_rows(name, &decoder);
        Ok(())
    }

    /// Reads a Parquet file row group by row group.
    fn read_parquet(&mut self, name: &str, file: File) -> Result<(), IngestError> {
        let broken = |source| IngestError::Parquet { input: name.to_owned(), source };
        let (skips, keeps_values) = (self.options.skip_broken_records, self.options.keep_columns);
        let opened = ParquetFile::open(file, self.options.max_record_len, skips, keeps_values);
        let mut parquet = match opened {
            // The labels are in the labels file beside it.
            Err(ParquetError::Schema(SchemaError::ChunksOnly)) => {
                self.count_columns(name, false, &[]);
                return Ok(());
            }
            opened => opened.map_err(broken)?,
        };
        if parquet.is_summary() {
            let report = self.assembler.report_mut();
            report.unknown_files += 1;
            let (path, found) = (name.to_owned(), "a summary of row groups in other files".to_owned());
            report.warn(Warning::UnknownFile { path, found });
            return Ok(());
        }
        let points_before = self.assembler.report().points;
        let position = Position::start_of(parquet.byte_len());
        let (rows_before, mut done_len) = (self.assembler.report().rows, 0_u64);
        for number in 0..parquet.group_count() {
            let after = done_len.saturating_add(parquet.group_len(number));
            self.read_row_group(name, &mut parquet, number, &position)?;
            // The footer may claim any lengths.
            position.advance_to(after.min(parquet.byte_len()));
            done_len = after;
            self.report_progress(name, &position)?;
        }
        let report = self.assembler.report_mut();
        report.content_bytes += parquet.byte_len();
        if parquet.has_times() {
            // The time range of a file is not a point of each series.
            report.points = points_before;
        }
        let (has_rows, ignored) = (report.rows > rows_before, parquet.ignored());
        self.count_columns(name, has_rows, ignored);
        Ok(())
    }

    fn read_row_group(
        &mut self,
        name: &str,
        parquet: &mut ParquetFile,
        number: usize,
        position: &Position,
    ) -> Result<(), IngestError> {
        let mut group = match parquet.group(number) {
            Ok(group) => group,
            Err(error) => return self.broken_row_group(name, number, 0, error),
        };
        let mut rows_to_report = 0;
        loop {
            let before = group.row_count();
            let given = parquet.give_batch(&mut group, &mut self.assembler);
            let rows = group.row_count() - before;
            self.assembler.report_mut().rows += rows;
            self.count_skipped_rows(name, || format!("row group {}", number + 1), before, parquet.take_skipped());
            match given {
                Ok(true) => {}
                Ok(false) => return Ok(self.assembler.record_ends(parquet.group_len(number) as usize)?),
                Err(RowsError::Columns(error)) => return self.broken_row_group(name, number, before, error),
                Err(RowsError::Sink(error)) => return Err(error.into()),
            }
            rows_to_report += rows;
            if rows_to_report >= SERIES_PER_PROGRESS_REPORT {
                rows_to_report = 0;
                self.report_progress(name, position)?;
            }
        }
    }

    fn broken_row_group(
        &mut self,
        input: &str,
        number: usize,
        rows: u64,
        source: ColumnsError,
    ) -> Result<(), IngestError> {
        let (input, number) = (input.to_owned(), number as u64 + 1);
        if !self.options.skip_broken_records {
            let source = ParquetError::RowGroup { number, rows, source };
            return Err(IngestError::Parquet { input, source });
        }
        self.skip_part(Warning::SkippedRowGroup { input, number, rows, reason: source.to_string() });
        Ok(())
    }
}

/// Temporary file with the content of an input that has no random access. It has no name, and vanishes with the
/// process.
struct Copy {
    format: Format,
    input: String,
    file: File,
}

impl Copy {
    fn new(format: Format, input: &str) -> Result<Self, IngestError> {
        let input = input.to_owned();
        match tempfile::tempfile() {
            Ok(file) => Ok(Self { format, input, file }),
            Err(source) => Err(failed(format, input, source)),
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), IngestError> {
        self.file.write_all(bytes).map_err(|source| failed(self.format, self.input.clone(), source))
    }

    fn into_file(mut self) -> Result<File, IngestError> {
        match self.file.rewind() {
            Ok(()) => Ok(self.file),
            Err(source) => Err(failed(self.format, self.input, source)),
        }
    }
}

fn failed(format: Format, input: String, source: io::Error) -> IngestError {
    match format {
        Format::Arrow => IngestError::ArrowFile { input, source: ArrowFileError::Copy(source) },
        _ => IngestError::Parquet { input, source: ParquetError::Copy(source) },
    }
}
