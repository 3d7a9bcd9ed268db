//! Time of a schedule over many blocks of an object store on loopback, with a manifest and without, and of the listing
//! of keys alone, which both need.
//!
//! ```sh
//! CHRONOXIDE_BENCH_LARGE=1 cargo bench -p chronoxide-compactor --bench schedule
//! ```

use std::collections::BTreeSet;
use std::hint::black_box;

use chronoxide_compactor::CompactOptions;
use chronoxide_compactor::schedule::{Schedule, ScheduleOptions, Sizing, make};
use chronoxide_compactor::strategy::StrategyOptions;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::TimeRange;
use chronoxide_format::write::BlockMeta;
use chronoxide_locations::{Listing, Location, Manifest};
use chronoxide_object_server::{BUCKET, Server};
use chronoxide_testkit::plan::{Labelset, Plan as BlockPlan, build};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const HOUR: i64 = 3_600_000_000_000;

/// Puts hourly blocks of a few series into the bucket.
fn fill(location: &Location, count: usize) {
    for number in 0..count {
        let labels: Labelset = [("__name__", "up"), ("instance", &number.to_string())]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let start = number as i64 * HOUR;
        let time = Some(TimeRange { start, end: start + HOUR });
        let meta = BlockMeta { time, window: time, ..BlockMeta::default() };
        let bytes = build(&BTreeSet::from([labels]), &BlockPlan::default(), RowForm::BitPacked, &meta).expect("valid");
        location.create_bytes(&format!("{number:06}.cx"), &bytes).expect("created");
    }
}

fn schedule(location: &Location, manifest: &Manifest) -> Schedule {
    let listing = Listing::read_with(location, manifest, &mut |_, _| {}).expect("a listing");
    let options = ScheduleOptions::new(&CompactOptions::default(), "__name__");
    make(location.text(), &listing, &options, &StrategyOptions::default(), &Sizing::default()).expect("a schedule")
}

fn schedules(criterion: &mut Criterion) {
    let server = Server::s3s().expect("a server");
    let is_large = std::env::var_os("CHRONOXIDE_BENCH_LARGE").is_some();
    let counts: &[usize] = if is_large { &[100, 1_000, 10_000] } else { &[100] };
    let mut group = criterion.benchmark_group("schedule");
    group.sample_size(10);
    for &count in counts {
        let url = format!("s3://{BUCKET}/{count}/");
        let location = Location::open_with(&url, &Server::settings(server.endpoint())).expect("a location");
        fill(&location, count);
        let listing = Listing::read(&location).expect("a listing");
        Manifest::from_listing(&listing).write(&location).expect("written");
        let expected = schedule(&location, &Manifest::default());
        assert_eq!(expected, schedule(&location, &Manifest::read(&location).expect("a manifest")));
        assert!(expected.input_blocks().count() > count / 2);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(format!("{count} blocks, keys alone"), |bencher| {
            bencher.iter(|| black_box(location.list("", false).expect("a list")));
        });
        group.bench_function(format!("{count} blocks, manifest"), |bencher| {
            bencher.iter(|| black_box(schedule(&location, &Manifest::read(&location).expect("a manifest"))));
        });
        group.bench_function(format!("{count} blocks"), |bencher| {
            bencher.iter(|| black_box(schedule(&location, &Manifest::default())));
        });
    }
}

criterion_group!(benches, schedules);
criterion_main!(benches);
