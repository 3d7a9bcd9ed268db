//! Reports: what multiplies series, and what to drop.
//!
//! A report counts the series of one block. The blocks of a folder, and series that selectors choose, are first merged
//! into one block in memory: then each series counts once, and all counts pass through the tables of that block instead
//! of over its series. The remaps of the merge say which series each block has, for windows and comparisons.
//!
//! | module | contents |
//! |---|---|
//! | `figures` | [`Report`], the figures of a report |
//! | `input` | [`Input`] and [`Block`], what a report is on |
//! | `union` | merges blocks in memory |
//! | `subject` | the block that is counted |
//! | `metrics` | metrics by series and bytes |
//! | `labels` | labels by values, and what remains without them |
//! | `looks` | how generated values look |
//! | `suggestions` | what to drop |
//! | `windows` | series that come and go with time |
//! | `comparison` | what changed between two inputs |
//! | `explorer` | [`Explorer`], counts that are asked for one by one |
//! | `page` | [`Page`], a report as one HTML file |
//! | `error` | [`ReportError`] |
//!
//! ```
//! use chronoxide_format::view::BlockView;
//! use chronoxide_inspect::report::{Block, Input, Options, report};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
//! let bytes = std::fs::read(path)?;
//! let block = Block { name: "week.cx".to_owned(), view: BlockView::open(&bytes)? };
//! let input = Input { name: "week.cx".to_owned(), is_folder: false, skipped: Vec::new(), is_whole: true, blocks: vec![block] };
//! let report = report(&input, &Options::default())?;
//! assert_eq!(report.totals.series, report.metrics.iter().map(|metric| metric.series).sum::<u64>());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod comparison;
mod error;
mod explorer;
mod figures;
mod input;
mod labels;
mod looks;
mod metrics;
mod page;
mod subject;
mod suggestions;
mod union;
mod windows;

use chronoxide_select::Selector;

use self::comparison::Compared;
use self::input::Prepared;
use self::labels::Labels;
use self::metrics::Metrics;
use self::subject::Subject;
use self::suggestions::{KEPT, Suggestions};
use self::union::Union;
use self::windows::Windows;

pub use error::ReportError;
pub use explorer::{Explorer, LabelCount, Scope, explore};
pub use figures::{
    Action, BlockFigures, Comparison, Growth, Kind, Label, LabelChange, LabelValues, Looks, Metric, MetricChange,
    OtherLabels, OtherMetrics, Part, Report, SCHEMA, Side, Suggestion, Totals, ValueSeries, Window, WithoutGenerated,
};
pub use input::{Block, Input};
pub use metrics::MetricCount;
pub use page::Page;

/// Maximum number of bytes of a shown value.
const MAX_VALUE_LEN: usize = 256;

/// Options of a report.
#[derive(Clone, Copy, Debug)]
pub struct Options<'o> {
    /// Count the series that match at least one of these; all series without any.
    pub selectors: &'o [Selector],
    /// Number of metrics to list: the first by series and the first by bytes.
    pub first: usize,
    /// Refuse a merge of blocks that could need more bytes of memory; `None` for no limit. The merged block and the
    /// counts are not included.
    pub memory_limit: Option<usize>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { selectors: &[], first: 100, memory_limit: None }
    }
}

/// Makes a report on the series of an input.
///
/// One block without selectors costs about 30 passes over its rows and lists: 0.4 s for a million series. Otherwise
/// blocks are merged first, which costs as much as a compaction, with a scratch file in the temporary folder.
///
/// # Errors
/// A block is damaged, or blocks cannot be merged: their label policies differ, or the merge could exceed the memory
/// limit.
///
/// # Panics
/// If the input has no blocks.
pub fn report(input: &Input<'_>, options: &Options<'_>) -> Result<Report, ReportError> {
    let prepared = input.prepare()?;
    let has_windows = windows::overlapping(&prepared.times).len() > 1;
    let union = input.union(options, has_windows)?;
    let subject = Subject::new(input.counted(union.as_ref())?)?;
    let times = prepared.times.clone();
    let mut report = count(input, &subject, options, input.kind(), vec![input.name.clone()], prepared)?;
    if input.is_folder {
        let presence = match &union {
            Some(union) if has_windows => &union.presence,
            _ => &vec![subject.all(); report.blocks.len()],
        };
        let Windows { windows, growth } = Windows::new(&subject, &report.blocks, &times, presence)?;
        (report.windows, report.growth) = (windows, growth);
    }
    Ok(report)
}

