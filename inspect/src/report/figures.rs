//! The figures of a report, as `report --json` prints them. `docs/report.md` documents each field.

use std::collections::BTreeMap;

use chronoxide_usage::{Unread, Use};
use serde::Serialize;

use crate::query::Explosion;

/// Version of the schema. It changes when a field changes its meaning or goes; new fields do not change it.
pub const SCHEMA: u32 = 1;

/// A report on the series of a block, of several blocks, or on what changed between two.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name and version of the program.
    pub generator: String,
    /// Kind of the report.
    pub kind: Kind,
    /// Inputs as the user named them; of a comparison, before and after.
    pub inputs: Vec<String>,
    /// Selectors of the counted series; empty if all series are counted.
    #[serde(rename = "match")]
    pub selectors: Vec<String>,
    /// Files of folders that could not be read. Their series are missing from all figures.
    pub skipped: Vec<String>,
    /// Sums over all series.
    pub totals: Totals,
    /// Blocks, in the order of time.
    pub blocks: Vec<BlockFigures>,
    /// Parts of the files, the largest first.
    pub parts: Vec<Part>,
    /// Metrics with the most series and those with the most bytes of labels; the most series first.
    pub metrics: Vec<Metric>,
    /// Sums over the other metrics.
    pub other_metrics: OtherMetrics,
    /// Labels with the most values, the most first.
    pub labels: Vec<Label>,
    /// Sums over the other labels.
    pub other_labels: OtherLabels,
    /// Suggested drops: labels whose values look generated first, then the largest effect.
    pub suggestions: Vec<Suggestion>,
    /// Series over time, if the blocks know the first and the last time of their series.
    pub series_times: Option<SeriesTimes>,
    /// Label pairs and labels whose series come and go, if the blocks know the times of their series.
    pub churn: Option<Churn>,
    /// Windows of a folder, in the order of time.
    pub windows: Vec<Window>,
    /// Metrics whose series grew from the first to the last window, the largest growth first.
    pub growth: Vec<Growth>,
    /// Changes, for a comparison.
    pub comparison: Option<Comparison>,
    /// Use by queries, if queries are given.
    pub usage: Option<Usage>,
}

/// Metrics and labels that queries use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Number of files of queries.
    pub files: u64,
    /// Number of queries; those of a log with equal texts are one.
    pub queries: u64,
    /// Number of times that they were asked, by query logs; 1 for each other query.
    pub asked: u64,
    /// Queries and files that could not be read. The names in such a query count as used.
    pub unread: Vec<Unread>,
    /// Number of queries in other languages than PromQL, by the type of their data source.
    pub other_languages: BTreeMap<String, u64>,
    /// Files without queries.
    pub ignored: Vec<String>,
    /// Files among them that were not read: files of folders with other extensions than files of queries.
    pub skipped: Vec<String>,
    /// Number of lines of query logs that have no query.
    pub other_lines: u64,
    /// Sums over the metrics that queries select, at least in part.
    pub used: MetricSums,
    /// Sums over the metrics that no query selects.
    pub unused: MetricSums,
    /// Used metrics with the most series, the most first.
    pub metrics: Vec<MetricUse>,
    /// Unused metrics with the most series, the most first.
    pub unused_metrics: Vec<UnusedMetric>,
    /// Labels except the metric's name: unused ones first, then those with the most values.
    pub labels: Vec<LabelUse>,
    /// Labels that no query needs, and that can all be dropped after the unused metrics: no two series become equal.
    pub droppable_labels: Vec<String>,
    /// Other labels that no query needs, of series that are left then: without one of them, some series are equal.
    pub distinguishing_labels: Vec<String>,
    /// Selectors of queries that select no series.
    pub without_series: Vec<SelectorUse>,
}

/// Sums over metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MetricSums {
    /// Number of metrics with a name.
    pub metrics: u64,
    /// Number of series.
    pub series: u64,
    /// Bytes of the names and values of all labels of these series.
    pub text_bytes: u64,
}

/// Queries that use something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UsedBy {
    /// Number of queries.
    pub queries: u64,
    /// Number of times that they were asked.
    pub asked: u64,
    /// Places of the first queries.
    pub places: Vec<String>,
}

/// A metric that queries use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MetricUse {
    /// Name; none for series without a name.
    pub metric: Option<String>,
    /// Number of series.
    pub series: u64,
    /// Bytes of the names and values of all labels of these series.
    pub text_bytes: u64,
    /// Queries that select some of the series.
    pub used_by: UsedBy,
    /// Labels that no query needs of this metric, the most values first.
    pub unneeded_labels: Vec<String>,
    /// Number of series that remain when they are aggregated without these labels.
    pub remains: u64,
}

/// A metric that no query uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnusedMetric {
    /// Name; none for series without a name.
    pub metric: Option<String>,
    /// Number of series.
    pub series: u64,
    /// Bytes of the names and values of all labels of these series.
    pub text_bytes: u64,
    /// Place of the recording rule that makes it, if one does.
    pub recorded_by: Option<String>,
}

