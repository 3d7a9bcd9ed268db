//! [`Query`]: selected series of all blocks, and what is asked about them.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use chronoxide_reader::FileError;
use chronoxide_select::{
    JoinedSeries, Labels, Limits, Matcher, Partial, SelectError, SetQuery, SetSelection, ValueRange,
};

use crate::distinct::Distinct;
use crate::groups::group;
use crate::series::{Merge, Runs, SeriesRows, Sorted, Source, note, sorted};
use crate::{AsLabel, Blocks, Damage, Error, Groups, Selector};

/// A query: one or more selectors, a time range, and limits of the work.
///
/// Each method that gives a result asks the blocks anew, on all threads. The time limit counts from the call of that
/// method. A series that several blocks have counts once. If a block is damaged where the query reads it, the result is
/// an error, since it would lack series, unless [damaged blocks are skipped](Self::skip_damaged).
///
/// A query borrows the blocks. To keep both, keep the [`Blocks`], which are cheap to clone, and the [`Selector`]; rows
/// that are kept are [`OwnedRows`](crate::OwnedRows).
#[derive(Clone, Debug)]
pub struct Query<'b> {
    pub(crate) blocks: &'b Blocks,
    selectors: Vec<Selector>,
    time: Option<(i64, i64)>,
    max_series: Option<u64>,
    max_memory: Option<u64>,
    timeout: Option<Duration>,
    max_strings: Option<usize>,
    /// Names and values up to this one are left out.
    strings_after: Box<str>,
    cancelled: Option<&'b AtomicBool>,
    damaged: Option<Damage>,
}

impl<'b> Query<'b> {
    pub(crate) fn new(blocks: &'b Blocks, selector: Selector) -> Self {
        Self {
            blocks,
            selectors: vec![selector],
            time: None,
            max_series: None,
            max_memory: None,
            timeout: None,
            max_strings: None,
            strings_after: Box::default(),
            cancelled: None,
            damaged: None,
        }
    }

    /// Adds the series that another selector matches.
    ///
    /// # Errors
    /// An error of kind `Usage` if the text is not a selector.
    pub fn or<S: TryInto<Selector>>(mut self, selector: S) -> Result<Self, Error>
    where
        Error: From<S::Error>,
    {
        self.selectors.push(selector.try_into()?);
        Ok(self)
    }

