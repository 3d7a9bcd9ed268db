//! Runs the generated OTLP workload through a labelset store, and prints memory and time as it grows.
//!
//! ```sh
//! cargo run --release -p chronoxide-stores --example ingest_memory -- flat 1000000 > flat.csv
//! ```
//!
//! STORE is `naive`, `flat`, `keyset`, `fixed-width` or `bit-packed`. Standard output gets a sample per percent of the
//! series as CSV: seconds, data points, series, resident bytes, bytes that the store estimates and uses, nanoseconds
//! per data point since the last sample. The time is that of the store alone: generating and sorting labels does not
//! count. The sealed stores fill a keyset store and seal it at the end: one more sample, whose time is that of sealing
//! divided by all data points. Standard error gets bytes per series.

use std::env;
use std::fs;
use std::process::exit;
use std::time::{Duration, Instant};

use chronoxide_labels::{LabelSetStore, LabelSets};
use chronoxide_stores::{
    ExactBits, FlatInternedLabelSetStore, KeySetDictEncodedLabelSetStore, NaiveLabelSetStore, RowWidth,
    SealedLabelSets, WholeBytes,
};
use chronoxide_workload::{Label, Options, Workload, visit_labelsets};

/// Resident memory at which a run stops.
const MAX_RESIDENT: usize = 8 << 30;

const USAGE: &str = "usage: ingest_memory naive|flat|keyset|fixed-width|bit-packed SERIES";

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let parsed = match &arguments[..] {
        [store, series] => series
            .replace('_', "")
            .parse::<u64>()
            .ok()
            .filter(|&series| series > 0)
            .map(|series| (store.as_str(), series)),
        _ => None,
    };
    let Some((store, series)) = parsed else {
        eprintln!("{USAGE}");
        exit(2);
    };
    match store {
        "naive" => drop(run(NaiveLabelSetStore::new(), series)),
        "flat" => drop(run(FlatInternedLabelSetStore::new(), series)),
        "keyset" => drop(run(KeySetDictEncodedLabelSetStore::new(), series)),
        "fixed-width" => drop(seal::<WholeBytes>(series)),
        "bit-packed" => drop(seal::<ExactBits>(series)),
        _ => {
            eprintln!("{USAGE}");
            exit(2);
        }
    }
}

/// A filled store, and the run so far.
struct Run<S> {
    store: S,
    start: Instant,
    /// Time spent in the store.
    busy: Duration,
    points: u64,
}

/// Inserts every data point of the workload into a store.
fn run<S: LabelSetStore>(store: S, series: u64) -> Run<S> {
    let options = Options { series, ..Options::default() };
    let workload = Workload::new(options).unwrap_or_else(|error| {
        eprintln!("ingest_memory: {error}");
        exit(2);
    });
    println!("seconds,points,series,resident_bytes,estimated_bytes,used_bytes,ns_per_point");
    let step = (series / 100).max(1);
    let mut run = Run { store, start: Instant::now(), busy: Duration::ZERO, points: 0 };
    let (mut busy_before, mut points_before) = (Duration::ZERO, 0);
    for request in workload.requests() {
        // The labels of a request are collected first, so that the clock is read once per request.
        let mut owned: Vec<Vec<Label<'_>>> = Vec::new();
        visit_labelsets(&request, |labels| owned.push(labels.to_vec()));
        let points: Vec<Vec<(&str, &str)>> =
            owned.iter().map(|labels| labels.iter().map(|(name, value)| (*name, &**value)).collect()).collect();
        let started = Instant::now();
        for labels in &points {
            run.store.insert(labels).expect("the labels are valid");
        }
        run.busy += started.elapsed();
        run.points += points.len() as u64;
        let is_full = resident_bytes() > MAX_RESIDENT;
        if is_full || run.points - points_before >= step {
            sample(&run, run.busy - busy_before, run.points - points_before);
            (busy_before, points_before) = (run.busy, run.points);
        }
        if is_full {
            eprintln!("ingest_memory: stopped at {} series: more than 8 GiB are resident", run.store.len());
            break;
        }
    }
    if run.points > points_before {
        sample(&run, run.busy - busy_before, run.points - points_before);
    }
    summarize("filled", &run.store);
    run
}

fn seal<W: RowWidth>(series: u64) -> SealedLabelSets<W> {
    let Run { store, start, busy, points } = run(KeySetDictEncodedLabelSetStore::new(), series);
    let started = Instant::now();
    let (sealed, _) = SealedLabelSets::from_store(&store).expect("the store fits into a block");
    let sealing = started.elapsed();
    drop(store);
    let run = Run { store: sealed, start, busy: busy + sealing, points };
    sample(&run, sealing, points);
    summarize("sealed", &run.store);
    run.store
}

fn sample<S: LabelSets>(run: &Run<S>, busy: Duration, points: u64) {
    println!(
        "{:.3},{},{},{},{},{},{:.1}",
        run.start.elapsed().as_secs_f64(),
        run.points,
        run.store.len(),
        resident_bytes(),
        run.store.estimated_bytes(),
        run.store.used_bytes(),
        busy.as_nanos() as f64 / points.max(1) as f64,
    );
}

fn summarize(state: &str, store: &impl LabelSets) {
    let per_series = |bytes: usize| bytes as f64 / store.len().max(1) as f64;
    eprintln!(
        "{state}: {} series, {:.1} bytes per series allocated, {:.1} used, {:.1} resident",
        store.len(),
        per_series(store.estimated_bytes()),
        per_series(store.used_bytes()),
        per_series(resident_bytes()),
    );
}

/// Returns the resident memory of this process, or 0 where the system does not tell.
fn resident_bytes() -> usize {
    let Ok(status) = fs::read_to_string("/proc/self/status") else {
        return 0;
    };
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok());
    kib.unwrap_or(0) * 1024
}