/// Use of a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabelUse {
    /// Name.
    pub name: String,
    /// Number of distinct values.
    pub values: u64,
    /// Number of series with the label.
    pub series: u64,
    /// How queries use it.
    pub uses: Vec<Use>,
    /// Queries that use it.
    pub used_by: UsedBy,
}

/// A selector, and the queries that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SelectorUse {
    /// Selector.
    pub selector: String,
    /// Place of the recording rule that makes its metric, if one of the files has it.
    pub recorded_by: Option<String>,
    /// Queries that have it.
    pub used_by: UsedBy,
}

/// Kind of a report: the inputs that it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One block.
    Block,
    /// The live blocks of a folder.
    Blocks,
    /// Two blocks or folders.
    Comparison,
}

/// Series that had data in each slot of time, by their first and last times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SeriesTimes {
    /// Number of series whose times are unknown: they are in no slot.
    pub unknown: u64,
    /// Slots of equal length, in the order of time.
    pub slots: Vec<Slot>,
}

/// A slot of time. A series is in each slot from that of its first to that of its last time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slot {
    /// Start as RFC 3339.
    pub start: String,
    /// End, not itself in the slot.
    pub end: String,
    /// Number of series.
    pub series: u64,
    /// Series whose first time is in the slot.
    pub new: u64,
    /// Series whose last time is in the slot before.
    pub gone: u64,
}

/// Label pairs and labels whose series come and go, by the first and last time of each series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Churn {
    /// Time from the first slots of time to the end, in hours.
    pub hours: f64,
    /// Series whose data begins after the first slots: one, and one more for each 20 of them.
    pub new: u64,
    /// Series whose data ends before the last slots.
    pub gone: u64,
    /// Pairs with the most such series. Pairs that most series have are left out, unless their series change more often
    /// than all series on average.
    pub pairs: Vec<PairChurn>,
    /// Labels with the most values that came or went, except the metric's name.
    pub labels: Vec<LabelChurn>,
}

/// A label pair whose series come and go.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairChurn {
    /// Name of the label.
    pub name: String,
    /// Value.
    pub value: String,
    /// Number of series.
    pub series: u64,
    /// Series that came.
    pub new: u64,
    /// Series that went.
    pub gone: u64,
    /// Sum of both per hour.
    pub changes_per_hour: f64,
}

/// A label whose values come and go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LabelChurn {
    /// Name.
    pub name: String,
    /// Number of distinct values.
    pub values: u64,
    /// Values that came: all of their series did.
    pub new_values: u64,
    /// Values that went.
    pub gone_values: u64,
    /// Series of the values that came: about one per value if the label has an id of a session, many if it has the name
    /// of a pod.
    pub series_of_new_values: u64,
}

/// Sums over all series. Series with equal labels count once, also if several blocks have them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes of the files, whatever is selected.
    pub bytes: u64,
    /// Bytes of the files per series; none if series are selected, and without series.
    pub bytes_per_series: Option<f64>,
    /// Number of series.
    pub series: u64,
    /// Number of distinct metric names.
    pub metrics: u64,
    /// Number of label names.
    pub label_names: u64,
    /// Number of distinct pairs of name and value.
    pub label_pairs: u64,
    /// Sum over all labels of the bytes of their distinct values.
    pub value_bytes: u64,
    /// Labels of all series.
    pub labels: u64,
    /// Bytes of the names and values of the labels of all series.
    pub text_bytes: u64,
    /// Number of distinct sets of label names.
    pub keysets: u64,
    /// Start of the data's time as RFC 3339, if all blocks have one.
    pub start: Option<String>,
    /// End of the data's time, not itself in it.
    pub end: Option<String>,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlockFigures {
    /// Path of the file.
    pub name: String,
    /// Id of the block.
    pub id: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// Series of the block, whatever is selected.
    pub series: u64,
    /// Start of the data's time as RFC 3339, if known.
    pub start: Option<String>,
    /// End of the data's time, not itself in it.
    pub end: Option<String>,
}

/// A part of the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Name of the part, as in summaries.
    pub name: String,
    /// Bytes in all files.
    pub bytes: u64,
}

/// A metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// Name; none for series without a name.
    pub metric: Option<String>,
    /// Type, if known.
    #[serde(rename = "type")]
    pub metric_type: Option<&'static str>,
    /// Unit, if known.
    pub unit: Option<String>,
    /// Description, if known.
    pub help: Option<String>,
    /// Number of series.
    pub series: u64,
    /// Bytes of the names and values of all labels of these series.
    pub text_bytes: u64,
    /// Labels of these series except the name, the most values first. The four fields below describe the first of them.
    pub labels: Vec<LabelValues>,
    /// Values with the most series.
    pub values: Vec<ValueSeries>,
    /// Number of its other values.
    pub other_values: u64,
    /// Series with its other values.
    pub other_series: u64,
    /// Series without the label.
    pub without: u64,
    /// Queries that select some of its series, if queries are given.
    pub used_by: Option<UsedBy>,
}

