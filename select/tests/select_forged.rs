//! Queries of blocks that were forged, with right checksums: they end soon, in little memory, and without a panic.

use std::collections::BTreeSet;
use std::fs;

use chronoxide_format::identity::{Fingerprint, LabelHasher};
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::view::{BlockView, Domain, FindError};
use chronoxide_format::write::{BlockBuilder, BlockMeta};
use chronoxide_format::{KeyId, Rule, SeriesRef, SymbolId, TableId};
use chronoxide_reader::Checks;
use chronoxide_select::{BlockSet, Index, Labels, Matcher, Operator, Searcher, SelectError, Selection};
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{KeysetPlan, Labelset, Plan, Source, build, key};
use chronoxide_testkit::product::product;
use chronoxide_testkit::sweep;

fn matcher(name: &str, operator: Operator, value: &str) -> Matcher {
    Matcher::new(name, operator, value).expect("valid")
}

fn labels<const N: usize>(pairs: [(&str, &str); N]) -> Labelset {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn block(series: &BTreeSet<Labelset>, plan: &Plan) -> Vec<u8> {
    build(series, plan, RowForm::BitPacked, &BlockMeta::default()).expect("the plan is valid")
}

/// Asserts that a forged block has no index, and why.
fn refused(forged: &[u8], rule: Rule) {
    let view = BlockView::open(forged).expect("opening reads little");
    match Index::new(&view).map(|_| ()) {
        Err(SelectError::Block(error)) => assert_eq!(error.rule(), rule),
        other => panic!("{other:?}"),
    }
}

/// Builds a block whose catalogue names one pool of `lists` lists `pools` times.
fn one_pool_many_times(lists: u32, pools: usize) -> Vec<u8> {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let values: Vec<SymbolId> =
        (0..lists).map(|n| builder.push_symbol(&format!("{n:06}")).expect("in order")).collect();
    let names = ["a", "b"].map(|name| builder.push_symbol(name).expect("in order"));
    for name in names {
        builder.push_key(name, &values).expect("values are sorted");
    }
    let members: Vec<[u32; 1]> = (0..lists).map(|member| [member]).collect();
    let members: Vec<&[u32]> = members.iter().map(|list| &list[..]).collect();
    let pool = builder.push_pool(TableId(1), &members).expect("the lists differ");
    let rows: Vec<u32> = (0..lists).flat_map(|row| [row, row]).collect();
    builder.push_keyset_table(&[Domain::Table(TableId(0)), Domain::Pool(pool)], &rows).expect("rows are sorted");
    let mut editor = BlockEditor::open(&builder.finish(&BlockMeta::default()).expect("within limits"));
    let pool = editor.records.pools[0];
    editor.records.pools.resize(pools, pool);
    editor.repack();
    editor.close()
}

#[test]
fn pools_that_share_their_bytes_are_damage() {
    // Queries take memory per list of each pool that they meet.
    let sound = one_pool_many_times(1000, 1);
    assert!(Index::new(&BlockView::open(&sound).expect("sound")).is_ok());
    let forged = one_pool_many_times(1000, 2000);
    assert!(forged.len() < 100_000, "{}", forged.len());
    refused(&forged, Rule::MembersExtent);
}

#[test]
fn a_pool_with_more_lists_than_bits_is_damage() {
    let mut editor = BlockEditor::open(&product(1000, "a").expect("within limits"));
    // Without members, the ends of lists take no bits.
    editor.records.pools[0][1] = u32::MAX.into();
    editor.records.pools[0][2] = 0;
    editor.repack();
    refused(&editor.close(), Rule::PoolLists);
    // With as many members as lists, the ends do not fit.
    let mut editor = BlockEditor::open(&product(1000, "a").expect("within limits"));
    editor.records.pools[0][1] = u32::MAX.into();
    editor.records.pools[0][2] = u32::MAX.into();
    editor.repack();
    refused(&editor.close(), Rule::MembersExtent);
}

#[test]
fn keys_that_share_a_long_name_are_damage() {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let name = builder.push_symbol(&"n".repeat(2_000)).expect("in order");
    let value = builder.push_symbol("value").expect("in order");
    builder.push_key(name, &[value]).expect("values are sorted");
    builder.push_keyset(&[KeyId(0)], &[0]).expect("one series");
    let mut editor = BlockEditor::open(&builder.finish(&BlockMeta::default()).expect("within limits"));
    let key = editor.records.keys[0];
    editor.records.keys.resize(1_000, key);
    editor.repack();
    refused(&editor.close(), Rule::KeysOrder);
}

/// Repeats the last keyset and its table `count` times.
fn repeat_keyset(editor: &mut BlockEditor, count: u64) {
    let (table, keyset) = (editor.records.tables[..].last(), editor.records.keysets.last());
    let (Some(&table), Some(&keyset)) = (table, keyset) else { panic!("a block with a keyset") };
    for number in 1..=count {
        editor.records.tables.push(table);
        editor.records.keysets.push([keyset[0] + number * table[0], keyset[1]]);
    }
    editor.repack();
}

#[test]
fn tables_that_share_their_bytes_are_damage() {
    let value = |number: u32| number.to_string();
    let series = (0..64).map(|number| labels([("a", &value(number)), ("b", &value(number * 7 % 64))])).collect();
    let mut plan = Plan { tables: vec![vec![key("a"), key("b")]], ..Plan::default() };
    let keyset = KeysetPlan { columns: vec![Source::Table(0)], list: None };
    plan.keysets.insert(vec!["a".to_owned(), "b".to_owned()], keyset);
    let mut editor = BlockEditor::open(&block(&series, &plan));
    repeat_keyset(&mut editor, 5_000);
    refused(&editor.close(), Rule::TableExtent);
}

#[test]
fn more_labels_than_bytes_are_refused_and_take_down_one_block_only() {
    let names: Vec<String> = (0..1000).map(|number| format!("k{number:04}")).collect();
    let labelset = |value: &str| names.iter().map(|name| (name.clone(), value.to_owned())).collect();
    let mut plan = Plan { tables: vec![names.iter().map(|name| key(name)).collect()], ..Plan::default() };
    plan.keysets.insert(names.clone(), KeysetPlan { columns: vec![Source::Table(0)], list: None });
    let mut editor = BlockEditor::open(&block(&BTreeSet::from([labelset("v"), labelset("w")]), &plan));
    repeat_keyset(&mut editor, 20_000);
    let forged = editor.close();
    let index = Index::new(&BlockView::open(&forged).expect("opening reads little")).map(|_| ());
    assert!(matches!(index, Err(SelectError::TooManyLabels { .. })), "{index:?}");

    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("forged.cx"), forged).expect("a file");
    let sound = block(&BTreeSet::from([labels([("a", "v")])]), &Plan::default());
    fs::write(folder.path().join("sound.cx"), sound).expect("a file");
    let set = BlockSet::read(folder.path(), Checks::Lazy).expect("a folder");
    let selection = set.query().select(&[matcher("a", Operator::Equal, "v")]).expect("the query goes on");
    assert_eq!((selection.count(), selection.failed().len()), (1, 1));
}

