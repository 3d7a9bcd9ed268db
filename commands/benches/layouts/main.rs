//! Benchmarks each layout, in bytes and in time, on every data set that is here.
//!
//! ```sh
//! cargo bench -p chronoxide-commands --bench layouts
//! CHRONOXIDE_BENCH_LARGE=1 CHRONOXIDE_BENCH_SIZES=1 cargo bench -p chronoxide-commands --bench layouts
//! ```
//!
//! First comes a table of bytes per series by section, which is also written as JSON; then times: `seal/<set>/<layout>`
//! from the store to the block, planning included, and `resolve/<set>/<order>/<layout>` from refs to every byte of
//! every label. Beside the layouts is what one would build without this project, pairs of symbol ids in memory. A name
//! as argument chooses what is measured, as with any criterion bench.
//!
//! | variable | what it does |
//! | --- | --- |
//! | `CHRONOXIDE_DATA` | where the real captures are; those that are absent are left out |
//! | `CHRONOXIDE_BENCH_LARGE` | if set, adds a million series of the generated workload |
//! | `CHRONOXIDE_BENCH_SIZES` | if set, stops after the sizes |
//! | `CHRONOXIDE_LAYOUTS_JSON` | where the sizes go, by default `target/layouts.json` |
//!
//! | module | what is in it |
//! | --- | --- |
//! | `sets` | the data sets, collected into stores once |
//! | `blocks` | the stores sealed in each layout |
//! | `sizes` | bytes by section |
//! | `times` | seconds |

mod blocks;
mod sets;
mod sizes;
mod times;

use blocks::Blocks;
use criterion::{Criterion, criterion_group, criterion_main};
use sizes::Sizes;

fn layouts(criterion: &mut Criterion) {
    let all: Vec<Blocks> = sets::all().into_iter().map(Blocks::from_set).collect();
    let sizes: Vec<Sizes<'_>> = all.iter().map(Sizes::from_blocks).collect();
    sizes::print(&sizes);
    sizes::write(&sizes);
    if std::env::var_os("CHRONOXIDE_BENCH_SIZES").is_none() {
        all.iter().for_each(|blocks| times::measure(criterion, blocks));
    }
}

criterion_group!(benches, layouts);
criterion_main!(benches);
