//! The broken blocks: for each rule of the format one that breaks it and, as far as that can be, nothing else.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use chronoxide_format::identity::BlockId;
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::view::{BlockView, Domain};
use chronoxide_format::write::{BlockBuilder, BlockMeta, MetricRecords, SectionBytes};
use chronoxide_format::{Rule, RuleClass, TableId};

use crate::archive::{ARCHIVE, archives, in_packed, raw_block, raw_frame, single_segment, window};
use crate::columns::{self, COLUMNS};
use crate::editor::{BlockEditor, reseal};
use crate::golden::{Golden, goldens};
use crate::plan::{Labelset, Plan, build};

/// A block that breaks a rule.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The rule.
    pub rule: Rule,
    /// The name of the file: the rule's id, and for a further clause of the rule `--` and the clause.
    pub name: String,
    /// The block.
    pub bytes: Vec<u8>,
}

/// A broken block for each rule, in the order of the spec; then one for each clause that these leave out.
#[must_use]
pub fn broken() -> Vec<Broken> {
    let of_rule = |&rule: &Rule| Broken { rule, name: rule.id().to_owned(), bytes: break_rule(rule) };
    Rule::ALL.iter().map(of_rule).chain(clauses()).collect()
}

/// A block with an unknown bit in `ro_compat` for each broken block of class C: readers take it as sound.
#[must_use]
pub fn relaxed() -> Vec<Broken> {
    let is_canonical = |broken: &Broken| broken.rule.class() == RuleClass::Canonical;
    let relax = |broken: Broken| {
        let bytes = edit_block(&broken.bytes, |editor| editor.features[1] |= RELAXED);
        Broken { bytes, ..broken }
    };
    broken().into_iter().filter(is_canonical).map(relax).collect()
}

