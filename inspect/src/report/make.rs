//! [`report`] and [`compare`]: from inputs to figures.

use chronoxide_select::Selector;

use super::churn::churn;
use super::comparison::Compared;
use super::figures::{Kind, Report, SCHEMA, Side, Totals};
use super::input::Prepared;
use super::labels::Labels;
use super::metrics::Metrics;
use super::subject::Subject;
use super::suggestions::{KEPT, Suggestions};
use super::times::Times;
use super::union::Union;
use super::usage::Used;
use super::windows::Windows;
use super::{Input, Options, ReportError, windows};

/// Listed label pairs, and labels, whose series come and go.
const MAX_CHURN: usize = 50;

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
pub fn report(input: &Input, options: &Options<'_>) -> Result<Report, ReportError> {
    let prepared = input.prepare()?;
    let has_windows = windows::overlapping(&prepared.times).len() > 1;
    let union = input.union(options, has_windows)?;
    let subject = Subject::new(input.counted(union.as_ref()))?;
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
pub fn compare(before: &Input, after: &Input, options: &Options<'_>) -> Result<Report, ReportError> {
    let unions = [before.union(options, false)?, after.union(options, false)?];
    let counted = [before.counted(unions[0].as_ref()), after.counted(unions[1].as_ref())];
    let subjects = [Subject::new(counted[0])?, Subject::new(counted[1])?];
    let names = vec![before.name.clone(), after.name.clone()];
    let skipped = before.skipped.iter().chain(&after.skipped).cloned().collect();
    let mut report = count(after, &subjects[1], options, Kind::Comparison, names, after.prepare()?)?;
    report.skipped = skipped;
    let both = Union::merge(&counted.map(|block| **block.view()), &Options { selectors: &[], ..*options }, true)?;
    let subject = Subject::new(&both.block)?;
    let [presence_before, presence_after] = &both.presence[..] else { return Ok(report) };
    let compared = Compared {
        subject: &subject,
        before: presence_before,
        after: presence_after,
        sides: [&subjects[0], &subjects[1]],
        is_before_whole: before.skipped.is_empty(),
        generated: (report.labels.iter())
            .filter(|label| label.looks.is_some() && !KEPT.contains(&label.name.as_str()))
            .map(|label| &*label.name)
            .collect(),
    };
    let side = |input: &Input, subject: &Subject<'_>| Side {
        blocks: input.blocks.len() as u64,
        bytes: input.bytes(),
        series: subject.series_count(),
    };
    let (before, after) = (side(before, &subjects[0]), side(after, &subjects[1]));
    report.comparison = Some(compared.compare(before, after, options.first)?);
    Ok(report)
}

/// Counts the series of a block.
fn count(
    input: &Input,
    subject: &Subject<'_>,
    options: &Options<'_>,
    kind: Kind,
    inputs: Vec<String>,
    prepared: Prepared,
) -> Result<Report, ReportError> {
    let used = options.queries.map(|queries| Used::new(subject, queries)).transpose()?;
    let used = used.as_ref();
    let (metrics, labels) = rayon::join(|| Metrics::new(subject, options.first, used), || Labels::new(subject, used));
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
        used,
    };
    let Prepared { blocks, parts, start, end, .. } = prepared;
    let (series, bytes) = (subject.series_count(), input.bytes());
    let is_whole = options.selectors.is_empty() && series > 0;
    let times = Times::read(subject.view())?;
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
        series_times: times.as_ref().map(Times::series_times).transpose()?,
        churn: times.as_ref().map(|times| churn(subject, times, MAX_CHURN)).transpose()?.flatten(),
        windows: Vec::new(),
        growth: Vec::new(),
        comparison: None,
        usage: used.map(|used| used.figures(subject, options.first)).transpose()?,
    })
}
