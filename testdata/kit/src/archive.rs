//! Golden blocks with packed arenas, and frames made by hand.

use std::collections::BTreeSet;

use chronoxide_format::layout::{PACKED_ARENA, RowForm, SectionKind};
use chronoxide_format::metadata::{MetricMetadata, MetricType, Monotonicity, Temporality};
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_format::write::{BlockMeta, MetricRecords, SectionBytes};

use crate::editor::BlockEditor;
use crate::golden::{Golden, factored, few_series, many_series, small, with_meta};
use crate::plan::{Labelset, Plan, build};

/// Name of the archive that broken blocks are made from.
pub const ARCHIVE: &str = "archive-small";

/// All golden archives, in the order of their names. The bytes of their frames depend on the version of zstd.
#[must_use]
pub fn archives() -> Vec<Golden> {
    vec![
        archive("archive-empty", BTreeSet::new()),
        archive("archive-many", many_series()),
        described(),
        planned(),
        raw(),
        archive(ARCHIVE, small()),
    ]
}

fn archive(name: &'static str, series: BTreeSet<Labelset>) -> Golden {
    with_meta(name, series, &BlockMeta { archive: true, ..BlockMeta::default() })
}

/// The planner's result, with times and metric metadata.
fn planned() -> Golden {
    let row = MetricMetadata {
        name: "wait",
        metric_type: MetricType::Histogram,
        temporality: Temporality::Cumulative,
        monotonicity: Monotonicity::NotMonotonic,
        unit: "s",
        description: "Time in the queue.",
    };
    let meta = BlockMeta {
        time: Some(TimeRange { start: 1_700_000_000_000_000_000, end: 1_700_003_600_000_000_000 }),
        metrics: [row].into_iter().collect(),
        archive: true,
        ..BlockMeta::default()
    };
    factored("archive-planned", few_series(), &meta)
}

/// Metric metadata that are long enough to be packed.
fn described() -> Golden {
    let descriptions: Vec<(String, String)> = (0..8)
        .map(|queue| {
            (format!("queue_{queue}_wait"), format!("Time that a request waits in queue {queue}, in seconds."))
        })
        .collect();
    let row = |(name, description): &'static (String, String)| MetricMetadata {
        name,
        metric_type: MetricType::Gauge,
        unit: "s",
        description,
        ..MetricMetadata::default()
    };
    let descriptions: &'static [(String, String)] = descriptions.leak();
    let meta = BlockMeta { metrics: descriptions.iter().map(row).collect(), archive: true, ..BlockMeta::default() };
    with_meta("archive-metrics", small(), &meta)
}

/// A frame of two raw blocks, without its content size.
fn raw() -> Golden {
    let mut golden = archive("archive-raw", small());
    let mut editor = BlockEditor::open(&golden.bytes);
    in_packed(&mut editor, |arena| {
        raw_frame(&window(10), &[&raw_block(false, &arena[..9]), &raw_block(true, &arena[9..])])
    });
    golden.bytes = editor.close();
    golden
}

/// Replaces the frame of a packed arena by one that is made from the arena.
///
/// # Panics
/// If the block has no sound packed arena.
pub fn in_packed(editor: &mut BlockEditor, make: impl FnOnce(&[u8]) -> Vec<u8>) {
    let block = editor.clone().close();
    let mut content = Vec::new();
    let view = BlockView::open_unpacked(&block, &mut content).expect("a sound block");
    let frame = make(view.symbols().arena());
    let section = editor.section(SectionKind::PackedArena);
    section.truncate(8);
    section.extend_from_slice(&frame);
}

