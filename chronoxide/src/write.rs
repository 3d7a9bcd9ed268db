//! [`BlockWriter`]: from labelsets to the file of a block.

use std::fmt;
use std::path::{Path, PathBuf};

use chronoxide_format::column::{ColumnMerge, Value, ValueType};
use chronoxide_format::policy::is_reserved_name;
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_format::write::{BlockMeta, ColumnWriter, SeriesValues};
use chronoxide_labels::{KeysetStore, LabelError, LabelId, LabelSets, Layout, SealError};
use chronoxide_publish::{Disk, Existing, publish};
use chronoxide_reader::{BlockId, FileError};

use crate::blocks::read_verified;
use crate::{AsLabel, Error, ErrorKind, SeriesId};

/// How a block is written.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    time: Option<(i64, i64)>,
    layout: Layout,
    replaces: bool,
}

impl WriteOptions {
    /// Returns the default: the smallest layout, no time range, and an existing file is an error.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time range of the data, in nanoseconds since 1970, from `start` to before `end`. Queries of a time
    /// range leave out blocks by it.
    #[must_use]
    pub fn time(self, start: i64, end: i64) -> Self {
        Self { time: Some((start, end)), ..self }
    }

    /// Sets the layout of rows: all are read alike.
    #[must_use]
    pub fn layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// Replaces the file if it exists.
    #[must_use]
    pub fn replace(self, replaces: bool) -> Self {
        Self { replaces, ..self }
    }
}

/// Collects the labelsets of series, and writes them as a block.
///
/// ```
/// use chronoxide::{BlockWriter, Blocks};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("week.cx");
/// let mut writer = BlockWriter::new();
/// let api = writer.insert([("__name__", "up"), ("job", "api")])?;
/// let written = writer.finish(&path)?;
///
/// let blocks = Blocks::open(&path)?;
/// let labels = blocks.labels(written.id_of(api))?.expect("it was just written");
/// assert_eq!((labels[1].name, labels[1].value), ("job", "api"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct BlockWriter {
    store: KeysetStore,
    options: WriteOptions,
    /// Labels of the series that is being inserted.
    labels: Vec<LabelId>,
    columns: Vec<SeriesValues>,
}

impl fmt::Debug for BlockWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockWriter").field("series_count", &self.len()).finish_non_exhaustive()
    }
}

/// A series of a [`BlockWriter`]: numbers from 0, in the order of first insertion. A caller can keep an array by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesNumber(pub u32);

/// A column of a [`BlockWriter`]: numbers from 0, in the order in which columns were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnNumber(pub u32);

/// A block that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// File of the block.
    pub path: PathBuf,
    /// Id of the block.
    pub block: BlockId,
    /// Size of the file in bytes.
    pub byte_len: u64,
    refs: Vec<u32>,
}

impl Written {
    /// Returns the series of the block that was inserted under a number.
    ///
    /// # Panics
    /// If the number is that of another writer with more series.
    #[must_use]
    pub fn id_of(&self, series: SeriesNumber) -> SeriesId {
        SeriesId { block: self.block, series: self.refs[series.0 as usize] }
    }

    /// Returns the position in the block of each series, by its number: a permutation.
    #[must_use]
    pub fn refs(&self) -> &[u32] {
        &self.refs
    }
}

