//! Conditions on few values, answered by the postings of their keys.

use std::ops::Range;

use chronoxide_format::SeriesRef;

use crate::conditions::condition::Condition;
use crate::rows::postings::Postings;
use crate::rows::row_set::Keep;
use crate::{Ranges, Searcher};

/// Maximum number of values that are looked up one by one. Scans pass over the rows of all values of a condition at
/// once.
const MAX_VALUES: u32 = 32;
/// Maximum bytes of the postings of a condition, and so of the ranges that they list: these take at most 1 MiB, before
/// any limit of memory is asked. Longer ones are left to tables, whose refs are listed within the limits, or by pages.
const MAX_BYTES: usize = 1 << 17;
/// Postings up to this size cost less to intersect than the rows of a few keysets to filter.
const MAX_OTHER_BYTES: usize = 1 << 12;
/// Larger ones are read only if they are at most this many times as large as the smallest: a dozen of its bytes stand
/// for about one keyset to filter.
const MAX_OTHER_BYTES_PER_BYTE: usize = 32;

impl Condition {
    /// Returns true if the values that the condition names are few.
    pub(crate) fn has_few_values(&self) -> bool {
        // Ranges are disjoint and not empty.
        self.codes.ranges().as_slice().len() <= MAX_VALUES as usize && self.codes.ranges().count() <= MAX_VALUES
    }
}

/// The series of a condition's values.
pub(crate) struct Posted<'a, 'c> {
    postings: &'a Postings,
    codes: &'c Ranges,
    keep: Keep,
}

impl Posted<'_, '_> {
    /// Returns the bytes to read.
    pub(crate) fn len(&self) -> usize {
        self.codes.iter().map(|code| self.postings.len(code)).sum()
    }

    /// Returns the refs of the series with one of the values; only those among `within`, if it is given.
    pub(crate) fn refs(&self, within: Option<&Ranges>) -> Ranges {
        let mut codes = self.codes.iter();
        if let (Some(only), None) = (codes.next(), codes.next()) {
            let refs = self.postings.refs(only);
            return match within {
                Some(within) => Ranges::common(within.as_slice().iter().cloned(), refs),
                None => refs.collect(),
            };
        }
        let mut all: Vec<Range<u32>> = self.codes.iter().flat_map(|code| self.postings.refs(code)).collect();
        all.sort_unstable_by_key(|range| range.start);
        let all: Ranges = all.into_iter().collect();
        match within {
            Some(within) => within.intersection(&all),
            None => all,
        }
    }
}

impl<'a> Searcher<'a, '_> {
    /// Returns the series of the values of a condition, or `None` if they are many, or the key has no postings.
    pub(crate) fn posted<'c>(&self, condition: &'c Condition) -> Option<Posted<'a, 'c>> {
        let postings = self.index.postings().get(condition.key)?;
        let codes = condition.codes.ranges();
        condition.has_few_values().then_some(Posted { postings, codes, keep: condition.keep })
    }

    /// Returns the refs of the series that satisfy all conditions, or `None` if postings do not tell them, or not as
    /// fast as tables.
    pub(crate) fn refs_by_postings(&self, conditions: &[Condition]) -> Option<Ranges> {
        let mut posted = conditions.iter().map(|condition| self.posted(condition)).collect::<Option<Vec<_>>>()?;
        posted.sort_by_key(|one| (one.keep == Keep::Others, one.len()));
        let (first, rest) = posted.split_first()?;
        let most = MAX_BYTES.min(MAX_OTHER_BYTES + MAX_OTHER_BYTES_PER_BYTE * first.len());
        if first.len() > MAX_BYTES || rest.iter().any(|one| one.len() > most) {
            return None;
        }
        let mut refs = match first.keep {
            Keep::Members => first.refs(None),
            Keep::Others => first.refs(None).complement(self.index.series_count()),
        };
        for one in rest {
            refs = match one.keep {
                Keep::Members => one.refs(Some(&refs)),
                Keep::Others => refs.difference(&one.refs(Some(&refs))),
            };
        }
        Some(refs)
    }

    /// Adds the keysets that a query looks at for a condition to the work for its key. The query that reaches the
    /// threshold makes the postings.
    pub(crate) fn use_key(&self, condition: &Condition, keysets: usize) {
        if condition.has_few_values() {
            self.post(condition.key, keysets);
        }
    }

    /// Returns the keysets that have some of these series, in order.
    pub(crate) fn keysets_of(&self, refs: &Ranges) -> Vec<u32> {
        let mut keysets = Vec::new();
        let mut end = 0;
        for range in refs.as_slice() {
            while end < range.end {
                let keyset = self.index.keyset_from(SeriesRef(range.start.max(end)));
                // Refs are those of the index's keysets, so that the keyset ends behind them.
                end = self.index.series_of(keyset).end;
                keysets.push(keyset);
            }
        }
        keysets
    }
}
