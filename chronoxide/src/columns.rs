//! [`Column`]: a value per series.

use std::fmt;

use chronoxide_format::column::{ColumnMerge, FIRST_TIME, LAST_TIME, Value, ValueType};
use chronoxide_format::view::SeriesColumn;
use chronoxide_reader::SeriesRef;
use chronoxide_select::Occurrence;

use crate::{Blocks, Error, ErrorKind, Selection, Series, SeriesId};

/// Values of the series of several blocks: what an engine keeps of each series.
///
/// ```
/// use chronoxide::{BlockWriter, Blocks, ColumnMerge, Value, ValueType};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("week.cx");
/// let mut writer = BlockWriter::new();
/// let first_time = writer.add_column("app.first_time", ValueType::I64, ColumnMerge::Min)?;
/// let series = writer.insert([("__name__", "up"), ("job", "api")])?;
/// writer.set(first_time, series, 1_700_000_000_i64)?;
/// writer.finish(&path)?;
///
/// let blocks = Blocks::open(&path)?;
/// let column = blocks.column("app.first_time")?.expect("the block has it");
/// let mut rows = blocks.query("up")?.series()?;
/// while let Some(series) = rows.next()? {
///     assert_eq!(column.of(&series)?, Some(Value::I64(1_700_000_000)));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Column<'b> {
    blocks: &'b Blocks,
    /// The column of each block, by its position.
    columns: Vec<Option<SeriesColumn<'b>>>,
    /// Positions of the blocks, from the oldest to the newest.
    by_age: Vec<usize>,
    facts: ColumnInfo<'b>,
}

/// Facts about a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnInfo<'b> {
    /// Name: one without a point is for private use, others begin with a namespace.
    pub name: &'b str,
    /// Type of the values.
    pub value_type: ValueType,
    /// Way to combine the values of series that become one.
    pub merge: ColumnMerge,
}

impl<'b> ColumnInfo<'b> {
    fn stated(column: &SeriesColumn<'b>) -> Self {
        Self { name: column.name(), value_type: column.value_type(), merge: column.merge() }
    }
}

impl fmt::Debug for Column<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Column").field("facts", &self.facts).field("blocks", &self.blocks).finish_non_exhaustive()
    }
}

impl Blocks {
    /// Name of the column of first times of series, in nanoseconds since 1970: [`ValueType::I64`], merged by
    /// [`ColumnMerge::Min`].
    pub const FIRST_TIME: &str = FIRST_TIME;

    /// Name of the column of last times of series, in nanoseconds since 1970: [`ValueType::I64`], merged by
    /// [`ColumnMerge::Max`].
    pub const LAST_TIME: &str = LAST_TIME;

    /// Returns the columns that blocks have, in the order of their names.
    ///
    /// # Errors
    /// As [`Blocks::column`].
    pub fn columns(&self) -> Result<Vec<ColumnInfo<'_>>, Error> {
        let mut found: Vec<(ColumnInfo<'_>, usize)> = Vec::new();
        for (position, block) in self.set.blocks().iter().enumerate() {
            for column in block.open().view().series_columns() {
                let facts = ColumnInfo::stated(&column.map_err(|error| self.locate(position, error))?);
                match found.binary_search_by_key(&facts.name, |(known, _)| known.name) {
                    Ok(place) => match found.get(place) {
                        Some((known, first)) if *known != facts => {
                            return Err(self.differ(facts.name, *first, position));
                        }
                        _ => {}
                    },
                    Err(place) => found.insert(place, (facts, position)),
                }
            }
        }
        Ok(found.into_iter().map(|(facts, _)| facts).collect())
    }

