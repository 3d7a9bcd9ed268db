//! Arrow files whose streams differ from those of most writers, and files with a damaged footer.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions};
use arrow_ipc::{Block, root_as_footer};
use chronoxide_ingest::{IngestError, IngestOptions};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::sweep;

use crate::canonical::Labels;
use crate::tables::{self, SHAPES, Shape, batch, distinct, read, read_file, read_with, whole};

/// First bytes of a file, and the mark at the end of its stream.
const MAGIC: [u8; 8] = *b"ARROW1\0\0";
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Parts of a file.
#[derive(Clone)]
struct Parts {
    schema: Vec<u8>,
    /// Messages in the order of the footer: dictionaries, then batches.
    messages: Vec<Vec<u8>>,
    dictionary_count: usize,
    /// Positions of the messages, as the footer has them.
    blocks: Vec<Block>,
    footer: Vec<u8>,
}

impl Parts {
    fn new(file: &[u8]) -> Self {
        let (content, end) = file.split_at(file.len() - 10);
        let footer_len = u32::from_le_bytes(end[..4].try_into().unwrap()) as usize;
        let footer = content[content.len() - footer_len..].to_vec();
        let aligned = arrow_buffer::Buffer::from(footer.as_slice());
        let parsed = root_as_footer(&aligned).unwrap();
        let dictionaries: Vec<Block> = parsed.dictionaries().into_iter().flatten().copied().collect();
        let batches: Vec<Block> = parsed.recordBatches().into_iter().flatten().copied().collect();
        let blocks = [dictionaries.clone(), batches].concat();
        let start = |block: &Block| block.offset() as usize;
        let len = |block: &Block| block.metaDataLength() as usize + block.bodyLength() as usize;
        let messages = blocks.iter().map(|block| file[start(block)..start(block) + len(block)].to_vec()).collect();
        let first = blocks.iter().map(start).min().unwrap();
        let schema = file[MAGIC.len()..first].to_vec();
        Self { schema, messages, dictionary_count: dictionaries.len(), blocks, footer }
    }

    /// Returns a file with the messages in this order, and a footer with their positions there.
    fn file(&self, order: &[usize], has_schema: bool, has_end: bool) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        if has_schema {
            file.extend(&self.schema);
        }
        let mut footer = self.footer.clone();
        for &number in order {
            let place = self.place_in_footer(number);
            footer[place..place + 8].copy_from_slice(&(file.len() as i64).to_le_bytes());
            file.extend(&self.messages[number]);
        }
        if has_end {
            file.extend(END_OF_STREAM);
        }
        self.finish(file, &footer)
    }

    fn finish(&self, mut file: Vec<u8>, footer: &[u8]) -> Vec<u8> {
        file.extend(footer);
        file.extend((footer.len() as u32).to_le_bytes());
        file.extend(b"ARROW1");
        file
    }

    /// Returns the position of a block in the footer.
    fn place_in_footer(&self, number: usize) -> usize {
        let block = &self.blocks[number];
        let mut bytes = block.offset().to_le_bytes().to_vec();
        bytes.extend(block.metaDataLength().to_le_bytes());
        let places: Vec<usize> =
            (0..self.footer.len() - bytes.len()).filter(|&at| self.footer[at..].starts_with(&bytes)).collect();
        assert_eq!(places.len(), 1);
        places[0]
    }

    /// Returns the file with another footer.
    fn forged(&self, forge: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
        let order: Vec<usize> = (0..self.messages.len()).collect();
        let whole = self.file(&order, true, true);
        let stream = whole[..whole.len() - 10 - self.footer.len()].to_vec();
        let mut footer = self.footer.clone();
        forge(&mut footer);
        self.finish(stream, &footer)
    }
}

fn table(shape: Shape) -> (BTreeSet<Labels>, Vec<RecordBatch>) {
    let rows = tables::rows(&mut Random::new(61), 200);
    // All batches of a file share their dictionaries.
    let whole = batch(&rows, shape);
    (distinct(&rows), vec![whole.slice(0, 120), whole.slice(120, 80)])
}

