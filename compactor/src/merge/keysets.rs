//! Merges the rows of keysets, cut into independent pieces.

use std::ops::Range;

use chronoxide_format::bits::width;
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::Table;
use chronoxide_planner::KeysetPlan;

use super::filter::Filter;
use super::inputs::{self, behind};
use super::label_rows::InputContext;
use super::lists::{MergedLists, MergedPool};
use super::plans::{KeysetSource, MergedKeyset};
use super::rows::{MergedRows, Run, unite};
use super::tables::MergedTables;
use super::tally::{Fate, Overlap, Tally, product};
use super::translate::Translation;
use super::vocabulary::Vocabulary;
use crate::CompactError;
use crate::error::InInput;

/// Approximate maximum number of rows of all sources in a piece. Fewer would make more cuts than there is work for
/// threads; more would leave the largest keyset to one thread at the end.
const PIECE_ROWS: usize = 1 << 14;
/// Maximum number of rows of a source per sampled row; samples decide where to cut. A piece is this much too large per
/// source at most.
const MAX_SAMPLED_ROWS: usize = 1 << 11;
/// Approximate maximum number of samples of a keyset. Keysets with more than 2^27 rows have more.
const MAX_SAMPLES: usize = 1 << 16;

/// Everything that merging rows reads.
#[derive(Clone, Copy)]
pub(crate) struct MergeContext<'a> {
    pub context: InputContext<'a>,
    pub keysets: &'a [MergedKeyset],
    pub tables: &'a MergedTables,
    pub lists: &'a MergedLists<'a>,
    pub filter: &'a Filter,
}

/// A keyset with its opened sources.
pub(crate) struct OpenKeyset<'a> {
    /// Number among the merged keysets.
    pub number: usize,
    pub keys: &'a [u32],
    pub choice: &'a KeysetPlan,
    pub pool: Option<&'a MergedPool<'a>>,
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

