//! Chunk lists of Prometheus's TSDB are columns of blocks.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use chronoxide_format::column::Value;
use chronoxide_format::view::BlockView;
use chronoxide_ingest::prometheus::chunk_lists::{
    CHUNK_DISTANCES, CHUNK_START, CHUNK_TIMES, CHUNKS, ChunkList, ChunkPlace, DELETIONS, decode_deletions,
};
use chronoxide_ingest::{AssembleOptions, Ingest, IngestOptions};

use crate::canonical::{Labels, block_series};
use crate::prometheus_tsdb::{Model, index};
use crate::tsdb_folder::{Data, message, series, series_offsets, tombstones};

const IDS: [&str; 2] = ["01DXXFZDYD1MQW6079WK0K6EDQ", "01DXXFZDYD1MQW6079WK0K6EDR"];

/// Chunks and deleted times of a series.
type Lists = (Vec<ChunkPlace>, Vec<(i64, i64)>);

fn models() -> [Model; 2] {
    [
        Model::from([
            series("a", &[(0, 10), (20, 30), (40, 50)]),
            series("b", &[(-5, 7)]),
            series("no_chunks", &[]),
            series("z", &[(1, 2), (3, 1_000_000)]),
        ]),
        Model::from([series("a", &[(60, 70)]), series("c", &[(61, 61), (62, 99), (200, 201), (202, 202)])]),
    ]
}

/// The chunks that the model writes: 40 bytes each, one after the other.
fn expected(model: &Model, deleted: &BTreeMap<&str, Vec<(i64, i64)>>) -> BTreeMap<Labels, Lists> {
    let mut references = (8..).step_by(40);
    let lists = model.iter().map(|(labels, chunks)| {
        let places: Vec<ChunkPlace> = (chunks.iter())
            .map(|&(first, last)| ChunkPlace { reference: references.next().unwrap(), first, last })
            .collect();
        let deleted = deleted.get(labels[0].1.as_str()).cloned().unwrap_or_default();
        (labels.iter().cloned().collect(), (places, deleted))
    });
    lists.collect()
}

/// The lists of one block of Prometheus in a block.
fn found(block: &[u8], id: &str) -> BTreeMap<Labels, Lists> {
    let view = BlockView::open(block).unwrap();
    let value = |prefix: &str, number: u32| {
        let column = view.series_column(&format!("{prefix}{id}")).unwrap();
        column.and_then(|column| column.get(number.into()).unwrap())
    };
    let lists = (0..).zip(block_series(block)).filter_map(|(number, labels)| {
        let mut chunks = Vec::new();
        match [CHUNKS, CHUNK_DISTANCES, CHUNK_START, CHUNK_TIMES].map(|prefix| value(prefix, number)) {
            [
                Some(Value::U64(reference)),
                Some(Value::Bytes(distances)),
                Some(Value::I64(start)),
                Some(Value::Bytes(times)),
            ] => ChunkList::decode((reference, distances), (start, times), &mut chunks).unwrap(),
            [None, None, None, None] => return None,
            other => panic!("{labels:?}: {other:?}"),
        }
        let deleted = match value(DELETIONS, number) {
            Some(Value::Bytes(bytes)) => decode_deletions(bytes).unwrap(),
            None => Vec::new(),
            other => panic!("{labels:?}: {other:?}"),
        };
        Some((labels, (chunks, deleted)))
    });
    lists.collect()
}

fn options(is_separate: bool) -> IngestOptions {
    let assemble = AssembleOptions {
        separate_input_windows: is_separate,
        time_step: NonZeroU64::new(1_000_000),
        ..AssembleOptions::default()
    };
    IngestOptions { chunk_lists: true, assemble, ..IngestOptions::default() }
}

fn with_chunks(lists: BTreeMap<Labels, Lists>) -> BTreeMap<Labels, Lists> {
    lists.into_iter().filter(|(_, (chunks, _))| !chunks.is_empty()).collect()
}

#[test]
fn each_block_has_the_chunks_of_one_folder_or_one_block_those_of_all() {
    let data = Data::new();
    let models = models();
    for (id, model) in IDS.iter().zip(&models) {
        data.block(id, model, 2, "{}");
    }
    let offsets = series_offsets(&index(&models[0], 2));
    let reference = |number: usize| offsets[number] as u64 / 16;
    let deletions = [(reference(0), 5, 9), (reference(0), 45, i64::MAX), (reference(3), 1, 1)];
    data.write(&format!("{}/tombstones", IDS[0]), &tombstones(&deletions));
    let deleted = BTreeMap::from([("a", vec![(5, 9), (45, i64::MAX)]), ("z", vec![(1, 1)])]);
    let expected = [expected(&models[0], &deleted), expected(&models[1], &BTreeMap::new())].map(with_chunks);

    let ingest = |is_separate| {
        let mut ingest = Ingest::new(options(is_separate), Vec::new());
        for id in IDS {
            ingest.read_tsdb_block(&data.path(id)).unwrap();
        }
        ingest.finish().unwrap().1
    };
    // The folders have the same window, which alone would make one block of them.
    let separate = ingest(true);
    assert_eq!(separate.len(), 2);
    for ((block, id), expected) in separate.iter().zip(IDS).zip(&expected) {
        assert_eq!(found(block, id), *expected);
    }
    let names = |block: &[u8]| -> Vec<String> {
        let view = BlockView::open(block).unwrap();
        view.series_columns().map(|column| column.unwrap().name().to_owned()).collect()
    };
    let first =
        [CHUNK_DISTANCES, CHUNK_START, CHUNK_TIMES, CHUNKS, DELETIONS].map(|prefix| format!("{prefix}{}", IDS[0]));
    assert_eq!(names(&separate[0])[2..], first);
    // Nothing is deleted in the other folder.
    assert_eq!(names(&separate[1]).len(), 2 + 4);

    let [all] = &ingest(false)[..] else { panic!("not one block") };
    for (id, expected) in IDS.iter().zip(&expected) {
        assert_eq!(found(all, id), *expected);
    }
}

#[test]
fn chunk_lists_need_the_id_of_the_folder() {
    let data = Data::new();
    data.block("not-an-id", &models()[0], 2, "{}");
    let error = data.read_block("not-an-id", options(true)).unwrap_err();
    assert!(
        message(&error).contains(r#"meta.json has "not-an-id" for the id, which is not a ULID"#),
        "{}",
        message(&error)
    );
}
