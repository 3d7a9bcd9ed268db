//! Sections of series columns that no writer makes, with right checksums: each bound of COLUMNS.md, on both sides.

use chronoxide_format::Error;
use chronoxide_format::SeriesRef;
use chronoxide_format::bits::{BitWriter, width};
use chronoxide_format::column::{ColumnMerge, Value, ValueType};
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::{BlockMeta, BuildError, ColumnWriter, SectionBytes, SeriesValues};
use chronoxide_testkit::columns::column;
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::plan::{Plan, build};

/// A group that is written as it stands.
#[derive(Clone, Debug, Default)]
struct Group {
    base: u64,
    common: u64,
    width: u32,
    /// Rows and codes.
    exceptions: Vec<(u8, u64)>,
    exception_width: u32,
    has_absent: bool,
    /// Another start than the right one.
    start: Option<u64>,
    /// Fields of rows, each 0 if there are none.
    fields: Vec<u64>,
}

fn push(writer: &mut BitWriter, field: u64, width: u32) {
    // Fields of more bits than the format allows are zero.
    let mut left = width;
    let mut rest = field;
    while left > 0 {
        let bits = left.min(32);
        writer.push(rest & ((1 << bits) - 1), bits);
        (rest, left) = (rest >> bits, left - bits);
    }
}

/// Takes away the closing bytes of a stream.
fn aligned(writer: BitWriter) -> Vec<u8> {
    let mut bytes = writer.finish();
    bytes.truncate(bytes.len() - 8);
    bytes
}

/// A number array.
fn array(count: u32, groups: &[Group]) -> Vec<u8> {
    let (mut bodies, mut records) = (Vec::new(), Vec::new());
    for (group, first) in groups.iter().zip((0..count).step_by(256)) {
        let start = group.start.unwrap_or(bodies.len() as u64);
        let exceptions = group.exceptions.len() as u64;
        records.push([
            group.base & 0xFFFF_FFFF,
            group.base >> 32,
            group.common,
            group.width.into(),
            exceptions,
            group.exception_width.into(),
            group.has_absent.into(),
            start,
        ]);
        bodies.extend(group.exceptions.iter().map(|&(row, _)| row));
        let mut writer = BitWriter::new();
        group.exceptions.iter().for_each(|&(_, code)| push(&mut writer, code, group.exception_width));
        for row in 0..(count - first).min(256) as usize {
            push(&mut writer, group.fields.get(row).copied().unwrap_or_default(), group.width);
        }
        bodies.extend(aligned(writer));
    }
    let widths: Vec<u32> =
        (0..8).map(|field| records.iter().map(|record| width(record[field])).max().unwrap_or_default()).collect();
    let mut writer = BitWriter::new();
    for record in &records {
        record.iter().zip(&widths).for_each(|(&field, &width)| push(&mut writer, field, width));
    }
    let mut bytes = count.to_le_bytes().to_vec();
    bytes.extend(widths.iter().map(|&width| width as u8));
    bytes.extend((bodies.len() as u64).to_le_bytes());
    bytes.extend(aligned(writer));
    bytes.extend(bodies);
    bytes.extend([0; 8]);
    bytes
}

fn section(value_type: ValueType, name: &str, unit: u64, parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![value_type.code(), ColumnMerge::Max.code()];
    bytes.extend((name.len() as u16).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(unit.to_le_bytes());
    bytes.extend(name.as_bytes());
    parts.iter().for_each(|part| bytes.extend(*part));
    bytes
}

/// A block of `count` series with these sections.
fn block(count: u32, sections: Vec<Vec<u8>>) -> Vec<u8> {
    let series = (0..count).map(|number| [("host".to_owned(), format!("{number:05}"))].into()).collect();
    let plain = build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).expect("it is sound");
    let mut editor = BlockEditor::open(&plain);
    let kind = SectionKind::SeriesColumn.code();
    editor.sections.extend((0..).zip(sections).map(|(id, bytes)| SectionBytes { kind, id, bytes }));
    editor.close()
}

