//! Merges series columns: values of series that become one are combined (COLUMNS.md, section 5).

use std::collections::BTreeSet;

use chronoxide_format::SeriesRef;
use chronoxide_format::column::{ColumnMerge, Value, ValueType};
use chronoxide_format::identity::BlockId;
use chronoxide_format::view::{BlockView, OwnedMeta, SeriesColumn};
use chronoxide_format::write::{BuildError, ColumnWriter, PackedColumn, SeriesValues};
use chronoxide_publish::Contents;
use rayon::prelude::*;

use crate::batches::batches;
use crate::error::InInput;
use crate::memory::SERIES_AT_ONCE;
use crate::merge::{KeysetSource, MergeContext, keyset as input_keyset};
use crate::remap::{KnownOutput, Placed, Targets};
use crate::{CompactError, CompactOptions};

/// Number of targets that are known before values are combined: enough that a thread is worth its start.
const TARGETS_AT_ONCE: usize = 1 << 15;

/// Columns of the outputs.
#[derive(Default)]
pub(crate) struct MergedColumns<'a> {
    columns: Vec<MergedColumn<'a>>,
    /// Options that matched no column.
    pub(crate) unmatched: Vec<String>,
    /// Place of each input in their order from the oldest to the newest.
    ages: Vec<usize>,
}

/// A column of the outputs.
struct MergedColumn<'a> {
    name: &'a str,
    value_type: ValueType,
    merge: ColumnMerge,
    /// Number that all values are multiples of.
    unit: u64,
    /// First input that has it.
    first: usize,
    /// The column of each input.
    of_inputs: Vec<Option<SeriesColumn<'a>>>,
}

impl<'a> MergedColumns<'a> {
    /// Looks at the columns of the inputs, and leaves out those that outputs will not have.
    ///
    /// # Errors
    /// A column of one name has different types or ways to merge.
    pub(crate) fn new(
        inputs: &[BlockView<'a>],
        metas: &[OwnedMeta],
        options: &CompactOptions,
    ) -> Result<Self, CompactError> {
        let kept = &options.columns;
        let mut columns: Vec<MergedColumn<'a>> = Vec::new();
        let mut names = Vec::new();
        for (input, view) in inputs.iter().enumerate() {
            for column in view.series_columns() {
                let column = column.in_input(input)?;
                let (name, value_type, merge) = (column.name(), column.value_type(), column.merge());
                names.push(name);
                if !kept.has(name) {
                    continue;
                }
                let place = match columns.binary_search_by_key(&name, |known| known.name) {
                    Ok(place) => place,
                    Err(place) => {
                        let of_inputs = vec![None; inputs.len()];
                        let unit = column.unit();
                        columns.insert(place, MergedColumn { name, value_type, merge, unit, first: input, of_inputs });
                        place
                    }
                };
                let known = &mut columns[place];
                if (known.value_type, known.merge) != (value_type, merge) {
                    return Err(CompactError::ColumnsDiffer { input, other: known.first, name: name.to_owned() });
                }
                known.unit = merge.common_unit(known.unit, column.unit());
                known.of_inputs[input] = Some(column);
            }
        }
        let ages = if options.are_pieces {
            (0..inputs.len()).collect()
        } else {
            columns.retain(|column| column.merge != ColumnMerge::Drop);
            ages(metas)?
        };
        Ok(Self { columns, unmatched: kept.unmatched(&names), ages })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Packs the columns of an output.
    ///
    /// The series of a keyset stand together in inputs and outputs: the values of few keysets are in memory at a time.
    ///
    /// # Errors
    /// Values of a series cannot be combined.
    pub(crate) fn pack(
        &self,
        merging: &MergeContext<'_>,
        output: &KnownOutput<'_>,
        contents: Contents<'_>,
    ) -> Result<Vec<PackedColumn>, CompactError> {
        let placed = Placed::new(merging, std::slice::from_ref(output), contents);
        let mut packed = self.columns.iter().map(MergedColumn::writer).collect::<Result<Vec<_>, _>>()?;
        let mut keysets = Vec::with_capacity(output.rows.keysets.len());
        let mut first = 0;
        for (&number, uses) in &output.rows.keysets {
            keysets.push(PlacedKeyset { number, first, series: uses.series });
            first += uses.series;
        }
        for group in batches(&keysets, SERIES_AT_ONCE, |keyset| keyset.series) {
            let merge = |keyset: &PlacedKeyset| self.merge_keyset(merging, &placed, keyset);
            let merged = group.par_iter().map(merge).collect::<Result<Vec<Vec<SeriesValues>>, CompactError>>()?;
            packed.par_iter_mut().enumerate().try_for_each(|(column, writer)| {
                let mut keysets = group.iter().zip(&merged);
                // Refs of one output have 32 bits.
                keysets.try_for_each(|(keyset, values)| values[column].push_to(0..keyset.series as u32, writer))
            })?;
        }
        Ok(packed.into_par_iter().map(ColumnWriter::finish).collect())
    }

    /// Returns the values of each column for the series of a keyset, by their places in it.
    fn merge_keyset(
        &self,
        merging: &MergeContext<'_>,
        placed: &Placed<'_>,
        keyset: &PlacedKeyset,
    ) -> Result<Vec<SeriesValues>, CompactError> {
        // Refs of one output have 32 bits.
        let empty = |column| Ok(SeriesValues::new(MergedColumn::writer(column)?).with_room(keyset.series as u32));
        let mut values = self.columns.iter().map(empty).collect::<Result<Vec<_>, BuildError>>()?;
        let has_values =
            |source: &&KeysetSource| self.columns.iter().any(|column| column.of_inputs[source.input].is_some());
        let merged = &merging.keysets[keyset.number];
        let mut sources: Vec<&KeysetSource> = merged.sources.iter().filter(has_values).collect();
        sources.sort_unstable_by_key(|source| (self.ages[source.input], source.keyset));
        for source in sources {
            let view = &merging.context.inputs[source.input];
            let of_input = input_keyset(view, source.keyset).in_input(source.input)?;
            let mut combining = Combining {
                columns: &self.columns,
                values: &mut values,
                input: source.input,
                series: of_input.first(),
                first: keyset.first,
                targets: Vec::new(),
                result: Ok(()),
            };
            placed.follow(keyset.number, source, &mut combining)?;
            combining.combine();
            combining.result?;
        }
        Ok(values)
    }
}

/// Returns the place of each input in their order from the oldest to the newest.
fn ages(metas: &[OwnedMeta]) -> Result<Vec<usize>, CompactError> {
    let mut by_end = Vec::with_capacity(metas.len());
    for (input, meta) in metas.iter().enumerate() {
        by_end.push((meta.meta().in_input(input)?.time().map(|time| time.end), meta.block_id()));
    }
    let mut ages = vec![0; metas.len()];
    oldest_first(&by_end).into_iter().enumerate().for_each(|(age, input)| ages[input] = age);
    Ok(ages)
}

/// Orders inputs by the ends of their times, then by their ids.
fn oldest_first(by_end: &[(Option<i64>, BlockId)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..by_end.len()).collect();
    order.sort_by_key(|&input| by_end[input]);
    order
}

impl MergedColumn<'_> {
    /// Returns the column without values.
    fn writer(&self) -> Result<ColumnWriter, BuildError> {
        ColumnWriter::with_unit(self.name, self.value_type, self.merge, self.unit)
    }
}

/// A merged keyset in an output.
struct PlacedKeyset {
    number: usize,
    /// Number of its first series.
    first: u64,
    series: u64,
}

/// Combines the values of the series of an input's keyset with those of earlier ones, as their targets become known.
struct Combining<'c, 'a> {
    columns: &'c [MergedColumn<'a>],
    /// Values of the output's keyset.
    values: &'c mut [SeriesValues],
    input: usize,
    /// The series that has the first one of `targets`.
    series: SeriesRef,
    /// The first series of the output's keyset.
    first: u64,
    /// Places of the series in the output's keyset.
    targets: Vec<Option<u32>>,
    result: Result<(), CompactError>,
}