/// Blocks that break a rule in another way than the one of [`break_rule`].
fn clauses() -> Vec<Broken> {
    use SectionKind::Meta;
    let in_meta = |change: &dyn Fn(&mut Vec<u8>)| in_section(PLAIN, Meta, change);
    let set_range = |bytes: &mut Vec<u8>, flag: u8, at: usize, (start, end): (i64, i64)| {
        bytes[117] |= flag;
        bytes[at..at + 8].copy_from_slice(&start.to_le_bytes());
        bytes[at + 8..at + 16].copy_from_slice(&end.to_le_bytes());
    };
    let swapped = |table: usize, row: u64| edit_block(&many_rows(), |editor| swap_rows(editor, table, row));
    let repeated = |table: usize, row: u64| edit_block(&many_rows(), |editor| repeat_row(editor, table, row));
    let second_anchor = |editor: &mut BlockEditor| {
        // 20 prefixes have two anchors, in fields of a few bits.
        let offset = last(&mut editor.records.keysets)[1];
        let section = editor.section(SectionKind::Members);
        section[offset as usize + 1] ^= 1;
    };
    let clauses: [(Rule, &str, Vec<u8>); 43] = [
        // A flipped bit in the version is damage.
        (Rule::HeaderChecksum, "major", in_place(PLAIN, |file| file[9] ^= 0x40)),
        (Rule::HeaderChecksum, "incompat", in_place(PLAIN, |file| file[12] ^= 1)),
        (Rule::SectionUnknown, "out-of-order", edit(PLAIN, unknown_section_first)),
        (Rule::SectionUnknown, "damaged-chunk", {
            let mut file = edit(PLAIN, unknown_section_first);
            let last = file.len() - 5;
            file[last] ^= 1;
            file
        }),
        (Rule::CatalogueHeader, "domain-width", in_section(PLAIN, SectionKind::Catalogue, |bytes| bytes[34] = 0)),
        (Rule::Anchors, "second", edit(LISTS, second_anchor)),
        (Rule::CatalogueHeader, "low-width", in_section(PLAIN, SectionKind::Catalogue, |bytes| bytes[38] = 33)),
        (Rule::PoolLists, "no-members", in_records(LISTS, |editor| editor.records.pools[0][2] = 0)),
        (
            Rule::DirectoryExtent,
            "empty",
            in_place(PLAIN, |file| {
                file[48] = 0;
                reseal(file);
            }),
        ),
        (
            Rule::DirectoryExtent,
            "long-first-section",
            in_place(PLAIN, |file| {
                // 2^24 bytes and one more.
                file[80..88].copy_from_slice(&0x100_0001_u64.to_le_bytes());
                reseal(file);
            }),
        ),
        (
            Rule::DirectoryExtent,
            "first-section-outside",
            in_place(PLAIN, |file| {
                file[82] = 1;
                reseal(file);
            }),
        ),
        (Rule::FrontChecksum, "meta", in_place(PLAIN, |file| file[64 + 6 * 24 + 40] ^= 1)),
        (Rule::ListUpper, "low-width", in_records(LISTS, |editor| editor.records.pools[0][3] = 33)),
        // The pool over `le` has the lists (0, 1, 3) and (0, 2), from byte 1 on.
        (
            Rule::ColumnWidth,
            "pool",
            in_records(LISTS, |editor| {
                editor.records.pools[0][3] = 3;
                for (place, member) in (0..).zip([0, 1, 3, 0, 2]) {
                    editor.set_bits(SectionKind::Members, 8 + 3 * place, 3, member);
                }
            }),
        ),
        (Rule::ValuesUsed, "unused-row", unused_row(false, 0)),
        (Rule::ValuesUsed, "relaxed-row", unused_row(false, RELAXED)),
        (Rule::ValuesUsed, "relaxed-list", unused_list(false, RELAXED)),
        (Rule::MetaLength, "header", in_section(PLAIN, Meta, |bytes| bytes.truncate(100))),
        (Rule::MetaPadding, "row-form", in_meta(&|bytes| bytes[116] = 2)),
        (Rule::MetricHeader, "id", edit(METRICS, |editor| last(&mut editor.sections).id = 1)),
        (Rule::ListUpper, "more", edit(LISTS, |editor| set_upper_bit(editor, 1, true))),
        (Rule::ListUpper, "long", long_split_list()),
        (Rule::MembersExtent, "anchors-without-lists", in_records(PLAIN, |editor| editor.records.keysets[0][1] = 1)),
        (Rule::FileLen, "room", in_place(PLAIN, |file| file.truncate(12))),
        (Rule::SymbolsPadding, "reserved", in_section(PLAIN, SectionKind::Symbols, |bytes| bytes[6] = 1)),
        (Rule::MetricPadding, "reserved", in_section(METRICS, SectionKind::MetricMetadata, |bytes| bytes[15] = 1)),
        (Rule::MetaPairs, "empty-external-value", empty_external_value()),
        (Rule::PolicyKept, "name", {
            let series = series(&[&[("a-name-of-19-bytes-", "v")]]);
            let block = build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default());
            edit_block(&block.expect("a sound block"), |editor| {
                editor.section(Meta)[104..108].copy_from_slice(&18_u32.to_le_bytes());
            })
        }),
        (
            Rule::MetaParents,
            "ancestor-is-parent",
            in_section("meta", Meta, |bytes| {
                let first_parent = bytes[120..136].to_vec();
                replace_ancestors(bytes, &first_parent);
            }),
        ),
        (
            Rule::MetaParents,
            "ancestors-order",
            in_section("meta", Meta, |bytes| replace_ancestors(bytes, &[[9; 16], [8; 16]].concat())),
        ),
        (Rule::MetaPadding, "flag-2", in_meta(&|bytes| bytes[117] |= 4)),
        (Rule::MetaPadding, "reserved", in_meta(&|bytes| bytes[119] = 1)),
        (Rule::MetaTime, "empty-range", in_meta(&|bytes| set_range(bytes, 1, 32, (7, 7)))),
        (Rule::MetaTime, "backwards", in_meta(&|bytes| set_range(bytes, 1, 32, (8, 7)))),
        (Rule::MetaTime, "empty-window", in_meta(&|bytes| set_range(bytes, 2, 48, (-7, -7)))),
        (Rule::MetaTime, "unknown-window", in_meta(&|bytes| bytes[56] = 1)),
        (Rule::MetaJob, "output-without-job", in_meta(&|bytes| bytes[80] = 1)),
        (Rule::MetaJob, "job-without-id", in_meta(&|bytes| bytes[84] = 1)),
        (Rule::MetaJob, "id-without-job", in_meta(&|bytes| bytes[64] = 1)),
        (Rule::MetaPolicy, "values", in_meta(&|bytes| bytes[108..112].copy_from_slice(&17_u32.to_le_bytes()))),
        (Rule::RowsOrder, "swapped-across-pieces", swapped(1, 255)),
        (Rule::RowsOrder, "equal-across-pieces", repeated(1, 255)),
        (Rule::RowsOrder, "dictionary-equal-across-pieces", repeated(0, 255)),
    ];
    let broken =
        |(rule, clause, bytes): (Rule, &str, _)| Broken { rule, name: format!("{}--{clause}", rule.id()), bytes };
    let columns = columns::clauses().into_iter().map(|(rule, clause, change)| (rule, clause, edit(COLUMNS, change)));
    clauses.into_iter().chain(archive_clauses()).chain(columns).map(broken).collect()
}

