//! [`Condition`]: the requirement of matchers on one label, as codes of its dictionary.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use chronoxide_format::view::{BlockView, Column, Table};
use chronoxide_format::{KeyId, SymbolId};
use memchr::memmem::Finder;

use crate::matchers::pattern::{Candidates, Pattern};
use crate::rows::row_set::{Keep, RowSet};
use crate::rows::scan::{each_batch, each_code, first_not_before};
use crate::{Limits, Matcher, Ranges, SelectError};

/// Requirement of all matchers of one label.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub key: KeyId,
    /// With [`Keep::Members`], the codes that satisfy all matchers; with [`Keep::Others`], those that do not.
    pub codes: Arc<RowSet>,
    /// `Members`: a series must have the label with one of the codes. `Others`: it must not.
    pub keep: Keep,
}

/// Values of a label that are accepted, by their codes, and whether its absence is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedCodes {
    /// Key of the label.
    pub key: KeyId,
    /// Positions of the accepted values in the dictionary of the key. Others are ignored.
    pub codes: Ranges,
    /// True if series without the label are accepted.
    pub accepts_absent: bool,
}

/// Returns the conditions of accepted codes, the most selective first, or `None` if no series can satisfy them.
pub(crate) fn conditions_of_codes(
    view: &BlockView<'_>,
    accepted: impl IntoIterator<Item = AcceptedCodes>,
) -> Result<Option<Vec<Condition>>, SelectError> {
    let mut conditions = Vec::new();
    for AcceptedCodes { key, codes, accepts_absent } in accepted {
        let Some(count) = view.cardinality(key)? else {
            if accepts_absent {
                continue;
            }
            return Ok(None);
        };
        let (codes, keep) = if accepts_absent {
            (codes.complement(count), Keep::Others)
        } else {
            (codes.intersection(&Ranges::up_to(count)), Keep::Members)
        };
        match (keep, codes.is_empty()) {
            (Keep::Members, true) => return Ok(None),
            (Keep::Others, true) => {}
            _ => conditions.push(Condition { key, codes: Arc::new(RowSet::new(codes, count)), keep }),
        }
    }
    conditions.sort_by_key(|condition| (condition.keep == Keep::Others, condition.codes.ranges().count()));
    Ok(Some(conditions))
}

/// Evaluates matchers on the distinct values of a block. Returns `None` if no series can satisfy them.
pub(crate) fn conditions(
    view: &BlockView<'_>,
    matchers: &[Matcher],
    limits: &Limits<'_>,
) -> Result<Option<Vec<Condition>>, SelectError> {
    let policy = view.meta()?.policy();
    let matchers: Vec<Matcher> = matchers.iter().map(|matcher| matcher.under(&policy)).collect();
    let mut by_name: BTreeMap<&str, Vec<&Matcher>> = BTreeMap::new();
    for matcher in &matchers {
        by_name.entry(matcher.name()).or_default().push(matcher);
    }
    let mut all_accepted = Vec::new();
    for (name, matchers) in by_name {
        // An absent label has the empty value.
        let accepts_absent = matchers.iter().all(|matcher| matcher.matches(""));
        let Some(key) = view.key(name)? else {
            if accepts_absent {
                continue;
            }
            return Ok(None);
        };
        let Some(dictionary) = Dictionary::open(view, key)? else { return Ok(None) };
        let mut accepted = Ranges::up_to(dictionary.count());
        for matcher in matchers {
            let matched = dictionary.matched(matcher, limits)?;
            accepted =
                if matcher.is_negated() { accepted.difference(&matched) } else { accepted.intersection(&matched) };
        }
        all_accepted.push(AcceptedCodes { key, codes: accepted, accepts_absent });
    }
    conditions_of_codes(view, all_accepted)
}

/// The sorted values of a key.
pub(crate) struct Dictionary<'data, 'view> {
    view: &'view BlockView<'data>,
    table: Table<'data, 'view>,
    column: Column,
}

impl<'data, 'view> Dictionary<'data, 'view> {
    /// Returns the dictionary of a key, or `None` if the key is out of range.
    pub(crate) fn open(view: &'view BlockView<'data>, key: KeyId) -> Result<Option<Self>, SelectError> {
        let Some(table) = view.dictionary(key)? else { return Ok(None) };
        Ok(Some(Self { view, table, column: table.column(0)? }))
    }

    pub(crate) fn count(&self) -> u32 {
        self.table.row_count()
    }