/// The id of the rule that a block breaks, or `ok`.
fn verdict(block: &[u8]) -> &'static str {
    let result = BlockView::open(block).and_then(|view| view.verify());
    result.map_or_else(|error| error.rule().id(), |_| "ok")
}

fn of_unit(unit: u64, group: &Group) -> Vec<u8> {
    block(10, vec![section(ValueType::U64, "x", unit, &[&array(10, std::slice::from_ref(group))])])
}

fn of_group(group: &Group) -> Vec<u8> {
    of_unit(1, group)
}

fn of_texts(values: &Group, starts: &[u64], texts: &[u8]) -> Vec<u8> {
    let starts_of = Group { width: 17, fields: starts.to_vec(), ..Group::default() };
    let values = array(10, std::slice::from_ref(values));
    block(10, vec![section(ValueType::Bytes, "x", 1, &[&values, &array(starts.len() as u32, &[starts_of]), texts])])
}

/// Ten rows: the first has a field, the others none.
fn first(field: u64, width: u32) -> Group {
    Group { width, fields: vec![field], ..Group::default() }
}

#[test]
fn groups_are_held_to_their_bounds() {
    let exceptions = |rows: std::ops::Range<u8>| Group {
        exceptions: rows.map(|row| (row, 1)).collect(),
        exception_width: 1,
        ..Group::default()
    };
    let row_of_exception = |row| Group { exceptions: vec![(3, 1), (row, 1)], exception_width: 1, ..Group::default() };
    let padded = |field| Group { exceptions: vec![(0, 1)], exception_width: 1, ..first(field, 9) };
    let widest = Group { fields: vec![u64::MAX, 1], width: 64, ..Group::default() };
    for (name, group, expected) in [
        ("all rows are exceptions", exceptions(0..10), "ok"),
        ("more exceptions than rows", exceptions(0..11), "value-groups"),
        ("255 exceptions", exceptions(0..255), "value-groups"),
        ("two of one row", row_of_exception(3), "value-groups"),
        ("the last row", row_of_exception(9), "ok"),
        ("a row behind the last", row_of_exception(10), "value-groups"),
        ("64 bits", Group { base: 9, ..widest.clone() }, "ok"),
        ("65 bits", first(0, 65), "value-groups"),
        ("65 bits of no exception", Group { exception_width: 65, ..Group::default() }, "value-groups"),
        ("a code of 65 bits", Group { common: 1, ..widest }, "value-range"),
        ("an exception without a field", padded(0), "ok"),
        ("an exception with a field", padded(1), "value-padding"),
        ("a start that is not 0", Group { start: Some(1), ..Group::default() }, "value-groups"),
    ] {
        assert_eq!(verdict(&of_group(&group)), expected, "{name}");
    }
    assert_eq!(verdict(&of_unit(1 << 63, &Group { base: 1, ..Group::default() })), "ok");
    assert_eq!(verdict(&of_unit(1 << 63, &Group { base: 2, ..Group::default() })), "value-range");
    assert_eq!(verdict(&of_unit(0, &Group::default())), "value-header");
    // Three groups of 32, 32 and 11 bytes.
    let three = |starts: [u64; 3]| {
        let groups = starts.map(|start| Group { start: Some(start), ..first(1, 1) });
        verdict(&block(600, vec![section(ValueType::U64, "x", 1, &[&array(600, &groups)])]))
    };
    assert_eq!(three([0, 32, 64]), "ok");
    for starts in [[0, 0, 64], [0, 32, 32], [0, 32, 63], [0, 32, 65], [0, 32, 1 << 40], [1, 32, 64]] {
        assert_eq!(three(starts), "value-groups", "{starts:?}");
    }
    let mut groups = array(10, &[Group::default()]);
    groups[12] = 1;
    groups.push(0);
    assert_eq!(verdict(&block(10, vec![section(ValueType::U64, "x", 1, &[&groups])])), "value-groups");
    let trailing = section(ValueType::U64, "x", 1, &[&array(10, &[Group::default()]), &[0]]);
    assert_eq!(verdict(&block(10, vec![trailing])), "value-length");
}

