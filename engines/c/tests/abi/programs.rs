//! The test programs of `tests/c`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use blocks::{BlockWriter, ColumnMerge, ValueType};
use chronoxide_reader::{Block, Checks};

use crate::installed::{Linkage, installed, run, stdout};
use crate::{goldens, repository};

fn golden() -> PathBuf {
    repository("testdata/golden/plain-bitpacked.cx")
}

/// Runs a program with some arguments, and returns its standard output.
#[track_caller]
fn output_of(program: &std::path::Path, arguments: &[impl AsRef<std::ffi::OsStr>]) -> Vec<u8> {
    stdout(&Command::new(program), installed().run(program, arguments))
}

#[test]
fn every_function_works_and_refuses_wrong_arguments() {
    for linkage in [Linkage::Shared, Linkage::Static] {
        let Some(program) = installed().compile("tests/c/api.c", linkage) else { return };
        let folder = tempfile::tempdir().unwrap();
        fs::copy(golden(), folder.path().join("sound.cx")).unwrap();
        fs::copy(repository("testdata/golden/read-only.cx"), folder.path().join("same.cx")).unwrap();
        fs::write(folder.path().join("broken.cx"), "not a block").unwrap();
        output_of(&program, &[golden(), folder.path().to_owned()]);
    }
}

/// Writes a block with a column `value`.
fn write_value(path: &Path, value_type: ValueType) {
    let mut writer = BlockWriter::new();
    writer.add_column("value", value_type, ColumnMerge::Max).unwrap();
    writer.insert([("__name__", value_type.name())]).unwrap();
    writer.finish(path).unwrap();
}

#[test]
fn values_of_columns_are_those_of_the_dumps() {
    for linkage in [Linkage::Shared, Linkage::Static] {
        let Some(program) = installed().compile("tests/c/columns.c", linkage) else { return };
        let folder = tempfile::tempdir().unwrap();
        let [both, different] = ["both", "different"].map(|name| folder.path().join(name));
        for folder in [&both, &different] {
            fs::create_dir(folder).unwrap();
        }
        let golden = |name: &str| repository("testdata/golden").join(name);
        fs::copy(golden("columns.cx"), both.join("columns.cx")).unwrap();
        fs::copy(golden("planned-small.cx"), both.join("plain.cx")).unwrap();
        write_value(&different.join("a.cx"), ValueType::I64);
        write_value(&different.join("b.cx"), ValueType::U64);
        // Behind the first 8 KiB, which have all that opening reads, and in the last column.
        let mut bytes = fs::read(golden("columns-groups.cx")).unwrap();
        bytes[14_000] ^= 0xff;
        let damaged = folder.path().join("damaged.cx");
        fs::write(&damaged, bytes).unwrap();
        output_of(&program, &[golden("columns.cx"), both, damaged, different]);
    }
}

/// Returns the labels of all series of a block, as `tests/c/dump.c` prints them.
fn dump(path: &std::path::Path) -> Vec<u8> {
    let block = Block::read(path, Checks::Eager).unwrap();
    let view = block.view();
    let mut text = Vec::new();
    for series in view.series_iter() {
        let series = series.unwrap();
        text.extend_from_slice(format!("{}\n", series.label_count()).as_bytes());
        for label in series.labels() {
            let label = label.unwrap();
            text.extend_from_slice(format!("{} {} ", label.name.len(), label.value.len()).as_bytes());
            text.extend_from_slice(label.name);
            text.extend_from_slice(label.value);
            text.push(b'\n');
        }
    }
    text
}

#[test]
fn labels_are_those_of_the_reader() {
    let Some(program) = installed().compile("tests/c/dump.c", Linkage::Shared) else { return };
    for path in goldens() {
        assert!(output_of(&program, &[&path]) == dump(&path), "{}", path.display());
    }
}

/// Lines that `tests/c/arrow.c` prints for a block: columns of all labels, and of two labels without dictionaries.
fn columns(path: &std::path::Path) -> String {
    let block = Block::read(path, Checks::Eager).unwrap();
    let names: Vec<String> =
        block.view().label_names().map(|name| String::from_utf8(name.unwrap().to_vec()).unwrap()).collect();
    // Names of Arrow's C interface end at a NUL, which is shown instead.
    let all: String = names.iter().map(|name| format!("{} I of vu\n", name.replace('\0', "\u{2400}"))).collect();
    format!("series_ref L\n{all}series_ref L\njob vu\nno such label vu\nblock vu\nseries_ref L\nlabels +m\n")
}

#[test]
fn streams_of_arrow_have_all_columns_and_outlive_the_block() {
    for linkage in [Linkage::Shared, Linkage::Static] {
        let Some(program) = installed().compile("tests/c/arrow.c", linkage) else { return };
        for path in goldens() {
            let found = String::from_utf8(output_of(&program, &[&path])).unwrap();
            assert_eq!(found, columns(&path), "{}", path.display());
        }
    }
}

#[test]
fn damaged_blocks_give_errors_and_crash_nothing() {
    let Some(program) = installed().compile("tests/c/damage.c", Linkage::Shared) else { return };
    let manifest = fs::read_to_string(repository("testdata/manifest.tsv")).unwrap();
    let mut arguments = Vec::new();
    for line in manifest.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        if let [file, _, _, _, exit, ..] = fields[..]
            && file.ends_with(".cx")
        {
            arguments.push(exit.to_owned());
            arguments.push(repository("testdata").join(file).display().to_string());
        }
    }
    let blocks = arguments.len() / 2;
    assert!(blocks >= 100, "only {blocks} blocks");
    let text = String::from_utf8(output_of(&program, &arguments)).unwrap();
    println!("{text}");
    assert!(text.starts_with(&format!("{blocks} blocks, ")), "{text}");
}

#[test]
fn a_flipped_byte_gives_errors_and_crashes_nothing() {
    let Some(program) = installed().compile("tests/c/damage.c", Linkage::Shared) else { return };
    let folder = tempfile::tempdir().unwrap();
    let sound = fs::read(repository("testdata/golden/planned-small.cx")).unwrap();
    let mut arguments = Vec::new();
    for place in 0..sound.len() {
        let mut damaged = sound.clone();
        damaged[place] ^= 0xff;
        let path = folder.path().join(format!("{place}.cx"));
        fs::write(&path, damaged).unwrap();
        arguments.extend(["-1".to_owned(), path.display().to_string()]);
    }
    let text = String::from_utf8(output_of(&program, &arguments)).unwrap();
    println!("{text}");
    assert!(text.starts_with(&format!("{} blocks, ", sound.len())), "{text}");
}

#[test]
fn threads_share_handles() {
    let Some(program) = installed().compile("tests/c/threads.c", Linkage::Shared) else { return };
    output_of(&program, &[repository("testdata/golden/planned-small.cx")]);
}

#[test]
fn the_header_is_valid_in_cpp() {
    let header = repository("engines/c/include/chronoxide.h");
    let mut command = Command::new("c++");
    command.args(["-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-x", "c++"]).arg(header);
    if let Some(output) = run(&mut command) {
        stdout(&command, output);
    }
}

#[test]
fn the_shared_library_exports_nothing_else() {
    let mut command = Command::new("nm");
    command.args(["-D", "--defined-only"]).arg(installed().library());
    let Some(output) = run(&mut command) else { return };
    let text = String::from_utf8(stdout(&command, output)).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next_back()).collect();
    assert!(names.len() >= 35 && names.iter().all(|name| name.starts_with("cx_")), "{names:?}");
}
