//! Lists of pools, plain and split, against a plain model: sets of rows.

use std::collections::BTreeSet;

use chronoxide_format::layout::{MAX_UPPER_BITS, RowForm};
use chronoxide_format::view::{BlockView, Domain, Pool};
use chronoxide_format::write::{BlockBuilder, BlockMeta, Records};
use chronoxide_format::{PoolId, Result, Rule, TableId};
use chronoxide_testkit::broken::broken;
use proptest::prelude::*;

/// Builds a block with these lists over the values of a key, one list per series prefix.
fn block(row_count: u32, lists: &[Vec<u32>], form: RowForm) -> Vec<u8> {
    let mut builder = BlockBuilder::new(form);
    let count = (lists.len() as u32).max(row_count);
    let names: Vec<String> = (0..count).map(|number| format!("{number:06}")).chain(["k".into(), "l".into()]).collect();
    let symbols: Vec<_> = names.iter().map(|symbol| builder.push_symbol(symbol).expect("in order")).collect();
    let prefix = builder.push_key(symbols[count as usize], &symbols[..lists.len()]).expect("in order");
    let suffix = builder.push_key(symbols[count as usize + 1], &symbols[..row_count as usize]).expect("in order");
    let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
    let pool = builder.push_pool(TableId(suffix.0), &lists).expect("in order");
    let rows: Vec<u32> = (0..lists.len() as u32).flat_map(|number| [number, number]).collect();
    builder.push_keyset_table(&[Domain::Table(TableId(prefix.0)), Domain::Pool(pool)], &rows).expect("in order");
    builder.finish(&BlockMeta::default()).expect("nothing is wrong with meta")
}

/// Returns the number of low bits of the members of the pool.
fn low_width(block: &[u8]) -> u64 {
    let view = BlockView::open(block).expect("the block is sound");
    Records::from_view(&view).expect("the block is sound").pools[0][3]
}

fn assert_lists(pool: &Pool<'_, '_>, row_count: u32, lists: &[Vec<u32>]) -> Result<()> {
    assert_eq!(pool.list_count() as usize, lists.len());
    let mut all = Vec::new();
    pool.push_members(&mut all)?;
    assert_eq!(all, lists.concat());
    for (number, expected) in (0..).zip(lists) {
        let list = pool.list(number)?;
        let len = expected.len() as u32;
        assert_eq!(list.len(), len);
        assert_eq!(&list.members().collect::<Result<Vec<u32>>>()?, expected);
        for (place, &member) in (0..).zip(expected) {
            assert_eq!(list.get(place)?, member);
        }
        assert_eq!(list.get(len).map_err(|error| error.rule()), Err(Rule::ListMembers));
        for places in [0..len, 1..len, len / 3..len / 2, len / 2..len + 5, len..len + 1] {
            let mut some = Vec::new();
            list.push_some_members(places.clone(), &mut some)?;
            let expected = expected.iter().copied().skip(places.start as usize).take(places.len());
            assert_eq!(some, expected.collect::<Vec<u32>>(), "{places:?}");
        }
        for row in 0..row_count + 3 {
            let expected = expected.binary_search(&row).map(|place| place as u32).map_err(|place| place as u32);
            assert_eq!(list.binary_search(row)?, expected, "row {row}");
            assert_eq!(list.position(row)?, expected.ok(), "row {row}");
        }
        assert_eq!(list.binary_search(u32::MAX)?, Err(len));
        assert_eq!(list.position(u32::MAX)?, None);
    }
    Ok(())
}

/// Distinct lists over some rows, in order; sparse and dense ones.
fn lists() -> impl Strategy<Value = (u32, Vec<Vec<u32>>)> {
    (1..600_u32).prop_flat_map(|row_count| {
        let list =
            (1..row_count + 1).prop_flat_map(move |most| prop::collection::btree_set(0..row_count, 1..=most as usize));
        let lists = prop::collection::btree_set(list.prop_map(|set| set.into_iter().collect::<Vec<u32>>()), 1..12);
        lists.prop_map(move |lists| (row_count, lists.into_iter().collect()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lists_are_read_as_they_were_written((row_count, lists) in lists()) {
        for form in [RowForm::BitPacked, RowForm::FixedWidth] {
            let block = block(row_count, &lists, form);
            let view = BlockView::open(&block).unwrap();
            assert_lists(&view.pool(PoolId(0)).unwrap().unwrap(), row_count, &lists).unwrap();
            let used: BTreeSet<u32> = lists.iter().flatten().copied().collect();
            if used.len() == row_count as usize {
                view.verify().unwrap();
            }
        }
    }
}

#[test]
fn lists_are_split_where_that_saves_bits_and_up_to_a_length() {
    let most_of = |count: u32| (0..count).filter(|row| row % 5 < 3).collect::<Vec<u32>>();
    // A list of 600 of 1,000 rows needs no low bits; one of 1,000 rows is shorter as it is.
    assert_eq!(low_width(&block(1000, &[most_of(1000)], RowForm::BitPacked)), 0);
    assert_eq!(low_width(&block(1000, &[vec![7]], RowForm::BitPacked)), 10);
    // Rows of fixed width are never split.
    assert_eq!(low_width(&block(1000, &[most_of(1000)], RowForm::FixedWidth)), 16);
    // 32,768 of 32,769 rows have as many upper bits as there may be; with a row more, low bits are needed.
    let most = |row_count: u32| low_width(&block(row_count, &[(0..32_768).collect()], RowForm::BitPacked));
    assert_eq!(MAX_UPPER_BITS, 32_768 + 32_768);
    assert_eq!(most(32_769), 0);
    assert_eq!(most(32_770), 1);
}

#[test]
fn a_list_with_as_many_upper_bits_as_there_may_be_is_read() {
    let lists = [(0..32_768).collect(), vec![32_768]];
    let block = block(32_769, &lists, RowForm::BitPacked);
    assert_eq!(low_width(&block), 0);
    let view = BlockView::open(&block).unwrap();
    view.verify().unwrap();
    assert_lists(&view.pool(PoolId(0)).unwrap().unwrap(), 32_769, &lists).unwrap();
}

#[test]
fn places_in_a_list_with_wrong_upper_bits_are_in_the_list() {
    let wrong = broken().into_iter().filter(|broken| ["list-upper", "list-upper--more"].contains(&&*broken.name));
    let mut count = 0;
    for broken in wrong {
        let view = BlockView::open(&broken.bytes).unwrap();
        let list = view.pool(PoolId(1)).unwrap().unwrap().list(0).unwrap();
        for row in 0..6 {
            match list.binary_search(row) {
                Ok(Ok(place)) => assert!(place < list.len(), "{}: row {row}", broken.name),
                Ok(Err(before)) => assert!(before <= list.len(), "{}: row {row}", broken.name),
                Err(error) => assert_eq!(error.rule(), Rule::ListUpper),
            }
        }
        count += 1;
    }
    assert_eq!(count, 2);
}

#[test]
fn a_long_list_is_found_in_many_words() {
    let members: Vec<u32> = (0..2000).map(|number| number * 3 + number % 2).collect();
    let lists = [members.clone(), members[1..].to_vec()];
    let block = block(6001, &lists, RowForm::BitPacked);
    assert!(low_width(&block) < 13);
    let view = BlockView::open(&block).unwrap();
    assert_lists(&view.pool(PoolId(0)).unwrap().unwrap(), 6001, &lists).unwrap();
}