/// A code of more than 64 bits is an error of each way to read.
#[test]
fn codes_that_are_too_large_are_not_read() {
    let bytes = of_group(&Group { common: 1, ..first(u64::MAX, 64) });
    let view = BlockView::open(&bytes).expect("its beginning is sound");
    let column = view.series_column("x").expect("its beginning is sound").expect("the block has it");
    assert_eq!(column.get(SeriesRef(0)).map_err(|error| error.rule().id()), Err("value-range"));
    assert_eq!(column.get(SeriesRef(1)), Ok(Some(Value::U64(1))));
    let read = column.read(SeriesRef(0)..SeriesRef(10), |_, _| Ok::<(), Error>(()));
    assert_eq!(read.map_err(|error| error.rule().id()), Err("value-range"));
    let mut filter = column.filter(&(1..=1), false);
    let found = filter.ranges(SeriesRef(0)..SeriesRef(10), |_| Ok::<(), Error>(()));
    assert_eq!(found.map_err(|error| error.rule().id()), Err("value-range"));
}

/// Numbers that are no values in units of the column are not combined: the first ones, and the last ones.
#[test]
fn numbers_that_are_no_values_are_not_combined() {
    let combined = |value_type, unit, group: &Group| {
        let bytes = block(10, vec![section(value_type, "x", unit, &[&array(10, std::slice::from_ref(group))])]);
        let view = BlockView::open(&bytes).expect("its beginning is sound");
        let column = view.series_column("x").expect("its beginning is sound").expect("the block has it");
        let writer = ColumnWriter::with_unit("x", value_type, ColumnMerge::Max, unit).expect("an allowed column");
        let mut values = SeriesValues::new(writer);
        values.combine::<CombineError>(&column, SeriesRef(0), &[Some(0), Some(1)]).map(|()| values.get(0).is_some())
    };
    let based = |base: u64, field| Group { base, ..first(field, 2) };
    let unit = 1 << 62;
    assert_eq!(combined(ValueType::U64, unit, &based(1, 2)), Ok(true));
    assert_eq!(combined(ValueType::U64, unit, &based(1, 3)), Err(CombineError("value-range")));
    assert_eq!(combined(ValueType::U64, unit, &based(u64::MAX, 0)), Err(CombineError("value-range")));
    assert_eq!(combined(ValueType::I64, unit, &based((-2_i64).cast_unsigned(), 3)), Ok(true));
    assert_eq!(combined(ValueType::I64, unit, &based((-3_i64).cast_unsigned(), 0)), Err(CombineError("value-range")));
    assert_eq!(combined(ValueType::I64, unit, &based(0, 2)), Err(CombineError("value-range")));
}

