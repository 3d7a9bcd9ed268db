//! The spec and the code say the same: field tables and structs, limits and constants, rules and errors, the worked
//! block.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::Path;

use chronoxide_format::edition::Edition;
use chronoxide_format::layout::{
    ANCHOR_ROWS, CHUNK_LEN, CatalogueHeader, EXPERIMENT, FREE_PACKED_LEN, Header, LOSS_MATTERS, MAJOR,
    MAX_COLUMN_NAME_LEN, MAX_COLUMNS, MAX_DEPTH, MAX_LABELS, MAX_META_LEN, MAX_METRIC_TEXT_LEN, MAX_PACKED_LEN,
    MAX_PACKED_RATIO, MAX_PACKED_WINDOW, MAX_SECTIONS, MAX_SYMBOL_LEN, MAX_UPPER_BITS, MAX_VALUE_LEN, MAY_BE_COPIED,
    MINOR, MetaHeader, MetricsHeader, NumbersHeader, OPTIONAL, PRIVATE, PackedHeader, PairHeader, SYMBOL_GROUP,
    SectionEntry, SectionKind, SeriesColumnHeader, SymbolsHeader, VALUE_GROUP,
};
use chronoxide_format::metadata::{MetricType, Temporality};
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::remap::layout::{REMAP_MAJOR, REMAP_MINOR};
use chronoxide_format::shard::shard_of;
use chronoxide_format::view::BlockView;
use chronoxide_format::{ErrorKind, Rule};

use crate::read;

/// The texts about the bytes of blocks, one after the other.
fn spec() -> String {
    ["FORMAT.md", "ARCHIVE.md", "METRICS.md", "COLUMNS.md"].map(|name| read(&format!("spec/{name}"))).concat()
}

/// The rows of all tables whose first cell is `first`, without the header.
fn rows_of(spec: &str, first: &str) -> Vec<Vec<String>> {
    let wanted = tables(spec).into_iter().filter(|table| table.first().is_some_and(|row| row[0] == first));
    let rows: Vec<_> = wanted.flat_map(|mut table| table.split_off(1)).collect();
    assert!(!rows.is_empty(), "the spec has no table that begins with {first}");
    rows
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
        front_checksum,
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
    assert_fields!(PackedHeader { content_len });
    assert_fields!(PairHeader { key_len, value_len });
    assert_fields!(MetricsHeader { row_count, text_count, row_widths, text_widths, reserved });
    assert_fields!(SeriesColumnHeader { value_type, merge, name_len, reserved, unit });
    assert_fields!(NumbersHeader { count, group_widths, groups_len });
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
        ("MAX_COLUMN_NAME_LEN", u64::from(MAX_COLUMN_NAME_LEN)),
        ("MAX_VALUE_LEN", u64::from(MAX_VALUE_LEN)),
        ("VALUE_GROUP", u64::from(VALUE_GROUP)),
        ("MAX_UPPER_BITS", MAX_UPPER_BITS),
        ("MAX_PACKED_WINDOW", MAX_PACKED_WINDOW),
        ("MAX_PACKED_RATIO", MAX_PACKED_RATIO),
        ("FREE_PACKED_LEN", FREE_PACKED_LEN),
        ("MAX_PACKED_LEN", MAX_PACKED_LEN),
    ]);
    let rows = rows_of(&spec(), "limit");
    let written: BTreeMap<&str, u64> =
        rows.iter().map(|row| (row[0].trim_matches('`'), row[1].parse().expect("a number"))).collect();
    assert_eq!(written, declared);
}

#[test]
fn sections_are_the_spec_s() {
    let rows = rows_of(&spec(), "kind");
    let written: BTreeSet<(u32, String)> =
        rows.iter().map(|row| (row[0].parse().expect("a number"), row[1].clone())).collect();
    let declared: BTreeSet<(u32, String)> =
        SectionKind::ALL.iter().map(|kind| (kind.code(), kind.name().to_owned())).collect();
    assert_eq!(written, declared);
}

/// The registry gives each bit of a kind its number, and each optional section its number and bits.
#[test]
fn kinds_are_the_registry_s() {
    let registry = read("spec/REGISTRY.md");
    let bits: Vec<u32> = rows_of(&registry, "bit").iter().map(|row| row[1].parse().expect("a number")).collect();
    assert_eq!(bits, [OPTIONAL, LOSS_MATTERS, MAY_BE_COPIED, PRIVATE, EXPERIMENT]);
    let optional: Vec<(u32, String)> = rows_of(&registry, "number")
        .iter()
        .filter(|row| !row[1].is_empty())
        .map(|row| {
            let number: u32 = row[0].parse().expect("a number");
            let bits = row[1].split(", ").map(|bit| 1_u32 << bit.parse::<u32>().expect("a bit"));
            (bits.fold(number, |kind, bit| kind | bit), row[2].clone())
        })
        .collect();
    let declared = SectionKind::ALL.iter().filter(|kind| kind.code() >= OPTIONAL);
    assert_eq!(optional, declared.map(|kind| (kind.code(), kind.name().to_owned())).collect::<Vec<_>>());
}

