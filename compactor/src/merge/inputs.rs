//! Inner tables of inputs, and the domains of columns.

use std::ops::Range;

use chronoxide_format::view::{BlockView, Domain, Keyset, Table};
use chronoxide_format::{PoolId, Result, TableId};

/// Returns the numbers of the inner tables of a block: those between dictionaries and tables of keysets.
pub(crate) fn inner_tables(view: &BlockView<'_>) -> Range<u32> {
    view.key_count()..view.table_count() - view.keyset_count()
}

/// Opens a dictionary or an inner table of an input.
pub(crate) fn table<'d, 'v>(view: &'v BlockView<'d>, number: u32) -> Result<Table<'d, 'v>> {
    Ok(view.table(TableId(number))?.expect("a table of the input"))
}

/// Opens a keyset of an input.
pub(crate) fn keyset<'d, 'v>(view: &'v BlockView<'d>, number: u32) -> Result<Keyset<'d, 'v>> {
    Ok(view.keyset(number)?.expect("a keyset of the input"))
}

/// Domain of a column that does not hold symbols.
pub(super) struct Behind {
    /// Table whose rows are the codes, or the members of the lists.
    pub table: TableId,
    /// Pool of a list column.
    pub pool: Option<PoolId>,
}

/// Returns the domains of a table's columns. A dictionary has none.
pub(super) fn behind(view: &BlockView<'_>, table: &Table<'_, '_>) -> Result<Vec<Behind>> {
    let mut all = Vec::with_capacity(table.column_count() as usize);
    for column in table.columns() {
        all.push(match column?.domain {
            Domain::Table(table) => Behind { table, pool: None },
            Domain::Pool(pool) => {
                let table = view.pool(pool)?.expect("columns refer to pools of their block").table_id();
                Behind { table, pool: Some(pool) }
            }
            Domain::Arena => continue,
        });
    }
    Ok(all)
}
