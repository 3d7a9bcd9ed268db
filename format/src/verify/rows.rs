//! Rows of tables: their order, their codes, and the product of each row's labels (spec, sections 7 and 11).
//!
//! Readers go from a row to its labels by a walk, and stop where a code is out of range. Verification reads without
//! trust: it unpacks every code of every row once, by the same kernel, before anything follows the code, since a walk
//! sees neither the order of rows nor the rows that no series has.

use super::{expect, expect_below, refuse_if};
use crate::error::{Place, corrupt};
use crate::identity::Fingerprint;
use crate::number::{index, length};
use crate::view::{BLOCK_ROWS, BlockView, Column, Domain, Pool, Table};
use crate::{Result, Rule};

/// The codes of a column in the rows of a block, after the one of the row before them.
const STRIDE: usize = index(BLOCK_ROWS) + 1;

/// A row that is equal to the one before it.
const UNCHANGED: u32 = u32::MAX;

/// Reads the rows of tables, one table after the other.
pub(super) struct RowReader<'a> {
    /// The columns in which rows may differ.
    columns: Vec<Varying<'a>>,
    /// Codes of each varying column, [`STRIDE`] per column.
    codes: Vec<u32>,
    /// For each row of the block: twice the first column that differs from the row before, plus one if the code is
    /// larger.
    changes: Vec<u32>,
    /// Product over the constant columns.
    constant: Fingerprint,
    /// Products of the last row: over the constant columns and the varying columns up to each.
    products: Vec<Fingerprint>,
}

/// A column whose codes may differ: its field has bits, or it holds symbols or lists.
struct Varying<'a> {
    column: Column,
    /// Fingerprints of its codes; `None` for symbols.
    factors: &'a [Fingerprint],
    /// Codes are below that.
    bound: u32,
    least: u32,
    most: u32,
}

/// Some rows of a table.
pub(super) struct Block<'r, 'a> {
    reader: &'r mut RowReader<'a>,
    table: u32,
    first: u32,
    len: usize,
}

impl<'a> RowReader<'a> {
    pub(super) const fn new() -> Self {
        Self {
            columns: Vec::new(),
            codes: Vec::new(),
            changes: Vec::new(),
            constant: Fingerprint::ONE,
            products: Vec::new(),
        }
    }

    /// Calls `each` with all rows of a table, a block of rows at a time. `factors` returns the fingerprints of a
    /// column's codes; `mark` is called with the codes of a column.
    pub(super) fn read(
        &mut self,
        table: &Table<'_, '_>,
        columns: &[Column],
        factors: impl Fn(Domain) -> &'a [Fingerprint],
        mut mark: impl FnMut(Domain, &[u32]),
        mut each: impl FnMut(&mut Block<'_, 'a>) -> Result<()>,
    ) -> Result<()> {
        self.columns.clear();
        self.constant = Fingerprint::ONE;
        let id = table.id().0;
        for &column in columns {
            let (bound, factors) = (code_bound(table.view, column.domain)?, factors(column.domain));
            if column.width > 0 || !matches!(column.domain, Domain::Table(_)) {
                self.columns.push(Varying { column, factors, bound, least: u32::MAX, most: 0 });
                continue;
            }
            expect_below(Rule::ColumnCode, Place::Row(id, 0), column.base.into(), bound.into())?;
            mark(column.domain, &[column.base]);
            self.constant = self.constant * factor(factors, column.base, id, 0)?;
        }
        // A block of rows is unpacked column by column, since the kernel is fast at runs of one column.
        // The codes of the table before are overwritten before they are read, except the code before the first row,
        // which is not used.
        self.codes.resize(self.codes.len().max(self.columns.len() * STRIDE), 0);
        self.products.clear();
        self.products.resize(self.columns.len(), Fingerprint::ONE);
        let mut row = 0;
        while row < table.row_count() {
            let end = table.row_count().min(row.saturating_add(BLOCK_ROWS));
            self.unpack(table, row..end)?;
            self.check(id, row, index(end - row), &mut mark)?;
            each(&mut Block { table: id, first: row, len: index(end - row), reader: self })?;
            row = end;
        }
        table.view.canonical(|| {
            for Varying { column, least, most, .. } in &self.columns {
                let place = Place::Table(id.into());
                expect(Rule::ColumnWidth, place, column.base.into(), (*least).into())?;
                // An unknown form breaks a rule of the meta section.
                if let Some(form) = table.view.row_form() {
                    expect(Rule::ColumnWidth, place, column.width.into(), form.width(most - least).into())?;
                }
            }
            Ok(())
        })
    }