#[test]
fn cut_strings_are_those_of_the_text() {
    let rows = rows_of(&read("spec/FORMAT.md"), "*n*");
    assert!(rows.len() >= 4);
    for row in rows {
        let [limit, string, stored] = [0, 1, 2].map(|cell| row[cell].trim_matches('`'));
        let limit = limit.parse().expect("a number");
        let policy = LabelPolicy::new(limit, limit).expect("limits that may be");
        assert_eq!((&*policy.name(string), &*policy.value(string)), (stored, stored), "{limit}");
    }
}

/// The numbers that a cell lists, each by itself or as `a to b`.
fn numbers_in(cell: &str) -> Vec<u32> {
    let number = |text: &str| text.parse::<u32>().expect("a number");
    let range = |part: &str| match part.split_once(" to ") {
        Some((first, last)) => number(first)..=number(last),
        None => number(part)..=number(part),
    };
    cell.split(", ").filter(|part| *part != "none").flat_map(range).collect()
}

#[test]
fn editions_are_those_of_the_text() {
    let rows = rows_of(&read("spec/COMPATIBILITY.md"), "edition");
    assert_eq!(rows.iter().map(|row| &*row[0]).collect::<Vec<_>>(), Edition::ALL.map(Edition::name));
    for (row, edition) in rows.iter().zip(Edition::ALL) {
        let bits = |cell: &String| numbers_in(cell).into_iter().fold(0, |bits, bit| bits | 1 << bit);
        assert_eq!(row[2..5].iter().map(bits).collect::<Vec<u32>>(), edition.features(), "{}", row[0]);
        let defined: Vec<u32> = edition.kinds().iter().map(|kind| kind.code()).collect();
        assert_eq!([numbers_in(&row[5]), numbers_in(&row[6])].concat(), defined, "{}", row[0]);
    }
    assert_eq!(Edition::ALL.last().map(|edition| edition.kinds()), Some(&SectionKind::ALL[..]));
}

/// Each number and name that people find in the registry has an owner in the file for programs, and no other has.
#[test]
fn the_registry_for_programs_is_that_for_people() {
    let file = read("spec/registration/registry.tsv");
    let lines: Vec<Vec<&str>> = file.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert!(lines.iter().all(|line| line.len() == 6 && line.iter().all(|field| !field.is_empty())), "{file}");
    let registered = |registry: &str| -> BTreeSet<String> {
        lines.iter().filter(|line| line[0] == registry).map(|line| line[1].to_owned()).collect()
    };
    let kinds = SectionKind::ALL.iter().map(|kind| kind.code().to_string());
    assert_eq!(registered("section"), kinds.collect());
    let bits = rows_of(&read("spec/COMPATIBILITY.md"), "edition").iter().flat_map(|row| numbers_in(&row[2])).collect();
    assert_eq!(registered("incompat").iter().map(|bit| bit.parse().expect("a bit")).collect::<BTreeSet<u32>>(), bits);
    let registry = read("spec/REGISTRY.md");
    let cells = |first: &str, column: usize| -> BTreeSet<String> {
        rows_of(&registry, first).iter().map(|row| row[column].trim_matches(['`', '*', '.']).to_owned()).collect()
    };
    assert_eq!(registered("annotation"), cells("key", 0));
    assert_eq!(registered("column"), cells("name", 0));
    assert_eq!(registered("file"), cells("file", 1));
    for namespace in registered("namespace of columns") {
        assert!(registry.contains(&format!("Names that begin with `{namespace}`")), "{namespace}");
    }
    for text in lines.iter().map(|line| line[5]) {
        assert!(read(&format!("spec/{text}")).starts_with("# "), "{text}");
    }
}

