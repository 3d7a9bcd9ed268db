//! The stages of a compaction in their order: [`run`].

use chronoxide_format::identity::BlockId;
use chronoxide_publish::Spool;

use super::Summary;
use super::checks::Request;
use super::labels::Labels;
use super::merged::Planned;
use super::packed::{Packed, PublishRemap};
use super::pipeline::Pipeline;
use super::verified::Verified;
use crate::CompactError;
use crate::merge::AllLabelRows;
use crate::output::Draft;

/// Merges blocks, hands the outputs to `publish`, if it is given, and then the remaps to `publish_remap`.
///
/// Each stage borrows what the stages before it made. The observer is asked before each step and may cancel the run.
pub(crate) fn run<E: From<CompactError>>(
    request: Request<'_>,
    spool: &mut Spool<'_>,
    publish: Option<impl FnMut(u32, Draft<'_>) -> Result<BlockId, E>>,
    publish_remap: Option<PublishRemap<'_, E>>,
) -> Result<Summary, E> {
    let pipeline = &Pipeline::new(request, publish.is_some(), publish_remap.is_some());
    let verified = &Verified::new(pipeline)?;
    let labels = &Labels::merge(pipeline, verified)?;
    let rows = AllLabelRows::new(request.inputs, &labels.vocabulary);
    let (planned, filter) = Planned::choose(pipeline, verified, labels, &rows)?;
    let tables = planned.merge_tables(&rows)?;
    let merged = planned.merge_lists(&tables, filter)?;
    let packed = Packed::merge_rows(&merged, &rows, spool)?;
    // The labels of rows are most of what merging them keeps in memory.
    drop(rows);
    packed.publish(publish, publish_remap)
}
