//! Series columns of blocks, against plain lists of their values.

use std::collections::BTreeSet;
use std::ops::Range;

use chronoxide_format::checksum::ChunkProofs;
use chronoxide_format::column::{ColumnMerge, Value, ValueType};
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::view::{BlockView, Frame, SeriesColumn};
use chronoxide_format::write::{BlockMeta, BuildError, ColumnWriter, PackedColumn, SectionBytes};
use chronoxide_format::{Error, Rule, SeriesRef};
use chronoxide_testkit::columns::{OwnedValue, column, random_columns};
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::product::product;
use chronoxide_testkit::random::Random;
use proptest::prelude::*;

/// Values of a column, in the order of refs.
type Model = Vec<Option<OwnedValue>>;

fn series(count: usize) -> BTreeSet<Labelset> {
    (0..count).map(|number| [("host".to_owned(), format!("{number:05}"))].into()).collect()
}

fn block(count: usize, columns: Vec<PackedColumn>) -> Result<Vec<u8>, BuildError> {
    let meta = BlockMeta { columns, ..BlockMeta::default() };
    build(&series(count), &Plan::default(), RowForm::BitPacked, &meta)
}

/// Finds the numbers of some ranges: from one value to another, beside them, and beyond all.
fn compare_ranges(
    column: &SeriesColumn<'_>,
    series: Range<usize>,
    model: &Model,
    random: &mut Random,
) -> Result<(), TestCaseError> {
    let number = |value: &Option<OwnedValue>| match value {
        Some(OwnedValue::I64(number)) => Some(i128::from(*number)),
        Some(OwnedValue::U64(number)) => Some(i128::from(*number)),
        Some(OwnedValue::Bytes(_)) | None => None,
    };
    for _ in 0..4 {
        let [low, high] =
            [0; 2].map(|_| match (model.get(random.below(model.len() + 1)).and_then(number), random.below(8)) {
                (_, 0) => [i128::MIN, i128::MAX, -1, 0][random.below(4)],
                (value, _) => value.unwrap_or_default() + random.below(3) as i128 - 1,
            });
        let (values, has_absent) = (low.min(high)..=low.max(high), random.percent(50));
        let is_wanted = |place: usize| match &model[place] {
            None => has_absent,
            value => number(value).is_some_and(|number| values.contains(&number)),
        };
        let mut found = Vec::new();
        let range = SeriesRef(series.start as u32)..SeriesRef(series.end as u32);
        column
            .filter(&values, has_absent)
            .ranges(range, |range| {
                found.extend(range);
                Ok::<(), Error>(())
            })
            .unwrap();
        let expected: Vec<u32> = series.clone().filter(|&place| is_wanted(place)).map(|place| place as u32).collect();
        prop_assert_eq!(found, expected, "{:?} of {}", values, column.name());
    }
    Ok(())
}

