//! Archives: blocks whose arena is packed. They are read as other blocks are, and hostile frames reserve no memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chronoxide_compactor::{CompactOptions, Compaction};
use chronoxide_format::layout::{PACKED_ARENA, RowForm, SectionKind};
use chronoxide_format::metadata::{MetricMetadata, MetricType, OwnedMetricMetadata};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_format::{Error, ErrorKind, Rule, SeriesRef};
use chronoxide_reader::{Block, Checks};
use chronoxide_testkit::allocation::{Counting, measure};
use chronoxide_testkit::archive::{
    archives, is_same_archive, raw_block, raw_frame, single_segment, undecodable, unpacked, window,
};
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::random::{Random, random_plan, random_series};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CHECKS: [Checks; 3] = [Checks::Lazy, Checks::Eager, Checks::Never];

fn plain() -> BlockMeta {
    BlockMeta::default()
}

fn archive() -> BlockMeta {
    BlockMeta { archive: true, ..plain() }
}

fn is_archive(block: &[u8]) -> bool {
    BlockView::open(block).unwrap().features()[0] == PACKED_ARENA
}

/// The labels of all series of a view.
fn series_of(view: &BlockView<'_>) -> Result<BTreeSet<Labelset>, Error> {
    let text = view.text()?;
    let labels = |label: Result<chronoxide_reader::TextLabel<'_>, Error>| {
        label.map(|label| (label.name.to_owned(), label.value.to_owned()))
    };
    view.series_iter().map(|series| text.labels(&series?).map(labels).collect()).collect()
}

#[test]
fn archives_differ_from_plain_blocks_in_the_arena_alone() {
    let mut cases = 0;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let series = random_series(random.below(150), &mut random);
        let plan = if random.percent(30) { Plan::default() } else { random_plan(&series, &mut random) };
        let form = if random.percent(50) { RowForm::FixedWidth } else { RowForm::BitPacked };
        let [packed, plain] = [archive(), plain()].map(|meta| build(&series, &plan, form, &meta).unwrap());
        assert!(is_archive(&packed) && !is_archive(&plain), "seed {seed}");
        assert!(unpacked(&packed) == plain, "seed {seed}");
        let mut arena = vec![7; 3];
        let view = BlockView::open_unpacked(&packed, &mut arena).unwrap();
        let other = BlockView::open(&plain).unwrap();
        assert_eq!(view.verify(), other.verify(), "seed {seed}");
        assert_ne!(view.block_id(), other.block_id(), "seed {seed}");
        assert_eq!(series_of(&view), Ok(series), "seed {seed}");
        cases += 1;
    }
    assert_eq!(cases, 60);
}

#[test]
fn symbols_of_an_archive_that_was_not_decoded_are_an_error() {
    for golden in archives().into_iter().filter(|golden| !golden.series.is_empty()) {
        let view = BlockView::open(&golden.bytes).unwrap();
        let series = view.series(SeriesRef(0)).unwrap().unwrap();
        assert_eq!(series.labels().next().unwrap().map(|_| ()), Err(ErrorKind::PackedArena.into()), "{}", golden.name);
        assert_eq!(view.text().map(|_| ()), Err(ErrorKind::PackedArena.into()));
        assert_eq!(view.verify().map(|_| ()), Err(ErrorKind::PackedArena.into()));
        // Counts need no symbols.
        assert_eq!(view.series_count(), Ok(golden.series.len() as u32));
        assert_eq!(view.meta().unwrap().series_count(), golden.series.len() as u64);
        let packed = view.packed().unwrap().unwrap();
        assert_eq!(
            packed.arena_len(),
            BlockView::open(&unpacked(&golden.bytes)).unwrap().symbols().arena().len() as u64
        );
        assert!(packed.arena_section_len() < golden.bytes.len() as u64);
    }
    let empty = archives().into_iter().find(|golden| golden.series.is_empty()).unwrap();
    assert_eq!(BlockView::open(&empty.bytes).unwrap().verify().map(|_| ()), Err(ErrorKind::PackedArena.into()));
}

