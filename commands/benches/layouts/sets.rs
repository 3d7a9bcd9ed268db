//! The data sets: the generated workload, the sets that are hard on a format, and real captures where they are there.

use std::path::Path;

use chronoxide_ingest::series_json::decode_series_json;
use chronoxide_ingest::{AssembleOptions, Assembler};
use chronoxide_labels::{KeysetStore, LabelSets};
use chronoxide_testkit::captures::{real, text};
use chronoxide_workload::{Options, Set, Workload};
use prost::Message;

const CAPTURES: [(&str, &str, usize); 4] = [
    ("k8s-1.34-cluster", "series/k8s-1.34-cluster.jsonl.zst", 36_676),
    ("prom20k", "series/prom20k.jsonl.zst", 20_000),
    ("otel-demo", "series/otel-demo.jsonl.zst", 1_248),
    ("otel-demo-otlp", "otlp/otel-demo.jsonl", 1_248),
];

/// A data set, collected as `chronoxide-ingest` does, which knows where labels come from.
pub struct DataSet {
    pub name: String,
    assembler: Assembler,
}

impl DataSet {
    fn new(name: impl Into<String>, series: usize, collect: impl FnOnce(&mut Assembler)) -> Self {
        let options = AssembleOptions { keep_metadata: false, ..AssembleOptions::default() };
        let mut assembler = Assembler::new(options, Vec::new());
        collect(&mut assembler);
        let name = name.into();
        assert_eq!(assembler.store().len(), series, "series of {name}");
        Self { name, assembler }
    }

    fn generated(name: impl Into<String>, set: Set, series: u32) -> Self {
        let workload = Workload::new(Options { set, series: series.into(), ..Options::default() }).expect("a workload");
        Self::new(name, series as usize, |assembler| {
            for request in workload.requests() {
                assembler.otlp_proto(&request.encode_to_vec()).expect("a whole request");
            }
        })
    }

    fn capture(name: &str, path: &Path, series: usize) -> Self {
        let is_otlp = path.parent().is_some_and(|folder| folder.ends_with("otlp"));
        Self::new(name, series, |assembler| {
            for line in text(path).lines().filter(|line| !line.trim().is_empty()) {
                let taken = match is_otlp {
                    true => assembler.otlp_json(line.as_bytes()),
                    false => decode_series_json(line.as_bytes(), assembler),
                };
                taken.expect("a whole line");
            }
        })
    }

    pub fn store(&self) -> &KeysetStore {
        self.assembler.store()
    }
}

/// All data sets that there are here.
pub fn all() -> Vec<DataSet> {
    let mut sets = Vec::new();
    for (name, file, series) in CAPTURES {
        sets.extend(real(file).map(|path| DataSet::capture(name, &path, series)));
    }
    let mut sizes = vec![("generated-10k", 10_000), ("generated-100k", 100_000)];
    if std::env::var_os("CHRONOXIDE_BENCH_LARGE").is_some() {
        sizes.push(("generated-1M", 1_000_000));
    }
    sets.extend(sizes.into_iter().map(|(name, series)| DataSet::generated(name, Set::Otlp, series)));
    let hard = [Set::UniqueLabel, Set::TinyKeysets, Set::Independent, Set::Wide];
    sets.extend(hard.map(|set| {
        // Series of 500 labels weigh as much as many of others.
        let series = if set == Set::Wide { 2_000 } else { 20_000 };
        DataSet::generated(set.name(), set, series)
    }));
    sets
}
