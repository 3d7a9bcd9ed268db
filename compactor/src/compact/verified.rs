//! [`Verified`]: inputs whose every byte was checked, and their meta.

use std::sync::Arc;

use chronoxide_format::view::OwnedMeta;
use chronoxide_format::write::BlockMeta;

use super::balance::Totals;
use super::checks::{check_names, check_options};
use super::pipeline::Pipeline;
use super::planning::Planning;
use crate::columns::MergedColumns;
use crate::error::InInput;
use crate::external::Lifted;
use crate::hashing::Hashes;
use crate::memory::Need;
use crate::progress::Phase;
use crate::{CompactError, meta};

/// The first stage: verified inputs.
pub(super) struct Verified<'a> {
    pub totals: Totals,
    pub planning: Planning,
    /// Memory of all steps, unless something is translated.
    pub memory: Need,
    pub metas: Vec<OwnedMeta>,
    /// Meta of the outputs, apart from what follows from their rows.
    pub meta: BlockMeta,
    /// External labels that become labels of series.
    pub lifted: Lifted,
    /// Hashes of the values of hashed labels.
    pub hashes: Hashes,
    pub columns: MergedColumns<'a>,
}

impl<'a> Verified<'a> {
    /// Checks the inputs, from the cheapest check to the dearest: options, catalogues, then every byte. Merges their
    /// meta.
    ///
    /// # Errors
    /// Options that contradict each other, inputs that could exceed the memory limit or cannot be merged, and the first
    /// damaged input.
    pub(super) fn new(pipeline: &Pipeline<'a>) -> Result<Self, CompactError> {
        let (inputs, options) = (pipeline.inputs(), pipeline.options());
        check_options(options)?;
        let ((planning, memory), totals) = pipeline.time(Phase::Verify, || verify(pipeline))?;
        pipeline.time(Phase::Tables, || {
            let (metas, metrics) = meta::copy(inputs)?;
            let columns = match pipeline.has_outputs {
                true => MergedColumns::new(inputs, &metas, options)?,
                false => MergedColumns::default(),
            };
            let (mut meta, lifted) = meta::merge(&metas, options)?;
            meta.metrics = metrics;
            if let [only] = inputs
                && pipeline.has_outputs
                && pipeline.is_one_output()
            {
                // Only a copy has the series and refs that sections of unknown kinds are about.
                meta.carried = only.carried_sections().in_input(0)?.map(Arc::new);
            }
            check_names(meta.policy, options)?;
            let hashes = Hashes::new(inputs, &options.rewrite.hash_labels)?;
            Ok(Self { totals, planning, memory, metas, meta, lifted, hashes, columns })
        })
    }
}

/// Verifies the inputs, unless the merge could exceed the memory limit.
fn verify(pipeline: &Pipeline<'_>) -> Result<((Planning, Need), Totals), CompactError> {
    let foreseen = pipeline.request.foresee(pipeline.has_outputs, pipeline.has_remaps);
    if let Ok((_, need)) = &foreseen {
        need.check(pipeline.options())?;
    }
    // Without an estimate an input is damaged: verification names the rule that it breaks.
    let totals = Totals::from_inputs(pipeline.inputs(), &pipeline.watch)?;
    Ok((foreseen?, totals))
}
