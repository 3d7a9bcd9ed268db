//! The rows of keysets merged: cut into pieces that have nothing to do with one another.

use std::ops::Range;

use chronoxide_format::Result;
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::{Domain, Keyset, Table};
use chronoxide_planner::{KeysetPlan, Part};

use super::filter::{Fate, Filter, Mask};
use super::lists::{MergedLists, MergedPool, Overlap};
use super::plans::{KeysetSource, MergedKeyset};
use super::rows::{Run, product, unite};
use super::tables::MergedTables;
use super::translate::{Context, Translated, Translation};
use super::vocabulary::Vocabulary;
use crate::CompactError;

/// Rows of all sources in a piece, about, at most.
const PIECE_ROWS: usize = SAMPLED_ROWS * SAMPLES_A_PIECE;
/// One of so many rows of each source is looked at to find where to cut.
const SAMPLED_ROWS: usize = 1 << 11;
const SAMPLES_A_PIECE: usize = 8;

/// All that is needed to merge rows.
pub(crate) struct Merging<'a> {
    pub context: Context<'a>,
    pub keysets: &'a [MergedKeyset],
    pub tables: &'a MergedTables,
    pub lists: &'a MergedLists<'a>,
    pub filter: &'a Filter,
    /// For the rows of each shared table, the selectors that they do not rule out.
    pub of_tables: &'a [Vec<Mask>],
}

/// A keyset whose sources can be cut.
pub(crate) struct OpenKeyset<'a> {
    /// Its number among those that are merged.
    pub number: usize,
    pub keys: &'a [u32],
    pub choice: &'a KeysetPlan,
    pool: Option<&'a MergedPool<'a>>,
    sources: Vec<SortedSource<'a>>,
    /// What became of sources that were translated as a whole.
    pub translated: Tally,
}

/// What was counted on the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    /// Series that others of the inputs were equal to.
    pub duplicates: Overlap,
    /// Series that selectors dropped.
    pub dropped: Overlap,
    /// Series of other shards.
    pub elsewhere: Overlap,
    /// Fingerprints of series before and after their labels were rewritten.
    pub rewritten: (Fingerprint, Fingerprint),
}

impl Tally {
    pub(crate) const NONE: Self = Self {
        duplicates: Overlap::NONE,
        dropped: Overlap::NONE,
        elsewhere: Overlap::NONE,
        rewritten: (Fingerprint::ZERO, Fingerprint::ZERO),
    };

    /// Counts series that are left out.
    pub(crate) fn leave_out(&mut self, fate: Fate, series: Overlap) {
        match fate {
            Fate::Kept => {}
            Fate::Dropped => self.dropped = self.dropped.and(series),
            Fate::Elsewhere => self.elsewhere = self.elsewhere.and(series),
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            duplicates: self.duplicates.and(other.duplicates),
            dropped: self.dropped.and(other.dropped),
            elsewhere: self.elsewhere.and(other.elsewhere),
            rewritten: (self.rewritten.0 + other.rewritten.0, self.rewritten.1 + other.rewritten.1),
        }
    }
}

/// Rows of one input, in order.
pub(crate) enum SortedSource<'a> {
    /// As they are stored: what becomes of the codes of each column.
    Stored {
        input: usize,
        table: Table<'a, 'a>,
        codes: Vec<&'a [u32]>,
    },
    Translated {
        run: Run,
    },
}

/// A part of a keyset: of each source, these rows.
pub(crate) struct Piece {
    pub rows: Vec<Range<usize>>,
}

impl Piece {
    fn between(from: &[usize], to: &[usize]) -> Self {
        Self { rows: from.iter().zip(to).map(|(&from, &to)| from..to).collect() }
    }

    /// Rows of all sources.
    pub(crate) fn len(&self) -> usize {
        self.rows.iter().map(Range::len).sum()
    }
}

/// Merged rows.
pub(crate) struct MergedRows {
    pub run: Run,
    pub tally: Tally,
}