impl Targets for Combining<'_, '_> {
    fn push_row(&mut self, targets: impl Iterator<Item = Option<u64>>) {
        let first = self.first;
        // Refs of one output have 32 bits.
        self.targets.extend(targets.map(|target| target.map(|target| (target - first) as u32)));
        if self.targets.len() >= TARGETS_AT_ONCE {
            self.combine();
        }
    }
}

impl Combining<'_, '_> {
    /// Combines the values of the series whose targets are known, and forgets the targets.
    fn combine(&mut self) {
        let Self { columns, input, series, ref targets, .. } = *self;
        let combine = |(column, values): (&MergedColumn<'_>, &mut SeriesValues)| match &column.of_inputs[input] {
            Some(column) => values.combine(column, series, targets),
            None => Ok(()),
        };
        let combined = columns.par_iter().zip(&mut *self.values).try_for_each(combine);
        if self.result.is_ok() {
            self.result = combined.map_err(|error| match error {
                InColumn::Value(source) => CompactError::Column { input, source },
                InColumn::Input(source) => CompactError::Input { input, source },
            });
        }
        self.series = SeriesRef(series.0 + targets.len() as u32);
        self.targets.clear();
    }
}

/// Error of a walk over values.
enum InColumn {
    Value(BuildError),
    Input(chronoxide_format::Error),
}

impl From<BuildError> for InColumn {
    fn from(error: BuildError) -> Self {
        Self::Value(error)
    }
}

impl From<chronoxide_format::Error> for InColumn {
    fn from(error: chronoxide_format::Error) -> Self {
        Self::Input(error)
    }
}

