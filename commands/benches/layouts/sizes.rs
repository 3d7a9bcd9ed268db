//! Bytes of blocks by section, as a table and as JSON.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use chronoxide_format::layout::SectionKind;
use chronoxide_format::view::BlockView;
use chronoxide_labels::Layout;
use serde::Serialize;

use crate::blocks::Blocks;

/// Header and directory.
const FRAME: &str = "frame";
/// Checksums.
const CHECKS: &str = "checks";

/// The size of each block of a data set.
#[derive(Serialize)]
pub struct Sizes<'a> {
    set: &'a str,
    series: u32,
    /// Labels of all series together.
    labels: u64,
    layouts: Vec<LayoutSizes>,
}

#[derive(Serialize)]
struct LayoutSizes {
    layout: &'static str,
    /// Bytes of the whole block.
    bytes: usize,
    sections: BTreeMap<&'static str, usize>,
}

impl<'a> Sizes<'a> {
    pub fn from_blocks(blocks: &'a Blocks) -> Self {
        let view = BlockView::open(&blocks.of_layouts[0].1).expect("sound");
        let sizes = |(layout, block): &(Layout, Vec<u8>)| LayoutSizes {
            layout: layout.name(),
            bytes: block.len(),
            sections: sections(block),
        };
        Self {
            set: &blocks.set.name,
            series: blocks.series,
            labels: view.meta().expect("sound").label_count(),
            layouts: blocks.of_layouts.iter().map(sizes).collect(),
        }
    }
}

/// Bytes of each part of a block.
fn sections(block: &[u8]) -> BTreeMap<&'static str, usize> {
    let view = BlockView::open(block).expect("sound");
    let mut sections: BTreeMap<&str, usize> = BTreeMap::new();
    for section in view.sections() {
        *sections.entry(section.known().expect("a section of this version").name()).or_default() +=
            section.length as usize;
    }
    sections.insert(CHECKS, view.checks_len() as usize);
    let in_sections: usize = sections.values().sum();
    sections.insert(FRAME, block.len() - in_sections);
    sections
}

/// Prints bytes per series.
pub fn print(all: &[Sizes<'_>]) {
    let parts: Vec<&str> =
        [FRAME].into_iter().chain(SectionKind::REQUIRED.map(SectionKind::name)).chain([CHECKS]).collect();
    print!("bytes per series   {:>9} {:>6} {:<9}", "series", "labels", "layout");
    parts.iter().for_each(|part| print!(" {part:>9}"));
    println!(" {:>9}", "total");
    for Sizes { set, series, labels, layouts } in all {
        let per_series = |count: f64| count / f64::from(*series);
        for sizes in layouts {
            print!("{set:<16} {series:>9} {:>6.1} {:<9}", per_series(*labels as f64), sizes.layout);
            for part in &parts {
                print!(" {:>9.3}", per_series(sizes.sections[part] as f64));
            }
            println!(" {:>9.3}", per_series(sizes.bytes as f64));
        }
    }
}

/// Writes the same, in bytes, to the file that `CHRONOXIDE_LAYOUTS_JSON` names, or else to `layouts.json` in cargo's
/// target folder.
pub fn write(all: &[Sizes<'_>]) {
    let target = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("layouts.json");
    let path = std::env::var_os("CHRONOXIDE_LAYOUTS_JSON").map_or_else(target, PathBuf::from);
    let text = serde_json::to_string_pretty(all).expect("names and numbers");
    fs::write(&path, text + "\n").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    println!("written to {}", path.display());
}
