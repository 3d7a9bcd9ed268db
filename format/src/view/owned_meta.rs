//! A verified copy of a block's meta section and metric metadata.

use std::fmt;

use super::{BlockView, Meta, Metrics};
use crate::Result;
use crate::identity::BlockId;
use crate::layout::SectionKind;

/// A copy of a block's meta section and metric metadata that was checked against the block's id (spec, section 11).
///
/// The bytes of a mapped file can change after they were verified: a bit flips, or a page is read from the disk again.
/// Content that is copied to another block is covered by the fingerprint; the rest is taken from here, so that damage
/// never gets a fresh checksum.
#[derive(Clone)]
pub struct OwnedMeta {
    block_id: BlockId,
    meta: Vec<u8>,
    /// Absent if the block has no metric metadata.
    metrics: Option<Vec<u8>>,
}

impl BlockView<'_> {
    /// Copies meta section and metric metadata, and checks that the block's id was derived from the copies. Costs a
    /// hash of both, of the catalogue and of other optional sections.
    ///
    /// # Errors
    /// `Corrupt` with rule `block-id` if the copies and the rest do not give the block's id.
    pub fn to_owned_meta(&self) -> Result<OwnedMeta> {
        let section = |kind| self.frame().section(self.bytes(), kind);
        let has_metrics = self.frame().has(SectionKind::MetricMetadata);
        let copy = OwnedMeta {
            block_id: self.block_id(),
            meta: section(SectionKind::Meta).to_vec(),
            metrics: has_metrics.then(|| section(SectionKind::MetricMetadata).to_vec()),
        };
        self.check_id_of(&copy.meta, copy.metrics.as_deref().unwrap_or_default())?;
        Ok(copy)
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
        self.metrics.as_deref().map_or(Ok(Metrics::EMPTY), |section| Metrics::open(section, None))
    }

    /// Frees the copy of the metric metadata; [`metric_metadata`](Self::metric_metadata) is empty afterwards.
    pub fn forget_metric_metadata(&mut self) {
        self.metrics = None;
    }
}
