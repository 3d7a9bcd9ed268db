//! Translates series of an input that are factored differently, or rewritten, into the columns of the outputs.

use std::collections::BTreeMap;
use std::ops::Mul;
use std::sync::OnceLock;

use chronoxide_format::bits::{BitWriter, Bits};
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::{BlockView, Domain, Keyset, Table};
use chronoxide_format::{Result, Rule, TableId};
use chronoxide_planner::{InternedRows, KeysetPlan, Part, Plan};

use super::filter::{Fate, Filter, Mask};
use super::lists::MergedPool;
use super::plans::KeysetSource;
use super::rows::Run;
use super::tables::{MergedTables, MoreRows, keys_of};
use super::tally::{Overlap, Tally, product};
use super::vocabulary::Vocabulary;
use crate::rewrite::KeyChanges;

/// Maximum level of a label or a series.
pub(super) const MAX_LEVEL: u32 = 31;

/// Number of rows that are unpacked at a time.
const ROWS_AT_ONCE: usize = 1 << 10;

/// Rows of an input's dictionary or inner table as labels.
#[derive(Clone, Copy, Debug)]
enum LabelRows<'a> {
    /// The key of a dictionary, and the merged value code of each of its values.
    Dictionary {
        key: &'a u32,
        codes: &'a [u32],
    },
    Inner(&'a InnerRows),
}

impl<'a> LabelRows<'a> {
    /// Returns the keys of the labels, increasing.
    fn keys(&self) -> &'a [u32] {
        match self {
            Self::Dictionary { key, .. } => std::slice::from_ref(*key),
            Self::Inner(rows) => &rows.keys,
        }
    }

    /// Returns the value code of the key at `place` in a row.
    fn value(&self, row: u32, place: usize) -> u32 {
        match self {
            Self::Dictionary { codes, .. } => codes[row as usize],
            Self::Inner(rows) => rows.value(row, place),
        }
    }
}

/// Label rows of an inner table: a value code for each key, row after row, without gaps. They are most of what
/// translations keep in memory, so each takes the bits that it needs.
#[derive(Debug)]
struct InnerRows {
    keys: Vec<u32>,
    /// Start and width of the field of each key in the bits of a row.
    fields: Vec<(u64, u32)>,
    row_bits: u64,
    bytes: Vec<u8>,
}

impl InnerRows {
    fn value(&self, row: u32, place: usize) -> u32 {
        let (start, width) = self.fields[place];
        let bit = u64::from(row) * self.row_bits + start;
        let value = Bits::new(&self.bytes, Rule::TableExtent).get(bit, width);
        value.expect("a row of the table") as u32
    }
}

/// Label rows of all tables of all inputs, made on first use.
pub(crate) struct AllLabelRows<'a> {
    inputs: &'a [BlockView<'a>],
    vocabulary: &'a Vocabulary<'a>,
    inner: Vec<Vec<OnceLock<Result<InnerRows>>>>,
}

impl<'a> AllLabelRows<'a> {
    pub(crate) fn new(inputs: &'a [BlockView<'a>], vocabulary: &'a Vocabulary<'a>) -> Self {
        let inner = |view: &BlockView<'_>| view.table_count() - view.keyset_count() - view.key_count();
        let tables = |view: &BlockView<'_>| (0..inner(view)).map(|_| OnceLock::new()).collect();
        Self { inputs, vocabulary, inner: inputs.iter().map(tables).collect() }
    }

    fn rows(&self, input: usize, table: TableId) -> Result<LabelRows<'_>> {
        let (keys, codes) = (&self.vocabulary.key_maps[input], &self.vocabulary.code_maps[input]);
        let number = table.0 as usize;
        if let (Some(key), Some(codes)) = (keys.get(number), codes.get(number)) {
            return Ok(LabelRows::Dictionary { key, codes });
        }
        let inner = self.inner[input][number - keys.len()].get_or_init(|| self.make(input, table));
        inner.as_ref().map(LabelRows::Inner).map_err(Clone::clone)
    }

    fn make(&self, input: usize, table: TableId) -> Result<InnerRows> {
        let stored = self.inputs[input].table(table)?.expect("a table of the input");
        let mut behind = Vec::new();
        for column in stored.columns() {
            if let Domain::Table(table) = column?.domain {
                behind.push(self.rows(input, table)?);
            }
        }
        // Key, column and place in the rows behind the column.
        let mut labels: Vec<(u32, usize, usize)> = Vec::new();
        for (column, rows) in behind.iter().enumerate() {
            labels.extend((0..).zip(rows.keys()).map(|(place, &key)| (key, column, place)));
        }
        labels.sort_unstable();
        let mut fields = Vec::with_capacity(labels.len());
        let mut row_bits = 0;
        for &(key, ..) in &labels {
            let width = self.vocabulary.value_width(key);
            fields.push((row_bits, width));
            row_bits += u64::from(width);
        }
        let mut writer = BitWriter::new();
        for_each_row(&stored, |_, row| {
            for (&(_, column, place), &(_, width)) in labels.iter().zip(&fields) {
                writer.push(behind[column].value(row[column], place).into(), width);
            }
            Ok(())
        })?;
        let keys = labels.into_iter().map(|(key, ..)| key).collect();
        Ok(InnerRows { keys, fields, row_bits, bytes: writer.finish() })
    }
}

