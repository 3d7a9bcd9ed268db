//! The meta section (spec, sections 10 and 12).

use super::{ContentFingerprint, expect, expect_below, refuse_if};
use crate::error::{Place, corrupt};
use crate::identity::BlockId;
use crate::layout::{MetaHeader, SectionKind, TIME_KNOWN, WINDOW_KNOWN};
use crate::number::length;
use crate::policy::LabelPolicy;
use crate::view::{BlockView, Meta, Pairs, Table};
use crate::{KeyId, Result, Rule, SymbolId};

pub(super) fn verify(view: &BlockView<'_>, content: &ContentFingerprint) -> Result<()> {
    let meta = view.meta()?;
    verify_header(meta.header())?;
    view.canonical(|| verify_padding(meta.header()))?;
    verify_origins(view, &meta)?;
    verify_pairs(meta.external_labels()?, |value| !value.is_empty())?;
    let rest = verify_pairs(meta.annotations()?, |_| true)?;
    if rest > 0 {
        let len = length(view.frame().section(view.bytes(), SectionKind::Meta).len());
        return Err(corrupt(Rule::MetaLength, Place::Byte(len - rest), len, len - rest));
    }
    verify_policy(view)?;
    expect(Rule::MetaCounts, Place::Byte(0), meta.series_count(), content.series_count)?;
    expect(Rule::MetaCounts, Place::Byte(8), meta.label_count(), content.label_count)?;
    let ([found_1, found_2], [expected_1, expected_2]) = (meta.fingerprint(), content.fingerprint.to_parts());
    expect(Rule::Fingerprint, Place::Byte(16), found_1, expected_1)?;
    expect(Rule::Fingerprint, Place::Byte(24), found_2, expected_2)
}

fn verify_header(header: &MetaHeader) -> Result<()> {
    let ranges = [
        (TIME_KNOWN, header.time_start, header.time_end, 32),
        (WINDOW_KNOWN, header.window_start, header.window_end, 48),
    ];
    for (flag, start, end, byte) in ranges {
        let (start, end) = (start.get(), end.get());
        let sound = if header.flags & flag != 0 { start < end } else { (start, end) == (0, 0) };
        refuse_if(!sound, Rule::MetaTime, Place::Byte(byte))?;
    }
    let (output, count) = (header.job_output.get(), header.job_output_count.get());
    let has_id = header.job_id != [0; 16];
    let sound = if count == 0 { output == 0 && !has_id } else { output < count && has_id };
    if !sound {
        return Err(corrupt(Rule::MetaJob, Place::Byte(80), output.into(), count.into()));
    }
    LabelPolicy::new(header.max_name_len.get(), header.max_value_len.get()).map(|_| ()).map_err(|_| {
        corrupt(Rule::MetaPolicy, Place::Byte(104), header.max_name_len.get().into(), header.max_value_len.get().into())
    })
}

fn verify_padding(header: &MetaHeader) -> Result<()> {
    expect_below(Rule::MetaPadding, Place::Byte(116), header.row_form.into(), 2)?;
    expect(Rule::MetaPadding, Place::Byte(117), (header.flags & !(TIME_KNOWN | WINDOW_KNOWN)).into(), 0)?;
    expect(Rule::MetaPadding, Place::Byte(118), header.reserved.get().into(), 0)
}

fn verify_origins(view: &BlockView<'_>, meta: &Meta<'_>) -> Result<()> {
    let parents: Vec<BlockId> = meta.parents()?.collect();
    let ancestors: Vec<BlockId> = meta.ancestors()?.collect();
    let sorted = |ids: &[BlockId]| ids.is_sorted_by(|a, b| a < b);
    let both = ancestors.iter().any(|ancestor| parents.binary_search(ancestor).is_ok());
    let is_sound = sorted(&parents) && sorted(&ancestors) && !both;
    view.canonical(|| refuse_if(!is_sound, Rule::MetaParents, Place::Byte(120)))
}

/// Checks pairs, and their values with `is_value`. Returns the number of bytes after them.
fn verify_pairs(mut pairs: Pairs<'_>, is_value: impl Fn(&str) -> bool) -> Result<u64> {
    let mut before = "";
    for pair in pairs.by_ref() {
        let (key, value) = pair?;
        // The empty key is never greater.
        refuse_if(key <= before || !is_value(value), Rule::MetaPairs, Place::Byte(120))?;
        before = key;
    }
    Ok(length(pairs.rest().len()))
}

fn verify_policy(view: &BlockView<'_>) -> Result<()> {
    let policy = view.meta()?.policy();
    for key in 0..view.key_count() {
        let key = KeyId(key);
        let name_len = length(view.key_name(key)?.len());
        let place = |symbol: SymbolId| Place::Symbol(symbol.0.into());
        expect_below(Rule::PolicyKept, place(view.key_symbol(key)?), name_len, u64::from(policy.max_name_len()) + 1)?;
        let dictionary = Table::open(view, key.0)?;
        let column = dictionary.column(0)?;
        for code in 0..dictionary.row_count() {
            let symbol = SymbolId(dictionary.code(code, &column)?);
            let len = length(view.symbol(symbol)?.len());
            expect_below(Rule::PolicyKept, place(symbol), len, u64::from(policy.max_value_len()) + 1)?;
        }
    }
    Ok(())
}
