//! Which metrics and labels of blocks the queries of rules, dashboards and query logs use.
//!
//! [`Queries::read`] reads files. Each [`Query`] says which series it selects, and which of their labels it needs:
//! those that it selects by, groups by, joins by, or returns. A [`BlockUsage`] runs the selectors on a block: metrics
//! and labels that it does not find are used by no query.
//!
//! ```
//! use chronoxide_usage::{Queries, Use};
//!
//! let rules = r#"groups: [{name: api, rules: [{record: load, expr: 'sum by (job) (up{env="prod"})'}]}]"#;
//! let mut queries = Queries::default();
//! queries.add_text("rules.yaml", rules);
//! let [query] = &queries.queries[..] else { panic!("one query") };
//! assert_eq!(query.place, "rules.yaml: group api: recording rule load");
//! let [need] = &query.needs[..] else { panic!("one selector") };
//! assert_eq!(need.selector.to_string(), r#"{__name__="up",env="prod"}"#);
//! let uses = |label| need.labels.uses(label).into_iter().collect::<Vec<_>>();
//! assert_eq!((uses("job"), uses("env"), uses("pod")), (vec![Use::Grouped], vec![Use::Selected], vec![]));
//! ```
//!
//! # Rather used than unused
//!
//! A variable of a dashboard stands for any text: `{job="$job"}` selects all values of `job`, and `$metric` all
//! metrics. Labels of a result count as used, because an alert is sent with them and a panel may show them. A query
//! that is not PromQL is listed ([`Queries::unread`]), and each name in it counts as the name of a used metric and
//! label.
//!
//! # Modules
//!
//! | module | contents |
//! | --- | --- |
//! | `files` | rules, dashboards, templates, query logs and lists of queries |
//! | `text` | variables of dashboards in the text of a query |
//! | `promql` | from PromQL to needs |
//! | `need` | [`Need`]: series, and labels of them |
//! | `query` | [`Query`] and [`Queries`] |
//! | `block_usage` | [`BlockUsage`]: metrics and labels of a block that queries use |
//! | `relabel` | [`Unused`]: configurations that drop what is not used |
//! | `error` | [`ReadError`] |

mod block_usage;
mod error;
mod files;
mod need;
mod promql;
mod query;
mod relabel;
mod text;

pub use block_usage::{BlockUsage, LabelUsage, MetricUsage};
pub use error::ReadError;
pub use need::{LabelNeeds, Need, Use, Uses};
pub use query::{Kind, Queries, Query, Unread};
pub use relabel::Unused;
