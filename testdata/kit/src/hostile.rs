//! Fields set to values that no writer would write, with checksums that are right all the same.

use chronoxide_format::layout::SectionKind;

use crate::editor::{BlockEditor, reseal};

/// A field of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Bytes of the header or the directory: position and size.
    File(usize, usize),
    /// Bytes of a section: position and size.
    Section(SectionKind, usize, usize),
    /// A field of the catalogue or of metric metadata: record kind, record, field.
    Record(RecordKind, usize, usize),
}

/// The record kinds of the catalogue and of metric metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are the spec's")]
pub enum RecordKind {
    Table,
    Column,
    Leaf,
    Pool,
    Keyset,
    Key,
    Metric,
    MetricText,
}

/// The values that each field is set to: what it was, nearby, and the ends of every width.
#[must_use]
pub fn boundary_values(was: u64) -> [u64; 32] {
    [
        0,
        1,
        2,
        3,
        7,
        8,
        9,
        15,
        16,
        17,
        31,
        32,
        33,
        48,
        63,
        64,
        127,
        255,
        256,
        1_023,
        1_024,
        65_535,
        65_536,
        (1 << 31) - 1,
        1 << 31,
        (1 << 32) - 1,
        1 << 32,
        (1 << 47) - 1,
        u64::MAX,
        was.wrapping_add(1),
        was.wrapping_sub(1),
        was ^ 4,
    ]
}

/// All fields of a block: header, directory, the headers of catalogue, symbols, meta and metric metadata, every field
/// of every record, and the first bytes of what is packed.
#[must_use]
pub fn fields(block: &[u8]) -> Vec<Field> {
    let mut editor = BlockEditor::open(block);
    let mut fields = Vec::new();
    let header = [(8, 2), (10, 2), (12, 4), (16, 4), (20, 4), (24, 8), (32, 8), (40, 8), (48, 4), (52, 4), (56, 4)];
    fields.extend(header.map(|(at, size)| Field::File(at, size)));
    for entry in 0..editor.sections.len() {
        fields.extend([(0, 4), (4, 4), (8, 8), (16, 8)].map(|(at, size)| Field::File(64 + entry * 24 + at, size)));
    }
    let catalogue = [(0, 4), (4, 4), (8, 4), (12, 4), (16, 8)].into_iter().chain((24..42).map(|at| (at, 1)));
    let symbols = [(0, 4), (4, 1), (5, 1), (6, 2), (8, 1), (9, 1)].into_iter();
    let meta = (0..8).map(|at| (at * 8, 8)).chain((16..29).map(|at| (at * 4, 4))).chain([(116, 1), (117, 1), (118, 2)]);
    let packed = (0..24).map(|at| (at, 1));
    let has_metrics = editor.has(SectionKind::MetricMetadata);
    let mut in_section = |kind, places: &mut dyn Iterator<Item = (usize, usize)>| {
        let len = editor.section(kind).len();
        fields.extend(places.filter(|(at, size)| at + size <= len).map(|(at, size)| Field::Section(kind, at, size)));
    };
    // The header, and the first bytes of keys, tables and shapes.
    in_section(SectionKind::Catalogue, &mut catalogue.into_iter().chain((42..66).map(|at| (at, 1))));
    in_section(SectionKind::Symbols, &mut symbols.into_iter());
    in_section(SectionKind::Meta, &mut meta.into_iter());
    in_section(SectionKind::Rows, &mut packed.clone());
    in_section(SectionKind::Members, &mut packed.clone());
    in_section(SectionKind::Arena, &mut packed.clone().take(4));
    if has_metrics {
        let header = [(0, 4), (4, 4)].into_iter().chain((8..16).map(|at| (at, 1)));
        in_section(SectionKind::MetricMetadata, &mut header.chain((16..40).map(|at| (at, 1))));
    }
    let (records, metrics) = (&editor.records, &editor.metrics);
    let counts = [
        (RecordKind::Table, records.tables.len(), 3),
        (RecordKind::Column, records.shapes.iter().map(|shape| shape.columns.len()).sum(), 3),
        (RecordKind::Leaf, records.shapes.iter().map(|shape| shape.leaves.len()).sum(), 1),
        (RecordKind::Pool, records.pools.len(), 4),
        (RecordKind::Keyset, records.keysets.len(), 2),
        (RecordKind::Key, records.keys.len(), 5),
        (RecordKind::Metric, metrics.rows.len(), 6),
        (RecordKind::MetricText, metrics.ends.len(), 1),
    ];
    for (kind, count, width) in counts {
        // Enough of each kind; more of the same tells nothing new.
        let chosen = (0..count).filter(|&record| record < 16 || record + 4 > count);
        fields.extend(chosen.flat_map(|record| (0..width).map(move |field| Field::Record(kind, record, field))));
    }
    fields
}

