//! [`Meta`]: counts, times, origin and annotations of a block (spec, section 10).

use std::fmt;
use std::iter::FusedIterator;

use zerocopy::FromBytes;

use crate::error::{Place, corrupt, corrupt_at};
use crate::identity::BlockId;
use crate::layout::{MetaHeader, PairHeader, RowForm, TIME_KNOWN, WINDOW_KNOWN};
use crate::number::{index, length};
use crate::policy::LabelPolicy;
use crate::{Result, Rule};

/// A half-open range of times, in nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeRange {
    /// The first time of the range.
    pub start: i64,
    /// The first time after the range.
    pub end: i64,
}

/// The compaction job that wrote a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// Id of the job, derived from its inputs and options.
    pub id: [u8; 16],
    /// Number of this output in the job, from 0.
    pub output: u32,
    /// Number of outputs of the job.
    pub output_count: u32,
}

/// The meta section of a block.
#[derive(Clone, Copy)]
pub struct Meta<'a> {
    header: &'a MetaHeader,
    rest: &'a [u8],
}

impl fmt::Debug for Meta<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meta").field("series_count", &self.series_count()).finish_non_exhaustive()
    }
}

impl<'a> Meta<'a> {
    pub(crate) fn parse(section: &'a [u8]) -> Result<Self> {
        let (header, rest) = MetaHeader::ref_from_prefix(section).map_err(|_| {
            corrupt(Rule::MetaLength, Place::Byte(0), length(section.len()), length(size_of::<MetaHeader>()))
        })?;
        Ok(Self { header, rest })
    }

    pub(crate) const fn header(&self) -> &'a MetaHeader {
        self.header
    }

    /// Returns the number of series.
    #[must_use]
    pub const fn series_count(&self) -> u64 {
        self.header.series_count.get()
    }

    /// Returns the number of labels of all series together.
    #[must_use]
    pub const fn label_count(&self) -> u64 {
        self.header.label_count.get()
    }

    /// Returns the stored fingerprint of the block's content.
    #[must_use]
    pub const fn fingerprint(&self) -> [u64; 2] {
        [self.header.fingerprint_1.get(), self.header.fingerprint_2.get()]
    }

    /// Returns the time range of the data, or `None` if it is unknown.
    #[must_use]
    pub fn time(&self) -> Option<TimeRange> {
        let header = self.header;
        (header.flags & TIME_KNOWN != 0)
            .then(|| TimeRange { start: header.time_start.get(), end: header.time_end.get() })
    }

    /// Returns the window that the block was cut for, or `None` if there was none.
    #[must_use]
    pub fn window(&self) -> Option<TimeRange> {
        let header = self.header;
        (header.flags & WINDOW_KNOWN != 0)
            .then(|| TimeRange { start: header.window_start.get(), end: header.window_end.get() })
    }

    /// Returns the job that wrote the block, or `None` if no job did.
    #[must_use]
    pub fn job(&self) -> Option<Job> {
        let header = self.header;
        let output_count = header.job_output_count.get();
        (output_count > 0).then(|| Job { id: header.job_id, output: header.job_output.get(), output_count })
    }

    /// Returns the length limits of labels; [`LabelPolicy::NONE`] if the stored limits are invalid.
    #[must_use]
    pub fn policy(&self) -> LabelPolicy {
        LabelPolicy::new(self.header.max_name_len.get(), self.header.max_value_len.get()).unwrap_or(LabelPolicy::NONE)
    }

    /// Returns the version of the planner that chose the tables; 0 if no planner did.
    #[must_use]
    pub const fn planner_version(&self) -> u32 {
        self.header.planner_version.get()
    }

    /// Returns the form of rows, or `None` if it is unknown.
    #[must_use]
    pub const fn row_form(&self) -> Option<RowForm> {
        RowForm::from_code(self.header.row_form)
    }

    /// Returns the number of the form of rows.
    #[must_use]
    pub const fn row_form_code(&self) -> u8 {
        self.header.row_form
    }

    /// Returns the ids of the blocks that this one was merged from.
    ///
    /// # Errors
    /// `Corrupt` if the section is too short for them.
    pub fn parents(&self) -> Result<impl ExactSizeIterator<Item = BlockId> + use<'a>> {
        Ok(self.origins()?.0.iter().copied().map(BlockId))
    }

    /// Returns the ids of the parents' origins that may still exist.
    ///
    /// # Errors
    /// `Corrupt` if the section is too short for them.
    pub fn ancestors(&self) -> Result<impl ExactSizeIterator<Item = BlockId> + use<'a>> {
        Ok(self.origins()?.1.iter().copied().map(BlockId))
    }

    #[expect(clippy::type_complexity, reason = "parents, ancestors and what follows")]
    fn origins(&self) -> Result<(&'a [[u8; 16]], &'a [[u8; 16]], &'a [u8])> {
        let counts = (self.header.parent_count.get(), self.header.ancestor_count.get());
        let short = |count: u32| {
            corrupt(
                Rule::MetaLength,
                Place::Byte(length(size_of::<MetaHeader>())),
                length(self.rest.len()),
                u64::from(count) * 16,
            )
        };
        let (parents, rest) =
            <[[u8; 16]]>::ref_from_prefix_with_elems(self.rest, index(counts.0)).map_err(|_| short(counts.0))?;
        let (ancestors, rest) =
            <[[u8; 16]]>::ref_from_prefix_with_elems(rest, index(counts.1)).map_err(|_| short(counts.1))?;
        Ok((parents, ancestors, rest))
    }

    /// Returns the external labels: labels of the whole block, which its series do not have.
    ///
    /// # Errors
    /// `Corrupt` if the section is too short for its origins.
    pub fn external_labels(&self) -> Result<Pairs<'a>> {
        Ok(Pairs { rest: self.origins()?.2, left: self.header.external_label_count.get() })
    }

    /// Returns the annotations: keys and values from users, and from programs under keys that begin with `chronoxide.`.
    ///
    /// # Errors
    /// `Corrupt` if the section is too short for its origins and external labels.
    pub fn annotations(&self) -> Result<Pairs<'a>> {
        let mut external = self.external_labels()?;
        external.by_ref().try_for_each(|pair| pair.map(|_| ()))?;
        Ok(Pairs { rest: external.rest, left: self.header.annotation_count.get() })
    }
}

/// Iterator over pairs of text in the meta section. After an error it ends.
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> Pairs<'a> {
    /// Returns the bytes after the pairs that were taken.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn take(&mut self) -> Option<Result<(&'a str, &'a str)>> {
        let (header, rest) = PairHeader::ref_from_prefix(self.rest).ok()?;
        let (key, rest) = rest.split_at_checked(header.key_len.get().into())?;
        let (value, rest) = rest.split_at_checked(header.value_len.get().into())?;
        self.rest = rest;
        self.left -= 1;
        Some(match (std::str::from_utf8(key), std::str::from_utf8(value)) {
            (Ok(key), Ok(value)) => Ok((key, value)),
            _ => Err(corrupt_at(Rule::MetaPairs, Place::Byte(0))),
        })
    }
}

impl FusedIterator for Pairs<'_> {}

impl<'a> Iterator for Pairs<'a> {
    type Item = Result<(&'a str, &'a str)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let left = self.left;
        let pair = self
            .take()
            .unwrap_or_else(|| Err(corrupt(Rule::MetaLength, Place::Byte(0), length(self.rest.len()), left.into())));
        if pair.is_err() {
            self.left = 0;
        }
        Some(pair)
    }
}