/// Builds a block with `levels` tables, each of `columns` columns that all lead to the table before it.
fn nested(levels: u64, columns: usize) -> Vec<u8> {
    let mut plan = Plan { tables: vec![vec![key("a"), key("b")]], ..Plan::default() };
    let keyset = KeysetPlan { columns: vec![Source::Table(0), key("c")], list: None };
    plan.keysets.insert(["a", "b", "c"].map(str::to_owned).to_vec(), keyset);
    let mut editor = BlockEditor::open(&block(&BTreeSet::from([labels([("a", "v"), ("b", "v"), ("c", "v")])]), &plan));
    let first_inner = editor.records.keys.len() as u64;
    let records = &mut editor.records;
    let (keyset_table, mut keyset_shape) = (records.tables.remove(1), records.shapes.remove(1));
    let (table, shape) = (records.tables[0], records.shapes[0].clone());
    for level in 0..levels {
        let mut shape = shape.clone();
        shape.columns = vec![shape.columns[0]; columns];
        // One more than the number of the table.
        shape.columns.iter_mut().for_each(|column| column[0] = first_inner + level + 1);
        shape.leaves = vec![0, 0];
        records.tables.push(table);
        records.shapes.push(shape);
    }
    keyset_shape.columns[0][0] = first_inner + levels + 1;
    records.tables.push(keyset_table);
    records.shapes.push(keyset_shape);
    records.place_shapes();
    editor.repack();
    editor.close()
}

#[test]
fn tables_that_lead_to_a_key_again_and_again_are_damage() {
    refused(&nested(1, 600), Rule::LeavesOrder);
    refused(&nested(14, 1), Rule::TableDepth);
    // A search without an index would visit columns ^ levels columns: for hours.
    for (levels, columns) in [(3, 700), (5, 1000), (8, 1000)] {
        let forged = nested(levels, columns);
        let view = BlockView::open(&forged).expect("opening reads little");
        let found = view.find([("a", "v"), ("b", "v"), ("c", "v")]);
        let Err(FindError::Block(error)) = found else { panic!("{found:?}") };
        assert_eq!(error.rule(), Rule::LeavesOrder, "{levels} levels of {columns}");
    }
}

#[test]
fn refs_stay_within_the_block() {
    let mut editor = BlockEditor::open(&product(40, "a").expect("within limits"));
    editor.records.keysets[0][0] = 100;
    editor.repack();
    let forged = editor.close();
    let view = BlockView::open(&forged).expect("opening reads little");
    let index = Index::new(&view).expect("the catalogue is sound");
    let selection = Searcher::new(&view, &index).select(&[matcher("a", Operator::Matches, "00000.")]);
    let selection = selection.expect("wrong, but within bounds");
    assert!(selection.ranges().all(|refs| refs.end.0 <= 100), "{selection:?}");
}

