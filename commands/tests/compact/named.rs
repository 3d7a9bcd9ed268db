//! Named blocks whose inputs are deleted, however they are named: never an output, and never another file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chronoxide_format::layout::RowForm;
use chronoxide_format::write::BlockMeta;
use chronoxide_testkit::plan::{Labelset, Plan, build};

use crate::support::{assert_exit, content};

fn series(numbers: std::ops::Range<u32>) -> BTreeSet<Labelset> {
    let labels = |number: u32| [("__name__", "up".to_owned()), ("host", number.to_string())];
    numbers.map(|number| labels(number).map(|(name, value)| (name.to_owned(), value)).into()).collect()
}

/// A folder with two blocks, and room for more.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new(names: [&str; 2]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("blocks")).unwrap();
        let desk = Self { folder };
        for (number, name) in (0..).zip(names) {
            desk.add(&desk.path(name), number * 10);
        }
        desk
    }

    fn add(&self, path: &Path, from: u32) {
        let bytes = build(&series(from..from + 15), &Plan::default(), RowForm::BitPacked, &BlockMeta::default());
        fs::write(path, bytes.unwrap()).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("blocks").join(name)
    }

    fn url(&self, name: &str) -> PathBuf {
        format!("file://{}", self.path(name).display()).into()
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.path("")).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Merges blocks in the folder of the blocks, deletes the inputs, and returns the messages.
    #[track_caller]
    fn merge(&self, arguments: &[PathBuf], code: i32) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
        command.current_dir(self.path("")).env("NO_COLOR", "1").stdin(Stdio::null());
        assert_exit(&command.args(arguments).arg("--delete-inputs").output().unwrap(), code)
    }

    fn seen(&self) -> BTreeSet<Labelset> {
        self.names().iter().flat_map(|name| content(&fs::read(self.path(name)).unwrap())).collect()
    }
}

#[test]
fn inputs_in_the_folder_of_their_output_are_deleted_however_it_is_named() {
    let ways: [fn(&Desk) -> [PathBuf; 4]; 5] = [
        |desk| [desk.path("a.cx"), desk.path("b.cx"), "-o".into(), desk.path("")],
        |desk| [desk.path("a.cx"), desk.path("b.cx"), "-o".into(), desk.url("")],
        |desk| [desk.url("a.cx"), desk.path("b.cx"), "-o".into(), ".".into()],
        |_| ["a.cx".into(), "../blocks/b.cx".into(), "-o".into(), "./".into()],
        |desk| [desk.url("a.cx"), desk.url("../blocks/b.cx"), "-o".into(), "../blocks".into()],
    ];
    for way in ways {
        let desk = Desk::new(["a.cx", "b.cx"]);
        let arguments = way(&desk);
        desk.merge(&arguments, 0);
        assert_eq!(desk.names().len(), 1, "{arguments:?}: {:?}", desk.names());
        assert_eq!(desk.seen(), series(0..25), "{arguments:?}");
    }
}

#[test]
fn an_output_in_the_place_of_an_input_stays() {
    for name in ["a.cx", ".a.cx"] {
        for named_by_url in [false, true] {
            let desk = Desk::new([name, "b.cx"]);
            let input = if named_by_url { desk.url(name) } else { desk.path(name) };
            desk.merge(&[input, "b.cx".into(), "-o".into(), name.into(), "--force".into()], 0);
            assert_eq!((desk.names(), desk.seen()), (vec![name.to_owned()], series(0..25)), "{name}, {named_by_url}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_only_looks_like_an_input_is_not_deleted() {
    use std::os::unix::ffi::OsStrExt;

    let desk = Desk::new(["b.cx", "a\u{fffd}.cx"]);
    let input = desk.path("").join(std::ffi::OsStr::from_bytes(b"a\xff.cx"));
    desk.add(&input, 30);
    let before = desk.names();
    let stderr = desk.merge(&[input, "-o".into(), "../out.cx".into()], 2);
    assert!(stderr.contains("needs a name that is UTF-8"), "{stderr}");
    assert_eq!(desk.names(), before);

    // In place, blocks may have such names, unless two of them look alike.
    let stderr = desk.merge(&[desk.path("")], 1);
    assert!(stderr.contains("look alike"), "{stderr}");
    assert_eq!(desk.names(), before);
    fs::remove_file(desk.path("a\u{fffd}.cx")).unwrap();
    desk.add(&desk.path("c.cx"), 40);
    desk.add(&desk.path("d.cx"), 50);
    desk.merge(&[desk.path("")], 0);
    assert_eq!(desk.names().len(), 1, "{:?}", desk.names());
    let all = series(0..15).into_iter().chain(series(30..65)).collect();
    assert_eq!(desk.seen(), all);
}

#[cfg(unix)]
#[test]
fn a_link_is_refused_by_a_url_as_by_a_path() {
    let desk = Desk::new(["a.cx", "b.cx"]);
    std::os::unix::fs::symlink(desk.path("a.cx"), desk.path("link.cx")).unwrap();
    for link in [desk.path("link.cx"), desk.url("link.cx")] {
        let stderr = desk.merge(&[link, "b.cx".into(), "-o".into(), "../out.cx".into()], 2);
        assert!(stderr.contains("is a symbolic link"), "{stderr}");
        assert_eq!(desk.names().len(), 3);
    }
}

#[test]
fn grace_is_refused_where_no_later_run_could_delete_the_inputs() {
    let desk = Desk::new(["a.cx", "b.cx"]);
    let here = desk.path("");
    let with = |more: &[&str]| -> Vec<PathBuf> {
        [here.clone()].into_iter().chain(more.iter().chain(&["--grace", "1h"]).map(PathBuf::from)).collect()
    };
    for (arguments, message) in [
        (with(&["--remaps", "../remaps"]), "--grace conflicts with --remaps"),
        (with(&["--annotations", "drop"]), "--grace conflicts with --annotations drop"),
        (vec!["a.cx".into(), "-o".into(), "../out.cx".into(), "--grace".into(), "1h".into()], "--grace needs a folder"),
    ] {
        let stderr = desk.merge(&arguments, 2);
        assert!(stderr.contains(message), "{stderr}");
        assert_eq!(desk.names().len(), 2);
    }
}

/// The clock of another machine may be ahead.
#[test]
fn without_grace_the_age_of_outputs_does_not_matter() {
    let desk = Desk::new(["a.cx", "b.cx"]);
    let inputs = ["a.cx", "b.cx"].map(|name| desk.path(name).display().to_string());
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
    let out = desk.path("out.cx");
    assert_exit(&command.args(&inputs).arg("-o").arg(&out).stdin(Stdio::null()).output().unwrap(), 0);
    let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(1_000_000);
    fs::File::options().write(true).open(&out).unwrap().set_modified(ahead).unwrap();
    let stderr = desk.merge(&[desk.path(""), "--grace".into(), "1h".into()], 0);
    assert!(stderr.contains("2 inputs of earlier runs kept until the grace period is over"), "{stderr}");
    assert_eq!(desk.names().len(), 3);
    desk.merge(&[desk.path("")], 0);
    assert_eq!((desk.names(), desk.seen()), (vec!["out.cx".to_owned()], series(0..25)));
}
