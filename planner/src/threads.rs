//! Threads of planning: [`ThreadLimit`] and [`Threads`].

use std::num::NonZeroUsize;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Maximum number of threads. Each has a sample with its groups in memory, some 6 MB at most.
const MAX_THREADS: usize = 8;

/// Number of codes of all rows for each thread besides the first, so that samples are a small part of the memory.
const CODES_PER_THREAD: usize = 1 << 22;

/// Maximum number of threads of a block, or `None` for one per core.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadLimit(pub Option<NonZeroUsize>);

/// Threads that work on the keysets of a block. They are not those that the program shares: all of these may wait for
/// a plan.
#[derive(Debug, Default)]
pub struct Threads(Option<ThreadPool>);

impl ThreadLimit {
    /// Starts threads for a block with this number of codes: none besides that of the caller if it has few, or if none
    /// can be started.
    #[must_use]
    pub fn start(self, code_count: usize) -> Threads {
        let most = self.0.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let count = most.min(MAX_THREADS).min(1 + code_count / CODES_PER_THREAD);
        let name = |_| "plan".to_owned();
        let start = || ThreadPoolBuilder::new().num_threads(count).thread_name(name).build().ok();
        Threads((count > 1).then(start).flatten())
    }
}

impl Threads {
    /// Returns the results for these items, in their order.
    pub fn map<T: Send, R: Send>(&self, items: Vec<T>, map: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
        match &self.0 {
            Some(threads) => threads.install(|| items.into_par_iter().map(map).collect()),
            None => items.into_iter().map(map).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_as_many_as_rows_need_and_no_more_than_are_allowed() {
        let count = |threads: usize, codes: usize| {
            ThreadLimit(NonZeroUsize::new(threads)).start(codes).0.map_or(1, |pool| pool.current_num_threads())
        };
        assert_eq!(count(8, CODES_PER_THREAD - 1), 1);
        assert_eq!(count(8, 2 * CODES_PER_THREAD), 3);
        assert_eq!([1, 2].map(|threads| count(threads, 2 * CODES_PER_THREAD)), [1, 2]);
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for threads in [Threads::default(), ThreadLimit(NonZeroUsize::new(3)).start(2 * CODES_PER_THREAD)] {
            let doubled: Vec<u32> = (0..1_000).map(|number| number * 2).collect();
            assert_eq!(threads.map((0..1_000).collect(), |number: u32| number * 2), doubled);
        }
    }
}
