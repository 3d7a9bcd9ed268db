//! Chooses how the rows of a block are factored.

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

/// Chooses the tables and lists for content: never any that take more bytes than plain rows would.
///
/// A pure function of the content and of [`VERSION`]. Costs a few passes over samples of the rows, in all some ten thousand operations a key and
/// keyset at most.
#[must_use]
pub fn plan(content: &Content) -> (Plan, Factored) {
    let mut plan = learn::learn(content);
    let mut factored = factor(content, &plan);
    let worse = factored.worse_than_plain(content);
    if !worse.is_empty() {
        for keyset in worse {
            plan.keysets[keyset] = KeysetPlan::plain(&content.keysets[keyset]);
        }
        plan = plan.without_unused_tables();
        factored = factor(content, &plan);
    }
    if factored.bytes(content) > factor::plain_bytes(content) {
        plan = Plan::plain(content);
        factored = factor(content, &plan);
    }
    (plan, factored)
}

/// The rows of content in the tables and lists that a plan says.
#[must_use]
pub fn factor(content: &Content, plan: &Plan) -> Factored {
    factor::factor(content, plan)
}