impl<'a> Merging<'a> {
    /// Opens the sources of a keyset, and translates those that are factored otherwise.
    pub(crate) fn open(
        &'a self,
        number: usize,
        keyset: &'a MergedKeyset,
    ) -> std::result::Result<OpenKeyset<'a>, CompactError> {
        let choice = &self.context.plan.keysets[number];
        let mut open = OpenKeyset {
            number,
            keys: &keyset.keys,
            choice,
            pool: choice.list.map(|part| self.lists.pool(part)),
            sources: Vec::with_capacity(keyset.sources.len()),
            translated: Tally::NONE,
        };
        for source in &keyset.sources {
            let opened = self.open_source(&mut open, source);
            opened.map_err(|error| CompactError::Input { input: source.input, source: error })?;
        }
        Ok(open)
    }

    fn open_source(&'a self, open: &mut OpenKeyset<'a>, source: &'a KeysetSource) -> Result<()> {
        if source.agrees {
            open.sources.push(self.open_stored(source)?);
            return Ok(());
        }
        let translation = Translation::new(self.context, source, open.choice, Some(self.tables))?;
        let fingerprints = self.part_fingerprints(open.choice);
        let Translated { run, tally } = translation.run(self.tables, self.filter, open.pool, &fingerprints)?;
        open.translated = open.translated.and(tally);
        if run.len() > 0 {
            open.sources.push(SortedSource::Translated { run });
        }
        Ok(())
    }

    /// A source whose rows stay what they are.
    pub(crate) fn open_stored(&'a self, source: &KeysetSource) -> Result<SortedSource<'a>> {
        let keyset: Keyset<'a, 'a> =
            self.context.inputs[source.input].keyset(source.keyset)?.expect("a keyset of the input");
        let table = keyset.table();
        let codes = table.columns().map(|column| {
            Ok(match column?.domain {
                Domain::Table(behind) => self.tables.codes(self.context.vocabulary, source.input, behind),
                Domain::Pool(pool) => self.lists.codes(source.input, pool),
                Domain::Arena => &[],
            })
        });
        Ok(SortedSource::Stored { input: source.input, table, codes: codes.collect::<Result<_>>()? })
    }

    /// The fingerprints of the rows of each column, that of lists included.
    pub(crate) fn part_fingerprints(&self, choice: &KeysetPlan) -> Vec<&'a [Fingerprint]> {
        let parts = choice.prefix.iter().chain(&choice.list);
        parts.map(|&part| self.tables.fingerprints(self.context.vocabulary, part)).collect()
    }

    /// Merges a piece: reads the rows of each source, leaves out what selectors drop, and unites them.
    pub(crate) fn merge(
        &self,
        keyset: &OpenKeyset<'a>,
        piece: &Piece,
    ) -> std::result::Result<MergedRows, CompactError> {
        let mut tally = Tally::NONE;
        let mut runs = Vec::with_capacity(piece.rows.len());
        for (source, rows) in keyset.sources.iter().zip(&piece.rows) {
            if rows.is_empty() {
                continue;
            }
            let run = match source {
                SortedSource::Stored { input, .. } => {
                    let run =
                        source.stored(rows.clone()).map_err(|source| CompactError::Input { input: *input, source })?;
                    if self.filter.keeps_all() { run } else { self.filtered(keyset, run, &mut tally) }
                }
                SortedSource::Translated { run } => Run {
                    width: run.width,
                    codes: run.codes[rows.start * run.width..rows.end * run.width].to_vec(),
                    overlaps: run.overlaps[rows.clone()].to_vec(),
                },
            };
            if run.len() > 0 {
                runs.push(run);
            }
        }
        Ok(MergedRows { run: unite(runs, keyset.pool), tally })
    }

    /// The rows of a run whose series are kept; of those of which some are, the lists of these.
    fn filtered(&self, keyset: &OpenKeyset<'_>, run: Run, tally: &mut Tally) -> Run {
        let possible = self.filter.of_keys(keyset.keys);
        let fingerprints = self.part_fingerprints(keyset.choice);
        let mut kept = Run { width: run.width, ..Run::default() };
        for row in run.rows() {
            let mask = possible & self.filter.of_parts(self.of_tables, &keyset.choice.prefix, row);
            let product = || product(&fingerprints, &row[..keyset.choice.prefix.len()]);
            let Some((part, pool)) = keyset.choice.list.zip(keyset.pool) else {
                match self.filter.fate(mask) {
                    Fate::Kept => {
                        kept.codes.extend_from_slice(row);
                        kept.overlaps.push(Overlap::NONE);
                    }
                    fate => tally.leave_out(fate, Overlap { series: 1, sum: product() }),
                }
                continue;
            };
            let list = row[row.len() - 1];
            let members = pool.read().list(list).to_vec();
            let (mut left, mut left_out) = (Vec::new(), Tally::NONE);
            for &member in &members {
                match self.filter.fate(mask & self.filter.of_part(self.of_tables, part, member)) {
                    Fate::Kept => left.push(member),
                    fate => {
                        let sum = fingerprints[row.len() - 1][member as usize];
                        left_out.leave_out(fate, Overlap { series: 1, sum });
                    }
                }
            }
            if left.len() < members.len() {
                let product = product();
                for (fate, of_fate) in [(Fate::Dropped, left_out.dropped), (Fate::Elsewhere, left_out.elsewhere)] {
                    tally.leave_out(fate, Overlap { series: of_fate.series, sum: product * of_fate.sum });
                }
            }
            if !left.is_empty() {
                kept.codes.extend_from_slice(&row[..row.len() - 1]);
                kept.codes.push(if left.len() == members.len() { list } else { pool.intern(&left) });
                kept.overlaps.push(Overlap::NONE);
            }
        }
        kept
    }

    /// What all lists of a keyset are lists of, and their pool.
    pub(crate) fn pool(&self, choice: &KeysetPlan) -> Option<(Part, &'a MergedPool<'a>)> {
        choice.list.map(|part| (part, self.lists.pool(part)))
    }

    /// How many codes each column may have; of lists, nobody knows.
    pub(crate) fn counts(&self, choice: &KeysetPlan) -> Vec<usize> {
        self.part_fingerprints(choice).iter().map(|rows| rows.len()).collect()
    }

    /// The keys of a keyset, by their numbers in the vocabulary.
    pub(crate) fn keys(&self, keyset: usize) -> &'a [u32] {
        &self.keysets[keyset].keys
    }

    /// The vocabulary of all that is merged.
    pub(crate) fn vocabulary(&self) -> &'a Vocabulary<'a> {
        self.context.vocabulary
    }
}