/// Blocks with a packed arena that break a rule in another way than the ones of [`break_rule`].
fn archive_clauses() -> Vec<(Rule, &'static str, Vec<u8>)> {
    use SectionKind::{MetricMetadata, PackedArena, PackedMetricMetadata};
    let frame = |rule, clause, make: &dyn Fn(&[u8]) -> Vec<u8>| (rule, clause, with_frame(make));
    let segment = |arena: &[u8]| single_segment(arena.len());
    let sound = |arena: &[u8]| raw_frame(&segment(arena), &[&raw_block(true, arena)]);
    let symbol = |arena: &[u8], from: &[u8], to: &[u8]| {
        let at = arena.windows(from.len()).position(|place| place == from).expect("a symbol");
        let mut changed = arena.to_vec();
        changed[at..at + to.len()].copy_from_slice(to);
        sound(&changed)
    };
    let descriptor = |bits: u8, fields: &[u8], arena: &[u8]| {
        let mut fields = [&segment(arena)[..1], fields, &segment(arena)[1..]].concat();
        fields[0] |= bits;
        raw_frame(&fields, &[&raw_block(true, arena)])
    };
    vec![
        (Rule::SectionRequired, "bit-without-section", edit(PLAIN, |editor| editor.features[0] = 1)),
        (
            Rule::SectionRequired,
            "two-arenas",
            in_archive(|editor| {
                let at = editor.sections.iter().position(|section| section.kind == PackedArena.code());
                let arena = SectionBytes { kind: SectionKind::Arena.code(), id: 0, bytes: b"up".to_vec() };
                editor.sections.insert(at.expect("a packed arena"), arena);
            }),
        ),
        (
            Rule::SectionRequired,
            "no-arena",
            edit(PLAIN, |editor| {
                editor.sections.retain(|section| section.kind != SectionKind::Arena.code());
            }),
        ),
        (Rule::SectionRequired, "arena-without-bit", in_archive(|editor| editor.features[0] = 0)),
        (
            Rule::PackedHeader,
            "metrics-twice",
            in_described(|editor| {
                let plain = SectionBytes::new(MetricMetadata, editor.metrics.encode().expect("records can be counted"));
                let at = editor.sections.len() - 1;
                editor.sections.insert(at, plain);
            }),
        ),
        (Rule::PackedHeader, "metrics-id", in_described(|editor| last(&mut editor.sections).id = 1)),
        (Rule::PackedLength, "metrics", in_described(|editor| editor.section(PackedMetricMetadata)[0] ^= 1)),
        (Rule::PackedHeader, "ratio", in_archive(|editor| editor.section(PackedArena)[5] = 1)),
        frame(Rule::PackedFrame, "magic", &|arena| [&[0x27][..], &sound(arena)[1..]].concat()),
        frame(Rule::PackedFrame, "checksum", &|arena| [descriptor(4, &[], arena), vec![0; 4]].concat()),
        frame(Rule::PackedFrame, "dictionary", &|arena| descriptor(1, &[7], arena)),
        frame(Rule::PackedFrame, "reserved-bit", &|arena| descriptor(8, &[], arena)),
        frame(Rule::PackedFrame, "unused-bit", &|arena| descriptor(16, &[], arena)),
        frame(Rule::PackedFrame, "window", &|arena| raw_frame(&window(27), &[&raw_block(true, arena)])),
        frame(Rule::PackedFrame, "two-frames", &|arena| [sound(arena), sound(arena)].concat()),
        frame(Rule::PackedFrame, "skippable", &|arena| {
            [&[0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0][..], &sound(arena)].concat()
        }),
        frame(Rule::PackedFrame, "trailing", &|arena| [sound(arena), vec![0]].concat()),
        // A compressed block that is too short for its own header, and the reserved type.
        frame(Rule::PackedFrame, "damaged", &|arena| raw_frame(&segment(arena), &[&[5 | 2 << 3, 0, 0, 0xFF, 0xFF]])),
        frame(Rule::PackedFrame, "block-type", &|arena| {
            let mut block = raw_block(true, arena);
            block[0] |= 6;
            raw_frame(&segment(arena), &[&block])
        }),
        frame(Rule::PackedLength, "shorter", &|arena| {
            raw_frame(&window(10), &[&raw_block(true, &arena[..arena.len() - 1])])
        }),
        frame(Rule::PackedLength, "longer", &|arena| {
            raw_frame(&window(10), &[&raw_block(false, arena), &raw_block(true, b"z")])
        }),
        frame(Rule::PackedLength, "content-size", &|arena| {
            raw_frame(&single_segment(arena.len() + 1), &[&raw_block(true, arena)])
        }),
        frame(Rule::SymbolsOrder, "packed", &|arena| symbol(arena, b"up", b"ap")),
        frame(Rule::SymbolsUtf8, "packed", &|arena| symbol(arena, b"up", b"u\xFF")),
        frame(Rule::Fingerprint, "packed", &|arena| symbol(arena, b"up", b"uq")),
    ]
}

/// Changes the small archive and puts it together with right checksums and id.
fn in_archive(change: impl FnOnce(&mut BlockEditor)) -> Vec<u8> {
    edit_block(&archive(ARCHIVE), change)
}

/// Changes the archive with packed metric metadata.
fn in_described(change: impl FnOnce(&mut BlockEditor)) -> Vec<u8> {
    edit_block(&archive("archive-metrics"), change)
}

fn archive(name: &str) -> Vec<u8> {
    static ARCHIVES: LazyLock<Vec<Golden>> = LazyLock::new(archives);
    ARCHIVES.iter().find(|golden| golden.name == name).expect("there is such an archive").bytes.clone()
}

/// The small archive with another frame, which is made from its arena.
fn with_frame(make: impl FnOnce(&[u8]) -> Vec<u8>) -> Vec<u8> {
    in_archive(|editor| in_packed(editor, make))
}

/// Replaces the ancestors in a meta section.
fn replace_ancestors(meta: &mut Vec<u8>, ancestors: &[u8]) {
    let count = |at: usize| u32::from_le_bytes(meta[at..at + 4].try_into().expect("4 bytes")) as usize;
    let start = 120 + count(88) * 16;
    let end = start + count(92) * 16;
    meta[92..96].copy_from_slice(&(ancestors.len() as u32 / 16).to_le_bytes());
    meta.splice(start..end, ancestors.iter().copied());
}

/// Changes a block and puts it together with right checksums and id.
fn edit_block(block: &[u8], change: impl FnOnce(&mut BlockEditor)) -> Vec<u8> {
    let mut editor = BlockEditor::open(block);
    change(&mut editor);
    editor.close()
}

/// More rows than are unpacked at once, in the dictionary of `a` and in the table of the only keyset.
fn many_rows() -> Vec<u8> {
    let labelset = |number: usize| {
        [("a", format!("{number:03}")), ("b", format!("{}", number % 2))]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    };
    let series: BTreeSet<Labelset> = (0..300).map(labelset).collect();
    build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).expect("a sound block")
}