/// Origin of a label's value code.
#[derive(Debug)]
enum Leaf {
    /// A label of an input's column: the column, the position among its labels, and the new value codes if the key is
    /// renamed.
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

/// Origin of the codes of an output column.
#[derive(Debug)]
enum Target<'a> {
    /// A column of the input with the same labels.
    Same { column: usize, codes: &'a [u32] },
    /// A single label.
    Label(Leaf),
    /// A row of a shared table.
    Row(RowTarget),
}

/// A row of a shared table, and its labels.
#[derive(Debug)]
struct RowTarget {
    table: usize,
    leaves: Vec<Leaf>,
    /// Columns of the input that have these labels.
    columns: Vec<usize>,
}

impl RowTarget {
    fn new(table: usize, leaves: Vec<Leaf>) -> Self {
        let mut columns: Vec<usize> = leaves.iter().filter_map(Leaf::column).collect();
        columns.sort_unstable();
        columns.dedup();
        if columns.is_empty() {
            // All labels are constant: any column will do.
            columns.push(0);
        }
        Self { table, leaves, columns }
    }
}

/// Results for rows of an input's columns; many series have the same ones.
struct Remembered {
    seen: InternedRows,
    codes: Vec<u32>,
    row: Vec<u32>,
}

impl Remembered {
    fn new(target: &RowTarget) -> Self {
        Self { seen: InternedRows::new(target.columns.len()), codes: Vec::new(), row: Vec::new() }
    }

    /// Creates the cache of an output column. Only rows of shared tables are cached.
    fn for_target(target: &Target<'_>) -> Self {
        match target {
            Target::Row(target) => Self::new(target),
            _ => Self { seen: InternedRows::new(1), codes: Vec::new(), row: Vec::new() },
        }
    }

    /// Returns the result for these columns of a series, computed once.
    fn get(&mut self, target: &RowTarget, codes: &[u32], find: impl FnOnce() -> u32) -> u32 {
        self.row.clear();
        self.row.extend(target.columns.iter().map(|&column| codes[column]));
        let number = self.seen.intern(&self.row) as usize;
        if number == self.codes.len() {
            self.codes.push(find());
        }
        self.codes[number]
    }
}

impl Target<'_> {
    /// Returns true if the code depends on the member of the list.
    fn needs(&self, list_column: Option<usize>) -> bool {
        match self {
            Self::Same { column, .. } => Some(*column) == list_column,
            Self::Label(leaf) => leaf.column().is_some() && leaf.column() == list_column,
            Self::Row(target) => target.columns.iter().any(|&column| Some(column) == list_column),
        }
    }
}

/// Translation of one keyset of an input into rows of the outputs.
pub(crate) struct Translation<'a> {
    keyset: Keyset<'a, 'a>,
    /// Label rows that the columns refer to, the list column included.
    columns: Vec<LabelRows<'a>>,
    list_column: Option<usize>,
    targets: Vec<Target<'a>>,
    /// Labels of the series in the input: key and origin.
    own: Vec<(u32, Leaf)>,
    own_keys: Vec<u32>,
    source: &'a KeysetSource,
    vocabulary: &'a Vocabulary<'a>,
}

