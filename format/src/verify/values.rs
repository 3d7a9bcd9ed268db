//! Series columns (COLUMNS.md).

use zerocopy::FromBytes;

use super::catalogue::widest;
use super::{expect, refuse_if};
use crate::bits::{bytes_for, width};
use crate::column::Value;
use crate::error::{Place, corrupt};
use crate::layout::{MAX_VALUE_LEN, STREAM_TAIL, SeriesColumnHeader, VALUE_GROUP};
use crate::number::length;
use crate::view::{BlockView, GROUP_LEN, Group, Numbers, SeriesColumn};
use crate::{Result, Rule};

pub(super) fn verify(view: &BlockView<'_>) -> Result<()> {
    let mut before: Option<&str> = None;
    for column in view.series_columns() {
        let column = column?;
        let place = Place::SeriesColumn(column.id);
        refuse_if(before >= Some(column.name()), Rule::ValueName, place)?;
        before = Some(column.name());
        verify_groups(&column.values, column.id)?;
        if let Some(starts) = &column.starts {
            verify_groups(starts, column.id)?;
            verify_texts(&column, starts)?;
        }
        verify_values(view, &column)?;
        view.canonical(|| verify_form(view, &column))?;
    }
    Ok(())
}

/// Groups follow one another, and their exceptions are rows in order.
fn verify_groups(numbers: &Numbers<'_>, column: u32) -> Result<()> {
    let (mut end, mut codes) = (0, [0; GROUP_LEN]);
    for (number, times) in numbers.distinct_groups() {
        let group = numbers.group(number)?;
        expect(Rule::ValueGroups, Place::ValueGroup(column, number), group.start, end)?;
        end += group.len() * times;
        numbers.distinct_codes(number, &group, &mut codes)?;
    }
    expect(Rule::ValueGroups, Place::SeriesColumn(column), end, numbers.groups_len)
}

fn verify_texts(column: &SeriesColumn<'_>, starts: &Numbers<'_>) -> Result<()> {
    let (mut before, mut codes) = (None, [0; GROUP_LEN]);
    for (number, _) in starts.distinct_groups() {
        let group = starts.group(number)?;
        let codes = starts.distinct_codes(number, &group, &mut codes)?;
        for (&code, text) in codes.iter().zip(number.saturating_mul(VALUE_GROUP)..) {
            let start = group.number(code);
            let last = before.unwrap_or_default();
            let most = if before.is_none() { 0 } else { u64::from(MAX_VALUE_LEN) };
            let is_next = start.is_some_and(|start| start >= last && start - last <= most);
            if !is_next {
                return Err(corrupt(
                    Rule::ValueTexts,
                    Place::ValueText(column.id, text),
                    start.unwrap_or(u64::MAX),
                    last,
                ));
            }
            before = start;
        }
    }
    let place = Place::ValueText(column.id, column.text_count());
    expect(Rule::ValueTexts, place, before.unwrap_or_default(), length(column.texts.len()))
}

/// Numbers stand for values, and texts are used in their order. Few bytes can stand for very many equal values: one of
/// a group is looked at then.
fn verify_values(view: &BlockView<'_>, column: &SeriesColumn<'_>) -> Result<()> {
    let (mut used, mut before): (u64, Option<&[u8]>) = (0, None);
    let (mut out_of_order, mut codes) = (None, [0; GROUP_LEN]);
    for (number, _) in column.values.distinct_groups() {
        let group = column.values.group(number)?;
        let codes = column.values.distinct_codes(number, &group, &mut codes)?;
        for (&code, series) in codes.iter().zip(number.saturating_mul(VALUE_GROUP)..) {
            let Some(number) = group.number(code) else { continue };
            if let Value::Bytes(bytes) = column.value(series, number)? {
                let is_last = used.checked_sub(1) == Some(number);
                let is_next = used == number && before != Some(bytes);
                if !is_last && !is_next {
                    out_of_order = out_of_order.or(Some((series, number)));
                }
                used += u64::from(is_next);
                before = Some(bytes);
            }
        }
    }
    view.canonical(|| {
        if let Some((series, number)) = out_of_order {
            return Err(corrupt(Rule::ValueTextsUsed, Place::Value(column.id, series), number, used));
        }
        expect(Rule::ValueTextsUsed, Place::SeriesColumn(column.id), used, column.text_count().into())
    })
}

/// Checks widths and unused bits.
fn verify_form(view: &BlockView<'_>, column: &SeriesColumn<'_>) -> Result<()> {
    let (section, _) = view.column_section(column.id).unwrap_or_default();
    let place = Place::SeriesColumn(column.id);
    let reserved = SeriesColumnHeader::ref_from_prefix(section).map_or(0, |(header, _)| header.reserved.get());
    expect(Rule::ValuePadding, place, reserved.into(), 0)?;
    for numbers in std::iter::once(column.values).chain(column.starts) {
        // Records without bits have the widths that they need.
        if numbers.groups.is_bounded() {
            for (field, found) in widest(&numbers.bits, &numbers.groups)?.into_iter().zip(numbers.groups.widths()) {
                expect(Rule::ValueWidths, place, found.into(), width(field).into())?;
            }
        }
        let (from, to) = numbers.groups.slack();
        refuse_if(numbers.bits.first_set(from, to).is_some(), Rule::ValuePadding, place)?;
        for (number, _) in numbers.distinct_groups() {
            let group = numbers.group(number)?;
            let is_clean = is_padded(&numbers, &group)?;
            refuse_if(!is_clean, Rule::ValuePadding, Place::ValueGroup(column.id, number))?;
        }
        let groups_end = numbers.end() - STREAM_TAIL;
        let closing = numbers.bits.first_set(groups_end * 8, (groups_end + STREAM_TAIL) * 8);
        refuse_if(closing.is_some(), Rule::ValuePadding, place)?;
    }
    Ok(())
}

/// Returns true if the unused bits of a group and the fields of rows that are exceptions are zero.
fn is_padded(numbers: &Numbers<'_>, group: &Group) -> Result<bool> {
    for exception in 0..group.exceptions {
        let row = numbers.exception_row(group, exception)?;
        if numbers.row_field(group, row)? != 0 {
            return Ok(false);
        }
    }
    let end = numbers.row_bit(group, group.rows);
    Ok(numbers.bits.first_set(end, bytes_for(end) * 8).is_none())
}
