//! [`Query::distinct_series`]: the series of several blocks, each once, without memory per series.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::ops::Range;
use std::vec;

use chronoxide_reader::{FindError, SeriesRef};
use chronoxide_select::{Limits, Matcher, Occurrence, Pages, Searcher, SetQuery};
use foldhash::quality::RandomState;

use crate::{Blocks, Error, Label, Query, Selector};

/// Selected series, block by block. The caller leaves out those that an earlier block [has](Distinct::is_known).
pub(crate) struct Distinct<'b> {
    blocks: &'b Blocks,
    selectors: Vec<Selector>,
    query: SetQuery<'b>,
    limits: Limits<'b>,
    /// Positions of the blocks that are not yet begun.
    left: vec::IntoIter<usize>,
    /// Positions of the blocks before the current one, without damaged ones.
    earlier: Vec<usize>,
    current: Option<Current<'b>>,
    /// Number of series so far, of all blocks.
    found: u64,
    /// Hashes of the labels of series that damaged blocks gave before their damage was met.
    given: HashSet<u64, RandomState>,
    labels: Vec<(&'b str, &'b str)>,
}

/// The block that is read.
struct Current<'b> {
    block: usize,
    searcher: Searcher<'b, 'b>,
    pages: Pages,
    page: vec::IntoIter<Range<SeriesRef>>,
    run: Range<u32>,
    /// Number of series so far.
    given: u64,
}

impl<'b> Distinct<'b> {
    pub(crate) fn new(query: &Query<'b>, selectors: &[Selector], limits: Limits<'b>, started: SetQuery<'b>) -> Self {
        Self {
            blocks: query.blocks,
            selectors: selectors.to_vec(),
            query: started,
            limits,
            left: started.positions().into_iter(),
            earlier: Vec::new(),
            current: None,
            found: 0,
            given: HashSet::default(),
            labels: Vec::new(),
        }
    }

    /// Returns the next selected series. An error has the position of its block, which is left out then.
    pub(crate) fn next(&mut self) -> Result<Option<Occurrence>, (Error, usize)> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(block) = self.left.next() else { return Ok(None) };
                self.current = self.begin(block).map_err(|error| (error, block))?;
                continue;
            };
            if let Some(series) = current.run.next() {
                self.found += 1;
                current.given += 1;
                self.limits.check_series(self.found).map_err(|error| (error.into(), current.block))?;
                return Ok(Some(Occurrence { block: current.block, series: SeriesRef(series) }));
            }
            if let Some(run) = current.page.next() {
                current.run = run.start.0..run.end.0;
                continue;
            }
            let block = current.block;
            match current.pages.next_page(&current.searcher) {
                Ok(Some(page)) => current.page = page.ranges().collect::<Vec<_>>().into_iter(),
                Ok(None) => {
                    self.earlier.push(block);
                    self.current = None;
                }
                Err(error) => {
                    self.current = None;
                    return Err((self.blocks.locate(block, error), block));
                }
            }
        }
    }

    fn begin(&self, block: usize) -> Result<Option<Current<'b>>, Error> {
        let Some(opened) = self.blocks.set.blocks().get(block) else { return Ok(None) };
        let searcher = self.query.timed(&opened.open().searcher(self.limits.without_max_series())?);
        let alternatives: Vec<&[Matcher]> = self.selectors.iter().map(Selector::matchers).collect();
        let pages = searcher.pages(alternatives).map_err(|error| self.blocks.locate(block, error))?;
        Ok(Some(Current { block, searcher, pages, page: Vec::new().into_iter(), run: 0..0, given: 0 }))
    }

    /// Leaves out the rest of a damaged block. It cannot be searched any more: what it gave is read again and kept.
    pub(crate) fn leave_out(&mut self, block: usize) {
        let given = match self.current.take_if(|current| current.block == block) {
            Some(current) => current.given,
            None if self.earlier.contains(&block) => u64::MAX,
            None => 0,
        };
        self.earlier.retain(|earlier| *earlier != block);
        if given > 0
            && let Ok(Some(Current { searcher, mut pages, .. })) = self.begin(block)
        {
            let mut left = given;
            let mut reader = self.blocks.reader();
            while let Ok(Some(page)) = pages.next_page(&searcher)
                && left > 0
            {
                for series in page.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
                    left -= 1;
                    if let Ok(Some(labels)) = reader.read(Occurrence { block, series }) {
                        self.given.insert(self.given.hasher().hash_one(labels));
                    }
                }
            }
        }
    }

    /// Returns true if an earlier block has a series with these labels. An error has the position of that block.
    pub(crate) fn is_known(&mut self, labels: &[Label<'b>]) -> Result<bool, (Error, usize)> {
        // Most calls meet no damage.
        if !self.given.is_empty() && self.given.contains(&self.given.hasher().hash_one(labels)) {
            return Ok(true);
        }
        self.labels.clear();
        self.labels.extend(labels.iter().map(|label| (label.name, label.value)));
        // Blocks that follow each other in time have most of their series in common.
        for &block in self.earlier.iter().rev() {
            match self.query.has(block, &self.labels) {
                Ok(false) => {}
                Ok(true) => return Ok(true),
                Err(error) if matches!(error.source, FindError::Block(_)) => return Err((error.into(), block)),
                // Only a damaged block has two labels of one name.
                Err(_) => return Ok(false),
            }
        }
        Ok(false)
    }
}
