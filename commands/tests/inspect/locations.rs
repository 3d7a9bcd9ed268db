//! Blocks of an object store: commands give what they give for files.

use std::fs;
use std::process::Output;

use chronoxide_format::layout::CHUNK_LEN;
use chronoxide_format::view::BlockView;
use chronoxide_ingest::{Ingest, IngestOptions};
use chronoxide_locations::Location;
use chronoxide_object_server::{BUCKET, Proxy, Server};
use chronoxide_testkit::editor::BlockEditor;

use crate::support::{Folder, assert_exit, broken, command, golden, random_block};

/// A folder, and a location with the same blocks.
struct Scene {
    server: Server,
    proxy: Proxy,
    folder: Folder,
    cache: Folder,
}

/// Name of the folder, and of the prefix.
const NAME: &str = "blocks";

impl Scene {
    fn new(blocks: &[(&str, Vec<u8>)]) -> Self {
        let server = Server::s3s().unwrap();
        let proxy = Proxy::start(server.endpoint()).unwrap();
        let scene = Self { server, proxy, folder: Folder::new(), cache: Folder::new() };
        fs::create_dir(scene.folder.file(NAME)).unwrap();
        let url = format!("s3://{BUCKET}/{NAME}/");
        let location = Location::open_with(&url, &Server::settings(scene.server.endpoint())).unwrap();
        for (name, block) in blocks {
            scene.folder.write(&format!("{NAME}/{name}"), block);
            location.create_bytes(name, block).unwrap();
        }
        scene
    }

    /// Runs a command in the folder.
    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = command();
        command.envs(Server::settings(self.proxy.endpoint())).env("CHRONOXIDE_CACHE", self.cache.path());
        command.current_dir(self.folder.path()).args(arguments).output().unwrap()
    }

    /// Runs a command on files and on objects, and compares all that it prints.
    #[track_caller]
    fn compare(&self, line: &str, code: i32) {
        let local: Vec<&str> = line.split(' ').collect();
        let files = self.run(&local);
        assert_eq!(files.status.code(), Some(code), "{line}: {files:?}");
        let bucket = format!("s3://{BUCKET}/");
        let remote: Vec<String> = local
            .iter()
            .map(|word| match word.strip_prefix(NAME) {
                // A folder is named without the slash, a location with it.
                Some("") => format!("{bucket}{NAME}/"),
                Some(_) => format!("{bucket}{word}"),
                None => (*word).to_owned(),
            })
            .collect();
        let objects = self.run(&remote.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(objects.status.code(), Some(code), "{line}: {objects:?}");
        let text = |output: &[u8]| String::from_utf8(output.to_vec()).unwrap();
        let (found, expected) = (text(&objects.stdout), text(&files.stdout));
        let plain = found.replace(&format!("{bucket}{NAME}/\""), &format!("{NAME}\"")).replace(&bucket, "");
        assert_eq!(plain, expected, "{line}");
        assert!(!expected.is_empty(), "{line} prints something");
        assert!(!self.proxy.take_requests().is_empty(), "{line}: the store is asked");
    }
}

#[test]
fn commands_print_the_same_of_objects_and_files() {
    let golden = |name: &str| fs::read(golden(name)).unwrap();
    let scene = Scene::new(&[
        ("a.cx", golden("plain-bitpacked.cx")),
        ("b.cx", golden("lists-split.cx")),
        ("c.cx", golden("archive-small.cx")),
        ("d.cx", random_block(7).1),
    ]);
    for line in ["summary", "sections", "dump", "series -q", "labels -q", "cardinality -q", "tables", "plan"] {
        for block in ["a", "b", "c", "d"] {
            scene.compare(&format!("{line} blocks/{block}.cx"), 0);
        }
    }
    for line in [
        "blocks/a.cx",
        "summary blocks/d.cx --json",
        "series blocks/a.cx --match {job=\"api\"} -q",
        "series blocks -q --json",
        "values job blocks -q",
        "labels blocks -q",
        "cardinality blocks -q --json",
        "report blocks/d.cx --json",
        "report blocks --json",
        "verify blocks",
        "verify blocks/a.cx blocks --json",
        "export blocks/d.cx --format jsonl",
    ] {
        scene.compare(line, 0);
    }
    scene.compare("diff blocks/a.cx blocks/b.cx --series", 5);
    scene.compare("diff blocks/d.cx blocks --series", 5);
}

