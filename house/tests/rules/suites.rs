//! Checks that each file of tests is part of a program: cargo does not look for them where they are modules of one.

use std::path::Path;

use crate::files::{File, files};

#[test]
fn each_file_of_tests_is_built() {
    let files = files();
    let text = |path: &Path| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let is_built = |file: &File, folder: &Path| {
        let module = file.path.file_stem().unwrap_or_default().to_string_lossy();
        let own = format!("[[test]]\nname = \"{module}\"\n");
        let manifest = text(&folder.with_file_name("Cargo.toml"));
        !manifest.contains("autotests = false")
            || manifest.contains(&own)
            || text(&folder.join("suite.rs")).lines().any(|line| line == format!("mod {module};"))
    };
    let mut count = 0;
    for file in files.iter().filter(|file| file.has_ending("rs")) {
        let Some(folder) = file.path.parent().filter(|folder| folder.ends_with("tests")) else { continue };
        assert!(is_built(file, folder), "{} is not built: name it in suite.rs or Cargo.toml", file.path.display());
        count += 1;
    }
    assert!(count > 100, "{count} files");
}
