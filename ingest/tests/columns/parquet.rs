//! Parquet: any type of text, encoding, codec and version of pages.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use chronoxide_ingest::IngestOptions;
use chronoxide_ingest::input::Format;
use chronoxide_testkit::random::Random;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::canonical::Labels;
use crate::tables::{self, PARQUET_SHAPES, Shape, batch, distinct, read, read_file, read_with, whole};

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
}

#[test]
fn files_of_each_type_of_text_come_back() {
    let rows = tables::rows(&mut Random::new(11), 700);
    let mut tried = 0;
    for shape in PARQUET_SHAPES {
        let batches: Vec<RecordBatch> = rows.chunks(90).map(|rows| batch(&rows.to_vec(), shape)).collect();
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for codec in [
                Compression::UNCOMPRESSED,
                Compression::SNAPPY,
                Compression::GZIP(GzipLevel::default()),
                Compression::LZ4,
                Compression::LZ4_RAW,
                Compression::ZSTD(ZstdLevel::default()),
            ] {
                let properties = properties().set_writer_version(version).set_compression(codec);
                let content = tables::parquet(&batches, properties.set_data_page_row_count_limit(37).build());
                for (found, report) in [read(&content).unwrap(), read_file(&content, Default::default()).unwrap()] {
                    assert_eq!(found, distinct(&rows), "{shape:?} {codec:?}");
                    assert_eq!((report.rows, report.records, report.warnings), (700, 1, vec![]), "{shape:?} {codec:?}");
                }
                tried += 1;
            }
        }
    }
    println!("{tried} files");
    assert_eq!(tried, 72);
}

#[test]
fn encodings_without_dictionaries_come_back() {
    let rows = tables::rows(&mut Random::new(12), 500);
    let encodings = [Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY];
    for shape in [Shape::Utf8, Shape::Utf8View, Shape::MapOfViews] {
        for encoding in encodings {
            for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
                let properties = properties().set_dictionary_enabled(false).set_encoding(encoding);
                let properties = properties
                    .set_column_encoding("series_ref".into(), Encoding::PLAIN)
                    .set_writer_version(version)
                    .set_data_page_row_count_limit(64)
                    .set_write_batch_size(16);
                let content = tables::parquet(&[batch(&rows, shape)], properties.build());
                assert_eq!(read(&content).unwrap().0, distinct(&rows), "{shape:?} {encoding} {version:?}");
            }
        }
    }
}

#[test]
fn row_groups_are_read_one_by_one() {
    let rows = tables::rows(&mut Random::new(13), 5_000);
    let properties = properties().set_max_row_group_row_count(Some(70)).set_statistics_enabled(EnabledStatistics::Page);
    let content = tables::parquet(&[batch(&rows, Shape::SmallDictionary)], properties.build());
    let (found, report) = read(&content).unwrap();
    assert_eq!((found, report.rows, report.records), (distinct(&rows), 5_000, 72));
}

#[test]
fn tables_without_rows_have_no_series() {
    for shape in PARQUET_SHAPES {
        let content = tables::parquet(&[batch(&Vec::new(), shape)], properties().build());
        let (found, report) = read(&content).unwrap();
        let warnings: Vec<String> = report.warnings.iter().map(ToString::to_string).collect();
        assert_eq!((found.len(), warnings), (0, vec!["table: no series".to_owned()]), "{shape:?}");
    }
}

#[test]
fn a_compressed_file_or_a_pipe_is_copied() {
    let rows = tables::rows(&mut Random::new(14), 3_000);
    let content = tables::parquet(&[batch(&rows, Shape::Utf8)], properties().build());
    let compressed = zstd::encode_all(&*content, 1).unwrap();
    assert_eq!(read_file(&compressed, IngestOptions::default()).unwrap().0, distinct(&rows));
    let stored = zstd::encode_all(&content[..content.len() - 20], 1).unwrap();
    let error = whole(&read(&stored).unwrap_err());
    assert!(error.contains("it is truncated or damaged"), "{error}");
}

