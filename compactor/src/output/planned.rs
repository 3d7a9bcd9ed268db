//! Outputs that are planned afresh, with all rows in memory.

use chronoxide_format::write::{BlockBuilder, BlockMeta};
use chronoxide_planner::{Content, KeysetRows, Layout, plan};
use chronoxide_publish::Contents;
use rayon::prelude::*;

use super::draft::Draft;
use super::rows::OutputRows;
use super::used::Used;
use crate::CompactError;
use crate::merge::MergeContext;

impl<'a> Draft<'a> {
    /// Plans the rows, which must be plain, and builds the block in memory.
    pub(crate) fn planned(
        merging: &MergeContext<'_>,
        rows: &OutputRows,
        contents: Contents<'_>,
        is_all_used: bool,
        meta: &BlockMeta,
    ) -> Result<Self, CompactError> {
        let used = Used::by(merging, rows, is_all_used);
        let mut content = Content { value_counts: used.value_counts(), ..Content::default() };
        for number in rows.keysets.keys() {
            let choice = &merging.context.plan.keysets[*number];
            let parts = || choice.prefix.iter().map(|&part| used.ranks(part));
            let widths = merging.widths(choice);
            let chunks: Vec<_> = rows.chunks.iter().filter(|chunk| chunk.keyset == *number).collect();
            let read = (chunks.par_iter())
                .map(|chunk| {
                    let mut codes = chunk.read(&contents, &widths)?;
                    for row in codes.chunks_exact_mut(widths.len()) {
                        row.iter_mut().zip(parts()).for_each(|(code, ranks)| *code = ranks.get(*code));
                    }
                    Ok(codes)
                })
                .collect::<Result<Vec<Vec<u32>>, CompactError>>()?;
            let keys = merging.keys(*number).iter().map(|&key| used.key(key)).collect();
            content.keysets.push(KeysetRows { keys, rows: read.concat() });
        }
        let (_, factored) = plan(&content);
        let mut builder = BlockBuilder::new(Layout::Factored.row_form());
        used.push_labels(merging, &mut builder)?;
        let refs = factored.write(content.value_counts.len() as u32, &mut builder)?;
        let prepared = builder.prepare(meta)?;
        // The planner factored the rows: the series must still be the same.
        let is_balanced = prepared.fingerprint() == rows.fingerprint();
        if !is_balanced || prepared.series_count() != rows.series {
            return Err(CompactError::Unbalanced {
                series_in: rows.series,
                duplicates: 0,
                dropped: 0,
                series_out: prepared.series_count(),
                fingerprints: if is_balanced { "equal" } else { "different" },
            });
        }
        Ok(Self::whole(prepared, refs))
    }
}
