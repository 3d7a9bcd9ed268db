//! Translates series of an input that are factored differently, or rewritten, into the columns of the outputs.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::Result;
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::Keyset;
use chronoxide_planner::{InternedRows, KeysetPlan, Part, Plan};

use super::filter::{Filter, Mask};
use super::inputs::{self, Behind, behind};
use super::label_rows::{InputContext, LabelRows, for_each_row};
use super::lists::MergedPool;
use super::plans::KeysetSource;
use super::rows::{MergedRows, Run};
use super::tables::{MergedTables, MoreRows};
use super::tally::{Fate, Overlap, Tally, product};
use super::vocabulary::Vocabulary;

/// Maximum level of a label or a series.
pub(super) const MAX_LEVEL: u32 = 31;

/// Origin of a label's value code.
#[derive(Debug)]
enum Leaf {
    /// A label of an input's column: the column, the position among its labels, and the new value codes if the key is
    /// renamed or hashed.
    Own { column: usize, place: usize, renamed: Option<Vec<u32>> },
    /// One value for all series.
    Constant(u32),
}

impl Leaf {
    /// Returns the column of the input's table that the label depends on.
    fn column(&self) -> Option<usize> {
        match self {
            Self::Own { column, .. } => Some(*column),
            Self::Constant(_) => None,
        }
    }
}

/// Labels of an input's series: keys, increasing, and where their values come from.
type Leaves = Vec<(u32, Leaf)>;

/// Origin of the codes of an output column.
#[derive(Debug)]
struct Target<'a> {
    /// Shared table that the codes are rows of; `None` if they are value codes.
    table: Option<usize>,
    leaves: Leaves,
    /// Columns of the input that have these labels, at least one.
    columns: Vec<usize>,
    /// Output code of each code of the input column that has the same labels, if there is one.
    known: Option<(usize, &'a [u32])>,
}

/// Rows of shared tables, by the codes of the input's columns that they depend on: many series have the same ones.
struct Remembered {
    seen: InternedRows,
    codes: Vec<u32>,
    row: Vec<u32>,
}

impl Remembered {
    fn new(target: &Target<'_>) -> Self {
        Self { seen: InternedRows::new(target.columns.len()), codes: Vec::new(), row: Vec::new() }
    }

    /// Returns the result for these columns of a series, computed once.
    fn get(&mut self, target: &Target<'_>, codes: &[u32], find: impl FnOnce() -> u32) -> u32 {
        self.row.clear();
        self.row.extend(target.columns.iter().map(|&column| codes[column]));
        let number = self.seen.intern(&self.row) as usize;
        if number == self.codes.len() {
            self.codes.push(find());
        }
        self.codes[number]
    }
}

/// Translation of one keyset of an input into rows of the outputs.
pub(crate) struct Translation<'a> {
    keyset: Keyset<'a, 'a>,
    /// Label rows that the columns refer to, the list column included.
    columns: Vec<LabelRows<'a>>,
    list_column: Option<usize>,
    targets: Vec<Target<'a>>,
    /// Labels of the series in the input.
    own: Leaves,
    source: &'a KeysetSource,
    vocabulary: &'a Vocabulary<'a>,
}

