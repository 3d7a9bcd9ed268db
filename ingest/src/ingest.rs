//! A run over inputs: [`Ingest`].

mod archive;
mod rows;
#[cfg(feature = "tables")]
mod tables;
mod tsdb;
mod wal;

use std::error::Error;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::assemble::{AssembleOptions, Assembler, BlockSink};
use crate::decode::{Decoder, ahead_decoder, is_cut_off};
use crate::error::{BrokenRecord, DecodeError, IngestError};
use crate::input::{Ahead, BatchRecord, Decoding, Format, Position, ReadAhead, Record, RecordContent, Records, Source};
use crate::report::{Report, Warning};
use crate::timings::Timings;

/// Default maximum length of a record: 64 MiB.
pub const DEFAULT_MAX_RECORD_LEN: usize = 64 << 20;

/// Time between two progress reports while an input is silent.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Series of a TSDB block or a table between two progress reports.
const SERIES_PER_PROGRESS_REPORT: u64 = 1 << 12;

/// Maximum number of decoding threads of an input. One thread assembles what the others decode: it is busy before more
/// of them are.
const MAX_THREADS: usize = 8;

/// Options of [`Ingest`].
#[derive(Debug, Clone)]
pub struct IngestOptions {
    /// Format of all inputs. If `None`, it is detected for each input.
    pub format: Option<Format>,
    /// Maximum length of a record in bytes. Of an input, at most two are in memory, and what was decoded
    /// of one.
    pub max_record_len: usize,
    /// If true, skip and count malformed records; if false, stop at the first.
    ///
    /// For formats that are not decoded on several threads, skipping costs a second decoding of each record, so that no
    /// part of a malformed one is kept.
    pub skip_broken_records: bool,
    /// Number of threads that decode records of an input as OTLP, series JSON or exposition text, and
    /// [that plan](AssembleOptions::threads). If `None`, one per core, at most 8. Small inputs, and all with 1, are
    /// decoded on the thread of the run. Blocks and reports do not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// If true, keep values of `le` and `quantile` in exposition text as written. If false, store them like Prometheus
    /// 3: `1` becomes `1.0`.
    pub keep_float_labels: bool,
    /// If true, also read deleted series and deleted blocks of Prometheus's TSDB.
    pub ignore_deletions: bool,
    /// If true, integers, timestamps and marked bytes of Parquet and Arrow inputs become series columns of blocks: see
    /// [`columns`](crate::columns).
    pub keep_columns: bool,
    /// If true, store the chunk lists of blocks of Prometheus's TSDB as columns: see
    /// [`chunk_lists`](crate::prometheus::chunk_lists). With
    /// [`separate_input_windows`](AssembleOptions::separate_input_windows), each of them gets its own blocks.
    pub chunk_lists: bool,
    /// How series are assembled into blocks.
    pub assemble: AssembleOptions,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self {
            format: None,
            max_record_len: DEFAULT_MAX_RECORD_LEN,
            skip_broken_records: false,
            threads: None,
            keep_float_labels: false,
            ignore_deletions: false,
            keep_columns: true,
            chunk_lists: false,
            assemble: AssembleOptions::default(),
        }
    }
}

/// Progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Name of the current input.
    pub input: &'a str,
    /// Position in the current input.
    pub position: &'a Position,
    /// Counts so far.
    pub report: &'a Report,
}

