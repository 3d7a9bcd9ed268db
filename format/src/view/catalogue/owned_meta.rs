//! A checked copy of a block's meta section and metric metadata.

use std::fmt;

use super::{BlockView, Meta, Metrics};
use crate::Result;
use crate::identity::BlockId;
use crate::layout::SectionKind;

/// A copy of a block's meta section and metric metadata that was checked against the block's checksums.
///
/// The bytes of a mapped file can change after they were verified: a bit flips, or a page is read from the disk again.
/// Content that is copied to another block is covered by the fingerprint; the rest is taken from here, so that damage
/// never gets a fresh checksum.
#[derive(Clone)]
pub struct OwnedMeta {
    block_id: BlockId,
    meta: Vec<u8>,
    /// Empty if the block has no metric metadata.
    metrics: Vec<u8>,
}

impl BlockView<'_> {
    /// Copies meta section and metric metadata, and checks the checksums of the copies.
    ///
    /// # Errors
    /// `Corrupt` with the rule of a checksum that is wrong, `PackedArena` if the metric metadata are packed and were
    /// not decoded.
    pub fn to_owned_meta(&self) -> Result<OwnedMeta> {
        let frame = self.frame();
        let metrics = match frame.has(SectionKind::MetricMetadata) {
            true => frame.copy(self.bytes(), SectionKind::MetricMetadata)?,
            // Decoded ones are in memory.
            false => self.metric_metadata().map(|_| self.metrics_section().to_vec())?,
        };
        Ok(OwnedMeta { block_id: self.block_id(), meta: frame.copy_meta(self.bytes())?, metrics })
    }
}

impl fmt::Debug for OwnedMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedMeta").field("block_id", &self.block_id).finish_non_exhaustive()
    }
}

impl OwnedMeta {
    /// Returns the id of the block.
    #[must_use]
    pub const fn block_id(&self) -> BlockId {
        self.block_id
    }

    /// Returns the meta section.
    ///
    /// # Errors
    /// `Corrupt` if the section is too short for its header.
    pub fn meta(&self) -> Result<Meta<'_>> {
        Meta::parse(&self.meta)
    }

    /// Returns the metric metadata; empty if the block has none.
    ///
    /// # Errors
    /// `Corrupt` if the section's header breaks a rule.
    pub fn metric_metadata(&self) -> Result<Metrics<'_>> {
        if self.metrics.is_empty() { Ok(Metrics::EMPTY) } else { Metrics::open(&self.metrics, None) }
    }

    /// Frees the copy of the metric metadata; [`metric_metadata`](Self::metric_metadata) is empty afterwards.
    pub fn forget_metric_metadata(&mut self) {
        self.metrics = Vec::new();
    }
}