/// Translated series of a keyset.
#[derive(Debug)]
pub(crate) struct Translated {
    pub run: Run,
    /// Series that were not kept, and the fingerprint sums before and after rewriting.
    pub tally: Tally,
}

/// Everything that translations read.
#[derive(Clone, Copy)]
pub(crate) struct TranslationContext<'a> {
    pub inputs: &'a [BlockView<'a>],
    pub vocabulary: &'a Vocabulary<'a>,
    pub plan: &'a Plan,
    pub parts: &'a [Vec<Option<Part>>],
    pub changes: &'a KeyChanges,
    pub labels: &'a AllLabelRows<'a>,
}

impl<'a> Translation<'a> {
    /// Prepares the translation of a keyset. `tables` is `None` until the tables are merged.
    pub(crate) fn new(
        context: TranslationContext<'a>,
        source: &'a KeysetSource,
        choice: &KeysetPlan,
        tables: Option<&'a MergedTables>,
    ) -> Result<Self> {
        let view = &context.inputs[source.input];
        let keyset = view.keyset(source.keyset)?.expect("a keyset of the input");
        let table = keyset.table();
        let (mut columns, mut parts, mut codes, mut list_column) = (Vec::new(), Vec::new(), Vec::new(), None);
        for (number, column) in table.columns().enumerate() {
            let behind = match column?.domain {
                Domain::Table(table) => table,
                Domain::Pool(pool) => {
                    list_column = Some(number);
                    view.pool(pool)?.expect("columns refer to pools of their block").table_id()
                }
                Domain::Arena => continue,
            };
            columns.push(context.labels.rows(source.input, behind)?);
            parts.push(context.parts[source.input][behind.0 as usize]);
            codes.push(tables.map_or(&[][..], |tables| tables.codes(context.vocabulary, source.input, behind)));
        }
        let mut own_keys: Vec<u32> = columns.iter().flat_map(LabelRows::keys).copied().collect();
        own_keys.sort_unstable();

        let place = |key: u32| {
            let found = columns
                .iter()
                .enumerate()
                .find_map(|(column, rows)| Some((column, rows.keys().binary_search(&key).ok()?)));
            found.expect("the keys of a keyset are those of its columns")
        };
        let leaf = |key: u32| {
            if let Some(&(_, code)) = source.added.iter().find(|(added, _)| *added == key) {
                return Leaf::Constant(code);
            }
            let own = context.changes.source(key, &own_keys);
            let (column, place) = place(own);
            Leaf::Own { column, place, renamed: (own != key).then(|| context.vocabulary.renamed_codes(own, key)) }
        };
        let target = |part: Part| {
            let same = parts.iter().position(|own| *own == Some(part)).filter(|_| !source.is_rewritten);
            match (part, same) {
                (_, Some(column)) => Target::Same { column, codes: codes[column] },
                (Part::Key(key), None) => Target::Label(leaf(key)),
                (Part::Table(table), None) => {
                    let leaves = keys_of(context.plan, table).into_iter().map(leaf).collect();
                    Target::Row(RowTarget::new(table, leaves))
                }
            }
        };
        let targets = choice.prefix.iter().chain(&choice.list).map(|&part| target(part)).collect();
        let own_leaf = |&key: &u32| {
            let (column, place) = place(key);
            (key, Leaf::Own { column, place, renamed: None })
        };
        let own = own_keys.iter().map(own_leaf).collect();
        Ok(Self { keyset, columns, list_column, targets, own, own_keys, source, vocabulary: context.vocabulary })
    }

