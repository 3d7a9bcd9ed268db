//! Runs the tests of the size comparison and the chart in `bench/`, which measure this command. They need `python3`,
//! and some need zstd, pyarrow and matplotlib (`bench/requirements.txt`).

use std::path::Path;
use std::process::Command;

use chronoxide_testkit::requirement::skip_or_fail;

#[test]
fn the_comparison_of_sizes_knows_this_command() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench");
    let run = Command::new("python3")
        .args(["-B", "-m", "unittest", "test_compare", "test_chart", "test_stores"])
        .env("CHRONOXIDE_INGEST", env!("CARGO_BIN_EXE_chronoxide-ingest"))
        .current_dir(folder)
        .output();
    match run {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
            assert!(said.contains("\nOK"), "{said}");
            // unittest counts what it skips in its last line: "OK (skipped=5)".
            if said.contains("(skipped=") {
                skip_or_fail("zstd, pyarrow or matplotlib", said);
            }
        }
        Err(error) => skip_or_fail("python3", error),
    }
}
