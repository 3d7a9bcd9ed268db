//! Follows series of a block through a compaction to their refs in its outputs.
//!
//! An engine that stores samples by series ref needs only this after a compaction: no label is read.
//!
//! Usage: `cargo run --example follow -- REMAP REF...`

use std::error::Error;

use chronoxide_reader::{Checks, Remap, SeriesRef};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: follow REMAP REF...")?;

    let remap = Remap::read(path, Checks::Lazy)?;
    let view = remap.view();
    println!("block {}: {} series", view.input_id(), view.series_count()?);
    for text in arguments {
        let series = SeriesRef(text.parse()?);
        match view.get(series)? {
            Some(target) => {
                let (block, _) = view.output(target.output).expect("targets are series of outputs");
                println!("series {series} is now series {} of block {block}", target.series);
            }
            None => println!("series {series} was dropped or never existed"),
        }
    }
    Ok(())
}
