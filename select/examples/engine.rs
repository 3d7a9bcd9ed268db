//! The loop of a query engine: selects series of all blocks of a folder, groups them by a label, and sums a column that
//! the engine keeps per series ref.
//!
//! Usage: `cargo run --release --example engine -- FOLDER SELECTOR LABEL`

use std::error::Error;
use std::time::Duration;

use chronoxide_reader::Checks;
use chronoxide_select::{BlockSet, Labels, Limits, Partial, Selector};

/// A column of an engine: one number per series of a block, by ref. A real one comes from the engine's own files.
fn column(series_count: u32) -> Vec<u64> {
    (0..u64::from(series_count)).map(|series| series % 10).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, selector, label] = &arguments[..] else {
        return Err("usage: engine FOLDER SELECTOR LABEL".into());
    };
    let selector = Selector::parse_any(selector)?;
    let set = BlockSet::read(folder, Checks::Lazy)?;
    for (_, error) in set.unreadable() {
        eprintln!("warning: {error}");
    }
    let limits = Limits::default().with_max_series(5_000_000).with_timeout(Duration::from_secs(10));
    let query = set.query().with_limits(limits);

    let selection = query.select(selector.matchers())?;
    let Partial { found: groups, failed, .. } = query.group(&selection, Labels::By(&[label.as_str()]))?;
    for error in selection.failed().iter().chain(&failed) {
        eprintln!("warning: {error}");
    }
    let mut sums = vec![0_u64; groups.labels().len()];
    for selected in selection.blocks() {
        let column = column(set.blocks()[selected.block].block().view().series_count()?);
        for (series, &group) in selected.series.iter().zip(groups.numbers(selected.block)) {
            sums[group as usize] += column[series.0 as usize];
        }
    }
    for (labels, sum) in groups.labels().iter().zip(sums) {
        let value = labels.first().map_or("".into(), |label| String::from_utf8_lossy(label.value));
        println!("{value}\t{sum}");
    }
    Ok(())
}
