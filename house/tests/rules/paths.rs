//! Checks that documents and comments name files that exist: files move, and sentences about them do not.

use std::path::Path;

use regex::Regex;

use crate::files::files;

/// A path below a folder of the repository, of a file that people write.
const PATH: &str = r"(?x)
    (?:^|[\s`(\[])((?:commands|compactor|bench|deploy|docs|dump|engines|format|fuzz|house|ingest|inspect|labels|planner
    |publish|reader|select|spec|store|stores|testdata|text)/[\w./-]*\w\.(?:rs|md|py|sh|toml|mjs))\b";

#[test]
fn files_that_documents_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pattern = Regex::new(PATH).unwrap();
    let (mut count, mut missing) = (0, Vec::new());
    for file in files().iter().filter(|file| file.has_ending("md") || file.has_ending("rs")) {
        for (number, line) in (1..).zip(file.text.lines()) {
            // In sources, comments alone.
            if file.has_ending("rs") && !line.trim_start().starts_with("//") {
                continue;
            }
            for found in pattern.captures_iter(line) {
                count += 1;
                // In a document of a folder, a path may be relative to it.
                let folder = root.join(&file.path);
                let is_there = root.join(&found[1]).exists()
                    || folder.ancestors().skip(1).take(3).any(|folder| folder.join(&found[1]).exists());
                if !is_there {
                    missing.push(format!("{}:{number}: {}", file.path.display(), &found[1]));
                }
            }
        }
    }
    assert!(count > 150, "only {count} paths");
    assert!(missing.is_empty(), "{} paths lead nowhere:\n{}", missing.len(), missing.join("\n"));
}