/// Bits of a row, and the bit of the rows section at which row `row` of a table of [`many_rows`] starts: 0 is the
/// dictionary of `a`, 1 the keyset's table.
fn row_bit(editor: &BlockEditor, table: usize, row: u64) -> (u32, u64) {
    let (offset, width) = match table {
        0 => (editor.records.keys[0][2], editor.records.keys[0][4]),
        // Two columns, the second of one bit.
        _ => (editor.records.tables[0][1], 9 + 1),
    };
    (width as u32, offset * 8 + row * width)
}

fn bits_at(editor: &mut BlockEditor, width: u32, bit: u64) -> u64 {
    let rows = editor.section(SectionKind::Rows);
    let is_set = |place: u32| rows[((bit + u64::from(place)) / 8) as usize] >> ((bit + u64::from(place)) % 8) & 1;
    (0..width).fold(0, |value, place| value | u64::from(is_set(place)) << place)
}

/// Swaps a row and the next.
fn swap_rows(editor: &mut BlockEditor, table: usize, row: u64) {
    let ((width, first), (_, second)) = (row_bit(editor, table, row), row_bit(editor, table, row + 1));
    let (a, b) = (bits_at(editor, width, first), bits_at(editor, width, second));
    editor.set_bits(SectionKind::Rows, first, width, b);
    editor.set_bits(SectionKind::Rows, second, width, a);
}

/// Makes the next row equal to a row.
fn repeat_row(editor: &mut BlockEditor, table: usize, row: u64) {
    let ((width, first), (_, second)) = (row_bit(editor, table, row), row_bit(editor, table, row + 1));
    let value = bits_at(editor, width, first);
    editor.set_bits(SectionKind::Rows, second, width, value);
}

/// A row of a map that no keyset has. If `is_value_used`, its value is in a series. `ro_compat` is that of the block.
fn unused_row(is_value_used: bool, ro_compat: u32) -> Vec<u8> {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let symbols = ["k", "l", "v", "w"].map(|symbol| builder.push_symbol(symbol).expect("in order"));
    builder.push_key(symbols[0], &symbols[2..]).expect("in order");
    builder.push_key(symbols[1], &symbols[2..3]).expect("in order");
    let map = builder.push_table(&[Domain::Table(TableId(0))], &[0, 1]).expect("a map");
    let rows: &[u32] = if is_value_used { &[0, 1] } else { &[0] };
    builder.push_keyset_table(&[Domain::Table(TableId(0))], rows).expect("a keyset");
    builder.push_keyset_table(&[Domain::Table(map), Domain::Table(TableId(1))], &[0, 0]).expect("a keyset");
    let block = builder.finish(&BlockMeta::default()).expect("nothing is wrong with meta");
    edit_block(&block, |editor| editor.features[1] = ro_compat)
}

/// Returns the bytes of a golden block. All are made once: each broken block begins with one.
fn golden(name: &str) -> Vec<u8> {
    static GOLDENS: LazyLock<Vec<Golden>> = LazyLock::new(goldens);
    GOLDENS.iter().find(|golden| golden.name == name).expect("there is such a golden block").bytes.clone()
}

/// Changes a golden file in place.
fn in_place(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut file = golden(name);
    change(&mut file);
    file
}

/// Changes a golden block and puts it together with right checksums and id.
fn edit(name: &str, change: impl FnOnce(&mut BlockEditor)) -> Vec<u8> {
    let mut editor = BlockEditor::open(&golden(name));
    change(&mut editor);
    editor.close()
}

/// Changes the bytes of a section.
fn in_section(name: &str, kind: SectionKind, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    edit(name, |editor| change(editor.section(kind)))
}

/// Changes the records of the catalogue.
fn in_records(name: &str, change: impl FnOnce(&mut BlockEditor)) -> Vec<u8> {
    edit(name, |editor| {
        change(editor);
        editor.repack();
    })
}

/// Changes the shapes in the catalogue.
fn in_shapes(name: &str, change: impl FnOnce(&mut BlockEditor)) -> Vec<u8> {
    in_records(name, |editor| {
        change(editor);
        editor.records.place_shapes();
    })
}

/// The columns of the last table.
fn last_columns(editor: &mut BlockEditor) -> &mut Vec<[u64; 3]> {
    &mut last(&mut editor.records.shapes).columns
}

/// A bit of `ro_compat` that no reader knows, so that class C is not checked.
const RELAXED: u32 = 1 << 28;

const PLAIN: &str = "plain-bitpacked";
const LISTS: &str = "lists-bitpacked";
const CHAIN: &str = "chain-bitpacked";
const METRICS: &str = "metrics";

