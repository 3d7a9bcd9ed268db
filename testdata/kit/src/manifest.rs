//! The verdict on each golden and broken file, for other readers (`spec/CONFORMANCE.md`).

use std::fmt::Write as _;

use chronoxide_format::layout::PACKED_ARENA;
use chronoxide_format::view::BlockView;
use chronoxide_format::{Error, ErrorKind, Rule};

use crate::archive::archives;
use crate::broken::{Broken, broken, relaxed};
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
    let mut text = "file\trule\tclass\terror\texit\tclasses\tlevel\n".to_owned();
    let mut line = |file: String, rule: &str, class: &str, error: &str, classes: &str, level: &str| {
        let exit = match error {
            "-" => 0,
            "unsupported" => 4,
            _ => 3,
        };
        writeln!(text, "{file}\t{rule}\t{class}\t{error}\t{exit}\t{classes}\t{level}").expect("text grows");
    };
    for golden in archives().into_iter().chain(goldens()) {
        let view = BlockView::open(&golden.bytes).expect("golden blocks open");
        let classes = if view.unknown_ro_compat() == 0 { "RC" } else { "R" };
        line(format!("golden/{}.cx", golden.name), "-", "-", "-", classes, level(&golden.bytes));
    }
    for Broken { rule, name, bytes } in broken() {
        let class = rule.class().letter().to_string();
        let error = match BlockView::open(&bytes).as_ref().map_err(Error::kind) {
            Err(ErrorKind::NotABlock) => "not-a-block",
            Err(ErrorKind::Corrupt(_)) | Ok(_) => "corrupt",
            Err(_) => "unsupported",
        };
        let is_relaxed = BlockView::open(&bytes).is_ok_and(|view| view.unknown_ro_compat() != 0);
        let classes = if is_relaxed { "R" } else { "RC" };
        line(format!("broken/{name}.cx"), rule.id(), &class, error, classes, level(&bytes));
    }
    for Broken { name, bytes, .. } in relaxed() {
        line(format!("relaxed/{name}.cx"), "-", "-", "-", "R", level(&bytes));
    }
    for golden in golden_remaps() {
        line(format!("remaps/golden/{}.cxr", golden.name), "-", "-", "-", "-", "core");
    }
    for broken in broken_remaps() {
        let id = broken.rule.id();
        let error = match id {
            _ if id == Rule::Magic.id() => "not-a-remap",
            _ if [Rule::Version.id(), Rule::IncompatFeatures.id()].contains(&id) => "unsupported",
            _ => "corrupt",
        };
        line(format!("remaps/broken/{id}.cxr"), id, "-", error, "-", "core");
    }
    text
}

/// Returns the level of conformance that a file needs: that of archives if a reader without them calls it unsupported.
fn level(file: &[u8]) -> &'static str {
    let is_archive = file.get(12).is_some_and(|word| u32::from(*word) & PACKED_ARENA != 0);
    // Rules that are checked before features are.
    let before = [Rule::Magic, Rule::FileLen, Rule::HeaderChecksum, Rule::Version];
    match BlockView::open(file) {
        Err(error) if before.contains(&error.rule()) => "core",
        _ if is_archive => "archive",
        _ => "core",
    }
}
