//! The fingerprint of a block's content, table by table (spec, section 11).

use crate::error::{Place, corrupt};
use crate::identity::{Fingerprint, SymbolHash};
use crate::number::{index, length};
use crate::view::{BlockView, Column, Domain, Table};
use crate::{KeyId, PoolId, Result, Rule, SymbolId, TableId};

/// What a block's content adds up to, computed and not merely read.
///
/// Costs one hash per symbol and per dictionary entry and one product per column of each row of each table; series of one prefix cost nothing more.
#[derive(Debug)]
pub struct ContentFingerprint {
    /// Series.
    pub series_count: u64,
    /// Labels of all series together.
    pub label_count: u64,
    /// The sum over all series.
    pub fingerprint: Fingerprint,
    /// Of each row of each dictionary and inner table: the product over its labels.
    tables: Vec<Vec<Fingerprint>>,
    /// Of each list of each pool: the sum over its members.
    lists: Vec<Vec<Fingerprint>>,
}

impl ContentFingerprint {
    /// Computes it.
    ///
    /// # Errors
    /// Damage to what was touched.
    pub fn of(view: &BlockView<'_>) -> Result<Self> {
        let mut content = Self {
            series_count: 0,
            label_count: 0,
            fingerprint: Fingerprint::ZERO,
            tables: Vec::new(),
            lists: Vec::new(),
        };
        let symbols = symbol_hashes(view)?;
        for id in 0..view.frame.catalogue.inner_end() {
            let table = view.table(TableId(id))?;
            let rows = if table.is_dictionary() { dictionary(&table, &symbols)? } else { content.rows(&table)? };
            content.tables.push(rows);
        }
        for id in 0..view.pool_count() {
            let lists = content.pool(view, PoolId(id))?;
            content.lists.push(lists);
        }
        for id in 0..view.keyset_count() {
            let keyset = view.keyset(id)?;
            let mut sum = Fingerprint::ZERO;
            content.for_each_row(&keyset.table(), |product| sum = sum + product)?;
            let series_count = u64::from(keyset.series_count());
            content.fingerprint = content.fingerprint + sum;
            content.series_count += series_count;
            content.label_count += series_count * u64::from(keyset.table().leaf_count()?);
        }
        Ok(content)
    }

    fn rows(&self, table: &Table<'_>) -> Result<Vec<Fingerprint>> {
        // Grown as rows are read, not sized by their count.
        let mut rows = Vec::new();
        self.for_each_row(table, |product| rows.push(product))?;
        Ok(rows)
    }

    /// Calls `each` with the product of each row.
    fn for_each_row(&self, table: &Table<'_>, mut each: impl FnMut(Fingerprint)) -> Result<()> {
        let columns = (0..table.column_count()).map(|column| table.column(column)).collect::<Result<Vec<Column>>>()?;
        let behind: Vec<&[Fingerprint]> = columns.iter().map(|column| self.behind(column)).collect();
        // The products over the first columns: neighbours have many of these in common.
        let mut products = vec![Fingerprint::ONE; columns.len()];
        let mut before: Vec<u32> = Vec::new();
        table.for_each_block(&columns, |first, codes| {
            for (row, number) in codes.chunks_exact(columns.len().max(1)).zip(first..) {
                let same = row.iter().zip(&before).take_while(|(code, before)| code == before).count();
                let last = same.checked_sub(1).and_then(|last| products.get(last)).copied();
                let mut product = last.unwrap_or(Fingerprint::ONE);
                for ((&code, behind), slot) in row.iter().zip(&behind).zip(&mut products).skip(same) {
                    let Some(&factor) = behind.get(index(code)) else {
                        let (place, count) = (Place::Row(table.id().0, number), length(behind.len()));
                        return Err(corrupt(Rule::ColumnCode, place, code.into(), count));
                    };
                    product = product * factor;
                    *slot = product;
                }
                before.clear();
                before.extend_from_slice(row);
                each(product);
            }
            Ok(())
        })
    }

    /// The fingerprints that the codes of a column stand for.
    fn behind(&self, column: &Column) -> &[Fingerprint] {
        let behind = match column.domain {
            Domain::Arena => None,
            Domain::Table(behind) => self.tables.get(index(behind.0)),
            Domain::Pool(pool) => self.lists.get(index(pool.0)),
        };
        behind.map_or(&[], Vec::as_slice)
    }

    fn pool(&self, view: &BlockView<'_>, id: PoolId) -> Result<Vec<Fingerprint>> {
        let pool = view.pool(id)?;
        let rows = self.tables.get(index(pool.table_id().0)).map_or(&[][..], |rows| rows);
        let (mut lists, mut members) = (Vec::new(), Vec::new());
        for number in 0..pool.list_count() {
            let list = pool.list(number)?;
            members.clear();
            list.push_members(&mut members)?;
            let row = |&member: &u32| rows.get(index(member)).copied().unwrap_or(Fingerprint::ZERO);
            lists.push(members.iter().map(row).sum());
        }
        Ok(lists)
    }
}

fn symbol_hashes(view: &BlockView<'_>) -> Result<Vec<SymbolHash>> {
    let mut hashes = Vec::new();
    for id in 0..view.symbols().count() {
        hashes.push(SymbolHash::of(view.symbol_of(SymbolId(id))?));
    }
    Ok(hashes)
}

fn dictionary(table: &Table<'_>, symbols: &[SymbolHash]) -> Result<Vec<Fingerprint>> {
    let unknown = |id: u32| corrupt(Rule::ColumnCode, Place::Symbol(id.into()), id.into(), length(symbols.len()));
    let hash = |id: u32| symbols.get(index(id)).copied().ok_or_else(|| unknown(id));
    let name = hash(table.view.key_symbol(KeyId(table.id().0))?.0)?;
    let column = table.column(0)?;
    let mut rows = Vec::new();
    for code in 0..table.row_count() {
        rows.push(Fingerprint::of_label(name, hash(table.code(code, &column)?)?));
    }
    Ok(rows)
}
