//! [`SetQuery::each_distinct`]: selected series, each in the first block that has it; [`SetQuery::difference`].

use std::ops::Range;

use bitvec::vec::BitVec;
use chronoxide_format::SeriesRef;
use chronoxide_reader::FileError;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rayon::prelude::*;

use super::query::search;
use super::{BlockSelection, Partial, SetBlock, SetQuery, SetSelection};
use crate::results::project::RandomHash;
use crate::{Limits, Searcher, SelectError, Selection};

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

/// The selected series of a block.
type Selected<'q> = (&'q SetBlock, &'q Selection);

/// Comparison of the series of blocks, part by part.
struct Comparison<'q> {
    blocks: Vec<Selected<'q>>,
    limits: Limits<'q>,
    hash: RandomHash,
    parts: Range<usize>,
    /// For each block, and each of its selected series, whether no block before has it.
    is_first: Vec<BitVec>,
    /// Errors of damaged blocks.
    errors: Vec<Option<FileError<SelectError>>>,
}

impl<'q> Comparison<'q> {
    /// Returns those series of each block that no sound block before it has, and the errors of damaged blocks, which
    /// have none.
    fn firsts(
        blocks: Vec<Selected<'q>>,
        limits: Limits<'q>,
    ) -> Result<Vec<Result<Selection, FileError<SelectError>>>, SelectError> {
        let counts = || blocks.iter().map(|(_, series)| series.count());
        // Half of the memory is for the blocks that are read, and half for the hashes that are known.
        let read = u64::from(counts().max().unwrap_or(0)) * rayon::current_num_threads() as u64 * SERIES_SIZE;
        let parts = (PARTS as u64 * (limits.max_memory() / 2) / read.max(1)).clamp(1, PARTS as u64) as usize;
        let is_first = counts().map(|count| BitVec::repeat(false, count as usize)).collect();
        let errors = blocks.iter().map(|_| None).collect();
        let mut comparison = Self { blocks, limits, hash: RandomHash::new(), parts: 0..parts, is_first, errors };
        while !comparison.parts.is_empty() {
            comparison.pass()?;
            let Range { start, end } = comparison.parts;
            comparison.parts = end..PARTS.min(end + (end - start));
        }
        let Self { blocks, is_first, errors, .. } = comparison;
        let firsts = blocks.into_iter().zip(is_first).zip(errors).map(|(((_, series), is_first), error)| {
            let refs = series.iter().zip(&is_first).filter(|(_, is_first)| **is_first);
            let ranges = refs.map(|(SeriesRef(series), _)| series..series + 1);
            error.map_or_else(|| Ok(Selection::from_ranges(ranges.collect())), Err)
        });
        Ok(firsts.collect())
    }

    /// Marks the series whose hashes are in some parts and that no block before has. If these take too much memory, the
    /// last parts are left for a later pass.
    fn pass(&mut self) -> Result<(), SelectError> {
        let Self { blocks, limits, hash, parts, is_first, errors } = self;
        let mut known: Vec<HashTable<Hash>> = parts.clone().map(|_| HashTable::new()).collect();
        let threads = rayon::current_num_threads();
        for ((blocks, is_first), errors) in
            blocks.chunks(threads).zip(is_first.chunks_mut(threads)).zip(errors.chunks_mut(threads))
        {
            let read = blocks.par_iter().map(|(block, series)| {
                search(block, *limits, |searcher| series_by_part(searcher, series, *hash, parts))
            });
            let mut sound = Vec::with_capacity(blocks.len());
            for ((series, is_first), error) in
                read.collect::<Result<Vec<_>, _>>()?.into_iter().zip(is_first).zip(errors)
            {
                match series {
                    Ok(series) => sound.push((series, is_first)),
                    Err(damage) => *error = Some(damage),
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
            while known.len() > 1 && memory(&known) > limits.max_memory() / 2 {
                known.truncate(known.len() / 2);
                parts.end = parts.start + known.len();
            }
        }
        Ok(())
    }
}

/// Series of two selections, compared by their labels: see [`SetQuery::difference`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SetDifference<T> {
    /// Series of the first that both have, each once.
    pub same: Vec<BlockSelection>,
    /// Series that the first alone has, each once, and what was read of them.
    pub gone: Vec<(BlockSelection, T)>,
    /// Series that the second alone has, each once, and what was read of them.
    pub came: Vec<(BlockSelection, T)>,
    /// Errors of damaged blocks of either, whose series are missing.
    pub failed: [Vec<FileError<SelectError>>; 2],
}

impl<'a> SetQuery<'a> {
    /// Calls `read` with each block of a selection, on all threads, and with those of its series that no block before
    /// it has: each labelset once. Returns the results of blocks with such series, in order.
    ///
    /// A block in which `read` meets damage is left out, and the others are read again without it: the series that it
    /// shares with them are not lost.
    ///
    /// Series are compared by hashes of 128 bits with a random key. No labelsets of sound blocks can be constructed to
    /// be taken for one, and of 10^9 series two are by chance once in 10^20 queries. Costs some 50 ns per series and
    /// block, and nothing for a single block. Takes some 40 bytes of memory per distinct series, and 32 per series of
    /// the blocks that threads read; what is more than the [limit](Limits::with_max_memory) is done in passes, at most
    /// 256, that read the blocks again.
    ///
    /// # Errors
    /// [`SelectError::OtherSnapshot`], and errors of the [`Limits`].
    pub fn each_distinct<T: Send>(
        &self,
        selection: &SetSelection,
        read: impl Fn(&Searcher<'_, 'a>, &Selection) -> Result<T, SelectError> + Sync,
    ) -> Result<Partial<Vec<T>>, SelectError> {
        let mut blocks: Vec<&BlockSelection> = selection.blocks().iter().collect();
        let mut failed = Vec::new();
        loop {
            let distinct = match &blocks[..] {
                [] => Vec::new(),
                [only] => vec![(*only).clone()],
                _ => {
                    let firsts = Comparison::firsts(self.selected(selection, &blocks)?, self.limits)?;
                    sound(&mut blocks, firsts, &mut failed)
                }
            };
            if let Some(found) = self.read_sound(selection, distinct, &mut blocks, &mut failed, &read)? {
                return Ok(Partial { found: found.into_iter().map(|(_, read)| read).collect(), failed });
            }
        }
    }

