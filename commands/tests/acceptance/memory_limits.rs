//! A memory limit decides where a capture is cut, and never what is kept: its blocks are merged into the series of one
//! block without a limit.

use std::io::Cursor;

use chronoxide_compactor::{CompactOptions, Compaction};
use chronoxide_format::view::BlockView;
use chronoxide_ingest::input::{Format, Source};
use chronoxide_ingest::{AssembleOptions, Ingest, IngestOptions};
use chronoxide_planner::Layout;
use chronoxide_testkit::sweep;
use chronoxide_workload::{Options, Workload, write};

fn ingested(content: &[u8], format: Format, layout: Layout, max_memory: Option<usize>) -> Vec<Vec<u8>> {
    let assemble = AssembleOptions { layout, max_memory, ..AssembleOptions::default() };
    let options = IngestOptions { format: Some(format), assemble, ..IngestOptions::default() };
    let mut ingest = Ingest::new(options, Vec::new());
    ingest.read(Source::new("capture".to_owned(), Cursor::new(content.to_vec())).unwrap()).unwrap();
    ingest.finish().unwrap().1
}

#[test]
fn blocks_cut_by_any_memory_limit_are_merged_into_the_same_series() {
    let workload = Workload::new(Options { series: 12_000, windows: 0..2, ..Options::default() }).unwrap();
    let formats = [
        (chronoxide_workload::Format::OtlpProto, Format::OtlpProto),
        (chronoxide_workload::Format::OtlpJson, Format::OtlpJson),
        (chronoxide_workload::Format::SeriesJson, Format::SeriesJson),
    ];
    let (mut fingerprints, mut most) = (Vec::new(), 0);
    // A layout for each format by turns, and some limits, unless all are asked for.
    let layouts = [Layout::Factored, Layout::BitPacked];
    let limits =
        sweep::cases(&[None, Some(5 << 20)][..], &[None, Some(32 << 20), Some(8 << 20), Some(6 << 20), Some(5 << 20)]);
    for (number, (written, format)) in formats.into_iter().enumerate() {
        let mut content = Vec::new();
        write(&workload, written, &mut content).unwrap();
        for layout in sweep::by_turns(layouts, number, 2) {
            let mut counts = Vec::new();
            for &max_memory in limits {
                let blocks = ingested(&content, format, layout, max_memory);
                let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
                let options = CompactOptions { layout, ..CompactOptions::default() };
                let merged = Compaction::new(&views, &options).merge_to_memory().unwrap();
                let merged = BlockView::open(&merged.block).unwrap();
                fingerprints.push((merged.series_count().unwrap(), merged.verify().unwrap().fingerprint));
                counts.push(blocks.len());
            }
            println!("{format:?}, {}: {counts:?} blocks", layout.name());
            assert_eq!(counts[0], 1);
            assert!(counts.is_sorted(), "a lower limit makes no fewer blocks: {counts:?}");
            most = most.max(counts[limits.len() - 1]);
        }
    }
    assert!(most > 2, "{most} blocks: nothing was cut");
    assert_eq!(fingerprints.len(), sweep::cases(6, 30));
    assert!(fingerprints.iter().all(|found| *found == fingerprints[0]), "{fingerprints:?}");
}
