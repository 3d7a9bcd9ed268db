//! Selects series of blocks by PromQL matchers.
//!
//! A [`Searcher`] queries one block: which series match, which values a label has, and how series fall into groups. It
//! reads the block in place and needs no index in the file: a matcher is evaluated on the distinct values of its label,
//! and the accepted codes are followed through the tables of the block. A [`BlockSet`] queries all blocks of a folder.
//!
//! ```
//! use chronoxide_reader::{Block, Checks};
//! use chronoxide_select::{Index, Labels, Searcher, Selector};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
//! let block = Block::read(path, Checks::Lazy)?;
//! let view = block.view();
//! let index = Index::new(&view)?;
//! let searcher = Searcher::new(&view, &index);
//! let selector: Selector = r#"{job=~"api|db",pod!=""}"#.parse()?;
//! let selection = searcher.select(selector.matchers())?;
//! assert_eq!(u64::from(selection.count()), searcher.count(selector.matchers())?);
//! let jobs = searcher.label_values("job", selector.matchers(), None)?;
//! assert_eq!(jobs, [b"api", &b"db"[..]]);
//! let groups = searcher.group(&selection, Labels::By(&["job"]))?;
//! assert_eq!(groups.numbers().len(), selection.iter().count());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! External labels of a block are not labels of its series, and are not matched.
//!
//! # Selectors
//!
//! A [`Selector`] matches the series that Prometheus selects with the same text:
//!
//! | text | matches series |
//! |---|---|
//! | `up` | named `up`, like `{__name__="up"}` and `{"up"}` |
//! | `{job="api"}` | with value `api` of `job` |
//! | `{job="api",env!="prod"}` | that satisfy both matchers |
//! | `{job="api",env=""}` | without a label `env`: an absent label has the empty value |
//! | `{pod=~"web-[0-9]+"}` | whose whole value of `pod` matches the regular expression |
//! | `{job="api",pod!~".*-canary"}` | whose value of `pod` does not match it |
//! | `{"http.method"="GET"}` | by a label name that needs quotes |
//!
//! Other PromQL is refused: functions, operators, ranges, `offset`, `@`, comments, and `or` between matchers. Use two
//! selectors instead of `or`.
//!
//! ```
//! use chronoxide_select::Selector;
//!
//! let selector: Selector = r#"{namespace="test",pod=~"canary-.*"}"#.parse()?;
//! assert!(selector.matches_labels([("__name__", "up"), ("namespace", "test"), ("pod", "canary-7")]));
//! assert!(!selector.matches_labels([("__name__", "up"), ("namespace", "test")]));
//! # Ok::<(), chronoxide_select::SelectorError>(())
//! ```
//!
//! # Selectors that match everything
//!
//! PromQL refuses a selector whose matchers all match the empty value, such as `{}`, `{job=~".*"}` or `{env!="prod"}`.
//! So does this crate, to prevent accidents: `--drop '{pod=~"$PREFIX.*"}'` with an unset variable becomes
//! `{pod=~".*"}` and would drop every series. To match all named series, add `__name__!=""`:
//! `{__name__!="",env=""}`. For queries, [`Selector::parse_any`] accepts such selectors, and a query without matchers
//! selects all series.
//!
//! # Regular expressions
//!
//! Prometheus uses RE2; the crate `regex` differs in details. The module `re2` translates patterns, so that a value
//! matches here if it matches in Prometheus:
//!
//! | feature | RE2 in Prometheus | `regex` without translation |
//! |---|---|---|
//! | anchors | the whole value must match | any part of it |
//! | `.` | any character, also a newline (since Prometheus 3) | not a newline |
//! | `\d`, `\s`, `\w`, `\b` | ASCII only | all of Unicode |
//! | `{` that begins no repetition, as in `a{b}` or `{,3}` | a literal | an error, or a repetition |
//! | `[`, `&&`, `--`, `~~` in a class | literals | nested classes and set operations |
//! | `\<`, `\>` | literals | begin and end of a word |
//! | `\Qa.b\E`, octal `\101` | literal text, a character | errors |
//! | flags `x`, `u`, `R` | errors | comments and others |
//! | `**`, more than 1,000 repetitions | errors | repetitions |
//! | `\p{^Greek}` | `\P{Greek}` | an error |
//!
//! Remaining differences: a pattern that takes more than 10 MiB when compiled is refused, so are the patterns of a
//! selector that take more than 64 MiB in all (see [`Patterns`]), and so is a surrogate such as
//! `\x{D800}`. More names of Unicode classes are accepted, such as `\p{Emoji}`, and more than 1,000 repetitions by
//! nesting. The Unicode tables may have different versions.
//!
//! Each module uses those before it in this table, and none after it:
//!
//! | module | content |
//! |---|---|
//! | `error`, `limits` | [`SelectError`]; [`Limits`]: most series, most memory, most time, cancellation |
//! | `ranges`, `selection` | [`Ranges`]: sorted ranges of numbers; [`Selection`]: refs in order, and set operations |
//! | `matchers` | from text to [`Matcher`]s |
//! | `rows` | [`IndexedBlock`], [`Index`] and [`Searcher`]: rows of a block's tables; [`ColumnReader`] |
//! | `conditions` | from matchers to series |
//! | `results` | values, counts, labels, groups and pages of series |
//! | `block_set` | [`BlockSet`]: the live blocks of a folder, queried together |

mod block_set;
mod conditions;
mod error;
mod limits;
mod matchers;
mod ranges;
mod results;
mod rows;
mod selection;

pub use block_set::{
    BlockSelection, BlockSet, BlockSetError, JoinedSeries, Occurrence, Partial, SetBlock, SetDifference, SetQuery,
    SetSelection, as_text,
};
pub use conditions::{AcceptedCodes, select};
pub use error::SelectError;
pub use limits::Limits;
pub use matchers::{Matcher, Operator, Patterns, Selector, SelectorError};
pub use ranges::{Numbers, Ranges};
pub use results::{
    FindManyError, Groups, LabelOrder, Labels, Pages, Projection, SeriesProducts, StoredBytes, Tally, TextBytes,
    ValueCounts, ValueRange,
};
pub use rows::{CodeColumn, CodeCounts, ColumnReader, Index, IndexedBlock, Searcher};
pub use selection::{Refs, Selection};
