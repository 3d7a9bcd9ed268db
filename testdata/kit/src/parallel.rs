//! [`map`]: cases on all cores. rayon would be six more crates to compile for each test of the format.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Calls a function with each case on all cores, and returns the results in the order of the cases.
///
/// # Panics
/// If the function panics.
pub fn map<T: Sync, R: Send>(cases: &[T], function: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut results = Vec::new();
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && let Some(case) = cases.get(number)
        {
            results.push((number, function(case)));
        }
        results
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(take)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a case fails: see above")).collect()
    });
    results.sort_by_key(|&(number, _)| number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_cases() {
        let cases: Vec<u32> = (0..10_000).collect();
        assert!(map(&cases, |case| case * 2).into_iter().eq((0..10_000).map(|case| case * 2)));
    }

    #[test]
    #[should_panic(expected = "a case fails")]
    fn a_case_that_fails_fails_all() {
        map(&[1, 2, 3], |case| assert_ne!(*case, 2));
    }
}