#[test]
fn lazy_eager_and_no_checks_give_the_same_series() {
    let folder = tempfile::tempdir().unwrap();
    let mut cases = 0;
    for golden in archives() {
        let path = folder.path().join(golden.name);
        std::fs::write(&path, &golden.bytes).unwrap();
        for checks in CHECKS {
            let blocks = [
                // SAFETY: the file lies in a folder of this test, and nothing changes it.
                unsafe { Block::map(&path, checks) }.unwrap(),
                Block::read(&path, checks).unwrap(),
                Block::from_vec(golden.bytes.clone(), checks).unwrap(),
                Block::from_shared(Arc::from(&golden.bytes[..]), checks).unwrap(),
            ];
            for block in blocks {
                assert_eq!(series_of(&block.view()).as_ref(), Ok(&golden.series), "{} {checks:?}", golden.name);
                assert_eq!(block.verify().unwrap().series_count, golden.series.len() as u64);
                let text = |series: &Labelset| block.view().find(series);
                assert!(golden.series.iter().all(|series| matches!(text(series), Ok(Some(_)))), "{}", golden.name);
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 6 * 3 * 4);
}

/// Metadata of metrics with long descriptions, as sources give them.
fn described(count: u32) -> Vec<OwnedMetricMetadata> {
    let description = |metric| format!("Time that a request waits in queue {metric}, from its arrival on, in seconds.");
    let of_metric = |metric| {
        let (name, description) = (format!("queue_{metric}_wait_seconds"), description(metric));
        let gauge = MetricMetadata { metric_type: MetricType::Gauge, unit: "s", ..MetricMetadata::default() };
        OwnedMetricMetadata::from(MetricMetadata { name: &name, description: &description, ..gauge })
    };
    (0..count).map(of_metric).collect()
}

#[test]
fn archives_pack_metric_metadata_and_merges_keep_them() {
    let metrics = described(200);
    let of = |metrics: &[OwnedMetricMetadata], meta: BlockMeta| {
        let series = random_series(20, &mut Random::new(metrics.len() as u64));
        let metrics = metrics.iter().map(OwnedMetricMetadata::borrowed).collect();
        build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta { metrics, ..meta }).unwrap()
    };
    let section = |block: &[u8], kind| {
        let view = BlockView::open(block).unwrap();
        view.sections().find(|section| section.known() == Some(kind)).map(|section| section.length)
    };
    let (packed, unpacked) = (of(&metrics, archive()), of(&metrics, plain()));
    let packed_len = section(&packed, SectionKind::PackedMetricMetadata).expect("they are packed");
    let plain_len = section(&unpacked, SectionKind::MetricMetadata).expect("they are not packed");
    assert!(packed_len * 5 < plain_len, "{packed_len} of {plain_len} bytes");
    assert_eq!(section(&packed, SectionKind::MetricMetadata), None);
    // A frame that is not smaller is not used.
    assert_eq!(section(&of(&metrics[..1], archive()), SectionKind::PackedMetricMetadata), None);

    let block = Block::from_vec_packed(packed.clone(), Checks::Lazy).unwrap();
    assert_eq!(block.view().metric_metadata().map(|_| ()), Err(ErrorKind::PackedArena.into()));
    block.unpack().unwrap();
    let rows = |view: &BlockView<'_>| -> Vec<OwnedMetricMetadata> {
        view.metric_metadata().unwrap().iter().map(|row| row.unwrap().into()).collect()
    };
    let mut sorted = metrics.clone();
    sorted.sort();
    assert_eq!(rows(&block.view()), sorted);
    block.verify().unwrap();

    let other = of(&described(250)[150..], plain());
    let other = Block::from_vec(other, Checks::Lazy).unwrap();
    for archive in [true, false] {
        let options = CompactOptions { archive, ..CompactOptions::default() };
        let views = [*block.view(), *other.view()];
        let merged = Compaction::new(&views, &options).merge_to_memory().unwrap().block;
        assert_eq!(section(&merged, SectionKind::PackedMetricMetadata).is_some(), archive);
        let mut content = Vec::new();
        let view = BlockView::open_unpacked(&merged, &mut content).unwrap();
        view.verify().unwrap();
        let mut expected = described(250);
        expected.sort();
        assert_eq!(rows(&view), expected);
    }
}