/// Reads content as a file, from a pipe, and compressed.
fn read_all_ways(content: &[u8]) -> Vec<Result<(BTreeSet<Labels>, chronoxide_ingest::Report), IngestError>> {
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, content).unwrap();
        encoder.finish().unwrap()
    };
    vec![
        read_file(content, IngestOptions::default()),
        read(content),
        read_file(&zstd::encode_all(content, 1).unwrap(), IngestOptions::default()),
        read(&gzip),
    ]
}

#[test]
fn files_are_read_by_their_footers() {
    for shape in SHAPES {
        let (expected, batches) = table(shape);
        let parts = Parts::new(&tables::file(&batches, IpcWriteOptions::default()));
        let order: Vec<usize> = (0..parts.messages.len()).collect();
        let reversed: Vec<usize> = order.iter().rev().copied().collect();
        for (has_schema, has_end) in [(true, true), (false, true), (true, false), (false, false)] {
            // Dictionaries may come after the batches that use them.
            for order in [&order, &reversed] {
                let content = parts.file(order, has_schema, has_end);
                for result in read_all_ways(&content) {
                    let (found, report) = result.unwrap_or_else(|error| panic!("{shape:?}: {}", whole(&error)));
                    assert!(found == expected, "{shape:?} {has_schema} {has_end}");
                    assert_eq!((report.rows, report.warnings), (200, vec![]), "{shape:?}");
                    assert_eq!(report.content_bytes, content.len() as u64);
                }
            }
        }
    }
}

#[test]
fn dictionaries_of_files_may_be_extended() {
    let rows = tables::rows(&mut Random::new(62), 90);
    let whole_table = batch(&rows, Shape::Dictionary);
    let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &whole_table.schema(), options).unwrap();
    let texts = |cells: &[&str]| -> arrow_array::ArrayRef {
        std::sync::Arc::new(arrow_array::StringArray::from(cells.to_vec()))
    };
    let one = |values: arrow_array::ArrayRef| {
        let codes = arrow_array::UInt32Array::from_iter_values(0..values.len() as u32);
        let column = arrow_array::DictionaryArray::<arrow_array::types::UInt32Type>::new(codes, values);
        RecordBatch::try_from_iter([("job", std::sync::Arc::new(column) as arrow_array::ArrayRef)]).unwrap()
    };
    writer.write(&whole_table).unwrap();
    writer.finish().unwrap();
    assert_eq!(read(&writer.into_inner().unwrap()).unwrap().0, distinct(&rows));
    let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
    let batches = [one(texts(&["a", "b"])), one(texts(&["a", "b", "c"]))];
    let parts = Parts::new(&tables::file(&batches, options));
    assert_eq!((parts.dictionary_count, parts.messages.len()), (2, 4), "the second dictionary is a delta");
    let expected: BTreeSet<Labels> =
        ["a", "b", "c"].map(|value| Labels::from([("job".to_owned(), value.to_owned())])).into();
    for order in [[0, 2, 1, 3], [0, 1, 2, 3], [2, 3, 1, 0]] {
        assert_eq!(read(&parts.file(&order, true, true)).unwrap().0, expected, "{order:?}");
    }
}

#[test]
fn a_truncated_file_keeps_whole_batches_unless_it_has_no_schema() {
    let (expected, batches) = table(Shape::Dictionary);
    let parts = Parts::new(&tables::file(&batches, IpcWriteOptions::default()));
    let order: Vec<usize> = (0..parts.messages.len()).collect();
    let content = parts.file(&order, true, true);
    for len in sweep::by_turns(100..content.len(), 0, 7) {
        let (found, report) = read_file(&content[..len], IngestOptions::default()).unwrap();
        assert!(found.is_subset(&expected) && [0, 120, 200].contains(&report.rows), "{len}");
        assert_eq!((report.torn_records, report.is_partial(false)), (1, true), "{len}");
    }
    let content = parts.file(&order, false, true);
    // In the first message, it is not seen yet that there is no schema.
    for len in sweep::by_turns(8 + parts.messages[0].len()..content.len(), 0, 7) {
        let error = whole(&read_file(&content[..len], IngestOptions::default()).unwrap_err());
        assert!(error.contains("the file has no footer at its end: it is truncated or damaged"), "{len}: {error}");
    }
}