    /// Returns a column, or `None` if no block has it. Costs a look at each block, and reads no value.
    ///
    /// # Errors
    /// An error of kind `Usage` if blocks have columns of this name with different types or ways to merge, and of kind
    /// `Corrupt` for a damaged block.
    pub fn column(&self, name: &str) -> Result<Option<Column<'_>>, Error> {
        let columns: Vec<_> =
            (0..self.len()).map(|position| self.series_column(position, name)).collect::<Result<_, _>>()?;
        let found = columns.iter().enumerate().filter_map(|(position, column)| Some((position, column.as_ref()?)));
        let Some(facts) = self.agreed(found)? else { return Ok(None) };
        let mut by_age: Vec<usize> = (0..columns.len()).collect();
        // Positions are in the order of ids.
        by_age.sort_by_key(|&position| {
            self.set.blocks().get(position).and_then(|block| block.time()).map(|time| time.end)
        });
        Ok(Some(Column { blocks: self, columns, by_age, facts }))
    }

    /// Returns the column of a block.
    pub(crate) fn series_column(&self, position: usize, name: &str) -> Result<Option<SeriesColumn<'_>>, Error> {
        let Some(block) = self.set.blocks().get(position) else { return Ok(None) };
        block.open().view().series_column(name).map_err(|error| self.locate(position, error))
    }

    /// Returns the facts about columns of one name, which come with the positions of their blocks, or `None` if there
    /// are none.
    pub(crate) fn agreed<'c, 'b: 'c>(
        &'b self,
        columns: impl IntoIterator<Item = (usize, &'c SeriesColumn<'b>)>,
    ) -> Result<Option<ColumnInfo<'b>>, Error> {
        let mut first: Option<(usize, ColumnInfo<'_>)> = None;
        for (position, column) in columns {
            let facts = ColumnInfo::stated(column);
            match first {
                Some((other, known)) if known != facts => return Err(self.differ(facts.name, other, position)),
                Some(_) => {}
                None => first = Some((position, facts)),
            }
        }
        Ok(first.map(|(_, facts)| facts))
    }

    /// Returns the error of columns with one name that are not the same.
    fn differ(&self, name: &str, first: usize, second: usize) -> Error {
        let shown = |position: usize| match self.set.blocks().get(position).and_then(|block| block.block().path()) {
            Some(path) => path.display().to_string(),
            None => "a block in memory".to_owned(),
        };
        let (first, second) = (shown(first), shown(second));
        let text = format!("the columns {name:?} of {first} and {second} differ in type or way to merge");
        Error::new(ErrorKind::Usage, text)
    }
}