fn break_rule(rule: Rule) -> Vec<u8> {
    use SectionKind::{Arena, Catalogue, Members, Meta, MetricMetadata, PackedArena, Rows, Symbols};
    match rule {
        Rule::Magic => in_place(PLAIN, |file| file[0] = 0x88),
        Rule::Version => in_place(PLAIN, |file| {
            file[8] += 1;
            reseal(file);
        }),
        Rule::IncompatFeatures => edit(PLAIN, |editor| editor.features[0] = 2),
        Rule::HeaderChecksum => in_place(PLAIN, |file| file[60] ^= 1),
        Rule::FileLen => in_place(PLAIN, |file| file.truncate(file.len() - 1)),
        Rule::DirectoryExtent => in_place(PLAIN, |file| {
            file[48..52].copy_from_slice(&1000_u32.to_le_bytes());
            reseal(file);
        }),
        Rule::FrontChecksum => in_place(PLAIN, |file| file[64] ^= 1),
        Rule::SectionOrder => edit(PLAIN, |editor| editor.sections.swap(0, 1)),
        Rule::SectionExtent => in_place(PLAIN, |file| {
            file[72] += 1;
            reseal(file);
        }),
        Rule::SectionRequired => edit(PLAIN, |editor| editor.sections.retain(|section| section.kind != Members.code())),
        Rule::SectionUnknown => edit(PLAIN, |editor| {
            editor.sections.push(SectionBytes { kind: 8, id: 0, bytes: b"new".to_vec() });
        }),
        Rule::ChecksLength => in_place(PLAIN, |file| {
            file.extend_from_slice(&[0; 4]);
            file[40] += 4;
            reseal(file);
        }),
        Rule::ChecksChecksum => in_place(PLAIN, |file| {
            file[56] ^= 1;
            reseal(file);
        }),
        Rule::ChunkChecksum => in_place(PLAIN, |file| {
            let last = file.len() - 25;
            file[last] ^= 1;
        }),
        Rule::CatalogueHeader => in_section(PLAIN, Catalogue, |bytes| bytes[24] = 33),
        Rule::CatalogueLength => in_section(PLAIN, Catalogue, |bytes| bytes.push(0)),
        Rule::CatalogueWidths => edit(PLAIN, wider_catalogue),
        Rule::CataloguePadding => in_section(PLAIN, Catalogue, set_last),
        Rule::SymbolsHeader => in_section(PLAIN, Symbols, |bytes| bytes[4] = 49),
        Rule::SymbolsLength => in_section(PLAIN, Symbols, |bytes| bytes.push(0)),
        Rule::SymbolsStarts => in_section(PLAIN, Arena, |bytes| bytes.push(b'x')),
        Rule::SymbolsWidths => edit(PLAIN, |editor| {
            let starts = starts(&golden(PLAIN));
            editor.repack_starts(&starts, 1);
        }),
        Rule::SymbolsPadding => in_section(PLAIN, Symbols, set_last),
        Rule::PackedHeader => in_archive(|editor| editor.section(PackedArena).truncate(7)),
        Rule::PackedFrame => with_frame(|arena| raw_frame(&single_segment(arena.len()), &[&raw_block(false, arena)])),
        Rule::PackedLength => in_archive(|editor| editor.section(PackedArena)[0] += 1),
        Rule::SymbolsOrder => in_section(PLAIN, Arena, |bytes| {
            let at = bytes.windows(2).position(|pair| pair == b"up").expect("a symbol");
            bytes[at] = b'a';
        }),
        Rule::SymbolsUtf8 => in_section(PLAIN, Arena, |bytes| *bytes.last_mut().expect("a symbol") = 0xFF),
        Rule::SymbolsUsed => edit(PLAIN, |editor| {
            let mut starts = starts(&golden(PLAIN));
            editor.section(Arena).extend_from_slice(b"zz");
            starts.push(starts.last().expect("the arena's length") + 2);
            editor.repack_starts(&starts, 0);
        }),
        Rule::TableColumns => in_records(PLAIN, |editor| last(&mut editor.records.tables)[2] += 1),
        Rule::TableRows => in_records(PLAIN, |editor| editor.records.keys[0][1] = 0),
        Rule::TableExtent => in_shapes(PLAIN, |editor| last(last_columns(editor))[2] += 40),
        Rule::ColumnDomain => in_shapes(PLAIN, |editor| last(last_columns(editor))[0] = 0),
        Rule::ColumnCode => in_records(PLAIN, |editor| editor.records.keys[0][3] += 100),
        Rule::ColumnWidth => in_shapes("one-series", |editor| {
            last(last_columns(editor))[2] += 1;
            editor.section(Rows).push(0);
        }),
        Rule::RowsOffset => in_section(PLAIN, Rows, |bytes| bytes.push(0)),
        Rule::RowsPadding => in_section(PLAIN, Rows, set_last),
        Rule::RowsOrder => edit(PLAIN, |editor| {
            // The second row of the first dictionary becomes the first.
            let bits = editor.records.keys[0][4];
            editor.set_bits(Rows, bits, bits as u32, 0);
        }),
        Rule::LeavesWritten => in_shapes(CHAIN, |editor| longest_leaves(editor).clear()),
        Rule::LeavesNeeded => in_shapes("one-series", |editor| last(&mut editor.records.shapes).leaves = vec![0, 1]),
        Rule::LeavesOrder => in_shapes(CHAIN, |editor| {
            let leaves = longest_leaves(editor);
            let other = leaves.iter().position(|&column| column != leaves[0]).expect("a leaf of another column");
            leaves.swap(0, other);
        }),
        // Two columns without bits, whose leaves are written out as they must be in this order.
        Rule::ColumnsOrder => in_shapes("one-series", |editor| {
            swap_last_domains(editor);
            last(&mut editor.records.shapes).leaves = vec![1, 0];
        }),
        Rule::TableDepth => too_deep(),
        Rule::RowsUsed => unused_row(true, 0),
        Rule::ValuesUsed => with_builder(|builder| {
            builder.push_keyset_table(&[Domain::Table(TableId(0))], &[0]).expect("a keyset without the second value");
        }),
        Rule::KeysOrder => in_records(PLAIN, |editor| {
            let (first, second) = (editor.records.keys[0][0], editor.records.keys[1][0]);
            (editor.records.keys[0][0], editor.records.keys[1][0]) = (second, first);
        }),
        Rule::PoolTable => in_records(LISTS, |editor| {
            let tables = editor.records.keys.len() + editor.records.tables.len();
            editor.records.pools[0][0] = tables as u64 - 1;
        }),
        Rule::PoolOrder => edit(LISTS, swap_pools),
        Rule::PoolLists => edit(LISTS, |editor| editor.set_bits(Members, 0, 3, 0)),
        Rule::MembersExtent => in_section(LISTS, Members, |bytes| bytes.push(0)),
        // The pool over `le` has the lists (0, 1, 3) and (0, 2): two ends of 3 bits, then members of 2 bits from byte
        // 1.
        Rule::ListMembers => edit(LISTS, |editor| editor.set_bits(Members, 10, 2, 0)),
        Rule::ListUpper => edit(LISTS, |editor| set_upper_bit(editor, 0, false)),
        Rule::ListOrder => lists_out_of_order(),
        Rule::ListUsed => unused_list(true, 0),
        Rule::ListColumn => in_shapes(LISTS, swap_last_domains),
        Rule::Anchors => edit(LISTS, |editor| {
            let offset = last(&mut editor.records.keysets)[1];
            editor.set_bits(Members, offset * 8, 1, 1);
        }),
        Rule::MembersPadding => in_section(LISTS, Members, set_last),
        Rule::KeysetSeries => in_records(PLAIN, |editor| editor.records.keysets[0][0] += 1),
        Rule::KeysetOrder => keysets_out_of_order(),
        Rule::MetaLength => in_section(PLAIN, Meta, |bytes| bytes.push(0)),
        Rule::MetaPadding => in_section(PLAIN, Meta, |bytes| bytes[117] |= 0x80),
        Rule::MetaTime => in_section(PLAIN, Meta, |bytes| bytes[32] = 5),
        Rule::MetaJob => in_section(PLAIN, Meta, |bytes| {
            bytes[64] = 1;
            bytes[80] = 1;
            bytes[84] = 1;
        }),
        Rule::MetaParents => in_section("meta", Meta, |bytes| bytes.copy_within(120..136, 136)),
        Rule::MetaPairs => in_section("meta", Meta, |bytes| {
            let at = bytes.windows(7).position(|name| name == b"cluster").expect("an external label");
            bytes[at] = b'z';
        }),
        Rule::MetaPolicy => in_section(PLAIN, Meta, |bytes| bytes[104..108].copy_from_slice(&17_u32.to_le_bytes())),
        Rule::PolicyKept => {
            let series = series(&[&[("name", "a value of 19 bytes")]]);
            let block = build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default());
            let mut editor = BlockEditor::open(&block.expect("a sound block"));
            editor.section(Meta)[108..112].copy_from_slice(&18_u32.to_le_bytes());
            editor.close()
        }
        Rule::MetaCounts => in_section(PLAIN, Meta, |bytes| bytes[8] += 1),
        Rule::Fingerprint => in_section(PLAIN, Meta, |bytes| bytes[16] ^= 1),
        Rule::MetricHeader => in_section(METRICS, MetricMetadata, |bytes| bytes[8] = 33),
        Rule::MetricLength => in_section(METRICS, MetricMetadata, |bytes| bytes.push(b'x')),
        Rule::MetricWidths => edit(METRICS, wider_metrics),
        Rule::MetricPadding => edit(METRICS, |editor| {
            let text_len = editor.metrics.text.len();
            let section = editor.section(MetricMetadata);
            let closing = section.len() - text_len - 1;
            section[closing] = 1;
        }),
        Rule::MetricTextEnds => in_metrics(|metrics| metrics.ends[1] = metrics.ends[0]),
        Rule::MetricTextOrder => in_metrics(|metrics| metrics.text[0] = b'~'),
        Rule::MetricTextUtf8 => in_metrics(|metrics| *last(&mut metrics.text) = 0xFF),
        Rule::MetricTextUsed => in_metrics(|metrics| {
            metrics.text.extend_from_slice("\u{10ffff}".as_bytes());
            metrics.ends.push([metrics.text.len() as u64]);
        }),
        Rule::MetricValues => in_metrics(|metrics| last(&mut metrics.rows)[5] = metrics.ends.len() as u64 + 1),
        Rule::MetricOrder => in_metrics(|metrics| metrics.rows.swap(0, 1)),
        Rule::ValueHeader
        | Rule::ValueName
        | Rule::ValueCount
        | Rule::ValueLength
        | Rule::ValueGroups
        | Rule::ValueRange
        | Rule::ValueTexts
        | Rule::ValueWidths
        | Rule::ValuePadding
        | Rule::ValueTextsUsed => edit(COLUMNS, |editor| columns::break_rule(editor, rule)),
        Rule::BlockId => BlockEditor::open(&golden(PLAIN)).with_id(BlockId([7; 16])).close(),
        _ => unreachable!("{rule:?} has no broken block"),
    }
}