#[test]
fn a_forged_footer_is_not_followed() {
    let (expected, batches) = table(Shape::Dictionary);
    let parts = Parts::new(&tables::file(&batches, IpcWriteOptions::default()));
    let (first, last) = (parts.dictionary_count, parts.messages.len() - 1);
    let copy_block = |from: usize, to: usize| {
        let (from, to) = (parts.place_in_footer(from), parts.place_in_footer(to));
        move |footer: &mut Vec<u8>| footer.copy_within(from..from + 24, to)
    };
    let set = |number: usize, field: usize, value: i64| {
        let at = parts.place_in_footer(number) + field;
        let len = if field == 8 { 4 } else { 8 };
        move |footer: &mut Vec<u8>| footer[at..at + len].copy_from_slice(&value.to_le_bytes()[..len])
    };
    let file_len = parts.forged(|_| {}).len() as i64;
    let overlap = "messages in the footer overlap";
    let outside = "the footer names bytes outside of the messages";
    let forgeries: Vec<(Vec<u8>, &str)> = vec![
        (parts.forged(copy_block(first, last)), overlap),
        (parts.forged(copy_block(last, 0)), overlap),
        (parts.forged(set(last, 0, parts.blocks[first].offset() + 8)), overlap),
        (parts.forged(set(last, 0, file_len)), outside),
        (parts.forged(set(last, 0, -8)), outside),
        (parts.forged(set(last, 0, i64::MAX)), outside),
        (parts.forged(set(last, 16, i64::MAX)), outside),
        (parts.forged(set(last, 16, -1)), outside),
        (parts.forged(set(last, 8, -1)), outside),
        (parts.forged(|footer| footer[..4].fill(0xff)), "invalid footer"),
        (parts.forged(|footer| footer.fill(0)), "the footer"),
    ];
    for (content, reason) in forgeries {
        // The stream before the footer is whole.
        let (found, report) = read_file(&content, IngestOptions::default()).unwrap();
        assert_eq!((found, report.rows, report.is_partial(false)), (expected.clone(), 200, true), "{reason}");
        let warnings: Vec<String> = report.warnings.iter().map(ToString::to_string).collect();
        assert!(warnings[0].contains("the footer is damaged: ") && warnings[0].contains(reason), "{warnings:?}");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
    // A list with a huge count.
    let mut tried = 0;
    for at in 0..parts.footer.len() - 4 {
        let content = parts.forged(|footer| footer[at..at + 4].fill(0x7f));
        let options = IngestOptions { max_record_len: 1 << 20, ..IngestOptions::default() };
        match read_with(&content, options) {
            Ok((found, _)) => assert!(found.is_subset(&expected) || at > 0),
            Err(error) => assert!(
                matches!(error, IngestError::Record { .. } | IngestError::ArrowFile { .. }),
                "{at}: {}",
                whole(&error)
            ),
        }
        tried += 1;
    }
    println!("{tried} footers");
}

#[test]
fn a_footer_is_bounded() {
    let (_, batches) = table(Shape::Utf8);
    let content = tables::file(&batches, IpcWriteOptions::default());
    let options = IngestOptions { max_record_len: 128, ..IngestOptions::default() };
    let error = whole(&read_file(&content, options).unwrap_err());
    assert!(error.contains("longer than 128 bytes (--max-record-size)"), "{error}");
}
