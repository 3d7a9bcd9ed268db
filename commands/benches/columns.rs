//! Series columns: bytes and times, beside Parquet and the entries of Prometheus's index.
//!
//! ```sh
//! cargo bench -p chronoxide-commands --bench columns
//! CHRONOXIDE_BENCH_LARGE=1 cargo bench -p chronoxide-commands --bench columns
//! ```
//!
//! The series are those of the generated workload: 100,000, or a million if `CHRONOXIDE_BENCH_LARGE` is set. The values
//! are first and last times of a window of two hours, in whole minutes, in which 5% of the pods are replaced; random
//! numbers; and lists of four chunks, coded as Prometheus's index does it. Parquet has one row group with the values
//! alone, in the smallest of its encodings, compressed by zstd, in the order of refs or of requests, whichever is
//! smaller. A table of bytes is printed first.

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, UInt64Array};
use chronoxide_format::SeriesRef;
use chronoxide_format::column::{ColumnMerge, Value, ValueType};
use chronoxide_format::view::{BlockView, SeriesColumn};
use chronoxide_format::write::{BlockMeta, ColumnWriter, SeriesValues};
use chronoxide_labels::{KeysetStore, LabelSetStore, Layout};
use chronoxide_workload::{Options, Workload};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::WriterProperties;

const MINUTE: i64 = 60_000_000_000;
/// Minutes of the window.
const WINDOW: i64 = 120;
/// Series that are read at random.
const SOME: u32 = 1_000;

/// A value of a series by its number in requests and the name of its pod.
type Make = fn(u64, &str) -> Own;

/// A value.
#[derive(Clone)]
enum Own {
    I64(i64),
    U64(u64),
    Bytes(Vec<u8>),
}

impl Own {
    fn value(&self) -> Value<'_> {
        match self {
            Self::I64(number) => Value::I64(*number),
            Self::U64(number) => Value::U64(*number),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

/// Returns another number for each number, spread over all numbers.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number ^ number >> 32
}

fn hash(text: &str) -> u64 {
    mixed(text.bytes().fold(0, |hash: u64, byte| hash.wrapping_mul(31).wrapping_add(byte.into())))
}

/// Returns the first and last minute of the series of a pod. One in 20 ends, and one begins in its stead.
fn life(pod: &str) -> (i64, i64) {
    let at = (hash(pod) >> 32) as i64 % WINDOW;
    match hash(pod) % 40 {
        0 => (0, at),
        1 => (at, WINDOW),
        _ => (0, WINDOW),
    }
}

/// Returns the chunks of a series, as Prometheus's index has them: two hours of 480 samples, 120 in a chunk.
fn chunks(number: u64, pod: &str) -> Vec<u8> {
    let mut entry = Vec::new();
    // Scrapes of a target are at the same time in each interval.
    let first = 1_700_000_000_000 + (hash(pod) % 15_000) as i64;
    let mut reference = 8 + number * 500;
    for chunk in 0..4 {
        let start = first + chunk * 1_800_000;
        let length = 119 * 15_000;
        if chunk == 0 {
            leb128(zigzag(start), &mut entry);
            leb128(length as u64, &mut entry);
            leb128(reference, &mut entry);
        } else {
            leb128(15_000, &mut entry);
            leb128(length as u64, &mut entry);
            let size = 60 + mixed(number * 4 + chunk as u64) % 130;
            leb128(zigzag(size as i64), &mut entry);
            reference += size;
        }
    }
    entry
}

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

fn leb128(mut number: u64, out: &mut Vec<u8>) {
    while number >= 128 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Values in an order, as an array of Arrow.
fn array<'v>(values: impl IntoIterator<Item = Value<'v>>) -> ArrayRef {
    let values: Vec<Value<'v>> = values.into_iter().collect();
    match values[0] {
        Value::I64(_) => Arc::new(Int64Array::from_iter_values(values.iter().map(|value| match value {
            Value::I64(number) => *number,
            _ => 0,
        }))),
        Value::U64(_) => Arc::new(UInt64Array::from_iter_values(values.iter().map(|value| match value {
            Value::U64(number) => *number,
            _ => 0,
        }))),
        Value::Bytes(_) => Arc::new(BinaryArray::from_iter_values(values.iter().map(|value| match value {
            Value::Bytes(bytes) => *bytes,
            _ => &[],
        }))),
    }
}

/// Returns a Parquet file of values, with or without a dictionary.
fn parquet(array: &ArrayRef, encoding: Option<Encoding>) -> Vec<u8> {
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let properties = match encoding {
        Some(encoding) => properties.set_dictionary_enabled(false).set_encoding(encoding),
        None => properties,
    };
    let batch = RecordBatch::try_from_iter([("value", Arc::clone(array))]).expect("one column");
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties.build())).expect("a schema");
    writer.write(&batch).expect("memory");
    writer.close().expect("memory");
    file
}

/// Returns the sum of the numbers, or of the lengths, of a Parquet file.
fn sum_of_file(file: &[u8]) -> u64 {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::copy_from_slice(file)).expect("a file");
    let batches = reader.with_batch_size(8_192).build().expect("a file");
    let sum = |batch: RecordBatch| {
        let column = batch.column(0);
        if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
            return numbers.values().iter().fold(0, |sum: u64, number| sum.wrapping_add(number.cast_unsigned()));
        }
        match column.as_primitive_opt::<UInt64Type>() {
            Some(numbers) => numbers.values().iter().fold(0, |sum: u64, number| sum.wrapping_add(*number)),
            None => column.as_binary::<i32>().iter().map(|bytes| bytes.map_or(0, <[u8]>::len) as u64).sum(),
        }
    };
    batches.map(|batch| sum(batch.expect("sound"))).fold(0, u64::wrapping_add)
}

