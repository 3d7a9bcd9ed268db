//! Every public function of a view, called with any numbers.

use std::sync::LazyLock;

use chronoxide_format::remap::RemapView;
use chronoxide_format::view::{BlockView, Column, Domain, Frame, Paths};
use chronoxide_format::{KeyId, PoolId, SeriesRef, SymbolId, TableId};

use super::mutation::mutated;
use super::program::Program;
use crate::golden::goldens;
use crate::remap::golden::golden_remaps;

/// The golden blocks and remaps, made once.
static GOLDENS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| goldens().into_iter().map(|golden| golden.bytes).collect());
static REMAPS: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| golden_remaps().into_iter().map(|golden| golden.bytes).collect());

/// Things of a kind that are looked at after a call that gave them.
const FIRST: usize = 3;

/// A program: a block, then calls with numbers. Each ends in a value or an error, whatever the numbers are.
pub fn extremes(bytes: &[u8]) {
    let mut program = Program(bytes);
    let block = match program.byte() {
        0..32 => mutated(&mut Program(program.bytes(24))),
        number => GOLDENS[usize::from(number) % GOLDENS.len()].clone(),
    };
    let Ok(view) = BlockView::open(&block) else { return };
    let (paths, mut calls) = (Paths::new(), 0);
    while !program.is_at_end() && calls < 64 {
        let call = program.byte();
        let count = u64::from(view.table_count());
        let numbers = [(); 4].map(|()| program.value(count) as u32);
        call_block(&view, call, numbers);
        call_block(&view.with_paths(&paths), call, numbers);
        calls += 1;
    }
    call_remap(&REMAPS[usize::from(program.byte()) % REMAPS.len()], program.value(7) as u32);
}

/// Kinds of calls that [`call_block`] knows.
pub const CALLS: u8 = 14;

/// Calls functions of one kind on a block with these numbers.
pub fn call_block(view: &BlockView<'_>, call: u8, numbers: [u32; 4]) {
    let [first, second, third, fourth] = numbers;
    match call % CALLS {
        0 => {
            let _ = (view.symbol(SymbolId(first)), view.symbols().get(SymbolId(second)));
            let _ = view.text().map(|text| text.symbol(SymbolId(third)).map(str::len));
        }
        1 => {
            let key = KeyId(first);
            let _ = (view.key_symbol(key), view.key_name(key), view.cardinality(key));
            let _ = view.label_values(key).map(|values| values.map(|values| values.take(FIRST).count()));
            let _ = (view.value_code(key, second.to_le_bytes()), view.value_code(key, ""));
        }
        2 => {
            let Ok(Some(table)) = view.dictionary(KeyId(first)) else { return };
            call_table(&table, second, third, fourth);
        }
        3 | 4 => {
            let Ok(Some(table)) = view.table(TableId(first)) else { return };
            call_table(&table, second, third, fourth);
        }
        5 => {
            let Ok(Some(table)) = view.table(TableId(first % view.table_count().max(1))) else { return };
            let domain = match fourth % 3 {
                0 => Domain::Arena,
                1 => Domain::Table(TableId(third)),
                _ => Domain::Pool(PoolId(third)),
            };
            for column in [
                Column { domain, base: second, start_bit: third, width: fourth },
                Column { domain, base: third, start_bit: fourth, width: second },
            ] {
                for row in [0, first, second, table.row_count().saturating_sub(1)] {
                    let _ = table.code(row, &column);
                }
            }
        }
        6 => {
            let Ok(Some(pool)) = view.pool(PoolId(first)) else { return };
            let _ = (pool.table().map(|table| table.row_count()), pool.len());
            let Ok(list) = pool.list(second) else { return };
            let _ = (list.get(third), list.position(fourth));
        }
        7 => {
            let count = view.pool_count().max(1);
            let Ok(Some(pool)) = view.pool(PoolId(first % count)) else { return };
            let Ok(list) = pool.list(second % pool.list_count().max(1)) else { return };
            let _ = (list.get(third), list.position(fourth));
        }
        8 | 9 => {
            let number = if call % CALLS == 8 { first } else { first % view.keyset_count().max(1) };
            let Ok(Some(keyset)) = view.keyset(number) else { return };
            let _ = keyset.keys().map(|keys| keys.take(FIRST).count());
            let _ = (keyset.list(second).map(|list| list.map(|list| list.get(third))), keyset.anchor(third));
            let _ = (keyset.anchors_len(), keyset.anchor_count());
            let _ = keyset.series().map(|series| series.take(FIRST).count());
        }
        10 => {
            let Ok(Some(series)) = view.series(SeriesRef(first)) else { return };
            let _ = (series.ids(second), series.get_key(KeyId(third)), series.get(fourth.to_le_bytes()));
        }
        11 => {
            let count = view.series_count().unwrap_or(0).max(1);
            let mut resolver = view.resolver();
            for number in numbers {
                let _ = resolver.labels(SeriesRef(number)).map(|labels| labels.map(<[_]>::len));
                let _ = resolver.labels(SeriesRef(number % count)).map(|labels| labels.map(<[_]>::len));
                let Ok(Some(series)) = view.series(SeriesRef(number % count)) else { continue };
                let _ = (series.ids(number), series.get_key(KeyId(number)));
            }
        }
        12 => {
            let Ok(metrics) = view.metric_metadata() else { return };
            for number in numbers {
                let _ = metrics.get(number);
            }
            let name = String::from_utf8_lossy(&first.to_le_bytes()).into_owned();
            let _ = metrics.find(&name).map(|rows| rows.take(FIRST).count());
        }
        _ => {
            // A frame of other bytes.
            let cut = view.bytes().get(..first as usize).unwrap_or(view.bytes());
            let other = BlockView::with_frame(cut, view.frame(), None);
            let _ = (other.series(SeriesRef(second)), other.meta().map(|meta| meta.series_count()));
            let _ = (
                Frame::parse(cut),
                other.keyset(third),
                other.table(TableId(fourth)).map(|table| table.map(|table| table.len())),
            );
            let _ = (other.check_arena(), other.metric_metadata(), other.to_owned_meta());
        }
    }
}

fn call_table(table: &chronoxide_format::view::Table<'_, '_>, column: u32, row: u32, leaf: u32) {
    let _ = (table.len(), table.is_empty(), table.leaf_count(), table.written_leaf_count());
    let _ = table.column(column).map(|column| table.code(row, &column));
    let _ = (table.leaf_place(leaf), table.leaf_key(leaf));
}

/// Calls the functions of a remap with a number.
pub fn call_remap(bytes: &[u8], number: u32) {
    let Ok(view) = RemapView::open(bytes) else { return };
    let _ = (view.output(number), view.get(SeriesRef(number)), view.sizes());
    let _ = view.targets().map(|targets| targets.take(FIRST).count());
    let cut = bytes.get(..number as usize).unwrap_or(bytes);
    let _ = RemapView::open(cut).map(|view| view.get(SeriesRef(number)));
}
