//! Golden and broken blocks with series columns (COLUMNS.md).

use std::collections::BTreeSet;

use chronoxide_format::Rule;
use chronoxide_format::column::{ColumnMerge, Value, ValueType};
use chronoxide_format::layout::{SectionKind, VALUE_GROUP};
use chronoxide_format::write::{BlockMeta, ColumnWriter, PackedColumn, SectionBytes};

use crate::editor::BlockEditor;
use crate::golden::{Golden, small, with_meta};
use crate::plan::Labelset;
use crate::random::Random;

/// Name of the golden block with a column of each way to merge.
pub(crate) const COLUMNS: &str = "columns";

/// Nanoseconds of a minute.
const MINUTE: u64 = 60_000_000_000;

/// Blocks with series columns, in the order of their names.
pub(crate) fn goldens() -> Vec<Golden> {
    let with = |columns| BlockMeta { columns, ..BlockMeta::default() };
    let many = many_groups();
    let groups = groups(many.len());
    vec![
        with_meta("chunks", small(), &with(chunk_lists())),
        with_meta(COLUMNS, small(), &with(each_way())),
        with_meta("columns-groups", many, &with(groups)),
    ]
}

/// Packs values.
///
/// # Panics
/// If the column is not allowed.
#[must_use]
pub fn column(
    name: &str,
    (value_type, merge, unit): (ValueType, ColumnMerge, u64),
    values: &[Option<Value<'_>>],
) -> PackedColumn {
    let mut writer = ColumnWriter::with_unit(name, value_type, merge, unit).expect("an allowed column");
    values.iter().for_each(|&value| writer.push(value).expect("an allowed value"));
    writer.finish()
}

/// Chunk lists of two folders (CHUNKS.md): the example of that text, a single chunk, chunks that overlap in their
/// order, and series without chunks.
fn chunk_lists() -> Vec<PackedColumn> {
    use ValueType::{Bytes, I64, U64};
    /// Reference of the first chunk, differences of references, time of the first chunk, times, deletions.
    type Chunks = (u64, &'static [u8], i64, &'static [u8], &'static [u8]);
    const NONE: Option<Chunks> = None;
    let example: Chunks = (8, &[8, 200, 100], 7, &[3, 200, 1, 20], &[]);
    let single: Chunks = (1 << 32 | 8, &[], -5, &[1], &[9, 0, 20, 3]);
    let overlapping: Chunks = (500, &[5, 31], 1_700_000_000_000, &[2, 20, 3], &[]);
    let folders = [
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", [Some(example), Some(single), NONE, NONE, NONE, Some(overlapping)]),
        ("01BX5ZZKBKACTAV9WEVGEMMVRZ", [NONE, Some(example), NONE, Some(single), NONE, NONE]),
    ];
    let mut columns = Vec::new();
    for (folder, chunks) in folders {
        let mut add = |name: &str, value_type, value: &dyn Fn(&Chunks) -> Option<Value<'static>>| {
            let values: Vec<_> = (0..10).map(|at| chunks.get(at).and_then(|chunks| value(chunks.as_ref()?))).collect();
            let name = format!("prometheus.{name}/{folder}");
            columns.push(column(&name, (value_type, ColumnMerge::Same, 1), &values));
        };
        add("chunks", U64, &|chunks| Some(Value::U64(chunks.0)));
        add("chunk_distances", Bytes, &|chunks| Some(Value::Bytes(chunks.1)));
        add("chunk_start", I64, &|chunks| Some(Value::I64(chunks.2)));
        add("chunk_times", Bytes, &|chunks| Some(Value::Bytes(chunks.3)));
        add("deletions", Bytes, &|chunks| (!chunks.4.is_empty()).then_some(Value::Bytes(chunks.4)));
    }
    columns
}

/// A column of each way to merge, for ten series: numbers around 0 and of all bits, times that are mostly equal,
/// texts that are equal, empty and not UTF-8, values that are absent, and a column without values.
fn each_way() -> Vec<PackedColumn> {
    use ColumnMerge::{Drop, Max, Min, Newest, Or, Same, Sum};
    use ValueType::{Bytes, I64, U64};
    let start = 1_700_000_040_000_000_000_i64;
    let minute = |after: i64| Some(Value::I64(start + after * 60_000_000_000));
    let bytes = |text: &'static [u8]| Some(Value::Bytes(text));
    let texts = [
        bytes(b"a"),
        bytes(b"a"),
        bytes(b""),
        None,
        bytes(b"chunk 17"),
        bytes(b"\xFF\x00"),
        None,
        bytes(b"\xFF\x00"),
        bytes(b"a"),
        bytes("größe".as_bytes()),
    ];
    let first_times = [0, 0, 0, 90, 0, 0, 0, 119, 0, 0].map(minute);
    let last_times = [120, 120, 3, 120, 120, 120, 120, 120, 90, 120].map(minute);
    let hashes =
        [0, u64::MAX, 1 << 63, 0x9E37_79B9_7F4A_7C15, 7, 1 << 48, 1 << 47, 3, 2, 1].map(|n| Some(Value::U64(n)));
    let flags = [1, 2, 0, 4, 1, 1, 1, 8, 1, 0].map(|bits| (bits > 0).then_some(Value::U64(bits)));
    let totals = [-3, -2, -1, 0, 1, 2, i64::MIN, 0, i64::MAX, -1].map(|n| (n != 0).then_some(Value::I64(n)));
    // In another order than that of names.
    vec![
        column("total", (I64, Sum, 1), &totals),
        column("app.chunks", (Bytes, Newest, 1), &texts),
        column("chronoxide.first_time", (I64, Min, MINUTE), &first_times),
        column("chronoxide.last_time", (I64, Max, MINUTE), &last_times),
        column("größe", (Bytes, Drop, 1), &[None; 10]),
        column("hash", (U64, Same, 1), &hashes),
        column("flags", (U64, Or, 1), &flags),
    ]
}

/// Series of three groups. The last one is not full.
fn many_groups() -> BTreeSet<Labelset> {
    let labels = |n: u32| [("host".to_owned(), format!("h{n:03}")), ("zone".to_owned(), format!("z{}", n % 3))];
    (0..2 * VALUE_GROUP + 88).map(|n| labels(n).into_iter().collect()).collect()
}

/// Columns of several groups: without bits, with exceptions of some rows and of most, absent as a whole, of any number,
/// and as many texts as series.
fn groups(series: usize) -> Vec<PackedColumn> {
    let refs = || 0..series as u64;
    let outliers = refs().map(|n| Some(Value::U64(1000 + n % 5 + if n % 97 == 3 { 1 << 40 } else { 0 })));
    let constant = refs().map(|n| (n < 256 || n % 50 > 0).then_some(Value::I64(if n < 512 { -7 } else { 7 })));
    let sparse = refs().map(|n| (n > 300 && n % 60 == 0).then_some(Value::U64(n)));
    let mut random = Random::new(5);
    let scattered: Vec<_> = refs().map(|_| Some(Value::U64(random.next_u64()))).collect();
    let texts: Vec<String> = refs().map(|n| format!("{:x}", n * n)).collect();
    let texts = texts.iter().map(|text| Some(Value::Bytes(text.as_bytes())));
    let numbers = (ValueType::U64, ColumnMerge::Max, 1);
    vec![
        column("constant", (ValueType::I64, ColumnMerge::Newest, 7), &constant.collect::<Vec<_>>()),
        column("outliers", numbers, &outliers.collect::<Vec<_>>()),
        column("scattered", numbers, &scattered),
        column("sparse", numbers, &sparse.collect::<Vec<_>>()),
        column("texts", (ValueType::Bytes, ColumnMerge::Min, 1), &texts.collect::<Vec<_>>()),
    ]
}

/// Changes the section of a column.
fn in_column(editor: &mut BlockEditor, id: u32, change: impl FnOnce(&mut Vec<u8>)) {
    let kind = SectionKind::SeriesColumn.code();
    let section = editor.sections.iter_mut().find(|section| (section.kind, section.id) == (kind, id));
    change(&mut section.expect("the column was not taken away").bytes);
}

/// Bytes before the name.
const HEADER: usize = 16;
/// Bytes of the header of a number array.
const NUMBERS: usize = 20;

/// First byte of the number array of the values.
fn numbers_at(section: &[u8]) -> usize {
    HEADER + usize::from(u16::from_le_bytes([section[2], section[3]]))
}

/// First byte of the groups of the values, and the bits of a record.
fn groups_at(section: &[u8]) -> (usize, usize) {
    let at = numbers_at(section);
    let count = u32::from_le_bytes(section[at..at + 4].try_into().expect("4 bytes")).div_ceil(VALUE_GROUP) as usize;
    let bits: usize = section[at + 4..at + 12].iter().map(|&width| usize::from(width)).sum();
    (at + NUMBERS + (bits * count).div_ceil(8), bits)
}

/// Ids of the columns of [`each_way`].
const CHUNKS: u32 = 0;
const FIRST_TIME: u32 = 1;
const TOTAL: u32 = 6;

/// Breaks a rule of series columns in the golden block [`COLUMNS`].
pub(crate) fn break_rule(editor: &mut BlockEditor, rule: Rule) {
    match rule {
        Rule::ValueHeader => in_column(editor, TOTAL, |bytes| bytes[0] = 4),
        Rule::ValueName => in_column(editor, CHUNKS, |bytes| bytes[HEADER] = 0xFF),
        Rule::ValueCount => in_column(editor, TOTAL, |bytes| {
            let at = numbers_at(bytes);
            bytes[at] += 1;
        }),
        Rule::ValueLength => in_column(editor, TOTAL, |bytes| bytes.push(0)),
        Rule::ValueGroups => in_column(editor, FIRST_TIME, |bytes| {
            // Two exceptions.
            let (at, _) = groups_at(bytes);
            bytes.swap(at, at + 1);
        }),
        Rule::ValueRange => in_column(editor, FIRST_TIME, |bytes| {
            bytes[8..16].copy_from_slice(&i64::MAX.to_le_bytes());
        }),
        Rule::ValueTexts => in_column(editor, CHUNKS, |bytes| bytes.push(b'x')),
        Rule::ValueWidths => in_column(editor, FIRST_TIME, |bytes| {
            let (at, (_, bits)) = (numbers_at(bytes), groups_at(bytes));
            assert!(!bits.is_multiple_of(8), "a bit is left for a wider field");
            // The only group starts at 0.
            assert_eq!(bytes[at + 11], 0, "the field of the start has no bits");
            bytes[at + 11] = 1;
        }),
        Rule::ValuePadding => in_column(editor, TOTAL, |bytes| *bytes.last_mut().expect("closing bytes") = 1),
        Rule::ValueTextsUsed => in_column(editor, CHUNKS, |bytes| {
            // Fields of 3 bits for the codes 1, 1, 2, 0, ...: the first two texts change places.
            let (at, _) = groups_at(bytes);
            assert_eq!(bytes[at], 0b10_001_001, "the first fields");
            bytes[at] = 0b01_010_010;
        }),
        _ => unreachable!("{rule:?} is not about series columns"),
    }
}

/// A change of a block.
type Change = Box<dyn Fn(&mut BlockEditor)>;

/// Further ways to break rules of series columns in the golden block [`COLUMNS`].
pub(crate) fn clauses() -> Vec<(Rule, &'static str, Change)> {
    let at = |id: u32, change: fn(&mut Vec<u8>)| -> Change { Box::new(move |editor| in_column(editor, id, change)) };
    let last = |editor: &mut BlockEditor| -> usize { editor.sections.len() - 1 };
    vec![
        (Rule::ValueHeader, "short", at(TOTAL, |bytes| bytes.truncate(15))),
        (Rule::ValueHeader, "name", at(TOTAL, |bytes| bytes[3] = 0xFF)),
        (Rule::ValueHeader, "way", at(TOTAL, |bytes| bytes[1] = 7)),
        // `or` of signed numbers.
        (Rule::ValueHeader, "way-of-type", at(TOTAL, |bytes| bytes[1] = 5)),
        (Rule::ValueHeader, "unit-0", at(TOTAL, |bytes| bytes[8] = 0)),
        (Rule::ValueHeader, "unit-of-bytes", at(CHUNKS, |bytes| bytes[8] = 2)),
        (Rule::ValueHeader, "unit-of-i64", at(TOTAL, |bytes| bytes[15] = 0x80)),
        (
            Rule::ValueHeader,
            "width",
            at(TOTAL, |bytes| {
                let at = numbers_at(bytes);
                bytes[at + 10] = 2;
            }),
        ),
        (
            Rule::ValueName,
            "empty",
            at(TOTAL, |bytes| {
                bytes.drain(HEADER..HEADER + usize::from(bytes[2]));
                bytes[2] = 0;
            }),
        ),
        (
            Rule::ValueName,
            "gap",
            Box::new(move |editor| {
                let at = last(editor);
                editor.sections[at].id += 1;
            }),
        ),
        (
            Rule::ValueName,
            "order",
            Box::new(move |editor| {
                let at = last(editor);
                let (left, right) = editor.sections.split_at_mut(at);
                let SectionBytes { bytes, .. } = left.last_mut().expect("several columns");
                std::mem::swap(bytes, &mut right[0].bytes);
            }),
        ),
        (
            Rule::ValueLength,
            "groups",
            at(TOTAL, |bytes| {
                let at = numbers_at(bytes);
                bytes[at + 12] = 0xFF;
            }),
        ),
        (
            Rule::ValueGroups,
            "row",
            at(FIRST_TIME, |bytes| {
                let (at, _) = groups_at(bytes);
                bytes[at + 1] = 10;
            }),
        ),
        (Rule::ValuePadding, "reserved", at(FIRST_TIME, |bytes| bytes[4] = 1)),
    ]
}

/// Random columns for `series` series, and their values: of each type, with runs, outliers, and values that are absent.
#[must_use]
pub fn random_columns(series: usize, random: &mut Random) -> Vec<(PackedColumn, Vec<Option<OwnedValue>>)> {
    (0..random.below(4)).map(|number| random_column(&format!("column-{number}"), series, random)).collect()
}

/// A value that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedValue {
    /// A signed number.
    I64(i64),
    /// An unsigned number.
    U64(u64),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::I64(number) => Self::I64(number),
            Value::U64(number) => Self::U64(number),
            Value::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }
}