fn last<T>(items: &mut [T]) -> &mut T {
    items.last_mut().expect("there is one")
}

#[expect(clippy::ptr_arg, reason = "passed where sections are changed, which are vectors")]
fn set_last(bytes: &mut Vec<u8>) {
    *last(bytes) = 1;
}

/// Returns the starts of the symbols of a block, and the length of the arena.
fn starts(block: &[u8]) -> Vec<u64> {
    let view = BlockView::open(block).expect("a golden block");
    let mut starts = vec![0];
    for id in 0..view.symbols().count() {
        let symbol = view.symbol(id.into()).expect("a golden block");
        starts.push(starts[starts.len() - 1] + symbol.len() as u64);
    }
    starts
}

/// The catalogue with one bit more for row counts than they need.
fn wider_catalogue(editor: &mut BlockEditor) {
    use zerocopy::FromBytes;
    let records = editor.records.clone();
    let section = editor.section(SectionKind::Catalogue);
    let (header, _) = chronoxide_format::layout::CatalogueHeader::read_from_prefix(section).expect("a catalogue");
    let mut header = header;
    header.table_widths[0] += 1;
    *section = records.pack(&header);
}

/// Changes the records of metric metadata.
fn in_metrics(change: impl FnOnce(&mut MetricRecords)) -> Vec<u8> {
    edit(METRICS, |editor| {
        change(&mut editor.metrics);
        editor.repack_metrics();
    })
}