/// Number of values of a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabelValues {
    /// Name of the label.
    pub name: String,
    /// Number of distinct values.
    pub values: u64,
}

/// Number of series of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueSeries {
    /// Value.
    pub value: String,
    /// Number of series.
    pub series: u64,
}

/// Metrics that are not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OtherMetrics {
    /// Number of metrics.
    pub metrics: u64,
    /// Number of series.
    pub series: u64,
    /// Bytes of the names and values of all labels of these series.
    pub text_bytes: u64,
}

/// A label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Label {
    /// Name.
    pub name: String,
    /// Number of distinct values.
    pub values: u64,
    /// Bytes of the distinct values.
    pub value_bytes: u64,
    /// Number of series with the label.
    pub series: u64,
    /// Number of series that remain when the label is dropped; none if that was not counted.
    pub remains: Option<u64>,
    /// How most values look, if they look generated.
    pub looks: Option<Looks>,
    /// Values with the most series.
    pub top: Vec<ValueSeries>,
    /// Queries that use it, if queries are given.
    pub used_by: Option<UsedBy>,
}

/// How generated values look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Looks {
    /// UUIDs.
    Uuid,
    /// Points in time: RFC 3339, dates, or Unix time in seconds to nanoseconds.
    Time,
    /// IP addresses, with or without a port, or names made of one.
    Address,
    /// Names of Kubernetes pods and replica sets, which end in random characters.
    Pod,
    /// Hexadecimal hashes and ids.
    Hash,
    /// Numbers of five digits or more.
    Number,
    /// Other random letters and digits.
    Token,
}

/// Labels that are not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OtherLabels {
    /// Number of labels.
    pub labels: u64,
    /// Sum of their numbers of values.
    pub values: u64,
}

/// A suggested drop, and its effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// Kind of the suggestion.
    pub action: Action,
    /// Labels to drop.
    pub labels: Vec<String>,
    /// Metric to drop.
    pub metric: Option<String>,
    /// Number of series fewer.
    pub removes: u64,
    /// Number of series that remain.
    pub remains: u64,
    /// Reason in words.
    pub reason: String,
    /// Command for a shell that writes a block without what is dropped; empty if one command cannot.
    pub command: String,
    /// Queries that would miss what is dropped, if queries are given.
    pub used_by: Option<UsedBy>,
}

/// Kind of a suggestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Labels of all series.
    DropLabels,
    /// All series of a metric.
    DropMetric,
}

/// Blocks of the same time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Start as RFC 3339, if known.
    pub start: Option<String>,
    /// End, not itself in it.
    pub end: Option<String>,
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Number of distinct series.
    pub series: u64,
    /// Series that are not in the window before; all in the first window.
    pub new: u64,
    /// Series of the window before that are not in this one.
    pub gone: u64,
}

/// Growth of a metric over windows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Growth {
    /// Name; none for series without a name.
    pub metric: Option<String>,
    /// Series in the first window.
    pub first: u64,
    /// Series in the last window.
    pub last: u64,
    /// Series in the window that has the most.
    pub largest: u64,
}

/// Changes between two inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The first input.
    pub before: Side,
    /// The second input.
    pub after: Side,
    /// Series in both.
    pub same: u64,
    /// Series before only.
    pub gone: u64,
    /// Series after only.
    pub came: u64,
    /// Labels whose new values bring many of the series that came, the most series first.
    pub explosions: Vec<Explosion>,
    /// Metrics with changes, the most changes first.
    pub metrics: Vec<MetricChange>,
    /// Labels with values on one side only, the most such values first.
    pub labels: Vec<LabelChange>,
    /// Changes apart from labels whose values look generated; none without such labels.
    pub without_generated: Option<WithoutGenerated>,
}

/// Changes if labels whose values look generated are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WithoutGenerated {
    /// The labels.
    pub labels: Vec<String>,
    /// Distinct labelsets before only.
    pub gone: u64,
    /// Distinct labelsets after only.
    pub came: u64,
}

/// An input of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Number of distinct series.
    pub series: u64,
}

/// Change of a metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MetricChange {
    /// Name; none for series without a name.
    pub metric: Option<String>,
    /// Series before.
    pub before: u64,
    /// Series after.
    pub after: u64,
    /// Series before only.
    pub gone: u64,
    /// Series after only.
    pub came: u64,
}

/// Change of a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabelChange {
    /// Name.
    pub name: String,
    /// Values before only.
    pub values_gone: u64,
    /// Values after only.
    pub values_came: u64,
    /// Distinct labelsets before only if the label is ignored; none if that was not counted.
    pub gone_without: Option<u64>,
    /// Distinct labelsets after only if the label is ignored.
    pub came_without: Option<u64>,
}