/// The block with some of its fields set to other values, the later ones on top of the earlier, and checksums made
/// anew.
#[must_use]
pub fn with_fields(block: &[u8], changes: &[(Field, usize)]) -> Vec<u8> {
    let mut editor = BlockEditor::open(block);
    let is_record = |field: &Field| matches!(field, Field::Record(..));
    let in_shapes = |kind| matches!(kind, RecordKind::Column | RecordKind::Leaf);
    // Shapes first: they may grow, and then the tables must know where they start before that is changed, too.
    for shapes in [true, false] {
        for &(field, value) in changes {
            if let Field::Record(kind, record, field) = field
                && in_shapes(kind) == shapes
            {
                let slot = record_field(&mut editor, kind, record, field);
                // No record's field is wider than this.
                *slot = boundary_values(*slot)[value] & widest(kind, field);
            }
        }
        if shapes && changes.iter().any(|&(field, _)| matches!(field, Field::Record(kind, ..) if in_shapes(kind))) {
            editor.records.place_shapes();
        }
    }
    if changes.iter().any(|(field, _)| is_record(field)) {
        editor.repack();
        editor.repack_metrics();
    }
    for &(field, value) in changes {
        if let Field::Section(kind, at, size) = field {
            set(editor.section(kind), at, size, value);
        }
    }
    let mut file = editor.close();
    let in_file: Vec<_> = changes.iter().filter(|(field, _)| matches!(field, Field::File(..))).collect();
    for &&(field, value) in &in_file {
        if let Field::File(at, size) = field {
            set(&mut file, at, size, value);
        }
    }
    if !in_file.is_empty() {
        reseal(&mut file);
    }
    file
}

/// The widest value that a field can be written with.
fn widest(kind: RecordKind, field: usize) -> u64 {
    match (kind, field) {
        // The end of a field in a row, whose width has 4 bits in a shape.
        (RecordKind::Column, 2) => (1 << 15) - 1,
        _ => (1 << 48) - 1,
    }
}

fn record_field(editor: &mut BlockEditor, kind: RecordKind, record: usize, field: usize) -> &mut u64 {
    let BlockEditor { records, metrics, .. } = editor;
    match kind {
        RecordKind::Table => &mut records.tables[record][field],
        RecordKind::Column => {
            let mut columns = records.shapes.iter_mut().flat_map(|shape| &mut shape.columns);
            &mut columns.nth(record).expect("in range")[field]
        }
        RecordKind::Leaf => {
            let mut leaves = records.shapes.iter_mut().flat_map(|shape| &mut shape.leaves);
            leaves.nth(record).expect("in range")
        }
        RecordKind::Pool => &mut records.pools[record][field],
        RecordKind::Keyset => &mut records.keysets[record][field],
        RecordKind::Key => &mut records.keys[record][field],
        RecordKind::Metric => &mut metrics.rows[record][field],
        RecordKind::MetricText => &mut metrics.ends[record][field],
    }
}

fn set(bytes: &mut [u8], at: usize, size: usize, value: usize) {
    let Some(field) = bytes.get_mut(at..at + size) else { return };
    let mut was = [0; 8];
    was[..size].copy_from_slice(field);
    let value = boundary_values(u64::from_le_bytes(was))[value];
    field.copy_from_slice(&value.to_le_bytes()[..size]);
}
