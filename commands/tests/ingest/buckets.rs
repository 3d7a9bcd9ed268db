//! The command on blocks of Prometheus's TSDB in a bucket.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use chronoxide_object_server::{BUCKET, Fault, Proxy, Server, nth};

use crate::canonical;
use crate::prometheus_data::{capture, copy, stderr};

const BLOCKS: [&str; 3] = ["01M81D9J7RYD9HMB8NS58J452Z", "01M81D9JCSAK36SASW4Q8EKB72", "01M81D9JF2DRBSNPRC4YW1H7VT"];

struct Scene {
    server: Server,
    proxy: Proxy,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let server = Server::s3s().unwrap();
        let proxy = Proxy::start(server.endpoint()).unwrap();
        Self { server, proxy, folder: tempfile::tempdir().unwrap() }
    }

    /// Returns the path of an object.
    fn object(&self, key: &str) -> PathBuf {
        self.server.objects().unwrap().join(key)
    }

    fn put(&self, key: &str, content: &[u8]) {
        fs::create_dir_all(self.object(key).parent().unwrap()).unwrap();
        fs::write(self.object(key), content).unwrap();
    }

    /// Puts the blocks of the data folder below a prefix, with chunks.
    fn put_blocks(&self, prefix: &str) {
        for block in BLOCKS {
            copy(&capture().join("data").join(block), &self.object(&format!("{prefix}{block}")));
            self.put(&format!("{prefix}{block}/chunks/000001"), &[0; 1_000]);
        }
    }

    /// Runs the command into the folder `out`, which is new each time.
    fn run(&self, arguments: &[&str]) -> Output {
        let _ = fs::remove_dir_all(self.folder.path().join("out"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
        command.envs(Server::settings(self.proxy.endpoint())).env("NO_COLOR", "1").current_dir(self.folder.path());
        command.args(arguments).args(["-o", "out/"]).output().unwrap()
    }

    /// Blocks of the last run, by name.
    fn blocks(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.folder.path().join("out")).unwrap().map(Result::unwrap);
        entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
    }
}

fn url(prefix: &str) -> String {
    format!("s3://{BUCKET}/{prefix}")
}

#[track_caller]
fn assert_exit(output: &Output, code: i32, message: &str) {
    assert_eq!(output.status.code(), Some(code), "{}", stderr(output));
    assert!(stderr(output).contains(message), "{}", stderr(output));
}

#[test]
fn blocks_of_a_bucket_give_the_blocks_of_their_folders() {
    let scene = Scene::new();
    let local = scene.folder.path().join("local");
    for block in BLOCKS {
        copy(&capture().join("data").join(block), &local.join(block));
    }
    assert_exit(&scene.run(&["local"]), 0, "");
    let expected = scene.blocks();
    assert_eq!(expected.len(), 3);

    // The root of a bucket of Thanos, and a tenant of Mimir.
    for (prefix, input) in [("", ""), ("tenants/7/", ""), ("tenants/7/", "tenants/7/"), ("tenants/7/", "tenants")] {
        let scene = Scene::new();
        scene.put_blocks(prefix);
        scene.put("debug/metas/01M81D9J7RYD9HMB8NS58J452Z.json", b"{}");
        let done = scene.run(&[&url(input)]);
        assert_exit(&done, 0, "");
        assert!(!stderr(&done).contains("warning"), "{}", stderr(&done));
        assert!(scene.blocks() == expected, "{prefix} {input}");
        let requests = scene.proxy.take_requests();
        assert!(!requests.iter().any(|request| format!("{request:?}").contains("chunks/")), "{requests:?}");
    }
    // One block.
    let scene = Scene::new();
    scene.put_blocks("x/");
    for end in ["", "/"] {
        assert_exit(&scene.run(&[&format!("{}{end}", url(&format!("x/{}", BLOCKS[0])))]), 0, "");
        let blocks = scene.blocks();
        assert_eq!(blocks.len(), 1);
        assert!(blocks.iter().all(|(name, block)| expected.get(name) == Some(block)));
    }
}

