//! Widths and unused bits of the catalogue (spec, section 5).

use zerocopy::FromBytes;

use super::expect;
use crate::bits::{Bits, width};
use crate::error::{Place, corrupt};
use crate::layout::{CatalogueHeader, SectionKind};
use crate::number::length;
use crate::view::BlockView;
use crate::{Result, Rule};

pub(super) fn verify(view: &BlockView<'_>) -> Result<()> {
    let catalogue = &view.frame.catalogue;
    let section = view.frame().section(view.bytes(), SectionKind::Catalogue);
    let (header, _) = CatalogueHeader::ref_from_prefix(section)
        .map_err(|_| corrupt(Rule::CatalogueHeader, Place::Byte(0), length(section.len()), 0))?;
    verify_array(&view.catalogue, &catalogue.tables, header.table_widths)?;
    verify_array(&view.catalogue, &catalogue.columns, header.column_widths)?;
    verify_array(&view.catalogue, &catalogue.leaves, header.leaf_widths)?;
    verify_array(&view.catalogue, &catalogue.pools, header.pool_widths)?;
    verify_array(&view.catalogue, &catalogue.keysets, header.keyset_widths)?;
    verify_array(&view.catalogue, &catalogue.keys, header.key_widths)?;
    unused(&view.catalogue, Rule::CataloguePadding, catalogue.keys.slack().0, length(section.len()) * 8)
}

fn verify_array<const N: usize>(bits: &Bits<'_>, records: &crate::view::Records<N>, widths: [u8; N]) -> Result<()> {
    let mut widest = [0_u64; N];
    for number in 0..records.count {
        let Some(record) = records.get(bits, number) else { break };
        for (widest, field) in widest.iter_mut().zip(record?) {
            *widest = field.max(*widest);
        }
    }
    for (field, found) in widest.into_iter().zip(widths) {
        expect(Rule::CatalogueWidths, Place::Byte(24), found.into(), width(field).into())?;
    }
    let (from, to) = records.slack();
    unused(bits, Rule::CataloguePadding, from, to)
}

/// Refuses bits that are set where nothing is.
pub(super) fn unused(bits: &Bits<'_>, rule: Rule, from: u64, to: u64) -> Result<()> {
    match bits.first_set(from, to) {
        Some(byte) => Err(corrupt(rule, Place::Byte(byte), 1, 0)),
        None => Ok(()),
    }
}
