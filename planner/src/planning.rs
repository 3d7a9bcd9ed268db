//! From content to a plan that pays: what was learned is tried on all rows, and dropped where it takes more than plain rows.

use crate::content::Content;
use crate::factor::{self, Factored};
use crate::learn::learn;
use crate::plan::{KeysetPlan, Plan};

/// Times that keysets are made plain because their own rows take more than plain ones, at most.
const MAX_ROUNDS: usize = 8;

/// Chooses the tables and lists for content, such that neither the block nor a keyset's own rows take noticeably more bytes than plain rows would.
///
/// A pure function of the content and of [`VERSION`](crate::VERSION). Costs a few passes over all rows, and over samples of them some ten thousand
/// operations a key and keyset at most.
#[must_use]
pub fn plan(content: &Content) -> (Plan, Factored) {
    let (plan, factored) = drop_what_is_worse(content, learn(content));
    // What was learned rests on samples and on records of about so many bits. These are the bytes that the builder writes.
    let dictionaries = factor::dictionary_bytes(content);
    let plain_bytes = factor::plain_bytes(content, dictionaries);
    if factored.bytes(content, dictionaries) <= plain_bytes {
        return (plan, factored);
    }
    let plan = Plan::plain(content);
    let factored = factor(content, &plan);
    if factored.bytes(content, dictionaries) <= plain_bytes {
        return (plan, factored);
    }
    // Maps pay each by itself, but they also make numbers larger that all records have.
    let factored = Factored::plain(content);
    (plan, factored)
}

/// The rows of content in the tables and lists that a plan says.
///
/// The plan must be one of keysets with the same keys, in the same order; every part of a keyset's plan stands for other keys of that keyset,
/// and all together for all of them.
#[must_use]
pub fn factor(content: &Content, plan: &Plan) -> Factored {
    factor::factor(content, plan)
}

/// Makes keysets plain whose own rows take more than plain ones, again and again: without their codes, maps may not pay any more
/// that others relied on. Each round factors all rows.
fn drop_what_is_worse(content: &Content, mut plan: Plan) -> (Plan, Factored) {
    for _ in 0..MAX_ROUNDS {
        let factored = factor(content, &plan);
        let worse = factored.worse_than_plain(content);
        if worse.is_empty() {
            return (plan, factored);
        }
        for keyset in worse {
            plan.keysets[keyset] = KeysetPlan::plain(&content.keysets[keyset]);
        }
        plan = plan.without_unused_tables();
    }
    let plan = Plan::plain(content);
    let factored = factor(content, &plan);
    (plan, factored)
}