impl<'b> Column<'b> {
    /// Returns facts about the column.
    #[must_use]
    pub fn info(&self) -> ColumnInfo<'b> {
        self.facts
    }

    /// Returns the value that a series has in a block, or `None` if it has none. Allocates nothing.
    ///
    /// # Errors
    /// An error of kind `Corrupt` if the block is damaged where the value is.
    pub fn get(&self, id: SeriesId) -> Result<Option<Value<'b>>, Error> {
        match self.blocks.position(id) {
            Some(block) => self.read(Occurrence { block, series: SeriesRef(id.series) }),
            None => Ok(None),
        }
    }

    /// Returns the value of a series, whose values in several blocks are combined in the way of the column.
    ///
    /// # Errors
    /// As [`Column::get`], and errors of kind `Usage` for a series of another snapshot, and for values that cannot be
    /// combined: different ones that must be the same, and a sum that the type does not hold.
    pub fn of(&self, series: &Series<'_, '_>) -> Result<Option<Value<'b>>, Error> {
        if !std::ptr::eq(series.blocks(), self.blocks) && !self.blocks.has_same_ids(series.blocks()) {
            return Err(Error::new(ErrorKind::Usage, "the series is of another snapshot"));
        }
        let places = series.occurrences();
        if let [only] = places {
            return self.read(*only);
        }
        let mut combined = None;
        for &block in &self.by_age {
            let Some(&place) = places.iter().find(|place| place.block == block) else { continue };
            combined = match (combined, self.read(place)?) {
                (None, value) => value,
                (value, None) => value,
                (Some(value), Some(newer)) => Some(self.facts.merge.combine(value, newer).ok_or_else(|| {
                    let text = format!("{value} and {newer} of column {:?} cannot be combined", self.facts.name);
                    Error::new(ErrorKind::Usage, text)
                })?),
            };
        }
        Ok(combined)
    }

    fn read(&self, Occurrence { block, series }: Occurrence) -> Result<Option<Value<'b>>, Error> {
        match self.columns.get(block) {
            Some(Some(column)) => column.get(series).map_err(|error| self.blocks.locate(block, error)),
            _ => Ok(None),
        }
    }

    /// Calls `each` with the position of each id and its value, `None` for a series that no block has, in the order of
    /// the ids: runs of consecutive series are decoded at once, others cost as [`Column::get`].
    ///
    /// ```
    /// use chronoxide::{BlockWriter, Blocks, ColumnMerge, Error, Value, ValueType};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("week.cx");
    /// let mut writer = BlockWriter::new();
    /// let chunk = writer.add_column("app.chunk", ValueType::U64, ColumnMerge::Newest)?;
    /// let api = writer.insert([("__name__", "up"), ("job", "api")])?;
    /// let db = writer.insert([("__name__", "up"), ("job", "db")])?;
    /// writer.set(chunk, db, 4096_u64)?;
    /// let written = writer.finish(&path)?;
    ///
    /// let blocks = Blocks::open(&path)?;
    /// let ids = [written.id_of(db), written.id_of(api)];
    /// let mut chunks = [None; 2];
    /// blocks.column("app.chunk")?.expect("the block has it").read_ids(&ids, |position, value| {
    ///     chunks[position] = value;
    ///     Ok::<(), Error>(())
    /// })?;
    /// assert_eq!(chunks, [Some(Value::U64(4096)), None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Column::get`], and errors of `each`.
    pub fn read_ids<E: From<Error>>(
        &self,
        ids: &[SeriesId],
        mut each: impl FnMut(usize, Option<Value<'b>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_next = |left: &SeriesId, right: &SeriesId| {
            left.block == right.block && left.series.checked_add(1) == Some(right.series)
        };
        let (mut next, mut block) = (0, None);
        for run in ids.chunk_by(is_next) {
            let Some(&first) = run.first() else { continue };
            let position = match block {
                Some((known, position)) if known == first.block => position,
                _ => self.blocks.position(first),
            };
            block = Some((first.block, position));
            let end = next + run.len();
            if let Some((position, Some(column))) = position.and_then(|block| Some((block, self.columns.get(block)?))) {
                let series = SeriesRef(first.series)..SeriesRef(first.series.saturating_add(run.len() as u32));
                let read = column.read(series, |_, value| {
                    next += 1;
                    each(next - 1, value).map_err(Either::Caller)
                });
                read.map_err(|error| self.either(position, error))?;
            }
            // Series that no block has, or whose block does not have the column.
            (next..end).try_for_each(|position| each(position, None))?;
            next = end;
        }
        Ok(())
    }

    /// Calls `each` with the value of each series of a selection, in the order of its ids: groups of 256 values are
    /// decoded at once.
    ///
    /// # Errors
    /// As [`Column::get`], an error of kind `Usage` for a selection of other blocks, and errors of `each`.
    pub fn read_selection<E: From<Error>>(
        &self,
        selection: &Selection,
        mut each: impl FnMut(SeriesId, Option<Value<'b>>) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.blocks.has_same_ids(&selection.blocks) {
            return Err(Error::new(ErrorKind::Usage, "the selection is of other blocks").into());
        }
        let blocks = self.blocks.set.blocks().iter().zip(&self.columns).zip(&selection.refs);
        for (position, ((block, column), refs)) in blocks.enumerate() {
            let id = |series: SeriesRef| SeriesId { block: block.id(), series: series.0 };
            for run in refs.ranges() {
                match column {
                    Some(column) => column
                        .read(run, |series, value| each(id(series), value).map_err(Either::Caller))
                        .map_err(|error| self.either(position, error))?,
                    None => (run.start.0..run.end.0).try_for_each(|series| each(id(SeriesRef(series)), None))?,
                }
            }
        }
        Ok(())
    }

    /// Returns the error of a walk over the values of a block.
    fn either<E: From<Error>>(&self, position: usize, error: Either<E>) -> E {
        match error {
            Either::Caller(error) => error,
            Either::Block(error) => self.blocks.locate(position, error).into(),
        }
    }
}

/// Error of a walk over values.
enum Either<E> {
    Caller(E),
    Block(chronoxide_format::Error),
}

impl<E> From<chronoxide_format::Error> for Either<E> {
    fn from(error: chronoxide_format::Error) -> Self {
        Self::Block(error)
    }
}