#[test]
fn a_mapped_archive_is_decoded_on_request() {
    let folder = tempfile::tempdir().unwrap();
    for golden in archives().into_iter().filter(|golden| !golden.series.is_empty()) {
        let path = folder.path().join(golden.name);
        std::fs::write(&path, &golden.bytes).unwrap();
        for checks in CHECKS {
            // SAFETY: the file lies in a folder of this test, and nothing changes it.
            let block = unsafe { Block::map_packed(&path, checks) }.unwrap();
            let (clone, before) = (block.clone(), block.view());
            assert!(before.is_packed());
            assert_eq!(series_of(&before), Err(ErrorKind::PackedArena.into()));
            assert_eq!(before.text().map(|_| ()), Err(ErrorKind::PackedArena.into()));
            assert_eq!(before.series_count(), Ok(golden.series.len() as u32));
            // Verification needs the arena, and does not keep it.
            assert_eq!(block.verify().unwrap().series_count, golden.series.len() as u64);
            assert!(block.view().is_packed());
            for _ in 0..2 {
                block.unpack().unwrap();
                assert_eq!(series_of(&clone.view()).as_ref(), Ok(&golden.series), "{} {checks:?}", golden.name);
                assert!(clone.view().text().is_ok());
            }
            // The text of the block was checked, but this view has none.
            assert!(before.is_packed());
            assert_eq!(before.text().map(|_| ()), Err(ErrorKind::PackedArena.into()));
        }
    }
}

#[test]
fn an_archive_that_cannot_be_decoded_can_be_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive.cx");
    std::fs::write(&path, undecodable(12 << 20, &plain())).unwrap();
    // SAFETY: the file lies in a folder of this test, and nothing changes it.
    let (block, usage) = measure(|| unsafe { Block::map_packed(&path, Checks::Eager) }.unwrap());
    assert!(usage.peak < 4096, "{usage:?}");
    assert!(block.view().packed().unwrap().unwrap().arena_len() >= 12 << 20);
    assert_eq!(block.unpack().map_err(|error| error.rule()), Err(Rule::PackedFrame));
    assert!(block.view().is_packed());
}

