//! Text files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// Endings of names of files that people write.
const ENDINGS: [&str; 6] = [".rs", ".md", ".py", ".sh", ".toml", ".go"];

/// A text file of the repository.
pub struct File {
    /// Path below the root.
    pub path: PathBuf,
    pub text: String,
}

impl File {
    /// Returns true if the name ends with `.` and `ending`.
    pub fn has_ending(&self, ending: &str) -> bool {
        self.path.extension().is_some_and(|extension| extension == ending)
    }
}

/// Returns the text files of the repository in order of their paths, without build output.
pub fn files() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the workspace");
    let mut files = Vec::new();
    find_files(root, root, &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(files.len() > 400, "{} files", files.len());
    files
}

fn find_files(root: &Path, folder: &Path, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && name != "node_modules" && !name.starts_with('.') {
                find_files(root, &path, files);
            }
        } else if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let path = path.strip_prefix(root).expect("the path is below the root").to_owned();
            files.push(File { path, text });
        }
    }
}