    /// Compares the series of a selection with those of another, of the same blocks or of others, and calls `read` with
    /// the series that one alone has, as [`SetQuery::each_distinct`] does. Costs twice as much as that for the blocks
    /// of both.
    ///
    /// # Errors
    /// As [`SetQuery::each_distinct`]. The limits are those of this query.
    pub fn difference<T: Send>(
        &self,
        selection: &SetSelection,
        (other, others): (&SetQuery<'a>, &SetSelection),
        read: impl Fn(&Searcher<'_, 'a>, &Selection) -> Result<T, SelectError> + Sync,
    ) -> Result<SetDifference<T>, SelectError> {
        let mut blocks = [selection, others].map(|side| side.blocks().iter().collect::<Vec<_>>());
        let mut failed = [Vec::new(), Vec::new()];
        loop {
            let selected = [self.selected(selection, &blocks[0])?, other.selected(others, &blocks[1])?];
            // The first series of one side's blocks, after all of the other side's, are its own.
            let after = |first: usize, second: usize| -> Result<_, SelectError> {
                let mut firsts = Comparison::firsts([&selected[first][..], &selected[second]].concat(), self.limits)?;
                let own = firsts.split_off(selected[first].len());
                Ok((firsts, own))
            };
            let ((all, came), (_, gone)) = (after(0, 1)?, after(1, 0)?);
            let both = blocks[0].iter().zip(all).zip(&gone).filter_map(|((block, all), gone)| {
                let series = all.ok()?.difference(gone.as_ref().ok()?);
                (!series.is_empty()).then_some(BlockSelection { block: block.block, series })
            });
            let same = both.collect();
            let gone = sound(&mut blocks[0], gone, &mut failed[0]);
            let came = sound(&mut blocks[1], came, &mut failed[1]);
            let gone = self.read_sound(selection, gone, &mut blocks[0], &mut failed[0], &read)?;
            let came = other.read_sound(others, came, &mut blocks[1], &mut failed[1], &read)?;
            if let (Some(gone), Some(came)) = (gone, came) {
                return Ok(SetDifference { same, gone, came, failed });
            }
        }
    }

    /// Calls `read` with blocks. If it meets damage, returns `None`, and the damaged ones are moved from `blocks` to
    /// `failed`.
    fn read_sound<T: Send>(
        &self,
        selection: &SetSelection,
        selected: Vec<BlockSelection>,
        blocks: &mut Vec<&BlockSelection>,
        failed: &mut Vec<FileError<SelectError>>,
        read: &(impl Fn(&Searcher<'_, 'a>, &Selection) -> Result<T, SelectError> + Sync),
    ) -> Result<Option<Vec<(BlockSelection, T)>>, SelectError> {
        let results = self.read_blocks(selection, &selected, |searcher, block| read(searcher, &block.series))?;
        let (mut found, before) = (Vec::with_capacity(selected.len()), failed.len());
        for (block, result) in selected.into_iter().zip(results) {
            match result {
                Ok(result) => found.push((block, result)),
                Err(error) => {
                    blocks.retain(|other| other.block != block.block);
                    failed.push(error);
                }
            }
        }
        Ok((failed.len() == before).then_some(found))
    }

    /// Returns blocks of a selection with their series.
    fn selected<'q>(
        &self,
        selection: &SetSelection,
        blocks: &[&'q BlockSelection],
    ) -> Result<Vec<Selected<'q>>, SelectError>
    where
        'a: 'q,
    {
        blocks.iter().map(|block| Ok((self.block(selection, block)?, &block.series))).collect()
    }
}

/// Returns the sound blocks with their first series, if they have any. Damaged ones are moved to `failed`.
fn sound(
    blocks: &mut Vec<&BlockSelection>,
    firsts: Vec<Result<Selection, FileError<SelectError>>>,
    failed: &mut Vec<FileError<SelectError>>,
) -> Vec<BlockSelection> {
    let mut sound = Vec::with_capacity(blocks.len());
    let mut firsts = firsts.into_iter();
    blocks.retain(|block| match firsts.next() {
        Some(Ok(series)) => {
            sound.extend((!series.is_empty()).then_some(BlockSelection { block: block.block, series }));
            true
        }
        Some(Err(error)) => {
            failed.push(error);
            false
        }
        None => false,
    });
    sound
}
