//! The spec and the code say the same: field tables and structs, limits and constants, rules and errors, the worked
//! block.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::Path;

use chronoxide_format::layout::{
    ANCHOR_ROWS, CHUNK_LEN, CatalogueHeader, FREE_PACKED_LEN, Header, MAX_COLUMNS, MAX_DEPTH, MAX_LABELS, MAX_META_LEN,
    MAX_METRIC_TEXT_LEN, MAX_PACKED_RATIO, MAX_PACKED_WINDOW, MAX_SECTIONS, MAX_SYMBOL_LEN, MAX_UPPER_BITS, MetaHeader,
    MetricsHeader, PackedArenaHeader, PairHeader, SYMBOL_GROUP, SectionEntry, SectionKind, SymbolsHeader,
};
use chronoxide_format::metadata::{MetricType, Temporality};
use chronoxide_format::shard::shard_of;
use chronoxide_format::view::BlockView;
use chronoxide_format::{Error, Rule};

fn spec() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec/FORMAT.md");
    std::fs::read_to_string(path).expect("the spec is part of the project")
}

/// The cells of each row of each table of the spec, table by table, with the table's header first.
fn tables(spec: &str) -> Vec<Vec<Vec<String>>> {
    let mut tables: Vec<Vec<Vec<String>>> = vec![Vec::new()];
    for line in spec.lines() {
        let last = tables.last_mut().expect("never empty");
        match line.strip_prefix('|') {
            Some(row) if row.starts_with("---") => {}
            Some(row) => last.push(row.trim_end_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()),
            None if last.is_empty() => {}
            None => tables.push(Vec::new()),
        }
    }
    tables
}

/// Name, offset and size of each field, from a field table that begins with `first`.
fn fields(spec: &str, first: &str) -> Vec<(String, usize, usize)> {
    let wanted = format!("`{first}`");
    let found = tables(spec)
        .into_iter()
        .find(|table| table.len() > 1 && table[0][0] == "offset" && table[1][3] == wanted)
        .unwrap_or_else(|| panic!("the spec has no field table that begins with {first}"));
    let number = |cell: &str| cell.parse().expect("a number");
    found[1..].iter().map(|row| (row[3].trim_matches('`').to_owned(), number(&row[0]), number(&row[1]))).collect()
}

/// Compares a struct with the field table that begins with its first field.
macro_rules! assert_fields {
    ($struct:ident { $first:ident $(, $field:ident)* }) => {{
        let size_of_field = |end: usize, start: usize| end - start;
        let mut offsets = vec![
            (stringify!($first).to_owned(), std::mem::offset_of!($struct, $first)),
            $((stringify!($field).to_owned(), std::mem::offset_of!($struct, $field)),)*
        ];
        offsets.push((String::new(), size_of::<$struct>()));
        let declared: Vec<(String, usize, usize)> = offsets
            .windows(2)
            .map(|pair| (pair[0].0.clone(), pair[0].1, size_of_field(pair[1].1, pair[0].1)))
            .collect();
        assert_eq!(fields(&spec(), stringify!($first)), declared, stringify!($struct));
    }};
}

#[test]
fn structs_are_the_spec_s_field_tables() {
    assert_fields!(Header {
        magic,
        major,
        minor,
        incompat,
        ro_compat,
        compat,
        block_id,
        file_len,
        section_count,
        directory_checksum,
        checks_checksum,
        header_checksum
    });
    assert_fields!(SectionEntry { kind, id, offset, length });
    assert_fields!(CatalogueHeader {
        key_count,
        table_count,
        pool_count,
        keyset_count,
        shape_bits,
        key_widths,
        table_widths,
        shape_widths,
        pool_widths,
        keyset_widths
    });
    assert_fields!(SymbolsHeader { symbol_count, base_width, difference_width, reserved });
    assert_fields!(MetaHeader {
        series_count,
        label_count,
        fingerprint_1,
        fingerprint_2,
        time_start,
        time_end,
        window_start,
        window_end,
        job_id,
        job_output,
        job_output_count,
        parent_count,
        ancestor_count,
        external_label_count,
        annotation_count,
        max_name_len,
        max_value_len,
        planner_version,
        row_form,
        flags,
        reserved
    });
    assert_fields!(PackedArenaHeader { arena_len });
    assert_fields!(PairHeader { key_len, value_len });
    assert_fields!(MetricsHeader { row_count, text_count, row_widths, text_widths, reserved });
}

#[test]
fn limits_are_the_spec_s() {
    let declared = BTreeMap::from([
        ("MAX_SYMBOL_LEN", u64::from(MAX_SYMBOL_LEN)),
        ("MAX_LABELS", u64::from(MAX_LABELS)),
        ("MAX_COLUMNS", u64::from(MAX_COLUMNS)),
        ("MAX_DEPTH", u64::from(MAX_DEPTH)),
        ("MAX_SECTIONS", u64::from(MAX_SECTIONS)),
        ("CHUNK_LEN", CHUNK_LEN),
        ("ANCHOR_ROWS", u64::from(ANCHOR_ROWS)),
        ("SYMBOL_GROUP", u64::from(SYMBOL_GROUP)),
        ("MAX_META_LEN", MAX_META_LEN),
        ("MAX_METRIC_TEXT_LEN", u64::from(MAX_METRIC_TEXT_LEN)),
        ("MAX_UPPER_BITS", MAX_UPPER_BITS),
        ("MAX_PACKED_WINDOW", MAX_PACKED_WINDOW),
        ("MAX_PACKED_RATIO", MAX_PACKED_RATIO),
        ("FREE_PACKED_LEN", FREE_PACKED_LEN),
    ]);
    let spec = spec();
    let table = tables(&spec).into_iter().find(|table| table[0][0] == "limit").expect("a table of limits");
    let written: BTreeMap<&str, u64> =
        table[1..].iter().map(|row| (row[0].trim_matches('`'), row[1].parse().expect("a number"))).collect();
    assert_eq!(written, declared);
}