impl<'a> MergeContext<'a> {
    /// Opens the sources of a keyset, and translates those that are factored differently.
    pub(crate) fn open(&'a self, number: usize) -> Result<OpenKeyset<'a>, CompactError> {
        let (keyset, choice) = (&self.keysets[number], &self.context.plan.keysets[number]);
        let mut open = OpenKeyset {
            number,
            keys: &keyset.keys,
            choice,
            pool: self.pool(choice),
            sources: Vec::with_capacity(keyset.sources.len()),
            translated: Tally::NONE,
        };
        for source in &keyset.sources {
            self.open_source(&mut open, source).in_input(source.input)?;
        }
        Ok(open)
    }

    fn open_source(&'a self, open: &mut OpenKeyset<'a>, source: &'a KeysetSource) -> chronoxide_format::Result<()> {
        if source.agrees {
            open.sources.push(self.open_stored(source)?);
            return Ok(());
        }
        let translation = Translation::new(self.context, source, open.choice, Some(self.tables))?;
        let fingerprints = self.part_fingerprints(open.choice);
        let MergedRows { run, tally } = translation.run(self.tables, self.filter, open.pool, &fingerprints)?;
        open.translated = open.translated.and(tally);
        if run.len() > 0 {
            open.sources.push(SortedSource::Translated { run });
        }
        Ok(())
    }

    /// Opens a source whose rows are factored as in the outputs.
    pub(crate) fn open_stored(&'a self, source: &KeysetSource) -> chronoxide_format::Result<SortedSource<'a>> {
        let InputContext { inputs, vocabulary, .. } = self.context;
        let (input, view) = (source.input, &inputs[source.input]);
        let table = inputs::keyset(view, source.keyset)?.table();
        let codes = behind(view, &table)?.into_iter().map(|column| match column.pool {
            Some(pool) => self.lists.codes(input, pool),
            None => self.tables.codes(vocabulary, input, column.table),
        });
        Ok(SortedSource::Stored { input, table, codes: codes.collect() })
    }

    /// Returns the fingerprints of the rows of each column, the list column included.
    pub(crate) fn part_fingerprints(&self, choice: &KeysetPlan) -> Vec<&'a [Fingerprint]> {
        let parts = choice.prefix.iter().chain(&choice.list);
        parts.map(|&part| self.tables.fingerprints(self.context.vocabulary, part)).collect()
    }

    /// Merges a piece: reads the rows of each source, drops what the filter does not keep, and unites the rest.
    pub(crate) fn merge_piece(&self, keyset: &OpenKeyset<'a>, piece: &Piece) -> Result<MergedRows, CompactError> {
        let mut tally = Tally::NONE;
        let mut runs = Vec::with_capacity(piece.rows.len());
        for (source, rows) in keyset.sources.iter().zip(&piece.rows) {
            if rows.is_empty() {
                continue;
            }
            let mut run = source.read(rows.clone())?;
            // Rows that were translated have been filtered: as labels, before they were rewritten.
            if matches!(source, SortedSource::Stored { .. }) && !self.filter.keeps_all() {
                run = self.filtered(keyset, run, &mut tally);
            }
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
        let mut kept = Run::empty(run.width);
        for row in run.rows() {
            let mask = possible & self.filter.parts_mask(&keyset.choice.prefix, row);
            let product = || product(&fingerprints, &row[..keyset.choice.prefix.len()]);
            let Some((part, pool)) = keyset.choice.list.zip(keyset.pool) else {
                match self.filter.fate(mask) {
                    Fate::Kept => kept.push(row, Overlap::NONE),
                    fate => tally.leave_out(fate, Overlap { series: 1, sum: product() }),
                }
                continue;
            };
            let list = row[row.len() - 1];
            let members = pool.read().list(list).iter().collect::<Vec<u32>>();
            let (mut left, mut left_out) = (Vec::new(), Tally::NONE);
            for &member in &members {
                match self.filter.fate(mask & self.filter.part_mask(part, member)) {
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
                kept.push(&row[..row.len() - 1], Overlap::NONE);
                kept.codes.push(if left.len() == members.len() { list } else { pool.intern(&left) });
            }
        }
        kept
    }

    /// Returns the pool of the lists of a keyset.
    pub(crate) fn pool(&self, choice: &KeysetPlan) -> Option<&'a MergedPool<'a>> {
        choice.list.map(|part| self.lists.pool(part))
    }

    /// Returns the width in bits of each code of a keyset's merged rows.
    pub(crate) fn widths(&self, choice: &KeysetPlan) -> Vec<u32> {
        let counts = self.part_fingerprints(choice).into_iter().map(|codes| codes.len() as u64);
        let mut widths: Vec<u32> = counts.map(|count| width(count.saturating_sub(1))).collect();
        if let (Some(_), Some(list)) = (choice.list, widths.last_mut()) {
            // The number of lists is not known before the last rows are merged.
            *list = u32::BITS;
        }
        widths
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

    /// Reads rows in the codes of the outputs.
    pub(crate) fn read(&self, rows: Range<usize>) -> Result<Run, CompactError> {
        match self {
            Self::Stored { input, table, codes } => {
                let mut read = Vec::with_capacity(rows.len() * codes.len());
                let rows = rows.start as u32..rows.end as u32;
                table.push_other_codes(rows, codes, &mut read).in_input(*input)?;
                Ok(Run::new(codes.len(), read))
            }
            Self::Translated { run } => Ok(Run {
                width: run.width,
                codes: run.codes[rows.start * run.width..rows.end * run.width].to_vec(),
                overlaps: run.overlaps[rows].to_vec(),
            }),
        }
    }

    /// Returns the columns of a row that rows are compared by.
    fn row(&self, number: usize, compared: usize) -> Result<Vec<u32>, CompactError> {
        let mut row = self.read(number..number + 1)?.codes;
        row.truncate(compared);
        Ok(row)
    }

    /// Returns the number of rows that come before a row.
    fn rows_before(&self, row: &[u32]) -> Result<usize, CompactError> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.row(middle, row.len())?.as_slice() < row { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }
}

impl OpenKeyset<'_> {
    /// Samples rows of each source at equal distances, and cuts at each sample that completes a piece, so that pieces
    /// are of similar size. The distance is shorter for many sources: a source adds up to one distance to a piece.
    pub(crate) fn pieces(&self) -> Result<Vec<Piece>, CompactError> {
        let lens: Vec<usize> = self.sources.iter().map(SortedSource::len).collect();
        let all: usize = lens.iter().sum();
        let mut from = vec![0; lens.len()];
        let mut pieces = Vec::new();
        for cut in self.cuts(all)? {
            let before = |source: &SortedSource<'_>| source.rows_before(&cut);
            let to = self.sources.iter().map(before).collect::<Result<Vec<usize>, CompactError>>()?;
            pieces.push(Piece::between(&from, &to));
            from = to;
        }
        pieces.push(Piece::between(&from, &lens));
        pieces.retain(|piece| piece.len() > 0);
        Ok(pieces)
    }

    /// Returns the rows to cut at, increasing.
    fn cuts(&self, all: usize) -> Result<Vec<Vec<u32>>, CompactError> {
        if all <= PIECE_ROWS {
            return Ok(Vec::new());
        }
        let compared = self.choice.prefix.len();
        let distance = (PIECE_ROWS / self.sources.len()).max(all / MAX_SAMPLES).clamp(1, MAX_SAMPLED_ROWS);
        let mut samples = Vec::with_capacity(all / distance);
        for source in &self.sources {
            for row in (distance..source.len()).step_by(distance) {
                samples.push(source.row(row, compared)?);
            }
        }
        samples.sort_unstable();
        let of_piece = PIECE_ROWS / distance;
        let mut cuts: Vec<Vec<u32>> = samples.into_iter().skip(of_piece - 1).step_by(of_piece).collect();
        cuts.dedup();
        Ok(cuts)
    }
}
