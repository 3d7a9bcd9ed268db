//! The fingerprint of a block's content, table by table (spec, section 11).

use crate::error::{Place, corrupt};
use crate::identity::Fingerprint;
use crate::number::index;
use crate::view::{BlockView, Column, Domain, Table};
use crate::{KeyId, PoolId, Result, Rule, SymbolId, TableId};

/// What a block's content adds up to, computed and not merely read.
///
/// Costs one hash per dictionary entry and one product per column of each row of each table; series of one prefix cost nothing more.
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
        let inner = view.table_count().saturating_sub(view.keyset_count());
        for id in 0..inner {
            let table = view.table(TableId(id))?;
            let rows = if table.is_dictionary() { dictionary(view, &table)? } else { content.rows(&table)? };
            content.tables.push(rows);
        }
        for id in 0..view.pool_count() {
            let lists = content.pool(view, PoolId(id))?;
            content.lists.push(lists);
        }
        for id in 0..view.keyset_count() {
            let keyset = view.keyset(id)?;
            let rows = content.rows(&keyset.table())?;
            let series_count = u64::from(keyset.series_count());
            content.fingerprint = content.fingerprint + rows.into_iter().sum();
            content.series_count += series_count;
            content.label_count += series_count * u64::from(keyset.table().leaf_count()?);
        }
        Ok(content)
    }

    /// The fingerprint of a label of the block, by its place in its key's dictionary.
    pub fn of_label(&self, key: KeyId, code: u32) -> Option<Fingerprint> {
        self.tables.get(index(key.0))?.get(index(code)).copied()
    }

    fn rows(&self, table: &Table<'_>) -> Result<Vec<Fingerprint>> {
        let columns = (0..table.column_count()).map(|column| table.column(column)).collect::<Result<Vec<Column>>>()?;
        // Grown as rows are read, not sized by their count.
        let mut rows = Vec::new();
        for row in 0..table.row_count() {
            let mut product = Fingerprint::ONE;
            for column in &columns {
                product = product * self.factor(table, row, column)?;
            }
            rows.push(product);
        }
        Ok(rows)
    }

    fn factor(&self, table: &Table<'_>, row: u32, column: &Column) -> Result<Fingerprint> {
        let code = table.code(row, column)?;
        let behind = match column.domain {
            Domain::Arena => None,
            Domain::Table(behind) => self.tables.get(index(behind.0)),
            Domain::Pool(pool) => self.lists.get(index(pool.0)),
        };
        let count = behind.map_or(0, Vec::len);
        behind.and_then(|behind| behind.get(index(code)).copied()).ok_or_else(|| {
            corrupt(Rule::ColumnCode, Place::Row(table.id().0, row), code.into(), crate::number::length(count))
        })
    }

    fn pool(&self, view: &BlockView<'_>, id: PoolId) -> Result<Vec<Fingerprint>> {
        let pool = view.pool(id)?;
        let rows = self.tables.get(index(pool.table_id().0)).map_or(&[][..], |rows| rows);
        let mut lists = Vec::new();
        for number in 0..pool.list_count() {
            let list = pool.list(number)?;
            let mut sum = Fingerprint::ZERO;
            for at in 0..list.len() {
                sum = sum + rows.get(index(list.get(at)?)).copied().unwrap_or(Fingerprint::ZERO);
            }
            lists.push(sum);
        }
        Ok(lists)
    }
}

fn dictionary(view: &BlockView<'_>, table: &Table<'_>) -> Result<Vec<Fingerprint>> {
    let name = view.key_name(KeyId(table.id().0))?;
    let column = table.column(0)?;
    let mut rows = Vec::new();
    for code in 0..table.row_count() {
        let value = view.symbol_of(SymbolId(table.code(code, &column)?))?;
        rows.push(Fingerprint::of_label(name, value));
    }
    Ok(rows)
}
