//! Checks that each file of tests is part of a program: cargo does not look for them where they are modules of one.

use std::path::{Path, PathBuf};

use crate::files::{File, files};

/// Returns the file that must name a file of tests as a module, or `None` if cargo finds it by itself.
fn program(file: &File, text: impl Fn(&Path) -> String) -> Option<PathBuf> {
    let folder = file.path.parent()?;
    let module = file.path.file_stem()?.to_string_lossy();
    if folder.ends_with("tests") {
        let manifest = text(&folder.with_file_name("Cargo.toml"));
        let own = format!("[[test]]\nname = \"{module}\"\n");
        return (manifest.contains("autotests = false") && !manifest.contains(&own)).then(|| folder.join("suite.rs"));
    }
    let main = folder.join("main.rs");
    (module != "main" && !text(&main).is_empty()).then_some(main)
}

#[test]
fn each_file_of_tests_is_built() {
    let files = files();
    let text =
        |path: &Path| files.iter().find(|file| file.path == path).map_or(String::new(), |file| file.text.clone());
    let is_test = |file: &&File| {
        file.has_ending("rs") && file.path.ancestors().skip(1).take(2).any(|folder| folder.ends_with("tests"))
    };
    let mut count = 0;
    for file in files.iter().filter(is_test) {
        count += 1;
        let Some(program) = program(file, text) else { continue };
        let module = format!("mod {};", file.path.file_stem().unwrap_or_default().to_string_lossy());
        let is_built = text(&program).lines().any(|line| line == module);
        assert!(is_built, "{} is not built: name it in {}", file.path.display(), program.display());
    }
    assert!(count > 150, "{count} files");
}
