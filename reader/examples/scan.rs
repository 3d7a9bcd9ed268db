//! Reads all series of a block and counts the series of each value of one label.
//!
//! Usage: `cargo run --release --example scan -- BLOCK NAME`

use std::collections::BTreeMap;
use std::error::Error;

use chronoxide_reader::{Block, Checks, SeriesRef};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(name)) = (arguments.next(), arguments.next()) else {
        return Err("usage: scan BLOCK NAME".into());
    };

    // The whole block is read anyway: one pass over its checksums is cheaper than a check of each chunk.
    let block = Block::read(path, Checks::Eager)?;
    block.keep_paths();
    let view = block.view();
    let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
    // A resolver keeps the labels that neighbours share. It suits scans and sorted refs, of a block that keeps paths.
    let mut resolver = view.resolver();
    for series in 0..view.series_count()? {
        let Some(labels) = resolver.labels(SeriesRef(series))? else { break };
        if let Some(label) = labels.iter().find(|label| label.name == name.as_bytes()) {
            *counts.entry(label.value).or_default() += 1;
        }
    }
    for (value, count) in counts {
        println!("{count:>8} {name}={}", String::from_utf8_lossy(value));
    }
    Ok(())
}
