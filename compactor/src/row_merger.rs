//! Merges the rows of all keysets piece by piece, and assigns them to outputs.

use std::num::NonZeroU32;

use chronoxide_format::write::BuildError;
use chronoxide_publish::Spool;
use rayon::prelude::*;

use crate::CompactError;
use crate::batches::batches;
use crate::merge::{MergeContext, MergedRows, OpenKeyset, Piece, Run, Sharding, Tally, cut};
use crate::output::{OutputRows, PackedChunk, Uses, pack};
use crate::progress::{Phase, Watch};

/// Approximate number of codes that are merged at a time: 8 MiB as they are read, and 8 MiB merged.
const BATCH_CODES: u64 = 1 << 21;

/// Chunks per output. An output stays empty by at most one chunk, unless the next chunk is one long list.
const CHUNKS_AN_OUTPUT: u64 = 16;

/// Merges the rows of all keysets into outputs.
pub(crate) struct RowMerger<'a> {
    pub merging: &'a MergeContext<'a>,
    pub sharding: Option<Sharding>,
    /// Maximum number of series per output; `None` for the maximum of the format.
    pub max_series: Option<NonZeroU32>,
    pub with_codes: bool,
    /// Outputs by shard.
    pub outputs: Vec<Vec<OutputRows>>,
    pub tally: Tally,
    pub watch: &'a Watch<'a>,
}

impl<'a> RowMerger<'a> {
    pub(crate) fn merge_all(&mut self, spool: &mut Spool<'_>) -> Result<(), CompactError> {
        let keysets = self.merging.keysets.iter().zip(&self.merging.context.plan.keysets).enumerate();
        let keysets: Vec<(usize, u64, u64)> =
            keysets.map(|(number, (keyset, choice))| (number, keyset.rows, choice.width() as u64)).collect();
        let all: u64 = keysets.iter().map(|(_, rows, _)| rows).sum();
        let mut done = 0;
        for batch in batches(&keysets, BATCH_CODES, |(_, rows, width)| rows * width) {
            self.watch.progress(Phase::Rows, done, all)?;
            self.merge_batch(batch, spool, (done, all))?;
            done += batch.iter().map(|(_, rows, _)| rows).sum::<u64>();
        }
        self.watch.progress(Phase::Rows, done, all)
    }

    /// Merges some keysets: opens their sources in parallel, then merges their pieces in parallel, and keeps the order.
    fn merge_batch(
        &mut self,
        keysets: &[(usize, u64, u64)],
        spool: &mut Spool<'_>,
        (mut done, all): (u64, u64),
    ) -> Result<(), CompactError> {
        let merging = self.merging;
        let open = (keysets.par_iter())
            .map(|&(number, ..)| {
                let keyset = merging.open(number)?;
                let pieces = keyset.pieces()?;
                Ok((keyset, pieces))
            })
            .collect::<Result<Vec<(OpenKeyset<'a>, Vec<Piece>)>, CompactError>>()?;
        let mut pieces: Vec<(&OpenKeyset<'a>, &Piece)> = Vec::new();
        for (keyset, of_keyset) in &open {
            self.tally = self.tally.and(keyset.translated);
            pieces.extend(of_keyset.iter().map(|piece| (keyset, piece)));
        }
        for group in batches(&pieces, BATCH_CODES, |(keyset, piece)| (piece.len() * keyset.choice.width()) as u64) {
            self.watch.progress(Phase::Rows, done.min(all), all)?;
            done += group.iter().map(|(_, piece)| piece.len() as u64).sum::<u64>();
            let merged = (group.par_iter())
                .map(|(keyset, piece)| self.merge_piece(keyset, piece))
                .collect::<Result<Vec<(Vec<(u32, PackedChunk)>, Tally)>, CompactError>>()?;
            for ((keyset, _), (chunks, tally)) in group.iter().zip(merged) {
                self.tally = self.tally.and(tally);
                for (shard, chunk) in chunks {
                    self.keep(keyset.number, shard, chunk, spool)?;
                }
            }
        }
        Ok(())
    }

    /// Merges a piece, and packs its rows by shard, in chunks that are small compared with an output.
    fn merge_piece(
        &self,
        keyset: &OpenKeyset<'_>,
        piece: &Piece,
    ) -> Result<(Vec<(u32, PackedChunk)>, Tally), CompactError> {
        let merging = self.merging;
        let MergedRows { run, mut tally } = merging.merge_piece(keyset, piece)?;
        if run.len() == 0 {
            return Ok((Vec::new(), tally));
        }
        let pool = keyset.pool;
        let spread = match &self.sharding {
            Some(sharding) => sharding.spread(run, keyset.choice, pool),
            None => vec![(0, run)],
        };
        let most = self.most_series();
        let runs: Vec<(u32, Run)> = (spread.into_iter())
            .flat_map(|(shard, run)| {
                cut(run, pool, most / CHUNKS_AN_OUTPUT, most).into_iter().map(move |run| (shard, run))
            })
            .collect();
        let pack = |(shard, run): (u32, Run)| {
            let (chunk, duplicates) = pack(merging, keyset, &run, self.with_codes);
            tally.duplicates = tally.duplicates.and(duplicates);
            (shard, chunk)
        };
        Ok((runs.into_iter().map(pack).collect(), tally))
    }

    fn most_series(&self) -> u64 {
        self.max_series.map_or(u32::MAX, NonZeroU32::get).into()
    }

    /// Adds rows to the current output of their shard, or to a new one if they do not fit.
    fn keep(
        &mut self,
        keyset: usize,
        shard: u32,
        chunk: PackedChunk,
        spool: &mut Spool<'_>,
    ) -> Result<(), CompactError> {
        let most = self.most_series();
        let outputs = &mut self.outputs[shard as usize];
        if outputs.last().is_some_and(|output| output.series + chunk.uses.series > most) {
            if self.max_series.is_none() {
                return Err(BuildError::TooMany { what: "series", limit: u32::MAX }.into());
            }
            outputs.push(OutputRows::default());
        }
        let kept = chunk.keep(keyset, spool)?;
        if let Some(output) = outputs.last_mut() {
            output.chunks.push(kept);
            output.series += chunk.uses.series;
            let columns = chunk.uses.ranges.len();
            output.keysets.entry(keyset).or_insert_with(|| Uses::none(columns)).add(chunk.uses);
        }
        Ok(())
    }
}
