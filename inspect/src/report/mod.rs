//! Reports: what multiplies series, and what to drop.
//!
//! A report counts the series of one block. The blocks of a folder, and series that selectors choose, are first merged
//! into one block in memory: then each series counts once, and all counts pass through the tables of that block instead
//! of over its series. The remaps of the merge say which series each block has, for windows and comparisons.
//!
//! | module | contents |
//! |---|---|
//! | `figures` | [`Report`], the figures of a report |
//! | `make` | [`report()`] and [`compare`]: from inputs to figures |
//! | `options` | [`Options`] |
//! | `input` | [`Input`], what a report is on |
//! | `union` | merges blocks in memory |
//! | `subject` | the block that is counted |
//! | `metrics` | metrics by series and bytes |
//! | `labels` | labels by values, and what remains without them |
//! | `values` | values with the most series |
//! | `looks` | how generated values look |
//! | `suggestions` | what to drop |
//! | `times` | series that have data in each hour, by their first and last times |
//! | `churn` | label pairs and labels whose series come and go |
//! | `windows` | series that come and go with time |
//! | `comparison` | what changed between two inputs |
//! | `usage` | metrics and labels that queries use |
//! | `explorer` | [`Explorer`], counts that are asked for one by one |
//! | `error` | [`ReportError`] |
//!
//! ```
//! use chronoxide_inspect::report::{Input, Options, report};
//! use chronoxide_reader::{Block, Checks};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
//! let blocks = vec![Block::read(path, Checks::Lazy)?.into()];
//! let input = Input { name: "week.cx".to_owned(), is_folder: false, skipped: Vec::new(), is_whole: true, blocks };
//! let report = report(&input, &Options::default())?;
//! assert_eq!(report.totals.series, report.metrics.iter().map(|metric| metric.series).sum::<u64>());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod churn;
mod comparison;
mod error;
mod explorer;
mod figures;
mod input;
mod labels;
mod looks;
mod make;
mod metrics;
mod options;
mod subject;
mod suggestions;
mod times;
mod union;
mod usage;
mod values;
mod windows;

pub use error::ReportError;
pub use explorer::{Explorer, LabelCount, Scope, explore};
pub use figures::{
    Action, BlockFigures, Churn, Comparison, Growth, Kind, Label, LabelChange, LabelChurn, LabelUse, LabelValues,
    Looks, Metric, MetricChange, MetricSums, MetricUse, OtherLabels, OtherMetrics, PairChurn, Part, Report, SCHEMA,
    SelectorUse, SeriesTimes, Side, Slot, Suggestion, Totals, UnusedMetric, Usage, UsedBy, ValueSeries, Window,
    WithoutGenerated,
};
pub use input::Input;
pub use make::{compare, report};
pub use metrics::MetricCount;
pub use options::Options;
pub use usage::usage;
