//! The verdict on each golden and broken file, for other readers (`spec/CONFORMANCE.md`).

use std::fmt::Write as _;

use chronoxide_format::view::BlockView;
use chronoxide_format::{Error, Rule};

use crate::archive::archives;
use crate::broken::{Broken, broken};
use crate::golden::goldens;
use crate::remap::broken::broken_remaps;
use crate::remap::golden::golden_remaps;

/// Name of the manifest in `testdata/`.
pub const MANIFEST: &str = "manifest.tsv";

/// Returns the manifest: a line for each file, after a line with the names of the fields.
///
/// # Panics
/// If a golden block does not open.
#[must_use]
pub fn manifest() -> String {
    let mut text = "file\trule\tclass\terror\texit\tclasses\n".to_owned();
    let mut line = |file: String, rule: &str, class: &str, error: &str, classes: &str| {
        let exit = match error {
            "-" => 0,
            "unsupported" => 4,
            _ => 3,
        };
        writeln!(text, "{file}\t{rule}\t{class}\t{error}\t{exit}\t{classes}").expect("text grows");
    };
    for golden in archives().into_iter().chain(goldens()) {
        let view = BlockView::open(&golden.bytes).expect("golden blocks open");
        let classes = if view.unknown_ro_compat() == 0 { "RC" } else { "R" };
        line(format!("golden/{}.cx", golden.name), "-", "-", "-", classes);
    }
    for Broken { rule, name, bytes } in broken() {
        let class = rule.class().letter().to_string();
        let error = match BlockView::open(&bytes) {
            Err(Error::NotABlock) => "not-a-block",
            Err(Error::Corrupt(_)) | Ok(_) => "corrupt",
            Err(_) => "unsupported",
        };
        line(format!("broken/{name}.cx"), rule.id(), &class, error, "RC");
    }
    for golden in golden_remaps() {
        line(format!("remaps/golden/{}.cxr", golden.name), "-", "-", "-", "-");
    }
    for broken in broken_remaps() {
        let id = broken.rule.id();
        let error = match id {
            _ if id == Rule::Magic.id() => "not-a-remap",
            _ if [Rule::Version.id(), Rule::IncompatFeatures.id()].contains(&id) => "unsupported",
            _ => "corrupt",
        };
        line(format!("remaps/broken/{id}.cxr"), id, "-", error, "-");
    }
    text
}
