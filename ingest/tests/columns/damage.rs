//! Damaged files give an error or a valid result: no panic, and no allocation of a claimed size.

use std::sync::{Arc, Once};

use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, TimestampMicrosecondArray, UInt8Array};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::{Field, FieldRef, Schema};
use chronoxide_ingest::input::Format;
use chronoxide_ingest::{IngestError, IngestOptions, columns};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::sweep;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::tables::{self, Shape, batch, read_with, whole};

static SILENCE: Once = Once::new();

/// Number of masks that flip bits of a byte.
const MASK_COUNT: usize = 3;

/// Bytes between those that are damaged, unless all are asked for.
const TURNS: usize = 3;

/// Bits to flip in the byte at `at`: one of three masks, or each of them.
fn masks(at: usize) -> &'static [u8] {
    const MASKS: [u8; MASK_COUNT] = [0x01, 0x80, 0xff];
    let one = at / TURNS % MASK_COUNT;
    sweep::cases(&MASKS[one..=one], &MASKS)
}

/// Errors that damage of a table causes at least.
fn least_errors() -> usize {
    sweep::cases(20, 500)
}

/// Flips bits of each byte, and reads the result. Returns the number of errors and of results. Prints how many of the
/// errors are panics of the decoder: they are why panics are caught.
fn flip_each_byte(content: &[u8], format: Format) -> (usize, usize) {
    SILENCE.call_once(columns::silence_guarded_panics);
    let (mut errors, mut panics, mut results) = (0, 0, 0);
    let mut damaged = content.to_vec();
    for at in sweep::by_turns(0..content.len(), content.len(), TURNS) {
        for &mask in masks(at) {
            damaged[at] ^= mask;
            // Both by turns, unless all are asked for.
            for skip_broken_records in sweep::by_turns([false, true], at / (TURNS * MASK_COUNT), 2) {
                let options = IngestOptions {
                    format: Some(format),
                    max_record_len: 1 << 20,
                    skip_broken_records,
                    ..Default::default()
                };
                match read_with(&damaged, options) {
                    Ok(_) => results += 1,
                    Err(
                        error @ (IngestError::Record { .. }
                        | IngestError::Parquet { .. }
                        | IngestError::ArrowFile { .. }),
                    ) => {
                        errors += 1;
                        panics += usize::from(whole(&error).contains("cannot be decoded"));
                    }
                    Err(error) => panic!("byte {at}, {mask:#x}: {}", whole(&error)),
                }
            }
            damaged[at] ^= mask;
        }
    }
    println!("{} bytes: {errors} errors, {panics} of them panics, {results} results", content.len());
    (errors, results)
}

fn small(shape: Shape) -> Vec<RecordBatch> {
    let rows = tables::rows(&mut Random::new(21), 12);
    rows.chunks(6).map(|rows| batch(&rows.to_vec(), shape)).collect()
}

/// Adds series columns to batches: integers of some widths, times and marked bytes.
fn with_values(batches: &[RecordBatch]) -> Vec<RecordBatch> {
    let add = |batch: &RecordBatch| {
        let rows = batch.num_rows();
        let numbers = |row: usize| (!row.is_multiple_of(3)).then_some(row as i64 - 2);
        let columns: [(&str, ArrayRef); 4] = [
            ("i64", Arc::new((0..rows).map(numbers).collect::<Int64Array>())),
            ("u8", Arc::new((0..rows).map(|row| Some(row as u8)).collect::<UInt8Array>())),
            ("time", Arc::new((0..rows).map(numbers).collect::<TimestampMicrosecondArray>())),
            ("bytes", Arc::new((0..rows).map(|row| Some(vec![row as u8; row])).collect::<BinaryArray>())),
        ];
        let mut fields: Vec<FieldRef> = batch.schema().fields().iter().cloned().collect();
        let mut arrays = batch.columns().to_vec();
        for (name, array) in columns {
            let metadata = [("chronoxide.merge".to_owned(), "max".to_owned())].into();
            fields.push(Arc::new(Field::new(name, array.data_type().clone(), true).with_metadata(metadata)));
            arrays.push(array);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
    };
    batches.iter().map(add).collect()
}

#[test]
fn each_flipped_byte_of_series_columns_is_an_error_or_a_result() {
    let batches = with_values(&small(Shape::Utf8View));
    let arrow = tables::stream(&batches, IpcWriteOptions::default());
    assert!(flip_each_byte(&arrow, Format::Arrow).0 > least_errors());
    let parquet = tables::parquet(&batches, WriterProperties::default());
    assert!(flip_each_byte(&parquet, Format::Parquet).0 > least_errors());
}

#[test]
fn each_flipped_byte_of_arrow_is_an_error_or_a_result() {
    for shape in [Shape::Utf8, Shape::Utf8View, Shape::Dictionary, Shape::Map] {
        let (errors, _) = flip_each_byte(&tables::stream(&small(shape), IpcWriteOptions::default()), Format::Arrow);
        assert!(errors > least_errors(), "{shape:?}: {errors}");
    }
    for codec in [CompressionType::ZSTD, CompressionType::LZ4_FRAME] {
        let options = IpcWriteOptions::default().try_with_compression(Some(codec)).unwrap();
        assert!(
            flip_each_byte(&tables::file(&small(Shape::Dictionary)[..1], options), Format::Arrow).0 > least_errors()
        );
    }
}

#[test]
fn each_flipped_byte_of_parquet_is_an_error_or_a_result() {
    for (shape, codec, encoding) in [
        (Shape::Utf8View, Compression::UNCOMPRESSED, None),
        (Shape::Map, Compression::SNAPPY, None),
        (Shape::Utf8View, Compression::UNCOMPRESSED, Some(Encoding::DELTA_BYTE_ARRAY)),
        (Shape::Utf8View, Compression::ZSTD(ZstdLevel::default()), Some(Encoding::DELTA_LENGTH_BYTE_ARRAY)),
        (Shape::Map, Compression::UNCOMPRESSED, Some(Encoding::DELTA_BYTE_ARRAY)),
    ] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let mut properties = WriterProperties::builder().set_compression(codec).set_writer_version(version);
            if let Some(encoding) = encoding {
                properties = properties.set_dictionary_enabled(false).set_encoding(encoding);
                properties = properties.set_column_encoding("series_ref".into(), Encoding::PLAIN);
            }
            let content = tables::parquet(&small(shape), properties.build());
            assert!(flip_each_byte(&content, Format::Parquet).0 > least_errors(), "{shape:?} {codec:?} {encoding:?}");
        }
    }
}

#[test]
fn random_damage_is_an_error_or_a_result() {
    SILENCE.call_once(columns::silence_guarded_panics);
    let seed = 22;
    let mut random = Random::new(seed);
    let parquet = tables::parquet(&small(Shape::SmallDictionary), WriterProperties::default());
    let arrow = tables::file(&small(Shape::MapOfViews), IpcWriteOptions::default());
    let mut errors = 0;
    for round in 0..sweep::cases(6_000, 20_000) {
        let (mut content, format) = match round % 2 {
            0 => (parquet.clone(), Format::Parquet),
            _ => (arrow.clone(), Format::Arrow),
        };
        for _ in 0..random.below(6) + 1 {
            let at = random.below(content.len());
            content[at] = random.below(256) as u8;
        }
        let options = IngestOptions { format: Some(format), max_record_len: 1 << 20, ..Default::default() };
        errors += usize::from(read_with(&content, options).is_err());
    }
    println!("seed {seed}: {errors} errors");
    assert!(errors > sweep::cases(1_500, 5_000));
}
