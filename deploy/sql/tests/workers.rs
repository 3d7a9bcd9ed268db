//! Two worker processes give the rows that one process gives.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use chronoxide_ingest::{AssembleOptions, Assembler};
use chronoxide_locations::Location;
use chronoxide_object_server::{BUCKET, Server};
use chronoxide_workload::{Options, Workload};
use prost::Message;

/// Series of each block. All together are enough for two workers.
const SERIES: u64 = 40_000;

const QUERIES: [&str; 13] = [
    "SELECT count(*) FROM series",
    "SELECT block, count(*), count(\"k8s.pod.name\") FROM series GROUP BY block",
    "SELECT __name__, count(*) FROM series GROUP BY __name__",
    "SELECT __name__, count(*) FROM series WHERE \"k8s.pod.name\" LIKE '%a%' GROUP BY __name__",
    "SELECT count(DISTINCT \"k8s.pod.name\") FROM series WHERE __name__ ~ 'http.*' AND series_ref < 30000",
    "SELECT DISTINCT \"k8s.namespace.name\", \"service.name\" FROM series",
    "SELECT * FROM series WHERE series_ref IN (1, 20000, 39999) ORDER BY block, series_ref",
    "SELECT count(*), min(series_ref), max(series_ref), sum(series_ref) FROM series WHERE \"service.name\" IS NULL",
    "SELECT series_ref FROM series WHERE \"service.name\" > 'c' ORDER BY series_ref DESC, block LIMIT 7",
    "SELECT count(*) FROM (SELECT __name__ FROM series LIMIT 50001)",
    "SELECT count(*) FROM series WHERE \"k8s.pod.name\" = 'no; such pod';",
    "SELECT a.\"service.name\", count(*) FROM series a JOIN series b ON a.series_ref = b.series_ref \
     WHERE a.block < b.block GROUP BY a.\"service.name\"",
    "SELECT length(\"k8s.pod.name\") AS letters, count(*) FROM series GROUP BY letters",
];

/// Runs the command.
fn command(environment: &[(String, String)], cache: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-sql"));
    command.envs(environment.iter().map(|(name, value)| (name, value))).env("CHRONOXIDE_CACHE", cache);
    command
}

/// A worker process. It is killed when it is dropped.
struct Worker {
    child: Child,
    url: String,
}

impl Worker {
    fn start(environment: &[(String, String)], cache: &Path) -> Self {
        let mut command = command(environment, cache);
        let mut child =
            command.args(["worker", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().expect("started");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut url).expect("a line");
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the block of each of two windows.
fn blocks() -> Vec<Vec<u8>> {
    let block = |window| {
        let options = Options { series: SERIES, windows: window..window + 1, ..Options::default() };
        let workload = Workload::new(options).expect("valid options");
        let mut assembler = Assembler::new(AssembleOptions::default(), Vec::new());
        for request in workload.requests() {
            assembler.otlp_proto(&request.encode_to_vec()).expect("valid requests");
        }
        assembler.finish().expect("within limits").1.into_iter().next().expect("one block")
    };
    (0..2).map(block).collect()
}

/// Returns the lines of a table of results, sorted.
fn lines(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut lines: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    assert!(lines.len() > 4, "{lines:?}");
    lines.sort_unstable();
    lines
}

/// Asks two workers and no worker, and compares the rows.
fn compare(location: &str, environment: &[(String, String)], options: &str, queries: &[&str]) {
    let caches = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
    let workers = [&caches[0], &caches[1]].map(|cache| Worker::start(environment, cache.path()));
    let urls = workers.each_ref().map(|worker| worker.url.clone()).join(",");
    let create = format!("CREATE EXTERNAL TABLE series STORED AS CHRONOXIDE LOCATION '{location}' {options};");
    let ask = |arguments: &[&str], query: &str| {
        let mut command = command(environment, caches[2].path());
        command.arg("query").args(arguments).arg(format!("{create} {query}")).output().expect("started")
    };
    for query in queries {
        let alone = lines(&ask(&[], query));
        assert_eq!(lines(&ask(&["--workers", &urls], query)), alone, "{query}");
    }
    // Both workers read series.
    let plan = ask(&["--workers", &urls, "--explain"], queries[2]);
    let plan = String::from_utf8_lossy(&plan.stdout).into_owned();
    let half = format!("series={SERIES}, ");
    let parts: Vec<&str> = plan.lines().filter(|line| line.contains("Exec: blocks=")).collect();
    assert!(parts.len() == 2 && parts.iter().all(|part| part.contains(&half)), "{plan}");
    // Without one of them, there is an error and no rows.
    let [first, second] = workers;
    drop(second);
    let failed = ask(&["--workers", &urls], queries[2]);
    assert_eq!((failed.status.code(), failed.stdout.len()), (Some(1), 0));
    let message = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(message.starts_with("chronoxide-sql: ") && message.contains("onnect"), "{message}");
    drop(first);
}

#[test]
fn workers_read_blocks_of_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, block) in blocks().iter().enumerate() {
        std::fs::write(folder.path().join(format!("{number}.cx")), block).expect("written");
    }
    let path = folder.path().display().to_string();
    compare(&path, &[], "", &QUERIES);
    compare(&format!("file://{path}"), &[], "OPTIONS ('strings' 'dictionary')", &QUERIES[..6]);
}

#[test]
fn workers_read_blocks_of_an_object_store() {
    let server = Server::s3s().expect("a server");
    let environment = Server::settings(server.endpoint());
    let location = format!("s3://{BUCKET}/blocks/");
    let store = Location::open_with(&location, &environment).expect("a location");
    for (number, block) in blocks().iter().enumerate() {
        store.create_bytes(&format!("{number}.cx"), block).expect("created");
    }
    compare(&location, &environment, "", &QUERIES);
}
