//! Samples beside a block, and the same samples with all labels beside each.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, TimestampMillisecondArray, UInt64Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use chronoxide_arrow::{BlockTable, Column, Strings};
use chronoxide_ingest::{AssembleOptions, Assembler};
use chronoxide_reader::{Block, Checks};
use chronoxide_workload::{Options, Workload};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use prost::Message;

/// Start of the samples, in milliseconds since 1970.
pub const START: i64 = 1_790_000_000_000;
/// Milliseconds between two samples of a series.
pub const STEP: i64 = 15 * 60 * 1000;
/// Samples of each series: two hours.
pub const SAMPLES: u32 = 8;

/// Files of one data set.
pub struct Files {
    /// Labels of all series.
    pub block: PathBuf,
    /// Parquet: `series_ref`, `timestamp`, `value`.
    pub samples: PathBuf,
    /// Parquet: a column per label, `timestamp`, `value`.
    pub wide: PathBuf,
}

impl Files {
    /// Makes the files of the workload with this many series.
    pub fn make(folder: &Path, series: u64) -> Self {
        let files = Self {
            block: folder.join("labels.cx"),
            samples: folder.join("samples.parquet"),
            wide: folder.join("wide.parquet"),
        };
        let workload = Workload::new(Options { series, ..Options::default() }).expect("valid options");
        let mut assembler = Assembler::new(AssembleOptions::default(), Vec::new());
        for request in workload.requests() {
            assembler.otlp_proto(&request.encode_to_vec()).expect("valid requests");
        }
        let (_, blocks) = assembler.finish().expect("within limits");
        let block = blocks.into_iter().next().expect("one block");
        std::fs::write(&files.block, &block).expect("written");
        let table = BlockTable::new(Block::from_vec(block, Checks::Lazy).expect("sound")).expect("sound");
        write(&files.samples, &table, &[Column::series_ref()]);
        let labels: Vec<Column> = table.columns().expect("sound").into_iter().skip(1).collect();
        write(&files.wide, &table, &labels);
        files
    }
}

/// Returns a sample of a counter: a rate per series, which begins anywhere.
pub fn sample(series: u64, number: u32) -> f64 {
    let mixed = series.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (first, rate) = (mixed >> 50, 1 + (mixed >> 40) % 100);
    (first + rate * u64::from(number)) as f64
}

/// Writes the samples of all series, with some columns of the table.
fn write(path: &Path, table: &BlockTable, columns: &[Column]) {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(1 << 18))
        .build();
    let fields = columns.iter().map(|column| column.field(Strings::View));
    let stamps = DataType::Timestamp(TimeUnit::Millisecond, None);
    let own = [Field::new("timestamp", stamps, false), Field::new("value", DataType::Float64, false)];
    let schema: SchemaRef = Arc::new(Schema::new(fields.chain(own).collect::<Vec<_>>()));
    let file = File::create(path).expect("created");
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties)).expect("a writer");
    let mut first = 0_u64;
    for batch in
        table.scan().with_columns(columns.iter().cloned()).with_strings(Strings::View).batches().expect("sound")
    {
        let batch = batch.expect("sound");
        let rows = || (0..batch.num_rows() as u64).flat_map(|row| (0..SAMPLES).map(move |number| (row, number)));
        let repeated = take_record_batch(&batch, &UInt64Array::from_iter_values(rows().map(|(row, _)| row)));
        let stamps = rows().map(|(_, number)| START + i64::from(number) * STEP);
        let values = rows().map(|(row, number)| sample(first + row, number));
        let own: [ArrayRef; 2] = [
            Arc::new(TimestampMillisecondArray::from_iter_values(stamps)),
            Arc::new(Float64Array::from_iter_values(values)),
        ];
        let columns = repeated.expect("rows are in range").columns().iter().cloned().chain(own).collect();
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns).expect("columns")).expect("written");
        first += batch.num_rows() as u64;
    }
    writer.close().expect("written");
}
