//! The second decoder, written from the spec alone, agrees with this one. It needs `python3`; see `requirement`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use chronoxide_dump::dump;
use chronoxide_format::layout::RowForm;
use chronoxide_format::metadata::OwnedMetricMetadata;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_testkit::plan::build;
use chronoxide_testkit::random::{Random, random_metrics, random_plan, random_series};
use chronoxide_testkit::requirement::skip_or_fail;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs Python; nothing where there is none.
fn python(arguments: &[&str]) -> Option<Output> {
    match Command::new("python3").arg("-B").args(arguments).current_dir(project().join("spec")).output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip_or_fail("python3", error);
            None
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn it_reads_every_golden_block_and_refuses_their_damage() {
    if let Some(output) = python(&["test_decoder.py"]) {
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("OK"), "{}", text(&output.stderr));
    }
}

#[test]
fn it_refuses_every_broken_block_by_the_rule_that_it_is_named_after() {
    let path = |name: &str| format!("../testdata/broken/{name}.cx");
    let is_unsupported = |id: &str| ["version", "incompat-features", "section-unknown"].contains(&id);
    let broken = chronoxide_testkit::broken::broken();
    let paths: Vec<String> = broken.iter().map(|broken| path(&broken.name)).collect();
    let arguments: Vec<&str> = ["decoder.py", "verify"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    // One process for all: starting Python takes longer than reading a block.
    let Some(output) = python(&arguments) else { return };
    let messages = text(&output.stderr);
    let mut lines = messages.lines().filter(|line| !line.contains(": note: "));
    for (broken, path) in broken.iter().zip(&paths) {
        let message = lines.next().unwrap_or_default();
        assert!(message.starts_with(&format!("{path}: {}: ", broken.rule.id())), "{}: {message}", broken.rule.id());
    }
    assert_eq!(lines.next(), None);
    // The exit code of each kind of error.
    for id in ["version", "incompat-features", "section-unknown", "chunk-checksum", "header-checksum", "magic"] {
        let Some(broken) = broken.iter().find(|broken| broken.rule.id() == id) else { panic!("no block breaks {id}") };
        let Some(output) = python(&["decoder.py", "verify", &path(&broken.name)]) else { return };
        assert_eq!(output.status.code(), Some(if is_unsupported(id) { 4 } else { 3 }), "{id}");
    }
}

#[test]
fn it_dumps_random_plans_as_the_first_does() {
    let folder = crate::empty_folder("decoder");
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let series = random_series(120, &mut random);
        let plan = random_plan(&series, &mut random);
        let form = if seed % 2 == 0 { RowForm::FixedWidth } else { RowForm::BitPacked };
        let metrics = random_metrics(40, &mut random);
        let metrics = metrics.iter().map(OwnedMetricMetadata::borrowed).collect();
        let block = build(&series, &plan, form, &BlockMeta { metrics, ..BlockMeta::default() }).unwrap();
        let path = folder.join(format!("{seed}.cx"));
        std::fs::write(&path, &block).unwrap();
        let Some(output) = python(&["decoder.py", "dump", path.to_str().unwrap()]) else { return };
        assert!(output.status.success(), "seed {seed}: {}", text(&output.stderr));
        let mut own = Vec::new();
        dump(&BlockView::open(&block).unwrap(), None, &mut own).unwrap();
        assert!(own == output.stdout, "seed {seed}: the dumps differ");
    }
}
