//! Symbols, dictionaries, inner tables and pools: the parts of rows of keysets (spec, sections 6 to 8).

use super::catalogue::unused;
use super::rows::RowReader;
use super::table::{Known, verify_keys, verify_leaves};
use super::uses::Marks;
use super::{expect, pool, refuse_if, symbol};
use crate::error::{Place, corrupt_at};
use crate::identity::{Fingerprint, LabelHasher};
use crate::number::{index, low32};
use crate::view::{BlockView, Column, Domain, Pool, Table};
use crate::{KeyId, Result, Rule, SymbolId, TableId};

/// Verified symbols, dictionaries, inner tables and pools.
pub(super) struct Inner {
    /// Keys and depth of each dictionary and inner table.
    pub known: Vec<Known>,
    /// Product of the labels' fingerprints, for each row of each table.
    products: Vec<Vec<Fingerprint>>,
    /// Sum of the members' fingerprints, for each list of each pool.
    sums: Vec<Vec<Fingerprint>>,
    /// Symbols that are names, or in dictionaries.
    symbols: Marks,
    /// Rows of dictionaries and inner tables that are used among them.
    pub rows: Marks,
    /// Lists, which only keysets use.
    pub lists: Marks,
    /// End of the last table's rows in their section.
    pub rows_end: u64,
    /// End of the last pool in the members section.
    pub members_end: u64,
}

impl Inner {
    pub(super) fn verify(view: &BlockView<'_>) -> Result<Self> {
        symbol::verify(view)?;
        let mut inner = Self {
            known: Vec::new(),
            products: Vec::new(),
            sums: Vec::new(),
            symbols: Marks::new(),
            rows: Marks::new(),
            lists: Marks::new(),
            rows_end: 0,
            members_end: 0,
        };
        inner.symbols.add_group(view.symbols().count());
        verify_keys(view, &mut inner.symbols)?;
        for id in 0..view.frame.catalogue.inner_end() {
            inner.table(view, id)?;
        }
        let mut before = None;
        for id in 0..view.pool_count() {
            let pool = Pool::open(view, id)?;
            let place = Place::Pool(id.into());
            let is_in_order = before < Some(pool.table_id());
            view.canonical(|| refuse_if(!is_in_order, Rule::PoolOrder, place))?;
            before = Some(pool.table_id());
            expect(Rule::MembersExtent, place, pool.offset(), inner.members_end)?;
            for (from, to) in pool.slack() {
                view.canonical(|| unused(&view.members, Rule::MembersPadding, from, to))?;
                inner.members_end = to / 8;
            }
            let of_rows = inner.products.get(index(pool.table_id().0)).map_or(&[][..], |rows| rows);
            inner.sums.push(pool::verify(&pool, of_rows, &mut inner.rows)?);
            inner.lists.add_group(pool.list_count());
        }
        Ok(inner)
    }

    fn table(&mut self, view: &BlockView<'_>, id: u32) -> Result<()> {
        let table = Table::open(view, id)?;
        expect(Rule::RowsOffset, Place::Table(id.into()), table.rows().start, self.rows_end)?;
        self.rows_end = table.rows().end;
        let columns = table.columns().collect::<Result<Vec<Column>>>()?;
        let known = verify_leaves(view, &table, &columns, &self.known)?;
        let hasher = if table.is_dictionary() { Some(LabelHasher::new(view.key_name(KeyId(id))?)) } else { None };
        // Grown as rows are read, not sized by their count.
        let mut products = Vec::new();
        let Self { symbols: used_symbols, rows: used_rows, products: before, .. } = self;
        let mark = |domain, codes: &[u32]| match domain {
            Domain::Arena => used_symbols.mark(0, codes.iter().copied()),
            Domain::Table(TableId(behind)) => used_rows.mark(behind, codes.iter().copied()),
            Domain::Pool(_) => {}
        };
        let factors = |domain| match domain {
            Domain::Table(behind) => before.get(index(behind.0)).map_or(&[][..], |rows| rows),
            Domain::Arena | Domain::Pool(_) => &[],
        };
        RowReader::new().read(&table, &columns, factors, mark, |block| {
            let Some(hasher) = &hasher else { return block.for_each_product(|product| products.push(product)) };
            for &symbol in block.last_codes() {
                products.push(hasher.label(view.symbol(SymbolId(symbol))?));
            }
            Ok(())
        })?;
        let (from, to) = table.slack();
        view.canonical(|| unused(&view.rows, Rule::RowsPadding, from, to))?;
        self.rows.add_group(table.row_count());
        self.products.push(products);
        self.known.push(known);
        Ok(())
    }

    /// Returns the fingerprint of each code of a column.
    pub(super) fn factors(&self, domain: Domain) -> &[Fingerprint] {
        let factors = match domain {
            Domain::Arena => None,
            Domain::Table(behind) => self.products.get(index(behind.0)),
            Domain::Pool(pool) => self.sums.get(index(pool.0)),
        };
        factors.map_or(&[], Vec::as_slice)
    }

    /// Checks that every value is in a series, and that every symbol, row and list is used. `rows` and `lists` are
    /// those that keysets use.
    pub(super) fn verify_uses(mut self, view: &BlockView<'_>, rows: &Marks, lists: &Marks) -> Result<()> {
        self.lists.unite(lists);
        self.rows.unite(rows);
        let unused_list = self.lists.first_unmarked_from(0);
        let unused_row = self.rows.first_unmarked_from(view.key_count());
        if unused_list.is_some() || unused_row.is_some() {
            // Rows to which only unused rows and lists refer are not used.
            self.rows = reached(view, rows, lists)?;
        }
        let unused_value = self.rows.first_unmarked_from(0);
        if let Some((key, value)) = unused_value.filter(|&(table, _)| table < view.key_count().into()) {
            return Err(corrupt_at(Rule::ValuesUsed, Place::Row(low32(key), low32(value))));
        }
        view.canonical(|| {
            if let Some((_, symbol)) = self.symbols.first_unmarked_from(0) {
                return Err(corrupt_at(Rule::SymbolsUsed, Place::Symbol(symbol)));
            }
            if let Some((table, _)) = unused_row {
                return Err(corrupt_at(Rule::RowsUsed, Place::Table(table)));
            }
            match unused_list {
                Some((pool, _)) => Err(corrupt_at(Rule::ListUsed, Place::Pool(pool))),
                None => Ok(()),
            }
        })
    }
}

/// Returns the rows of dictionaries and inner tables that series have, by a walk from keysets down. `rows` and `lists`
/// are those that keysets use.
fn reached(view: &BlockView<'_>, rows: &Marks, lists: &Marks) -> Result<Marks> {
    let mut reached = rows.clone();
    let mut members = Vec::new();
    for id in 0..view.pool_count() {
        let pool = Pool::open(view, id)?;
        for list in lists.marked(id) {
            members.clear();
            pool.list(list)?.push_members(&mut members)?;
            reached.mark(pool.table_id().0, members.iter().copied());
        }
    }
    // Columns refer to earlier tables.
    for id in (view.key_count()..view.frame.catalogue.inner_end()).rev() {
        let table = Table::open(view, id)?;
        let columns = table.columns().collect::<Result<Vec<Column>>>()?;
        let rows: Vec<u32> = reached.marked(id).collect();
        for column in columns {
            if let Domain::Table(TableId(behind)) = column.domain {
                for &row in &rows {
                    reached.mark(behind, [table.code(row, &column)?]);
                }
            }
        }
    }
    Ok(reached)
}
