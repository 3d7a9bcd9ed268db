//! Blocks that stand for very many series in few bytes.

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::Domain;
use chronoxide_format::write::{BlockBuilder, BlockMeta, BuildError};
use chronoxide_format::{SymbolId, TableId};

/// Builds a block of `count` x `count` series with the labels `a` and `b`: all pairs of `count` values each. A row for
/// each value of one label ends in the list of all values of the other, which is `listed`. The file has some 8 bytes
/// per value.
///
/// # Errors
/// What the builder refuses.
///
/// # Panics
/// If `listed` is neither `a` nor `b`, or there are more than a million values.
pub fn product(count: u32, listed: &str) -> Result<Vec<u8>, BuildError> {
    product_of(count, ["a", "b"], listed)
}

/// Builds the same block with other names of the labels.
///
/// # Errors
/// What the builder refuses.
///
/// # Panics
/// If the names do not increase, `listed` is neither of them, or there are more than a million values.
pub fn product_of(count: u32, names: [&str; 2], listed: &str) -> Result<Vec<u8>, BuildError> {
    assert!(count <= 1_000_000, "values have six digits");
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let mut values = Vec::new();
    for number in 0..count {
        values.push(builder.push_symbol(&format!("{number:06}"))?);
    }
    let symbols: Vec<SymbolId> = names.map(|name| builder.push_symbol(name)).into_iter().collect::<Result<_, _>>()?;
    for name in symbols {
        builder.push_key(name, &values)?;
    }
    let (prefix, list) = match names.iter().position(|&name| name == listed) {
        Some(0) => (TableId(1), TableId(0)),
        Some(_) => (TableId(0), TableId(1)),
        None => panic!("no label {listed}"),
    };
    let members: Vec<u32> = (0..count).collect();
    let pool = builder.push_pool(list, &[&members])?;
    let rows: Vec<u32> = (0..count).flat_map(|row| [row, 0]).collect();
    builder.push_keyset_table(&[Domain::Table(prefix), Domain::Pool(pool)], &rows)?;
    builder.finish(&BlockMeta::default())
}
