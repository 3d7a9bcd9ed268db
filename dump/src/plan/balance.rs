//! Bytes that factoring saved in the whole block.

use chronoxide_format::layout::SectionKind;
use chronoxide_format::view::BlockView;
use serde::Serialize;

use super::gain::difference;
use super::{KeysetGain, Uses};
use crate::summary::per;
use crate::tables::TableKind;

/// Size of the rows of all keysets without inner tables and lists, compared with the parts that replace them. Value
/// dictionaries are the same in both. The catalogue is shown beside it: its size in a plain block is unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Balance {
    /// Bytes of the rows of all keysets in plain form.
    pub plain_bytes: u64,
    /// Bytes of the rows of keyset tables.
    pub keyset_table_bytes: u64,
    /// Bytes of anchors.
    pub anchor_bytes: u64,
    /// Bytes of lists.
    pub list_bytes: u64,
    /// Bytes of the rows of shared tables.
    pub shared_table_bytes: u64,
    /// Bytes of the rows of maps.
    pub map_bytes: u64,
    /// Sum of the five sizes above.
    pub factored_bytes: u64,
    /// `plain_bytes` minus the sum above.
    pub saved_bytes: i64,
    /// Bytes per series; `None` for a block without series.
    pub saved_bytes_per_series: Option<f64>,
    /// Bytes of the catalogue section.
    pub catalogue_bytes: u64,
    /// Bytes per series of the factored rows and the catalogue; `None` for a block without series.
    pub bytes_per_series: Option<f64>,
}

impl Balance {
    pub(super) fn from_view(view: &BlockView<'_>, series: u32, keysets: &[KeysetGain], uses: &Uses) -> Self {
        let sum = |bytes: &mut dyn Iterator<Item = u64>| bytes.fold(0, u64::saturating_add);
        let tables = |kind| sum(&mut uses.tables.iter().filter(|used| used.kind == kind).map(|used| used.bytes));
        let plain_bytes = sum(&mut keysets.iter().map(|keyset| keyset.plain_bytes));
        let keyset_table_bytes = sum(&mut keysets.iter().map(|keyset| keyset.row_bytes));
        let anchor_bytes = sum(&mut keysets.iter().map(|keyset| keyset.anchor_bytes));
        let list_bytes = sum(&mut uses.pools.iter().map(|pool| pool.bytes));
        let (shared_table_bytes, map_bytes) = (tables(TableKind::Shared), tables(TableKind::Map));
        let factored = [keyset_table_bytes, anchor_bytes, list_bytes, shared_table_bytes, map_bytes];
        let factored_bytes = sum(&mut factored.into_iter());
        let saved_bytes = difference(plain_bytes, factored_bytes);
        let size = per(saved_bytes.unsigned_abs(), series.into());
        let catalogue = view.sections().find(|section| section.known() == Some(SectionKind::Catalogue));
        let catalogue_bytes = catalogue.map_or(0, |section| section.length);
        Self {
            plain_bytes,
            keyset_table_bytes,
            anchor_bytes,
            list_bytes,
            shared_table_bytes,
            map_bytes,
            factored_bytes,
            saved_bytes,
            saved_bytes_per_series: size.map(|size| if saved_bytes < 0 { -size } else { size }),
            catalogue_bytes,
            bytes_per_series: per(factored_bytes.saturating_add(catalogue_bytes), series.into()),
        }
    }
}
