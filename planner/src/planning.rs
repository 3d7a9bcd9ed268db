//! Planning: [`plan()`] learns a plan, factors all rows, and drops parts that take more than plain rows.

use crate::content::Content;
use crate::factor::{self, Factored, PlainSizes};
use crate::learn::learn;
use crate::plan::{KeysetPlan, Plan};
use crate::threads::{ThreadLimit, Threads};

/// Maximum number of rounds in which keysets become plain because their own rows take more than plain ones.
const MAX_ROUNDS: usize = 8;

/// Chooses tables and lists for content, so that neither the block nor the own rows of a keyset take noticeably more
/// bytes than plain rows.
///
/// The result depends only on the content and [`VERSION`](crate::VERSION). Costs a few passes over all rows, and some
/// hundred passes over samples: at most 2^22 rows, and 256 rows of each keyset.
#[must_use]
pub fn plan(content: &Content) -> (Plan, Factored) {
    let Planned { plan, factored, .. } = Planned::new(content, &ThreadLimit::default().start(content.code_count()));
    (plan, factored)
}

/// Plan of content, and the content by it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) factored: Factored,
    /// Bytes that it takes in a block, besides strings and dictionaries.
    pub(crate) bytes: u64,
}

impl Planned {
    /// Learns a plan.
    pub(crate) fn new(content: &Content, threads: &Threads) -> Self {
        Self::from_plan(content, learn(content, threads), threads)
    }

    /// Takes a plan without the parts that take more than plain rows, or plain rows if these take fewer bytes.
    pub(crate) fn from_plan(content: &Content, plan: Plan, threads: &Threads) -> Self {
        let plain = PlainSizes::new(content, threads);
        let (plan, factored) = drop_what_is_worse(content, plan, &plain, threads);
        // Learning uses samples and approximate records. These are the bytes that the builder writes.
        let dictionaries = factor::dictionary_bytes(content);
        let plain_bytes = plain.bytes(dictionaries);
        let with_bytes = |plan: Plan, factored: Factored| {
            let bytes = factored.bytes(content, dictionaries, threads);
            Self { plan, factored, bytes }
        };
        let planned = with_bytes(plan, factored);
        if planned.bytes <= plain_bytes {
            return planned;
        }
        let plan = Plan::plain(content);
        let factored = factor::factor(content, &plan, threads);
        let planned = with_bytes(plan, factored);
        if planned.bytes <= plain_bytes {
            return planned;
        }
        // Each map pays by itself, but maps also enlarge numbers that all records contain.
        Self { factored: Factored::plain(content), bytes: plain_bytes, ..planned }
    }
}

/// Factors content by a plan.
///
/// The plan must be for keysets with the same keys in the same order. The parts of the plan of a keyset must cover each
/// of its keys once.
#[must_use]
pub fn factor(content: &Content, plan: &Plan) -> Factored {
    factor::factor(content, plan, &Threads::default())
}

/// Returns the bytes that factored content takes in a block, besides strings and dictionaries.
#[must_use]
pub fn bytes(content: &Content, factored: &Factored) -> u64 {
    factored.bytes(content, factor::dictionary_bytes(content), &Threads::default())
}

/// Makes keysets plain whose own rows take more than plain ones, repeatedly: without their codes, maps of other keysets
/// may not pay any more. Each round factors all rows.
fn drop_what_is_worse(content: &Content, mut plan: Plan, plain: &PlainSizes, threads: &Threads) -> (Plan, Factored) {
    for _ in 0..MAX_ROUNDS {
        let factored = factor::factor(content, &plan, threads);
        let worse = factored.worse_than_plain(plain);
        if worse.is_empty() {
            return (plan, factored);
        }
        for keyset in worse {
            plan.keysets[keyset] = KeysetPlan::plain(&content.keysets[keyset]);
        }
        plan = plan.without_unused_tables();
    }
    let plan = Plan::plain(content);
    let factored = factor::factor(content, &plan, threads);
    (plan, factored)
}