impl BlockWriter {
    /// Creates a writer with the default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a writer.
    #[must_use]
    pub fn with_options(options: WriteOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Returns the number of distinct series.
    #[must_use]
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Returns true if no series was inserted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Inserts a series, whose labels may come in any order, and returns its number: the same one for equal labels.
    /// Labels with an empty value are left out, as in Prometheus. Costs some 100 ns per label.
    ///
    /// # Errors
    /// An error of kind `Usage` if there are no labels, more than 1,023 or two of one name, if a name or a value has
    /// more than 65,535 bytes, or if a name begins with U+0000, which is reserved, and of kind `OutOfResources` after
    /// four billion series.
    pub fn insert(&mut self, labels: impl IntoIterator<Item: AsLabel>) -> Result<SeriesNumber, Error> {
        self.labels.clear();
        for label in labels {
            if !label.value().is_empty() {
                if is_reserved_name(label.name()) {
                    let text = format!("names that begin with U+0000 are reserved: {:?}", label.name());
                    return Err(Error::new(ErrorKind::Usage, text));
                }
                let interned = self.store.intern_label(label.name(), label.value());
                self.labels.push(interned.map_err(|error| refused(error, label.name()))?);
            }
        }
        let (series, _) = self.store.insert_ids(&self.labels).map_err(|error| {
            let name = self.repeated().unwrap_or_default();
            refused(error, name)
        })?;
        Ok(SeriesNumber(series.0))
    }

    /// Returns the name that two labels have.
    fn repeated(&self) -> Option<&str> {
        let mut keys: Vec<_> = self.labels.iter().map(|label| label.key).collect();
        keys.sort_unstable();
        let [key, _] = keys.array_windows().find(|[left, right]| left == right)?;
        self.store.name(*key)
    }

    /// Adds a column without values. Its name is one that no other column has: `app.first_time` for example, where
    /// `app` tells the columns of programs apart.
    ///
    /// # Errors
    /// An error of kind `Usage` for a name that is empty, too long or known, and for a way to merge that the type does
    /// not allow.
    pub fn add_column(&mut self, name: &str, value_type: ValueType, merge: ColumnMerge) -> Result<ColumnNumber, Error> {
        self.add_column_of(name, value_type, merge, 1)
    }

    /// Adds a column as [`BlockWriter::add_column`], whose values are multiples of a unit: times of whole minutes take
    /// fewer bytes if the unit is a minute.
    ///
    /// # Errors
    /// As [`BlockWriter::add_column`], and for a unit of 0 or outside the type.
    pub fn add_column_of(
        &mut self,
        name: &str,
        value_type: ValueType,
        merge: ColumnMerge,
        unit: u64,
    ) -> Result<ColumnNumber, Error> {
        let column = ColumnWriter::with_unit(name, value_type, merge, unit).map_err(SealError::from)?;
        if self.columns.iter().any(|known| known.name() == name) {
            return Err(Error::new(ErrorKind::Usage, format!("two columns are named {name:?}")));
        }
        let number = u32::try_from(self.columns.len()).unwrap_or(u32::MAX);
        self.columns.push(SeriesValues::new(column));
        Ok(ColumnNumber(number))
    }

    /// Gives a series a value. If it has one, both are combined in the way in which the column is merged: call it with
    /// the time of each sample, and a column that merges by `Min` has the first.
    ///
    /// # Errors
    /// An error of kind `Usage` for a value of another type, one that is not a multiple of the unit, values that cannot
    /// be combined, and a column or a series of another writer.
    pub fn set<'v>(
        &mut self,
        column: ColumnNumber,
        series: SeriesNumber,
        value: impl Into<Value<'v>>,
    ) -> Result<(), Error> {
        let is_known = (series.0 as usize) < self.len();
        match self.columns.get_mut(column.0 as usize).filter(|_| is_known) {
            Some(column) => Ok(column.set(series.0, value.into()).map_err(SealError::from)?),
            None => Err(Error::new(ErrorKind::Usage, "the column or the series is of another writer")),
        }
    }

    /// Writes the block: whole, synced and read again, or not at all. In a folder, its name must end in `.cx` and begin
    /// with no point to be found. A block without series is valid. The writer keeps its series, so that a call that
    /// failed can be repeated.
    ///
    /// # Errors
    /// Errors of kind `Io`, of kind `Exists` if the file exists, and of kind `Usage` for a time range without times.
    pub fn finish(&self, path: impl AsRef<Path>) -> Result<Written, Error> {
        let meta =
            BlockMeta { time: self.options.time.map(|(start, end)| TimeRange { start, end }), ..BlockMeta::default() };
        let sealed = self.store.seal_with(self.options.layout, &meta, &self.columns)?;
        let unread = |source| Error::from(FileError { path: Some(path.as_ref().to_owned()), source });
        let id = BlockView::open(&sealed.block).map_err(unread)?.block_id();
        let existing = if self.options.replaces { Existing::Replace } else { Existing::Refuse };
        let verify = |path: &Path| -> Result<(), Error> {
            match read_verified(path)?.view().block_id() == id {
                true => Ok(()),
                false => Err(Error::new(ErrorKind::Io, "another block was read back than was written")),
            }
        };
        let written = publish(
            &Disk,
            path.as_ref(),
            existing,
            |out| out.write_all(&sealed.block),
            |candidate| verify(candidate.path()),
        )?;
        let refs = sealed.refs.into_iter().map(|series| series.0).collect();
        Ok(Written { path: written.path, block: id, byte_len: written.byte_len, refs })
    }
}

/// Returns the error of a label: its position in sorted labels tells a caller nothing.
fn refused(error: LabelError, name: &str) -> Error {
    let most = chronoxide_labels::MAX_SYMBOL_LEN;
    let text = match error {
        LabelError::EmptyName { .. } => "a label has no name".to_owned(),
        LabelError::NameTooLong { len, .. } => format!("a label name has {len} bytes; the limit is {most}"),
        LabelError::ValueTooLong { len, .. } => format!("the value of {name:?} has {len} bytes; the limit is {most}"),
        LabelError::DuplicateName { .. } => format!("two labels are named {name:?}"),
        other => return other.into(),
    };
    Error::new(ErrorKind::Usage, text)
}
