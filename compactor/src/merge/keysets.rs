//! Merges the rows of keysets, cut into independent pieces.

use std::ops::Range;

use chronoxide_format::Result;
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::{Domain, Keyset, Table};
use chronoxide_planner::{KeysetPlan, Part};

use super::filter::{Fate, Filter, Mask};
use super::lists::{MergedLists, MergedPool};
use super::plans::{KeysetSource, MergedKeyset};
use super::rows::{Run, unite};
use super::tables::MergedTables;
use super::tally::{Overlap, Tally, product};
use super::translate::{Translated, Translation, TranslationContext};
use super::vocabulary::Vocabulary;
use crate::CompactError;

/// Approximate maximum number of rows of all sources in a piece.
const PIECE_ROWS: usize = 1 << 14;
/// Maximum number of rows of a source per sampled row; samples decide where to cut.
const MAX_SAMPLED_ROWS: usize = 1 << 11;
/// Approximate maximum number of samples of a keyset. Keysets with more than 2^27 rows have more.
const MAX_SAMPLES: usize = 1 << 16;

/// Everything that merging rows reads.
pub(crate) struct MergeContext<'a> {
    pub context: TranslationContext<'a>,
    pub keysets: &'a [MergedKeyset],
    pub tables: &'a MergedTables,
    pub lists: &'a MergedLists<'a>,
    pub filter: &'a Filter,
    /// Selectors that series with a row can match, by shared table and row.
    pub table_masks: &'a [Vec<Mask>],
}

/// A keyset with its opened sources.
pub(crate) struct OpenKeyset<'a> {
    /// Number among the merged keysets.
    pub number: usize,
    pub keys: &'a [u32],
    pub choice: &'a KeysetPlan,
    pool: Option<&'a MergedPool<'a>>,
    sources: Vec<SortedSource<'a>>,
    /// Counts of sources that were translated as a whole.
    pub translated: Tally,
}

/// Rows of one input, sorted.
pub(crate) enum SortedSource<'a> {
    /// Rows as they are stored, with a map from old to new codes per column.
    Stored {
        input: usize,
        table: Table<'a, 'a>,
        codes: Vec<&'a [u32]>,
    },
    Translated {
        run: Run,
    },
}

/// A piece of a keyset: a range of rows of each source.
pub(crate) struct Piece {
    pub rows: Vec<Range<usize>>,
}

impl Piece {
    fn between(from: &[usize], to: &[usize]) -> Self {
        Self { rows: from.iter().zip(to).map(|(&from, &to)| from..to).collect() }
    }

    /// Number of rows of all sources.
    pub(crate) fn len(&self) -> usize {
        self.rows.iter().map(Range::len).sum()
    }
}

/// Merged rows.
pub(crate) struct MergedRows {
    pub run: Run,
    pub tally: Tally,
}

impl<'a> MergeContext<'a> {
    /// Opens the sources of a keyset, and translates those that are factored differently.
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

    /// Opens a source whose rows are factored as in the outputs.
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

