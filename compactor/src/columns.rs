//! Merges series columns: values of series that become one are combined (COLUMNS.md, section 5).

use chronoxide_format::SeriesRef;
use chronoxide_format::column::{ColumnMerge, Value, ValueType};
use chronoxide_format::view::{BlockView, OwnedMeta, SeriesColumn};
use chronoxide_format::write::{BuildError, ColumnWriter, PackedColumn, SeriesValues};
use chronoxide_publish::Contents;
use rayon::prelude::*;

use crate::error::InInput;
use crate::merge::MergeContext;
use crate::remap::{KnownOutput, Placed, Source, sources_of};
use crate::{CompactError, KeptColumns};

/// Memory per series of the inputs and column: the value, and what is packed.
const VALUE: u64 = 20;
/// Memory per series of the inputs: the targets of those of an input, twice.
const TARGET: u64 = 32;
/// Memory per byte of texts: the value, and what is packed.
const TEXT: u64 = 3;

/// Columns of the outputs.
#[derive(Default)]
pub(crate) struct MergedColumns<'a> {
    columns: Vec<MergedColumn<'a>>,
    /// Options that matched no column.
    pub(crate) unmatched: Vec<String>,
    /// Inputs from the oldest to the newest.
    by_age: Vec<usize>,
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
    pub(crate) fn new(inputs: &[BlockView<'a>], metas: &[OwnedMeta], kept: &KeptColumns) -> Result<Self, CompactError> {
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
                known.unit = greatest_common_divisor(known.unit, column.unit());
                known.of_inputs[input] = Some(column);
            }
        }
        columns.retain(|column| column.merge != ColumnMerge::Drop);
        let mut by_age = Vec::with_capacity(inputs.len());
        for (input, meta) in metas.iter().enumerate() {
            by_age.push((meta.meta().in_input(input)?.time().map(|time| time.end), meta.block_id(), input));
        }
        by_age.sort_unstable();
        Ok(Self {
            columns,
            unmatched: kept.unmatched(&names),
            by_age: by_age.into_iter().map(|(.., input)| input).collect(),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Packs the columns of an output.
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
        let sources = sources_of(merging);
        let mut merged = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let writer = ColumnWriter::with_unit(column.name, column.value_type, column.merge, column.unit)?;
            merged.push(SeriesValues::new(writer));
        }
        let has_values = |input: usize| self.columns.iter().any(|column| column.of_inputs[input].is_some());
        for &input in self.by_age.iter().filter(|&&input| has_values(input)) {
            let follow = |source: &Source<'_>| {
                let mut targets = Vec::new();
                if let Some((number, source)) = source {
                    placed.follow(*number, source, &mut targets)?;
                }
                Ok(targets)
            };
            let followed = sources[input].par_iter().map(follow).collect::<Result<Vec<_>, CompactError>>()?;
            let mut targets: Vec<Option<u64>> = Vec::new();
            for (keyset, of_keyset) in merging.context.inputs[input].keysets().zip(followed) {
                targets.resize(keyset.in_input(input)?.first().0 as usize, None);
                targets.extend(of_keyset);
            }
            let add = |(column, values): (&MergedColumn<'_>, &mut SeriesValues)| match &column.of_inputs[input] {
                Some(column) => column.read(SeriesRef(0)..SeriesRef(u32::MAX), |series, value| {
                    let target = targets.get(series.0 as usize).copied().flatten();
                    match value.zip(target) {
                        // Refs of one output have 32 bits.
                        Some((value, target)) => values.combine(target as u32, value).map_err(InColumn::Value),
                        None => Ok(()),
                    }
                }),
                None => Ok(()),
            };
            self.columns.par_iter().zip(&mut merged).try_for_each(add).map_err(|error| match error {
                InColumn::Value(source) => CompactError::Column { input, source },
                InColumn::Input(source) => CompactError::Input { input, source },
            })?;
        }
        let series = 0..u32::try_from(output.rows.series).unwrap_or(u32::MAX);
        Ok(merged.par_iter().map(|values| values.pack(series.clone())).collect::<Result<_, BuildError>>()?)
    }
}

/// Error of a walk over values.
enum InColumn {
    Value(BuildError),
    Input(chronoxide_format::Error),
}

impl From<chronoxide_format::Error> for InColumn {
    fn from(error: chronoxide_format::Error) -> Self {
        Self::Input(error)
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Returns the memory for merging the columns of the inputs; 0 if there are none.
pub(crate) fn memory(inputs: &[BlockView<'_>]) -> Result<u64, CompactError> {
    let (mut columns, mut texts, mut series): (u64, u64, u64) = (0, 0, 0);
    for (input, view) in inputs.iter().enumerate() {
        series = series.saturating_add(view.series_count().in_input(input)?.into());
        columns = columns.max(view.column_count().into());
        for column in view.series_columns() {
            texts = texts.saturating_add(column.in_input(input)?.text_len());
        }
    }
    if columns == 0 {
        return Ok(0);
    }
    let of_series = columns.saturating_mul(VALUE).saturating_add(TARGET);
    Ok(of_series.saturating_mul(series).saturating_add(texts.saturating_mul(TEXT)))
}

/// Returns the first input with a value that the outputs do not hold, and the name of its column.
///
/// Values that are summed up, and older ones, leave no trace by which they could be told: the outputs must have a value
/// there.
///
/// # Errors
/// A block is damaged.
pub(crate) fn missing(
    outputs: &[BlockView<'_>],
    inputs: &[BlockView<'_>],
) -> chronoxide_format::Result<Option<(usize, String)>> {
    for (input, view) in inputs.iter().enumerate() {
        for column in view.series_columns() {
            let column = column?;
            if column.merge() == ColumnMerge::Drop {
                continue;
            }
            let mut of_outputs = Vec::new();
            for output in outputs {
                let same = output.series_column(column.name())?;
                let is_same = |other: &SeriesColumn<'_>| {
                    (other.value_type(), other.merge()) == (column.value_type(), column.merge())
                };
                of_outputs.push(same.filter(is_same));
            }
            let mut is_held = true;
            column.read(SeriesRef(0)..SeriesRef(u32::MAX), |series, value| {
                let Some(value) = value.filter(|_| is_held) else { return Ok(()) };
                is_held = false;
                let mut labels = Vec::new();
                for label in view.series(series)?.iter().flat_map(|series| series.labels()) {
                    let label = label?;
                    labels.push((label.name, label.value));
                }
                for (output, column) in outputs.iter().zip(&of_outputs) {
                    let Some(column) = column else { continue };
                    // Labels of a sound block can be found in others.
                    let Ok(Some(found)) = output.find(labels.iter().copied()) else { continue };
                    is_held |= column.get(found)?.is_some_and(|held| holds(column.merge(), held, value));
                }
                Ok::<(), chronoxide_format::Error>(())
            })?;
            if !is_held {
                return Ok(Some((input, column.name().to_owned())));
            }
        }
    }
    Ok(None)
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
