//! [`SeriesRows`]: selected series with their labels, one at a time.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::vec;

use chronoxide_format::identity::{Fingerprint, LabelHasher};
use chronoxide_reader::{BlockId, FileError, SeriesRef, TextResolver};
use chronoxide_select::{JoinedSeries, LabelOrder, Limits, Occurrence, Selection};

use crate::distinct::Distinct;
use crate::{AsLabel, Blocks, Damage, Error, ErrorKind, Label};

/// Steps between two looks at the limits.
const STEPS_PER_CHECK: u32 = 256;

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

/// Reads the labels of series by their ids, and keeps what neighbours share: read series in the order of their ids.
///
/// A reader borrows the blocks; for a struct that lives on, there is [`OwnedReader`](crate::OwnedReader).
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
/// let blocks = chronoxide::Blocks::open(path)?;
/// let ids = blocks.find([("__name__", "up"), ("job", "db"), ("pod", "db-1")])?;
/// let mut reader = blocks.reader();
/// for id in ids {
///     assert_eq!(reader.labels(id)?.expect("found")[1].value, "db");
/// }
/// # Ok::<(), chronoxide::Error>(())
/// ```
pub struct LabelReader<'b> {
    blocks: &'b Blocks,
    current: Option<Current<'b>>,
}

/// The block of the last series.
struct Current<'b> {
    block: usize,
    id: BlockId,
    resolver: Box<TextResolver<'b, 'b>>,
}

impl fmt::Debug for LabelReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabelReader").field("blocks", &self.blocks).finish_non_exhaustive()
    }
}

impl<'b> LabelReader<'b> {
    fn new(blocks: &'b Blocks) -> Self {
        Self { blocks, current: None }
    }

    /// Returns the labels of a series, in the byte order of their names, or `None` if no block of the snapshot has it.
    /// Allocates 40 KiB when the block is another than the last one's, and else nothing.
    ///
    /// # Errors
    /// An error of kind `Corrupt` if the block is damaged where the series is, or anywhere in its strings: they are
    /// checked together.
    pub fn labels(&mut self, id: SeriesId) -> Result<Option<&[Label<'b>]>, Error> {
        let block = match &self.current {
            Some(current) if current.id == id.block => current.block,
            _ => match self.blocks.position(id) {
                Some(block) => block,
                None => return Ok(None),
            },
        };
        self.read(Occurrence { block, series: SeriesRef(id.series) })
    }

    /// Returns the labels that were read last.
    #[inline]
    pub(crate) fn last(&self) -> &[Label<'b>] {
        self.current.as_ref().map(|current| current.resolver.last()).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn read(&mut self, Occurrence { block, series }: Occurrence) -> Result<Option<&[Label<'b>]>, Error> {
        if self.current.as_ref().is_none_or(|current| current.block != block) {
            self.enter(block)?;
        }
        let blocks = self.blocks;
        let Some(current) = &mut self.current else { return Ok(None) };
        current.resolver.labels(series).map_err(|error| blocks.locate(block, error))
    }

    /// Goes to another block.
    #[cold]
    fn enter(&mut self, block: usize) -> Result<(), Error> {
        self.current = None;
        let Some(opened) = self.blocks.set.blocks().get(block) else { return Ok(()) };
        let resolver = opened.open().view().text_resolver().map_err(|error| self.blocks.locate(block, error))?;
        self.current = Some(Current { block, id: opened.id(), resolver: Box::new(resolver) });
        Ok(())
    }
}

/// Selected series that are still to be read.
pub(crate) enum Source<'b> {
    Blocks(Runs),
    /// Joined series, and the number of the next one.
    Joined(JoinedSeries, usize),
    Distinct(Box<Distinct<'b>>),
    Sorted(Merge<'b>),
}

impl Source<'_> {
    /// Leaves out the rest of a damaged block.
    fn leave_out(&mut self, block: usize) {
        match self {
            Self::Blocks(runs) => runs.leave_out(block),
            Self::Distinct(distinct) => distinct.leave_out(block),
            Self::Sorted(merge) => merge.unread.retain(|other| other.next.block != block),
            // The other blocks have ids of their own.
            Self::Joined(..) => {}
        }
    }
}

/// Runs of neighbouring series, of the blocks at some positions.
#[derive(Default)]
pub(crate) struct Runs {
    block: usize,
    /// Rest of the current run.
    run: Range<u32>,
    /// Further runs of the block.
    runs: vec::IntoIter<Range<SeriesRef>>,
    blocks: VecDeque<(usize, Vec<Range<SeriesRef>>)>,
}

impl Runs {
    pub(crate) fn new(blocks: impl IntoIterator<Item = (usize, Vec<Range<SeriesRef>>)>) -> Self {
        Self { blocks: blocks.into_iter().collect(), ..Self::default() }
    }