    /// Returns the fingerprints of the rows of each column, the list column included.
    pub(crate) fn part_fingerprints(&self, choice: &KeysetPlan) -> Vec<&'a [Fingerprint]> {
        let parts = choice.prefix.iter().chain(&choice.list);
        parts.map(|&part| self.tables.fingerprints(self.context.vocabulary, part)).collect()
    }

    /// Merges a piece: reads the rows of each source, drops what the filter does not keep, and unites the rest.
    pub(crate) fn merge_piece(
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

    /// Returns the rows whose series the filter keeps. If it keeps some series of a row, the row gets a shorter list.
    fn filtered(&self, keyset: &OpenKeyset<'_>, run: Run, tally: &mut Tally) -> Run {
        let possible = self.filter.keys_mask(keyset.keys);
        let fingerprints = self.part_fingerprints(keyset.choice);
        let mut kept = Run { width: run.width, ..Run::default() };
        for row in run.rows() {
            let mask = possible & self.filter.parts_mask(self.table_masks, &keyset.choice.prefix, row);
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
            let members = pool.read().list(list).iter().collect::<Vec<u32>>();
            let (mut left, mut left_out) = (Vec::new(), Tally::NONE);
            for &member in &members {
                match self.filter.fate(mask & self.filter.part_mask(self.table_masks, part, member)) {
                    Fate::Kept => left.push(member),
                    fate => {
                        let sum = fingerprints[row.len() - 1][member as usize];
                        left_out.leave_out(fate, Overlap { series: 1, sum });
                    }
                }
            }
            if left.len() < members.len() {
                let product = product();
                for (fate, of_fate) in [(Fate::Dropped, left_out.dropped), (Fate::OtherShard, left_out.other_shards)] {
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

    /// Returns the part that the lists of a keyset refer to, and their pool.
    pub(crate) fn pool(&self, choice: &KeysetPlan) -> Option<(Part, &'a MergedPool<'a>)> {
        choice.list.map(|part| (part, self.lists.pool(part)))
    }

    /// Returns the number of codes of each column. That of a list column is the number of members, since lists are
    /// still being added.
    pub(crate) fn counts(&self, choice: &KeysetPlan) -> Vec<usize> {
        self.part_fingerprints(choice).iter().map(|rows| rows.len()).collect()
    }

    /// Returns the keys of a keyset, as numbers of the vocabulary.
    pub(crate) fn keys(&self, keyset: usize) -> &'a [u32] {
        &self.keysets[keyset].keys
    }

    /// Returns the merged vocabulary.
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

    /// Reads stored rows, in the codes of the outputs.
    pub(crate) fn stored(&self, rows: Range<usize>) -> Result<Run> {
        let Self::Stored { table, codes, .. } = self else { return Ok(Run::default()) };
        let mut read = Vec::with_capacity(rows.len() * codes.len());
        table.push_other_codes(rows.start as u32..rows.end as u32, codes, &mut read)?;
        Ok(Run::new(codes.len(), read))
    }

    /// Returns the columns of a row that rows are compared by.
    fn row(&self, number: usize, compared: usize) -> Result<Vec<u32>> {
        let mut row = match self {
            Self::Stored { .. } => self.stored(number..number + 1)?.codes,
            Self::Translated { run } => run.row(number).to_vec(),
        };
        row.truncate(compared);
        Ok(row)
    }

    /// Returns the number of rows that come before a row.
    fn rows_before(&self, row: &[u32]) -> Result<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.row(middle, row.len())?.as_slice() < row { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// Names the input in a read error. Translated rows are in memory and cause none.
    fn error(&self, source: chronoxide_format::Error) -> CompactError {
        let input = if let Self::Stored { input, .. } = self { *input } else { 0 };
        CompactError::Input { input, source }
    }
}

impl OpenKeyset<'_> {
    /// Samples rows of each source at equal distances, and cuts at each sample that completes a piece, so that pieces
    /// are of similar size. The distance is shorter for many sources: a source adds up to one distance to a piece.
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

    /// Returns the rows to cut at, increasing.
    fn cuts(&self, all: usize) -> std::result::Result<Vec<Vec<u32>>, CompactError> {
        if all <= PIECE_ROWS {
            return Ok(Vec::new());
        }
        let compared = self.choice.prefix.len();
        let distance = (PIECE_ROWS / self.sources.len()).max(all / MAX_SAMPLES).clamp(1, MAX_SAMPLED_ROWS);
        let mut samples = Vec::with_capacity(all / distance);
        for source in &self.sources {
            for row in (distance..source.len()).step_by(distance) {
                samples.push(source.row(row, compared).map_err(|error| source.error(error))?);
            }
        }
        samples.sort_unstable();
        let of_piece = PIECE_ROWS / distance;
        let mut cuts: Vec<Vec<u32>> = samples.into_iter().skip(of_piece - 1).step_by(of_piece).collect();
        cuts.dedup();
        Ok(cuts)
    }
}