    /// Returns the value with this code.
    #[inline]
    pub(crate) fn value(&self, code: u32) -> Result<&'data [u8], SelectError> {
        Ok(self.view.symbol(SymbolId(self.table.code(code, &self.column)?))?)
    }

    /// Returns the first code from `from` on whose value is not before `value`.
    fn first_from(&self, from: u32, is_before: impl Fn(&[u8]) -> bool) -> Result<u32, SelectError> {
        first_not_before(from..self.count(), |code| Ok(is_before(self.value(code)?)))
    }

    /// Returns the first code whose value comes after this one.
    pub(crate) fn behind(&self, value: &[u8]) -> Result<u32, SelectError> {
        if value.is_empty() { Ok(0) } else { self.first_from(0, |own| own <= value) }
    }

    /// Returns the codes of the values that begin with a prefix.
    pub(crate) fn with_prefix(&self, prefix: &[u8]) -> Result<Range<u32>, SelectError> {
        if prefix.is_empty() {
            return Ok(0..self.count());
        }
        let start = self.first_from(0, |value| value < prefix)?;
        Ok(start..self.first_from(start, |value| value < prefix || value.starts_with(prefix))?)
    }

    /// Returns the codes of the values that equal a matcher's value or match its regular expression, negated or not.
    fn matched(&self, matcher: &Matcher, limits: &Limits<'_>) -> Result<Ranges, SelectError> {
        match matcher.pattern() {
            None => self.equal(matcher.value().as_bytes(), 0).map(Ranges::from_range),
            Some(pattern) => self.matching(pattern, limits),
        }
    }

    /// Returns the code of a value, or `None` if it is not there.
    pub(crate) fn code(&self, value: &[u8]) -> Result<Option<u32>, SelectError> {
        Ok(Some(self.equal(value, 0)?).filter(|range| !range.is_empty()).map(|range| range.start))
    }

    /// Returns the code of a value from `from` on as a range, which is empty if there is no such value.
    fn equal(&self, value: &[u8], from: u32) -> Result<Range<u32>, SelectError> {
        let place = self.first_from(from, |other| other < value)?;
        let found = place < self.count() && self.value(place)? == value;
        Ok(place..place + u32::from(found))
    }

    fn matching(&self, pattern: &Pattern, limits: &Limits<'_>) -> Result<Ranges, SelectError> {
        let mut codes = Ranges::default();
        match pattern.candidates() {
            Candidates::Values(values) => {
                let mut from = 0;
                for value in values {
                    let found = self.equal(value, from)?;
                    from = found.end;
                    codes.push(found);
                }
            }
            Candidates::Prefixes(prefixes) => {
                for prefix in prefixes {
                    let range = self.with_prefix(prefix)?;
                    if pattern.matches_all_candidates() {
                        codes.push(range);
                        continue;
                    }
                    if let Some(finder) = pattern.contained() {
                        self.push_containing(finder, range, limits, &mut codes)?;
                        continue;
                    }
                    let mut code = range.start;
                    each_code(&self.table, &self.column, &Ranges::from_range(range), limits, |symbol| {
                        let value = self.view.symbol(SymbolId(symbol))?;
                        if pattern.matches_candidate(value) {
                            codes.push(code..code + 1);
                        }
                        code += 1;
                        Ok(())
                    })?;
                }
            }
        }
        Ok(codes)
    }

    /// Appends the codes of a range whose values contain a literal. Most values are neighbours in the arena, and are
    /// searched as one text.
    fn push_containing(
        &self,
        literal: &Finder<'_>,
        range: Range<u32>,
        limits: &Limits<'_>,
        codes: &mut Ranges,
    ) -> Result<(), SelectError> {
        each_batch(&self.table, &self.column, range, |first, symbols| {
            limits.check()?;
            let mut code = first;
            for neighbours in symbols.chunk_by(|left, right| left.checked_add(1) == Some(*right)) {
                let Some(&start) = neighbours.first() else { continue };
                let end = start.saturating_add(neighbours.len() as u32);
                self.push_neighbours_containing(literal, start..end, code, codes)?;
                code += neighbours.len() as u32;
            }
            Ok(())
        })
    }

    /// Appends the codes of the symbols that contain a literal; `code` is that of the first symbol.
    fn push_neighbours_containing(
        &self,
        literal: &Finder<'_>,
        symbols: Range<u32>,
        code: u32,
        codes: &mut Ranges,
    ) -> Result<(), SelectError> {
        let joined = |end: u32| self.view.symbols().joined(SymbolId(symbols.start)..SymbolId(end));
        let Some(text) = joined(symbols.end)? else { return Ok(()) };
        let mut from = 0;
        while let Some(found) = literal.find(text.get(from..).unwrap_or_default()) {
            let found = from + found;
            // The symbol in which the literal begins is the last one that does not start behind it.
            let begins_before = |end: u32| Ok(joined(end)?.unwrap_or_default().len() <= found);
            let behind = first_not_before(symbols.start + 1..symbols.end, begins_before)?;
            let code = code + (behind - 1 - symbols.start);
            let end = joined(behind)?.unwrap_or_default().len();
            let is_inside = found + literal.needle().len() <= end;
            if is_inside {
                codes.push(code..code + 1);
            }
            from = if is_inside { end } else { found + 1 };
        }
        Ok(())
    }
}