    #[inline]
    fn next(&mut self) -> Option<Occurrence> {
        loop {
            if let Some(series) = self.run.next() {
                return Some(Occurrence { block: self.block, series: SeriesRef(series) });
            }
            match self.runs.next() {
                Some(run) => self.run = run.start.0..run.end.0,
                None => {
                    let (block, runs) = self.blocks.pop_front()?;
                    (self.block, self.runs) = (block, runs.into_iter());
                }
            }
        }
    }

    /// Leaves out the rest of a block.
    fn leave_out(&mut self, block: usize) {
        if self.block == block {
            (self.run, self.runs) = (0..0, Vec::new().into_iter());
        }
        self.blocks.retain(|(position, _)| *position != block);
    }
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
    source: Source<'b>,
    limits: Limits<'b>,
    /// Errors of blocks that are left out, if damaged ones are.
    damaged: Option<Damage>,
    /// Number of steps.
    steps: u32,
    reader: LabelReader<'b>,
    /// Labels of the last series of a merge.
    merged: Vec<Label<'b>>,
    occurrences: Vec<Occurrence>,
}

impl fmt::Debug for SeriesRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeriesRows").field("blocks", &self.reader.blocks).finish_non_exhaustive()
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

    /// Returns the snapshot that the series is of.
    pub(crate) fn blocks(&self) -> &'b Blocks {
        self.blocks
    }

    /// Returns the places of the series, one per block that has it.
    pub(crate) fn occurrences(&self) -> &'r [Occurrence] {
        self.occurrences
    }

    /// Returns the fingerprint of the labels: 16 bytes that are the same in every block, on every machine, so that they
    /// join what files know of a series. Costs a hash of each name and value. Two labelsets can be constructed to
    /// collide: compare labels where that matters. For many series, see [`Selection::fingerprints`].
    ///
    /// [`Selection::fingerprints`]: crate::Selection::fingerprints
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 16] {
        let label = |label: &Label<'_>| LabelHasher::new(label.name.as_bytes()).label(label.value.as_bytes());
        self.labels.iter().map(label).fold(Fingerprint::ONE, |product, label| product * label).to_bytes()
    }

    /// Returns the ids of the series, one per block that has it.
    pub fn ids(&self) -> impl Iterator<Item = SeriesId> + use<'r, 'b> {
        let blocks = self.blocks;
        self.occurrences.iter().filter_map(|&occurrence| blocks.id_of(occurrence))
    }
}

impl<'b> SeriesRows<'b> {
    pub(crate) fn new(blocks: &'b Blocks, source: Source<'b>) -> Self {
        let (reader, limits) = (blocks.reader(), Limits::default());
        Self { source, limits, damaged: None, steps: 0, reader, merged: Vec::new(), occurrences: Vec::new() }
    }

    /// Returns the series of each block at some refs, by the position of the block.
    pub(crate) fn block_by_block(blocks: &'b Blocks, refs: &[Selection]) -> Self {
        let runs = refs.iter().map(|refs| refs.ranges().collect()).enumerate();
        Self::new(blocks, Source::Blocks(Runs::new(runs)))
    }

