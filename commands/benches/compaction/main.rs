//! Benchmarks merging blocks: time by phase, memory, and how both grow.
//!
//! ```sh
//! cargo bench -p chronoxide-commands --bench compaction
//! CHRONOXIDE_BENCH_LARGE=1 cargo bench -p chronoxide-commands --bench compaction
//! ```
//!
//! Each merge turns eight blocks into one. In the cut `windows`, they are consecutive windows of the generated
//! workload, in which 5% of the pods are replaced each time. In the cut `random`, distinct series are spread over
//! blocks at random, which tears every list apart. A merge verifies its inputs in memory, writes its output to a file,
//! syncs it, maps it again and verifies it. First comes a table of one merge each, then `merge/<cut>/<layout>/<series
//! in>`. The baseline, `store`, is what one would write without a compactor: every series resolved, inserted into a
//! store, and the store sealed.
//!
//! | variable | what it does |
//! | --- | --- |
//! | `CHRONOXIDE_BENCH_LARGE` | if set, goes on to 8 and 10 million input series |
//! | `CHRONOXIDE_BENCH_TABLE` | if set, stops after the table |
//!
//! | module | what is in it |
//! | --- | --- |
//! | `inputs` | blocks of windows, and blocks cut at random |
//! | `merge` | one merge, and the baseline |
//! | `table` | phases and memory of one merge each |

mod inputs;
mod merge;
mod table;

use std::time::Duration;

use chronoxide_planner::Layout;
use chronoxide_testkit::allocation::Counting;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use inputs::Inputs;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LAYOUTS: [Layout; 2] = [Layout::Factored, Layout::BitPacked];

/// Series of each of the eight blocks.
fn sizes() -> Vec<u64> {
    let large = std::env::var_os("CHRONOXIDE_BENCH_LARGE").is_some();
    [12_500, 125_000].into_iter().chain(large.then_some([1_000_000, 1_250_000]).into_iter().flatten()).collect()
}

fn compaction(criterion: &mut Criterion) {
    let all: Vec<Inputs> =
        sizes().into_iter().flat_map(|series| LAYOUTS.map(|layout| inputs::all(series, layout))).flatten().collect();
    table::print(&all);
    if std::env::var_os("CHRONOXIDE_BENCH_TABLE").is_some() {
        return;
    }
    for inputs in &all {
        let mut group = criterion.benchmark_group(format!("merge/{}/{}", inputs.cut, inputs.layout.name()));
        group.throughput(Throughput::Elements(inputs.series_in));
        group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
        group.bench_function(inputs.series_in.to_string(), |bencher| bencher.iter(|| merge::merge(inputs)));
        if inputs.series_in <= 100_000 {
            group
                .bench_function(format!("{}/store", inputs.series_in), |bencher| bencher.iter(|| merge::store(inputs)));
        }
        group.finish();
    }
}

criterion_group!(benches, compaction);
criterion_main!(benches);
