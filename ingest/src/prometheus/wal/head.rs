//! Joins samples with the labels of their series: [`Head`].

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroU64;

use chronoxide_format::policy::LabelPolicy;
use chronoxide_labels::{KeysetStore, LabelError, LabelSets, StoreRef};
use foldhash::fast::RandomState;

use super::error::{HeadError, RecordError};
use super::head_chunks::HeadChunk;
use super::record::{WalEntry, decode_wal_record};
use crate::prometheus::tombstones::Tombstones;
use crate::prometheus::{FamilyType, MILLISECOND, NAME};
use crate::series::SeriesSink;

/// Series that a log defines, and the times of their samples.
///
/// Labels are kept in a store, because later records refer to them by number. A series is given to the sink when its
/// samples leave a window, and at the end; without windows once, with its first and last time.
#[derive(Debug, Default)]
pub struct Head {
    policy: LabelPolicy,
    window: Option<NonZeroU64>,
    store: KeysetStore,
    /// Series in order of their records.
    series: Vec<HeadSeries>,
    /// Positions in `series` by reference.
    positions: HashMap<u64, u32, RandomState>,
    counts: HeadCounts,
    tombstones: Tombstones,
    skips_invalid_series: bool,
    /// Last family, type, unit and description: series of one family are mostly neighbours.
    last_said: Option<(String, u8, String, String)>,
}

/// Series of a log.
#[derive(Debug, Clone, Copy)]
struct HeadSeries {
    reference: u64,
    /// Labels, or `None` if there are too many.
    labels: Option<StoreRef>,
    /// First and last time that was not given to the sink yet, in nanoseconds.
    times: Option<(i64, i64)>,
    /// True if a time that was not given to the sink yet does not fit into nanoseconds.
    has_unusable_time: bool,
    /// True if times were given to the sink.
    was_given: bool,
    /// True if times were not given to the sink because they are deleted.
    was_deleted: bool,
}

/// Fate of a series in a head. A later one wins if a series is defined twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    NoSamples,
    Deleted,
    Given,
}

/// Counts of a head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeadCounts {
    /// Samples of the log, including native histograms.
    pub samples: u64,
    /// Samples of the log whose series is not defined.
    pub unknown_samples: u64,
    /// Head chunks whose series is not defined.
    pub unknown_chunks: u64,
    /// Records of unknown types.
    pub unknown_records: u64,
    /// Series without samples and head chunks.
    pub series_without_samples: u64,
    /// Series whose samples and head chunks are all deleted.
    pub deleted_series: u64,
    /// Definitions of series that were skipped because their labels cannot be stored.
    pub invalid_series: u64,
    /// Series with too many labels.
    pub too_many_labels: u64,
    /// Names that were truncated by the label policy.
    pub names_cut: u64,
    /// Values that were truncated by the label policy.
    pub values_cut: u64,
}

impl Head {
    /// Creates a head without series. `policy` truncates names and values. Times are divided by windows of `window`
    /// nanoseconds.
    #[must_use]
    pub fn new(policy: LabelPolicy, window: Option<NonZeroU64>) -> Self {
        Self { policy, window, ..Self::default() }
    }

    /// Leaves out samples of series whose times are all deleted. With windows, that is decided for each window.
    #[must_use]
    pub fn without_deleted(self, tombstones: Tombstones) -> Self {
        Self { tombstones, ..self }
    }

