//! Labels of the rows of inputs' tables, and the inputs with all that is known of them: [`InputContext`].

use std::sync::OnceLock;

use chronoxide_format::bits::{BitWriter, Bits};
use chronoxide_format::view::{BlockView, Table};
use chronoxide_format::{Result, Rule, TableId};
use chronoxide_planner::{Part, Plan};

use super::changes::KeyChanges;
use super::inputs::{self, behind, inner_tables};
use super::vocabulary::Vocabulary;

/// Number of rows that are unpacked at a time: some columns of them fit the first-level cache.
const ROWS_AT_ONCE: usize = 1 << 10;

/// Inputs, and everything that follows from them before tables are merged.
#[derive(Clone, Copy)]
pub(crate) struct InputContext<'a> {
    pub inputs: &'a [BlockView<'a>],
    pub vocabulary: &'a Vocabulary<'a>,
    pub plan: &'a Plan,
    pub parts: &'a [Vec<Option<Part>>],
    pub changes: &'a KeyChanges,
    pub labels: &'a AllLabelRows<'a>,
}

/// Rows of an input's dictionary or inner table as labels.
#[derive(Clone, Copy, Debug)]
pub(super) enum LabelRows<'a> {
    /// The key of a dictionary, and the merged value code of each of its values.
    Dictionary {
        key: &'a u32,
        codes: &'a [u32],
    },
    Inner(&'a InnerRows),
}

impl<'a> LabelRows<'a> {
    /// Returns the keys of the labels, increasing.
    pub(super) fn keys(&self) -> &'a [u32] {
        match self {
            Self::Dictionary { key, .. } => std::slice::from_ref(*key),
            Self::Inner(rows) => &rows.keys,
        }
    }

    /// Returns the value code of the key at `place` in a row.
    pub(super) fn value(&self, row: u32, place: usize) -> u32 {
        match self {
            Self::Dictionary { codes, .. } => codes[row as usize],
            Self::Inner(rows) => rows.value(row, place),
        }
    }
}

/// Label rows of an inner table: a value code for each key, row after row, without gaps. They are most of what
/// translations keep in memory, so each takes the bits that it needs.
#[derive(Debug)]
pub(super) struct InnerRows {
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
        let tables = |view: &BlockView<'_>| inner_tables(view).map(|_| OnceLock::new()).collect();
        Self { inputs, vocabulary, inner: inputs.iter().map(tables).collect() }
    }

    /// Returns the label rows of a dictionary or inner table.
    pub(super) fn rows(&self, input: usize, table: TableId) -> Result<LabelRows<'_>> {
        let (keys, codes) = (&self.vocabulary.key_maps[input], &self.vocabulary.code_maps[input]);
        let number = table.0 as usize;
        if let (Some(key), Some(codes)) = (keys.get(number), codes.get(number)) {
            return Ok(LabelRows::Dictionary { key, codes });
        }
        let inner = self.inner[input][number - keys.len()].get_or_init(|| self.make(input, table));
        inner.as_ref().map(LabelRows::Inner).map_err(Clone::clone)
    }

    fn make(&self, input: usize, table: TableId) -> Result<InnerRows> {
        let view = &self.inputs[input];
        let stored = inputs::table(view, table.0)?;
        let columns = behind(view, &stored)?;
        let behind = columns.iter().map(|column| self.rows(input, column.table)).collect::<Result<Vec<_>>>()?;
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

/// Calls `each` with the number and the codes of each row of a table.
pub(super) fn for_each_row(table: &Table<'_, '_>, mut each: impl FnMut(u32, &mut [u32]) -> Result<()>) -> Result<()> {
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