fn number(value: Value<'_>) -> u64 {
    match value {
        Value::I64(number) => number.cast_unsigned(),
        Value::U64(number) => number,
        Value::Bytes(bytes) => bytes.len() as u64,
    }
}

/// Returns the sum of the numbers, or of the lengths, of a column.
fn sum_of_column(column: &SeriesColumn<'_>) -> u64 {
    let mut sum = 0_u64;
    let read = column.read(SeriesRef(0)..SeriesRef(u32::MAX), |_, value| {
        sum = sum.wrapping_add(value.map_or(0, number));
        Ok::<(), chronoxide_format::Error>(())
    });
    read.expect("sound");
    sum
}

fn columns(criterion: &mut Criterion) {
    let series = if std::env::var_os("CHRONOXIDE_BENCH_LARGE").is_some() { 1_000_000 } else { 100_000 };
    let workload = Workload::new(Options { series, ..Options::default() }).expect("valid options");
    let (mut store, mut pods) = (KeysetStore::new(), Vec::new());
    for labels in workload.labelsets() {
        let pairs: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (&**name, &**value)).collect();
        store.insert(&pairs).expect("within limits");
        let pod = labels.iter().find(|(name, _)| name == "k8s.pod.name");
        pods.push(pod.map_or_else(String::new, |(_, pod)| pod.clone()));
    }
    let kinds: [(&str, ValueType, u64, Make); 4] = [
        ("first times", ValueType::I64, MINUTE as u64, |_, pod| Own::I64(life(pod).0 * MINUTE)),
        ("last times", ValueType::I64, MINUTE as u64, |_, pod| Own::I64(life(pod).1 * MINUTE)),
        ("random numbers", ValueType::U64, 1, |number, _| Own::U64(mixed(number))),
        ("chunk lists", ValueType::Bytes, 1, |number, pod| Own::Bytes(chunks(number, pod))),
    ];
    println!("{series} series, bytes per series: column, Parquet, entry of Prometheus's index");
    for (name, value_type, unit, make) in kinds {
        let writer = ColumnWriter::with_unit(name, value_type, ColumnMerge::Newest, unit).expect("a column");
        let mut values = SeriesValues::new(writer.clone());
        let own: Vec<Own> = (0..).zip(&pods).map(|(number, pod)| make(number, pod)).collect();
        for (number, own) in (0..).zip(&own) {
            values.set(number, own.value()).expect("a value of the column");
        }
        let sealed = store.seal_with(Layout::Factored, &BlockMeta::default(), std::slice::from_ref(&values));
        let block = sealed.expect("within limits").block;
        let view = BlockView::open(&block).expect("sound");
        let column = view.series_column(name).expect("sound").expect("it was written");
        let mut by_ref = Vec::new();
        let read = column.read(SeriesRef(0)..SeriesRef(u32::MAX), |_, value| {
            by_ref.push(value.expect("each series has one"));
            Ok::<(), chronoxide_format::Error>(())
        });
        read.expect("sound");
        let arrays = [array(own.iter().map(Own::value)), array(by_ref)];
        let delta =
            if value_type == ValueType::Bytes { Encoding::DELTA_BYTE_ARRAY } else { Encoding::DELTA_BINARY_PACKED };
        let encodings = [None, Some(Encoding::PLAIN), Some(delta)];
        let choices = arrays.iter().flat_map(|array| encodings.map(|encoding| (array, encoding)));
        let (smallest, encoding) =
            choices.min_by_key(|(array, encoding)| parquet(array, *encoding).len()).expect("six");
        let file = parquet(smallest, encoding);
        // An index has no times but those of chunks.
        let entry: usize = match value_type {
            ValueType::Bytes => own.iter().map(|own| number(own.value()) as usize).sum(),
            _ => 0,
        };
        let each = |bytes: usize| bytes as f64 / series as f64;
        println!("{name}: {:.2} {:.2} {:.2}", each(column.byte_len() as usize), each(file.len()), each(entry));
        assert_eq!(sum_of_column(&column), sum_of_file(&file), "{name}");

        let mut group = criterion.benchmark_group(format!("columns/{series}/{name}"));
        group.sample_size(10).throughput(Throughput::Elements(series));
        group.bench_function("write a column", |bencher| {
            bencher.iter(|| values.pack(0..series as u32).expect("checked").byte_len());
        });
        group.bench_function("write Parquet", |bencher| bencher.iter(|| parquet(smallest, encoding).len()));
        group.bench_function("read a column", |bencher| bencher.iter(|| sum_of_column(&column)));
        group.bench_function("read Parquet", |bencher| bencher.iter(|| sum_of_file(&file)));
        group.throughput(Throughput::Elements(SOME.into()));
        group.bench_function("get some values", |bencher| {
            bencher.iter(|| {
                for place in 0..u64::from(SOME) {
                    let series = SeriesRef((mixed(place) % series) as u32);
                    black_box(column.get(series).expect("sound"));
                }
            });
        });
        group.finish();
    }
}

criterion_group!(benches, columns);
criterion_main!(benches);
