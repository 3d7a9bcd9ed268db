//! Tables of series beside the same rows in Parquet (zstd, dictionary pages, DataFusion's reader).
//!
//! ```sh
//! cargo bench -p chronoxide-datafusion
//! CHRONOXIDE_BENCH_LARGE=1 cargo bench -p chronoxide-datafusion
//! ```
//!
//! The data are the generated workload: 20,000 series, or a million if `CHRONOXIDE_BENCH_LARGE` is set, with 8 samples
//! each. Sizes of the files are printed first.

#[path = "../../examples/samples/data.rs"]
mod data;
#[path = "../../examples/samples/queries.rs"]
mod queries;

use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use chronoxide_arrow::{BlockTable, Column, Strings};
use chronoxide_reader::{Block, Checks};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use data::Files;
use datafusion::prelude::SessionContext;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use queries::{NAMESPACE, SERVICE, assert_same, joined, plain, rates, session, wide};
use tokio::runtime::Runtime;

/// Writes the series of a block to Parquet, a column per label.
fn write_parquet(table: &BlockTable, path: &Path) {
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let scan = table.scan().with_strings(Strings::View);
    let file = File::create(path).expect("created");
    let mut writer = ArrowWriter::try_new(file, scan.schema().expect("sound"), Some(properties)).expect("a writer");
    for batch in scan.batches().expect("sound") {
        writer.write(&batch.expect("sound")).expect("written");
    }
    writer.close().expect("written");
}

struct Bench {
    runtime: Runtime,
    context: SessionContext,
    files: Files,
    labels: PathBuf,
    table: BlockTable,
}

impl Bench {
    fn new(folder: &Path, series: u64) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let files = Files::make(folder, series);
        let context = runtime.block_on(session(&files)).expect("tables");
        let table = BlockTable::new(Block::read(&files.block, Checks::Lazy).expect("sound")).expect("sound");
        let labels = folder.join("labels.parquet");
        write_parquet(&table, &labels);
        let bench = Self { runtime, context, files, labels, table };
        let path = bench.labels.display().to_string();
        bench.ask(&format!("CREATE EXTERNAL TABLE labels STORED AS PARQUET LOCATION '{path}'"));
        bench
    }

    fn ask(&self, query: &str) -> Vec<RecordBatch> {
        self.runtime.block_on(async { self.context.sql(query).await?.collect().await }).expect("a query")
    }

    /// Measures a query of the block and of the file, which give as many rows.
    fn compare(&self, group: &mut BenchmarkGroup<'_, WallTime>, name: &str, query: &str) {
        let queries = ["series", "labels"].map(|table| query.replace("{}", table));
        let counts = queries.each_ref().map(|query| self.ask(query).iter().map(RecordBatch::num_rows).sum::<usize>());
        assert_eq!(counts[0], counts[1], "{query}");
        for (table, query) in ["block", "parquet"].into_iter().zip(&queries) {
            group.bench_function(format!("{name}/{table}"), |bencher| bencher.iter(|| black_box(self.ask(query))));
        }
    }
}

fn engines(criterion: &mut Criterion) {
    let series = if std::env::var_os("CHRONOXIDE_BENCH_LARGE").is_some() { 1_000_000 } else { 20_000 };
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::new(folder.path(), series);
    let bytes = |path: &Path| std::fs::metadata(path).expect("a file").len();
    let Files { block, samples, wide: wide_path } = &bench.files;
    println!("{series} series: labels {} bytes in a block, {} in Parquet", bytes(block), bytes(&bench.labels));
    println!("samples {} bytes, samples with labels {}", bytes(samples), bytes(wide_path));

    let mut group = criterion.benchmark_group(format!("columns/{series}"));
    group.throughput(Throughput::Elements(series)).sample_size(10);
    let mut read = |name: &str, columns: Vec<Column>, strings: Strings| {
        let scan = bench.table.scan().with_columns(columns).with_strings(strings);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let rows: usize = scan.batches().expect("sound").map(|batch| batch.expect("sound").num_rows()).sum();
                assert_eq!(rows as u64, series);
            });
        });
    };
    let all = bench.table.columns().expect("sound");
    for label in ["k8s.pod.name", NAMESPACE] {
        read(&format!("{label}/dictionary"), vec![Column::label(label)], Strings::Dictionary);
        read(&format!("{label}/view"), vec![Column::label(label)], Strings::View);
    }
    read("all/dictionary", all.clone(), Strings::Dictionary);
    read("all/view", all, Strings::View);
    for (name, column) in [("k8s.pod.name", "\"k8s.pod.name\""), ("all", "*")] {
        let parquet = bench.path_context(1);
        group.bench_function(format!("{name}/parquet"), |bencher| {
            bencher.iter(|| bench.drain(&parquet, &format!("SELECT {column} FROM labels")));
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group(format!("queries/{series}"));
    group.sample_size(10);
    let namespaces =
        bench.ask(&format!("SELECT value FROM label_values('{}', '{NAMESPACE}') LIMIT 1", block.display()));
    let text =
        |batches: &[RecordBatch]| arrow::util::display::array_value_to_string(batches[0].column(0), 0).expect("a text");
    let namespace = text(&namespaces);
    let filter = format!("\"{NAMESPACE}\" = '{namespace}' AND __name__ LIKE 'http%'");
    bench.compare(&mut group, "count", &format!("SELECT count(*) FROM {{}} WHERE {filter}"));
    bench.compare(&mut group, "group", &format!("SELECT \"{NAMESPACE}\", count(*) FROM {{}} GROUP BY 1"));
    bench.compare(&mut group, "group by pod", "SELECT \"k8s.pod.name\", count(*) FROM {} GROUP BY 1");
    group.finish();

    let mut group = criterion.benchmark_group(format!("samples/{series}"));
    group.sample_size(10);
    let service =
        text(&bench.ask(&format!("SELECT value FROM label_values('{}', '{SERVICE}') LIMIT 1", block.display())));
    let names: Vec<String> = bench.table.label_names().expect("sound");
    for (name, service) in [("selective", Some(&*service)), ("full", None)] {
        let queries = [("join", joined(service)), ("wide", wide(service, &names))];
        let results = queries.each_ref().map(|(_, query)| rates(&bench.ask(query)));
        let expected = plain(&bench.files, service);
        results.iter().for_each(|found| assert_same(found, &expected));
        for (how, query) in &queries {
            group.bench_function(format!("{name}/{how}"), |bencher| bencher.iter(|| black_box(bench.ask(query))));
        }
    }
    group.finish();
}

impl Bench {
    /// Returns a session with the Parquet file of labels and this many partitions.
    fn path_context(&self, partitions: usize) -> Arc<SessionContext> {
        let config = datafusion::prelude::SessionConfig::new().with_target_partitions(partitions);
        let context = SessionContext::new_with_config(config);
        let create = format!("CREATE EXTERNAL TABLE labels STORED AS PARQUET LOCATION '{}'", self.labels.display());
        self.runtime.block_on(context.sql(&create)).expect("a table");
        Arc::new(context)
    }

    /// Reads the rows of a query, batch by batch.
    fn drain(&self, context: &SessionContext, query: &str) {
        use futures::StreamExt;
        let rows = self.runtime.block_on(async {
            let mut stream = context.sql(query).await.expect("a query").execute_stream().await.expect("a stream");
            let mut rows = 0;
            while let Some(batch) = stream.next().await {
                rows += batch.expect("rows").num_rows();
            }
            rows
        });
        assert_eq!(rows as u64, u64::from(self.table.series_count()));
    }
}

criterion_group!(benches, engines);
criterion_main!(benches);