/// Callback that gets the progress several times per second, and may stop the run.
type OnProgress = Box<dyn FnMut(&Progress<'_>) -> ControlFlow<()>>;

/// A run over inputs.
///
/// ```
/// use chronoxide_format::view::BlockView;
/// use chronoxide_ingest::{Ingest, IngestOptions, input::Source};
///
/// let capture = "{\"__name__\":\"up\",\"job\":\"cart\"}\n{\"__name__\":\"up\",\"job\":\"checkout\"}\n";
/// let mut ingest = Ingest::new(IngestOptions::default(), Vec::new());
/// ingest.read(Source::new("capture".to_owned(), capture.as_bytes())?)?;
/// let (report, blocks) = ingest.finish()?;
/// assert_eq!((report.records, report.series), (2, 2));
/// assert_eq!(BlockView::open(&blocks[0]).unwrap().series_count().unwrap(), 2);
/// # Ok::<(), chronoxide_ingest::IngestError>(())
/// ```
pub struct Ingest<B = Vec<Vec<u8>>> {
    options: IngestOptions,
    assembler: Assembler<B>,
    on_progress: Option<OnProgress>,
    timings: Option<Timings>,
}

impl<B: BlockSink> Ingest<B> {
    /// Creates a run that gives its blocks to `blocks`.
    #[must_use]
    pub fn new(options: IngestOptions, blocks: B) -> Self {
        let assemble = AssembleOptions {
            skip_invalid_texts: options.skip_broken_records,
            threads: options.threads,
            ..options.assemble.clone()
        };
        let assembler = Assembler::new(assemble, blocks);
        Self { options, assembler, on_progress: None, timings: None }
    }

    /// Sets a callback for the progress. It stops the run by returning [`ControlFlow::Break`].
    #[must_use]
    pub fn on_progress(mut self, callback: impl FnMut(&Progress<'_>) -> ControlFlow<()> + 'static) -> Self {
        self.on_progress = Some(Box::new(callback));
        self
    }

    /// Measures the time of each record. This costs about 50 ns per record.
    #[must_use]
    pub fn timed(mut self) -> Self {
        self.timings = Some(Timings::default());
        self
    }

    /// Returns the times of records and points so far, if they are [measured](Self::timed).
    #[must_use]
    pub fn timings(&self) -> Option<&Timings> {
        self.timings.as_ref()
    }

    /// Opens a file, or standard input if the path is `-`, as [`Source::open_within`] does.
    ///
    /// A pipe is opened on another thread, so that the progress callback can stop the run while the pipe has no writer
    /// or no content.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, its first bytes cannot be read or decompressed, or the callback stopped the run.
    pub fn open(&mut self, path: &Path, max_window_len: usize) -> Result<Source, IngestError> {
        if path.is_file() {
            return Source::open_within(path, max_window_len);
        }
        let (opened, source) = sync_channel(1);
        let owned = path.to_owned();
        // Detached: a run that is stopped does not wait for the writer.
        let open = move || drop(opened.send(Source::open_within(&owned, max_window_len)));
        thread::Builder::new().name("open".to_owned()).spawn(open).map_err(IngestError::Thread)?;
        let (name, position) = (path.display().to_string(), Position::unknown());
        loop {
            match source.recv_timeout(POLL_INTERVAL) {
                Ok(source) => return source,
                Err(RecvTimeoutError::Timeout) => self.report_progress(&name, &position)?,
                Err(RecvTimeoutError::Disconnected) => return Err(IngestError::ReaderStopped),
            }
        }
    }

    /// Reads one input to its end. Large inputs are read on a separate thread.
    ///
    /// The last record may be cut off, since captures are often copied while they are written. It is skipped and
    /// counted, with a warning.
    ///
    /// # Errors
    ///
    /// The input cannot be read, its format is not recognized, or a record is malformed; a series cannot be stored, or
    /// a block cannot be sealed or is refused; or the progress callback stopped the run. Series before the error are
    /// kept.
    pub fn read(&mut self, source: Source) -> Result<(), IngestError> {
        self.read_records(source, false)
    }

    /// Reads one input that was found in a folder, beside captures. JSON objects without a metric name are no series
    /// there, unless the options have a format.
    ///
    /// # Errors
    ///
    /// Errors of [`read`](Self::read).
    pub fn read_found(&mut self, source: Source) -> Result<(), IngestError> {
        self.read_records(source, true)
    }

    fn read_records(&mut self, source: Source, is_found: bool) -> Result<(), IngestError> {
        let (input, before) = (source.name().to_owned(), self.report().skipped);
        let result = self.read_parts(source, is_found);
        let result = self.or_sealing(result);
        let skipped = self.report().skipped;
        let texts = skipped.invalid_texts - before.invalid_texts;
        if texts > 0 {
            let series = skipped.invalid_series - before.invalid_series;
            let input = input.clone();
            self.assembler.report_mut().warn(Warning::InvalidTexts { input, texts, series });
        }
        let values = skipped.values_out_of_range - before.values_out_of_range;
        if values > 0 {
            self.assembler.report_mut().warn(Warning::ValuesOutOfRange { input, values });
        }
        result
    }

    /// Reads the parts of an input between damages of its compressed stream.
    fn read_parts(&mut self, mut source: Source, is_found: bool) -> Result<(), IngestError> {
        let max_len = self.options.max_record_len;
        let path = source.random_access().map(Path::to_owned);
        while source.has_failed_at_once() && self.pass_damage(&mut source, None, true)? {}
        let damage = source.damage().filter(|_| !source.is_truncated());
        let part = Records::open(source, self.options.format, max_len, is_found);
        let part = part.map_err(|error| match (error, damage) {
            // A damaged stream can give any bytes before an error.
            (IngestError::UnknownFormat { .. }, Some(damage)) => damage,
            (error, _) => error,
        })?;
        let (format, needs_random_access) = (part.format(), part.needs_random_access());
        let has_messages = part.has_messages();
        let name = part.source().name().to_owned();
        self.assembler.input_begins(&name);
        // A file of another format, such as a README beside blocks, has no external labels to compare.
        self.assembler.input_has_external_labels(std::iter::empty())?;
        self.assembler.input_has_no_window()?;
        if needs_random_access {
            return self.read_whole(part, &name, path.as_deref());
        }
        let records_before = self.seen();
        let mut decoder = Decoder::new(format, max_len, self.options.keep_float_labels, self.assembler.needs())
            .skipping(self.options.skip_broken_records)
            .keeping_values(self.options.keep_columns);
        let mut take = |ingest: &mut Self, record: &BatchRecord<'_>| ingest.take_timed(record, &mut decoder, &name);
        let mut source = self.read_part(part, &mut take)?;
        let mut part_start = 0;
        while self.pass_damage(&mut source, Some(part_start), has_messages)? {
            part_start = source.offset();
            source = self.read_part(Records::new(source, Some(format), max_len)?, &mut take)?;
        }

        decoder.finish(&mut self.assembler).or_else(|error| error.split().map(drop))?;
        self.assembler.input_ends();
        self.count_rows(&name, &decoder);
        let report = self.assembler.report_mut();
        report.inputs += 1;
        report.content_bytes += source.offset();
        report.incomplete_responses += u64::from(!source.stated_losses().is_empty());
        for reason in source.stated_losses() {
            report.warn(Warning::StatedLoss { input: name.clone(), reason: reason.clone() });
        }
        if decoder.lacks_end() {
            report.inputs_without_end += 1;
            report.warn(Warning::NoEnd { input: name.clone() });
        }
        if source.is_truncated() {
            report.truncated_inputs += 1;
            report.warn(Warning::TruncatedInput { input: name.clone(), offset: source.offset() });
        }
        if self.seen() == records_before && format != Format::Arrow {
            self.assembler.report_mut().warn(Warning::NoRecords { input: name, format });
        }
        Ok(())
    }

    /// Goes on at the next frame after damage of a compressed stream, which is counted unless the frame has no content.
    /// Returns false if there is no other frame.
    ///
    /// A stream that ends within a frame is truncated, unless another frame follows. If the content `has_messages`,
    /// these may be frames too.
    fn pass_damage(
        &mut self,
        source: &mut Source,
        part_start: Option<u64>,
        has_messages: bool,
    ) -> Result<bool, IngestError> {
        let Some(damage) = source.damage() else { return Ok(false) };
        let (is_truncated, offset) = (source.is_truncated(), source.offset());
        if !self.options.skip_broken_records {
            let is_last = is_truncated && (has_messages || !source.resume()? || source.has_failed_at_once());
            return if is_last { Ok(false) } else { Err(damage) };
        }
        let is_resumed = source.resume()?;
        // A stream that ends within its last frame is truncated.
        if is_truncated && !is_resumed {
            return Ok(false);
        }
        let reason = damage.source().map(ToString::to_string).unwrap_or_default();
        // Other bytes may look like the start of a frame.
        if part_start != Some(offset) || offset == 0 {
            self.skip_part(Warning::SkippedFrame { input: source.name().to_owned(), offset, reason });
        }
        Ok(is_resumed)
    }

    /// Stands for the reader of tables, which are refused when they are opened.
    #[cfg(not(feature = "tables"))]
    fn read_whole(&mut self, _: Records, name: &str, _: Option<&Path>) -> Result<(), IngestError> {
        Err(IngestError::UnknownFormat { input: name.to_owned(), found: crate::columns::ABSENT })
    }

    /// Reads records up to the end of the content, or up to damage of its compressed stream. Returns the source.
    fn read_part(
        &mut self,
        mut records: Records,
        take: &mut impl FnMut(&mut Self, &BatchRecord<'_>) -> Result<(), IngestError>,
    ) -> Result<Source, IngestError> {
        let (name, format) = (records.source().name().to_owned(), records.format());
        let position = records.source().position();
        let (source, blank_lines) = if records.source().is_at_hand() {
            while let Some(record) = records.next_record()? {
                take(self, &BatchRecord { record, decoded: None, decoding: Duration::ZERO })?;
            }
            self.report_progress(&name, &position)?;
            let blank_lines = records.blank_lines();
            (records.into_source(), blank_lines)
        } else {
            let mut ahead = ReadAhead::new(records, self.decoding(format))?;
            loop {
                match ahead.next(POLL_INTERVAL)? {
                    Ahead::Batch(batch) => {
                        for record in batch.records() {
                            take(self, &record)?;
                        }
                        ahead.give_back(batch);
                    }
                    Ahead::Nothing => {}
                    Ahead::End(source, blank_lines) => break (*source, blank_lines),
                }
                self.report_progress(&name, &position)?;
            }
        };
        self.assembler.report_mut().blank_lines += blank_lines;
        Ok(source)
    }

    /// Sets labels that the series of the following inputs get unless they have them, such as labels in the path of a
    /// file. They are labels of each series, not external labels of a block.
    ///
    /// # Errors
    ///
    /// The labels do not fit into a store.
    pub fn set_input_labels(&mut self, labels: &[(String, String)]) -> Result<(), IngestError> {
        Ok(self.assembler.input_has_labels(labels)?)
    }

    /// Counts a file of a folder that is skipped because its format is not recognized, with a warning.
    pub fn skip_unknown_file(&mut self, path: &Path, found: &str) {
        let report = self.assembler.report_mut();
        report.unknown_files += 1;
        report.warn(Warning::UnknownFile { path: path.display().to_string(), found: found.to_owned() });
    }

    /// Counts an input of a folder that could not be read, or not to its end, with a warning. Series before the error
    /// are kept.
    pub fn skip_failed_input(&mut self, error: &IngestError) {
        self.assembler.input_ends();
        self.assembler.set_outside_memory(0);
        let report = self.assembler.report_mut();
        report.failed_inputs += 1;
        report.warn(Warning::FailedInput { reason: chain(error) });
    }

    /// Seals the remaining series. Returns the report and the sink of the blocks.
    ///
    /// # Errors
    ///
    /// A block cannot be sealed or is refused.
    pub fn finish(self) -> Result<(Report, B), IngestError> {
        Ok(self.assembler.finish()?)
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        self.assembler.report()
    }

    /// Returns the result of reading, or the error of a block that was cut before: it came first.
    fn or_sealing(&mut self, result: Result<(), IngestError>) -> Result<(), IngestError> {
        if result.is_err() {
            self.assembler.wait_for_sealing()?;
        }
        result
    }

    fn report_progress(&mut self, input: &str, position: &Position) -> Result<(), IngestError> {
        self.assembler.check_sealing()?;
        let Some(callback) = &mut self.on_progress else {
            return Ok(());
        };
        match callback(&Progress { input, position, report: self.assembler.report() }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(IngestError::Interrupted),
        }
    }

    /// Returns the number of records so far, including skipped ones.
    fn seen(&self) -> u64 {
        let report = self.assembler.report();
        report.records + report.skipped.broken_records + report.torn_records + report.cut_starts
    }

    /// Returns how the records of an input are decoded ahead.
    fn decoding(&self, format: Format) -> Decoding {
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = self.options.threads.map_or_else(cores, NonZeroUsize::get).min(MAX_THREADS);
        // A single thread would only wait for this one, or this one for it.
        let count = if threads == 1 { 0 } else { threads };
        let needs = self.assembler.needs();
        Decoding {
            decoders: (0..count).filter_map(|_| ahead_decoder(format, needs)).collect(),
            max_memory: self.options.assemble.max_memory,
            is_timed: self.timings.is_some(),
        }
    }

    fn take_timed(&mut self, record: &BatchRecord<'_>, decoder: &mut Decoder, input: &str) -> Result<(), IngestError> {
        if self.timings.is_none() {
            return self.take(record, decoder, input);
        }
        let (started, before) = (Instant::now(), self.assembler.report().points);
        self.take(record, decoder, input)?;
        let took = started.elapsed() + record.decoding;
        let points = self.assembler.report().points - before;
        if let Some(timings) = &mut self.timings {
            timings.add(took, points);
        }
        Ok(())
    }

    fn take(&mut self, record: &BatchRecord<'_>, decoder: &mut Decoder, input: &str) -> Result<(), IngestError> {
        let &BatchRecord { record, decoded, .. } = record;
        let (bytes, is_unterminated) = match record.content {
            RecordContent::Whole(bytes) => (bytes, false),
            RecordContent::Unterminated(bytes) => (bytes, true),
            RecordContent::Torn { len, expected } => {
                self.torn(record, len, expected, input);
                return Ok(());
            }
            RecordContent::CutStart { len } => {
                let report = self.assembler.report_mut();
                report.cut_starts += 1;
                report.warn(Warning::CutStart { input: input.to_owned(), len });
                return Ok(());
            }
            RecordContent::TooLong => {
                let limit = self.options.max_record_len as u64;
                return self.broken(record, input, BrokenRecord::TooLong { limit });
            }
            RecordContent::Damaged(reason) => {
                return self.broken(record, input, BrokenRecord::Compression { reason: reason.to_owned() });
            }
        };
        if let Some(decoded) = decoded {
            return match decoder.take_decoded(bytes, decoded, &mut self.assembler).map_err(DecodeError::split) {
                Ok(()) => Ok(self.assembler.record_ends(bytes.len())?),
                Err(Ok(error)) => self.broken(record, input, error.into()),
                Err(Err(error)) => Err(error.into()),
            };
        }
        // The assembler keeps all series it gets, so a record that may be skipped is checked first.
        if (self.options.skip_broken_records || is_unterminated)
            && let Err(error) = decoder.check(bytes)
        {
            if is_unterminated && is_cut_off(&error, bytes) {
                self.torn(record, bytes.len() as u64, None, input);
                return Ok(());
            }
            return self.broken(record, input, error.into());
        }
        let decoded = if is_unterminated {
            decoder.last_record(bytes, &mut self.assembler)
        } else {
            decoder.record(bytes, &mut self.assembler)
        };
        let skipped = decoder.take_skipped_rows();
        self.count_skipped_rows(input, || format!("record {}", record.number), 0, skipped);
        match decoded {
            Ok(()) => Ok(self.assembler.record_ends(bytes.len())?),
            Err(error) => match error.split() {
                Ok(error) if is_unterminated && is_cut_off(&error, bytes) => {
                    self.torn(record, bytes.len() as u64, None, input);
                    Ok(())
                }
                Ok(error) => self.broken(record, input, error.into()),
                Err(error) => Err(error.into()),
            },
        }
    }

    fn torn(&mut self, record: Record<'_>, len: u64, expected: Option<u64>, input: &str) {
        let report = self.assembler.report_mut();
        report.torn_records += 1;
        let (input, Record { number, offset, .. }) = (input.to_owned(), record);
        report.warn(Warning::TornRecord { input, number, offset, len, expected });
    }

    fn broken(&mut self, record: Record<'_>, input: &str, source: BrokenRecord) -> Result<(), IngestError> {
        let (input, Record { number, offset, .. }) = (input.to_owned(), record);
        if !self.options.skip_broken_records {
            return Err(IngestError::Record { input, number, offset, source });
        }
        self.skip_part(Warning::SkippedRecord { input, number, offset, reason: source.to_string() });
        Ok(())
    }

    /// Counts a damaged part that is skipped, with a warning.
    fn skip_part(&mut self, warning: impl Into<Warning>) {
        let report = self.assembler.report_mut();
        report.skipped.broken_records += 1;
        report.warn(warning.into());
    }
}

/// Returns an error with its sources.
fn chain(error: &dyn Error) -> String {
    let sources = std::iter::successors(error.source(), |&source| source.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}
