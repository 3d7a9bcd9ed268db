//! [`SeriesRows`]: selected series with their labels, one at a time.

use std::collections::VecDeque;
use std::ops::Range;
use std::vec;

use chronoxide_reader::{BlockId, SeriesRef, View};
use chronoxide_select::{JoinedSeries, Occurrence};

use crate::{Blocks, Error};

/// A label of a series. Names and values are parts of the open blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label<'b> {
    /// Name, such as `job`; `__name__` for the name of the metric.
    pub name: &'b str,
    /// Value, never empty.
    pub value: &'b str,
}

impl<'b> From<Label<'b>> for (&'b str, &'b str) {
    /// Returns the name and the value, as [`Blocks::find`] and [`BlockWriter::insert`](crate::BlockWriter::insert) take
    /// them.
    fn from(label: Label<'b>) -> Self {
        (label.name, label.value)
    }
}

/// A series of a block: the number by which an engine remembers it.
///
/// It stays valid as long as the block exists: a compaction makes other blocks with other ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesId {
    /// Id of the block.
    pub block: BlockId,
    /// Position of the series in the block: from 0 to the block's number of series, without gaps.
    pub series: u32,
}

/// Selected series that are still to be read.
pub(crate) enum Source {
    /// Ranges of refs of the block at a position.
    OneBlock(usize, VecDeque<Range<SeriesRef>>),
    Joined(vec::IntoIter<JoinedSeries>),
}

/// Selected series, read one by one into the same memory, like the rows of a database:
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
/// let blocks = chronoxide::Blocks::open(path)?;
/// let mut rows = blocks.query(r#"up{job="db"}"#)?.series()?;
/// while let Some(series) = rows.next()? {
///     for label in series.labels() {
///         println!("{}={}", label.name, label.value);
///     }
/// }
/// # Ok::<(), chronoxide::Error>(())
/// ```
///
/// It is not an iterator, since a series is valid until the next one is read. Labels may be kept: they borrow the
/// blocks.
pub struct SeriesRows<'b> {
    blocks: &'b Blocks,
    source: Source,
    /// Block of the last series, by its position.
    view: Option<(usize, View<'b>)>,
    labels: Vec<Label<'b>>,
    occurrences: Vec<Occurrence>,
}

impl std::fmt::Debug for SeriesRows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeriesRows").field("blocks", &self.blocks).finish_non_exhaustive()
    }
}

/// A series and its labels.
#[derive(Clone, Copy, Debug)]
pub struct Series<'r, 'b> {
    blocks: &'b Blocks,
    labels: &'r [Label<'b>],
    occurrences: &'r [Occurrence],
}

impl<'r, 'b> Series<'r, 'b> {
    /// Returns the labels, in the byte order of their names.
    #[must_use]
    pub fn labels(&self) -> &'r [Label<'b>] {
        self.labels
    }

    /// Returns the value of a label, or `None` if the series does not have it. Costs a binary search.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'b str> {
        let found = self.labels.binary_search_by_key(&name, |label| label.name).ok()?;
        self.labels.get(found).map(|label| label.value)
    }

    /// Returns the ids of the series, one per block that has it.
    pub fn ids(&self) -> impl Iterator<Item = SeriesId> + use<'r, 'b> {
        let blocks = self.blocks;
        self.occurrences.iter().filter_map(|&occurrence| blocks.id_of(occurrence))
    }
}

impl<'b> SeriesRows<'b> {
    pub(crate) fn new(blocks: &'b Blocks, source: Source) -> Self {
        Self { blocks, source, view: None, labels: Vec::new(), occurrences: Vec::new() }
    }

    /// Reads the next series, or returns `None` after the last. Allocates nothing once it has met the longest one.
    ///
    /// # Errors
    /// An error of kind `Corrupt` if the block is damaged where the series is. Later calls read the next series.
    #[expect(clippy::should_implement_trait, reason = "a series borrows the memory that all of them share")]
    pub fn next(&mut self) -> Result<Option<Series<'_, 'b>>, Error> {
        self.occurrences.clear();
        match &mut self.source {
            Source::OneBlock(block, ranges) => {
                let Some(range) = ranges.front_mut() else { return Ok(None) };
                self.occurrences.push(Occurrence { block: *block, series: range.start });
                range.start = SeriesRef(range.start.0 + 1);
                if range.is_empty() {
                    ranges.pop_front();
                }
            }
            Source::Joined(joined) => {
                let Some(joined) = joined.next() else { return Ok(None) };
                self.occurrences.extend_from_slice(joined.occurrences());
            }
        }
        let Some(&first) = self.occurrences.first() else { return Ok(None) };
        self.read(first)?;
        Ok(Some(Series { blocks: self.blocks, labels: &self.labels, occurrences: &self.occurrences }))
    }

    fn read(&mut self, Occurrence { block, series }: Occurrence) -> Result<(), Error> {
        self.labels.clear();
        let Some(opened) = self.blocks.set.blocks().get(block) else { return Ok(()) };
        let view = match &mut self.view {
            Some((known, view)) if *known == block => view,
            other => {
                opened.block().keep_paths();
                &mut other.insert((block, opened.block().view())).1
            }
        };
        let locate = |error| Error::from(opened.block().locate(error));
        let text = view.text().map_err(locate)?;
        let Some(series) = view.series(series).map_err(locate)? else { return Ok(()) };
        for label in text.labels(&series) {
            let label = label.map_err(locate)?;
            self.labels.push(Label { name: label.name, value: label.value });
        }
        Ok(())
    }
}

impl Blocks {
    fn id_of(&self, Occurrence { block, series }: Occurrence) -> Option<SeriesId> {
        Some(SeriesId { block: self.set.blocks().get(block)?.id(), series: series.0 })
    }

    /// Returns the labels of a series, in the byte order of their names, or `None` if no block of the snapshot has it.
    ///
    /// # Errors
    /// An error of kind `Corrupt` if the block is damaged where the series is.
    pub fn labels(&self, id: SeriesId) -> Result<Option<Vec<Label<'_>>>, Error> {
        let Some(block) = self.set.blocks().iter().position(|block| block.id() == id.block) else { return Ok(None) };
        let mut rows = SeriesRows::new(self, Source::Joined(Vec::new().into_iter()));
        rows.read(Occurrence { block, series: SeriesRef(id.series) })?;
        // A series has at least one label.
        Ok((!rows.labels.is_empty()).then_some(rows.labels))
    }

    /// Returns the ids of the series with exactly these labels, one per block that has it. Labels may come in any
    /// order, and those with an empty value are ignored.
    ///
    /// # Errors
    /// An error of kind `Usage` if two labels have one name, and of kind `Corrupt` for a damaged block.
    pub fn find<N: AsRef<str>, V: AsRef<str>>(
        &self,
        labels: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Vec<SeriesId>, Error> {
        let labels: Vec<(N, V)> = labels.into_iter().collect();
        let mut labels: Vec<(&str, &str)> =
            labels.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
        labels.sort_unstable();
        // Blocks would not notice if none of them has the name.
        if let Some([(name, _), _]) = labels.array_windows().find(|[left, right]| left.0 == right.0) {
            return Err(Error::new(crate::ErrorKind::Usage, format!("two labels are named {name:?}")));
        }
        let found = self
            .set
            .query()
            .find(&labels)
            .map_err(|source| Error::from(chronoxide_reader::FileError { path: None, source }))?;
        Ok(crate::query::whole(found)?.into_iter().filter_map(|found| self.id_of(found)).collect())
    }
}
