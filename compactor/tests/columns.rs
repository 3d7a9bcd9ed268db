//! Series columns through merges, against maps of values.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use chronoxide_compactor::engine::{Proof, Unproven};
use chronoxide_compactor::{CompactError, CompactOptions, Compaction, KeptColumns, NoObserver, SCRATCH_MEMORY, Shards};
use chronoxide_format::column::{ColumnMerge, Value, ValueType};
use chronoxide_format::identity::BlockId;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, Job, TimeRange};
use chronoxide_format::write::{BlockMeta, PackedColumn};
use chronoxide_format::{Error, SeriesRef};
use chronoxide_merge_model::{expected, merge_in_memory};
use chronoxide_publish::{Disk, Spool};
use chronoxide_reader::{Block, Checks};
use chronoxide_testkit::columns::{OwnedValue, column};
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::random::{Random, random_plan, random_series};
use proptest::prelude::*;

use crate::support::{pods, random_options, series};

/// Columns that inputs have, with their types and ways to merge.
const COLUMNS: [(&str, ValueType, ColumnMerge); 11] = [
    ("drop", ValueType::U64, ColumnMerge::Drop),
    ("max", ValueType::Bytes, ColumnMerge::Max),
    ("max signed", ValueType::I64, ColumnMerge::Max),
    ("min", ValueType::I64, ColumnMerge::Min),
    ("min unsigned", ValueType::U64, ColumnMerge::Min),
    ("newest", ValueType::Bytes, ColumnMerge::Newest),
    ("newest number", ValueType::I64, ColumnMerge::Newest),
    ("or", ValueType::U64, ColumnMerge::Or),
    ("same", ValueType::U64, ColumnMerge::Same),
    ("sum", ValueType::I64, ColumnMerge::Sum),
    ("sum unsigned", ValueType::U64, ColumnMerge::Sum),
];