    /// Skips series whose labels cannot be stored, instead of refusing the record.
    #[must_use]
    pub fn skip_invalid_series(self, skips_invalid_series: bool) -> Self {
        Self { skips_invalid_series, ..self }
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> &HeadCounts {
        &self.counts
    }

    /// Returns the memory in bytes.
    #[must_use]
    pub fn estimated_bytes(&self) -> usize {
        // Hash tables have one control byte per slot.
        let position_len = size_of::<(u64, u32)>() + 1;
        self.store.estimated_bytes()
            + self.series.capacity() * size_of::<HeadSeries>()
            + self.positions.capacity() * position_len
            + self.tombstones.estimated_bytes()
    }

    /// Takes a record of the log.
    ///
    /// # Errors
    ///
    /// The record is malformed, or the sink refuses a part. Earlier parts of the record were taken.
    pub fn take_record<S: SeriesSink>(&mut self, record: &[u8], sink: &mut S) -> Result<(), HeadError<S::Error>> {
        let known = decode_wal_record(record, |entry| match entry {
            WalEntry::Series { reference, labels } => self.define(reference, labels, sink),
            WalEntry::InvalidSeries { reference, offset } => {
                let error = RecordError::Field { offset, reason: "text is not valid UTF-8" };
                let labels = self.skip_invalid(error).map_err(HeadError::Record)?;
                self.define_as(reference, labels, sink)
            }
            // A sample may come before its deletion: all deletions were read before.
            WalEntry::Tombstone { .. } => Ok(()),
            WalEntry::Sample { reference, milliseconds } => match self.position(reference) {
                Some(position) => {
                    self.counts.samples += 1;
                    match milliseconds.checked_mul(MILLISECOND) {
                        Some(time) => self.extend(position, time, sink),
                        None => {
                            self.extend_without_time(position);
                            Ok(())
                        }
                    }
                }
                None => {
                    self.counts.unknown_samples += 1;
                    Ok(())
                }
            },
            WalEntry::Metadata { reference, metric_type, unit, help } => {
                self.give_metadata(reference, metric_type, unit, help, sink)
            }
        });
        match known {
            Ok(known) => self.counts.unknown_records += u64::from(!known),
            Err(HeadError::Record(error) | HeadError::Sink(HeadError::Record(error))) => return Err(error.into()),
            Err(HeadError::Sink(error)) => return Err(error),
        }
        Ok(())
    }

    /// Takes a head chunk. Its series has points over the whole time of the chunk.
    ///
    /// # Errors
    ///
    /// The sink refuses a part.
    pub fn take_chunk<S: SeriesSink>(&mut self, chunk: HeadChunk, sink: &mut S) -> Result<(), HeadError<S::Error>> {
        let HeadChunk { reference, first, last } = chunk;
        let Some(position) = self.position(reference) else {
            self.counts.unknown_chunks += 1;
            return Ok(());
        };
        let Some((first, last)) = first.checked_mul(MILLISECOND).zip(last.checked_mul(MILLISECOND)) else {
            self.extend_without_time(position);
            return Ok(());
        };
        self.extend(position, first, sink)?;
        if self.is_in_window(first, last) {
            return self.extend(position, last, sink);
        }
        // The windows in between count too.
        let Some(series) = self.series.get_mut(position) else { return Ok(()) };
        series.times = Some((series.times.map_or(first, |times| times.0.min(first)), last));
        self.give(position, sink)
    }

    /// Gives the remaining series to the sink. Returns the counts.
    ///
    /// # Errors
    ///
    /// The sink refuses a part.
    pub fn finish<S: SeriesSink>(mut self, sink: &mut S) -> Result<HeadCounts, HeadError<S::Error>> {
        for position in 0..self.series.len() {
            self.give(position, sink)?;
        }
        // A series may be defined under two references.
        let mut fates = vec![Fate::NoSamples; self.store.len()];
        for series in &self.series {
            let fate = match (series.was_given, series.was_deleted) {
                (true, _) => Fate::Given,
                (false, true) => Fate::Deleted,
                (false, false) => Fate::NoSamples,
            };
            if let Some(known) = series.labels.and_then(|labels| fates.get_mut(labels.index())) {
                *known = (*known).max(fate);
            }
        }
        let count = |wanted| fates.iter().filter(|&&fate| fate == wanted).count() as u64;
        self.counts.series_without_samples = count(Fate::NoSamples);
        self.counts.deleted_series = count(Fate::Deleted);
        Ok(self.counts)
    }

    fn position(&self, reference: u64) -> Option<usize> {
        self.positions.get(&reference).map(|&position| position as usize)
    }

    fn define<S: SeriesSink>(
        &mut self,
        reference: u64,
        labels: &[(&str, &str)],
        sink: &mut S,
    ) -> Result<(), HeadError<S::Error>> {
        let labels = match self.intern(labels) {
            Ok((labels, _)) => Some(labels),
            Err(LabelError::TooManyLabels { .. }) => {
                self.counts.too_many_labels += 1;
                None
            }
            // Later series would not fit either.
            Err(source @ LabelError::Full { .. }) => return Err(RecordError::Labels { reference, source }.into()),
            Err(source) => self.skip_invalid(RecordError::Labels { reference, source })?,
        };
        self.define_as(reference, labels, sink)
    }

    fn intern(&mut self, labels: &[(&str, &str)]) -> Result<(StoreRef, bool), LabelError> {
        let mut ids = Vec::with_capacity(labels.len().min(64));
        for &(name, value) in labels {
            let (name, value) = (self.policy.name(name), self.policy.value(value));
            self.counts.names_cut += u64::from(matches!(name, Cow::Owned(_)));
            self.counts.values_cut += u64::from(matches!(value, Cow::Owned(_)));
            if !value.is_empty() {
                ids.push(self.store.intern_label(&name, &value)?);
            }
        }
        self.store.insert_ids(&ids)
    }

    /// Counts a series whose labels cannot be stored, or returns the error. Such a series has no labels, so that its
    /// samples are not those of an unknown series.
    fn skip_invalid(&mut self, error: RecordError) -> Result<Option<StoreRef>, RecordError> {
        if !self.skips_invalid_series {
            return Err(error);
        }
        self.counts.invalid_series += 1;
        Ok(None)
    }

    fn define_as<S: SeriesSink>(
        &mut self,
        reference: u64,
        labels: Option<StoreRef>,
        sink: &mut S,
    ) -> Result<(), HeadError<S::Error>> {
        if let Some(position) = self.position(reference) {
            if self.series.get(position).is_some_and(|series| series.labels == labels) {
                return Ok(());
            }
            // The reference was reused: earlier samples belong to the other series.
            self.give(position, sink)?;
        }
        let position = u32::try_from(self.series.len()).map_err(|_| {
            let source = LabelError::Full { what: chronoxide_labels::Counted::Series };
            RecordError::Labels { reference, source }
        })?;
        let (times, has_unusable_time, was_given, was_deleted) = (None, false, false, false);
        self.series.push(HeadSeries { reference, labels, times, has_unusable_time, was_given, was_deleted });
        self.positions.insert(reference, position);
        Ok(())
    }

    /// Adds a time to a series. Gives the series to the sink first if the time is in another window.
    fn extend<S: SeriesSink>(&mut self, position: usize, time: i64, sink: &mut S) -> Result<(), HeadError<S::Error>> {
        let times = self.series.get(position).and_then(|series| series.times);
        let (first, last) = match times {
            Some((first, last)) if self.is_in_window(first, time) => (first.min(time), last.max(time)),
            None => (time, time),
            Some(_) => {
                self.give(position, sink)?;
                (time, time)
            }
        };
        if let Some(series) = self.series.get_mut(position) {
            series.times = Some((first, last));
        }
        Ok(())
    }

    /// Adds a time that does not fit into nanoseconds to a series.
    fn extend_without_time(&mut self, position: usize) {
        if let Some(series) = self.series.get_mut(position) {
            series.has_unusable_time = true;
        }
    }

    fn is_in_window(&self, time: i64, other: i64) -> bool {
        self.window.is_none_or(|window| {
            let number = |time: i64| i128::from(time).div_euclid(i128::from(window.get()));
            number(time) == number(other)
        })
    }

    /// Gives a series and its times to the sink, if it has any.
    fn give<S: SeriesSink>(&mut self, position: usize, sink: &mut S) -> Result<(), HeadError<S::Error>> {
        let Some(series) = self.series.get_mut(position) else { return Ok(()) };
        let (times, has_unusable_time) = (series.times.take(), std::mem::take(&mut series.has_unusable_time));
        if times.is_none() && !has_unusable_time {
            return Ok(());
        }
        if let Some((first, last)) = times
            && !has_unusable_time
            && self.tombstones.cover(series.reference, first / MILLISECOND, last / MILLISECOND)
        {
            series.was_deleted = true;
            return Ok(());
        }
        series.was_given = true;
        let Some(labels) = series.labels else { return Ok(()) };
        sink.series_begins().map_err(HeadError::Sink)?;
        let mut refused = None;
        let visited = self.store.visit(labels, |name, value| {
            if refused.is_none() {
                refused = sink.label(name, value).err();
            }
        });
        debug_assert!(visited.is_ok(), "the store issued the ref");
        if let Some(error) = refused {
            return Err(HeadError::Sink(error));
        }
        if let Some((first, last)) = times {
            sink.points(first, last).map_err(HeadError::Sink)?;
        }
        if has_unusable_time {
            sink.point_without_time().map_err(HeadError::Sink)?;
        }
        sink.series_ends().map_err(HeadError::Sink)
    }

    fn give_metadata<S: SeriesSink>(
        &mut self,
        reference: u64,
        metric_type: u8,
        unit: &str,
        help: &str,
        sink: &mut S,
    ) -> Result<(), HeadError<S::Error>> {
        let series = self.position(reference).and_then(|position| self.series.get(position));
        let Some(labels) = series.and_then(|series| series.labels) else { return Ok(()) };
        let mut name = String::new();
        let visited = self.store.visit(labels, |label, value| {
            if label == NAME {
                value.clone_into(&mut name);
            }
        });
        debug_assert!(visited.is_ok(), "the store issued the ref");
        let family_type = FamilyType::from_number(metric_type.into());
        let family = family_type.family_of(&name);
        let is_known = self.last_said.as_ref().is_some_and(|(last_family, last_type, last_unit, last_help)| {
            (last_family.as_str(), *last_type, last_unit.as_str(), last_help.as_str())
                == (family, metric_type, unit, help)
        });
        if is_known || family.is_empty() {
            return Ok(());
        }
        sink.metadata(&family_type.metadata(family, unit, help)).map_err(HeadError::Sink)?;
        self.last_said = Some((family.to_owned(), metric_type, unit.to_owned(), help.to_owned()));
        Ok(())
    }
}
