//! Sink of series: [`SeriesSink`].

use chronoxide_format::column::{ColumnMerge, Value, ValueType};
use chronoxide_format::metadata::MetricMetadata;
use chronoxide_labels::LabelId;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Maximum number of labels in [`KnownLabels`], which is emptied when it is full.
const MAX_KNOWN_LABELS: usize = 1 << 14;

/// Labels that a sink has interned, by numbers of the caller: most texts of a column recur, and comparing numbers is
/// faster than comparing texts.
#[derive(Debug, Default)]
pub struct KnownLabels {
    /// Generation of the sink's store to which the labels belong.
    generation: u64,
    labels: HashMap<u128, LabelId, RandomState>,
}

impl KnownLabels {
    /// Removes all labels. Required before numbers get another meaning.
    pub fn clear(&mut self) {
        self.labels.clear();
    }

    /// Returns the label with this number in the current generation of a store.
    #[inline]
    pub(crate) fn get(&self, generation: u64, number: u128) -> Option<LabelId> {
        if self.generation == generation { self.labels.get(&number).copied() } else { None }
    }

    /// Adds a label of the current generation of a store.
    pub(crate) fn insert(&mut self, generation: u64, number: u128, label: LabelId) {
        if self.generation != generation || self.labels.len() >= MAX_KNOWN_LABELS {
            self.labels.clear();
            self.generation = generation;
        }
        self.labels.insert(number, label);
    }
}

/// Series column of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFacts {
    /// Name, of 1 to 255 bytes.
    pub name: String,
    /// Type of the values.
    pub value_type: ValueType,
    /// Way to combine the values of series that become one.
    pub merge: ColumnMerge,
    /// Number that most values are multiples of, at least 1.
    pub unit: u64,
}

/// Sink of series with labels.
///
/// For each series the calls are: `series_begins`, the labels in order of the input, its values, the known times of its
/// points, `series_ends`. Metadata of metrics comes between series, and so do the columns of values.
///
/// No call follows one that returned an error. A series without `series_ends` was malformed.
pub trait SeriesSink {
    /// Error of refusing a part.
    type Error;

    /// Begins a series. Labels of an unfinished series are discarded.
    fn series_begins(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Adds a label to the series.
    fn label(&mut self, name: &str, value: &str) -> Result<(), Self::Error>;

    /// Adds the label that [`keep_label`](Self::keep_label) kept in `known` with this number. Returns false if there is
    /// none; nothing was added then.
    #[inline]
    fn known_label(&mut self, known: &KnownLabels, number: u128) -> bool {
        let _ = (known, number);
        false
    }

    /// Adds a label to the series. With a number, the sink may keep the label in `known`.
    #[inline]
    fn keep_label(
        &mut self,
        known: &mut KnownLabels,
        number: Option<u128>,
        name: &str,
        value: &str,
    ) -> Result<(), Self::Error> {
        let _ = (known, number);
        self.label(name, value)
    }

    /// Tells of a column of the series that follow. Returns its number, by which its values come.
    fn column(&mut self, column: &ColumnFacts) -> Result<usize, Self::Error> {
        let _ = column;
        Ok(0)
    }

    /// Adds a value of a column to the series. The value has the type of the column; bytes have at most 65,535 bytes.
    fn value(&mut self, column: usize, value: Value<'_>) -> Result<(), Self::Error> {
        let _ = (column, value);
        Ok(())
    }

    /// Tells of a time of a column that 64-bit nanoseconds cannot hold. The series has no value in the column then.
    fn value_out_of_range(&mut self, column: usize) -> Result<(), Self::Error> {
        let _ = column;
        Ok(())
    }

    /// Adds points from `first` to `last`, both inclusive, in nanoseconds since 1970. Called any number of times, and
    /// not at all if times are unknown.
    fn points(&mut self, first: i64, last: i64) -> Result<(), Self::Error> {
        let _ = (first, last);
        Ok(())
    }

    /// Adds a point whose time is not usable: it does not fit into 64-bit nanoseconds, which end in the year 2262, or
    /// its last digits may be missing.
    fn point_without_time(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Ends the series.
    fn series_ends(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Tells of a series that has a text that is not valid UTF-8, in place of the series or of its end. Returns true if
    /// the sink leaves out the series, and false if the record is malformed.
    fn invalid_series(&mut self) -> bool {
        false
    }

    /// Tells of metadata that has a text that is not valid UTF-8, in place of the metadata. Returns true if the sink
    /// leaves it out, and false if the record is malformed.
    fn invalid_metadata(&mut self) -> bool {
        false
    }

    /// Adds the metadata of a metric.
    fn metadata(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), Self::Error> {
        let _ = metadata;
        Ok(())
    }
}