impl OwnedValue {
    /// Borrows the value.
    #[must_use]
    pub fn as_value(&self) -> Value<'_> {
        match self {
            Self::I64(number) => Value::I64(*number),
            Self::U64(number) => Value::U64(*number),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

fn random_column(name: &str, series: usize, random: &mut Random) -> (PackedColumn, Vec<Option<OwnedValue>>) {
    let value_type = ValueType::ALL[random.below(3)];
    let ways: Vec<_> = ColumnMerge::ALL.iter().filter(|way| way.allows(value_type)).collect();
    let merge = *ways[random.below(ways.len())];
    let unit = if value_type == ValueType::Bytes { 1 } else { [1, 7, MINUTE][random.below(3)] };
    // Bits of most numbers, and how often one is repeated, absent or of any size.
    let (bits, repeats) = ([0, 1, 7, 20, 40, 63][random.below(6)], random.below(100));
    let (absent, outliers) = ([0, 0, 3, 50, 100][random.below(5)], [0, 0, 2, 100][random.below(4)]);
    let (least, most) = (i64::MIN / unit.cast_signed(), i64::MAX / unit.cast_signed());
    let mut values: Vec<Option<OwnedValue>> = Vec::with_capacity(series);
    for _ in 0..series {
        if random.below(100) < repeats
            && let Some(value) = values.last()
        {
            values.push(value.clone());
            continue;
        }
        let width: u32 = if random.below(100) < outliers { 64 } else { bits };
        let number = if width == 0 { 0 } else { random.next_u64() >> (64 - width) };
        let value = match value_type {
            ValueType::U64 => OwnedValue::U64(number / unit * unit),
            ValueType::I64 => OwnedValue::I64(number.cast_signed().clamp(least, most) * unit.cast_signed()),
            ValueType::Bytes => OwnedValue::Bytes(number.to_le_bytes()[..width.div_ceil(8) as usize].to_vec()),
        };
        values.push((random.below(100) >= absent).then_some(value));
    }
    let borrowed: Vec<_> = values.iter().map(|value| value.as_ref().map(OwnedValue::as_value)).collect();
    (column(name, (value_type, merge, unit), &borrowed), values)
}