    /// Leaves out series without data from `start` to before `end`, in nanoseconds since 1970: those whose first and
    /// last time in a block, the columns [`Blocks::FIRST_TIME`] and [`Blocks::LAST_TIME`], do not meet the range. Of a
    /// block without these columns, which [`Query::untimed_blocks`] counts, all series are there if the block has data
    /// in the range, or if its time range is unknown. Several blocks that have a series each know when it had data
    /// there: a gap between them is known, one within a block is not.
    ///
    /// ```
    /// use chronoxide::{BlockWriter, Blocks, ColumnMerge, ValueType};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("day.cx");
    /// let mut writer = BlockWriter::new();
    /// let first = writer.add_column(Blocks::FIRST_TIME, ValueType::I64, ColumnMerge::Min)?;
    /// let last = writer.add_column(Blocks::LAST_TIME, ValueType::I64, ColumnMerge::Max)?;
    /// for (pod, from, to) in [("web-1", 0_i64, 50_i64), ("web-2", 40, 90)] {
    ///     let series = writer.insert([("__name__", "up"), ("pod", pod)])?;
    ///     writer.set(first, series, from)?;
    ///     writer.set(last, series, to)?;
    /// }
    /// writer.finish(&path)?;
    ///
    /// let blocks = Blocks::open(&path)?;
    /// assert_eq!(blocks.query("up")?.between(60, 100).label_values("pod")?, ["web-2"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn between(self, start: i64, end: i64) -> Self {
        Self { time: Some((start, end)), ..self }
    }

    /// Fails if more than `max` series are selected, except for names and values of labels. The series of all blocks
    /// are added up: one that two blocks have counts twice here.
    #[must_use]
    pub fn max_series(self, max: u64) -> Self {
        Self { max_series: Some(max), ..self }
    }

    /// Fails with `OutOfResources` if the selection takes more than `max` bytes; 1 GiB unless set.
    #[must_use]
    pub fn max_memory(self, max: u64) -> Self {
        Self { max_memory: Some(max), ..self }
    }

    /// Ends lists of names and values of labels after the first `max`: ask for one more to see whether there are more.
    #[must_use]
    pub fn max_strings(self, max: usize) -> Self {
        Self { max_strings: Some(max), ..self }
    }

    /// Leaves out names and values of labels up to this one, in byte order: the last one of a list, for the next of
    /// [`Query::max_strings`].
    #[must_use]
    pub fn strings_after(self, last: &str) -> Self {
        Self { strings_after: last.into(), ..self }
    }

    /// Leaves out blocks that are damaged where the query reads them, and adds their errors to `damage`, one per
    /// block: for results that may lack series. If [`SeriesRows`] meet damage, the series of the block that were not
    /// yet read are left out. Record batches leave out blocks whose damage is met before the first batch.
    ///
    /// ```
    /// use chronoxide::{Blocks, Damage};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
    /// let (blocks, damage) = (Blocks::open(path)?, Damage::new());
    /// println!("{} series", blocks.query("up")?.skip_damaged(&damage).count()?);
    /// for warning in damage.errors() {
    ///     eprintln!("series are missing: {warning}");
    /// }
    /// # Ok::<(), chronoxide::Error>(())
    /// ```
    #[must_use]
    pub fn skip_damaged(self, damage: &Damage) -> Self {
        Self { damaged: Some(damage.clone()), ..self }
    }

    /// Fails if a result takes longer. Rows are a result: the time of the caller's loop over [`SeriesRows`] counts.
    /// Record batches are limited until the first.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Fails soon after another thread sets the flag, also while [`SeriesRows`] are read. Record batches are ended by
    /// dropping them.
    #[must_use]
    pub fn cancelled_by(self, flag: &'b AtomicBool) -> Self {
        Self { cancelled: Some(flag), ..self }
    }

    /// Starts the clock.
    pub(crate) fn limits(&self) -> Limits<'b> {
        let mut limits = Limits::default();
        if let Some(max) = self.max_series {
            limits = limits.with_max_series(max);
        }
        if let Some(max) = self.max_memory {
            limits = limits.with_max_memory(max);
        }
        if let Some(timeout) = self.timeout {
            limits = limits.with_timeout(timeout);
        }
        if let Some(flag) = self.cancelled {
            limits = limits.with_cancellation(flag);
        }
        limits
    }

    /// Starts the clock, and returns the query of the blocks.
    pub(crate) fn start(&self) -> SetQuery<'b> {
        self.within(self.limits())
    }

    /// Returns the query of the blocks.
    fn within(&self, limits: Limits<'b>) -> SetQuery<'b> {
        let query = self.blocks.set.query().with_limits(limits);
        match self.time {
            Some((start, end)) => query.within(start, end),
            None => query,
        }
    }

    pub(crate) fn alternatives(&self) -> Vec<&[Matcher]> {
        self.selectors.iter().map(Selector::matchers).collect()
    }

    /// Selects series of each block.
    pub(crate) fn found(&self, query: &SetQuery<'b>) -> Result<SetSelection, Error> {
        let selection = query.select_any(&self.alternatives())?;
        self.accept(selection.failed().to_vec())?;
        Ok(selection)
    }

    /// Returns the first error of damaged blocks, unless they are skipped.
    pub(crate) fn accept(&self, failed: Vec<FileError<SelectError>>) -> Result<(), Error> {
        let mut failed = failed.into_iter().map(Error::from);
        match &self.damaged {
            Some(damaged) => {
                damaged.note(failed);
                Ok(())
            }
            None => failed.next().map_or(Ok(()), Err),
        }
    }

    /// Notes the error of a damaged block that is left out, or returns it.
    pub(crate) fn leave_out(&self, error: Error) -> Result<(), Error> {
        note(self.damaged.as_ref(), error)
    }

    /// Returns a result, if it may lack the blocks that it lacks.
    pub(crate) fn accepted<T>(&self, partial: Partial<T>) -> Result<T, Error> {
        self.accept(partial.failed)?;
        Ok(partial.found)
    }

    /// Returns the selected series, in the order of blocks and refs. A series that several blocks have comes once.
    ///
    /// Takes 8 bytes of memory per run of neighbouring series; if several blocks have selected series, 100 bytes per
    /// series.
    ///
    /// # Errors
    /// Errors of the limits, and of kind `Corrupt` for a damaged block.
    pub fn series(&self) -> Result<SeriesRows<'b>, Error> {
        let limits = self.limits();
        let query = self.within(limits);
        let selection = self.found(&query)?;
        let source = match selection.blocks() {
            [] => Source::Joined(JoinedSeries::default(), 0),
            [only] => Source::Blocks(Runs::new([(only.block, only.series.ranges().collect())])),
            _ => Source::Joined(self.accepted(query.join(&selection)?)?, 0),
        };
        Ok(SeriesRows::new(self.blocks, source).within(limits, self.damaged.clone()))
    }

    /// Returns the selected series in the order of their labels: of the first name, then the first value, then the
    /// second name, and so on, by bytes; a labelset comes before those that begin with it. This is the order of
    /// Prometheus. A series that several blocks have comes once.
    ///
    /// Takes up to 100 bytes of memory per series, and 40 KiB per block. Series are sorted as they are read: the first
    /// are there before the last are sorted.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn sorted_series(&self) -> Result<SeriesRows<'b>, Error> {
        let limits = self.limits();
        let query = self.within(limits);
        let mut blocks = Vec::new();
        for selected in self.found(&query)?.blocks() {
            let Some(block) = self.blocks.set.blocks().get(selected.block) else { continue };
            let order = block.open().searcher(limits)?.in_label_order(&selected.series);
            match order.map_err(|error| Error::from(block.block().locate(error))) {
                Ok(order) => blocks.push(Sorted::new(self.blocks, selected.block, order)),
                Err(error) => self.leave_out(error)?,
            }
        }
        Ok(SeriesRows::new(self.blocks, Source::Sorted(Merge::new(blocks))).within(limits, self.damaged.clone()))
    }

    /// Returns the selected series in the order of blocks and refs, as [`Query::series`], but without memory per
    /// series: for commands that read everything once. A series that several blocks have comes once, with its id in the
    /// first of them. Costs a search of some 5 us in each earlier block per series, and the first series come at once.
    ///
    /// # Errors
    /// As [`Query::series`]. Errors of selecting come as the rows are read.
    pub fn distinct_series(&self) -> Result<SeriesRows<'b>, Error> {
        let limits = self.limits();
        let distinct = Distinct::new(self, &self.selectors, limits, self.within(limits));
        Ok(SeriesRows::new(self.blocks, Source::Distinct(Box::new(distinct))).within(limits, self.damaged.clone()))
    }

    /// Returns true if the series with exactly these labels is selected. Labels may come in any order, and those with
    /// an empty value are ignored. Costs a search of some 5 us per block.
    ///
    /// # Errors
    /// As [`Blocks::find`], unless damaged blocks are [skipped](Self::skip_damaged).
    pub fn has(&self, labels: impl IntoIterator<Item: AsLabel>) -> Result<bool, Error> {
        let limits = self.limits();
        limits.check()?;
        let labels: Vec<_> = labels.into_iter().collect();
        let labels = sorted(&labels)?;
        if !self.selectors.iter().any(|selector| selector.matches(&labels)) {
            return Ok(false);
        }
        // Blocks that follow each other in time have most of their series in common.
        let query = self.within(limits);
        for position in query.positions().into_iter().rev() {
            match query.has(position, &labels).map_err(Error::from) {
                Ok(false) => {}
                Ok(true) => return Ok(true),
                Err(error) => self.leave_out(error)?,
            }
        }
        Ok(false)
    }

    /// Returns the number of blocks whose series may be in results although they had no data in the [time
    /// range](Query::between): the block does not know their times, and has data outside of the range.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn untimed_blocks(&self) -> Result<u64, Error> {
        self.accepted(self.start().untimed()?)
    }

    /// Returns the blocks that are asked.
    #[must_use]
    pub fn blocks(&self) -> &'b Blocks {
        self.blocks
    }

    /// Returns the number of selected series.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn count(&self) -> Result<u64, Error> {
        self.accepted(self.start().count_any(&self.alternatives())?)
    }

    /// Returns the names of the labels that selected series have, in byte order.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn label_names(&self) -> Result<Vec<&'b str>, Error> {
        let mut names = self.accepted(self.start().label_names_of_any(&self.alternatives())?)?;
        names.retain(|name| *name > &*self.strings_after);
        names.truncate(self.max_strings.unwrap_or(usize::MAX));
        Ok(names)
    }

    /// Returns the values that a label has in selected series, in byte order.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn label_values(&self, name: &str) -> Result<Vec<&'b str>, Error> {
        self.label_values_with_prefix(name, "")
    }

    /// Returns the values with a prefix that a label has in selected series, in byte order.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn label_values_with_prefix(&self, name: &str, prefix: &str) -> Result<Vec<&'b str>, Error> {
        let (alternatives, max) = (self.alternatives(), self.max_strings);
        let range = ValueRange { prefix, after: &self.strings_after };
        self.accepted(self.start().label_values_of_any(name, range, &alternatives, max)?)
    }

    /// Counts the selected series by the values of some labels, as `count by (namespace) (...)` does.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn group_by(&self, names: &[&str]) -> Result<Groups<'b>, Error> {
        group(self, Labels::By(names))
    }

    /// Counts the selected series by all labels but some. PromQL's `without` also drops `__name__`: name it, too.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn group_without(&self, names: &[&str]) -> Result<Groups<'b>, Error> {
        group(self, Labels::Without(names))
    }
}
