//! Widths and unused bits of the catalogue (spec, section 5).

use zerocopy::FromBytes;

use super::expect;
use crate::bits::{Bits, width};
use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::{CatalogueHeader, SectionKind};
use crate::number::length;
use crate::view::{BlockView, Records};
use crate::{Result, Rule};

pub(super) fn verify(view: &BlockView<'_>) -> Result<()> {
    let catalogue = &view.frame.catalogue;
    let section = view.frame().section(view.bytes(), SectionKind::Catalogue);
    let (header, _) = CatalogueHeader::ref_from_prefix(section).map_err(|_| {
        corrupt(Rule::CatalogueHeader, Place::Byte(0), length(section.len()), length(size_of::<CatalogueHeader>()))
    })?;
    verify_shapes(view, header)?;
    view.canonical(|| {
        let rules = ArrayRules { widths: Rule::CatalogueWidths, widths_at: 24, padding: Rule::CataloguePadding };
        verify_array(&view.catalogue, &catalogue.keys, header.key_widths, rules)?;
        verify_array(&view.catalogue, &catalogue.tables, header.table_widths, rules)?;
        verify_array(&view.catalogue, &catalogue.pools, header.pool_widths, rules)?;
        verify_array(&view.catalogue, &catalogue.keysets, header.keyset_widths, rules)?;
        unused(&view.catalogue, Rule::CataloguePadding, catalogue.keysets.slack().0, length(section.len()) * 8)
    })
}

/// Shapes follow one another, and their fields have the widths of the largest values.
fn verify_shapes(view: &BlockView<'_>, header: &CatalogueHeader) -> Result<()> {
    let catalogue = &view.frame.catalogue;
    let shapes = &catalogue.shapes;
    let (mut end, mut widest) = (0, [0; 3]);
    for number in 0..catalogue.tables.count {
        let Some(record) = catalogue.tables.get(&view.catalogue, number) else { break };
        let [.., offset] = record?;
        let table = catalogue.keys.count + number;
        let place = Place::Table(table.into());
        expect(Rule::TableColumns, place, offset, end)?;
        let shape = shapes.get(&view.catalogue, table, offset)?;
        end = shapes.shape_end(&shape);
        let (mut most_domain, mut most_base, mut most_end) = (0, 0, 0);
        for column in 0..shape.column_count {
            let [domain, base, end_bit] = shape.column(&view.catalogue, column)?;
            most_domain = domain.max(most_domain);
            most_base = base.max(most_base);
            most_end = end_bit.max(most_end);
        }
        view.canonical(|| {
            expect(Rule::CatalogueWidths, place, shape.base_width.into(), width(most_base).into())?;
            expect(Rule::CatalogueWidths, place, shape.end_width.into(), width(most_end).into())
        })?;
        let fields = [shape.column_count.into(), shape.leaf_count.into(), most_domain];
        widest.iter_mut().zip(fields).for_each(|(widest, field)| *widest = field.max(*widest));
    }
    expect(Rule::TableColumns, Place::Block, shapes.bits(), end)?;
    view.canonical(|| {
        for (field, found) in widest.into_iter().zip(header.shape_widths) {
            expect(Rule::CatalogueWidths, Place::Byte(32), found.into(), width(field).into())?;
        }
        let (from, to) = shapes.slack();
        unused(&view.catalogue, Rule::CataloguePadding, from, to)
    })
}

/// Rules of an array of records.
#[derive(Clone, Copy)]
pub(super) struct ArrayRules {
    /// Rule for widths that do not fit the largest values.
    pub widths: Rule,
    /// First byte of the widths.
    pub widths_at: u64,
    /// Rule for unused bits that are set.
    pub padding: Rule,
}

/// Checks the widths of an array, and the bits after it up to the next whole byte.
pub(super) fn verify_array<const N: usize>(
    bits: &Bits<'_>,
    records: &Records<N>,
    widths: [u8; N],
    rules: ArrayRules,
) -> Result<()> {
    for (field, found) in widest(bits, records)?.into_iter().zip(widths) {
        expect(rules.widths, Place::Byte(rules.widths_at), found.into(), width(field).into())?;
    }
    let (from, to) = records.slack();
    unused(bits, rules.padding, from, to)
}

/// Returns the largest value of each field of an array.
pub(crate) fn widest<const N: usize>(bits: &Bits<'_>, records: &Records<N>) -> Result<[u64; N]> {
    let mut widest = [0_u64; N];
    for number in 0..records.count {
        let Some(record) = records.get(bits, number) else { break };
        for (widest, field) in widest.iter_mut().zip(record?) {
            *widest = field.max(*widest);
        }
    }
    Ok(widest)
}

/// Returns an error if an unused bit is set.
pub(super) fn unused(bits: &Bits<'_>, rule: Rule, from: u64, to: u64) -> Result<()> {
    match bits.first_set(from, to) {
        Some(byte) => Err(corrupt_at(rule, Place::Byte(byte))),
        None => Ok(()),
    }
}
