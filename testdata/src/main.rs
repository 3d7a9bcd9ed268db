//! `chronoxide-goldens`: makes the golden and the broken files. It overwrites nothing.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chronoxide_cli::{Exit, Failure, HasExit, run};
use chronoxide_format::view::BlockView;
use chronoxide_inspect::dump::dump;
use chronoxide_testdata::broken::broken;
use chronoxide_testdata::golden::goldens;

/// Makes the golden and the broken blocks of the format
///
/// Files that exist are left alone, whatever is in them: a golden file changes only by being deleted and made again, in a commit of its own.
#[derive(clap::Parser)]
#[command(name = "chronoxide-goldens", version)]
struct Arguments {
    /// Folder in which `golden/` and `broken/` are
    #[arg(default_value = "testdata")]
    folder: PathBuf,
}

fn main() -> ExitCode {
    run(make)
}

fn make(arguments: Arguments) -> Result<Exit, Failure> {
    let (golden_folder, broken_folder) = (arguments.folder.join("golden"), arguments.folder.join("broken"));
    std::fs::create_dir_all(&golden_folder)?;
    std::fs::create_dir_all(&broken_folder)?;
    for golden in goldens() {
        let view = BlockView::open(&golden.bytes).map_err(|error| Failure::new(error.exit(), error))?;
        let mut text = Vec::new();
        dump(&view, None, &mut text)?;
        create(&golden_folder.join(golden.name).with_extension("cx"), &golden.bytes)?;
        create(&golden_folder.join(golden.name).with_extension("txt"), &text)?;
    }
    for broken in broken() {
        create(&broken_folder.join(broken.rule.id()).with_extension("cx"), &broken.bytes)?;
    }
    Ok(Exit::Ok)
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(bytes),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            eprintln!("{}: exists, left alone", path.display());
            Ok(())
        }
        Err(error) => Err(error),
    }
}