#[test]
fn damage_of_a_frame_is_named_with_its_file_when_the_block_is_opened() {
    let golden = archives().into_iter().find(|golden| golden.name == "archive-many").unwrap();
    let view = BlockView::open(&golden.bytes).unwrap();
    let section = view.sections().find(|section| section.known() == Some(SectionKind::PackedArena)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.cx");
    let mut bytes = golden.bytes.clone();
    bytes[(section.offset + section.length / 2) as usize] ^= 0x10;
    std::fs::write(&path, &bytes).unwrap();
    for (checks, rules) in [
        (Checks::Lazy, &[Rule::ChunkChecksum][..]),
        (Checks::Eager, &[Rule::ChunkChecksum]),
        (Checks::Never, &[Rule::PackedFrame, Rule::PackedLength]),
    ] {
        match Block::read(&path, checks) {
            Err(chronoxide_reader::OpenError::Block { source, path: named }) => {
                assert!(rules.contains(&source.rule()), "{checks:?}: {source}");
                assert_eq!(named, path);
            }
            Err(error) => panic!("{error}"),
            // Without checks, damage may give other strings.
            Ok(block) => assert!(checks == Checks::Never && block.verify().is_err()),
        }
    }
}

/// Merges blocks, archives or not, in an order.
fn merged(blocks: &[Vec<u8>], options: &CompactOptions) -> Vec<u8> {
    let blocks: Vec<Block> =
        blocks.iter().map(|bytes| Block::from_vec(bytes.clone(), Checks::Never).unwrap()).collect();
    let views: Vec<BlockView<'_>> = blocks.iter().map(|block| *block.view()).collect();
    Compaction::new(&views, options).merge_to_memory().unwrap().block
}

/// The sections of a block that do not say where it came from, with a plain arena.
fn content_sections(block: &[u8]) -> Vec<Vec<u8>> {
    let meta = SectionKind::Meta.code();
    let sections = BlockEditor::open(&unpacked(block)).sections;
    sections.into_iter().filter(|section| section.kind != meta).map(|section| section.bytes).collect()
}

#[test]
fn archives_merge_to_what_plain_blocks_do() {
    let mut cases = 0;
    for seed in 0..40 {
        let mut random = Random::new(seed);
        // The plan of the largest input is adopted. Ids, which differ, would choose among equal ones.
        let inputs: BTreeMap<usize, BTreeSet<Labelset>> = (0..1 + random.below(4))
            .map(|_| random_series(random.below(120), &mut random))
            .map(|series| (series.len(), series))
            .collect();
        let pairs: Vec<[Vec<u8>; 2]> = inputs
            .values()
            .map(|series| {
                let plan = random_plan(series, &mut random);
                [archive(), plain()].map(|meta| build(series, &plan, RowForm::BitPacked, &meta).unwrap())
            })
            .collect();
        let plain: Vec<Vec<u8>> = pairs.iter().map(|[_, plain]| plain.clone()).collect();
        let packed: Vec<Vec<u8>> = pairs.iter().map(|[packed, _]| packed.clone()).collect();
        let mixed: Vec<Vec<u8>> = pairs.iter().enumerate().map(|(at, pair)| pair[at % 2].clone()).collect();
        for replan in [false, true] {
            let options = |archive| CompactOptions { archive, replan, ..CompactOptions::default() };
            let expected = merged(&plain, &options(false));
            assert!(!is_archive(&expected), "seed {seed}");
            for inputs in [&plain, &packed, &mixed] {
                for archive in [false, true] {
                    let output = merged(inputs, &options(archive));
                    assert_eq!(is_archive(&output), archive, "seed {seed}");
                    assert!(content_sections(&output) == content_sections(&expected), "seed {seed}, replan {replan}");
                    let mut arena = Vec::new();
                    let view = BlockView::open_unpacked(&output, &mut arena).unwrap();
                    let expected = BlockView::open(&expected).unwrap().verify();
                    assert_eq!(view.verify(), expected, "seed {seed}");
                    cases += 1;
                }
            }
        }
    }
    println!("{cases} merges");
    assert_eq!(cases, 40 * 2 * 3 * 2);
}

/// The small archive with another packed arena and right checksums.
fn with_section(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let golden = archives().into_iter().find(|golden| golden.name == "archive-small").unwrap();
    let mut editor = BlockEditor::open(&golden.bytes);
    change(editor.section(SectionKind::PackedArena));
    editor.close()
}

/// A frame of RLE blocks of 128 KiB.
fn bomb(fields: &[u8], blocks: usize) -> Vec<u8> {
    let block = |is_last: bool| {
        let header = u32::from(is_last) | 1 << 1 | (1 << 17) << 3;
        [&header.to_le_bytes()[..3], b"x"].concat()
    };
    let blocks: Vec<Vec<u8>> = (0..blocks).map(|number| block(number + 1 == blocks)).collect();
    raw_frame(fields, &blocks.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn hostile_frames_reserve_no_memory() {
    let claim = |arena_len: u64, frame: &[u8]| [&arena_len.to_le_bytes()[..], frame].concat();
    let wide = |size: u64| [&[0xC0, 13 << 3][..], &size.to_le_bytes()].concat();
    let up = raw_block(true, b"up");
    let cases = [
        ("4 GiB in a raw block", claim(1 << 32, &raw_frame(&wide(1 << 32), &[&up])), Rule::PackedHeader),
        ("all memory", claim(u64::MAX, &raw_frame(&wide(u64::MAX), &[&up])), Rule::PackedHeader),
        ("1 MiB in a raw block", claim(1 << 20, &raw_frame(&wide(1 << 20), &[&up])), Rule::PackedLength),
        // 8 GiB of RLE blocks in 256 KiB.
        ("a bomb that states its size", claim(1 << 33, &bomb(&wide(1 << 33), 1 << 16)), Rule::PackedHeader),
        // The ratio allows 64 MiB.
        ("a bomb within the ratio", claim(1 << 26, &bomb(&wide(1 << 26), 1 << 16)), Rule::PackedLength),
        ("a bomb without a size", claim(2, &bomb(&window(23), 1 << 16)), Rule::PackedLength),
        ("a window of 128 MiB", claim(2, &raw_frame(&window(27), &[&up])), Rule::PackedFrame),
        ("no frame", claim(2, b""), Rule::PackedFrame),
        ("half a frame", claim(2, &raw_frame(&single_segment(2), &[&up[..4]])), Rule::PackedFrame),
    ];
    for (what, section, rule) in cases {
        let block = with_section(|bytes| *bytes = section);
        let (found, usage) = measure(|| {
            let mut arena = Vec::new();
            BlockView::open_unpacked(&block, &mut arena).map(|_| ()).map_err(|error| error.rule())
        });
        assert_eq!(found, Err(rule), "{what}");
        assert!(usage.peak <= 1024, "{what}: {usage:?}");
    }
}

#[test]
fn a_frame_with_more_than_its_symbols_reserves_as_much_as_these() {
    let frame = bomb(&window(23), 1 << 12);
    let block = with_section(|bytes| {
        bytes.truncate(8);
        bytes.extend_from_slice(&frame);
    });
    let (found, usage) = measure(|| {
        let mut arena = Vec::new();
        BlockView::open_unpacked(&block, &mut arena).map(|_| ()).map_err(|error| error.rule())
    });
    assert_eq!(found, Err(Rule::PackedLength));
    assert!(usage.peak <= 1024, "{usage:?}");
}

#[test]
fn an_arena_that_is_too_long_for_its_frame_is_stored_plain() {
    // 40 symbols of 60,000 bytes, which differ in their ends: 2.4 MB that zstd packs into 1 KB.
    let value = |number: u32| format!("{}{number:02}", "v".repeat(60_000));
    let series: BTreeSet<Labelset> = (0..40).map(|number| [("name".to_owned(), value(number))].into()).collect();
    let block = build(&series, &Plan::default(), RowForm::BitPacked, &archive()).unwrap();
    assert!(!is_archive(&block));
    assert_eq!(BlockView::open(&block).unwrap().verify().unwrap().series_count, 40);
    // Less than a MiB may have any frame.
    let few: BTreeSet<Labelset> = series.into_iter().take(10).collect();
    let block = build(&few, &Plan::default(), RowForm::BitPacked, &archive()).unwrap();
    assert!(is_archive(&block) && block.len() < 10_000, "{} bytes", block.len());
    let block = Block::from_vec(block, Checks::Lazy).unwrap();
    assert_eq!(series_of(&block.view()), Ok(few));
}

#[test]
fn archives_with_other_frames_are_the_same_archive() {
    let golden = archives().into_iter().find(|golden| golden.name == "archive-small").unwrap();
    let raw = archives().into_iter().find(|golden| golden.name == "archive-raw").unwrap();
    assert!(golden.bytes != raw.bytes && is_same_archive(&golden.bytes, &raw.bytes));
    let block = Block::from_vec(raw.bytes, Checks::Eager).unwrap();
    assert_eq!(block.verify().unwrap().series_count, golden.series.len() as u64);
}
