//! Plan of the blocks of a source: [`Plans`].

use std::num::NonZeroUsize;

use chronoxide_planner::{Content, Factored, Planner, ThreadLimit, plan};
use foldhash::HashMap;

/// Memory of a name besides its text in bytes, at most.
const PER_NAME: usize = 64;

/// Plan of the last block of a source. The next block adopts it, or improves it where it does not fit, which saves most
/// of the time of sealing. So the bytes of a block depend on the blocks before it, too.
#[derive(Debug)]
pub struct Plans {
    planner: Planner,
    /// Number of each name of a key.
    names: HashMap<Box<str>, u32>,
    names_bytes: usize,
    max_names_bytes: usize,
}

impl Plans {
    /// Creates a set without a plan, which takes at most this much memory.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        let max_names_bytes = max_bytes / 4;
        let planner = Planner::new(max_bytes - max_names_bytes);
        Self { planner, names: HashMap::default(), names_bytes: 0, max_names_bytes }
    }

    /// Limits the threads that sort and plan; `None` is one per core. Blocks do not depend on their number.
    #[must_use]
    pub fn with_threads(self, threads: Option<NonZeroUsize>) -> Self {
        Self { planner: self.planner.with_threads(threads), ..self }
    }

    /// Returns the limit of the threads.
    pub(super) fn threads(&self) -> ThreadLimit {
        self.planner.threads()
    }

    /// Plans the content of a block whose keys have these numbers. If one has none, no plan is adopted.
    pub(super) fn plan(&mut self, content: &Content, numbers: &[Option<u32>]) -> Factored {
        match numbers.iter().copied().collect::<Option<Vec<u32>>>() {
            Some(numbers) => self.planner.plan(content, &numbers).1,
            None => plan(content).1,
        }
    }

    /// Returns the number of a name, or `None` if there is no room for it.
    pub(super) fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(&number) = self.names.get(name) {
            return Some(number);
        }
        let bytes = self.names_bytes + name.len() + PER_NAME;
        if bytes > self.max_names_bytes {
            return None;
        }
        self.names_bytes = bytes;
        // A block has fewer than 2^32 names, and these take less memory.
        let number = u32::try_from(self.names.len()).ok()?;
        self.names.insert(name.into(), number);
        Some(number)
    }
}