    /// Leaves out the rest of a block where damage is met, and adds the error to `damage`: as
    /// [`Query::skip_damaged`](crate::Query::skip_damaged) does for the rows of a query.
    #[must_use]
    pub fn skip_damaged(mut self, damage: &Damage) -> Self {
        self.leave_out_damaged(damage);
        self
    }

    pub(crate) fn leave_out_damaged(&mut self, damage: &Damage) {
        self.damaged = Some(damage.clone());
    }

    /// Sets the limits of reading, and the list of the errors of damaged blocks if these are left out.
    pub(crate) fn within(self, limits: Limits<'b>, damaged: Option<Damage>) -> Self {
        Self { limits, damaged, ..self }
    }

    /// Reads the next series, or returns `None` after the last. Allocates nothing once it has met the longest one.
    ///
    /// # Errors
    /// An error of kind `Corrupt` if the block is damaged where the series is: the next call reads the next series.
    /// None if damaged blocks are [skipped](crate::Query::skip_damaged): the rest of the block is left out then. Errors
    /// of the time limit and of cancellation, which end the rows.
    #[expect(clippy::should_implement_trait, reason = "a series borrows the memory that all of them share")]
    pub fn next(&mut self) -> Result<Option<Series<'_, 'b>>, Error> {
        self.advance()?;
        Ok(self.current())
    }

    /// Goes to the next series, and reads its labels.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<(), Error> {
        while self.step()? {
            if matches!(self.source, Source::Sorted(_)) || self.read()? && !self.is_known()? {
                break;
            }
        }
        Ok(())
    }

    /// Returns the series that was read last.
    #[inline]
    pub(crate) fn current(&self) -> Option<Series<'_, 'b>> {
        let labels = match self.source {
            _ if self.occurrences.is_empty() => return None,
            Source::Sorted(_) => self.merged.as_slice(),
            _ => self.reader.last(),
        };
        Some(Series { blocks: self.reader.blocks, labels, occurrences: &self.occurrences })
    }

    /// Reads the labels of the series. Returns false if it is left out.
    #[inline]
    fn read(&mut self) -> Result<bool, Error> {
        match self.occurrences.first() {
            None => Ok(false),
            Some(&first) => match self.reader.read(first) {
                Ok(_) => Ok(true),
                Err(error) => self.read_elsewhere(first, error),
            },
        }
    }

    /// Reads the labels from the first block that can be read: the others have the same labels.
    #[cold]
    fn read_elsewhere(&mut self, mut first: Occurrence, mut error: Error) -> Result<bool, Error> {
        let mut damage = Ok(());
        loop {
            self.occurrences.remove(0);
            damage = damage.and(self.leave_out(first.block, error));
            let Some(&next) = self.occurrences.first() else { return damage.map(|()| false) };
            match self.reader.read(next) {
                Ok(_) => return damage.map(|()| true),
                Err(also) => (first, error) = (next, also),
            }
        }
    }

    /// Returns true if an earlier block has the series, and gave it already.
    #[inline]
    fn is_known(&mut self) -> Result<bool, Error> {
        let Source::Distinct(distinct) = &mut self.source else { return Ok(false) };
        loop {
            match distinct.is_known(self.reader.last()) {
                Ok(is_known) => return Ok(is_known),
                Err((error, block)) => {
                    note(self.damaged.as_ref(), error)?;
                    distinct.leave_out(block);
                }
            }
        }
    }

    /// Goes to the next series, and returns its ids, one per block that has it: for callers that need no labels. Saves
    /// reading them in the order of blocks and refs; the order of labels, and distinct series, need them anyway.
    ///
    /// # Errors
    /// As [`SeriesRows::next`].
    pub fn next_ids(&mut self) -> Result<Option<impl Iterator<Item = SeriesId>>, Error> {
        self.advance_ids()?;
        Ok(self.current_ids())
    }

    /// Goes to the next series.
    #[inline]
    pub(crate) fn advance_ids(&mut self) -> Result<(), Error> {
        match self.source {
            // Only its labels tell whether an earlier block has it.
            Source::Distinct(_) => self.advance(),
            _ => self.step().map(drop),
        }
    }

    /// Returns the ids of the current series.
    #[inline]
    pub(crate) fn current_ids(&self) -> Option<impl Iterator<Item = SeriesId>> {
        let series = Series { blocks: self.reader.blocks, labels: &[], occurrences: &self.occurrences };
        (!self.occurrences.is_empty()).then(|| series.ids())
    }

    /// Leaves out the rest of a damaged block, if that was asked for, and else returns the error.
    fn leave_out(&mut self, block: usize, error: Error) -> Result<(), Error> {
        note(self.damaged.as_ref(), error)?;
        self.source.leave_out(block);
        Ok(())
    }

    /// Finds the next series. Returns false after the last.
    #[inline]
    fn step(&mut self) -> Result<bool, Error> {
        self.occurrences.clear();
        if self.steps.is_multiple_of(STEPS_PER_CHECK) {
            self.limits.check().map_err(|error| self.end(error.into()))?;
        }
        self.steps = self.steps.wrapping_add(1);
        loop {
            let met = match &mut self.source {
                Source::Blocks(runs) => {
                    self.occurrences.extend(runs.next());
                    break;
                }
                Source::Joined(joined, next) => {
                    self.occurrences.extend_from_slice(joined.get(*next));
                    *next += 1;
                    break;
                }
                Source::Distinct(distinct) => distinct.next().map(|found| self.occurrences.extend(found)),
                Source::Sorted(merge) => merge.next(&mut self.merged, &mut self.occurrences),
            };
            let Err((error, block)) = met else { break };
            match error.kind() {
                ErrorKind::Corrupt => self.leave_out(block, error)?,
                _ => return Err(self.end(error)),
            }
        }
        Ok(!self.occurrences.is_empty())
    }

    /// Ends the rows, and returns the error.
    fn end(&mut self, error: Error) -> Error {
        (self.source, self.limits) = (Source::Blocks(Runs::default()), Limits::default());
        error
    }
}

