//! Merges shared tables, from the dictionaries upwards.

use std::cmp::Ordering;

use chronoxide_format::TableId;
use chronoxide_format::identity::Fingerprint;
use chronoxide_planner::{InternedRows, Part, Plan};
use rayon::prelude::*;

use super::inputs::{self, behind, inner_tables};
use super::label_rows::InputContext;
use super::parts::ByPart;
use super::tally::product;
use super::vocabulary::Vocabulary;
use crate::CompactError;
use crate::error::InInput;

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
    pub(crate) fn merge(context: InputContext<'_>, more: &MoreRows) -> Result<Self, CompactError> {
        let count = context.plan.tables.len();
        let mut merged = Self {
            tables: Vec::with_capacity(count),
            inner_maps: context.inputs.iter().map(|view| vec![Vec::new(); inner_tables(view).len()]).collect(),
        };
        merged.follow_maps(context, |part| matches!(part, Part::Key(_)))?;
        let mut from = 0;
        while from < count {
            let to = end_of_level(context.plan, from);
            let of_level = (from..to)
                .into_par_iter()
                .map(|table| merged.merge_table(context, table, &more[table]))
                .collect::<Result<Vec<_>, CompactError>>()?;
            for (table, maps) in of_level {
                merged.tables.push(table);
                for ((input, number), map) in maps {
                    merged.inner_maps[input][number] = map;
                }
            }
            // Columns of the next level can go through maps of this one.
            merged.follow_maps(context, |part| matches!(part, Part::Table(table) if (from..to).contains(&table)))?;
            from = to;
        }
        Ok(merged)
    }

    /// Adds a property of labels to the rows that have them: `all` has that of each code of the keys, and gets that of
    /// each row of the tables. `and` combines the properties of two columns.
    pub(crate) fn spread<T: Copy>(&self, plan: &Plan, all: &mut ByPart<Option<Vec<T>>>, and: impl Fn(T, T) -> T) {
        for (table, merged) in plan.tables.iter().zip(&self.tables) {
            let parts = &table.parts;
            let of_row = |row: &[u32]| {
                let of_codes =
                    parts.iter().zip(row).filter_map(|(&part, &code)| Some(all[part].as_ref()?[code as usize]));
                of_codes.reduce(&and)
            };
            let has_any = parts.iter().any(|&part| all[part].is_some());
            let of_rows = has_any.then(|| merged.rows.chunks_exact(parts.len()).filter_map(of_row).collect());
            all.tables.push(of_rows);
        }
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
    fn follow_maps(&mut self, context: InputContext<'_>, is_ready: impl Fn(Part) -> bool) -> Result<(), CompactError> {
        for (input, view) in context.inputs.iter().enumerate() {
            for (number, table) in inner_tables(view).enumerate() {
                if context.parts[input][table as usize].is_some_and(&is_ready)
                    && let Some(codes) = self.translated(context, input, table, true).in_input(input)?
                {
                    self.inner_maps[input][number] = codes;
                }
            }
        }
        Ok(())
    }

    /// Merges one table. Also returns the map from rows to merged rows of each inner table of an input.
    #[expect(clippy::type_complexity, reason = "input, table and map of each source")]
    fn merge_table(
        &self,
        context: InputContext<'_>,
        number: usize,
        more: &InternedRows,
    ) -> Result<(MergedTable, Vec<((usize, usize), Vec<u32>)>), CompactError> {
        let parts = &context.plan.tables[number].parts;
        let width = parts.len();
        let mut sources = Vec::new();
        for (input, view) in context.inputs.iter().enumerate() {
            for (inner, table) in inner_tables(view).enumerate() {
                if context.parts[input][table as usize] == Some(Part::Table(number)) {
                    let rows = self.translated(context, input, table, false).in_input(input)?;
                    sources.extend(rows.map(|rows| ((input, inner), rows)));
                }
            }
        }
        let keys = context.plan.keys_of(Part::Table(number));
        let place = |key: u32| keys.binary_search(&key).unwrap_or_default();
        let places = |part: Part| context.plan.keys_of(part).into_iter().map(place).collect();
        let table_columns: Vec<(Part, Vec<usize>)> = parts.iter().map(|&part| (part, places(part))).collect();
        let added = self.rows_of_values(&table_columns, more);
        let all = sources.iter().map(|(_, rows)| rows).chain([&added]);
        // The sources are sorted runs, which a stable sort merges.
        let mut rows: Vec<&[u32]> = all.flat_map(|rows| rows.chunks_exact(width)).collect();
        rows.sort();
        rows.dedup();
        let maps = sources.iter().map(|(source, own)| {
            let mut place = 0;
            let position = |row: &[u32]| {
                while rows[place] < row {
                    place += 1;
                }
                place as u32
            };
            (*source, own.chunks_exact(width).map(position).collect())
        });
        let maps: Vec<((usize, usize), Vec<u32>)> = maps.collect();
        let rows: Vec<u32> = rows.concat();

        let columns: Vec<&[Fingerprint]> =
            parts.iter().map(|&part| self.fingerprints(context.vocabulary, part)).collect();
        let fingerprints = rows.chunks_exact(width).map(|row| product(&columns, row)).collect();
        Ok((MergedTable { rows, fingerprints, columns: table_columns }, maps))
    }

    /// Returns the rows of an input's map, or of a table of several columns, in the codes of the outputs; `None` if the
    /// table is not of this kind.
    fn translated(
        &self,
        context: InputContext<'_>,
        input: usize,
        number: u32,
        is_map: bool,
    ) -> chronoxide_format::Result<Option<Vec<u32>>> {
        let view = &context.inputs[input];
        let table = inputs::table(view, number)?;
        if (table.column_count() == 1) != is_map {
            return Ok(None);
        }
        let columns = behind(view, &table)?;
        let others: Vec<&[u32]> =
            columns.iter().map(|column| self.codes(context.vocabulary, input, column.table)).collect();
        let mut rows = Vec::new();
        table.push_other_codes(0..table.row_count(), &others, &mut rows)?;
        Ok(Some(rows))
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
