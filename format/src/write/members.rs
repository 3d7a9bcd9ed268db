//! Lists and anchors (spec, section 8).

use std::io;

use super::Records;
use super::graph::Graph;
use crate::bits::{BitWriter, width};
use crate::layout::ANCHOR_ROWS;
use crate::number::{index, length, low32};

/// The anchors of a keyset. They are written after the pools.
#[derive(Debug)]
pub(super) struct Anchors {
    keyset: usize,
    series_count: u32,
    /// Number of anchors.
    count: u32,
    /// Empty while they are not known.
    series_before: Vec<u32>,
}

impl Anchors {
    /// Anchors that are there.
    pub(super) fn known(series_before: Vec<u32>) -> Self {
        Self { keyset: 0, series_count: 0, count: low32(length(series_before.len())), series_before }
    }

    /// Returns the anchors of `row_count` rows that are written later.
    pub(super) const fn open(row_count: u32) -> Self {
        Self { keyset: 0, series_count: 0, count: row_count.div_ceil(ANCHOR_ROWS), series_before: Vec::new() }
    }

    pub(super) fn for_keyset(self, keyset: usize, series_count: u32) -> Self {
        Self { keyset, series_count, ..self }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.series_before.is_empty()
    }

    pub(super) fn fill(&mut self, series_before: Vec<u32>) -> io::Result<()> {
        if series_before.len() != index(self.count) {
            return Err(io::Error::other(format!("{} anchors where {} are due", series_before.len(), self.count)));
        }
        self.series_before = series_before;
        Ok(())
    }

    fn len(&self) -> u64 {
        (u64::from(self.count) * u64::from(width(self.series_count.into()))).div_ceil(8)
    }
}

/// Returns the pools of the members section, and the length of all of it; enters the pools' records and the places of
/// anchors.
pub(super) fn write(graph: &mut Graph, anchors: &[Anchors], records: &mut Records) -> (Vec<u8>, u64) {
    if graph.pools.is_empty() {
        return (Vec::new(), 0);
    }
    let mut writer = BitWriter::new();
    for pool in &mut graph.pools {
        let offset = writer.aligned_len();
        let member_count = pool.ends.last().copied().unwrap_or(0);
        let end_width = width(member_count.into());
        for &end in &pool.ends {
            writer.push(end.into(), end_width);
        }
        writer.align();
        let members = std::mem::take(&mut pool.members);
        let bit_len = members.bit_len();
        writer.append(&members.finish_aligned(), bit_len);
        let low_width = pool.coding.low_width.into();
        records.pools.push([pool.table.0.into(), length(pool.lists.len()), member_count.into(), low_width, offset]);
    }
    let mut end = writer.aligned_len();
    for keyset in anchors {
        if let Some(record) = records.keysets.get_mut(keyset.keyset) {
            record[1] = end;
        }
        end += keyset.len();
    }
    (writer.finish_aligned(), end + 8)
}

/// Returns the anchors of all keysets, which follow the pools and close the section.
pub(super) fn anchors(anchors: &[Anchors]) -> Vec<u8> {
    let mut writer = BitWriter::new();
    for keyset in anchors {
        for &anchor in &keyset.series_before {
            writer.push(anchor.into(), width(keyset.series_count.into()));
        }
        writer.align();
    }
    writer.finish()
}
