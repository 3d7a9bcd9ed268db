//! Outputs that are URLs of an object store.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use chronoxide_locations::Location;
use chronoxide_object_server::{BUCKET, Fault, Proxy, Server};
use serde_json::Value;

/// Series of three hours.
const CAPTURE: &str =
    "a{b=\"1\"} 1 1762851600000\na{b=\"2\"} 1 1762851600000\na{b=\"1\"} 1 1762855200000\nc 1 1762858800000\n";

struct Scene {
    server: Server,
    proxy: Proxy,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let server = Server::s3s().unwrap();
        let proxy = Proxy::start(server.endpoint()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("capture.prom"), CAPTURE).unwrap();
        Self { server, proxy, folder }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-ingest"));
        command.envs(Server::settings(self.proxy.endpoint())).env("CHRONOXIDE_CACHE", self.cache());
        command.current_dir(self.folder.path()).arg("capture.prom").args(arguments).output().unwrap()
    }

    fn cache(&self) -> std::path::PathBuf {
        self.folder.path().join("cache")
    }

    /// Objects below a prefix of the bucket, by key.
    fn objects(&self, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        let url = format!("s3://{BUCKET}/{prefix}");
        let location = Location::open_with(&url, &Server::settings(self.server.endpoint())).unwrap();
        let objects = location.list("", true).unwrap();
        objects.into_iter().map(|object| (object.key.clone(), location.read(&object.key).unwrap())).collect()
    }

    fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let names = std::fs::read_dir(self.folder.path().join(folder)).unwrap();
        let paths = names.map(|entry| entry.unwrap().path());
        paths.map(|path| (name(&path), std::fs::read(&path).unwrap())).collect()
    }

    /// Asserts that no copy of a block stays on this machine.
    #[track_caller]
    fn assert_nothing_stays(&self) {
        let left: Vec<String> =
            std::fs::read_dir(self.cache()).unwrap().map(|entry| name(&entry.unwrap().path())).collect();
        assert!(!left.iter().any(|name| name.starts_with("upload")), "{left:?}");
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

#[track_caller]
fn assert_exit(output: &Output, code: i32, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
}

#[test]
fn a_location_gets_the_blocks_of_a_folder() {
    let scene = Scene::new();
    assert_exit(&scene.run(&["-o", "blocks/", "--window", "1h"]), 0, "4 series in 3 blocks");
    let expected = scene.files("blocks");
    assert_eq!(expected.len(), 3);

    let url = format!("s3://{BUCKET}/some/hours/");
    let output = scene.run(&["-o", &url, "--window", "1h", "--json"]);
    assert_exit(&output, 0, "");
    assert!(scene.objects("some/hours/") == expected);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut urls: Vec<&str> =
        summary["blocks"].as_array().unwrap().iter().map(|block| block["path"].as_str().unwrap()).collect();
    urls.sort_unstable();
    assert_eq!(urls, expected.keys().map(|name| format!("{url}{name}")).collect::<Vec<_>>());
    scene.assert_nothing_stays();

    // A second run finds them.
    assert_exit(&scene.run(&["-o", &url, "--window", "1h"]), 0, "4 series in 3 blocks");
    assert!(scene.objects("some/hours/") == expected);
    scene.assert_nothing_stays();
}

#[test]
fn a_url_of_a_block_gets_one_block() {
    let scene = Scene::new();
    assert_exit(&scene.run(&["-o", "one.cx"]), 0, "3 series in");
    let expected = std::fs::read(scene.folder.path().join("one.cx")).unwrap();
    let url = format!("s3://{BUCKET}/one.cx");
    assert_exit(&scene.run(&["-o", &url]), 0, &format!("{url}: 3 series in"));
    assert!(scene.objects("") == BTreeMap::from([("one.cx".to_owned(), expected.clone())]));

    assert_exit(&scene.run(&["-o", &url]), 1, "one.cx: already exists");
    assert_exit(&scene.run(&["-o", &url, "--force"]), 2, "objects of URLs are never replaced");
    assert_exit(&scene.run(&["-o", &url, "--window", "1h"]), 2, "--window makes several blocks");
    assert!(scene.objects("") == BTreeMap::from([("one.cx".to_owned(), expected)]));
    scene.assert_nothing_stays();
}

#[test]
fn an_upload_that_fails_leaves_whole_blocks_only() {
    let scene = Scene::new();
    let url = format!("s3://{BUCKET}/hours/");
    // The second block is refused.
    let puts = std::sync::atomic::AtomicU64::new(0);
    scene.proxy.inject(Box::new(move |_, request| {
        let is_second = request.method == "PUT" && puts.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1;
        is_second.then_some(Fault::Status(403))
    }));
    let failed = scene.run(&["-o", &url, "--window", "1h"]);
    assert_exit(&failed, 1, &format!("1 block was written to {url} before the error"));
    assert!(String::from_utf8_lossy(&failed.stderr).contains(".cx: cannot create (1 attempt)"), "{failed:?}");
    assert_eq!(scene.objects("hours/").len(), 1);
    scene.assert_nothing_stays();
    scene.proxy.calm();
    assert_exit(&scene.run(&["-o", &url, "--window", "1h"]), 0, "3 blocks");
    assert_eq!(scene.objects("hours/").len(), 3);
}
