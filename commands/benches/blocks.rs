//! Benchmarks compactions by the number of blocks: time per block must not grow with it.
//!
//! ```sh
//! cargo bench -p chronoxide-commands --bench blocks
//! ```
//!
//! `hours`: small blocks of consecutive hours are merged in place into weeks, and their inputs are deleted. `chain`:
//! each block names the one before as its parent, so that all but the last are proved to be in it, and deleted.
//! `merged`: all blocks are inputs that an earlier run merged into one, and did not delete. First comes a table of one
//! run each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, Job, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const HOUR: i64 = 3_600_000_000_000;
const COUNTS: [usize; 3] = [100, 1_000, 10_000];

fn series(number: usize) -> Labelset {
    let labels = [("__name__", "up".to_owned()), ("host", format!("host-{number}"))];
    labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A folder of blocks that is copied by links before each run, and the most blocks that remain after it.
struct Blocks {
    name: &'static str,
    folder: tempfile::TempDir,
    count: usize,
    remain: usize,
}

impl Blocks {
    fn new(name: &'static str, count: usize, remain: usize) -> Self {
        Self { name, folder: tempfile::tempdir().expect("a folder"), count, remain }
    }

    fn write(&self, number: usize, numbers: std::ops::Range<usize>, meta: &BlockMeta) -> chronoxide_reader::BlockId {
        let series = numbers.map(series).collect();
        let bytes = build(&series, &Plan::default(), RowForm::BitPacked, meta).expect("a sound block");
        fs::write(self.folder.path().join(format!("{number:06}.cx")), &bytes).expect("the block is written");
        BlockView::open(&bytes).expect("a sound block").block_id()
    }

    fn hours(count: usize) -> Self {
        let blocks = Self::new("hours", count, count / 10);
        for number in 0..count {
            let start = number as i64 * HOUR;
            let time = Some(TimeRange { start, end: start + HOUR });
            blocks.write(
                number,
                number / 10..number / 10 + 10,
                &BlockMeta { time, window: time, ..BlockMeta::default() },
            );
        }
        blocks
    }

    fn chain(count: usize) -> Self {
        let blocks = Self::new("chain", count, 1);
        let mut parents = Vec::new();
        for number in 0..count {
            let mut id = [1; 16];
            id[..8].copy_from_slice(&(number as u64).to_be_bytes());
            let job = (number > 0).then_some(Job { id, output: 0, output_count: 1 });
            parents = vec![blocks.write(number, 0..10, &BlockMeta { job, parents, ..BlockMeta::default() })];
        }
        blocks
    }

    fn merged(count: usize) -> Self {
        let blocks = Self::new("merged", count, 1);
        let write = |number| blocks.write(number, number..number + 1, &BlockMeta::default());
        let mut parents: Vec<_> = (0..count).map(write).collect();
        parents.sort_unstable();
        let job = Some(Job { id: [1; 16], output: 0, output_count: 1 });
        blocks.write(count, 0..count, &BlockMeta { job, parents, ..BlockMeta::default() });
        blocks
    }

    fn copy(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for path in files(self.folder.path()) {
            fs::hard_link(&path, folder.path().join(path.file_name().expect("a name"))).expect("a link");
        }
        folder
    }

    fn compact(&self, folder: &Path) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
        let run = command.args(["--delete-inputs", "--quiet"]).arg(folder).output().expect("the program starts");
        assert!(run.status.success(), "{run:?}");
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}

fn by_number(criterion: &mut Criterion) {
    println!("{:>8} {:>8} {:>8} {:>12}", "blocks", "", "seconds", "ms per block");
    for count in COUNTS {
        for blocks in [Blocks::hours(count), Blocks::chain(count), Blocks::merged(count)] {
            let once = blocks.copy();
            let start = Instant::now();
            blocks.compact(once.path());
            let seconds = start.elapsed().as_secs_f64();
            println!("{count:>8} {:>8} {seconds:>8.2} {:>12.2}", blocks.name, seconds * 1e3 / count as f64);
            let is_block = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "cx");
            let left = files(once.path()).iter().filter(is_block).count();
            assert!(left <= blocks.remain, "{}: {left} blocks are left of {count}", blocks.name);
            // Each run of the largest takes seconds: the table above has one of them.
            if count > 1_000 {
                continue;
            }
            let mut group = criterion.benchmark_group(format!("blocks/{}", blocks.name));
            group.throughput(Throughput::Elements(blocks.count as u64)).sample_size(10);
            group.bench_function(count.to_string(), |bencher| {
                bencher.iter_batched(|| blocks.copy(), |folder| blocks.compact(folder.path()), BatchSize::PerIteration);
            });
        }
    }
}

criterion_group!(benches, by_number);
criterion_main!(benches);