#[test]
fn wrong_counts_of_series_do_no_harm_to_groups() {
    let mut editor = BlockEditor::open(&product(40, "a").expect("within limits"));
    let anchors = editor.records.keysets[0][1] * 8;
    // The second anchor: 50 series instead of 640.
    editor.set_bits(SectionKind::Members, anchors + 11, 11, 50);
    let forged = editor.close();
    let view = BlockView::open(&forged).expect("opening reads little");
    let index = Index::new(&view).expect("the catalogue is sound");
    let searcher = Searcher::new(&view, &index);
    let selection: Selection = (60..70).map(SeriesRef).collect();
    for labels in [Labels::By(&["b"]), Labels::By(&["a"]), Labels::All] {
        let groups = searcher.group(&selection, labels);
        assert!(groups.is_ok_and(|groups| groups.numbers().len() <= 10));
        assert!(searcher.fingerprints(&selection, labels).is_ok_and(|all| all.len() <= 10));
    }
}

#[test]
fn a_file_with_the_id_of_another_gets_an_index_of_its_own() {
    let first = BTreeSet::from([labels([("a", "1")]), labels([("b", "1")])]);
    let second = BTreeSet::from([labels([("a", "1"), ("b", "1")]), labels([("b", "1")])]);
    let [first, second] = [first, second].map(|series| block(&series, &Plan::default()));
    let id = BlockView::open(&first).expect("sound").block_id();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.cx");
    fs::write(&path, &first).expect("a file");
    let set = BlockSet::read(folder.path(), Checks::Lazy).expect("a folder");
    let (a, b) = (matcher("a", Operator::Equal, "1"), matcher("b", Operator::Equal, "1"));
    assert_eq!(set.query().select(std::slice::from_ref(&a)).expect("no limits").count(), 1);
    fs::write(&path, BlockEditor::open(&second).with_id(id).close()).expect("a file");
    let again = BlockSet::read(folder.path(), Checks::Lazy).expect("a folder").with_indexes_of(&set);
    assert_eq!(again.query().select(&[a, b]).expect("no limits").count(), 1);
    assert_eq!(again.query().find(&[("a", "1"), ("b", "1")]).expect("names differ").found.len(), 1);
}

/// Flips bits in the rows: a hash of a series that cannot be read would let comparisons call two damaged
/// blocks equal.
#[test]
fn series_that_cannot_be_read_have_neither_hashes_nor_groups() {
    let (mut hashed, mut damaged) = (0, 0);
    for golden in goldens().iter().filter(|golden| ["lists-bitpacked", "chain-bitpacked"].contains(&golden.name)) {
        let block = BlockEditor::open(&golden.bytes);
        for bit in sweep::by_turns(0..block.clone().section(SectionKind::Rows).len() * 8, 0, 3) {
            let mut block = block.clone();
            block.section(SectionKind::Rows)[bit / 8] ^= 1 << (bit % 8);
            let forged = block.close();
            let Ok(view) = BlockView::open(&forged) else { continue };
            let (Ok(index), Ok(count)) = (Index::new(&view), view.series_count()) else { continue };
            let searcher = Searcher::new(&view, &index);
            let all = Selection::from_range(SeriesRef(0)..SeriesRef(count));
            let expected: Result<Vec<Fingerprint>, _> = all.iter().map(|series| fingerprint(&view, series)).collect();
            let case = format!("{}: bit {bit}", golden.name);
            let grouped = searcher
                .group(&all, Labels::All)
                .and_then(|groups| (0..groups.count()).try_for_each(|group| groups.labels(&view, group).map(drop)));
            match (expected, searcher.fingerprints(&all, Labels::All), grouped) {
                (Ok(expected), Ok(found), Ok(())) => {
                    assert_eq!(found, expected, "{case}");
                    hashed += 1;
                }
                (_, Err(found), Err(_)) => {
                    assert!(matches!(found, SelectError::Block(_)), "{case}: {found}");
                    damaged += 1;
                }
                found => panic!("{case}: {found:?}"),
            }
        }
    }
    assert!(hashed >= 10 && damaged >= 10, "{hashed} hashed, {damaged} damaged");
}

/// Returns the fingerprint of the labels of a series.
fn fingerprint(view: &BlockView<'_>, series: SeriesRef) -> Result<Fingerprint, chronoxide_format::Error> {
    let mut product = Fingerprint::ONE;
    for label in view.series(series)?.expect("in range").labels() {
        let label = label?;
        product = product * LabelHasher::new(label.name).label(label.value);
    }
    Ok(product)
}
