//! A builder refuses calls that would not make a sound block, and says why.

use chronoxide_format::identity::Fingerprint;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::Domain::{self, Arena, Pool, Table};
use chronoxide_format::write::{BlockBuilder, BlockMeta, BuildError, KeysetOutline};
use chronoxide_format::{KeyId, PoolId, SymbolId, TableId};

/// How far a block is built before the call.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Stage {
    Symbols,
    Keys,
    Tables,
    Pools,
    Keysets,
}

const A: KeyId = KeyId(0);
const B: KeyId = KeyId(1);
const OF_A: Domain = Table(TableId(0));
const OF_B: Domain = Table(TableId(1));
/// A shared table of both keys.
const SHARED: Domain = Table(TableId(2));
const LISTS: Domain = Pool(PoolId(0));

/// Returns a block with symbols `0` to `4`, keys `3` and `4` with three values each, a shared table with two rows, a
/// pool of lists of values of the second key, and a keyset of both keys.
fn built(stage: Stage) -> BlockBuilder {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let symbols: Vec<SymbolId> = (0..5).map(|name| builder.push_symbol(&name.to_string()).unwrap()).collect();
    if stage >= Stage::Keys {
        builder.push_key(symbols[3], &symbols[..3]).unwrap();
        builder.push_key(symbols[4], &symbols[..3]).unwrap();
    }
    if stage >= Stage::Tables {
        builder.push_table(&[OF_A, OF_B], &[0, 1, 2, 0]).unwrap();
    }
    if stage >= Stage::Pools {
        builder.push_pool(TableId(1), &[&[0, 2], &[1]]).unwrap();
    }
    if stage >= Stage::Keysets {
        builder.push_keyset(&[A, B], &[0, 0, 1, 2]).unwrap();
    }
    builder
}

const OUTLINE: KeysetOutline<'_> = KeysetOutline {
    domains: &[OF_B],
    row_count: 2,
    ranges: &[(0, 1)],
    series_count: 2,
    fingerprint: Fingerprint::ZERO,
};

#[test]
fn calls_out_of_order_are_refused_with_the_order() {
    use Stage::{Keys, Keysets, Pools, Symbols, Tables};
    let row = SymbolId(2);
    let refused = |stage, call: &dyn Fn(&mut BlockBuilder) -> Result<(), BuildError>, expected: &str| {
        let mut builder = built(stage);
        assert_eq!(call(&mut builder).unwrap_err().to_string(), expected);
    };
    refused(Keys, &|b| b.push_symbol("9").map(drop), "symbols must be pushed before keys");
    refused(Symbols, &|b| b.push_symbol("3").map(drop), "symbol 5 does not come after the one before it");
    refused(Tables, &|b| b.push_key(SymbolId(4), &[row]).map(drop), "keys must be pushed before tables");
    refused(Keysets, &|b| b.push_key(SymbolId(4), &[row]).map(drop), "keys must be pushed before tables");
    refused(Keys, &|b| b.push_key(SymbolId(4), &[row]).map(drop), "key 2 does not come after the one before it");
    let table: [Domain; 2] = [OF_A, OF_B];
    refused(Pools, &|b| b.push_table(&table, &[0, 0]).map(drop), "tables must be pushed before pools and keysets");
    refused(Keysets, &|b| b.push_pool(TableId(2), &[&[0]]).map(drop), "pools must be pushed before keysets");
    refused(Pools, &|b| b.push_pool(TableId(1), &[&[0]]).map(drop), "pool 1 does not come after the one before it");
    refused(Pools, &|b| b.push_pool(TableId(0), &[&[0]]).map(drop), "pool 1 does not come after the one before it");
    let again = "keyset 1 does not come after the one before it";
    refused(Keysets, &|b| b.push_keyset(&[A, B], &[0, 0]).map(drop), again);
    refused(Keysets, &|b| b.push_keyset(&[A], &[0]).map(drop), again);
    refused(
        Keys,
        &|b| {
            b.push_keyset_outline(&KeysetOutline { domains: &[OF_A], ..OUTLINE })?;
            b.push_keyset(&[B], &[0]).map(drop)
        },
        "keysets with their rows must be pushed before outlines of keysets",
    );
    let mut outlined = built(Keys);
    outlined.push_keyset_outline(&OUTLINE).unwrap();
    let error = outlined.finish(&BlockMeta::default()).unwrap_err();
    assert_eq!(error.to_string(), "all rows must be pushed before the end");
}

