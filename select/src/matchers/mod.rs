//! From text to matchers: the grammar of selectors, and regular expressions over the sorted values of a label.
//!
//! | module | content |
//! |---|---|
//! | `selector` | [`Selector`] and [`Matcher`], with the reference implementation of matching |
//! | `parse` | the grammar of selectors, and errors of parsing |
//! | `tokens` | the tokens of the grammar |
//! | `quoted` | quoted strings, as Go reads them |
//! | `re2` | translation of regular expressions |
//! | `pattern` | regular expressions over sorted values: lookups, prefixes, automata |
//! | `patterns` | [`Patterns`]: selectors that belong together, with bounds for all of them |

mod parse;
pub(crate) mod pattern;
mod patterns;
mod quoted;
mod re2;
mod selector;
mod tokens;

pub use parse::SelectorError;
pub use patterns::Patterns;
pub use selector::{Matcher, Operator, Selector};