/// Metric metadata with one bit more for types than they need.
fn wider_metrics(editor: &mut BlockEditor) {
    use zerocopy::FromBytes;
    let records = editor.metrics.clone();
    let section = editor.section(SectionKind::MetricMetadata);
    let (mut header, _) = chronoxide_format::layout::MetricsHeader::read_from_prefix(section).expect("metric metadata");
    header.row_widths[1] += 1;
    *section = records.pack(&header);
}

/// Swaps the domains of the last two columns.
fn swap_last_domains(editor: &mut BlockEditor) {
    let columns = last_columns(editor);
    let end = columns.len();
    let (a, b) = (columns[end - 2][0], columns[end - 1][0]);
    (columns[end - 2][0], columns[end - 1][0]) = (b, a);
}

/// A block with the key `k` and the values `v` and `w`, and whatever is built upon it.
fn with_builder(build: impl FnOnce(&mut BlockBuilder)) -> Vec<u8> {
    let mut builder = BlockBuilder::new(RowForm::BitPacked).with_any_depth();
    let symbols: Vec<_> = ["k", "v", "w"].iter().map(|symbol| builder.push_symbol(symbol).expect("in order")).collect();
    builder.push_key(symbols[0], &symbols[1..]).expect("in order");
    build(&mut builder);
    builder.finish(&BlockMeta::default()).expect("nothing is wrong with meta")
}

fn series(labelsets: &[&[(&str, &str)]]) -> BTreeSet<Labelset> {
    let labelset = |labels: &&[(&str, &str)]| labels.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
    labelsets.iter().map(labelset).collect()
}

/// Keys `a` to `l`, each in a table with all before it: one level too many.
fn too_deep() -> Vec<u8> {
    let mut builder = BlockBuilder::new(RowForm::BitPacked).with_any_depth();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let symbols: Vec<_> = names.iter().map(|symbol| builder.push_symbol(symbol).expect("in order")).collect();
    for &symbol in &symbols {
        builder.push_key(symbol, &[symbol]).expect("in order");
    }
    let mut below = Domain::Table(TableId(0));
    for key in 1..11 {
        let columns = [below, Domain::Table(TableId(key))];
        below = Domain::Table(builder.push_table(&columns, &[0, 0]).expect("any depth is allowed"));
    }
    builder.push_keyset_table(&[below, Domain::Table(TableId(11))], &[0, 0]).expect("any depth is allowed");
    builder.finish(&BlockMeta::default()).expect("nothing is wrong with meta")
}

/// Sets one of the upper bits of the first list of the second pool. It is split and has no low bits, and its members
/// are rows 0 to 5: the upper bits are 1 and 0 by turns.
fn set_upper_bit(editor: &mut BlockEditor, bit: u64, value: bool) {
    let [_, lists, members, low_width, offset] = editor.records.pools[1];
    assert_eq!((lists, low_width), (2, 0), "the golden block has such a pool");
    let ends = lists * u64::from(chronoxide_format::bits::width(members));
    editor.set_bits(SectionKind::Members, (offset + ends.div_ceil(8)) * 8 + bit, 1, value.into());
}

/// A plain list of 65,536 rows of 17 bits, said to be split into 16 low bits and 65,537 upper ones.
fn long_split_list() -> Vec<u8> {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let names: Vec<String> =
        (0..257).map(|number| format!("{number:03}")).chain(["k", "l", "m"].map(Into::into)).collect();
    let symbols: Vec<_> = names.iter().map(|symbol| builder.push_symbol(symbol).expect("in order")).collect();
    let prefix = builder.push_key(symbols[257], &symbols[..2]).expect("in order");
    let columns = [258, 259].map(|name| builder.push_key(symbols[name], &symbols[..257]).expect("in order"));
    // The members take 5 bits of their last byte, and 7 if the two lists are split.
    let rows: Vec<u32> = (0..65_789).flat_map(|row| [row / 257, row % 257]).collect();
    let table = builder.push_table(&columns.map(|key| Domain::Table(TableId(key.0))), &rows).expect("in order");
    let (most, rest): (Vec<u32>, Vec<u32>) = ((0..65_536).collect(), (65_536..65_789).collect());
    let pool = builder.push_pool(table, &[&most, &rest]).expect("in order");
    let columns = [Domain::Table(TableId(prefix.0)), Domain::Pool(pool)];
    builder.push_keyset_table(&columns, &[0, 0, 1, 1]).expect("in order");
    let block = builder.finish(&BlockMeta::default()).expect("nothing is wrong with meta");
    edit_block(&block, |editor| {
        assert_eq!(editor.records.pools[0][3], 17, "the lists are plain");
        editor.records.pools[0][3] = 16;
        editor.repack();
    })
}

