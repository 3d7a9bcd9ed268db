//! Merges shared tables, from the dictionaries upwards.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use chronoxide_format::TableId;
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::{BlockView, Domain, Table};
use chronoxide_planner::{InternedRows, Part, Plan};
use rayon::prelude::*;

use super::plans::Adopted;
use super::tally::product;
use super::vocabulary::Vocabulary;
use crate::CompactError;

/// A merged shared table.
#[derive(Debug, Default)]
pub(crate) struct MergedTable {
    /// Codes of the sorted rows, row after row.
    pub rows: Vec<u32>,
    /// Product of the label fingerprints of each row.
    pub fingerprints: Vec<Fingerprint>,
    /// Keys of the labels, increasing.
    pub keys: Vec<u32>,
    /// Rows as values of the keys; only for tables in which rows are looked up, and until they are forgotten.
    by_values: RwLock<Option<InternedRows>>,
}

impl MergedTable {
    /// Returns the number of the row with these values of the keys, if rows are looked up in this table.
    pub(crate) fn find(&self, values: &[u32]) -> Option<u32> {
        self.by_values().as_ref().and_then(|known| known.find(values))
    }

    fn by_values(&self) -> RwLockReadGuard<'_, Option<InternedRows>> {
        self.by_values.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All merged shared tables, and maps from rows of the inputs to their rows.
pub(crate) struct MergedTables {
    /// Tables by their numbers in the plan.
    pub tables: Vec<MergedTable>,
    /// Merged row of each row, by input and inner table; empty for tables that the outputs do not have. Dictionaries
    /// are not included.
    inner_maps: Vec<Vec<Vec<u32>>>,
}

/// Rows that tables need besides the rows of the inputs' tables, by table of the plan, as values of its keys.
pub(crate) type MoreRows = Vec<InternedRows>;

impl MergedTables {
    /// Merges the tables of the plan, each after the tables that it refers to.
    pub(crate) fn merge(
        inputs: &[BlockView<'_>],
        vocabulary: &Vocabulary<'_>,
        adopted: &Adopted,
        more: &MoreRows,
    ) -> Result<Self, CompactError> {
        let plan = &adopted.plan;
        let inner = |view: &BlockView<'_>| (view.table_count() - view.keyset_count() - view.key_count()) as usize;
        let mut merged = Self {
            tables: Vec::with_capacity(plan.tables.len()),
            inner_maps: inputs.iter().map(|view| vec![Vec::new(); inner(view)]).collect(),
        };
        merged.follow_maps(inputs, vocabulary, adopted, |part| matches!(part, Part::Key(_)))?;
        let mut from = 0;
        while from < plan.tables.len() {
            let to = end_of_level(plan, from);
            let of_level = (from..to)
                .into_par_iter()
                .map(|table| merged.merge_table(inputs, vocabulary, adopted, table, &more[table]))
                .collect::<Result<Vec<_>, CompactError>>()?;
            for (table, maps) in of_level {
                merged.tables.push(table);
                for (input, number, map) in maps {
                    merged.inner_maps[input][number] = map;
                }
            }
            merged.follow_maps(
                inputs,
                vocabulary,
                adopted,
                |part| matches!(part, Part::Table(table) if (from..to).contains(&table)),
            )?;
            from = to;
        }
        Ok(merged)
    }

    /// Maps each row of an input's dictionary or inner table to its merged row.
    pub(crate) fn codes<'m>(&'m self, vocabulary: &'m Vocabulary<'_>, input: usize, table: TableId) -> &'m [u32] {
        let dictionaries = &vocabulary.code_maps[input];
        match (table.0 as usize).checked_sub(dictionaries.len()) {
            None => &dictionaries[table.0 as usize],
            Some(inner) => &self.inner_maps[input][inner],
        }
    }

