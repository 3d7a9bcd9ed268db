//! Keys of tables, and the column of each leaf (spec, section 7).

use std::sync::Arc;

use super::uses::Marks;
use super::{expect, expect_below, refuse_if};
use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::{MAX_DEPTH, MAX_LABELS};
use crate::number::{index, length};
use crate::view::{BlockView, Column, Domain, Pool, Table};
use crate::{KeyId, Result, Rule};

/// Properties of a table that later tables need: its keys and its depth.
pub(super) struct Known {
    /// Keys of the leaves. A table of one column shares those of its domain: many maps of a wide table take no memory
    /// of its width each.
    pub keys: Arc<[KeyId]>,
    pub depth: u32,
}

/// Checks that label names are symbols, each once, in order.
pub(super) fn verify_keys(view: &BlockView<'_>, symbols: &mut Marks) -> Result<()> {
    let mut before = None;
    for key in 0..view.key_count() {
        let name = view.key_symbol(KeyId(key))?;
        expect_below(Rule::KeysOrder, Place::Key(key.into()), name.0.into(), view.symbols().count().into())?;
        refuse_if(before >= Some(name), Rule::KeysOrder, Place::Key(key.into()))?;
        symbols.mark(0, [name.0]);
        before = Some(name);
    }
    Ok(())
}

/// Returns the keys and depth of a table, with the rules on leaves and on the order of columns.
pub(super) fn verify_leaves(
    view: &BlockView<'_>,
    table: &Table<'_, '_>,
    columns: &[Column],
    known: &[Known],
) -> Result<Known> {
    let place = Place::Table(table.entry.id.into());
    if table.is_dictionary() {
        return Ok(Known { keys: [KeyId(table.entry.id)].into(), depth: 0 });
    }
    let mut expected = Vec::with_capacity(columns.len().max(index(table.written_leaf_count()).min(index(MAX_LABELS))));
    let mut depth = 0;
    let mut first_key = None;
    for (&column, number) in columns.iter().zip(0..) {
        let behind = match column.domain {
            Domain::Arena => None,
            Domain::Table(table) => known.get(index(table.0)),
            Domain::Pool(pool) => known.get(index(Pool::open(view, pool.0)?.table_id().0)),
        };
        let Some(behind) = behind else {
            return Err(corrupt_at(Rule::ColumnDomain, place));
        };
        if matches!(column.domain, Domain::Pool(_)) {
            refuse_if(number + 1 != table.column_count(), Rule::ListColumn, place)?;
        } else {
            let is_in_order = first_key < behind.keys.first().copied();
            view.canonical(|| refuse_if(!is_in_order, Rule::ColumnsOrder, place))?;
            first_key = behind.keys.first().copied();
        }
        depth = depth.max(behind.depth + 1);
        expected.extend(behind.keys.iter().zip(0_u32..).map(|(&key, position)| (key, number, position)));
        if expected.len() > index(MAX_LABELS) {
            return Err(corrupt(Rule::LeavesOrder, place, length(expected.len()), MAX_LABELS.into()));
        }
    }
    expected.sort_unstable();
    refuse_if(expected.array_windows().any(|[a, b]| a.0 == b.0), Rule::LeavesOrder, place)?;
    let plain = expected.len() == columns.len() && expected.iter().zip(0..).all(|(leaf, number)| leaf.1 == number);
    let written = u64::from(table.written_leaf_count());
    if plain || table.column_count() == 1 {
        view.canonical(|| expect(Rule::LeavesNeeded, place, written, 0))?;
    }
    if !(plain || table.column_count() == 1) || written > 0 {
        expect(Rule::LeavesWritten, place, written, length(expected.len()))?;
    }
    if table.written_leaf_count() > 0 {
        for (&(_, column, _), leaf) in expected.iter().zip(0..) {
            expect(Rule::LeavesOrder, place, table.written_leaf(leaf)?.into(), column.into())?;
        }
    }
    if depth > MAX_DEPTH {
        return Err(corrupt(Rule::TableDepth, place, depth.into(), MAX_DEPTH.into()));
    }
    let shared = match columns {
        [Column { domain: Domain::Table(only), .. }] => known.get(index(only.0)).map(|behind| Arc::clone(&behind.keys)),
        _ => None,
    };
    let keys = shared.unwrap_or_else(|| expected.iter().map(|&(key, ..)| key).collect());
    Ok(Known { keys, depth })
}
