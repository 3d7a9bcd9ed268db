//! Arrow IPC: files and streams of any type of text.

use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray, UInt32Array};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, IpcWriteOptions};
use arrow_schema::{Field, Schema};
use chronoxide_ingest::input::Format;
use chronoxide_ingest::{IngestOptions, Report};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::sweep;

use crate::canonical::Labels;
use crate::tables::{self, SHAPES, batch, distinct, read, read_file, read_with, whole};

fn compressed(codec: Option<CompressionType>) -> IpcWriteOptions {
    IpcWriteOptions::default().try_with_compression(codec).unwrap()
}

#[test]
fn streams_and_files_of_each_type_of_text_come_back() {
    let rows = tables::rows(&mut Random::new(1), 500);
    for shape in SHAPES {
        let batches = [batch(&rows[..300].to_vec(), shape)];
        for codec in [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)] {
            let expected = distinct(&rows[..300].to_vec());
            for content in [tables::stream(&batches, compressed(codec)), tables::file(&batches, compressed(codec))] {
                for (found, report) in [read(&content).unwrap(), read_file(&content, Default::default()).unwrap()] {
                    assert_eq!(found, expected, "{shape:?} {codec:?}");
                    assert_eq!((report.rows, report.warnings), (300, vec![]), "{shape:?} {codec:?}");
                }
            }
        }
    }
}

#[test]
fn dictionaries_may_be_replaced_and_extended() {
    let rows = tables::rows(&mut Random::new(2), 400);
    let texts = |cells: &[&str]| -> ArrayRef { Arc::new(StringArray::from(cells.to_vec())) };
    for handling in [DictionaryHandling::Resend, DictionaryHandling::Delta] {
        let options = IpcWriteOptions::default().with_dictionary_handling(handling);
        let batches: Vec<RecordBatch> =
            rows.chunks(100).map(|rows| batch(&rows.to_vec(), tables::Shape::Dictionary)).collect();
        let (found, _) = read(&tables::stream(&batches, options.clone())).unwrap();
        assert_eq!(found, distinct(&rows), "{handling:?}");

        // The second dictionary begins with the values of the first, so that it can be sent as a delta.
        let batches: Vec<RecordBatch> = [texts(&["a", "b"]), texts(&["a", "b", "c", "d"])]
            .into_iter()
            .map(|values| {
                let codes = UInt32Array::from_iter_values(0..values.len() as u32);
                let column: ArrayRef = Arc::new(DictionaryArray::<UInt32Type>::new(codes, values));
                let field = Field::new("job", column.data_type().clone(), true);
                RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap()
            })
            .collect();
        let (found, report) = read(&tables::stream(&batches, options)).unwrap();
        let expected = ["a", "b", "c", "d"].map(|value| Labels::from([("job".to_owned(), value.to_owned())]));
        assert_eq!((found, report.rows), (expected.into(), 6), "{handling:?}");
    }
}

#[test]
fn streams_may_follow_each_other_and_be_compressed() {
    let rows = tables::rows(&mut Random::new(3), 200);
    let parts: Vec<Vec<u8>> = rows
        .chunks(50)
        .zip(SHAPES)
        .map(|(rows, shape)| tables::stream(&[batch(&rows.to_vec(), shape)], IpcWriteOptions::default()))
        .collect();
    let content = parts.concat();
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, &content).unwrap();
        encoder.finish().unwrap()
    };
    for content in [content.clone(), zstd::encode_all(&*content, 1).unwrap(), gzip] {
        let (found, report) = read(&content).unwrap();
        assert_eq!((found, report.rows, report.torn_records), (distinct(&rows), 200, 0));
    }
}

#[test]
fn a_stream_cut_off_anywhere_keeps_whole_batches() {
    let rows = tables::rows(&mut Random::new(4), 60);
    let batches: Vec<RecordBatch> =
        rows.chunks(20).map(|rows| batch(&rows.to_vec(), tables::Shape::Utf8View)).collect();
    let format = Some(Format::Arrow);
    let mut tried = 0;
    let all = distinct(&rows);
    for (is_file, content) in [
        (false, tables::stream(&batches, IpcWriteOptions::default())),
        (true, tables::file(&batches, IpcWriteOptions::default())),
    ] {
        for len in sweep::by_turns(0..content.len(), 0, 3) {
            let options = IngestOptions { format, ..IngestOptions::default() };
            let (found, report) = read_with(&content[..len], options).unwrap();
            assert!(report.rows.is_multiple_of(20) && found.is_subset(&all), "{len}");
            assert_eq!(found, distinct(&rows[..report.rows as usize].to_vec()), "{len}");
            let Report { torn_records, .. } = report;
            // Only a stream may end between messages.
            let may_be_whole = !is_file || len < 8;
            assert!(torn_records == 1 || torn_records == 0 && may_be_whole, "{len}: {torn_records}");
            tried += 1;
        }
        assert_eq!(read(&content).unwrap().1.torn_records, 0);
    }
    println!("{tried} truncations");
    assert!(tried > sweep::cases(1_500, 5_000));
}

#[test]
fn messages_and_what_they_expand_to_are_bounded() {
    let text = "x".repeat(1 << 20);
    let rows: tables::Rows = (0..8).map(|n| Labels::from([("pod".to_owned(), format!("{n}{text}"))])).collect();
    let table = batch(&rows, tables::Shape::Utf8);
    let limited = |max_record_len| IngestOptions { max_record_len, ..IngestOptions::default() };
    let error =
        read_with(&tables::stream(std::slice::from_ref(&table), compressed(None)), limited(1 << 20)).unwrap_err();
    let expected = "is malformed: longer than 1 MiB (--max-record-size)";
    assert!(whole(&error).ends_with(expected), "{}", whole(&error));
    for codec in [CompressionType::ZSTD, CompressionType::LZ4_FRAME] {
        let content = tables::stream(std::slice::from_ref(&table), compressed(Some(codec)));
        assert!(content.len() < 1 << 20);
        let error = read_with(&content, limited(1 << 20)).unwrap_err();
        assert!(
            whole(&error).contains("the decompressed batch would take 8 MiB of memory, more than 1 MiB"),
            "{error}"
        );
        assert_eq!(read_with(&content, limited(16 << 20)).unwrap().1.rows, 8);
    }
    // A dictionary that grows with each batch.
    let batches: Vec<RecordBatch> =
        rows.chunks(1).map(|rows| batch(&rows.to_vec(), tables::Shape::Dictionary)).collect();
    let content = tables::stream(&batches, compressed(None));
    assert_eq!(read_with(&content, limited(3 << 20)).unwrap().1.rows, 8, "replaced ones are released");
}
