//! [`Pages`]: selected series in parts of bounded memory.

use std::ops::Range;

use chronoxide_format::SeriesRef;

use crate::conditions::collector::Collector;
use crate::conditions::condition::{AcceptedCodes, Condition, conditions, conditions_of_codes};
use crate::{Matcher, Ranges, Searcher, SelectError, Selection};

/// Ranges of each alternative in the first page: often few series are wanted.
const FIRST_RANGES: usize = 64;
/// Ranges of the largest pages, 1 MiB of memory, shared by the alternatives. To find them costs more than to start
/// again.
const MAX_RANGES: usize = 1 << 17;
/// Ranges of each of very many alternatives.
const LEAST_RANGES: usize = 1 << 10;
/// Each page has room for this many times the ranges of the one before it.
const GROWTH: usize = 4;

/// The series that satisfy at least one of some lists of matchers, in the order of their refs, a page at a time.
///
/// A [`Selection`] holds all its refs, and a small block can have very many: a list that many rows end in stands for
/// its members under each of these rows. Pages take at most a few MiB each, and the first ones are found without a look
/// at the rest of the block. A value of this type holds what the matchers accept, and neither the block nor its index:
/// pass a searcher of the same block to each call.
///
/// ```
/// use chronoxide_reader::{Block, Checks};
/// use chronoxide_select::{Index, Searcher, Selector};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
/// let block = Block::read(path, Checks::Lazy)?;
/// let view = block.view();
/// let index = Index::new(&view)?;
/// let searcher = Searcher::new(&view, &index);
/// let selectors: [Selector; 2] = ["up".parse()?, r#"{job="db"}"#.parse()?];
/// let mut pages = searcher.pages(selectors.iter().map(Selector::matchers))?;
/// let mut count = 0;
/// while let Some(page) = pages.next_page(&searcher)? {
///     count += page.count();
/// }
/// let [up, db] = selectors.map(|selector| searcher.select(selector.matchers()));
/// assert_eq!(count, up?.union(&db?).count());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pages {
    alternatives: Vec<Vec<Condition>>,
    /// First ref that was not looked at; `None` at the end.
    next: Option<SeriesRef>,
    max_ranges: usize,
    /// False if all pages have room for as many ranges.
    grows: bool,
    /// Number of series of the pages so far.
    found: u64,
}

impl Pages {
    pub(crate) fn new(alternatives: Vec<Vec<Condition>>) -> Self {
        Self { alternatives, next: Some(SeriesRef(0)), max_ranges: FIRST_RANGES, grows: true, found: 0 }
    }

    /// Sets the number of ranges of refs of a page and alternative, at least 1. Unless set, pages grow from 64 to
    /// 131,072 ranges, 1 MiB: each page costs a search of its own, beside that of its series.
    #[must_use]
    pub fn with_max_ranges(self, max_ranges: usize) -> Self {
        Self { max_ranges: max_ranges.max(1), grows: false, ..self }
    }

    /// Returns the next series, at least one, or `None` at the end. All of them come before those of later pages.
    ///
    /// # Errors
    /// As [`Searcher::select`]; the memory limit does not matter. The limit of series counts all pages.
    pub fn next_page(&mut self, searcher: &Searcher<'_, '_>) -> Result<Option<Selection>, SelectError> {
        while let Some(from) = self.next {
            let refs = self.next_refs(searcher, from)?;
            if !refs.is_empty() {
                return Ok(Some(Selection::from_ranges(refs)));
            }
        }
        Ok(None)
    }

    /// Returns the next refs, which may be none before the end.
    fn next_refs(&mut self, searcher: &Searcher<'_, '_>, from: SeriesRef) -> Result<Ranges, SelectError> {
        let mut all = Vec::new();
        // Alternatives are compared up to the end of the shortest part.
        let mut end = None;
        for conditions in &self.alternatives {
            let (refs, next) = searcher.refs_from(conditions, from, self.max_ranges)?;
            all.extend_from_slice(refs.as_slice());
            end = [end, next].into_iter().flatten().min();
        }
        if self.alternatives.len() > 1 {
            all.sort_unstable_by_key(|range| range.start);
        }
        let mut refs: Ranges = all.into_iter().collect();
        if let Some(end) = end {
            refs = refs.intersection(&Ranges::up_to(end.0));
        }
        self.next = end;
        if self.grows {
            let most = (MAX_RANGES / self.alternatives.len().max(1)).max(LEAST_RANGES);
            self.max_ranges = (self.max_ranges * GROWTH).min(most);
        }
        self.found += u64::from(refs.count());
        searcher.limits.check_series(self.found)?;
        Ok(refs)
    }

    /// Returns the next `count` series, or all that are left if these are fewer. Costs as much memory as their refs.
    ///
    /// # Errors
    /// As [`Pages::next_page`], and [`SelectError::MemoryLimit`].
    pub fn take(mut self, searcher: &Searcher<'_, '_>, count: u32) -> Result<Selection, SelectError> {
        let mut taken = Collector::new(0, usize::MAX, searcher.limits);
        let mut left = count;
        while left > 0
            && let Some(page) = self.next_page(searcher)?
        {
            let (first, _) = page.split_at(left);
            left -= first.count();
            first.refs().as_slice().iter().try_for_each(|range| taken.push(range.clone()))?;
        }
        Ok(Selection::from_ranges(taken.into_refs()))
    }
}

impl Searcher<'_, '_> {
    /// Prepares the series that satisfy all matchers of at least one list, in parts; all series if a list is empty.
    /// Evaluates the matchers on the dictionaries.
    ///
    /// # Errors
    /// As [`Searcher::select`]; [`SelectError::MemoryLimit`] if the accepted values take too much memory.
    pub fn pages<'m>(&self, alternatives: impl IntoIterator<Item = &'m [Matcher]>) -> Result<Pages, SelectError> {
        let mut accepted = Vec::new();
        let mut bytes = 0;
        for matchers in alternatives {
            self.limits.check()?;
            let Some(conditions) = conditions(self.view, matchers, &self.limits)? else { continue };
            // The values of one list are bounded by the block's, those of many lists by nothing.
            let ranges: usize = conditions.iter().map(|condition| condition.codes.ranges().as_slice().len()).sum();
            let more = (ranges * size_of::<Range<u32>>()) as u64;
            self.limits.reserve(bytes, more, more)?;
            bytes += more;
            accepted.push(conditions);
        }
        Ok(Pages::new(accepted))
    }

    /// Calls `each` with the pages of the series that satisfy all matchers.
    pub(crate) fn for_each_page(
        &self,
        matchers: &[Matcher],
        mut each: impl FnMut(Selection) -> Result<(), SelectError>,
    ) -> Result<(), SelectError> {
        let searcher = self.with_limits(self.limits.without_max_series());
        let mut pages = searcher.pages([matchers])?;
        while let Some(page) = pages.next_page(&searcher)? {
            each(page)?;
        }
        Ok(())
    }

    /// Prepares the series that have accepted values of some labels, in parts: see [`Searcher::select_codes`].
    ///
    /// # Errors
    /// As [`Searcher::select`].
    pub fn pages_of_codes(&self, accepted: &[AcceptedCodes]) -> Result<Pages, SelectError> {
        let conditions = conditions_of_codes(self.view, accepted.iter().cloned())?;
        Ok(Pages::new(conditions.into_iter().collect()))
    }
}
