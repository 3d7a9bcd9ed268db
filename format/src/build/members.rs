//! Lists and anchors (spec, section 8).

use super::Records;
use super::graph::Graph;
use crate::bits::{BitWriter, width};
use crate::layout::RowForm;
use crate::number::{index, length, low32};

/// The anchors of a keyset, written once the pools are.
#[derive(Debug)]
pub(super) struct KeysetAnchors {
    pub keyset: usize,
    pub series_count: u32,
    pub anchors: Vec<u32>,
}

/// The members section; enters the pools' records and the places of anchors.
pub(super) fn write(graph: &Graph, anchors: &[KeysetAnchors], form: RowForm, records: &mut Records) -> Vec<u8> {
    if graph.pools.is_empty() {
        return Vec::new();
    }
    let mut writer = BitWriter::new();
    for pool in &graph.pools {
        let offset = writer.aligned_len();
        let end_width = width(length(pool.members.len()));
        for &end in &pool.ends {
            writer.push(end.into(), end_width);
        }
        writer.align();
        let rows = graph.tables.get(index(pool.table.0)).map_or(0, |table| table.fingerprints.len());
        let member_width = form.width(low32(length(rows)).saturating_sub(1));
        for &member in &pool.members {
            writer.push(member.into(), member_width);
        }
        let counts = (length(pool.lists.len()), length(pool.members.len()));
        records.pools.push([pool.table.0.into(), counts.0, counts.1, offset]);
    }
    for keyset in anchors {
        let offset = writer.aligned_len();
        for &anchor in &keyset.anchors {
            writer.push(anchor.into(), width(keyset.series_count.into()));
        }
        if let Some(record) = records.keysets.get_mut(keyset.keyset) {
            record[1] = offset;
        }
    }
    writer.finish()
}