    /// Returns the fingerprints of the rows of a part.
    pub(crate) fn fingerprints<'m>(&'m self, vocabulary: &'m Vocabulary<'_>, part: Part) -> &'m [Fingerprint] {
        match part {
            Part::Key(key) => &vocabulary.keys[key as usize].labels,
            Part::Table(table) => &self.tables[table].fingerprints,
        }
    }

    /// Frees the memory that only translations need: rows cannot be looked up by their values any more.
    pub(crate) fn forget_values(&self) {
        for table in &self.tables {
            *table.by_values.write().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Resolves the maps of inputs, which refer to tables that are merged by now.
    fn follow_maps(
        &mut self,
        inputs: &[BlockView<'_>],
        vocabulary: &Vocabulary<'_>,
        adopted: &Adopted,
        is_ready: impl Fn(Part) -> bool,
    ) -> Result<(), CompactError> {
        for (input, view) in inputs.iter().enumerate() {
            for number in view.key_count()..view.table_count() - view.keyset_count() {
                let part = adopted.parts[input][number as usize];
                if !part.is_some_and(&is_ready) {
                    continue;
                }
                let at = |source| CompactError::Input { input, source };
                let table = view.table(TableId(number)).map_err(at)?.expect("a table of the input");
                if table.column_count() > 1 {
                    continue;
                }
                let mut codes = Vec::new();
                let column = table.column(0).map_err(at)?;
                let Some(Domain::Table(behind)) = column.map(|column| column.domain) else { continue };
                let known = self.codes(vocabulary, input, behind);
                table.push_other_codes(0..table.row_count(), &[known], &mut codes).map_err(at)?;
                self.inner_maps[input][(number - view.key_count()) as usize] = codes;
            }
        }
        Ok(())
    }

    /// Merges one table. Also returns the map from rows to merged rows of each input.
    #[expect(clippy::type_complexity, reason = "input, table and map of each source")]
    fn merge_table(
        &self,
        inputs: &[BlockView<'_>],
        vocabulary: &Vocabulary<'_>,
        adopted: &Adopted,
        number: usize,
        more: &InternedRows,
    ) -> Result<(MergedTable, Vec<(usize, usize, Vec<u32>)>), CompactError> {
        let parts = &adopted.plan.tables[number].parts;
        let width = parts.len();
        let mut sources = Vec::new();
        for (input, view) in inputs.iter().enumerate() {
            let keys = view.key_count() as usize;
            for (table, &part) in adopted.parts[input].iter().enumerate().skip(keys) {
                if part == Some(Part::Table(number)) {
                    let at = |source| CompactError::Input { input, source };
                    let stored = view.table(TableId(table as u32)).map_err(at)?.expect("a table of the input");
                    if stored.column_count() > 1 {
                        let rows = self.translated(vocabulary, input, &stored).map_err(at)?;
                        sources.push((input, table - keys, rows));
                    }
                }
            }
        }
        let keys = keys_of(&adopted.plan, number);
        let added = self.rows_of_values(parts, &keys, more, &adopted.plan);
        let all = sources.iter().map(|(_, _, rows)| rows).chain([&added]);
        // The sources are sorted runs, which a stable sort merges.
        let mut rows: Vec<&[u32]> = all.flat_map(|rows| rows.chunks_exact(width)).collect();
        rows.sort();
        rows.dedup();
        let maps = sources.iter().map(|(input, table, own)| {
            let mut place = 0;
            let position = |row: &[u32]| {
                while rows[place] < row {
                    place += 1;
                }
                place as u32
            };
            (*input, *table, own.chunks_exact(width).map(position).collect())
        });
        let maps: Vec<(usize, usize, Vec<u32>)> = maps.collect();
        let rows: Vec<u32> = rows.concat();

        let columns: Vec<&[Fingerprint]> = parts.iter().map(|&part| self.fingerprints(vocabulary, part)).collect();
        let fingerprints = rows.chunks_exact(width).map(|row| product(&columns, row)).collect();
        let mut table = MergedTable { rows, fingerprints, keys, by_values: RwLock::default() };
        if more.rows().len() > 0 {
            table.by_values = RwLock::new(Some(self.by_values(parts, &table)));
        }
        Ok((table, maps))
    }

    /// Returns the rows of an input's table in the codes of the outputs.
    fn translated(
        &self,
        vocabulary: &Vocabulary<'_>,
        input: usize,
        table: &Table<'_, '_>,
    ) -> chronoxide_format::Result<Vec<u32>> {
        let mut others = Vec::new();
        for column in table.columns() {
            others.push(match column?.domain {
                Domain::Table(behind) => self.codes(vocabulary, input, behind),
                _ => &[],
            });
        }
        let mut rows = Vec::new();
        table.push_other_codes(0..table.row_count(), &others, &mut rows)?;
        Ok(rows)
    }

    /// Converts rows from values of keys to the codes of a table's columns, and sorts them.
    fn rows_of_values(&self, parts: &[Part], keys: &[u32], more: &InternedRows, plan: &Plan) -> Vec<u32> {
        let place = |key: u32| keys.binary_search(&key).unwrap_or_default();
        let places: Vec<Vec<usize>> =
            parts.iter().map(|&part| keys_of_part(plan, part).into_iter().map(place).collect()).collect();
        let mut values = Vec::new();
        let mut rows: Vec<Vec<u32>> = Vec::new();
        for row in more.rows() {
            let code = |(&part, places): (&Part, &Vec<usize>)| match part {
                Part::Key(_) => row[places[0]],
                Part::Table(table) => {
                    values.clear();
                    values.extend(places.iter().map(|&place| row[place]));
                    self.tables[table].find(&values).expect("tables below have the rows of those above")
                }
            };
            rows.push(parts.iter().zip(&places).map(code).collect());
        }
        rows.sort_unstable();
        rows.concat()
    }

    /// Returns the rows of a table as values of its keys.
    fn by_values(&self, parts: &[Part], table: &MergedTable) -> InternedRows {
        let mut known = InternedRows::new(table.keys.len());
        for row in table.rows.chunks_exact(parts.len()) {
            known.intern(&self.values(parts, row));
        }
        known
    }

    /// Returns the values of a row, in the order of their keys.
    fn values(&self, parts: &[Part], row: &[u32]) -> Vec<u32> {
        let mut values: Vec<(u32, u32)> = Vec::new();
        for (&part, &code) in parts.iter().zip(row) {
            match part {
                Part::Key(key) => values.push((key, code)),
                Part::Table(number) => {
                    let table = &self.tables[number];
                    let by_values = table.by_values();
                    let known = by_values.as_ref().and_then(|known| known.rows().nth(code as usize));
                    values.extend(
                        table.keys.iter().copied().zip(known.expect("tables below have it too").iter().copied()),
                    );
                }
            }
        }
        values.sort_unstable();
        values.into_iter().map(|(_, code)| code).collect()
    }
}

/// Returns the end of the range of tables, starting at `from`, that do not refer to one another.
fn end_of_level(plan: &Plan, from: usize) -> usize {
    let refers = |parts: &[Part]| parts.iter().any(|part| matches!(part, Part::Table(table) if *table >= from));
    let of_level = plan.tables[from..].iter().take_while(|table| !refers(&table.parts));
    from + of_level.count()
}

/// Returns the keys of a table's labels, increasing.
pub(crate) fn keys_of(plan: &Plan, table: usize) -> Vec<u32> {
    let mut keys: Vec<u32> = plan.tables[table].parts.iter().flat_map(|&part| keys_of_part(plan, part)).collect();
    keys.sort_unstable();
    keys
}

/// Returns the keys of a part's labels, increasing.
pub(super) fn keys_of_part(plan: &Plan, part: Part) -> Vec<u32> {
    match part {
        Part::Key(key) => vec![key],
        Part::Table(table) => keys_of(plan, table),
    }
}
