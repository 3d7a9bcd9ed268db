//! Every export of a block is an input, and gives the same series.

use std::collections::BTreeSet;
use std::io::Cursor;

use chronoxide_arrow::{BlockTable, Column, Scan};
use chronoxide_format::layout::RowForm;
use chronoxide_format::write::BlockMeta;
use chronoxide_ingest::input::Source;
use chronoxide_ingest::{Ingest, IngestOptions};
use chronoxide_inspect::export::{Format, export};
use chronoxide_reader::{Block, Checks};
use chronoxide_testkit::plan::build;
use chronoxide_testkit::random::{Random, random_plan, random_series};
use chronoxide_testkit::sweep;

use crate::canonical::{self, Labels};

/// Names that have a meaning in some format, or that it must escape.
const NAMES: [&str; 20] = [
    "series_ref",
    "_series_ref",
    "__series_ref",
    "timestamp",
    "timestamps",
    "value",
    "labels",
    "metric",
    "resourceMetrics",
    "resourceLogs",
    "status",
    "data",
    "errorType",
    "MetricName",
    "Attributes",
    "l_job",
    "s_col_indexes",
    "a,b",
    "\"",
    "line\nbreak\r\n",
];

/// Random series. Some have labels with such names.
fn series(random: &mut Random) -> BTreeSet<Labels> {
    let values = ["17", "error", "success", "x,y", "\"quoted\"", "a\r\nb\n", "é", "{\"a\":1}", " "];
    let names: Vec<&str> = NAMES.into_iter().filter(|_| random.percent(25)).collect();
    let with_names = |mut labels: Labels, random: &mut Random| {
        for name in &names {
            if random.percent(60) {
                labels.insert((*name).to_owned(), values[random.below(values.len())].to_owned());
            }
        }
        labels
    };
    random_series(60, random).into_iter().map(|labels| with_names(labels, random)).collect()
}

fn read(content: Vec<u8>) -> BTreeSet<Labels> {
    let mut ingest = Ingest::new(IngestOptions::default(), Vec::new());
    ingest.read(Source::new("export".to_owned(), Cursor::new(content)).unwrap()).unwrap();
    let (report, blocks) = ingest.finish().unwrap();
    assert!(!report.is_partial(false), "{report:?}");
    blocks.iter().flat_map(|block| canonical::block_series(block)).collect()
}

#[test]
fn every_export_is_an_input_with_the_same_series() {
    let mut tried = 0;
    for seed in 0..sweep::cases(60, 600) {
        let mut random = Random::new(seed);
        let all = series(&mut random);
        if all.is_empty() {
            continue;
        }
        let plan = random_plan(&all, &mut random);
        let block = build(&all, &plan, RowForm::BitPacked, &BlockMeta::default()).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &block).unwrap();
        let table = BlockTable::new(Block::read(file.path(), Checks::Eager).unwrap()).unwrap();
        let labels = table.label_names().unwrap();
        let columns = || labels.iter().map(|name| Column::label(name.as_str()));
        let maps = || table.scan().with_columns([Column::series_ref(), Column::labels()]);
        let scans: Vec<(&str, Scan)> = vec![
            ("all columns", table.scan()),
            ("in order of labels", table.scan().in_label_order()),
            ("a map", maps()),
            ("labels only", table.scan().with_columns(columns())),
        ];
        for (shape, scan) in scans {
            for format in [Format::Parquet, Format::Arrow, Format::ArrowStream, Format::Csv, Format::Jsonl] {
                // CSV without a metric name and without refs needs --format, and has no maps. Without refs, a label
                // with their name and a number as its value looks like them.
                let is_recognized = labels.iter().any(|name| name == "__name__")
                    && !labels.iter().any(|name| name.ends_with("series_ref"));
                let skips = match format {
                    Format::Csv => shape == "a map" || shape == "labels only" && !is_recognized,
                    // Without refs, an object with labels such as `resourceMetrics` is not known to be a series.
                    Format::Jsonl => shape == "labels only",
                    _ => false,
                };
                if skips {
                    continue;
                }
                let mut content = Vec::new();
                export(&scan, format, &mut content, &mut |_| true).unwrap();
                let found = read(content);
                assert!(
                    found == all,
                    "seed {seed}, {format:?}, {shape}: {:?}",
                    found.symmetric_difference(&all).next()
                );
                tried += 1;
            }
        }
    }
    println!("{tried} exports");
    assert!(tried > 500);
}
