//! `chronoxide-goldens`: makes the golden and the broken files. It overwrites nothing.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chronoxide_cli::{Exit, Failure, HasExit, run};
use chronoxide_format::view::BlockView;
use chronoxide_inspect::dump::dump;
use chronoxide_testdata::archive::archives;
use chronoxide_testdata::broken::broken;
use chronoxide_testdata::golden::goldens;
use chronoxide_testdata::manifest::{MANIFEST, manifest};
use chronoxide_testdata::remap::broken::broken_remaps;
use chronoxide_testdata::remap::golden::golden_remaps;

/// Makes the golden and the broken blocks and remaps of the format, and the manifest of their verdicts
///
/// Existing files are not changed: to change a golden file, delete it and make it again, in a separate commit.
#[derive(clap::Parser)]
#[command(name = "chronoxide-goldens", version)]
struct Arguments {
    /// Folder in which `golden/` and `broken/` are, and both again in `remaps/`
    #[arg(default_value = "testdata")]
    folder: PathBuf,
}

fn main() -> ExitCode {
    run(make)
}

fn make(arguments: Arguments) -> Result<Exit, Failure> {
    let (golden_folder, broken_folder) = (arguments.folder.join("golden"), arguments.folder.join("broken"));
    let remap_folders = ["remaps/golden", "remaps/broken"].map(|folder| arguments.folder.join(folder));
    for folder in remap_folders.iter().chain([&golden_folder, &broken_folder]) {
        std::fs::create_dir_all(folder)?;
    }
    for golden in archives().into_iter().chain(goldens()) {
        let mut arena = Vec::new();
        let view = BlockView::open_unpacked(&golden.bytes, &mut arena);
        let view = view.map_err(|error| Failure::new(error.exit(), error))?;
        let mut text = Vec::new();
        dump(&view, None, &mut text)?;
        create(&golden_folder.join(golden.name).with_extension("cx"), &golden.bytes)?;
        create(&golden_folder.join(golden.name).with_extension("txt"), &text)?;
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
    create(&arguments.folder.join(MANIFEST), manifest().as_bytes())?;
    Ok(Exit::Ok)
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
