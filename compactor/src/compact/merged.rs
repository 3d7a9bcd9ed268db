//! [`Planned`] and [`Merged`]: the plan of the outputs, and merged tables and lists.

use std::collections::BTreeMap;

use chronoxide_format::Forecast;
use chronoxide_planner::{InternedRows, KeysetPlan, Part};
use rayon::prelude::*;

use super::labels::{Labels, filter};
use super::pipeline::Pipeline;
use super::verified::Verified;
use crate::CompactError;
use crate::error::InInput;
use crate::merge::{
    Adopted, AllLabelRows, Filter, InputContext, MergeContext, MergedKeyset, MergedLists, MergedTables, MoreRows,
    Translation, add_rows_below,
};
use crate::progress::Phase;

/// The third stage: keysets and the plan of the outputs.
pub(super) struct Planned<'a> {
    pub pipeline: &'a Pipeline<'a>,
    pub verified: &'a Verified<'a>,
    pub labels: &'a Labels<'a>,
    pub adopted: Adopted,
    /// Expected size of the outputs, if the plan was learned from a sample.
    pub forecast: Option<Forecast>,
    /// Labels of rows for remaps and columns, which read them again after the rows are merged.
    later_rows: AllLabelRows<'a>,
}

impl<'a> Planned<'a> {
    /// Finds the keysets of the outputs, and chooses their plan. Returns the filter of the options as well, which does
    /// not know the tables yet.
    ///
    /// # Errors
    /// An input is damaged, the next steps could exceed the memory limit, or the compaction was cancelled.
    pub(super) fn choose(
        pipeline: &'a Pipeline<'a>,
        verified: &'a Verified<'a>,
        labels: &'a Labels<'a>,
        rows: &AllLabelRows<'_>,
    ) -> Result<(Self, Filter), CompactError> {
        let (inputs, vocabulary) = (pipeline.inputs(), &labels.vocabulary);
        let filter = filter(verified.meta.policy, pipeline.options(), vocabulary);
        pipeline.time(Phase::Tables, || {
            let merged = labels.merged(pipeline, verified);
            let planned_series = pipeline.request.planned_series;
            let (adopted, forecast) = merged.plan(verified.planning, rows, &filter, planned_series, &pipeline.watch)?;
            verified.memory.and_translation(&adopted).check(pipeline.options())?;
            let later_rows = AllLabelRows::new(inputs, vocabulary);
            Ok((Self { pipeline, verified, labels, adopted, forecast, later_rows }, filter))
        })
    }

    fn context<'b>(&'b self, rows: &'b AllLabelRows<'b>) -> InputContext<'b> {
        self.labels.merged(self.pipeline, self.verified).context(&self.adopted, rows)
    }

    /// Merges shared tables.
    ///
    /// # Errors
    /// As [`Planned::choose`].
    pub(super) fn merge_tables(&self, rows: &AllLabelRows<'_>) -> Result<MergedTables, CompactError> {
        let Self { pipeline, adopted, .. } = self;
        pipeline.time(Phase::Tables, || {
            let more = more_rows(self.context(rows), adopted)?;
            let tables = MergedTables::merge(self.context(&self.later_rows), &more)?;
            pipeline.watch.progress(Phase::Tables, 3, 4)?;
            Ok(tables)
        })
    }

    /// Merges lists. The filter learns the tables.
    ///
    /// # Errors
    /// As [`Planned::choose`].
    pub(super) fn merge_lists(
        &'a self,
        tables: &'a MergedTables,
        mut filter: Filter,
    ) -> Result<Merged<'a>, CompactError> {
        let Self { pipeline, adopted, .. } = self;
        pipeline.time(Phase::Tables, || {
            let lists = MergedLists::merge(self.context(&self.later_rows), tables)?;
            filter.add_tables(&adopted.plan, tables);
            pipeline.watch.progress(Phase::Tables, 4, 4)?;
            Ok(Merged { planned: self, tables, lists, filter })
        })
    }
}

/// The fourth stage: merged tables and lists.
pub(super) struct Merged<'a> {
    pub planned: &'a Planned<'a>,
    tables: &'a MergedTables,
    pub lists: MergedLists<'a>,
    pub filter: Filter,
}

impl<'a> Merged<'a> {
    /// Returns everything that merging rows reads.
    pub(super) fn context(&'a self, rows: &'a AllLabelRows<'a>) -> MergeContext<'a> {
        let Self { planned, tables, lists, filter, .. } = self;
        MergeContext { context: planned.context(rows), keysets: &planned.adopted.keysets, tables, lists, filter }
    }

    /// Returns everything that publishing reads, after the rows are merged.
    pub(super) fn later_context(&'a self) -> MergeContext<'a> {
        self.context(&self.planned.later_rows)
    }
}

/// Returns the rows that shared tables need for series that their inputs factor differently.
fn more_rows(context: InputContext<'_>, adopted: &Adopted) -> Result<MoreRows, CompactError> {
    let plan = &adopted.plan;
    let mut more: MoreRows =
        (0..plan.tables.len()).map(|table| InternedRows::new(plan.keys_of(Part::Table(table)).len())).collect();
    if plan.tables.is_empty() {
        return Ok(more);
    }
    let of_keyset = |(keyset, choice): (&MergedKeyset, &KeysetPlan)| {
        let mut more = BTreeMap::new();
        for source in keyset.sources.iter().filter(|source| !source.agrees) {
            let translation = Translation::new(context, source, choice, None);
            translation.and_then(|translation| translation.add_rows(&mut more)).in_input(source.input)?;
        }
        Ok(more)
    };
    let found = (adopted.keysets.par_iter().zip(&plan.keysets))
        .map(of_keyset)
        .collect::<Result<Vec<BTreeMap<usize, InternedRows>>, CompactError>>()?;
    for (table, found) in found.into_iter().flatten() {
        for row in found.rows() {
            more[table].intern(row);
        }
    }
    add_rows_below(plan, &mut more);
    Ok(more)
}