/// Notes the error of a damaged block that is left out, or returns it.
pub(crate) fn note(damaged: Option<&Damage>, error: Error) -> Result<(), Error> {
    match damaged {
        Some(damaged) if error.kind() == ErrorKind::Corrupt => {
            damaged.note([error]);
            Ok(())
        }
        _ => Err(error),
    }
}

/// Merges the sorted series of blocks.
pub(crate) struct Merge<'b> {
    /// Blocks by their next series; the first in order is on top.
    next: BinaryHeap<Box<Sorted<'b>>>,
    /// Blocks whose next series is still to be read.
    #[expect(clippy::vec_box, reason = "they go to the heap and come back with each series")]
    unread: Vec<Box<Sorted<'b>>>,
}

/// The sorted series of a block, and the next one.
pub(crate) struct Sorted<'b> {
    order: LabelOrder<'b, 'b>,
    reader: LabelReader<'b>,
    next: Occurrence,
    labels: Vec<Label<'b>>,
}

impl<'b> Sorted<'b> {
    pub(crate) fn new(blocks: &'b Blocks, block: usize, order: LabelOrder<'b, 'b>) -> Self {
        let next = Occurrence { block, series: SeriesRef(0) };
        Self { order, reader: blocks.reader(), next, labels: Vec::new() }
    }

    /// Reads the next series. Returns false after the last.
    fn advance(&mut self) -> Result<bool, Error> {
        let Some(series) = self.order.next() else { return Ok(false) };
        self.next.series = series.map_err(|error| self.reader.blocks.locate(self.next.block, error))?;
        self.labels.clear();
        self.labels.extend_from_slice(self.reader.read(self.next)?.unwrap_or_default());
        Ok(true)
    }

    fn key(&self) -> (&[Label<'b>], usize) {
        (&self.labels, self.next.block)
    }
}

impl Ord for Sorted<'_> {
    /// The first in the order of labels is the greatest, since a heap gives that one first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Sorted<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Sorted<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Sorted<'_> {}

impl<'b> Merge<'b> {
    pub(crate) fn new(blocks: impl IntoIterator<Item = Sorted<'b>>) -> Self {
        let unread: Vec<_> = blocks.into_iter().map(Box::new).collect();
        Self { next: BinaryHeap::with_capacity(unread.len()), unread }
    }

