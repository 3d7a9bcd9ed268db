//! Which series: the selectors of PromQL.
//!
//! A [`Selector`] says what Prometheus would say of the same text:
//!
//! | text | selects series |
//! |---|---|
//! | `up` | named `up`; the same as `{__name__="up"}` and `{"up"}` |
//! | `{job="api"}` | whose `job` is `api` |
//! | `{job="api",env!="prod"}` | for which both hold |
//! | `{job="api",env=""}` | without a label `env`: one that is absent has the empty value |
//! | `{pod=~"web-[0-9]+"}` | whose whole `pod` is described by the regular expression |
//! | `{job="api",pod!~".*-canary"}` | whose `pod` is not |
//! | `{"http.method"="GET"}` | by a name that needs quotes |
//!
//! Nothing else of PromQL is accepted: no functions, operators, ranges, offsets or `@`, and none of `or` between matchers, which is an
//! extension of others. Who wants one or the other gives two selectors.
//!
//! # Selectors that would select everything
//!
//! PromQL refuses a selector all of whose matchers match the empty value, such as `{}`, `{job=~".*"}` or `{env!="prod"}`, because it would go
//! through every series that has nothing to do with its labels. So it is here, and for a stronger reason: `--drop '{pod=~"$PREFIX.*"}'` with an unset
//! variable becomes `{pod=~".*"}`, and would drop everything without a word. Who means it writes `__name__!=""` into the selector, which every
//! named series satisfies: `{__name__!="",env=""}`.
//!
//! # Regular expressions
//!
//! Prometheus has RE2, the crate `regex` a relative of it; the module `re2` rewrites the one into the other, so that a value matches here if it does there.
//!
//! | what | RE2 in Prometheus | `regex` as it comes |
//! |---|---|---|
//! | anchors | the whole value must match | any part of it |
//! | `.` | any character, newline too (since Prometheus 3) | not a newline |
//! | `\d`, `\s`, `\w`, `\b` | ASCII only | all of Unicode |
//! | `{` that begins no repetition, as in `a{b}` or `{,3}` | itself | an error, or a repetition |
//! | `[`, `&&`, `--`, `~~` in a class | themselves | a class in the class, set operations |
//! | `\<`, `\>` | themselves | begin and end of a word |
//! | `\Qa.b\E`, octal `\101` | text as it stands, a character | errors |
//! | flags `x`, `u`, `R` | errors | comments and others |
//! | `**`, more than 1,000 repetitions | errors | repetitions |
//! | `\p{^Greek}` | `\P{Greek}` | an error |
//!
//! What remains: a repetition right after flags, as in `(?i)*`, is refused here; so is what takes more than 10 MiB when it is compiled; and the tables of
//! Unicode may be of different versions.
//!
//! | module | what it is for |
//! |---|---|
//! | `selector` | what a selector is, and the plain model of matching |
//! | `parse` | from text, and what can be wrong with it |
//! | `quoted` | strings in quotes, as Go reads them |
//! | `re2` | regular expressions |

mod parse;
mod quoted;
mod re2;
mod selector;

pub use parse::SelectorError;
pub use selector::{Matcher, Operator, Selector};