impl SortedSource<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Stored { table, .. } => table.row_count() as usize,
            Self::Translated { run } => run.len(),
        }
    }

    /// Rows as they are stored, in the codes of the outputs.
    pub(crate) fn stored(&self, rows: Range<usize>) -> Result<Run> {
        let Self::Stored { table, codes, .. } = self else { return Ok(Run::default()) };
        let mut read = Vec::with_capacity(rows.len() * codes.len());
        table.push_other_codes(rows.start as u32..rows.end as u32, codes, &mut read)?;
        Ok(Run::new(codes.len(), read))
    }

    /// What a row is compared by.
    fn row(&self, number: usize, compared: usize) -> Result<Vec<u32>> {
        let mut row = match self {
            Self::Stored { .. } => self.stored(number..number + 1)?.codes,
            Self::Translated { run } => run.row(number).to_vec(),
        };
        row.truncate(compared);
        Ok(row)
    }

    /// How many rows come before another.
    fn rows_before(&self, row: &[u32]) -> Result<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.row(middle, row.len())?.as_slice() < row { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// An error of reading it. Rows that were translated are in memory, and give none.
    fn error(&self, source: chronoxide_format::Error) -> CompactError {
        let input = if let Self::Stored { input, .. } = self { *input } else { 0 };
        CompactError::Input { input, source }
    }
}

impl OpenKeyset<'_> {
    /// Cuts the keyset between rows of its sources: at every so many of those that some of all sources' rows are, so that pieces are of like size wherever the rows of
    /// each source lie.
    pub(crate) fn pieces(&self) -> std::result::Result<Vec<Piece>, CompactError> {
        let lens: Vec<usize> = self.sources.iter().map(SortedSource::len).collect();
        let all: usize = lens.iter().sum();
        let mut from = vec![0; lens.len()];
        let mut pieces = Vec::new();
        for cut in self.cuts(all)? {
            let before = |source: &SortedSource<'_>| source.rows_before(&cut).map_err(|error| source.error(error));
            let to = self.sources.iter().map(before).collect::<std::result::Result<Vec<usize>, CompactError>>()?;
            pieces.push(Piece::between(&from, &to));
            from = to;
        }
        pieces.push(Piece::between(&from, &lens));
        pieces.retain(|piece| piece.len() > 0);
        Ok(pieces)
    }

    /// Rows to cut at, increasing.
    fn cuts(&self, all: usize) -> std::result::Result<Vec<Vec<u32>>, CompactError> {
        if all <= PIECE_ROWS {
            return Ok(Vec::new());
        }
        let compared = self.choice.prefix.len();
        let mut samples = Vec::with_capacity(all / SAMPLED_ROWS);
        for source in &self.sources {
            for row in (SAMPLED_ROWS..source.len()).step_by(SAMPLED_ROWS) {
                samples.push(source.row(row, compared).map_err(|error| source.error(error))?);
            }
        }
        samples.sort_unstable();
        let mut cuts: Vec<Vec<u32>> = samples.into_iter().skip(SAMPLES_A_PIECE - 1).step_by(SAMPLES_A_PIECE).collect();
        cuts.dedup();
        Ok(cuts)
    }
}