/// The numbers after each occurrence of a phrase, as far as there are any.
fn numbers_after(text: &str, phrase: &str) -> Vec<u64> {
    let number = |rest: &str| {
        let digits: String = rest.trim_start_matches(['`', '*']).chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    text.split(phrase).skip(1).filter_map(number).collect()
}

/// A literal reader takes each sentence with a number at its word.
#[test]
fn versions_are_those_of_the_code() {
    let format = read("spec/FORMAT.md");
    let (major, minor) = (u64::from(MAJOR), u64::from(MINOR));
    assert_eq!(numbers_after(&format, "`major` must be "), [major]);
    // All other sentences of this kind are about zero.
    let all = numbers_after(&format, "must be ");
    assert_eq!(all.iter().filter(|&&number| number > 0).collect::<Vec<_>>(), [&major], "{all:?}");
    let field = |text: &str, name: &str| {
        let row = tables(text).concat().into_iter().find(|row| row.len() > 3 && row[3] == format!("`{name}`"));
        numbers_after(&format!("~{}", row.expect("a field")[4]), "~")
    };
    assert_eq!((field(&format, "major"), field(&format, "minor")), (vec![major], vec![minor]));
    let remap = read("spec/REMAP.md");
    let [remap_major, remap_minor] = [REMAP_MAJOR, REMAP_MINOR].map(u64::from);
    assert_eq!((field(&remap, "major"), field(&remap, "minor")), (vec![remap_major], vec![remap_minor]));

    let version = format!("{major}.{minor}");
    for name in ["FORMAT", "ARCHIVE", "METRICS", "COLUMNS", "CHUNKS", "LIFECYCLE", "REGISTRY"] {
        let text = read(&format!("spec/{name}.md"));
        assert!(text.contains(&format!("\nVersion {version}. ")), "{name}");
        assert_eq!(text.split("### Version ").nth(1).and_then(|rest| rest.lines().next()), Some(&*version), "{name}");
    }
    for text in [read("README.md"), read("CHANGELOG.md")] {
        assert!(text.contains(&format!("format version {version}")), "{version}");
    }
    let changes = read("CHANGELOG.md");
    assert!(changes.contains(&format!("remaps format {remap_major}, draft {remap_minor}")));
    let planned = chronoxide_testkit::golden::goldens().into_iter().find(|golden| golden.name == "planned");
    let planned = planned.expect("there is such a golden block").bytes;
    let planner = BlockView::open(&planned).and_then(|view| Ok(view.meta()?.planner_version())).expect("a sound block");
    assert_eq!(numbers_after(&changes, "planner version "), [u64::from(planner)]);
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
    let declared = words_of(MetricType::ALL, MetricType::code);
    assert_eq!(words("type"), declared);
    let declared = words_of(Temporality::ALL, Temporality::code);
    assert_eq!(words("temporality"), declared);
}

fn words_of<T: Copy + ToString>(all: &[T], code: fn(T) -> u32) -> Vec<String> {
    all.iter().map(|&value| format!("{} {}", code(value), value.to_string())).collect()
}

#[test]
fn rules_are_stated_listed_and_coded() {
    let spec = spec();
    let coded: Vec<String> = Rule::ALL.iter().map(|rule| rule.id().to_owned()).collect();
    let rows = rows_of(&spec, "rule");
    let listed: Vec<String> = rows.iter().map(|row| row[0].trim_matches('`').to_owned()).collect();
    assert_eq!(listed, coded);
    let classes: Vec<String> = rows.iter().map(|row| row[1].clone()).collect();
    let coded_classes: Vec<String> = Rule::ALL.iter().map(|rule| rule.class().letter().to_string()).collect();
    assert_eq!(classes, coded_classes);

    let stated: BTreeSet<String> = spec
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
    let rows = rows_of(&spec(), "rule");
    let listed: BTreeMap<String, String> =
        rows.iter().map(|row| (row[0].trim_matches('`').to_owned(), row[2].clone())).collect();
    for broken in chronoxide_testkit::broken::broken() {
        let mut arena = Vec::new();
        let opened = BlockView::open_unpacked(&broken.bytes, &mut arena);
        let opened = opened.and_then(|view| view.verify().map(|_| ()));
        let kind = match opened.expect_err("it is broken").kind() {
            ErrorKind::NotABlock => "not-a-block",
            ErrorKind::UnsupportedVersion { .. }
            | ErrorKind::UnsupportedFeatures { .. }
            | ErrorKind::UnsupportedSection { .. } => "unsupported",
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

/// The page follows a label through a golden file, by offsets.
#[test]
fn the_walk_through_has_the_offsets_of_the_golden_file() {
    let dump = read("testdata/golden/plain-bitpacked.txt");
    let offset = |section: &str| {
        let line =
            dump.lines().find_map(|line| line.strip_prefix(&format!("  {section} 0 offset "))).expect("a section");
        line.split(' ').next().expect("an offset").to_owned()
    };
    let file = dump.lines().find_map(|line| line.strip_prefix("file ")).expect("a length");
    let [rows, symbols, arena] = ["rows", "symbols", "arena"].map(offset);
    let page = read("docs/walkthrough.md").replace('\n', " ");
    for sentence in [
        format!("10 series in {file}"),
        format!("rows at byte {rows}, symbols at {symbols}, the arena at {arena}"),
        format!("stores starts in 7 bits each, from byte {}.", symbols.parse::<u32>().expect("a number") + 8),
    ] {
        assert!(page.contains(&sentence), "{sentence}");
    }
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