/// A pool with a list that no prefix has. If `are_values_used`, its members are in series. `ro_compat` is that of the
/// block.
fn unused_list(are_values_used: bool, ro_compat: u32) -> Vec<u8> {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let symbols = ["k", "l", "v", "w"].map(|symbol| builder.push_symbol(symbol).expect("in order"));
    let prefix = builder.push_key(symbols[0], &symbols[2..]).expect("in order");
    let suffix = builder.push_key(symbols[1], &symbols[2..]).expect("in order");
    let pool = builder.push_pool(TableId(suffix.0), &[&[0], &[0, 1]]).expect("in order");
    let columns = [Domain::Table(TableId(prefix.0)), Domain::Pool(pool)];
    let list = u32::from(are_values_used);
    builder.push_keyset_table(&columns, &[0, list, 1, list]).expect("in order");
    let block = builder.finish(&BlockMeta::default()).expect("nothing is wrong with meta");
    edit_block(&block, |editor| editor.features[1] = ro_compat)
}

/// A required section of a later version, before all others.
fn unknown_section_first(editor: &mut BlockEditor) {
    editor.sections.insert(0, SectionBytes { kind: 9, id: 0, bytes: b"new".to_vec() });
}

/// The leaves of the table that has the most written out.
fn longest_leaves(editor: &mut BlockEditor) -> &mut Vec<u64> {
    let leaves = editor.records.shapes.iter_mut().map(|shape| &mut shape.leaves);
    leaves.max_by_key(|leaves| leaves.len()).expect("a table with leaves written out")
}

/// Swaps two pools: their records, their bytes and the numbers by which columns refer to them.
fn swap_pools(editor: &mut BlockEditor) {
    let &[[table_a, lists_a, members_a, low_a, 0], [table_b, lists_b, members_b, low_b, middle]] =
        &editor.records.pools[..]
    else {
        panic!("the golden block has two pools")
    };
    let end = editor.records.keysets.iter().map(|&[_, anchors]| anchors).filter(|&anchors| anchors > 0).min();
    let end = end.expect("a keyset with lists");
    editor.records.pools =
        vec![[table_b, lists_b, members_b, low_b, 0], [table_a, lists_a, members_a, low_a, end - middle]];
    editor.section(SectionKind::Members)[..end as usize].rotate_left(middle as usize);
    let first = 1 + (editor.records.keys.len() + editor.records.tables.len()) as u64;
    for column in editor.records.shapes.iter_mut().flat_map(|shape| &mut shape.columns) {
        if column[0] >= first {
            column[0] = first + 1 - (column[0] - first);
        }
    }
    editor.records.place_shapes();
    editor.repack();
}

/// Two prefixes whose lists stand in another order than they must, with the numbers of these lists.
fn lists_out_of_order() -> Vec<u8> {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let symbols: Vec<_> =
        ["k", "l", "v", "w"].iter().map(|symbol| builder.push_symbol(symbol).expect("in order")).collect();
    let prefix = builder.push_key(symbols[0], &symbols[2..]).expect("in order");
    let suffix = builder.push_key(symbols[1], &symbols[2..]).expect("in order");
    let pool = builder.push_pool(TableId(suffix.0), &[&[0], &[1]]).expect("in order");
    let columns = [Domain::Table(TableId(prefix.0)), Domain::Pool(pool)];
    builder.push_keyset_table(&columns, &[0, 0, 1, 1]).expect("in order");
    let block = builder.finish(&BlockMeta::default()).expect("nothing is wrong with meta");
    edit_block(&block, |editor| {
        // Ends of two lists in 2 bits each, and from byte 1 on a member of 1 bit each.
        editor.set_bits(SectionKind::Members, 8, 2, 0b01);
        // Rows of two codes of 1 bit each.
        let rows = last(&mut editor.records.tables)[1] * 8;
        editor.set_bits(SectionKind::Rows, rows, 4, 0b0110);
    })
}

/// An external label whose value is empty.
fn empty_external_value() -> Vec<u8> {
    let meta = BlockMeta { external_labels: vec![("a".to_owned(), "b".to_owned())], ..BlockMeta::default() };
    let block = build(&series(&[&[("k", "v")]]), &Plan::default(), RowForm::BitPacked, &meta).expect("a sound block");
    edit_block(&block, |editor| {
        let meta = editor.section(SectionKind::Meta);
        // `value_len`, and the last byte.
        let len = meta.len();
        meta[len - 4..len - 2].copy_from_slice(&[0, 0]);
        meta.pop();
    })
}

/// The keysets `b, c` and `a, c`.
fn keysets_out_of_order() -> Vec<u8> {
    let series = series(&[&[("a", "1"), ("c", "1")], &[("b", "1"), ("c", "1")]]);
    let block = build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).expect("a sound block");
    let mut editor = BlockEditor::open(&block);
    // The shapes of two keyset tables of two columns each.
    let shapes = &mut editor.records.shapes;
    let (a, b) = (shapes[0].columns[0][0], shapes[1].columns[0][0]);
    (shapes[0].columns[0][0], shapes[1].columns[0][0]) = (b, a);
    editor.records.place_shapes();
    editor.repack();
    editor.close()
}
