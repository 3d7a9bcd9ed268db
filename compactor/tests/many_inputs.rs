//! Merges of many small blocks: memory goes with the pieces that are merged at once, not with the inputs.

use chronoxide_compactor::{CompactOptions, Compaction};
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::{BlockBuilder, BlockMeta};
use chronoxide_format::{KeyId, SymbolId};
use chronoxide_planner::Layout;
use chronoxide_testkit::allocation::{Counting, measure_process};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const KEYS: u32 = 40;
const SERIES: u32 = 2_000;

/// Builds a block of plain rows: a number in the first two keys, which block and row decide, and equal labels.
fn block(number: u32) -> Vec<u8> {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let names: Vec<SymbolId> = (0..KEYS).map(|key| builder.push_symbol(&format!("key{key:03}")).unwrap()).collect();
    let values: Vec<SymbolId> =
        (0..SERIES).map(|value| builder.push_symbol(&format!("v{value:05}")).unwrap()).collect();
    let own = builder.push_symbol(&format!("w{number:05}")).unwrap();
    let mut keys: Vec<KeyId> = vec![builder.push_key(names[0], &values).unwrap()];
    keys.push(builder.push_key(names[1], &[own]).unwrap());
    keys.extend(names[2..].iter().map(|&name| builder.push_key(name, &values[..1]).unwrap()));
    let rows: Vec<u32> = (0..SERIES).flat_map(|row| [row].into_iter().chain((1..KEYS).map(|_| 0))).collect();
    builder.push_keyset(&keys, &rows).unwrap();
    builder.finish(&BlockMeta::default()).unwrap()
}

#[test]
fn memory_of_a_merge_does_not_grow_with_the_rows_of_many_small_inputs() {
    let blocks: Vec<Vec<u8>> = (0..300).map(block).collect();
    let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
    let options = CompactOptions { layout: Layout::BitPacked, ..CompactOptions::default() };
    let (merged, usage) = measure_process(|| Compaction::new(&views, &options).merge_to_memory().unwrap());
    assert_eq!(merged.summary.series_out, 300 * u64::from(SERIES));
    // All rows would take 96 MB as codes, and half as much again to be sorted.
    assert!(usage.peak < 64 << 20, "{usage:?}");
    assert_eq!(BlockView::open(&merged.block).unwrap().verify().unwrap().series_count, merged.summary.series_out);
}