/// The rule of an error.
#[derive(Debug, PartialEq, Eq)]
struct CombineError(&'static str);

impl From<Error> for CombineError {
    fn from(error: Error) -> Self {
        Self(error.rule().id())
    }
}

impl From<BuildError> for CombineError {
    fn from(_: BuildError) -> Self {
        Self("build")
    }
}

/// A group that ends behind the others is not read, although the closing bytes have its bits.
#[test]
fn a_group_outside_is_not_read() {
    let groups = [0, 32, 65].map(|start| Group { start: Some(start), ..first(1, 1) });
    let bytes = block(600, vec![section(ValueType::U64, "x", 1, &[&array(600, &groups)])]);
    let view = BlockView::open(&bytes).expect("its beginning is sound");
    let column = view.series_column("x").expect("its beginning is sound").expect("the block has it");
    assert_eq!(column.get(SeriesRef(511)), Ok(Some(Value::U64(0))));
    assert_eq!(column.get(SeriesRef(599)).map_err(|error| error.rule().id()), Err("value-groups"));
    let read = column.read(SeriesRef(500)..SeriesRef(600), |_, _| Ok::<(), Error>(()));
    assert_eq!(read.map_err(|error| error.rule().id()), Err("value-groups"));
}

#[test]
fn widths_of_records_are_held_to_their_bounds() {
    for (field, most) in [32, 32, 48, 7, 8, 7, 1, 48].into_iter().enumerate() {
        for (width, expected) in [(most, "value-widths"), (most + 1, "value-header"), (255, "value-header")] {
            let mut array = array(10, &[Group::default()]);
            array[4 + field] = width;
            array.extend(vec![0; usize::from(width).div_ceil(8)]);
            let bytes = block(10, vec![section(ValueType::U64, "x", 1, &[&array])]);
            assert_eq!(verdict(&bytes), expected, "field {field} has {width} bits");
        }
    }
}

#[test]
fn unused_bits_are_zero_in_both_arrays() {
    let values = array(10, &[first(1, 1)]);
    let starts = array(3, &[Group { width: 2, fields: vec![0, 1, 3], ..Group::default() }]);
    let codes = section(ValueType::Bytes, "x", 1, &[&values, &starts, b"abb"]);
    // The first series has the second text.
    assert_eq!(verdict(&block(10, vec![codes])), "value-texts-used");
    let fields = Group { width: 1, fields: vec![0, 1, 1, 1, 1, 1, 1, 1, 1, 1], ..Group::default() };
    let values = array(10, &[fields]);
    let of = |values: &[u8], starts: &[u8]| {
        verdict(&block(10, vec![section(ValueType::Bytes, "x", 1, &[values, starts, b"abb"])]))
    };
    assert_eq!(of(&values, &starts), "ok");
    // Records of 1 bit (`width` is 1) and of 2 bits, groups, and closing bytes.
    for (which, at, bit) in
        [(0, 20, 1), (0, 22, 2), (0, 23, 0), (0, 30, 7), (1, 20, 2), (1, 21, 6), (1, 22, 0), (1, 29, 7)]
    {
        let mut arrays = [values.clone(), starts.clone()];
        arrays[which][at] |= 1 << bit;
        assert_eq!(of(&arrays[0], &arrays[1]), "value-padding", "array {which}, byte {at}, bit {bit}");
    }
    let mut wider = starts.clone();
    // The only group starts at 0.
    wider[11] = 1;
    assert_eq!(of(&values, &wider), "value-widths");
}

#[test]
fn texts_are_held_to_their_bounds() {
    let all = |text| Group { base: text, ..Group::default() };
    let in_turn = |fields: [u64; 10]| Group { width: 2, fields: fields.to_vec(), ..Group::default() };
    let none = Group { has_absent: true, ..Group::default() };
    let long = [7; 65_536];
    let first_two = in_turn([0, 0, 0, 1, 1, 1, 1, 1, 1, 1]);
    for (name, values, starts, texts, expected) in [
        ("no text", &none, &[0][..], &b""[..], "ok"),
        ("no array of starts", &none, &[], b"", "value-texts"),
        ("an empty text", &all(0), &[0, 0], b"", "ok"),
        ("a text", &all(0), &[0, 2], b"ab", "ok"),
        ("the longest text", &all(0), &[0, 65_535], &long[1..], "ok"),
        ("a text that is too long", &all(0), &[0, 65_536], &long, "value-texts"),
        ("a text behind the last", &all(1), &[0, 2], b"ab", "value-range"),
        ("text 2^64 - 1 of none", &all(u64::MAX), &[0], b"", "value-range"),
        ("text 2^32 of one", &all(1 << 32), &[0, 2], b"ab", "value-range"),
        ("a first start behind 0", &all(0), &[1, 2], b"ab", "value-texts"),
        ("an end behind the last byte", &all(0), &[0, 3], b"ab", "value-texts"),
        ("starts that fall, of texts without a use", &none, &[0, 2, 1, 3], b"abc", "value-texts"),
        ("as many texts as series", &all(0), &[0; 11], b"", "value-texts-used"),
        ("more texts than series", &all(0), &[0; 12], b"", "value-texts"),
        ("two texts", &first_two, &[0, 1, 2], b"ab", "ok"),
        ("a text twice in turn", &first_two, &[0, 1, 2], b"aa", "value-texts-used"),
        ("a text that comes back", &in_turn([0, 0, 0, 1, 1, 0, 1, 1, 1, 1]), &[0, 1, 2], b"ab", "value-texts-used"),
        ("a text without a use", &all(0), &[0, 1, 2], b"ab", "value-texts-used"),
    ] {
        assert_eq!(verdict(&of_texts(values, starts, texts)), expected, "{name}");
    }
}

#[test]
fn names_are_held_to_their_bounds() {
    let named = |names: &[&str]| {
        let of = |name: &&str| section(ValueType::U64, name, 1, &[&array(10, &[Group::default()])]);
        verdict(&block(10, names.iter().map(of).collect()))
    };
    let long = "n".repeat(256);
    assert_eq!(named(&["a", "b", &long[1..]]), "ok");
    for names in [&["a", "a"][..], &["b", "a"], &[""], &[&long]] {
        assert_eq!(named(names), "value-name", "{names:?}");
    }
}

/// Numbers around 0 and around 2^63 are near each other, counted modulo 2^64.
#[test]
fn the_base_is_behind_the_largest_gap() {
    for centre in [0, i64::MAX] {
        let values: Vec<_> =
            (0..1024).map(|n| Some(Value::U64(centre.cast_unsigned().wrapping_add(n % 4).wrapping_sub(2)))).collect();
        let packed = column("x", (ValueType::U64, ColumnMerge::Max, 1), &values);
        assert!(packed.byte_len() < 1024 / 4 + 128, "{}", packed.byte_len());
    }
    // Without a value twice, and one code of more than 48 bits: no `common` holds it.
    let values: Vec<_> = (0..256_u64).map(|n| Some(Value::U64(if n < 100 { 1 << 63 } else { n << 40 }))).collect();
    let bytes = {
        let series = (0..256).map(|number| [("host".to_owned(), format!("{number:05}"))].into()).collect();
        let columns = vec![column("x", (ValueType::U64, ColumnMerge::Max, 1), &values)];
        build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta { columns, ..BlockMeta::default() })
    };
    assert_eq!(verdict(&bytes.expect("it is sound")), "ok");
}

