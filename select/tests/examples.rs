//! Runs the example on a golden and checks its output.

use std::env::consts::EXE_SUFFIX;
use std::path::Path;
use std::process::Command;

/// `cargo test` without `--test` builds the examples in the folder `examples` beside that of the tests.
#[test]
fn engine_sums_a_column_by_label() {
    let folder = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden/plain-bitpacked.cx");
    std::fs::copy(golden, folder.path().join("block.cx")).unwrap();
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile.join("examples").join(format!("engine{EXE_SUFFIX}"));
    assert!(program.exists(), "{} is missing: run `cargo build --examples` first", program.display());
    let run = |selector: &str| {
        let output = Command::new(&program).arg(folder.path()).args([selector, "job"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    // The only such series has ref 6, which is its number in the column.
    assert_eq!(run(r#"up{job="db",pod="db-1"}"#), "db\t6\n");
    assert_eq!(run(r#"up{job="absent"}"#), "");
}
