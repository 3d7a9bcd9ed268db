//! The files of version 1 do not change, and mean what they meant (COMPATIBILITY.md).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use chronoxide_dump::dump;
use chronoxide_format::SeriesRef;
use chronoxide_format::view::BlockView;
use chronoxide_testkit::requirement::skip_or_fail;
use sha2::{Digest, Sha256};

use crate::agreement::error_name;
use crate::root;

/// Sum of the list of sums of version 1, here and in the text: a change takes both.
const SUM_OF_1: &str = "3fb5c269ebb0b86d8a08fc8e3a1c8813452afa374b401541cceb196f1d4800a0";

/// Name of the list of sums in a folder.
const SUMS: &str = "SHA256SUMS";

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the sum of each file below a folder that is not itself a list, by its path there.
fn sums_below(folder: &Path) -> BTreeMap<String, String> {
    let mut sums = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().unwrap() != SUMS {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                sums.insert(name, sum(&fs::read(&path).unwrap()));
            }
        }
    }
    sums
}

/// Returns the list of sums of a folder, in the form that sha256sum reads.
fn listed(folder: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(folder.join(SUMS)).unwrap();
    let line = |line: &str| line.split_once("  ").map(|(sum, name)| (name.to_owned(), sum.to_owned())).unwrap();
    text.lines().map(line).collect()
}

/// Returns the folders of frozen files.
fn frozen() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(root().join("testdata/frozen")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

#[test]
fn no_frozen_file_has_changed_left_or_joined() {
    let text = fs::read_to_string(root().join("spec/COMPATIBILITY.md")).unwrap();
    let is_sum = |line: &&str| line.len() == 64 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    let stated: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("    ")).filter(is_sum).collect();
    let found = frozen().into_iter().map(|folder| {
        assert_eq!(sums_below(&folder), listed(&folder), "{}", folder.display());
        sum(&fs::read(folder.join(SUMS)).unwrap())
    });
    let found: Vec<String> = found.collect();
    assert_eq!((found.iter().map(String::as_str).collect::<Vec<_>>(), stated[0]), (stated, SUM_OF_1));
}

#[test]
fn texts_have_the_sums_that_are_listed() {
    let spec = root().join("spec");
    let mut texts = sums_below(&spec);
    texts.retain(|name, _| !name.contains('/') && (name.ends_with(".md") || name.ends_with(".magic")));
    assert_eq!(
        texts,
        listed(&spec),
        "an erratum has an entry with its date in the changes of its text; then (cd spec && sha256sum *.md *.magic >SHA256SUMS)"
    );
}

#[test]
fn frozen_files_are_read_and_refused_as_their_manifest_says() {
    for folder in frozen() {
        let manifest = fs::read_to_string(folder.join("manifest.tsv")).unwrap();
        let mut judged = 0;
        for line in manifest.lines().skip(1) {
            let [file, rule, _, error, ..] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let path = folder.join(file);
            let bytes = fs::read(&path).unwrap();
            let mut content = Vec::new();
            let opened = BlockView::open_unpacked(&bytes, &mut content);
            let verified = opened.and_then(|view| view.verify().map(|_| view));
            judged += 1;
            match verified {
                Ok(view) => {
                    assert_eq!(rule, "-", "{file} is sound");
                    assert_reads_as_dumped(&view, &path.with_extension("txt"));
                }
                Err(found) => assert_eq!((found.rule().id(), error_name(&found)), (rule, error), "{file}"),
            }
        }
        assert!(judged > 0);
    }
}

/// Asserts that a block has its dump, and that each series is found at its own ref.
fn assert_reads_as_dumped(view: &BlockView<'_>, path: &Path) {
    let mut text = Vec::new();
    dump(view, None, &mut text).unwrap();
    assert!(text == fs::read(path).unwrap(), "the dump differs from {}", path.display());
    for series in (0..view.series_count().unwrap()).map(SeriesRef) {
        let labels = view.series(series).unwrap().unwrap();
        let labels: Vec<_> = labels.labels().map(|label| label.unwrap()).collect();
        let labels = labels.iter().map(|label| (label.name, label.value));
        assert_eq!(view.find(labels), Ok(Some(series)), "{}", path.display());
    }
}

/// The kit for authors of readers, packed and unpacked once.
pub(crate) fn kit() -> &'static Path {
    static KIT: OnceLock<PathBuf> = OnceLock::new();
    KIT.get_or_init(|| unpacked_kit("kit"))
}

/// Packs the kit for authors of readers, and unpacks it again in an empty folder.
fn unpacked_kit(test: &str) -> PathBuf {
    let folder = crate::empty_folder(test);
    let kit = folder.join("kit.tar.gz");
    let run = |command: &mut Command| {
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    run(Command::new("sh").arg(root().join("spec/kit.sh")).arg(&kit));
    run(Command::new("tar").arg("-xzf").arg(&kit).arg("-C").arg(&folder));
    folder.join("chronoxide-kit-1.0")
}

#[test]
fn the_kit_is_the_same_twice_and_has_all_that_it_names() {
    let kit = kit();
    let packed = [kit, &unpacked_kit("kit-again")].map(|kit| fs::read(kit.with_file_name("kit.tar.gz")).unwrap());
    assert!(packed[0] == packed[1], "two kits differ");
    let files = sums_below(kit);
    let readme = fs::read_to_string(kit.join("README.md")).unwrap();
    assert_eq!(readme, fs::read_to_string(root().join("spec/KIT.md")).unwrap());
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "spec/registration/registry.tsv", "spec/registration/media-type.txt"]
    {
        assert!(files.contains_key(name), "{name}");
    }
    // Links of Markdown lead somewhere, in the kit alone.
    for text in files.keys().filter(|name| name.ends_with(".md") && *name != "README.md") {
        let content = fs::read_to_string(kit.join(text)).unwrap();
        for link in content.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let folder = kit.join(text).parent().unwrap().to_owned();
            assert!(link.is_empty() || folder.join(link).exists(), "{text} leads to {link}");
        }
    }
}

#[test]
fn the_kit_has_the_texts_and_files_with_their_sums() {
    for part in ["spec", "testdata/frozen/1"] {
        let folder = kit().join(part);
        match Command::new("sha256sum").args(["--check", "--quiet", SUMS]).current_dir(&folder).output() {
            Ok(checked) => assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout)),
            Err(error) => skip_or_fail("sha256sum", error),
        }
    }
}