/// Checks each way to read a column.
fn compare(view: &BlockView<'_>, name: &str, model: &Model, random: &mut Random) -> Result<(), TestCaseError> {
    let column = view.series_column(name).unwrap().expect("the block has it");
    for (series, expected) in (0..).zip(model) {
        prop_assert_eq!(
            &column.get(SeriesRef(series)).unwrap().map(OwnedValue::from),
            expected,
            "{} of {}",
            series,
            name
        );
    }
    for beyond in [model.len() as u32, u32::MAX] {
        prop_assert_eq!(column.get(SeriesRef(beyond)), Ok(None));
    }
    let some = random.below(model.len() + 1);
    for (start, end) in [(0, model.len() + 9), (some, model.len()), (some / 2, some), (some, some / 2)] {
        let mut found = Vec::new();
        let range = SeriesRef(start as u32)..SeriesRef(end as u32);
        column
            .read(range, |series, value| {
                found.push((series.0, value.map(OwnedValue::from)));
                Ok::<(), Error>(())
            })
            .unwrap();
        let end = end.min(model.len());
        let expected = (start as u32..).zip(model.get(start..end).unwrap_or_default().iter().cloned());
        prop_assert_eq!(found, expected.collect::<Vec<_>>(), "{} to {} of {}", start, end, name);
        compare_ranges(&column, start..end, model, random)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_block_has_the_values_that_were_given(seed: u64, count in 0_usize..700) {
        let mut random = Random::new(seed);
        let (packed, models): (Vec<_>, Vec<_>) = random_columns(count, &mut random).into_iter().unzip();
        let names: Vec<_> = packed.iter().map(|column| column.name().to_owned()).collect();
        let mut shuffled = packed.clone();
        random.shuffle(&mut shuffled);
        let bytes = block(count, shuffled).unwrap();
        prop_assert!(bytes == block(count, packed).unwrap(), "the order in which columns are given shows");
        let view = BlockView::open(&bytes).unwrap();
        let plain = block(count, Vec::new()).unwrap();
        let content = view.verify().unwrap();
        prop_assert_eq!(content, BlockView::open(&plain).unwrap().verify().unwrap());
        let found: Vec<_> = view.series_columns().map(|column| column.unwrap().name().to_owned()).collect();
        prop_assert_eq!(&found, &names);
        prop_assert_eq!(view.column_count() as usize, names.len());
        prop_assert!(view.series_column("column").unwrap().is_none());
        prop_assert_eq!(view.read_only(), None);
        let proofs = ChunkProofs::new(bytes.len());
        let proved = BlockView::with_frame(&bytes, &Frame::parse(&bytes).unwrap(), Some(&proofs));
        for (name, model) in names.iter().zip(&models) {
            compare(&view, name, model, &mut random)?;
            compare(&proved, name, model, &mut random)?;
        }
    }
}

/// Damage to a section is met by readers of its chunks, and not by those of others.
#[test]
fn damage_to_a_column_is_met_where_it_is_read() {
    let golden = goldens().into_iter().find(|golden| golden.name == "columns-groups").expect("a golden block");
    let view = BlockView::open(&golden.bytes).unwrap();
    let sections: Vec<_> =
        view.sections().filter(|section| section.known() == Some(SectionKind::SeriesColumn)).collect();
    assert_eq!(sections.len(), 5);
    let last = sections.last().expect("columns");
    let mut bytes = golden.bytes.clone();
    bytes[(last.offset + last.length) as usize - 1] ^= 1;
    let proofs = ChunkProofs::new(bytes.len());
    let view = BlockView::with_frame(&bytes, &Frame::parse(&bytes).unwrap(), Some(&proofs));
    let first = view.series_column("constant").unwrap().expect("the first column");
    assert_eq!(first.get(SeriesRef(0)), Ok(Some(Value::I64(-7))));
    let texts = view.series_column("texts").map(|texts| texts.expect("the last column").get(SeriesRef(599)));
    let error = texts.flatten().expect_err("its last byte is damaged");
    assert_eq!(error.rule(), Rule::ChunkChecksum);
    assert_eq!(view.verify().expect_err("a byte is damaged").rule(), Rule::ChunkChecksum);
}

/// Values that follow from few of them take few bytes.
#[test]
fn equal_values_take_no_bits_and_few_others_little_more() {
    let bytes = |values: &[Option<Value<'_>>], unit| {
        let name = "chronoxide.first_time";
        column(name, (ValueType::I64, ColumnMerge::Min, unit), values).byte_len() as f64 / values.len() as f64
    };
    let minute = 60_000_000_000;
    let time = |minutes: i64| Some(Value::I64((28_333_334 + minutes) * minute));
    let equal = vec![time(0); 100_000];
    assert!(bytes(&equal, minute as u64) < 0.02, "{}", bytes(&equal, minute as u64));
    // Pods of 130 series; each 20th was there later.
    let churn: Vec<_> = (0..100_000).map(|n| time(if n / 130 % 20 == 0 { n / 130 % 119 } else { 0 })).collect();
    assert!(bytes(&churn, minute as u64) < 0.15, "{}", bytes(&churn, minute as u64));
    let mut random = Random::new(1);
    let scattered: Vec<_> = (0..100_000).map(|_| Some(Value::I64(random.next_u64().cast_signed()))).collect();
    assert!(bytes(&scattered, 1) < 8.05, "{}", bytes(&scattered, 1));
    let outliers: Vec<_> =
        (0..100_000).map(|n| Some(Value::I64(if n % 100 == 7 { i64::MIN } else { n % 4 }))).collect();
    assert!(bytes(&outliers, 1) < 0.25 + 0.09 + 0.06, "{}", bytes(&outliers, 1));
}

#[test]
fn columns_that_are_not_allowed_are_refused() {
    use ColumnMerge::{Or, Same, Sum};
    use ValueType::{Bytes, I64, U64};
    let long = "n".repeat(256);
    for (name, value_type, merge, unit) in [
        ("", U64, Same, 1),
        (&*long, U64, Same, 1),
        ("sum", Bytes, Sum, 1),
        ("or", I64, Or, 1),
        ("or", Bytes, Or, 1),
        ("unit", U64, Same, 0),
        ("unit", I64, Same, 1 << 63),
        ("unit", Bytes, Same, 2),
    ] {
        let error = ColumnWriter::with_unit(name, value_type, merge, unit).expect_err("it is not allowed");
        assert!(matches!(&error, BuildError::SeriesColumn { name: found, .. } if found == name), "{error}");
    }
    let writer = |value_type, unit| ColumnWriter::with_unit(&long[1..], value_type, Same, unit).expect("it is allowed");
    for (mut writer, value) in [
        (writer(U64, 1), Value::I64(1)),
        (writer(I64, 1), Value::Bytes(b"")),
        (writer(U64, 60), Value::U64(61)),
        (writer(I64, 60), Value::I64(-1)),
        (writer(Bytes, 1), Value::Bytes(&[0; 65_536])),
    ] {
        writer.push(Some(value)).expect_err("it is not allowed");
        // Nothing was appended.
        assert_eq!(block(0, vec![writer.finish()]).map(drop), Ok(()));
    }
    let of = |name: &str, count: usize| column(name, (U64, Same, 1), &vec![None; count]);
    for columns in [vec![of("a", 2)], vec![of("a", 4)], vec![of("a", 3), of("b", 3), of("a", 3)]] {
        let error = block(3, columns).expect_err("it is not allowed");
        assert!(error.to_string().starts_with("series column \"a\": "), "{error}");
    }
    assert_eq!(block(3, vec![of("b", 3), of("a", 3)]).map(drop), Ok(()));
}

/// Returns the section of a column of one series whose value is the number or text of number 0.
fn section_of_one(value: Value<'_>) -> Vec<u8> {
    let columns = vec![column("x", (value.value_type(), ColumnMerge::Same, 1), &[Some(value)])];
    let mut editor = BlockEditor::open(&block(1, columns).unwrap());
    editor.section(SectionKind::SeriesColumn).clone()
}

/// A column of a few bytes can have billions of equal values: they are verified as one.
#[test]
fn equal_values_of_very_many_series_are_verified_as_one() {
    let many = product(65_535, "a").unwrap();
    let series = BlockView::open(&many).unwrap().series_count().unwrap();
    assert!(series > 4_000_000_000);
    let with = |change: &dyn Fn(&mut Vec<u8>), value| {
        let mut bytes = section_of_one(value);
        // The header and a name of one byte come before the count of values.
        bytes[17..21].copy_from_slice(&series.to_le_bytes());
        change(&mut bytes);
        let mut editor = BlockEditor::open(&many);
        editor.sections.push(SectionBytes { kind: SectionKind::SeriesColumn.code(), id: 0, bytes });
        editor.close()
    };
    for value in [Value::U64(0), Value::I64(0), Value::Bytes(b"text")] {
        let block = with(&|_| {}, value);
        let view = BlockView::open(&block).unwrap();
        view.verify().unwrap();
        let column = view.series_column("x").unwrap().expect("the block has it");
        for ref_ in [0, 255, 256, series - 1] {
            assert_eq!(column.get(SeriesRef(ref_)), Ok(Some(value)));
        }
    }
    // A text for each series, and all are empty.
    let starts = |bytes: &mut Vec<u8>| {
        let at = bytes.len() - 28;
        bytes[at..at + 4].copy_from_slice(&series.to_le_bytes());
    };
    let block = with(&starts, Value::Bytes(b""));
    assert_eq!(BlockView::open(&block).unwrap().verify().expect_err("one is used").rule(), Rule::ValueTextsUsed);
}