/// A column of texts whose only text is empty, and one without texts.
#[test]
fn columns_without_bytes_of_texts_are_sound() {
    for value in [None, Some(Value::Bytes(b""))] {
        let series = (0..9).map(|number| [("host".to_owned(), format!("{number:05}"))].into()).collect();
        let columns = vec![column("x", (ValueType::Bytes, ColumnMerge::Max, 1), &[value; 9])];
        let bytes =
            build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta { columns, ..BlockMeta::default() });
        let bytes = bytes.expect("it is sound");
        assert_eq!(verdict(&bytes), "ok");
        let view = BlockView::open(&bytes).expect("it is sound");
        let column = view.series_column("x").expect("it is sound").expect("the block has it");
        assert_eq!(column.get(SeriesRef(8)), Ok(value));
    }
}

#[test]
fn each_way_combines_as_the_text_says() {
    use ColumnMerge::{Drop, Max, Min, Newest, Or, Same, Sum};
    let (one, two) = (Value::U64(0b0101), Value::U64(0b0110));
    for (way, expected) in [
        (Same, None),
        (Min, Some(5)),
        (Max, Some(6)),
        (Sum, Some(11)),
        (Or, Some(7)),
        (Newest, Some(6)),
        (Drop, Some(6)),
    ] {
        assert_eq!(way.combine(one, two), expected.map(Value::U64), "{way}");
    }
    assert_eq!(Max.combine(two, one), Some(two));
    assert_eq!(Min.combine(two, one), Some(one));
    assert_eq!(Same.combine(one, one), Some(one));
    assert_eq!(Sum.combine(Value::U64(u64::MAX), Value::U64(1)), None);
    assert_eq!(Sum.combine(Value::I64(i64::MIN), Value::I64(-1)), None);
    assert_eq!(Min.combine(Value::from("b"), Value::from("aa")), Some(Value::from("aa")));
    assert_eq!(Max.combine(Value::I64(-1), Value::I64(1)), Some(Value::I64(1)));
}
