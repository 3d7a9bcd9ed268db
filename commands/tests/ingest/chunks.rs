//! `--chunks`: blocks of Prometheus to blocks with chunk lists.

use std::fs;
use std::path::Path;

use chronoxide_format::view::BlockView;

use crate::prometheus_data::{Data, run, stderr};

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

/// Readers of samples look for the folder by the id.
#[test]
fn a_folder_with_another_name_than_its_block_is_named() {
    let data = Data::new();
    let entries = fs::read_dir(data.path("data")).unwrap().map(|entry| entry.unwrap());
    let block = entries.map(|entry| entry.path()).find(|path| path.join("index").exists()).unwrap();
    let id = block.file_name().unwrap().to_str().unwrap().to_owned();
    let (output, _) = data.ingest(&format!("data/{id}"), &["--chunks"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    fs::rename(&block, data.path("copy")).unwrap();
    let (output, _) = data.ingest("copy", &["--chunks"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains(&format!("copy: the id of the block is {id}")), "{}", stderr(&output));
    // Without chunk lists, the name does not matter.
    let (output, _) = data.ingest("copy", &[]);
    assert_eq!(stderr(&output), "");
}

#[test]
fn the_summary_compares_with_the_index_and_quiet_runs_have_no_notes() {
    let data = Data::new();
    let ingest = |options: &[&str]| {
        let (input, output) = (data.path("data"), data.path("blocks/"));
        let mut arguments = vec![input.as_path(), Path::new("-o"), &output, Path::new("--chunks")];
        arguments.extend(options.iter().map(Path::new));
        stderr(&run(&arguments))
    };
    let bytes = |folder: &str, name: &str| -> u64 {
        let entries = fs::read_dir(data.path(folder)).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.map(|path| if name.is_empty() { path } else { path.join(name) });
        files.filter_map(|path| fs::metadata(path).ok()).filter(|meta| meta.is_file()).map(|meta| meta.len()).sum()
    };
    let text = ingest(&[]);
    let times = bytes("data", "index") as f64 / bytes("blocks", "") as f64;
    assert!(text.contains(&format!("of Prometheus, {times:.2} times the bytes of the blocks")), "{text}");
    assert_eq!(ingest(&["--quiet"]), "");
}

/// Prometheus does not read the aggregates of Thanos: such a block would fail queries of all others.
#[test]
fn downsampled_blocks_are_refused() {
    let data = Data::new();
    let entries = fs::read_dir(data.path("data")).unwrap().map(|entry| entry.unwrap().path());
    let block = entries.into_iter().find(|path| path.join("index").exists()).unwrap();
    let meta = fs::read_to_string(block.join("meta.json")).unwrap();
    let mut meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
    meta["thanos"] = serde_json::json!({ "labels": {}, "downsample": { "resolution": 300_000 } });
    fs::write(block.join("meta.json"), meta.to_string()).unwrap();
    let id = block.file_name().unwrap().to_str().unwrap();
    let (output, _) = data.ingest(&format!("data/{id}"), &["--chunks"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("downsampled by Thanos"), "{}", stderr(&output));
    // Its labels are those of others.
    let (output, _) = data.ingest(&format!("data/{id}"), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (output, summary) = data.ingest("data", &["--chunks"]);
    assert_eq!((output.status.code(), summary["input"]["failed_inputs"].as_u64()), (Some(6), Some(1)));
}