    /// Unpacks rows, column by column, and checks their order.
    fn unpack(&mut self, table: &Table<'_, '_>, rows: std::ops::Range<u32>) -> Result<()> {
        let first = rows.start;
        self.changes.clear();
        self.changes.resize(rows.len(), UNCHANGED);
        for ((varying, codes), number) in self.columns.iter().zip(self.codes.chunks_exact_mut(STRIDE)).zip(0..) {
            let [before, codes @ ..] = codes else { continue };
            *before = codes.last().copied().unwrap_or_default();
            let codes = codes.get_mut(..rows.len()).unwrap_or_default();
            table.read_column(rows.clone(), &varying.column, codes)?;
            if matches!(varying.column.domain, Domain::Pool(_)) {
                // Rows are compared without their lists.
                continue;
            }
            let mut before = *before;
            for (change, &code) in self.changes.iter_mut().zip(&*codes) {
                if code != before && *change == UNCHANGED {
                    *change = (number << 1) | u32::from(code > before);
                }
                before = code;
            }
        }
        if first == 0
            && let Some(change) = self.changes.first_mut()
        {
            // The first row differs from the first column on.
            *change = 1;
        }
        for (&change, row) in self.changes.iter().zip(first..) {
            refuse_if(change == UNCHANGED || change & 1 == 0, Rule::RowsOrder, Place::Row(table.id().0, row))?;
        }
        Ok(())
    }

    /// Checks codes, and passes them on as seen.
    fn check(&mut self, table: u32, first: u32, len: usize, mark: &mut impl FnMut(Domain, &[u32])) -> Result<()> {
        for (varying, codes) in self.columns.iter_mut().zip(self.codes.chunks_exact(STRIDE)) {
            let codes = codes.get(1..=len).unwrap_or_default();
            let (mut least, mut most) = (varying.least, varying.most);
            for &code in codes {
                least = least.min(code);
                most = most.max(code);
            }
            (varying.least, varying.most) = (least, most);
            if most >= varying.bound {
                for (&code, row) in codes.iter().zip(first..) {
                    expect_below(Rule::ColumnCode, Place::Row(table, row), code.into(), varying.bound.into())?;
                }
            }
            mark(varying.column.domain, codes);
        }
        Ok(())
    }
}

impl Block<'_, '_> {
    /// Returns the first row.
    pub(super) const fn first(&self) -> u32 {
        self.first
    }

    /// Returns the codes of the last column in these rows, if it is one of symbols or of lists.
    pub(super) fn last_codes(&self) -> &[u32] {
        let start = (self.reader.columns.len().saturating_sub(1)) * STRIDE + 1;
        self.reader.codes.get(start..start + self.len).unwrap_or_default()
    }

    /// Calls `each` with the product of each row. Only the factors after the first changed column are multiplied
    /// again.
    pub(super) fn for_each_product(&mut self, mut each: impl FnMut(Fingerprint)) -> Result<()> {
        let RowReader { columns, codes, changes, constant, products } = &mut *self.reader;
        for (change, (place, row)) in changes.iter().zip((1..).zip(self.first..)) {
            let start = index(change >> 1);
            let mut product = start.checked_sub(1).and_then(|last| products.get(last)).copied().unwrap_or(*constant);
            let varying = columns.iter().zip(codes.chunks_exact(STRIDE)).zip(&mut *products);
            for ((varying, codes), slot) in varying.skip(start) {
                let code = codes.get(place).copied().unwrap_or_default();
                product = product * factor(varying.factors, code, self.table, row)?;
                *slot = product;
            }
            each(product);
        }
        Ok(())
    }
}

#[inline(always)]
fn factor(factors: &[Fingerprint], code: u32, table: u32, row: u32) -> Result<Fingerprint> {
    match factors.get(index(code)) {
        Some(&factor) => Ok(factor),
        None => Err(corrupt(Rule::ColumnCode, Place::Row(table, row), code.into(), length(factors.len()))),
    }
}

/// Codes of a column are below that.
fn code_bound(view: &BlockView<'_>, domain: Domain) -> Result<u32> {
    Ok(match domain {
        Domain::Arena => view.symbols().count(),
        Domain::Table(behind) => Table::open(view, behind.0)?.row_count(),
        Domain::Pool(pool) => Pool::open(view, pool.0)?.list_count(),
    })
}
