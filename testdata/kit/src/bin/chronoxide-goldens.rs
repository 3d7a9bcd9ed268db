//! `chronoxide-goldens [FOLDER]`: makes the golden and the broken blocks and remaps, and the manifest of their
//! verdicts, in `golden/`, `broken/`, `relaxed/` and `remaps/` of the folder (`testdata` by default).
//!
//! Existing files are not changed: to change a golden file, delete it and make it again, in a separate commit. Nothing
//! is written below `testdata/frozen`, whose files never change (COMPATIBILITY.md).

use std::error::Error;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chronoxide_dump::dump;
use chronoxide_format::view::BlockView;
use chronoxide_testkit::archive::archives;
use chronoxide_testkit::broken::{broken, relaxed};
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::manifest::{MANIFEST, manifest};
use chronoxide_testkit::remap::broken::broken_remaps;
use chronoxide_testkit::remap::golden::golden_remaps;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "testdata".into()));
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("../frozen").canonicalize()?;
    let existing = std::path::absolute(&folder)?;
    let existing = existing.ancestors().find_map(|folder| folder.canonicalize().ok());
    if existing.is_some_and(|folder| folder.starts_with(&frozen)) {
        return Err(format!("{}: frozen files are not made again", folder.display()).into());
    }
    let [golden_folder, broken_folder, relaxed_folder] = ["golden", "broken", "relaxed"].map(|name| folder.join(name));
    let remap_folders = ["remaps/golden", "remaps/broken"].map(|name| folder.join(name));
    for folder in remap_folders.iter().chain([&golden_folder, &broken_folder, &relaxed_folder]) {
        std::fs::create_dir_all(folder)?;
    }
    for golden in archives().into_iter().chain(goldens()) {
        create_dumped(&golden_folder.join(golden.name), &golden.bytes)?;
    }
    for relaxed in relaxed() {
        create_dumped(&relaxed_folder.join(&relaxed.name), &relaxed.bytes)?;
    }
    for broken in broken() {
        create(&broken_folder.join(&broken.name).with_extension("cx"), &broken.bytes)?;
    }
    for golden in golden_remaps() {
        create(&remap_folders[0].join(golden.name).with_extension("cxr"), &golden.bytes)?;
        create(&remap_folders[0].join(golden.name).with_extension("txt"), golden.text.as_bytes())?;
    }
    for broken in broken_remaps() {
        create(&remap_folders[1].join(broken.rule.id()).with_extension("cxr"), &broken.bytes)?;
    }
    create(&folder.join(MANIFEST), manifest().as_bytes())?;
    Ok(())
}

/// Creates a block and its dump.
fn create_dumped(path: &Path, block: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut content = Vec::new();
    let view = BlockView::open_unpacked(block, &mut content)?;
    let mut text = Vec::new();
    dump(&view, None, &mut text)?;
    create(&path.with_extension("cx"), block)?;
    create(&path.with_extension("txt"), &text)?;
    Ok(())
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(bytes),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            eprintln!("{}: exists, not changed", path.display());
            Ok(())
        }
        Err(error) => Err(error),
    }
}
