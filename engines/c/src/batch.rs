//! Many series at once, for callers to whom each call is expensive.

use std::ptr;

use blocks::{Label, SeriesId};

use crate::label::{CxLabel, CxSeriesId, first_element};

/// Several series: the ids and labels of all of them one after another, and where those of each end. The arrays are
/// valid until the next call with the same rows or reader; what the labels point to, as long as the blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxSeriesBatch {
    /// Number of series; 0 after the last one.
    pub series_count: usize,
    /// Ids of the series, one per block that has it. NULL for those of a reader, whose caller has them.
    pub ids: *const CxSeriesId,
    /// For each series, the number of ids up to its last one.
    pub id_ends: *const usize,
    /// Labels, those of each series in the order of their names.
    pub labels: *const CxLabel,
    /// For each series, the number of labels up to its last one.
    pub label_ends: *const usize,
}

impl CxSeriesBatch {
    /// A batch without series.
    pub(crate) const EMPTY: Self =
        Self { series_count: 0, ids: ptr::null(), id_ends: ptr::null(), labels: ptr::null(), label_ends: ptr::null() };
}

/// Owner of the arrays of a [`CxSeriesBatch`], which keeps their memory for the next one.
#[derive(Default)]
pub(crate) struct Batch {
    ids: Vec<CxSeriesId>,
    id_ends: Vec<usize>,
    labels: Vec<CxLabel>,
    label_ends: Vec<usize>,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.ids.clear();
        self.id_ends.clear();
        self.labels.clear();
        self.label_ends.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.label_ends.is_empty()
    }

    /// Adds a series.
    pub(crate) fn push(&mut self, ids: impl Iterator<Item = SeriesId>, labels: &[Label<'_>]) {
        self.ids.extend(ids.map(CxSeriesId::from));
        self.id_ends.push(self.ids.len());
        self.labels.extend(labels.iter().map(|&label| CxLabel::from(label)));
        self.label_ends.push(self.labels.len());
    }

    pub(crate) fn view(&self) -> CxSeriesBatch {
        CxSeriesBatch {
            series_count: self.label_ends.len(),
            ids: first_element(&self.ids),
            id_ends: first_element(&self.id_ends),
            labels: first_element(&self.labels),
            label_ends: first_element(&self.label_ends),
        }
    }
}
