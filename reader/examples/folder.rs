//! Lists the live blocks of a folder, with their series, and the blocks that are skipped.
//!
//! Usage: `cargo run --example folder -- FOLDER`

use std::error::Error;

use chronoxide_reader::{Checks, Folder};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: folder FOLDER")?;

    // After a compaction, inputs and outputs may be there at once. A folder chooses blocks so that each series counts
    // once.
    let folder = Folder::read(path, Checks::Lazy)?;
    let mut total = 0;
    for entry in folder.live() {
        let block = entry.block();
        let count = block.view().series_count().map_err(|error| block.locate(error))?;
        println!("{}: {count} series", entry.path().display());
        total += u64::from(count);
    }
    println!("{total} series in {} blocks", folder.live().len());
    for hidden in folder.hidden() {
        println!("hidden: {} ({})", hidden.path.display(), hidden.reason);
    }
    for (path, error) in folder.unreadable() {
        println!("unreadable: {}: {error}", path.display());
    }
    Ok(())
}
