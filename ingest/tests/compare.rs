//! The comparison of sizes in `bench/` measures what this command writes; its tests run here, and those of the chart beside it. They need
//! `python3`; without it the test says so and passes.

use std::path::Path;
use std::process::Command;

#[test]
fn the_comparison_of_sizes_knows_this_command() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench");
    let run = Command::new("python3")
        .args(["-B", "-m", "unittest", "test_compare", "test_chart"])
        .env("CHRONOXIDE_INGEST", env!("CARGO_BIN_EXE_chronoxide-ingest"))
        .current_dir(folder)
        .output();
    match run {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
            assert!(said.contains("\nOK"), "{said}");
        }
        Err(error) => eprintln!("skipped: python3 cannot be started: {error}"),
    }
}