/// Values by labels and column.
type Values = BTreeMap<(Labelset, &'static str), OwnedValue>;

/// A block with columns, and its values.
struct Input {
    bytes: Vec<u8>,
    values: Values,
    age: Option<i64>,
}

/// Makes a block with some of the columns. Values of `same` depend on `after`, the labels that series will have.
fn input(labelsets: &BTreeSet<Labelset>, after: &dyn Fn(&Labelset) -> Option<Labelset>, random: &mut Random) -> Input {
    let plan = if random.percent(50) { random_plan(labelsets, random) } else { Plan::default() };
    let age = random.percent(80).then(|| random.below(5) as i64 + 1);
    let time = age.map(|end| TimeRange { start: 0, end });
    let meta = BlockMeta { time, ..BlockMeta::default() };
    let plain = build(labelsets, &plan, RowForm::BitPacked, &meta).expect("sound");
    let by_ref = series(&plain);
    let mut values = Values::new();
    let mut columns: Vec<PackedColumn> = Vec::new();
    for (name, value_type, merge) in COLUMNS {
        if random.percent(30) {
            continue;
        }
        let unit = match merge {
            ColumnMerge::Min | ColumnMerge::Max | ColumnMerge::Sum if value_type != ValueType::Bytes => {
                [1, 4, 6][random.below(3)]
            }
            // Their bits together are no multiples.
            ColumnMerge::Or => [1, 3, 4, 12][random.below(4)],
            _ => 1,
        };
        let known = [0, 50, 100][random.below(3)];
        for labels in &by_ref {
            let number = match merge {
                ColumnMerge::Same => after(labels).map_or(0, |labels| {
                    labels.iter().flat_map(|(name, value)| [name.len(), value.len()]).sum::<usize>()
                }),
                _ => random.below(9),
            };
            let value = match value_type {
                ValueType::I64 => OwnedValue::I64((number as i64 - 4) * unit as i64),
                ValueType::U64 => OwnedValue::U64(number as u64 * unit),
                ValueType::Bytes => OwnedValue::Bytes(vec![b'x'; number]),
            };
            if random.percent(known) {
                values.insert((labels.clone(), name), value);
            }
        }
        let of_refs: Vec<_> =
            by_ref.iter().map(|labels| values.get(&(labels.clone(), name)).map(OwnedValue::as_value)).collect();
        columns.push(column(name, (value_type, merge, unit), &of_refs));
    }
    let meta = BlockMeta { columns, archive: random.percent(30), ..meta };
    let bytes = build(labelsets, &plan, RowForm::BitPacked, &meta).expect("sound");
    Input { bytes, values, age }
}

/// Combines values as the options and the columns say. Returns also those that depend on the order of series within an
/// input.
fn model(inputs: &[Input], options: &CompactOptions) -> (Values, BTreeSet<(Labelset, &'static str)>) {
    let mut by_age: Vec<&Input> = inputs.iter().collect();
    by_age.sort_by_key(|input| (input.age, BlockView::open(&input.bytes).expect("sound").block_id()));
    let (mut merged, mut open) = (Values::new(), BTreeSet::new());
    for input in by_age {
        let mut of_input = BTreeSet::new();
        for ((labels, name), value) in &input.values {
            let (_, _, merge) = COLUMNS.iter().find(|(known, ..)| known == name).expect("a column");
            let Some(after) = expected(labels, options) else { continue };
            // Names that a test keeps or drops have no `*`.
            let KeptColumns { keep, drop } = &options.columns;
            let is_named = |names: &[String]| names.iter().any(|other| other == name);
            if *merge == ColumnMerge::Drop || !keep.is_empty() && !is_named(keep) || is_named(drop) {
                continue;
            }
            let key = (after, *name);
            if *merge == ColumnMerge::Newest && !of_input.insert(key.clone()) {
                open.insert(key.clone());
            } else if *merge == ColumnMerge::Newest {
                open.remove(&key);
            }
            let combined = match merged.get(&key) {
                Some(known) => {
                    OwnedValue::from(merge.combine(known.as_value(), value.as_value()).expect("small numbers"))
                }
                None => value.clone(),
            };
            merged.insert(key, combined);
        }
    }
    (merged, open)
}

/// Reads the values of an output.
fn values(block: &[u8]) -> Values {
    let mut arena = Vec::new();
    let view = BlockView::open_unpacked(block, &mut arena).expect("sound");
    view.verify().expect("sound");
    let by_ref = series(block);
    let mut found = Values::new();
    for column in view.series_columns() {
        let column = column.expect("sound");
        let (name, value_type, merge) =
            *COLUMNS.iter().find(|(name, ..)| *name == column.name()).expect("a column of an input");
        assert_eq!((column.value_type(), column.merge()), (value_type, merge));
        assert_ne!(merge, ColumnMerge::Drop);
        let read = column.read(SeriesRef(0)..SeriesRef(u32::MAX), |series, value| {
            if let Some(value) = value {
                found.insert((by_ref[series.0 as usize].clone(), name), OwnedValue::from(value));
            }
            Ok::<(), Error>(())
        });
        read.expect("sound");
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn values_are_combined_as_a_model_does_it(seed: u64, count in 0_usize..80, number in 1_usize..5) {
        let mut random = Random::new(seed);
        let mut options = random_options(&mut random);
        match random.below(4) {
            0 => options.max_series_per_block = NonZeroU32::new(1 + random.below(30) as u32),
            1 if options.rewrite.is_empty() => {
                options.shards = Some(Shards { by: "pod".to_owned(), count: NonZeroU32::new(3).unwrap(), only: None });
            }
            _ => {}
        }
        options.archive = random.percent(30);
        for names in [&mut options.columns.keep, &mut options.columns.drop] {
            let share = [0, 0, 40][random.below(3)];
            names.extend(COLUMNS.iter().filter(|_| random.percent(share)).map(|(name, ..)| (*name).to_owned()));
        }
        let inputs: Vec<Input> = (0..number)
            .map(|_| {
                let size = random.below(count + 1);
                let labelsets = random_series(size, &mut random);
                input(&labelsets, &|labels| expected(labels, &options), &mut random)
            })
            .collect();
        let mut arenas = vec![Vec::new(); inputs.len()];
        let views: Vec<BlockView<'_>> = (inputs.iter().zip(&mut arenas))
            .map(|(input, arena)| BlockView::open_unpacked(&input.bytes, arena).unwrap())
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(&Disk, folder.path(), SCRATCH_MEMORY);
        let merged = merge_in_memory(&views, &options, random.percent(30), &mut spool).unwrap();
        let mut found = Values::new();
        for output in &merged.outputs {
            let of_output = values(output);
            let before = found.len() + of_output.len();
            found.extend(of_output);
            prop_assert_eq!(found.len(), before, "a series is in two outputs");
        }
        let (mut model, open) = model(&inputs, &options);
        for key in &open {
            prop_assert_eq!(found.remove(key).is_some(), model.remove(key).is_some());
        }
        prop_assert_eq!(found, model);
    }
}

/// A keyset has more series than are followed at a time, and another one begins within a group of 256 values.
#[test]
fn values_of_a_large_keyset_are_combined() {
    let mut labelsets = pods(0..1_800, 0..20);
    labelsets.extend((0..300).map(|job| Labelset::from([("job".to_owned(), format!("job-{job}"))])));
    let others: BTreeSet<Labelset> = labelsets.iter().skip(1_000).cloned().collect();
    let value = |labels: &Labelset, factor: u64| {
        let text: String = labels.values().flat_map(|value| value.chars()).collect();
        text.bytes().fold(factor, |hash, byte| (hash * 31 + u64::from(byte)) % 1_000_003)
    };
    let block = |labelsets: &BTreeSet<Labelset>, factor| {
        let plain = build(labelsets, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).expect("sound");
        let by_ref: Vec<u64> = series(&plain).iter().map(|labels| value(labels, factor)).collect();
        let values: Vec<Option<Value<'_>>> = by_ref.iter().map(|&value| Some(Value::U64(value))).collect();
        let columns = vec![column("x", (ValueType::U64, ColumnMerge::Sum, 1), &values)];
        build(labelsets, &Plan::default(), RowForm::BitPacked, &BlockMeta { columns, ..BlockMeta::default() })
            .expect("sound")
    };
    let blocks = [block(&labelsets, 1), block(&others, 2)];
    let views = blocks.each_ref().map(|block| BlockView::open(block).expect("sound"));
    let merged = Compaction::new(&views, &CompactOptions::default()).merge_to_memory().expect("sums are small").block;
    let by_ref = series(&merged);
    assert_eq!(by_ref.len(), labelsets.len());
    let expected =
        by_ref.iter().map(|labels| Some(value(labels, 1) + if others.contains(labels) { value(labels, 2) } else { 0 }));
    assert!(values_of_x(&merged).into_iter().eq(expected), "sums differ");
}

/// Blocks are ordered by the ends of their times, then by their ids, whatever their order among the inputs.
#[test]
fn the_newest_value_is_that_of_the_newest_block() {
    let labelsets = pods(0..1, 0..1);
    let block = |value: Value<'_>, end: Option<i64>| {
        let merge = ColumnMerge::Newest;
        let columns = vec![column("x", (value.value_type(), merge, 1), &[Some(value)])];
        // A block that begins later can end earlier.
        let time = end.map(|end| TimeRange { start: -end, end });
        build(&labelsets, &Plan::default(), RowForm::BitPacked, &BlockMeta { columns, time, ..BlockMeta::default() })
            .expect("sound")
    };
    for values in [[Value::U64(9), Value::U64(7), Value::U64(8)], [b"z", b"x", b"y"].map(|text| Value::Bytes(text))] {
        for ends in [[None, Some(1), Some(2)], [Some(2), Some(1), Some(3)], [Some(1), Some(2), Some(2)]] {
            let mut blocks: Vec<(Option<i64>, Vec<u8>, Value<'_>)> =
                ends.iter().zip(values).map(|(&end, value)| (end, block(value, end), value)).collect();
            let id = |bytes: &[u8]| BlockView::open(bytes).expect("sound").block_id();
            let newest = blocks.iter().max_by_key(|(end, bytes, _)| (*end, id(bytes))).expect("three").2;
            for _ in 0..3 {
                blocks.rotate_left(1);
                let views: Vec<_> = blocks.iter().map(|(_, bytes, _)| BlockView::open(bytes).expect("sound")).collect();
                let merged =
                    Compaction::new(&views, &CompactOptions::default()).merge_to_memory().expect("sound").block;
                let view = BlockView::open(&merged).expect("sound");
                let column = view.series_column("x").expect("sound").expect("it is there");
                assert_eq!(column.get(SeriesRef(0)), Ok(Some(newest)), "{ends:?}");
            }
        }
    }
}

/// A sum that fits only as a number of units is refused, and so is a signed one.
#[test]
fn sums_must_fit_with_their_unit() {
    let labelsets = pods(0..1, 0..1);
    let block = |value_type, unit, value: Value<'_>| {
        let columns = vec![column("x", (value_type, ColumnMerge::Sum, unit), &[Some(value)])];
        build(&labelsets, &Plan::default(), RowForm::BitPacked, &BlockMeta { columns, ..BlockMeta::default() })
            .expect("sound")
    };
    let most = i64::MAX / 4 * 4;
    for (value_type, first, fits, exceeds) in [
        (ValueType::U64, Value::U64(u64::MAX - 7), Value::U64(4), Value::U64(8)),
        (ValueType::I64, Value::I64(most - 4), Value::I64(4), Value::I64(8)),
        (ValueType::I64, Value::I64(i64::MIN + 4), Value::I64(-4), Value::I64(-8)),
    ] {
        for (other, is_held) in [(fits, true), (exceeds, false)] {
            let blocks = [block(value_type, 4, first), block(value_type, 4, other)];
            let views = blocks.each_ref().map(|block| BlockView::open(block).expect("sound"));
            let merged = Compaction::new(&views, &CompactOptions::default()).merge_to_memory();
            let is_refused = matches!(merged, Err(CompactError::Column { .. }));
            assert_eq!((merged.is_ok(), is_refused), (is_held, !is_held), "{first} and {other}");
        }
    }
}

#[test]
fn columns_that_differ_and_values_that_cannot_be_combined_are_refused() {
    let labelsets = pods(0..2, 0..2);
    let block = |value_type, merge, value: Value<'_>| {
        let columns = vec![column("x", (value_type, merge, 1), &[Some(value); 4])];
        let meta = BlockMeta { columns, ..BlockMeta::default() };
        build(&labelsets, &Plan::default(), RowForm::BitPacked, &meta).expect("sound")
    };
    let max = block(ValueType::U64, ColumnMerge::Max, Value::U64(1));
    let merge = |blocks: [&[u8]; 3]| {
        let views = blocks.map(|block| BlockView::open(block).expect("sound"));
        Compaction::new(&views, &CompactOptions::default()).merge_to_memory().map(|merged| values_of_x(&merged.block))
    };
    for other in [
        block(ValueType::U64, ColumnMerge::Min, Value::U64(1)),
        block(ValueType::I64, ColumnMerge::Max, Value::I64(1)),
        block(ValueType::U64, ColumnMerge::Drop, Value::U64(1)),
    ] {
        let error = merge([&max, &max, &other]).expect_err("they differ");
        assert!(matches!(&error, CompactError::ColumnsDiffer { input: 2, other: 0, name } if name == "x"), "{error}");
        assert!(error.to_string().contains("input 3") && error.to_string().contains("input 1"), "{error}");
    }
    let same = |number| block(ValueType::U64, ColumnMerge::Same, Value::U64(number));
    assert_eq!(merge([&same(7), &same(7), &same(7)]).expect("they are the same"), [Some(7); 4]);
    let sum = |number| block(ValueType::U64, ColumnMerge::Sum, Value::U64(number));
    for blocks in [[same(7), same(7), same(8)], [sum(u64::MAX), sum(0), sum(1)]] {
        let error = merge([&blocks[0], &blocks[1], &blocks[2]]).expect_err("they cannot be combined");
        assert!(matches!(error, CompactError::Column { .. }), "{error}");
        assert!(error.to_string().contains("\"x\""), "{error}");
    }
}

fn values_of_x(block: &[u8]) -> Vec<Option<u64>> {
    let view = BlockView::open(block).expect("sound");
    let column = view.series_column("x").expect("sound").expect("the block has it");
    let value = |series| match column.get(SeriesRef(series)).expect("sound") {
        Some(Value::U64(number)) => Some(number),
        None => None,
        Some(other) => panic!("{other}"),
    };
    (0..view.series_count().expect("sound")).map(value).collect()
}

/// Patterns that end in `*` stand for all names that begin so. Those without a column are named.
#[test]
fn columns_are_kept_and_dropped_by_patterns() {
    let labelsets = pods(0..2, 0..2);
    let names = ["chunks/1", "chunks/2", "hash", "times"];
    let kind = (ValueType::U64, ColumnMerge::Max, 1);
    let columns = names.iter().map(|name| column(name, kind, &[Some(Value::U64(1)); 4])).collect();
    let meta = BlockMeta { columns, ..BlockMeta::default() };
    let block = build(&labelsets, &Plan::default(), RowForm::BitPacked, &meta).expect("sound");
    for (keep, drop, expected, unmatched) in [
        (&["chunks/*"][..], &[][..], &["chunks/1", "chunks/2"][..], &[][..]),
        (&[], &["chunks/*", "hash*"], &["times"], &[]),
        (&["*"], &["chunks/1"], &["chunks/2", "hash", "times"], &[]),
        (
            &["chunks/*", "times", "time"],
            &["chunks/2", "x*"],
            &["chunks/1", "times"],
            &[r#"keep column "time""#, r#"drop column "x*""#],
        ),
        (&["chunk"], &[], &[], &[r#"keep column "chunk""#]),
    ] {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let columns = KeptColumns { keep: owned(keep), drop: owned(drop) };
        let options = CompactOptions { columns, ..CompactOptions::default() };
        let views = [BlockView::open(&block).expect("sound")];
        let merged = Compaction::new(&views, &options).merge_to_memory().expect("sound");
        let view = BlockView::open(&merged.block).expect("sound");
        let found: Vec<&str> = view.series_columns().map(|column| column.expect("sound").name()).collect();
        assert_eq!(found, expected, "{keep:?} {drop:?}");
        assert_eq!(merged.summary.unmatched, unmatched);
    }
}

/// Memory for values counts: a merge that could exceed the limit is refused before it begins.
#[test]
fn columns_count_for_the_limit_of_memory() {
    let labelsets = pods(0..400, 0..30);
    let meta = |columns| BlockMeta { columns, ..BlockMeta::default() };
    let of = |columns| build(&labelsets, &Plan::default(), RowForm::BitPacked, &meta(columns)).expect("sound");
    let plain = of(Vec::new());
    let count = labelsets.len();
    let names: Vec<String> = (0..100).map(|number| format!("column-{number:03}")).collect();
    let kind = (ValueType::U64, ColumnMerge::Max, 1);
    let wide = of(names.iter().map(|name| column(name, kind, &vec![Some(Value::U64(1)); count])).collect());
    let needed = |block: &[u8]| {
        let views = [BlockView::open(block).expect("sound")];
        let options = CompactOptions { memory_limit: Some(1), ..CompactOptions::default() };
        match Compaction::new(&views, &options).check_memory() {
            Err(CompactError::Memory { needed, .. }) => needed,
            other => panic!("{other:?}"),
        }
    };
    assert!(needed(&wide) > needed(&plain) + 100 * 8 * count as u64);
    assert!(needed(&wide) < needed(&plain) + 100 * (100 * count as u64 + 10_000), "few series take little memory");
}

/// Pieces of a block are combined in their order, whatever their ids and times are.
#[test]
fn pieces_are_combined_as_if_the_block_had_not_been_cut() {
    let labelsets = pods(0..1, 0..1);
    let piece = |number: u64| {
        let columns = [("newest", ColumnMerge::Newest), ("dropped", ColumnMerge::Drop)];
        let columns =
            columns.map(|(name, merge)| column(name, (ValueType::U64, merge, 1), &[Some(Value::U64(number))]));
        let time = Some(TimeRange { start: 0, end: 100 - number as i64 });
        let meta = BlockMeta { columns: columns.to_vec(), time, ..BlockMeta::default() };
        build(&labelsets, &Plan::default(), RowForm::BitPacked, &meta).expect("sound")
    };
    let pieces: Vec<Vec<u8>> = (0..5).map(piece).collect();
    let views: Vec<BlockView<'_>> = pieces.iter().map(|piece| BlockView::open(piece).expect("sound")).collect();
    let values = |are_pieces| {
        let options = CompactOptions { are_pieces, ..CompactOptions::default() };
        let merged = Compaction::new(&views, &options).merge_to_memory().expect("sound").block;
        let view = BlockView::open(&merged).expect("sound");
        let value =
            |name| view.series_column(name).expect("sound").and_then(|column| column.get(SeriesRef(0)).expect("sound"));
        [value("newest"), value("dropped")].map(|value| value.map(|value| value.to_string()))
    };
    assert_eq!(values(true), [Some("4".to_owned()), Some("4".to_owned())]);
    assert_eq!(values(false), [Some("0".to_owned()), None], "the first piece ends last");
}

/// Inputs are deleted after a proof that the outputs hold their values, too.
#[test]
fn outputs_without_a_value_are_no_proof() {
    use ColumnMerge::{Drop, Max, Min, Newest, Or, Same, Sum};
    let folder = tempfile::tempdir().expect("a folder");
    let labelsets = pods(0..3, 0..4);
    let put = |name: &str, columns: Vec<PackedColumn>| {
        let meta = BlockMeta { columns, ..BlockMeta::default() };
        let bytes = build(&labelsets, &Plan::default(), RowForm::BitPacked, &meta).expect("sound");
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path
    };
    let open = |path: &std::path::Path| Block::read(path, Checks::Lazy);
    let proof = Proof { system: &Disk, open: &open, memory_limit: None, external_labels: &[], observer: &NoObserver };
    let values = |merge, number: Option<u64>| {
        // The last series has another value.
        let mut values = vec![number.map(Value::U64); 12];
        values[11] = Some(Value::U64(6));
        vec![column("x", (ValueType::U64, merge, 1), &values)]
    };
    for (merge, held, not_held) in [
        (Same, Some(5), vec![Some(4), Some(6), None]),
        (Min, Some(4), vec![Some(6), None]),
        (Max, Some(7), vec![Some(4), None]),
        (Or, Some(7), vec![Some(2), None]),
        (Sum, Some(11), vec![None]),
        (Newest, Some(1), vec![None]),
        (Drop, None, vec![]),
    ] {
        let input = put("input.cx", values(merge, Some(5)));
        let prove = |columns| {
            let output = put("output.cx", columns);
            proof.prove(folder.path(), &[output], std::slice::from_ref(&input))
        };
        for columns in [values(merge, Some(5)), values(merge, held)] {
            prove(columns).expect("the output holds it");
        }
        let mut lacking: Vec<_> = not_held.into_iter().map(|number| values(merge, number)).collect();
        if merge != Drop {
            let other = if merge == Max { Min } else { Max };
            lacking.extend([Vec::new(), values(other, Some(5))]);
        }
        for columns in lacking {
            let error = prove(columns).expect_err("a value is lost");
            let is_column = matches!(&error, Unproven::Column { path, name } if *path == input && name == "x");
            assert!(is_column && error.is_final(), "{merge}: {error}");
        }
    }
}

/// With all parents there, their values are combined again: an output must have the values that this gives.
#[test]
fn values_of_outputs_are_those_of_their_parents() {
    use ColumnMerge::{Max, Min, Newest, Or, Same, Sum};
    let folder = tempfile::tempdir().expect("a folder");
    let labelsets = pods(0..3, 0..4);
    let put = |name: &str, meta: BlockMeta| {
        let bytes = build(&labelsets, &Plan::default(), RowForm::BitPacked, &meta).expect("sound");
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes).expect("a file");
        (path, BlockView::open(&bytes).expect("sound").block_id())
    };
    let open = |path: &std::path::Path| Block::read(path, Checks::Lazy);
    let proof = Proof { system: &Disk, open: &open, memory_limit: None, external_labels: &[], observer: &NoObserver };
    for (merge, older, newer, right, wrong) in [
        (Min, 5, 9, 5, [4, 9]),
        (Max, 5, 9, 9, [5, 10]),
        (Or, 1, 4, 5, [4, 7]),
        (Sum, 5, 9, 14, [13, 15]),
        (Newest, 5, 9, 9, [5, 8]),
        (Same, 5, 5, 5, [4, 6]),
    ] {
        let values = |number| vec![column("x", (ValueType::U64, merge, 1), &vec![Some(Value::U64(number)); 12])];
        let input = |name, number, end| {
            let time = Some(TimeRange { start: 0, end });
            put(name, BlockMeta { columns: values(number), time, ..BlockMeta::default() })
        };
        let blocks = [input("newer.cx", newer, 20), input("older.cx", older, 10), input("copy.cx", newer, 20)];
        let (inputs, ids): (Vec<_>, BTreeSet<_>) = blocks.into_iter().unzip();
        assert_eq!(ids.len(), 2);
        let prove = |number, parents: BTreeSet<BlockId>| {
            let time = Some(TimeRange { start: 0, end: 20 });
            let job = Some(Job { id: [1; 16], output: 0, output_count: 1 });
            let parents = parents.into_iter().collect();
            let meta = BlockMeta { columns: values(number), time, job, parents, ..BlockMeta::default() };
            proof.prove(folder.path(), &[put("output.cx", meta).0], &inputs)
        };
        prove(right, ids.clone()).expect("it is their value");
        for number in wrong {
            let error = prove(number, ids.clone()).expect_err("another value");
            assert!(matches!(&error, Unproven::Column { name, .. } if name == "x"), "{merge} {number}: {error}");
        }
    }
}
