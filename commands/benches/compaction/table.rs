//! Phases and memory of one merge each.

use std::sync::atomic::{AtomicU64, Ordering};

use chronoxide_compactor::{Observer, Phase};
use chronoxide_testkit::allocation::{live_of_process, measure_process};

use crate::inputs::Inputs;
use crate::merge;

/// Sees how much is held when rows begin to be merged: symbols, dictionaries, shared tables and lists.
#[derive(Default)]
struct Held(AtomicU64);

impl Observer for Held {
    fn progress(&self, phase: Phase, done: u64, _of: u64) -> bool {
        if phase == Phase::Rows && done == 0 {
            self.0.store(live_of_process(), Ordering::Relaxed);
        }
        true
    }
}

pub fn print(all: &[Inputs]) {
    println!(
        "{:<9} {:<9} {:>10} {:>10} {:>12} {:>6} {:>6} {:>6}  {:>6} {:>6} {:>6} {:>6} {:>6}  {:>8} {:>8}",
        "cut",
        "layout",
        "series in",
        "out",
        "series/s",
        "B in",
        "B out",
        "s",
        "verify",
        "tables",
        "rows",
        "plan",
        "write",
        "held MiB",
        "+ MiB"
    );
    for inputs in all {
        let held = Held::default();
        // The first merge warms caches up.
        merge::merge(inputs);
        let before = live_of_process();
        let ((summary, bytes_out), usage) = measure_process(|| merge::watched(inputs, &held));
        let seconds: f64 = Phase::ALL.iter().map(|&phase| summary.timings.duration(phase).as_secs_f64()).sum();
        // There are no remaps.
        let timed = Phase::ALL.iter().filter(|&&phase| phase != Phase::Remap);
        let phases: Vec<String> =
            timed.map(|&phase| format!("{:>6.3}", summary.timings.duration(phase).as_secs_f64())).collect();
        let bytes_in: usize = inputs.blocks.iter().map(Vec::len).sum();
        let held = held.0.load(Ordering::Relaxed).saturating_sub(before);
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        println!(
            "{:<9} {:<9} {:>10} {:>10} {:>12.0} {:>6.2} {:>6.2} {:>6.3}  {}  {:>8.1} {:>8.1}",
            inputs.cut,
            inputs.layout.name(),
            summary.series_in,
            summary.series_out,
            summary.series_in as f64 / seconds,
            bytes_in as f64 / summary.series_in as f64,
            bytes_out as f64 / summary.series_out as f64,
            seconds,
            phases.join(" "),
            mebibytes(held),
            mebibytes(usage.peak.saturating_sub(held)),
        );
    }
}
