//! [`SetQuery::each_distinct`]: selected series, each in the first block that has it.

use std::collections::BTreeMap;
use std::ops::Range;

use bitvec::vec::BitVec;
use chronoxide_format::SeriesRef;
use chronoxide_reader::FileError;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rayon::prelude::*;

use super::{BlockSelection, Partial, SetQuery, SetSelection};
use crate::results::project::RandomHash;
use crate::{Searcher, SelectError, Selection};

/// Parts of all hashes, by their first byte: the table of one fits in the caches of a processor, and is on one thread.
const PARTS: usize = 256;
/// Bytes of a series of a block that is read, with room to grow.
const SERIES_SIZE: u64 = 32;

/// A hash of 128 bits with a random key.
type Hash = [u64; 2];

/// Returns the hashes of the selected series of a block that are in some parts, by part, each with the number of the
/// series among those of the block.
fn series_by_part(
    searcher: &Searcher<'_, '_>,
    selection: &Selection,
    hash: RandomHash,
    parts: &Range<usize>,
) -> Result<Vec<Vec<(Hash, u32)>>, SelectError> {
    let mut by_part = vec![Vec::new(); parts.len()];
    let mut number = 0;
    searcher.each_random_hash(selection, hash, |hash| {
        let part = (hash[0] >> 56) as usize;
        if let Some(series) = part.checked_sub(parts.start).and_then(|part| by_part.get_mut(part)) {
            series.push((hash, number));
        }
        number += 1;
    })?;
    Ok(by_part)
}

/// Adds series to those that are known, and returns the numbers of the new ones.
fn add(known: &mut HashTable<Hash>, series: &[(Hash, u32)]) -> Vec<u32> {
    let short = |hash: &Hash| hash[1];
    let mut is_new = |hash: Hash| match known.entry(short(&hash), |other| *other == hash, short) {
        Entry::Occupied(_) => false,
        Entry::Vacant(place) => {
            place.insert(hash);
            true
        }
    };
    series.iter().filter_map(|&(hash, number)| Some(number).filter(|_| is_new(hash))).collect()
}

impl<'a> SetQuery<'a> {
    /// Calls `read` with each block of a selection, on all threads, and with those of its series that no block before
    /// it has: each labelset once. Returns the results of blocks with such series, in order.
    ///
    /// A block in which `read` meets damage is left out, and the others are read again without it: the series that it
    /// shares with them are not lost.
    ///
    /// Series are compared by hashes of 128 bits with a random key. No labelsets can be constructed to be taken for
    /// one, and of 10^9 series two are by chance once in 10^20 queries. Costs some 50 ns per series and block, and
    /// nothing for a single block. Takes some 40 bytes of memory per distinct series, and 32 per series of the blocks
    /// that threads read; what is more than the [limit](crate::Limits::with_max_memory) is done in passes, at most
    /// 256, that read the blocks again.
    ///
    /// # Errors
    /// [`SelectError::OtherSnapshot`], and errors of the [`Limits`](crate::Limits).
    pub fn each_distinct<T: Send>(
        &self,
        selection: &SetSelection,
        read: impl Fn(&Searcher<'_, 'a>, &Selection) -> Result<T, SelectError> + Sync,
    ) -> Result<Partial<Vec<T>>, SelectError> {
        let mut blocks: Vec<&BlockSelection> = selection.blocks().iter().collect();
        let mut failed = Vec::new();
        loop {
            let distinct: Vec<BlockSelection> = match &blocks[..] {
                [] => Vec::new(),
                [only] => vec![(*only).clone()],
                _ => self.distinct(selection, &mut blocks, &mut failed)?,
            };
            let results = self.read_blocks(selection, &distinct, |searcher, block| read(searcher, &block.series))?;
            let (mut found, mut damaged) = (Vec::new(), Vec::new());
            for (block, result) in distinct.iter().zip(results) {
                match result {
                    Ok(result) => found.push(result),
                    Err(error) => {
                        damaged.push(block.block);
                        failed.push(error);
                    }
                }
            }
            if damaged.is_empty() {
                return Ok(Partial { found, failed });
            }
            blocks.retain(|block| !damaged.contains(&block.block));
        }
    }

