//! Tables, their columns, leaves and rows (spec, section 7).

use super::catalogue::unused;
use super::{Uses, expect, expect_below};
use crate::error::{Place, corrupt};
use crate::layout::{MAX_DEPTH, MAX_LABELS, SectionKind};
use crate::number::{index, length};
use crate::view::{BlockView, Column, Domain, Table};
use crate::{KeyId, Result, Rule};

/// What later tables need to know of a table: its keys and its depth.
struct Known {
    keys: Vec<KeyId>,
    depth: u32,
    is_map: bool,
}

/// Returns the keys of each keyset.
pub(super) fn verify(view: &BlockView<'_>, uses: &mut Uses) -> Result<Vec<Vec<KeyId>>> {
    let catalogue = &view.frame.catalogue;
    let inner = catalogue.inner_end();
    let mut known: Vec<Known> = Vec::new();
    let mut end_byte = 0;
    for id in 0..catalogue.table_count {
        let table = Table::open(view, id)?;
        let place = Place::Table(id.into());
        expect(Rule::RowsOffset, place, table.rows().start, end_byte)?;
        end_byte = table.rows().end;
        let columns = (0..table.column_count()).map(|column| table.column(column)).collect::<Result<Vec<Column>>>()?;
        let shape = verify_leaves(view, &table, &columns, &known)?;
        if id < inner && table.is_map() {
            verify_map(view, &table, &columns, &known)?;
        }
        verify_rows(view, &table, &columns, uses)?;
        let (from, to) = table.slack();
        unused(&view.rows, Rule::RowsPadding, from, to)?;
        if id < inner {
            uses.add_table(table.row_count());
        }
        known.push(shape);
    }
    let section_len = length(view.frame().section(view.bytes(), SectionKind::Rows).len());
    expect(Rule::RowsOffset, Place::Block, section_len, end_byte + 8)?;
    unused(&view.rows, Rule::RowsPadding, end_byte * 8, section_len * 8)?;
    verify_keys(view, uses)?;
    Ok(known.into_iter().skip(index(inner)).map(|keyset| keyset.keys).collect())
}

/// The rows of each table begin where those of the table before it end.
pub(super) fn verify_extents(view: &BlockView<'_>) -> Result<()> {
    let mut end_byte = 0;
    for id in 0..view.frame.catalogue.table_count {
        let table = Table::open(view, id)?;
        expect(Rule::RowsOffset, Place::Table(id.into()), table.rows().start, end_byte)?;
        end_byte = table.rows().end;
    }
    Ok(())
}

fn verify_keys(view: &BlockView<'_>, uses: &mut Uses) -> Result<()> {
    let mut before = None;
    for key in 0..view.key_count() {
        let name = view.key_symbol(KeyId(key))?;
        expect_below(Rule::KeysOrder, Place::Key(key.into()), name.0.into(), view.symbols().count().into())?;
        if before >= Some(name) {
            return Err(corrupt(Rule::KeysOrder, Place::Key(key.into()), name.0.into(), key.into()));
        }
        uses.symbol(name.0);
        before = Some(name);
    }
    Ok(())
}

