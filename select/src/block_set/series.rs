//! Series of equal labelsets, joined over the blocks of a set.

use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::{BlockView, Label};
use chronoxide_format::{Result as FormatResult, SeriesRef};
use hashbrown::HashMap;

use super::{Partial, SetQuery, SetSelection};
use crate::SelectError;
use crate::results::project::Labels;

/// Series between two checks of the limits.
const SERIES_PER_CHECK: usize = 1 << 14;

/// A series, and the blocks that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedSeries {
    fingerprint: Fingerprint,
    occurrences: Vec<Occurrence>,
}

/// Ref of a series in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Occurrence {
    /// Position of the block in [`BlockSet::blocks`](super::BlockSet::blocks).
    pub block: usize,
    /// Ref of the series in this block.
    pub series: SeriesRef,
}

impl JoinedSeries {
    /// Returns the fingerprint of the labels; see [`Searcher::fingerprints`](crate::Searcher::fingerprints).
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns the refs of the series, in the order of blocks, at least one.
    #[must_use]
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences
    }
}

impl SetQuery<'_> {
    /// Joins the series of a selection that have equal labels. They come in the order of their first occurrence.
    ///
    /// Series are joined by fingerprint, and then compared label by label. Takes some 100 bytes of memory per distinct
    /// series, and 16 per occurrence. The series of a damaged block are missing.
    ///
    /// # Errors
    /// [`SelectError::OtherSnapshot`], and errors of the [`Limits`](crate::Limits).
    pub fn join(&self, selection: &SetSelection) -> Result<Partial<Vec<JoinedSeries>>, SelectError> {
        let mut joined: Vec<JoinedSeries> = Vec::new();
        let mut known: HashMap<Fingerprint, Vec<usize>> = HashMap::new();
        let failed = self.each_selected(selection, |searcher, block| {
            let view = searcher.view();
            let fingerprints = searcher.fingerprints(&block.series, Labels::All)?;
            for (number, (series, fingerprint)) in block.series.iter().zip(fingerprints).enumerate() {
                if number % SERIES_PER_CHECK == 0 {
                    self.limits.check()?;
                }
                let same = known.entry(fingerprint).or_default();
                let occurrence = Occurrence { block: block.block, series };
                let mut found = None;
                for &candidate in &*same {
                    let Some(Occurrence { block, series: other }) = joined[candidate].occurrences.first() else {
                        continue;
                    };
                    let Some(first) = self.set.blocks().get(*block) else { continue };
                    // A block has each labelset once.
                    if *block != occurrence.block && have_equal_labels(view, series, &first.block().view(), *other)? {
                        found = Some(candidate);
                        break;
                    }
                }
                match found {
                    Some(candidate) => joined[candidate].occurrences.push(occurrence),
                    None => {
                        same.push(joined.len());
                        joined.push(JoinedSeries { fingerprint, occurrences: vec![occurrence] });
                    }
                }
            }
            Ok(())
        })?;
        Ok(Partial { found: joined, failed })
    }
}

/// Returns true if two series have equal labels.
fn have_equal_labels(
    view: &BlockView<'_>,
    series: SeriesRef,
    other: &BlockView<'_>,
    other_series: SeriesRef,
) -> Result<bool, SelectError> {
    let (Some(left), Some(right)) = (view.series(series)?, other.series(other_series)?) else { return Ok(false) };
    if left.label_count() != right.label_count() {
        return Ok(false);
    }
    let pair = |label: FormatResult<Label<'_>>| label.map(|label| (label.name.to_vec(), label.value.to_vec()));
    for (left, right) in left.labels().zip(right.labels()) {
        if pair(left)? != pair(right)? {
            return Ok(false);
        }
    }
    Ok(true)
}