/// The first bytes of a file are never looked at if its format is given: here they are those of a byte order mark.
#[test]
fn a_pipe_with_a_byte_order_mark_is_read_as_a_file() {
    let rows = tables::rows(&mut Random::new(16), 300);
    let mut content = tables::parquet(&[batch(&rows, Shape::Utf8)], properties().build());
    content[..3].copy_from_slice("\u{feff}".as_bytes());
    let options = || IngestOptions { format: Some(Format::Parquet), ..IngestOptions::default() };
    let piped = read_with(&content, options()).unwrap().0;
    assert_eq!((&piped, &read_file(&content, options()).unwrap().0), (&distinct(&rows), &distinct(&rows)));
}

#[test]
fn each_truncation_is_an_error() {
    let rows = tables::rows(&mut Random::new(15), 20);
    let content = tables::parquet(&[batch(&rows, Shape::Utf8View)], properties().build());
    let options = || IngestOptions { format: Some(Format::Parquet), ..IngestOptions::default() };
    for len in 0..content.len() {
        let error = whole(&read_with(&content[..len], options()).unwrap_err());
        assert!(error.starts_with("table: the file has no footer at its end, without which"), "{len}: {error}");
    }
    println!("{} truncations", content.len());
    assert!(content.len() > 2_000);
}

#[test]
fn pages_are_bounded() {
    let text = "x".repeat(1 << 20);
    let rows: tables::Rows = (0..64).map(|n| Labels::from([("pod".to_owned(), format!("{n}{text}"))])).collect();
    let limited = |max_record_len| IngestOptions { max_record_len, ..IngestOptions::default() };
    let codec = Compression::ZSTD(ZstdLevel::default());
    let one_page = properties().set_compression(codec).set_dictionary_enabled(false).set_data_page_size_limit(1 << 30);
    let content = tables::parquet(&[batch(&rows, Shape::Utf8)], one_page.set_write_batch_size(64).build());
    let error = whole(&read_with(&content, limited(2 << 20)).unwrap_err());
    let expected =
        "table: row group 1 cannot be read after 0 of its rows: a page would take 64 MiB of memory, more than";
    assert!(error.starts_with(expected), "{error}");
    // The crate's own reader gives the page, since nothing asks how large a page may be. If it ever has a limit, the
    // pages of `ingest/src/columns/tables/parquet` can go.
    assert!(content.len() < 16 << 10, "{}", content.len());
    let reader = SerializedFileReader::new(bytes::Bytes::from(content)).unwrap();
    let group = reader.get_row_group(0).unwrap();
    let pages = (0..group.num_columns()).map(|column| group.get_column_page_reader(column).unwrap());
    let lens = pages.map(|mut pages| pages.get_next_page().unwrap().unwrap().buffer().len());
    assert!(lens.max() > Some(64 << 20));
    // With a page for each row, a batch has few rows.
    let pages = properties().set_compression(codec).set_dictionary_enabled(false).set_data_page_row_count_limit(1);
    let content = tables::parquet(&[batch(&rows, Shape::Utf8)], pages.set_write_batch_size(1).build());
    assert_eq!(read_with(&content, limited(2 << 20)).unwrap().1.rows, 64);
}

#[test]
fn metadata_of_the_writer_does_not_matter() {
    let rows = tables::rows(&mut Random::new(16), 50);
    let table = batch(&rows, Shape::SmallDictionary);
    let metadata = HashMap::from([("pandas".to_owned(), "{}".to_owned())]);
    let schema = table.schema().as_ref().clone().with_metadata(metadata);
    let table = RecordBatch::try_new(Arc::new(schema), table.columns().to_vec()).unwrap();
    assert_eq!(read(&tables::parquet(&[table], properties().build())).unwrap().0, distinct(&rows));
}
