//! Starts, order and text of symbols (spec, section 6).

use zerocopy::FromBytes;

use super::catalogue::unused;
use super::{expect, refuse_if};
use crate::bits::width;
use crate::error::{Place, corrupt};
use crate::layout::{MAX_SYMBOL_LEN, SYMBOL_GROUP, SectionKind, SymbolsHeader};
use crate::number::length;
use crate::view::BlockView;
use crate::{Result, Rule, SymbolId};

pub(super) fn verify(view: &BlockView<'_>) -> Result<()> {
    let symbols = view.symbols();
    let count = symbols.count();
    let mut start = symbols.start(0)?;
    expect(Rule::SymbolsStarts, Place::Symbol(0), start, 0)?;
    let (mut base, mut largest_base, mut largest_difference) = (start, start, 0);
    let mut before: Option<&[u8]> = None;
    for id in 0..count {
        let place = Place::Symbol(id.into());
        let end = symbols.start(id + 1)?;
        let len = end.checked_sub(start).filter(|&len| len >= 1 && len <= u64::from(MAX_SYMBOL_LEN));
        let Some(len) = len else {
            return Err(corrupt(Rule::SymbolsStarts, place, end, start));
        };
        if (id + 1) % SYMBOL_GROUP == 0 {
            base = end;
            largest_base = end;
        } else {
            largest_difference = largest_difference.max(end - base);
        }
        let symbol = symbols.get(SymbolId(id))?;
        refuse_if(before.is_some_and(|before| before >= symbol), Rule::SymbolsOrder, place)?;
        if let Err(error) = std::str::from_utf8(symbol) {
            return Err(corrupt(Rule::SymbolsUtf8, place, length(error.valid_up_to()), len));
        }
        before = Some(symbol);
        start = end;
    }
    expect(Rule::SymbolsStarts, Place::Symbol(count.into()), start, length(symbols.arena.len()))?;
    view.canonical(|| {
        let starts = &symbols.starts;
        expect(Rule::SymbolsWidths, Place::Byte(4), starts.base_width.into(), width(largest_base).into())?;
        expect(Rule::SymbolsWidths, Place::Byte(5), starts.difference_width.into(), width(largest_difference).into())?;
        let section = view.frame().section(view.bytes(), SectionKind::Symbols);
        let reserved = SymbolsHeader::ref_from_prefix(section).map_or(0, |(header, _)| header.reserved.get());
        expect(Rule::SymbolsPadding, Place::Byte(6), reserved.into(), 0)?;
        unused(&symbols.bits, Rule::SymbolsPadding, starts.end_bit(), length(section.len()) * 8)
    })
}
