//! Finds one series by its labels and prints them.
//!
//! Usage: `cargo run --example lookup -- BLOCK NAME=VALUE...`

use std::error::Error;

use chronoxide_reader::{Block, Checks};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: lookup BLOCK NAME=VALUE...")?;
    let labels: Vec<(String, String)> = arguments
        .map(|label| label.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect::<Option<_>>()
        .ok_or("labels are written NAME=VALUE")?;

    // Lazy: the checksum of a chunk is checked when the chunk is first read.
    let block = Block::read(path, Checks::Lazy)?;
    let view = block.view();
    // All labels are needed: a block has at most one series with exactly these.
    let Some(found) = view.find(labels)? else {
        println!("no such series");
        return Ok(());
    };
    let series = view.series(found)?.expect("the block has the series that it found");
    println!("series {found}");
    for label in view.text()?.labels(&series) {
        let label = label?;
        println!("  {}={}", label.name, label.value);
    }
    Ok(())
}
