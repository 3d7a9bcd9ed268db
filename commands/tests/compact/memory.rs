//! `--memory-limit`: merges that exceed it, with and without room on the disk.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use chronoxide_format::TableId;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::Domain;
use chronoxide_format::write::{BlockBuilder, BlockMeta};
use chronoxide_testkit::requirement::skip_or_fail;

use crate::support::assert_exit;

/// Values of one label: their texts alone exceed the limit.
const VALUES: usize = 600_000;

/// Returns a folder with two blocks, `a.cx` and `b.cx`, with half of the values each.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, from) in [("a.cx", 0), ("b.cx", VALUES / 2)] {
        let mut builder = BlockBuilder::new(RowForm::BitPacked);
        let texts = (from..from + VALUES / 2).map(|number| format!("{number:0120}"));
        let values: Vec<_> = texts.map(|text| builder.push_symbol(&text).unwrap()).collect();
        let key = builder.push_symbol("name").unwrap();
        builder.push_key(key, &values).unwrap();
        let rows: Vec<u32> = (0..values.len() as u32).collect();
        builder.push_keyset_table(&[Domain::Table(TableId(0))], &rows).unwrap();
        fs::write(folder.path().join(name), builder.finish(&BlockMeta::default()).unwrap()).unwrap();
    }
    folder
}

fn merge(mut command: Command, folder: &Path, options: &[&str]) -> std::io::Result<Output> {
    command.args(["a.cx", "b.cx", "-o", "out.cx", "--force"]).args(options).current_dir(folder).output()
}

#[test]
fn what_exceeds_the_limit_spills_and_a_disk_without_room_ends_the_merge() {
    let folder = folder();
    let program = env!("CARGO_BIN_EXE_chronoxide-compact");
    let output = folder.path().join("out.cx");
    let outputs = [&["--memory-limit", "4GiB"][..], &["--memory-limit", "64MiB"]].map(|options| {
        assert_exit(&merge(Command::new(program), folder.path(), options).unwrap(), 0);
        fs::read(&output).unwrap()
    });
    assert!(outputs[0] == outputs[1], "the limit does not change the output");
    fs::remove_file(&output).unwrap();

    // The first call finds out whether the file system can do it.
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64"]);
    traced.args(["-e", "inject=pwrite64:error=ENOSPC:when=2+", program]);
    let Ok(full) = merge(traced, folder.path(), &["--memory-limit", "64MiB"]) else {
        return skip_or_fail("strace", "it is missing");
    };
    let stderr = assert_exit(&full, 1);
    assert!(stderr.contains("the scratch file cannot grow: No space left on device"), "{stderr}");
    let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["a.cx", "b.cx"], "nothing is half-written");
}