impl<'a> Translation<'a> {
    /// Prepares the translation of a keyset. `tables` is `None` until the tables are merged.
    pub(crate) fn new(
        context: InputContext<'a>,
        source: &'a KeysetSource,
        choice: &KeysetPlan,
        tables: Option<&'a MergedTables>,
    ) -> Result<Self> {
        let InputContext { inputs, vocabulary, plan, changes, .. } = context;
        let view = &inputs[source.input];
        let keyset = inputs::keyset(view, source.keyset)?;
        let behind = behind(view, &keyset.table())?;
        let rows = |column: &Behind| context.labels.rows(source.input, column.table);
        let columns = behind.iter().map(rows).collect::<Result<Vec<LabelRows<'_>>>>()?;
        let mut own_keys: Vec<u32> = columns.iter().flat_map(LabelRows::keys).copied().collect();
        own_keys.sort_unstable();

        let own = |key: u32, renamed| {
            let place = |(column, rows): (usize, &LabelRows<'_>)| Some((column, rows.keys().binary_search(&key).ok()?));
            let found = columns.iter().enumerate().find_map(place);
            let (column, place) = found.expect("the keys of a keyset are those of its columns");
            Leaf::Own { column, place, renamed }
        };
        let leaf = |key: u32| {
            if let Some(&(_, code)) = source.added.iter().find(|(added, _)| *added == key) {
                return (key, Leaf::Constant(code));
            }
            let old = changes.source(key, &own_keys);
            let renamed = match changes.hashed_codes(old) {
                Some(codes) => Some(codes.to_vec()),
                None => (old != key).then(|| vocabulary.renamed_codes(old, key)),
            };
            (key, own(old, renamed))
        };
        let target = |&part: &Part| {
            let is_same = |column: &Behind| context.parts[source.input][column.table.0 as usize] == Some(part);
            let same = behind.iter().position(is_same).filter(|_| !source.is_rewritten);
            let known = same.map(|column| {
                let codes = |tables: &'a MergedTables| tables.codes(vocabulary, source.input, behind[column].table);
                (column, tables.map_or(&[][..], codes))
            });
            let leaves: Leaves = plan.keys_of(part).into_iter().map(leaf).collect();
            let own_columns = leaves.iter().filter_map(|(_, leaf)| leaf.column());
            let mut columns: Vec<usize> = own_columns.collect::<BTreeSet<usize>>().into_iter().collect();
            if columns.is_empty() {
                // All labels are constant: any column will do.
                columns.push(0);
            }
            Target { table: if let Part::Table(table) = part { Some(table) } else { None }, leaves, columns, known }
        };
        Ok(Self {
            keyset,
            list_column: behind.iter().position(|column| column.pool.is_some()),
            targets: choice.prefix.iter().chain(&choice.list).map(target).collect(),
            own: own_keys.iter().map(|&key| (key, own(key, None))).collect(),
            columns,
            source,
            vocabulary,
        })
    }

    /// Returns true if the code of an output column depends on the member of the list.
    fn needs_member(&self, target: &Target<'_>) -> bool {
        self.list_column.is_some_and(|column| target.columns.contains(&column))
    }

    /// Adds the rows that shared tables need for these series, by table number.
    pub(crate) fn add_rows(&self, more: &mut BTreeMap<usize, InternedRows>) -> Result<()> {
        let wanted = self.targets.iter().filter(|target| target.known.is_none());
        let mut wanted: Vec<(usize, &Target<'_>, Remembered)> =
            wanted.filter_map(|target| Some((target.table?, target, Remembered::new(target)))).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let needs_members = wanted.iter().any(|(_, target, _)| self.needs_member(target));
        let mut values = Vec::new();
        let mut add = |codes: &[u32]| {
            for (table, target, remembered) in &mut wanted {
                remembered.get(target, codes, || {
                    self.values(&target.leaves, codes, &mut values);
                    more.entry(*table).or_insert_with(|| InternedRows::new(values.len())).intern(&values)
                });
            }
        };
        if needs_members {
            self.for_each_series(add)
        } else {
            for_each_row(&self.keyset.table(), |_, codes| {
                add(codes);
                Ok(())
            })
        }
    }

    /// Returns the number of columns of the translated rows.
    pub(crate) fn width(&self) -> usize {
        self.targets.len()
    }

    /// Calls `each` for each series with its fate, its codes in the input's columns, and its codes in the columns of
    /// the outputs if it is kept.
    pub(crate) fn each(
        &self,
        tables: &MergedTables,
        filter: &Filter,
        mut each: impl FnMut(Fate, &[u32], &[u32]),
    ) -> Result<()> {
        let mut values = Vec::new();
        let mut row = Vec::with_capacity(self.targets.len());
        let mut remembered: Vec<Remembered> = self.targets.iter().map(Remembered::new).collect();
        let possible = self.keys_mask(filter);
        self.for_each_series(|codes| {
            row.clear();
            let fate = match self.fate(codes, filter, possible) {
                // All labels are dropped, and a series without labels does not exist.
                Fate::Kept if self.targets.is_empty() => Fate::Dropped,
                fate => fate,
            };
            if fate == Fate::Kept {
                row.extend(self.targets.iter().zip(&mut remembered).map(|(target, remembered)| match *target {
                    Target { known: Some((column, known)), .. } => known[codes[column] as usize],
                    Target { table: None, ref leaves, .. } => self.value(&leaves[0].1, codes),
                    Target { table: Some(table), ref leaves, .. } => remembered.get(target, codes, || {
                        self.values(leaves, codes, &mut values);
                        tables.find(table, &values).expect("the table has been given this row")
                    }),
                }));
            }
            each(fate, codes, &row);
        })
    }

    /// Calls `each` with the level of each kept series whose level is at least `least`, and with its codes in the
    /// input's columns. The level is that of its labels in the output column `by`, or without one in all columns.
    pub(crate) fn each_of_level(
        &self,
        by: Option<usize>,
        least: u32,
        filter: &Filter,
        mut each: impl FnMut(u32, &[u32]),
    ) -> Result<()> {
        // Labels that all series of a row have are read once.
        let targets = by.map_or(&self.targets[..], |column| &self.targets[column..=column]).iter();
        let (of_series, of_row): (Vec<&Target<'_>>, Vec<_>) = targets.partition(|target| self.needs_member(target));
        let mut members = Vec::new();
        let possible = self.keys_mask(filter);
        for_each_row(&self.keyset.table(), |number, codes| {
            let row = self.product(of_row.iter().flat_map(|target| &target.leaves), codes);
            // Most lists need not be read if all series of a row have one level.
            if of_series.is_empty() && level(row) < least {
                return Ok(());
            }
            self.for_each_series_of(number, codes, &mut members, |codes| {
                let level = level(row * self.product(of_series.iter().flat_map(|target| &target.leaves), codes));
                if level >= least && self.fate(codes, filter, possible) == Fate::Kept {
                    each(level, codes);
                }
            })
        })
    }

    /// Returns the level of the labels of a series in the outputs.
    pub(crate) fn level_of_labels(&self, codes: &[u32]) -> u32 {
        level(self.product(self.targets.iter().flat_map(|target| &target.leaves), codes))
    }

    /// Appends the value codes of the labels of a series, column by column.
    pub(crate) fn push_labels(&self, codes: &[u32], labels: &mut Vec<u32>) {
        let leaves = self.targets.iter().flat_map(|target| &target.leaves);
        labels.extend(leaves.map(|(_, leaf)| self.value(leaf, codes)));
    }

    /// Returns the selectors that the keys of the series can match.
    fn keys_mask(&self, filter: &Filter) -> Mask {
        filter.keys_mask(&self.own.iter().map(|&(key, _)| key).collect::<Vec<u32>>())
    }

    /// Returns the fate of a series with keys that match the selectors of `possible`.
    fn fate(&self, codes: &[u32], filter: &Filter, possible: Mask) -> Fate {
        if filter.keeps_all() {
            return Fate::Kept;
        }
        let of_label = |(key, leaf): &(u32, Leaf)| filter.part_mask(Part::Key(*key), self.value(leaf, codes));
        filter.fate(self.own.iter().fold(possible, |mask, own| mask & of_label(own)))
    }

    /// Translates all series into sorted rows. `pool` gets their lists.
    pub(crate) fn run(
        &self,
        tables: &MergedTables,
        filter: &Filter,
        pool: Option<&MergedPool<'_>>,
        part_fingerprints: &[&[Fingerprint]],
    ) -> Result<MergedRows> {
        let width = self.targets.len();
        let mut tally = Tally::NONE;
        let mut rows: Vec<u32> = Vec::new();
        self.each(tables, filter, |fate, codes, row| {
            if fate != Fate::Kept {
                tally.leave_out(fate, Overlap { series: 1, sum: self.product(&self.own, codes) });
                return;
            }
            rows.extend_from_slice(row);
            if self.source.is_rewritten {
                let after = product(part_fingerprints, row);
                tally.rewritten = (tally.rewritten.0 + self.product(&self.own, codes), tally.rewritten.1 + after);
            }
        })?;
        let mut sorted: Vec<&[u32]> = rows.chunks_exact(width.max(1)).collect();
        sorted.sort_unstable();
        let run = match pool {
            None => plain_run(&sorted, width),
            Some(pool) => listed_run(&sorted, width, pool, part_fingerprints[width - 1]),
        };
        Ok(MergedRows { run, tally })
    }

    /// Calls `each` with the codes of each series in the input's columns; the list column holds the member.
    fn for_each_series(&self, mut each: impl FnMut(&[u32])) -> Result<()> {
        let mut members = Vec::new();
        for_each_row(&self.keyset.table(), |row, codes| self.for_each_series_of(row, codes, &mut members, &mut each))
    }

    /// Calls `each` for the series of a row. `codes` has the codes of the row, and `members` keeps its capacity.
    fn for_each_series_of(
        &self,
        row: u32,
        codes: &mut [u32],
        members: &mut Vec<u32>,
        mut each: impl FnMut(&[u32]),
    ) -> Result<()> {
        let Some(list) = self.keyset.list(row)? else {
            each(codes);
            return Ok(());
        };
        members.clear();
        list.push_members(members)?;
        for &member in &*members {
            if let Some(code) = codes.last_mut() {
                *code = member;
            }
            each(codes);
        }
        Ok(())
    }

    /// Returns the product of the fingerprints of some labels of a series.
    fn product<'l>(&self, leaves: impl IntoIterator<Item = &'l (u32, Leaf)>, codes: &[u32]) -> Fingerprint {
        leaves.into_iter().fold(Fingerprint::ONE, |product, (key, leaf)| {
            product * self.vocabulary.keys[*key as usize].labels[self.value(leaf, codes) as usize]
        })
    }

    fn value(&self, leaf: &Leaf, codes: &[u32]) -> u32 {
        match leaf {
            Leaf::Own { column, place, renamed } => {
                let value = self.columns[*column].value(codes[*column], *place);
                renamed.as_ref().map_or(value, |renamed| renamed[value as usize])
            }
            Leaf::Constant(code) => *code,
        }
    }

    fn values(&self, leaves: &[(u32, Leaf)], codes: &[u32], values: &mut Vec<u32>) {
        values.clear();
        values.extend(leaves.iter().map(|(_, leaf)| self.value(leaf, codes)));
    }
}

/// Returns the level of a label or a series: half of them have 0, a quarter 1, and so on.
fn level(fingerprint: Fingerprint) -> u32 {
    let [first, _] = fingerprint.to_parts();
    first.trailing_zeros().min(MAX_LEVEL)
}

/// Deduplicates sorted rows.
fn plain_run(sorted: &[&[u32]], width: usize) -> Run {
    let mut run =
        Run { width, codes: Vec::with_capacity(sorted.len() * width), overlaps: Vec::with_capacity(sorted.len()) };
    for same in sorted.chunk_by(|a, b| a == b) {
        run.push(same[0], Overlap { series: same.len() as u64 - 1, ..Overlap::NONE });
    }
    run
}

/// Groups sorted rows by their prefixes; the last codes of a group become a list.
fn listed_run(sorted: &[&[u32]], width: usize, pool: &MergedPool<'_>, members: &[Fingerprint]) -> Run {
    let mut run = Run::empty(width);
    let mut list = Vec::new();
    for of_prefix in sorted.chunk_by(|a, b| a[..width - 1] == b[..width - 1]) {
        list.clear();
        let mut overlap = Overlap::NONE;
        for row in of_prefix {
            let member = row[width - 1];
            if list.last() == Some(&member) {
                overlap = overlap.and(Overlap { series: 1, sum: members[member as usize] });
            } else {
                list.push(member);
            }
        }
        run.push(&of_prefix[0][..width - 1], overlap);
        run.codes.push(pool.intern(&list));
    }
    run
}

/// Adds the rows that tables need because rows of other tables refer to them.
pub(crate) fn add_rows_below(plan: &Plan, more: &mut MoreRows) {
    for table in (0..plan.tables.len()).rev() {
        let keys = plan.keys_of(Part::Table(table));
        for part in &plan.tables[table].parts {
            let Part::Table(below) = *part else { continue };
            let places: Vec<usize> = plan
                .keys_of(Part::Table(below))
                .iter()
                .map(|key| keys.binary_search(key).unwrap_or_default())
                .collect();
            let (lower, upper) = more.split_at_mut(table);
            let upper: &InternedRows = &upper[0];
            for row in upper.rows() {
                let values: Vec<u32> = places.iter().map(|&place| row[place]).collect();
                lower[below].intern(&values);
            }
        }
    }
}