    /// Returns the series of blocks that no block before has. Damaged blocks are left out.
    fn distinct(
        &self,
        selection: &SetSelection,
        blocks: &mut Vec<&BlockSelection>,
        failed: &mut Vec<FileError<SelectError>>,
    ) -> Result<Vec<BlockSelection>, SelectError> {
        let counts = || blocks.iter().map(|block| block.series.count());
        // Half of the memory is for the blocks that are read, and half for the hashes that are known.
        let read = u64::from(counts().max().unwrap_or(0)) * rayon::current_num_threads() as u64 * SERIES_SIZE;
        let parts = (PARTS as u64 * (self.limits.max_memory() / 2) / read.max(1)).clamp(1, PARTS as u64) as usize;
        let mut comparison = Comparison {
            hash: RandomHash::new(),
            parts: 0..parts,
            is_first: counts().map(|count| BitVec::repeat(false, count as usize)).collect(),
            errors: BTreeMap::new(),
        };
        while !comparison.parts.is_empty() {
            self.compare(selection, blocks, &mut comparison)?;
            let Range { start, end } = comparison.parts;
            comparison.parts = end..PARTS.min(end + (end - start));
        }
        let Comparison { is_first, mut errors, .. } = comparison;
        let firsts = blocks.iter().zip(&is_first).map(|(block, is_first)| {
            let refs = block.series.iter().zip(is_first).filter(|(_, is_first)| **is_first);
            let series = Selection::from_ranges(refs.map(|(SeriesRef(series), _)| series..series + 1).collect());
            BlockSelection { block: block.block, series }
        });
        let firsts = firsts.filter(|block| !block.series.is_empty()).collect();
        blocks.retain(|block| match errors.remove(&block.block) {
            Some(error) => {
                failed.push(error);
                false
            }
            None => true,
        });
        Ok(firsts)
    }

    /// Marks the series whose hashes are in some parts and that no block before has. If these take too much memory, the
    /// last parts are left for a later pass.
    fn compare(
        &self,
        selection: &SetSelection,
        blocks: &[&BlockSelection],
        comparison: &mut Comparison,
    ) -> Result<(), SelectError> {
        let Comparison { hash, parts, is_first, errors } = comparison;
        let mut known: Vec<HashTable<Hash>> = parts.clone().map(|_| HashTable::new()).collect();
        let threads = rayon::current_num_threads();
        for (blocks, is_first) in blocks.chunks(threads).zip(is_first.chunks_mut(threads)) {
            let read = self.read_blocks(selection, blocks, |searcher, block| {
                series_by_part(searcher, &block.series, *hash, parts)
            })?;
            let mut sound = Vec::with_capacity(blocks.len());
            for ((block, is_first), series) in blocks.iter().zip(is_first).zip(read) {
                match series {
                    Ok(series) => sound.push((series, is_first)),
                    Err(error) => drop(errors.insert(block.block, error)),
                }
            }
            // Each part sees the blocks in their order.
            let new = known
                .par_iter_mut()
                .enumerate()
                .map(|(part, known)| sound.iter().map(|(series, _)| add(known, &series[part])).collect::<Vec<_>>());
            for new in new.collect::<Vec<_>>() {
                for ((_, is_first), numbers) in sound.iter_mut().zip(new) {
                    numbers.into_iter().for_each(|number| is_first.set(number as usize, true));
                }
            }
            let memory =
                |known: &[HashTable<Hash>]| known.iter().map(|part| part.allocation_size() as u64).sum::<u64>();
            while known.len() > 1 && memory(&known) > self.limits.max_memory() / 2 {
                known.truncate(known.len() / 2);
                parts.end = parts.start + known.len();
            }
        }
        Ok(())
    }
}

/// Comparison of the series of blocks, part by part.
struct Comparison {
    hash: RandomHash,
    parts: Range<usize>,
    /// For each block, and each of its selected series, whether no block before has it.
    is_first: Vec<BitVec>,
    /// Errors of damaged blocks.
    errors: BTreeMap<usize, FileError<SelectError>>,
}
