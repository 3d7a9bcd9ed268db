//! Planning ends, and the block is valid, for content whose planning could take long.

use std::collections::BTreeSet;
use std::iter::once;

use chronoxide_format::view::BlockView;
use chronoxide_planner::plan;

use crate::content::{Labelset, Model, write};

/// The block of what was planned, verified, has the series.
fn assert_planned(series: impl Iterator<Item = Labelset>) {
    let series: BTreeSet<Labelset> = series.collect();
    let model = Model::from_labelsets(&series);
    let (_, factored) = plan(&model.content);
    let (block, _) = write(&model, &factored);
    let view = BlockView::open(&block).unwrap();
    view.verify().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let labels = |series: u32| -> Labelset {
        let series = view.series(chronoxide_format::SeriesRef(series)).unwrap().unwrap();
        series.labels().map(Result::unwrap).map(|label| (text(label.name), text(label.value))).collect()
    };
    assert!((0..view.series_count().unwrap()).map(labels).collect::<BTreeSet<_>>() == series);
}

fn label(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

#[test]
fn keysets_of_as_many_columns_as_there_may_be_are_planned() {
    // Keys of all kinds: constant, dependent and independent.
    let value = |column: u64, row: u64| match column % 5 {
        0 => 0,
        1 => row / (column % 11 + 1),
        2 => row % (column % 7 + 2),
        3 => row,
        _ => (row << 9 | column).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58,
    };
    assert_planned((0..400).map(|row| (0..512).map(|key| label(&format!("key {key}"), value(key, row))).collect()));
}

#[test]
fn a_large_keyset_with_a_unique_column_is_planned() {
    let row = |row: u32| {
        let [pod, node, method] = [row / 40, row / 400, row % 8];
        [label("id", row * 7), label("pod", pod), label("node", node), label("method", method)].into_iter().collect()
    };
    assert_planned((0..100_000).map(row));
}

#[test]
fn thousands_of_keysets_of_one_row_are_planned() {
    let row = |row: u32| {
        // Five keys of two hundred, another five in each.
        let keys = (0..5).map(|place| label(&format!("key {place} {}", row / 6_u32.pow(place) % 6), row % 3));
        keys.chain(once(label("pod", row % 50))).collect()
    };
    assert_planned((0..5_000).map(row));
}

#[test]
fn as_many_keys_as_labels_are_planned() {
    // Each series has 10 keys that no other has, so that there are 50,000.
    let row = |row: u32| {
        let own = (0..10).map(|key| label(&format!("key {row} {key}"), key % 4));
        own.chain([label("pod", row % 50), label("job", row % 5)]).collect()
    };
    assert_planned((0..5_000).map(row));
}

#[test]
fn many_keys_on_many_series_are_planned() {
    // One key that each series has, and 2,000 keys; each series has a few of them.
    let row = |row: u32| {
        let own = (0..12).map(|place| label(&format!("key {}", (row * 31 + place * 17) % 2_000), row % 2));
        own.chain([label("pod", row / 20)]).collect()
    };
    assert_planned((0..20_000).map(row));
}