    /// Adds the rows that shared tables need for these series, by table number.
    pub(crate) fn add_rows(&self, more: &mut BTreeMap<usize, InternedRows>) -> Result<()> {
        let mut values = Vec::new();
        let wanted = self.targets.iter().filter_map(|target| match target {
            Target::Row(target) => Some((target, Remembered::new(target))),
            _ => None,
        });
        let mut wanted: Vec<(&RowTarget, Remembered)> = wanted.collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let needs_series =
            self.targets.iter().any(|target| matches!(target, Target::Row(_)) && target.needs(self.list_column));
        let mut add = |codes: &[u32]| {
            for (target, remembered) in &mut wanted {
                remembered.get(target, codes, || {
                    self.values(&target.leaves, codes, &mut values);
                    let more = more.entry(target.table).or_insert_with(|| InternedRows::new(values.len()));
                    more.intern(&values)
                });
            }
        };
        if needs_series {
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
        let mut remembered: Vec<Remembered> = self.targets.iter().map(Remembered::for_target).collect();
        let possible = filter.keys_mask(&self.own_keys);
        self.for_each_series(|codes| {
            row.clear();
            let fate = self.fate(codes, filter, possible);
            if fate != Fate::Kept {
                each(fate, codes, &row);
                return;
            }
            if self.targets.is_empty() {
                // All labels are dropped, and a series without labels does not exist.
                each(Fate::Dropped, codes, &row);
                return;
            }
            for (target, remembered) in self.targets.iter().zip(&mut remembered) {
                row.push(match target {
                    Target::Same { column, codes: known } => known[codes[*column] as usize],
                    Target::Label(leaf) => self.value(leaf, codes),
                    Target::Row(target) => remembered.get(target, codes, || {
                        self.values(&target.leaves, codes, &mut values);
                        tables.find(target.table, &values).expect("the table has been given this row")
                    }),
                });
            }
            each(Fate::Kept, codes, &row);
        })
    }

    /// Calls `each` with the level of each kept series whose level is at least `least`, and with its codes in the
    /// input's columns. The level is that of its value of the output column `by`, or without one that of its labels in
    /// the outputs. Needs a plain plan for the keys `keys`.
    pub(crate) fn each_of_level(
        &self,
        keys: &[u32],
        by: Option<usize>,
        least: u32,
        filter: &Filter,
        mut each: impl FnMut(u32, &[u32]),
    ) -> Result<()> {
        let product = |columns: &[usize], codes: &[u32]| {
            let label = |&column: &usize| self.label_fingerprint(keys[column], &self.targets[column], codes);
            columns.iter().map(label).fold(Fingerprint::ONE, Mul::mul)
        };
        // Labels that all series of a row have are read once.
        let columns = by.map_or(0..self.targets.len(), |column| column..column + 1);
        let (of_series, of_row): (Vec<usize>, Vec<usize>) =
            columns.partition(|&column| self.targets[column].needs(self.list_column));
        let mut members = Vec::new();
        let possible = filter.keys_mask(&self.own_keys);
        for_each_row(&self.keyset.table(), |number, codes| {
            let row = product(&of_row, codes);
            // Most lists need not be read if all series of a row have one level.
            if of_series.is_empty() && level(row) < least {
                return Ok(());
            }
            self.for_each_series_of(number, codes, &mut members, |codes| {
                let level = level(row * product(&of_series, codes));
                if level >= least && self.fate(codes, filter, possible) == Fate::Kept {
                    each(level, codes);
                }
            })
        })
    }

    /// Returns the level of the labels of a series in the outputs. Needs a plain plan for the keys `keys`.
    pub(crate) fn level_of_labels(&self, keys: &[u32], codes: &[u32]) -> u32 {
        let label = |(&key, target): (&u32, &Target<'_>)| self.label_fingerprint(key, target, codes);
        level(keys.iter().zip(&self.targets).map(label).fold(Fingerprint::ONE, Mul::mul))
    }

    fn label_fingerprint(&self, key: u32, target: &Target<'_>, codes: &[u32]) -> Fingerprint {
        self.vocabulary.keys[key as usize].labels[self.label(target, codes) as usize]
    }

    /// Appends the labels of a series. Needs a plan whose columns are keys.
    pub(crate) fn push_labels(&self, codes: &[u32], labels: &mut Vec<u32>) {
        labels.extend(self.targets.iter().map(|target| self.label(target, codes)));
    }

    /// Returns the value code of a column that is a label.
    fn label(&self, target: &Target<'_>, codes: &[u32]) -> u32 {
        match target {
            Target::Same { column, .. } => self.columns[*column].value(codes[*column], 0),
            Target::Label(leaf) => self.value(leaf, codes),
            Target::Row(target) => self.value(&target.leaves[0], codes),
        }
    }

    /// Returns the fate of a series with keys that match the selectors of `possible`.
    fn fate(&self, codes: &[u32], filter: &Filter, possible: Mask) -> Fate {
        if filter.keeps_all() {
            return Fate::Kept;
        }
        let of_label = |(key, leaf): &(u32, Leaf)| filter.value_mask(*key, self.value(leaf, codes));
        filter.fate(self.own.iter().fold(possible, |mask, own| mask & of_label(own)))
    }

    /// Translates all series into sorted rows. `pool` gets their lists.
    pub(crate) fn run(
        &self,
        tables: &MergedTables,
        filter: &Filter,
        pool: Option<&MergedPool<'_>>,
        part_fingerprints: &[&[Fingerprint]],
    ) -> Result<Translated> {
        let width = self.targets.len();
        let mut tally = Tally::NONE;
        let mut rows: Vec<u32> = Vec::new();
        self.each(tables, filter, |fate, codes, row| {
            if fate != Fate::Kept {
                tally.leave_out(fate, Overlap { series: 1, sum: self.fingerprint(codes) });
                return;
            }
            rows.extend_from_slice(row);
            if self.source.is_rewritten {
                let after = product(part_fingerprints, row);
                tally.rewritten = (tally.rewritten.0 + self.fingerprint(codes), tally.rewritten.1 + after);
            }
        })?;
        let mut sorted: Vec<&[u32]> = rows.chunks_exact(width.max(1)).collect();
        sorted.sort_unstable();
        let run = match pool {
            None => plain_run(&sorted, width),
            Some(pool) => listed_run(&sorted, width, pool, part_fingerprints[width - 1]),
        };
        Ok(Translated { run, tally })
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

    /// Returns the fingerprint of a series before rewriting.
    fn fingerprint(&self, codes: &[u32]) -> Fingerprint {
        self.own.iter().fold(Fingerprint::ONE, |product, (key, leaf)| {
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

    fn values(&self, leaves: &[Leaf], codes: &[u32], values: &mut Vec<u32>) {
        values.clear();
        values.extend(leaves.iter().map(|leaf| self.value(leaf, codes)));
    }
}

/// Calls `each` with the number and the codes of each row of a table.
fn for_each_row(table: &Table<'_, '_>, mut each: impl FnMut(u32, &mut [u32]) -> Result<()>) -> Result<()> {
    let (rows, width) = (table.row_count(), table.column_count() as usize);
    let mut codes = Vec::new();
    for first in (0..rows).step_by(ROWS_AT_ONCE) {
        codes.clear();
        table.push_codes(first..rows.min(first.saturating_add(ROWS_AT_ONCE as u32)), &mut codes)?;
        for (row, codes) in (first..).zip(codes.chunks_exact_mut(width)) {
            each(row, codes)?;
        }
    }
    Ok(())
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
        run.codes.extend_from_slice(same[0]);
        run.overlaps.push(Overlap { series: same.len() as u64 - 1, sum: Fingerprint::ZERO });
    }
    run
}

/// Groups sorted rows by their prefixes; the last codes of a group become a list.
fn listed_run(sorted: &[&[u32]], width: usize, pool: &MergedPool<'_>, members: &[Fingerprint]) -> Run {
    let mut run = Run { width, ..Run::default() };
    let mut list = Vec::new();
    for of_prefix in sorted.chunk_by(|a, b| a[..width - 1] == b[..width - 1]) {
        list.clear();
        let mut overlap = Overlap::NONE;
        for same in of_prefix.chunk_by(|a, b| a == b) {
            let member = same[0][width - 1];
            list.push(member);
            for _ in 1..same.len() {
                overlap = overlap.and(Overlap { series: 1, sum: members[member as usize] });
            }
        }
        run.codes.extend_from_slice(&of_prefix[0][..width - 1]);
        run.codes.push(pool.intern(&list));
        run.overlaps.push(overlap);
    }
    run
}

/// Adds the rows that tables need because rows of other tables refer to them.
pub(crate) fn add_rows_below(plan: &Plan, more: &mut MoreRows) {
    for table in (0..plan.tables.len()).rev() {
        let keys = keys_of(plan, table);
        for part in &plan.tables[table].parts {
            let Part::Table(below) = *part else { continue };
            let places: Vec<usize> =
                keys_of(plan, below).iter().map(|key| keys.binary_search(key).unwrap_or_default()).collect();
            let (lower, upper) = more.split_at_mut(table);
            let upper: &InternedRows = &upper[0];
            for row in upper.rows() {
                let values: Vec<u32> = places.iter().map(|&place| row[place]).collect();
                lower[below].intern(&values);
            }
        }
    }
}
