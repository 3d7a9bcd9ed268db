//! Merges shared tables, from the dictionaries upwards.

use std::cmp::Ordering;

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
    /// Columns, and the places of their values among those of all keys of the table, increasing.
    columns: Vec<(Part, Vec<usize>)>,
}

impl MergedTable {
    /// Returns the number of a row.
    fn position(&self, row: &[u32]) -> Option<u32> {
        let at = |number: usize| &self.rows[number * row.len()..(number + 1) * row.len()];
        let (mut low, mut high) = (0, self.fingerprints.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match at(middle).cmp(row) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle as u32),
                Ordering::Greater => high = middle,
            }
        }
        None
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

    /// Returns the number of rows of inner tables of inputs that have a merged row.
    pub(crate) fn mapped_rows(&self) -> usize {
        self.inner_maps.iter().flatten().map(Vec::len).sum()
    }

    /// Returns the fingerprints of the rows of a part.
    pub(crate) fn fingerprints<'m>(&'m self, vocabulary: &'m Vocabulary<'_>, part: Part) -> &'m [Fingerprint] {
        match part {
            Part::Key(key) => &vocabulary.keys[key as usize].labels,
            Part::Table(table) => &self.tables[table].fingerprints,
        }
    }

    /// Returns the number of the row of a table with these values of its keys.
    pub(crate) fn find(&self, table: usize, values: &[u32]) -> Option<u32> {
        let table = &self.tables[table];
        let mut row = Vec::with_capacity(table.columns.len());
        for (part, places) in &table.columns {
            row.push(self.find_part(*part, places, values)?);
        }
        table.position(&row)
    }

    /// Returns the code of a column whose values are at `places` of `values`.
    fn find_part(&self, part: Part, places: &[usize], values: &[u32]) -> Option<u32> {
        match part {
            Part::Key(_) => Some(values[places[0]]),
            Part::Table(table) => self.find(table, &places.iter().map(|&place| values[place]).collect::<Vec<u32>>()),
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
                let Domain::Table(behind) = column.domain else { continue };
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
        let place = |key: u32| keys.binary_search(&key).unwrap_or_default();
        let places = |part: Part| keys_of_part(&adopted.plan, part).into_iter().map(place).collect();
        let table_columns: Vec<(Part, Vec<usize>)> = parts.iter().map(|&part| (part, places(part))).collect();
        let added = self.rows_of_values(&table_columns, more);
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
        Ok((MergedTable { rows, fingerprints, columns: table_columns }, maps))
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
    fn rows_of_values(&self, columns: &[(Part, Vec<usize>)], more: &InternedRows) -> Vec<u32> {
        let mut rows: Vec<Vec<u32>> = Vec::with_capacity(more.rows().len());
        for values in more.rows() {
            let code = |(part, places): &(Part, Vec<usize>)| {
                self.find_part(*part, places, values).expect("tables below have the rows of those above")
            };
            rows.push(columns.iter().map(code).collect());
        }
        rows.sort_unstable();
        rows.concat()
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