#[test]
fn deleted_and_damaged_blocks_of_a_bucket_are_told() {
    let scene = Scene::new();
    scene.put_blocks("7/");
    let mark = br#"{"id":"01M81D9J7RYD9HMB8NS58J452Z","version":1,"deletion_time":1}"#;
    scene.put(&format!("7/{}/deletion-mark.json", BLOCKS[0]), mark);
    scene.put(&format!("7/markers/{}-deletion-mark.json", BLOCKS[1]), mark);
    scene.put(&format!("7/markers/{}-no-compact-mark.json", BLOCKS[2]), mark);
    scene.put("7/bucket-index.json.gz", b"x");
    let done = scene.run(&[&url("7/")]);
    assert_exit(&done, 0, "1 object that no block of Prometheus's TSDB has");
    for block in &BLOCKS[..2] {
        assert_exit(
            &done,
            0,
            &format!("{block}/: skipped: the block is marked as deleted (--ignore-deletions reads it)"),
        );
    }
    assert_eq!(scene.blocks().len(), 1);
    assert_exit(&scene.run(&[&url("7/"), "--ignore-deletions"]), 0, "");
    assert_eq!(scene.blocks().len(), 3);

    // Uploads that were not completed.
    fs::remove_file(scene.object(&format!("7/{}/index", BLOCKS[0]))).unwrap();
    fs::remove_file(scene.object(&format!("7/{}/meta.json", BLOCKS[1]))).unwrap();
    let done = scene.run(&[&url("7/"), "--ignore-deletions"]);
    assert_exit(&done, 6, &format!("{}/: damaged block: it has no index", BLOCKS[0]));
    assert_exit(&done, 6, &format!("{}/: damaged block: it has no meta.json", BLOCKS[1]));
    assert_eq!(scene.blocks().len(), 1);
    let done = scene.run(&[&url(&format!("7/{}", BLOCKS[1])), "--ignore-deletions"]);
    assert_exit(&done, 3, "damaged block: it has no meta.json");
}

#[test]
fn deleted_series_and_external_labels_of_a_bucket_are_read() {
    let scene = Scene::new();
    scene.put_blocks("");
    assert_exit(&scene.run(&[&url(BLOCKS[0])]), 0, "");
    let all: usize = scene.blocks().values().map(|block| canonical::block_series(block).len()).sum();
    // All times of the first series, whose reference is the start of the series divided by 16. The checksum is that of
    // Castagnoli over the tombstone.
    let index = fs::read(scene.object(&format!("{}/index", BLOCKS[0]))).unwrap();
    let toc = index.len() - 52;
    let start = u64::from_be_bytes(index[toc + 8..toc + 16].try_into().unwrap()).div_ceil(16);
    assert!(start < 0x4000);
    let mut stone = if start < 0x80 { vec![start as u8] } else { vec![start as u8 | 0x80, (start >> 7) as u8] };
    stone.extend(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    let checksum = !stone.iter().fold(!0_u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 })
    });
    let tombstones = [b"\x01\x30\xba\x30\x01".as_slice(), &stone, &checksum.to_be_bytes()].concat();
    scene.put(&format!("{}/tombstones", BLOCKS[0]), &tombstones);
    let meta = fs::read_to_string(scene.object(&format!("{}/meta.json", BLOCKS[0]))).unwrap();
    let mut meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
    meta["thanos"]["labels"]["cluster"] = "eu".into();
    scene.put(&format!("{}/meta.json", BLOCKS[0]), meta.to_string().as_bytes());
    assert_exit(&scene.run(&[&url(BLOCKS[0])]), 0, "1 deleted series");
    let left: usize = scene.blocks().values().map(|block| canonical::block_series(block).len()).sum();
    assert_eq!(left + 1, all);

    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
    command.envs(Server::settings(scene.proxy.endpoint())).env("NO_COLOR", "1").current_dir(scene.folder.path());
    let done = command.args([&url(""), "-o", "all.cx"]).output().unwrap();
    assert_exit(&done, 2, "external labels {cluster=\"eu\"}, and");
    assert!(!scene.folder.path().join("all.cx").exists());
}

#[test]
fn urls_without_blocks_are_errors_that_say_why() {
    let scene = Scene::new();
    scene.put("captures/a.prom", b"up 1\n");
    scene.put("blocks/week.cx", b"x");
    assert_exit(&scene.run(&[&url("captures/a.prom")]), 2, "a.prom: captures are files of this machine");
    assert_exit(&scene.run(&[&url("blocks/week.cx")]), 2, "week.cx: this is a block, not a capture");
    assert_exit(
        &scene.run(&[&url("captures/")]),
        4,
        "no blocks of Prometheus's TSDB among the 1 object below this URL",
    );
    assert_exit(&scene.run(&[&url("nothing/")]), 1, "nothing/: no objects below this URL");
    assert_exit(&scene.run(&["s3://no-such-bucket/x/"]), 1, "no such bucket");
    assert_exit(&scene.run(&["ftp://host/x/"]), 2, "unknown scheme ftp");
}

#[test]
fn requests_that_fail_are_tried_again() {
    let scene = Scene::new();
    scene.put_blocks("");
    for number in 0..8 {
        scene.proxy.inject(nth(number, Fault::Status(503)));
        assert_exit(&scene.run(&[&url("")]), 0, "");
        assert_eq!(scene.blocks().len(), 3, "request {number}");
    }
}