/// The keys and depth of a table, with the rules on leaves and on the order of columns.
fn verify_leaves(view: &BlockView<'_>, table: &Table<'_>, columns: &[Column], known: &[Known]) -> Result<Known> {
    let place = Place::Table(table.id.into());
    if table.is_dictionary() {
        return Ok(Known { keys: vec![KeyId(table.id)], depth: 0, is_map: false });
    }
    let mut expected = Vec::new();
    let mut depth = 0;
    let mut first_key = None;
    for (&column, number) in columns.iter().zip(0..) {
        let behind = match column.domain {
            Domain::Arena => None,
            Domain::Table(table) => known.get(index(table.0)),
            Domain::Pool(pool) => known.get(index(view.pool(pool)?.table_id().0)),
        };
        let Some(behind) = behind else {
            return Err(corrupt(Rule::ColumnDomain, place, number.into(), table.id.into()));
        };
        if matches!(column.domain, Domain::Pool(_)) {
            if number + 1 != table.column_count() {
                return Err(corrupt(Rule::ListColumn, place, number.into(), table.column_count().into()));
            }
        } else if first_key >= behind.keys.first().copied() {
            return Err(corrupt(Rule::ColumnsOrder, place, number.into(), 0));
        } else {
            first_key = behind.keys.first().copied();
        }
        depth = depth.max(behind.depth);
        expected.extend(behind.keys.iter().zip(0_u32..).map(|(&key, position)| (key, number, position)));
        if expected.len() > index(MAX_LABELS) {
            return Err(corrupt(Rule::LeavesOrder, place, length(expected.len()), MAX_LABELS.into()));
        }
    }
    expected.sort_unstable();
    if let Some(&[(key, ..), _]) = expected.array_windows().find(|[a, b]| a.0 == b.0) {
        return Err(corrupt(Rule::LeavesOrder, place, key.0.into(), key.0.into()));
    }
    if table.column_count() > 1 {
        depth += 1;
        let plain = expected.len() == columns.len() && expected.iter().zip(0..).all(|(leaf, number)| leaf.1 == number);
        let written = if plain { 0 } else { length(expected.len()) };
        expect(Rule::LeavesWritten, place, table.written_leaf_count().into(), written)?;
    } else {
        expect(Rule::LeavesWritten, place, table.written_leaf_count().into(), 0)?;
    }
    if table.written_leaf_count() > 0 {
        for (&(_, column, _), leaf) in expected.iter().zip(0..) {
            expect(Rule::LeavesOrder, place, table.written_leaf(leaf)?.into(), column.into())?;
        }
    }
    if depth > MAX_DEPTH {
        return Err(corrupt(Rule::TableDepth, place, depth.into(), MAX_DEPTH.into()));
    }
    Ok(Known { keys: expected.into_iter().map(|(key, ..)| key).collect(), depth, is_map: table.is_map() })
}

fn verify_map(view: &BlockView<'_>, table: &Table<'_>, columns: &[Column], known: &[Known]) -> Result<()> {
    let place = Place::Table(table.id.into());
    if let Some(Column { domain: Domain::Table(behind), .. }) = columns.first() {
        let rows = view.table(*behind)?.row_count();
        if known.get(index(behind.0)).is_none_or(|behind| behind.is_map) {
            return Err(corrupt(Rule::MapNeeded, place, behind.0.into(), table.id.into()));
        }
        expect_below(Rule::MapNeeded, place, table.row_count().into(), rows.into())?;
    }
    Ok(())
}

/// Codes, bases, widths and the order of rows; records what the codes refer to.
fn verify_rows(view: &BlockView<'_>, table: &Table<'_>, columns: &[Column], uses: &mut Uses) -> Result<()> {
    let counts = columns
        .iter()
        .map(|column| {
            Ok(match column.domain {
                Domain::Arena => view.symbols().count(),
                Domain::Table(behind) => view.table(behind)?.row_count(),
                Domain::Pool(pool) => view.pool(pool)?.list_count(),
            })
        })
        .collect::<Result<Vec<u32>>>()?;
    let mut ranges = vec![(u32::MAX, 0); columns.len()];
    let compared = columns.len() - usize::from(matches!(columns.last(), Some(Column { domain: Domain::Pool(_), .. })));
    let mut before: Vec<u32> = Vec::new();
    table.for_each_block(columns, |first, codes| {
        for (row, number) in codes.chunks_exact(columns.len().max(1)).zip(first..) {
            let row = row.get(..compared).unwrap_or_default();
            if number > 0 && before.as_slice() >= row {
                return Err(corrupt(Rule::RowsOrder, Place::Row(table.id, number), number.into(), number.into()));
            }
            before.clear();
            before.extend_from_slice(row);
        }
        for (place, ((column, &count), range)) in columns.iter().zip(&counts).zip(&mut ranges).enumerate() {
            let of_column = || codes.chunks_exact(columns.len().max(1)).filter_map(|row| row.get(place).copied());
            let (least, most) =
                of_column().fold((u32::MAX, 0), |(least, most), code| (code.min(least), code.max(most)));
            if most >= count {
                for (code, row) in of_column().zip(first..) {
                    expect_below(Rule::ColumnCode, Place::Row(table.id, row), code.into(), count.into())?;
                }
            }
            *range = (range.0.min(least), range.1.max(most));
            match column.domain {
                Domain::Arena => of_column().for_each(|code| uses.symbol(code)),
                Domain::Table(behind) => uses.rows(behind.0, of_column()),
                Domain::Pool(_) => {}
            }
        }
        Ok(())
    })?;
    for (column, (least, most)) in columns.iter().zip(ranges) {
        let place = Place::Table(table.id.into());
        expect(Rule::ColumnWidth, place, column.base.into(), least.into())?;
        let expected = view.row_form().width(most - least);
        expect(Rule::ColumnWidth, place, column.width.into(), expected.into())?;
    }
    Ok(())
}
