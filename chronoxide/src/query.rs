//! [`Query`]: selected series of all blocks, and what is asked about them.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use chronoxide_select::{Limits, Matcher, Partial, Selector, SetQuery};

use crate::groups::group;
use crate::series::{SeriesRows, Source};
use crate::{Blocks, Error, Groups};

/// A query: one or more selectors, a time range, and limits of the work.
///
/// Each method that gives a result asks the blocks anew, on all threads. The time limit counts from the call of that
/// method. A series that several blocks have counts once. If a block is damaged where the query reads it, the result is
/// an error: it would lack series.
///
/// A query borrows the blocks. To keep both, keep the [`Blocks`], which are cheap to clone, and make queries of them.
///
/// Selectors are those of PromQL: `up`, `{job="api",pod=~"web-[0-9]+"}`, `{"http.method"!="GET"}`, with `=`, `!=`, `=~`
/// and `!~`, and regular expressions as in Prometheus. Ranges, `offset` and functions are refused. An absent label has
/// the empty value.
#[derive(Clone, Debug)]
pub struct Query<'b> {
    pub(crate) blocks: &'b Blocks,
    selectors: Vec<Selector>,
    time: Option<(i64, i64)>,
    max_series: Option<u64>,
    max_memory: Option<u64>,
    timeout: Option<Duration>,
    cancelled: Option<&'b AtomicBool>,
}

impl<'b> Query<'b> {
    pub(crate) fn new(blocks: &'b Blocks, selector: &str) -> Result<Self, Error> {
        let selectors = vec![Selector::parse_any(selector)?];
        Ok(Self { blocks, selectors, time: None, max_series: None, max_memory: None, timeout: None, cancelled: None })
    }

    /// Adds the series that another selector matches.
    ///
    /// # Errors
    /// An error of kind `Usage` if the text is not a selector.
    pub fn or(mut self, selector: &str) -> Result<Self, Error> {
        self.selectors.push(Selector::parse_any(selector)?);
        Ok(self)
    }

    /// Leaves out blocks without data from `start` to before `end`, in nanoseconds since 1970, and the ids that series
    /// have in these blocks. Blocks do not know the times of single series. A block whose time range is unknown is
    /// asked.
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

    /// Fails if a result takes longer. [`Query::series`] is done when the series are found: reading them has no limit.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Fails soon after another thread sets the flag.
    #[must_use]
    pub fn cancelled_by(self, flag: &'b AtomicBool) -> Self {
        Self { cancelled: Some(flag), ..self }
    }

    /// Starts the clock, and returns the query of the blocks.
    pub(crate) fn start(&self) -> SetQuery<'b> {
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
        let query = self.blocks.set.query().with_limits(limits);
        match self.time {
            Some((start, end)) => query.within(start, end),
            None => query,
        }
    }

    pub(crate) fn alternatives(&self) -> Vec<&[Matcher]> {
        self.selectors.iter().map(Selector::matchers).collect()
    }

    /// Returns the selected series, in the order of blocks and refs. A series that several blocks have comes once.
    ///
    /// Takes 8 bytes of memory per run of neighbouring series; if several blocks have selected series, 100 bytes per
    /// series.
    ///
    /// # Errors
    /// Errors of the limits, and of kind `Corrupt` for a damaged block.
    pub fn series(&self) -> Result<SeriesRows<'b>, Error> {
        let query = self.start();
        let selection = query.select_any(&self.alternatives())?;
        check(selection.failed())?;
        let source = match selection.blocks() {
            [] => Source::Joined(Vec::new().into_iter()),
            [only] => Source::OneBlock(only.block, only.series.ranges().collect()),
            _ => Source::Joined(whole(query.join(&selection)?)?.into_iter()),
        };
        Ok(SeriesRows::new(self.blocks, source))
    }

    /// Returns the number of selected series.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn count(&self) -> Result<u64, Error> {
        let query = self.start();
        let selection = query.select_any(&self.alternatives())?;
        check(selection.failed())?;
        match selection.blocks() {
            [] | [_] => Ok(selection.count()),
            _ => Ok(whole(query.join(&selection)?)?.len() as u64),
        }
    }

    /// Returns the names of the labels that selected series have, in byte order.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn label_names(&self) -> Result<Vec<&'b str>, Error> {
        texts(whole(self.start().label_names_of_any(&self.alternatives())?)?)
    }

    /// Returns the values that a label has in selected series, in byte order.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn label_values(&self, name: &str) -> Result<Vec<&'b str>, Error> {
        texts(whole(self.start().label_values_of_any(name, &self.alternatives(), None)?)?)
    }

    /// Counts the selected series by the values of some labels, as `count by (namespace) (...)` does.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn group_by(&self, names: &[&str]) -> Result<Groups<'b>, Error> {
        group(self, chronoxide_select::Labels::By(names))
    }

    /// Counts the selected series by all labels but some. PromQL's `without` also drops `__name__`: name it, too.
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn group_without(&self, names: &[&str]) -> Result<Groups<'b>, Error> {
        group(self, chronoxide_select::Labels::Without(names))
    }
}

/// Returns the first error of a damaged block.
pub(crate) fn check(failed: &[chronoxide_reader::FileError<chronoxide_select::SelectError>]) -> Result<(), Error> {
    failed.first().map_or(Ok(()), |error| Err(error.clone().into()))
}

/// Returns a result that lacks no block.
pub(crate) fn whole<T>(partial: Partial<T>) -> Result<T, Error> {
    check(&partial.failed)?;
    Ok(partial.found)
}

/// Converts symbols to text: a rule of the format says that they are UTF-8.
fn texts(symbols: Vec<&[u8]>) -> Result<Vec<&str>, Error> {
    symbols.into_iter().map(text).collect()
}

/// Converts a symbol to text.
pub(crate) fn text(symbol: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(symbol).map_err(|error| Error::new(crate::ErrorKind::Corrupt, error))
}