/// Makes a report on the second input, and on what changed from the first.
///
/// Costs a report of each input, and a merge of both.
///
/// # Errors
/// As [`report`].
///
/// # Panics
/// If an input has no blocks.
pub fn compare(before: &Input<'_>, after: &Input<'_>, options: &Options<'_>) -> Result<Report, ReportError> {
    let unions = [before.union(options, false)?, after.union(options, false)?];
    let views = [before.counted(unions[0].as_ref())?, after.counted(unions[1].as_ref())?];
    let subjects = [Subject::new(views[0])?, Subject::new(views[1])?];
    let names = vec![before.name.clone(), after.name.clone()];
    let skipped = before.skipped.iter().chain(&after.skipped).cloned().collect();
    let mut report = count(after, &subjects[1], options, Kind::Comparison, names, after.prepare()?)?;
    report.skipped = skipped;
    let both = Union::merge(&views, &Options { selectors: &[], ..*options }, true)?;
    let subject = Subject::new(both.view()?)?;
    let [presence_before, presence_after] = &both.presence[..] else { return Ok(report) };
    let compared = Compared {
        subject: &subject,
        before: presence_before,
        after: presence_after,
        sides: [&subjects[0], &subjects[1]],
        generated: (report.labels.iter())
            .filter(|label| label.looks.is_some() && !KEPT.contains(&label.name.as_str()))
            .map(|label| &*label.name)
            .collect(),
    };
    let side = |input: &Input<'_>, subject: &Subject<'_>| Side {
        blocks: input.blocks.len() as u64,
        bytes: input.bytes(),
        series: subject.series_count(),
    };
    let (before, after) = (side(before, &subjects[0]), side(after, &subjects[1]));
    let comparison = compared.compare(before, after, options.first)?;
    report.comparison = Some(comparison);
    Ok(report)
}

/// Counts the series of a block.
fn count(
    input: &Input<'_>,
    subject: &Subject<'_>,
    options: &Options<'_>,
    kind: Kind,
    inputs: Vec<String>,
    prepared: Prepared,
) -> Result<Report, ReportError> {
    let (metrics, labels) = rayon::join(|| Metrics::new(subject, options.first), || Labels::new(subject));
    let (metrics, labels) = (metrics?, labels?);
    let suggestions = Suggestions {
        subject,
        labels: &labels.listed,
        metrics: &metrics.largest,
        input: &input.name,
        has_command: input.is_whole && prepared.has_equal_external_labels,
        block_count: input.blocks.len(),
        selectors: options.selectors,
        is_folder: input.is_folder,
    };
    let Prepared { blocks, parts, start, end, .. } = prepared;
    let (series, bytes) = (subject.series_count(), input.bytes());
    let is_whole = options.selectors.is_empty() && series > 0;
    Ok(Report {
        schema: SCHEMA,
        generator: concat!("chronoxide-inspect ", env!("CARGO_PKG_VERSION")).to_owned(),
        kind,
        inputs,
        selectors: options.selectors.iter().map(Selector::to_string).collect(),
        skipped: input.skipped.clone(),
        totals: Totals {
            blocks: blocks.len() as u64,
            bytes,
            bytes_per_series: is_whole.then(|| bytes as f64 / series as f64),
            series,
            metrics: metrics.count,
            label_names: labels.count,
            label_pairs: labels.pairs,
            value_bytes: labels.value_bytes,
            labels: labels.total,
            text_bytes: metrics.text_bytes,
            keysets: subject.tally.keysets().len() as u64,
            start,
            end,
        },
        blocks,
        parts,
        suggestions: suggestions.find()?,
        metrics: metrics.listed,
        other_metrics: metrics.others,
        labels: labels.listed,
        other_labels: labels.others,
        windows: Vec::new(),
        growth: Vec::new(),
        comparison: None,
    })
}

/// Returns a value and its number of series. A long value is cut, so that a page stays small.
fn value_series(value: &str, series: u64) -> ValueSeries {
    let mut shown = value[..value.floor_char_boundary(MAX_VALUE_LEN)].to_owned();
    if shown.len() < value.len() {
        shown.push('…');
    }
    ValueSeries { value: shown, series }
}

/// Sorts counts so that the first `most` have the most series; equal counts are in the order of codes. Returns the
/// others.
fn most_series(counts: &mut [(u32, u64)], most: usize) -> &[(u32, u64)] {
    let rank = |&(code, series): &(u32, u64)| (std::cmp::Reverse(series), code);
    let most = most.min(counts.len());
    if most < counts.len() {
        counts.select_nth_unstable_by_key(most, rank);
    }
    let (first, others) = counts.split_at_mut(most);
    first.sort_unstable_by_key(rank);
    others
}