#[test]
fn damage_is_found_in_a_location() {
    let scene = Scene::new(&[
        ("a.cx", fs::read(golden("plain-bitpacked.cx")).unwrap()),
        ("b.cx", fs::read(broken("chunk-checksum")).unwrap()),
        ("c.cx", fs::read(broken("version")).unwrap()),
    ]);
    let found = scene.run(&["verify", &format!("s3://{BUCKET}/blocks/")]);
    assert_exit(&found, 3, "blocks/b.cx");
    assert_exit(&found, 3, "blocks/c.cx");
    assert_eq!(String::from_utf8(found.stdout).unwrap(), format!("s3://{BUCKET}/blocks/a.cx: sound, 10 series\n"));
    assert_exit(&scene.run(&["verify", "blocks"]), 3, "blocks/b.cx");
    let empty = scene.run(&["verify", &format!("s3://{BUCKET}/none/")]);
    assert_exit(&empty, 1, "none/: no objects");
    let empty = scene.run(&["labels", &format!("s3://{BUCKET}/none/")]);
    assert_exit(&empty, 0, "none/: the location has no block");
    // An endpoint without encryption, which was not allowed.
    let (block, location) = (format!("s3://{BUCKET}/blocks/a.cx"), format!("s3://{BUCKET}/blocks/"));
    for arguments in [
        &["summary", &block][..],
        &["series", &block],
        &["labels", &location],
        &["diff", &location, &location],
        &["verify", &location],
        &["verify", &block],
    ] {
        let mut command = command();
        command.env("AWS_ENDPOINT_URL", scene.proxy.endpoint()).env_remove("AWS_ALLOW_HTTP");
        assert_exit(&command.args(arguments).output().unwrap(), 2, "AWS_ALLOW_HTTP=true");
    }
    assert_exit(&scene.run(&["summary", &format!("s3://{BUCKET}/blocks/x.cx")]), 1, "blocks/x.cx");
}

/// A block that is long enough to be read in pieces.
#[test]
fn a_long_block_is_not_fetched_for_a_summary_or_a_few_series() {
    let line = |number: u64| {
        let draw = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        format!("up{{job=\"job-{}\",id=\"{:08x}\",pod=\"{}\"}} 1\n", number % 100, draw % 30_011, (draw >> 40) % 997)
    };
    let folder = Folder::new();
    let few = "down{zone=\"a\"} 1\ndown{zone=\"b\"} 1\n";
    folder.write("long.prom", (0..550_000).map(line).chain([few.to_owned()]).collect::<String>());
    let mut ingest = Ingest::new(IngestOptions::default(), Vec::new());
    let source = ingest.open(&folder.file("long.prom"), 1 << 20).unwrap();
    ingest.read(source).unwrap();
    let block = ingest.finish().unwrap().1.remove(0);
    // Longer than the two reads of a summary.
    assert!(block.len() > (512 << 10) + (1 << 20) + (64 << 10), "{}", block.len());
    let scene = Scene::new(&[("long.cx", block.clone())]);
    scene.compare("summary blocks/long.cx", 0);
    let url = format!("s3://{BUCKET}/blocks/long.cx");
    assert_exit(&scene.run(&["summary", &url]), 0, "");
    let gets = |requests: Vec<chronoxide_object_server::Request>| -> Vec<u64> {
        requests.iter().filter(|request| request.method == "GET").map(|request| request.received).collect()
    };
    let read = gets(scene.proxy.take_requests());
    assert_eq!(read.len(), 2, "{read:?}");
    assert!(fs::read_dir(scene.cache.path()).map_or(true, |mut names| names.next().is_none()), "nothing is cached");

    scene.compare("series blocks/long.cx --match {job=\"job-17\"} -q", 0);
    scene.compare("series blocks/long.cx --match down -q", 0);
    assert_exit(&scene.run(&["series", &url, "--match", "down", "-q"]), 0, "");
    let read: u64 = gets(scene.proxy.take_requests()).iter().sum();
    assert!(read < block.len() as u64 / 2, "{read} of {}", block.len());

    // Chunks of zeros look like chunks that were not read: they are read together.
    let view = BlockView::open(&block).unwrap();
    let section = view.sections().max_by_key(|section| section.length).unwrap();
    let kind = section.known().unwrap();
    let chunks = section.offset.div_ceil(CHUNK_LEN)..(section.offset + section.length) / CHUNK_LEN;
    for step in [1, 2] {
        let mut editor = BlockEditor::open(&block);
        for chunk in chunks.clone().step_by(step) {
            let start = (chunk * CHUNK_LEN - section.offset) as usize;
            editor.section(kind)[start..][..CHUNK_LEN as usize].fill(0);
        }
        let scene = Scene::new(&[("zeros.cx", editor.close())]);
        scene.compare("summary blocks/zeros.cx", 0);
        assert_exit(&scene.run(&["summary", &format!("s3://{BUCKET}/blocks/zeros.cx")]), 0, "");
        let read = gets(scene.proxy.take_requests());
        assert!(chunks.end - chunks.start > 50 && read.len() < 8, "{chunks:?}, {step}: {read:?}");
    }
}
