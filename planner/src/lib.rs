//! Chooses how the rows of a block are factored.

// The content that tests make says what it is of as users do.
#[cfg(test)]
extern crate self as chronoxide_planner;

mod content;
mod factor;
mod layout;
mod learn;
mod plan;
mod write;

pub use content::{Content, KeysetRows, Origin};
pub use factor::{Factored, FactoredKeyset, FactoredPool, FactoredTable};
pub use layout::Layout;
pub use plan::{KeysetPlan, Part, Plan, TablePlan};

/// The version of the planner, which blocks record.
pub const VERSION: u32 = 1;

/// Times that keysets are made plain because their own rows take more than plain ones, at most.
const MOST_ROUNDS: usize = 8;

/// Chooses the tables and lists for content: never any that take more bytes than plain rows would.
///
/// A pure function of the content and of [`VERSION`]. Costs a few passes over samples of the rows, in all some ten thousand operations a key and
/// keyset at most.
#[must_use]
pub fn plan(content: &Content) -> (Plan, Factored) {
    let mut plan = learn::learn(content);
    let mut factored = factor(content, &plan);
    let mut worse = factored.worse_than_plain(content);
    for _ in 0..MOST_ROUNDS {
        if worse.is_empty() {
            break;
        }
        for keyset in worse {
            plan.keysets[keyset] = KeysetPlan::plain(&content.keysets[keyset]);
        }
        plan = plan.without_unused_tables();
        factored = factor(content, &plan);
        // Without these, maps may not pay that others relied on.
        worse = factored.worse_than_plain(content);
    }
    let dictionaries = factor::dictionary_bytes(content);
    let most = factor::plain_bytes(content, dictionaries);
    if !worse.is_empty() || factored.bytes(content, dictionaries) > most {
        plan = Plan::plain(content);
        factored = factor(content, &plan);
    }
    // Maps pay each by itself, but they also make numbers larger that all records have.
    if factored.bytes(content, dictionaries) > most {
        factored = Factored::plain(content);
    }
    (plan, factored)
}

/// The rows of content in the tables and lists that a plan says.
#[must_use]
pub fn factor(content: &Content, plan: &Plan) -> Factored {
    factor::factor(content, plan)
}