/// Gives a block with a plain arena a packed one: a raw block for each 128 KiB.
///
/// # Panics
/// If the block has no plain arena.
pub fn pack(editor: &mut BlockEditor) {
    let place = editor.sections.iter().position(|section| section.kind == SectionKind::Arena.code());
    let place = place.expect("a plain arena");
    let arena = std::mem::take(&mut editor.sections[place].bytes);
    let pieces: Vec<&[u8]> = if arena.is_empty() { vec![&[]] } else { arena.chunks(1 << 17).collect() };
    let blocks = pieces.iter().enumerate().map(|(number, piece)| raw_block(number + 1 == pieces.len(), piece));
    let frame = raw_frame(&window(20), &[&blocks.collect::<Vec<_>>().concat()]);
    let bytes = [&(arena.len() as u64).to_le_bytes()[..], &frame].concat();
    editor.sections[place] = SectionBytes { kind: SectionKind::PackedArena.code(), id: 0, bytes };
    editor.features[0] |= PACKED_ARENA;
}

/// Returns an archive with an arena of at least `len` bytes, as its sections claim. Their form is sound, but the frame
/// is noise, so that decoding it is an error.
///
/// # Panics
/// If a block cannot hold it.
#[must_use]
pub fn undecodable(len: usize, meta: &BlockMeta) -> Vec<u8> {
    const VALUE_LEN: usize = 60_000;
    let value = |number: usize| format!("{number:04}{}", "v".repeat(VALUE_LEN));
    let series = (0..=len / VALUE_LEN).map(|number| [("name".to_owned(), value(number))].into()).collect();
    let block = build(&series, &Plan::default(), RowForm::BitPacked, meta).expect("few series");
    let mut editor = BlockEditor::open(&block);
    pack(&mut editor);
    in_packed(&mut editor, |arena| {
        let count = arena.len().div_ceil(1 << 17);
        // Blocks of type 2, compressed, each for up to 128 KiB: 1 byte for 128, of 256 that the ratio allows.
        let header = |number: usize| (u32::from(number + 1 == count) | 2 << 1 | 1024 << 3).to_le_bytes();
        let noise = |number| [&header(number)[..3], &[0xFF; 1024]].concat();
        raw_frame(&window(20), &[&(0..count).flat_map(noise).collect::<Vec<u8>>()])
    });
    editor.close()
}

/// Gives an archive plain sections, so that it can be compared with others: frames of one content differ.
///
/// # Panics
/// If the block is not sound.
#[must_use]
pub fn unpacked(block: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    let view = BlockView::open_unpacked(block, &mut content).expect("a sound block");
    let (arena, metrics) = (view.symbols().arena().to_vec(), MetricRecords::from_view(&view).expect("a sound block"));
    let mut editor = BlockEditor::open(block);
    for section in &mut editor.sections {
        match SectionKind::from_code(section.kind) {
            Some(SectionKind::PackedArena) => *section = SectionBytes::new(SectionKind::Arena, arena.clone()),
            Some(SectionKind::PackedMetricMetadata) => {
                let bytes = metrics.encode().expect("records can be counted");
                *section = SectionBytes::new(SectionKind::MetricMetadata, bytes);
            }
            _ => {}
        }
    }
    editor.features[0] &= !PACKED_ARENA;
    editor.close()
}

/// Returns true if two sound archives differ in their frames at most, and so in their ids.
#[must_use]
pub fn is_same_archive(a: &[u8], b: &[u8]) -> bool {
    unpacked(a) == unpacked(b)
}

/// Returns a frame with this descriptor and the fields after it, and these blocks.
#[must_use]
pub fn raw_frame(fields: &[u8], blocks: &[&[u8]]) -> Vec<u8> {
    [&[0x28, 0xB5, 0x2F, 0xFD][..], fields, &blocks.concat()].concat()
}

/// Returns the fields of a frame that states the size of its content, which is its window.
#[must_use]
pub fn single_segment(content_len: usize) -> Vec<u8> {
    [&[0xA0][..], &(content_len as u32).to_le_bytes()].concat()
}

/// Returns the fields of a frame that states its window, which has 2^`width` bytes, and not the size of its content.
#[must_use]
pub fn window(width: u8) -> Vec<u8> {
    vec![0, (width - 10) << 3]
}

/// Returns a block of a frame that holds these bytes as they are.
#[must_use]
pub fn raw_block(is_last: bool, content: &[u8]) -> Vec<u8> {
    let header = u32::from(is_last) | (content.len() as u32) << 3;
    [&header.to_le_bytes()[..3], content].concat()
}