#[test]
fn sections_are_the_spec_s() {
    let table = tables(&spec()).into_iter().find(|table| table[0][0] == "kind").expect("a table of sections");
    let written: Vec<(u32, String)> =
        table[1..].iter().map(|row| (row[0].parse().expect("a number"), row[1].clone())).collect();
    let declared: Vec<(u32, String)> =
        SectionKind::ALL.iter().map(|kind| (kind.code(), kind.name().to_owned())).collect();
    assert_eq!(written, declared);
}

/// The spec gives each code its word, which the dump uses.
#[test]
fn values_of_metric_metadata_are_the_spec_s() {
    let table = tables(&spec())
        .into_iter()
        .find(|table| table[0][0] == "record" && table[1][0] == "METRIC")
        .expect("a table of the records of metric metadata");
    let words = |field: &str| {
        let row = table.iter().find(|row| row[1].trim_matches('`') == field).expect("a field");
        row[2].split(", ").map(str::to_owned).collect::<Vec<String>>()
    };
    let declared = MetricType::ALL.map(|metric_type| format!("{} {}", metric_type.code(), metric_type.name()));
    assert_eq!(words("type"), declared);
    let declared = Temporality::ALL.map(|temporality| format!("{} {}", temporality.code(), temporality.name()));
    assert_eq!(words("temporality"), declared);
}

/// The text up to the list of rules, where they are stated.
fn statements(spec: &str) -> &str {
    spec.split("## 15. Rules by id").next().expect("the sections before")
}

#[test]
fn rules_are_stated_listed_and_coded() {
    let spec = spec();
    let coded: Vec<String> = Rule::ALL.iter().map(|rule| rule.id().to_owned()).collect();
    let table = tables(&spec).into_iter().find(|table| table[0][0] == "rule").expect("a list of rules");
    let listed: Vec<String> = table[1..].iter().map(|row| row[0].trim_matches('`').to_owned()).collect();
    assert_eq!(listed, coded);
    let classes: Vec<String> = table[1..].iter().map(|row| row[1].clone()).collect();
    let coded_classes: Vec<String> = Rule::ALL.iter().map(|rule| rule.class().letter().to_string()).collect();
    assert_eq!(classes, coded_classes);

    let stated: BTreeSet<String> = statements(&spec)
        .split("`[")
        .skip(1)
        .filter_map(|rest| rest.split_once("]`"))
        .map(|(id, _)| id.to_owned())
        .filter(|id| id != "brackets")
        .collect();
    assert_eq!(stated, coded.into_iter().collect());
}

#[test]
fn errors_are_those_that_the_spec_lists() {
    let table = tables(&spec()).into_iter().find(|table| table[0][0] == "rule").expect("a list of rules");
    let listed: BTreeMap<String, String> =
        table[1..].iter().map(|row| (row[0].trim_matches('`').to_owned(), row[2].clone())).collect();
    for broken in chronoxide_testkit::broken::broken() {
        let mut arena = Vec::new();
        let opened = BlockView::open_unpacked(&broken.bytes, &mut arena);
        let opened = opened.and_then(|view| view.verify().map(|_| ()));
        let kind = match opened.expect_err("it is broken") {
            Error::NotABlock => "not-a-block",
            Error::UnsupportedVersion { .. } | Error::UnsupportedFeatures { .. } | Error::UnsupportedSection { .. } => {
                "unsupported"
            }
            _ => "corrupt",
        };
        assert_eq!(listed[broken.rule.id()], kind, "{}", broken.rule.id());
    }
}

#[test]
fn the_worked_block_is_the_golden_file() {
    let spec = spec();
    let section =
        spec.split("## 14. A worked block").nth(1).and_then(|rest| rest.split("## 15.").next()).expect("a section");
    let mut bytes = Vec::new();
    for line in section.lines().filter_map(|line| line.strip_prefix("    ")) {
        let (offset, row) = line.split_once("  ").expect("an offset, then bytes");
        assert_eq!(usize::from_str_radix(offset, 16), Ok(bytes.len()), "{line}");
        bytes.extend(row.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("a byte")));
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden/one-series.cx");
    assert_eq!(bytes, std::fs::read(golden).expect("a golden file"));
}

/// The vectors were computed by the second decoder, whose SipHash is its own.
#[test]
fn shards_are_the_spec_s() {
    let spec = spec();
    let table =
        tables(&spec).into_iter().find(|table| table[0][0] == "value" && table[0][1] == "SIP").expect("vectors");
    assert_eq!(table[0][2..], ["*N* = 3", "*N* = 4", "*N* = 8"]);
    assert!(table.len() > 5, "{table:?}");
    for row in &table[1..] {
        let value = row[0].trim_matches('`');
        let shards = [3, 4, 8].map(|count| shard_of(value.as_bytes(), NonZeroU32::new(count).expect("not 0")));
        assert_eq!(row[2..], shards.map(|shard| shard.to_string()), "{value}");
    }
}