    /// Takes the next series: its labels, and its place in each block that has it. Adds no place after the last. An
    /// error comes with its block.
    fn next(&mut self, labels: &mut Vec<Label<'b>>, occurrences: &mut Vec<Occurrence>) -> Result<(), (Error, usize)> {
        while let Some(mut block) = self.unread.pop() {
            match block.advance() {
                Ok(true) => self.next.push(block),
                Ok(false) => {}
                Err(error) => {
                    let position = block.next.block;
                    self.unread.push(block);
                    return Err((error, position));
                }
            }
        }
        labels.clear();
        while let Some(block) = self.next.peek()
            && (occurrences.is_empty() || block.labels == *labels)
            && let Some(mut block) = self.next.pop()
        {
            if occurrences.is_empty() {
                std::mem::swap(labels, &mut block.labels);
            }
            occurrences.push(block.next);
            self.unread.push(block);
        }
        Ok(())
    }
}

/// Returns labels in the order of their names, without those that have an empty value.
pub(crate) fn sorted<L: AsLabel>(labels: &[L]) -> Result<Vec<(&str, &str)>, Error> {
    let mut labels: Vec<(&str, &str)> = labels.iter().map(|label| (label.name(), label.value())).collect();
    labels.retain(|(_, value)| !value.is_empty());
    labels.sort_unstable();
    // Blocks would not notice if none of them has the name.
    match labels.array_windows().find(|[left, right]| left.0 == right.0) {
        Some([(name, _), _]) => Err(Error::new(ErrorKind::Usage, format!("two labels are named {name:?}"))),
        None => Ok(labels),
    }
}

impl Blocks {
    fn id_of(&self, Occurrence { block, series }: Occurrence) -> Option<SeriesId> {
        Some(SeriesId { block: self.set.blocks().get(block)?.id(), series: series.0 })
    }

    /// Adds the path of a block to one of its errors.
    #[cold]
    pub(crate) fn locate<E>(&self, block: usize, error: E) -> Error
    where
        Error: From<FileError<E>>,
    {
        let path = self.set.blocks().get(block).and_then(|block| block.block().path());
        FileError { path: path.map(Path::to_owned), source: error }.into()
    }

    /// Returns the position of the block of a series.
    pub(crate) fn position(&self, id: SeriesId) -> Option<usize> {
        self.set.blocks().binary_search_by_key(&id.block, |block| block.id()).ok()
    }

    /// Returns a reader of the labels of many series.
    #[must_use]
    pub fn reader(&self) -> LabelReader<'_> {
        LabelReader::new(self)
    }

    /// Returns the labels of a series, in the byte order of their names, or `None` if no block of the snapshot has it.
    /// For many series, a [reader](Self::reader) is faster.
    ///
    /// # Errors
    /// An error of kind `Corrupt` if the block is damaged where the series is.
    pub fn labels(&self, id: SeriesId) -> Result<Option<Vec<Label<'_>>>, Error> {
        Ok(self.reader().labels(id)?.map(<[Label<'_>]>::to_vec))
    }

    /// Returns the ids of the series with exactly these labels, one per block that has it. Labels may come in any
    /// order, and those with an empty value are ignored.
    ///
    /// # Errors
    /// An error of kind `Usage` if two labels have one name, and of kind `Corrupt` for a damaged block.
    pub fn find(&self, labels: impl IntoIterator<Item: AsLabel>) -> Result<Vec<SeriesId>, Error> {
        let labels: Vec<_> = labels.into_iter().collect();
        let labels = sorted(&labels)?;
        let found = self.set.query().find(&labels).map_err(|source| Error::from(FileError { path: None, source }))?;
        match found.failed.into_iter().next() {
            Some(error) => Err(error.into()),
            None => Ok(found.found.into_iter().filter_map(|found| self.id_of(found)).collect()),
        }
    }
}