/// Returns the first input with a value that the outputs do not hold, and the name of its column.
///
/// If the inputs are all parents of the outputs, their values are combined again, and must be those of the outputs.
/// Otherwise a value can have been combined with those of blocks that are gone: the outputs must have one that can be
/// the result. Values that are summed up, and older ones, leave no trace by which they could be told.
///
/// # Errors
/// A block is damaged.
pub(crate) fn missing(
    outputs: &[BlockView<'_>],
    inputs: &[BlockView<'_>],
) -> chronoxide_format::Result<Option<(usize, String)>> {
    let ids: BTreeSet<BlockId> = inputs.iter().map(BlockView::block_id).collect();
    let mut are_all_parents = true;
    let mut by_end = Vec::with_capacity(inputs.len());
    for output in outputs {
        are_all_parents &= output.meta()?.parents()?.collect::<BTreeSet<BlockId>>() == ids;
    }
    for input in inputs {
        by_end.push((input.meta()?.time().map(|time| time.end), input.block_id()));
    }
    let mut order = oldest_first(&by_end);
    // Copies of a block stand together. Their values were combined once.
    order.dedup_by_key(|input| by_end[*input].1);
    let mut names = BTreeSet::new();
    for input in inputs {
        for column in input.series_columns() {
            names.insert(column?.name());
        }
    }
    for name in names {
        let lost = column_missing(name, outputs, inputs, if are_all_parents { Some(&order) } else { None })?;
        if let Some(input) = lost {
            return Ok(Some((input, name.to_owned())));
        }
    }
    Ok(None)
}

/// Returns the first input with a value of a column that the outputs do not hold. `order` has the inputs from the
/// oldest to the newest, if their values alone were combined.
fn column_missing(
    name: &str,
    outputs: &[BlockView<'_>],
    inputs: &[BlockView<'_>],
    order: Option<&[usize]>,
) -> chronoxide_format::Result<Option<usize>> {
    let of_inputs = columns_named(name, inputs)?;
    let Some((first, column)) = of_inputs.iter().enumerate().find_map(|(input, column)| Some((input, (*column)?)))
    else {
        return Ok(None);
    };
    let merge = column.merge();
    if merge == ColumnMerge::Drop {
        return Ok(None);
    }
    let mut of_outputs = columns_named(name, outputs)?;
    for of_output in &mut of_outputs {
        *of_output = of_output.filter(|other| (other.value_type(), other.merge()) == (column.value_type(), merge));
    }
    let unit = of_inputs.iter().flatten().fold(column.unit(), |unit, other| merge.common_unit(unit, other.unit()));
    // The kind is that of a column that was written.
    let Ok(writer) = ColumnWriter::with_unit(name, column.value_type(), merge, unit) else { return Ok(Some(first)) };
    let mut combined: Vec<SeriesValues> = outputs.iter().map(|_| SeriesValues::new(writer.clone())).collect();
    for input in order.map_or_else(|| (0..inputs.len()).collect(), <[usize]>::to_vec) {
        let Some(column) = &of_inputs[input] else { continue };
        let mut is_held = true;
        column.read(SeriesRef(0)..SeriesRef(u32::MAX), |series, value| {
            let Some(value) = value.filter(|_| is_held) else { return Ok(()) };
            is_held = false;
            let mut labels = Vec::new();
            for label in inputs[input].series(series)?.iter().flat_map(|series| series.labels()) {
                let label = label?;
                labels.push((label.name, label.value));
            }
            for ((output, of_output), combined) in outputs.iter().zip(&of_outputs).zip(&mut combined) {
                let Some(of_output) = of_output else { continue };
                // Labels of a sound block can be found in others.
                let Ok(Some(found)) = output.find(labels.iter().copied()) else { continue };
                is_held |= match order {
                    Some(_) => combined.set(found.0, value).is_ok(),
                    None => of_output.get(found)?.is_some_and(|held| holds(merge, held, value)),
                };
            }
            Ok::<(), chronoxide_format::Error>(())
        })?;
        if !is_held {
            return Ok(Some(input));
        }
    }
    for (column, combined) in of_outputs.iter().zip(&combined).filter(|_| order.is_some()) {
        let Some(column) = column else { continue };
        let mut is_equal = true;
        column.read(SeriesRef(0)..SeriesRef(u32::MAX), |series, value| {
            is_equal &= value == combined.get(series.0);
            Ok::<(), chronoxide_format::Error>(())
        })?;
        if !is_equal {
            return Ok(Some(first));
        }
    }
    Ok(None)
}

/// Returns the column of each block with a name.
fn columns_named<'a>(name: &str, blocks: &[BlockView<'a>]) -> chronoxide_format::Result<Vec<Option<SeriesColumn<'a>>>> {
    blocks.iter().map(|block| block.series_column(name)).collect()
}

/// Returns true if a merged value can be one of a value and others.
fn holds(merge: ColumnMerge, held: Value<'_>, value: Value<'_>) -> bool {
    match merge {
        ColumnMerge::Same => held == value,
        ColumnMerge::Min => held <= value,
        ColumnMerge::Max => held >= value,
        ColumnMerge::Or => ColumnMerge::Or.combine(held, value) == Some(held),
        ColumnMerge::Sum | ColumnMerge::Newest | ColumnMerge::Drop => true,
    }
}