#[test]
fn rows_and_lists_that_no_reader_expects_are_refused() {
    use Stage::{Keys, Pools};
    let refused = |call: &dyn Fn(&mut BlockBuilder) -> Result<(), BuildError>, expected: &str| {
        assert_eq!(call(&mut built(Keys)).unwrap_err().to_string(), expected);
    };
    refused(&|b| b.push_table(&[], &[]).map(drop), "a table's list of columns is empty");
    refused(&|b| b.push_table(&[OF_A, OF_B], &[]).map(drop), "a table is empty");
    refused(&|b| b.push_table(&[OF_A, OF_B], &[0]).map(drop), "1 codes are not a multiple of 2 columns");
    refused(&|b| b.push_table(&[OF_B, OF_A], &[0, 0]).map(drop), "column 0 does not come after the one before it");
    refused(&|b| b.push_table(&[OF_A, OF_A], &[0, 0]).map(drop), "two columns of a table have key 0");
    refused(&|b| b.push_table(&[Arena], &[0]).map(drop), "table 0 does not exist: there are 0, from 0");
    refused(&|b| b.push_table(&[SHARED], &[0]).map(drop), "table 2 does not exist: there are 2, from 0");
    let order = "row 1 does not come after the one before it";
    refused(&|b| b.push_table(&[OF_A, OF_B], &[0, 1, 0, 1]).map(drop), order);
    refused(&|b| b.push_table(&[OF_A, OF_B], &[1, 0, 0, 2]).map(drop), order);
    refused(&|b| b.push_table(&[OF_A, OF_B], &[0, 3]).map(drop), "code 3 does not exist: there are 3, from 0");
    refused(&|b| b.push_keyset(&[KeyId(2)], &[0]).map(drop), "key 2 does not exist: there are 2, from 0");
    let lists = "only the last of several columns of a keyset's table may hold lists";
    refused(&|b| b.push_table(&[OF_A, LISTS], &[0, 0]).map(drop), lists);
    refused(&|b| b.push_keyset_table(&[LISTS], &[0]).map(drop), lists);
    refused(&|b| b.push_pool(TableId(0), &[]).map(drop), "a pool is empty");
    refused(&|b| b.push_pool(TableId(0), &[&[0], &[]]).map(drop), "a list is empty");
    refused(&|b| b.push_pool(TableId(0), &[&[3]]).map(drop), "row 3 does not exist: there are 3, from 0");
    refused(&|b| b.push_pool(TableId(2), &[&[0]]).map(drop), "table 2 does not exist: there are 2, from 0");
    let order = |number| format!("list or member of list {number} does not come after the one before it");
    refused(&|b| b.push_pool(TableId(0), &[&[1, 0]]).map(drop), &order(0));
    refused(&|b| b.push_pool(TableId(0), &[&[1], &[1]]).map(drop), &order(1));
    refused(&|b| b.push_keyset_outline(&KeysetOutline { row_count: 0, ..OUTLINE }).map(drop), "a table is empty");
    refused(
        &|b| b.push_keyset_outline(&KeysetOutline { ranges: &[], ..OUTLINE }).map(drop),
        "0 codes are not a multiple of 1 columns",
    );
    refused(
        &|b| b.push_keyset_outline(&KeysetOutline { ranges: &[(0, 3)], ..OUTLINE }).map(drop),
        "code 3 does not exist: there are 3, from 0",
    );
    let unknown = built(Pools).push_keyset_table(&[OF_A, Pool(PoolId(1))], &[0, 0]).unwrap_err();
    assert_eq!(unknown.to_string(), "pool 1 does not exist: there are 1, from 0");
    // The block without a mistake is sound.
    assert!(built(Stage::Keysets).finish(&BlockMeta::default()).is_ok());
}

#[test]
fn meta_out_of_order_is_refused() {
    let refused = |meta: BlockMeta| built(Stage::Keysets).finish(&meta).unwrap_err().to_string();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let labels = |labels: Vec<(String, String)>| BlockMeta { external_labels: labels, ..BlockMeta::default() };
    assert_eq!(
        refused(labels(vec![pair("a", "")])),
        "external label \"a\" has an empty value; leave the label out instead"
    );
    let order = "external labels must be in increasing order, without repetition, with keys of 1 to";
    assert!(refused(labels(vec![pair("b", "1"), pair("a", "1")])).starts_with(order));
    assert!(refused(labels(vec![pair("a", "1"), pair("a", "1")])).starts_with(order));
    assert!(refused(labels(vec![pair("", "1")])).starts_with(order));
}
