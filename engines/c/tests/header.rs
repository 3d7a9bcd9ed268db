//! `include/chronoxide.h` is what cbindgen makes of the sources, and every function follows the rules of the ABI.

use std::fs;
use std::path::{Path, PathBuf};

use cbindgen::{Builder, Config};

/// Sources with declarations, in the order of the header.
const SOURCES: [&str; 16] = [
    "status",
    "error",
    "version",
    "label",
    "failures",
    "blocks",
    "columns",
    "batch",
    "reader",
    "selector",
    "query",
    "selection",
    "groups",
    "rows",
    "arrow",
    "strings",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn sources() -> impl Iterator<Item = PathBuf> {
    SOURCES.iter().map(|name| root().join("src").join(name).with_extension("rs")).filter(|path| path.exists())
}

fn generated() -> String {
    let config = Config::from_file(root().join("cbindgen.toml")).expect("a valid configuration");
    let builder = sources().fold(Builder::new().with_config(config), Builder::with_src);
    let mut header = Vec::new();
    builder.generate().expect("sources that cbindgen can read").write(&mut header);
    String::from_utf8(header).expect("a header in UTF-8")
}

#[test]
fn the_header_is_what_the_sources_declare() {
    let path = root().join("include/chronoxide.h");
    let generated = generated();
    if std::env::var_os("CHRONOXIDE_WRITE_HEADER").is_some() {
        fs::write(&path, &generated).expect("a writable header");
    }
    assert!(
        read(&path) == generated,
        "{} is out of date: CHRONOXIDE_WRITE_HEADER=1 cargo test -p chronoxide-c --test header",
        path.display()
    );
}

/// Returns the names of the exported functions of the sources.
fn exported() -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("src")).expect("the sources") {
        let source = read(&entry.expect("the sources").path());
        for after in source.split("#[unsafe(no_mangle)]").skip(1) {
            let name = after.split_once("fn ").expect("a function").1;
            names.push(name.split(['(', '<']).next().expect("its name").to_owned());
        }
    }
    names
}

#[test]
fn the_header_has_every_exported_function() {
    let header = generated();
    let names = exported();
    for name in &names {
        assert!(name.starts_with("cx_"), "{name}");
        assert!(header.contains(&format!("{name}(")), "{name} is not in the header");
    }
    assert!(names.len() >= 35, "only {} functions were seen", names.len());
}

#[test]
fn a_status_comes_with_an_error() {
    let header = generated();
    let mut seen = 0;
    for declaration in header.split(";\n").filter(|text| text.contains("\ncx_status cx_")) {
        assert!(declaration.ends_with("struct cx_error *error)"), "{declaration}");
        seen += 1;
    }
    assert!(seen >= 20, "only {seen} functions were seen");
}
