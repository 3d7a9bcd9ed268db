//! The metric metadata (METRICS.md).

use bitvec::vec::BitVec;
use zerocopy::FromBytes;

use super::catalogue::{ArrayRules, unused, verify_array};
use super::{expect, expect_below, refuse_if};
use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::{MAX_METRIC_TEXT_LEN, MetricsHeader, STREAM_TAIL};
use crate::number::{index, length};
use crate::view::{BlockView, Metrics};
use crate::{Result, Rule};

pub(super) fn verify(view: &BlockView<'_>) -> Result<()> {
    let metrics = view.metric_metadata()?;
    if metrics.is_empty() {
        return Ok(());
    }
    let section = view.metrics_section();
    let (header, _) = MetricsHeader::ref_from_prefix(section).map_err(|_| {
        corrupt(Rule::MetricHeader, Place::Byte(0), length(section.len()), length(size_of::<MetricsHeader>()))
    })?;
    verify_texts(&metrics)?;
    verify_rows(view, &metrics)?;
    view.canonical(|| {
        let rules = |widths_at| ArrayRules { widths: Rule::MetricWidths, widths_at, padding: Rule::MetricPadding };
        verify_array(&metrics.bits, &metrics.rows, header.row_widths, rules(8))?;
        verify_array(&metrics.bits, &metrics.ends, header.text_widths, rules(14))?;
        expect(Rule::MetricPadding, Place::Byte(15), header.reserved.into(), 0)?;
        let end = metrics.ends.slack().1;
        unused(&metrics.bits, Rule::MetricPadding, end, end + STREAM_TAIL * 8)
    })
}

fn verify_texts(metrics: &Metrics<'_>) -> Result<()> {
    let (mut start, mut before): (u64, &[u8]) = (0, &[]);
    for number in 0..metrics.ends.count {
        let place = Place::MetricText(number.into());
        let end = metrics.end(number + 1)?;
        let len = end.checked_sub(start).filter(|&len| len >= 1 && len <= u64::from(MAX_METRIC_TEXT_LEN));
        let Some(len) = len else {
            return Err(corrupt(Rule::MetricTextEnds, place, end, start));
        };
        let text = metrics.text(number)?;
        // The empty text is never greater.
        refuse_if(text <= before, Rule::MetricTextOrder, place)?;
        if let Err(error) = std::str::from_utf8(text) {
            return Err(corrupt(Rule::MetricTextUtf8, place, length(error.valid_up_to()), len));
        }
        (start, before) = (end, text);
    }
    Ok(())
}

/// Values and order of the rows, and that they use all texts. Texts were found to be there, so that their number is
/// bounded by bytes.
fn verify_rows(view: &BlockView<'_>, metrics: &Metrics<'_>) -> Result<()> {
    // Number 0 is the empty text, which need not be used.
    let mut used = BitVec::repeat(false, index(metrics.ends.count) + 1);
    mark(&mut used, Some(0));
    let mut before = [0; 6];
    for number in 0..metrics.len() {
        let place = Place::Metric(number.into());
        // Returns an error for an unknown value or a number that refers to no text.
        metrics.get(number)?;
        let Some(record) = metrics.rows.get(&metrics.bits, number) else { break };
        let record = record?;
        // Texts are in byte order, so that their numbers compare as they do. No name is 0: the first row is greater
        // than the initial value.
        refuse_if(record <= before, Rule::MetricOrder, place)?;
        let [name, _, _, _, unit, description] = record;
        for text in [name, unit, description] {
            expect_below(Rule::MetricValues, place, text, u64::from(metrics.ends.count) + 1)?;
            mark(&mut used, usize::try_from(text).ok());
        }
        before = record;
    }
    view.canonical(|| match used.first_zero() {
        Some(text) => Err(corrupt_at(Rule::MetricTextUsed, Place::MetricText(length(text) - 1))),
        None => Ok(()),
    })
}

fn mark(bits: &mut BitVec, bit: Option<usize>) {
    if let Some(mut bit) = bit.and_then(|bit| bits.get_mut(bit)) {
        *bit = true;
    }
}
