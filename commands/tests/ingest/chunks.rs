//! `--chunks`: blocks of Prometheus to blocks with chunk lists.

use std::fs;

use chronoxide_format::view::BlockView;

use crate::prometheus_data::{Data, stderr};

/// Names of the columns of each block, by the paths of the blocks.
fn columns(data: &Data) -> Vec<Vec<String>> {
    let mut paths: Vec<_> = fs::read_dir(data.path("blocks")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let names = |path| {
        let block = fs::read(path).unwrap();
        let view = BlockView::open(&block).unwrap();
        view.series_columns().map(|column| column.unwrap().name().to_owned()).collect()
    };
    paths.into_iter().map(names).collect()
}

#[test]
fn each_block_of_a_data_folder_becomes_one_with_chunk_lists_and_the_head_is_left_out() {
    let data = Data::new();
    let (output, summary) = data.ingest("data", &["--chunks"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("left out: the head of a TSDB has no chunk files"), "{}", stderr(&output));
    let folders: Vec<String> = (fs::read_dir(data.path("data")).unwrap())
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("index").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let columns = columns(&data);
    assert_eq!((columns.len(), summary["input"]["inputs"].as_u64()), (folders.len(), Some(folders.len() as u64)));
    for folder in folders {
        let own: Vec<_> =
            columns.iter().filter(|names| names.contains(&format!("prometheus.chunks/{folder}"))).collect();
        let [own] = own[..] else { panic!("{folder}: {own:?}") };
        assert_eq!(own.len(), 6, "{own:?}");
        assert!(own.contains(&"chronoxide.first_time".to_owned()));
    }
}

#[test]
fn other_inputs_are_refused() {
    let data = Data::new();
    let capture = data.path("capture.prom");
    fs::write(&capture, "up 1\n").unwrap();
    let (output, _) = data.ingest("capture.prom", &["--chunks"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("capture.prom: --chunks reads blocks of Prometheus's TSDB only"));
    let (output, _) = data.ingest("data/wal", &["--chunks"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let (output, _) = data.ingest("data", &["--chunks", "--window", "1h"]);
    assert_eq!(output.status.code(), Some(2));
    fs::create_dir(data.path("captures")).unwrap();
    fs::rename(capture, data.path("captures/capture.prom")).unwrap();
    let (output, _) = data.ingest("captures", &["--chunks"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("no blocks of Prometheus's TSDB in this folder"));
    // Beside blocks, other files are named.
    fs::rename(data.path("captures/capture.prom"), data.path("data/capture.prom")).unwrap();
    let (output, _) = data.ingest("data", &["--chunks"]);
    assert!(stderr(&output).contains("capture.prom"), "{}", stderr(&output));
}
