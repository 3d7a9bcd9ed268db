//! Examines blocks that this process did not merge: they go only with proof of their content.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_reader::BlockId;
use chronoxide_reader::lineage::{DeletionOrder, HiddenBlocks, Lineage, Reason, deletion_order, hidden_blocks};

use super::proof::Unproven;

/// Proofs with the same live blocks, before the remaining jobs are proved in few parts: each proof reads these blocks,
/// and there may be as many as jobs. One false claim among a thousand jobs takes 21 proofs.
const MAX_PROOFS: usize = 32;

/// Times that proofs may read each block on average: claims can give each of many blocks its own set of holders.
const MAX_READS: usize = 64;

/// Hidden blocks that others claim to hold, and that are kept.
#[derive(Debug)]
#[non_exhaustive]
pub struct Kept {
    /// Keys of the blocks.
    pub blocks: Vec<String>,
    /// Live blocks that hold the series of these blocks, if lineage is true.
    pub holders: Vec<String>,
    /// Reason why they are kept.
    pub reason: Unproven,
}

/// Blocks that can be deleted, and blocks that are kept.
#[derive(Debug, Default)]
pub(crate) struct Examined {
    /// Keys of blocks whose series are proved to be in live blocks, in an order of deletion that is safe if it is
    /// stopped.
    pub(crate) order: Vec<String>,
    pub(crate) kept: Vec<Kept>,
}

/// Proves that the blocks of the first list hold all series of those of the second. An error stops the deletion.
pub(crate) type Prove<'a, E> = dyn FnMut(&[usize], &[usize]) -> Result<Result<(), Unproven>, E> + 'a;

/// Examines the hidden blocks that are due, by their keys and lineages. `prove` reads the blocks at the places of its
/// second argument, and proves that the live blocks at those of its first hold all their series; lineage only says
/// which blocks to read.
///
/// Blocks that the same live blocks hold are proved together. If that fails, each half of their jobs is, and so on, so
/// that a false claim keeps few others.
pub(crate) fn examine<E>(
    blocks: &[(String, Lineage)],
    is_due: &dyn Fn(&str, Reason) -> bool,
    prove: &mut Prove<'_, E>,
) -> Result<Examined, E> {
    let lineages: Vec<&Lineage> = blocks.iter().map(|(_, lineage)| lineage).collect();
    let mut by_holders: BTreeMap<Vec<usize>, Vec<Vec<usize>>> = BTreeMap::new();
    for HiddenBlocks { reason, blocks: mut hidden, holders, .. } in hidden_blocks(&lineages) {
        hidden.retain(|place| is_due(&blocks[*place].0, reason));
        if !hidden.is_empty() {
            by_holders.entry(holders).or_default().push(hidden);
        }
    }
    let keys = |places: &[usize]| -> Vec<String> { places.iter().map(|place| blocks[*place].0.clone()).collect() };
    let (mut proved, mut kept) = (BTreeSet::new(), Vec::new());
    let mut reads = blocks.len().saturating_mul(MAX_READS);
    for (holders, groups) in by_holders {
        let read_only = holders.iter().find(|place| lineages[**place].is_read_only);
        let mut prove = |hidden: &[usize]| match read_only {
            Some(place) => Ok(Err(Unproven::ReadOnly { path: blocks[*place].0.clone().into() })),
            None if holders.is_empty() => Ok(Err(Unproven::StillNeeded)),
            None => prove(&holders, hidden),
        };
        let mut attempts = 0;
        let mut waiting = vec![&groups[..]];
        while let Some(groups) = waiting.pop() {
            let hidden = groups.concat();
            attempts += 1;
            let count = holders.len() + hidden.len();
            let result = if count <= reads { prove(&hidden)? } else { Err(Unproven::Postponed) };
            reads = reads.saturating_sub(count);
            match result {
                Ok(()) => proved.extend(hidden.into_iter().map(|place| lineages[place].id)),
                Err(_) if groups.len() > 1 && attempts < MAX_PROOFS => {
                    let (first, second) = groups.split_at(groups.len() / 2);
                    waiting.extend([second, first]);
                }
                Err(reason) => kept.push(Kept { blocks: keys(&hidden), holders: keys(&holders), reason }),
            }
        }
    }
    let DeletionOrder { order, needed, .. } = deletion_order(&lineages, &proved);
    let needed: BTreeSet<BlockId> = needed.into_iter().collect();
    let needed = blocks.iter().filter(|(_, lineage)| needed.contains(&lineage.id));
    kept.extend(needed.map(|(key, _)| Kept {
        blocks: vec![key.clone()],
        holders: Vec::new(),
        reason: Unproven::StillNeeded,
    }));
    Ok(Examined { order: keys(&order), kept })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use chronoxide_reader::Job;

    use super::*;

    fn block(kind: u8, number: usize, job: Option<(u8, usize, u32, u32)>, parents: Vec<BlockId>) -> (String, Lineage) {
        let job = job.map(|(kind, number, output, output_count)| Job { id: id(kind, number).0, output, output_count });
        let lineage = Lineage {
            id: id(kind, number),
            job,
            parents,
            ancestors: Vec::new(),
            series_count: 1,
            is_read_only: false,
            is_rewritten: false,
        };
        (format!("{kind}-{number}.cx"), lineage)
    }

    fn id(kind: u8, number: usize) -> BlockId {
        let mut bytes = [kind; 16];
        bytes[1..9].copy_from_slice(&(number as u64).to_be_bytes());
        BlockId(bytes)
    }

    /// Each of many blocks was merged by its own job, and one job merged their outputs into as many blocks. One of the
    /// blocks has a series that none of these has.
    #[test]
    fn one_false_claim_among_many_takes_few_proofs() {
        const COUNT: usize = 300;
        let mut blocks = Vec::new();
        for number in 0..COUNT {
            blocks.push(block(1, number, None, Vec::new()));
            blocks.push(block(2, number, Some((4, number, 0, 1)), vec![id(1, number)]));
            let all = (0..COUNT).map(|number| id(2, number)).collect();
            blocks.push(block(3, number, Some((5, 0, number as u32, COUNT as u32)), all));
        }
        let (mut proofs, mut read) = (0, 0);
        let lie = "1-77.cx";
        let is_lie = |place: &usize| blocks[*place].0 == lie;
        let examined = examine(&blocks, &|_, _| true, &mut |holders, hidden| {
            proofs += 1;
            read += holders.len() + hidden.len();
            Ok::<_, Infallible>(if hidden.iter().any(is_lie) { Err(Unproven::Missing { series: 1 }) } else { Ok(()) })
        });
        let Examined { order, kept } = examined.unwrap_or_else(|never| match never {});
        assert!(proofs <= 21 && read <= 25 * blocks.len(), "{proofs} proofs read {read} blocks");
        // The block, and the output without which it would be live again.
        let kept: Vec<&String> = kept.iter().flat_map(|kept| &kept.blocks).collect();
        assert_eq!(kept, [lie, "2-77.cx"]);
        assert_eq!(order.len(), 2 * COUNT - 2);
    }

    /// Each of many blocks has its own set of as many holders.
    #[test]
    fn proofs_have_a_bound_in_all() {
        const COUNT: usize = 300;
        let mut blocks = Vec::new();
        for number in 0..COUNT {
            blocks.push(block(1, number, None, Vec::new()));
            blocks.push(block(2, number, Some((4, number, 0, 2)), vec![id(1, number)]));
            blocks.push(block(6, number, Some((4, number, 1, 2)), vec![id(1, number)]));
            let all = (0..COUNT).map(|number| id(2, number)).collect();
            blocks.push(block(3, number, Some((5, 0, number as u32, COUNT as u32)), all));
        }
        let mut read = 0;
        let examined = examine(&blocks, &|_, _| true, &mut |holders, hidden| {
            read += holders.len() + hidden.len();
            Ok::<_, Infallible>(Ok(()))
        });
        let Examined { order, kept } = examined.unwrap_or_else(|never| match never {});
        assert!(read <= MAX_READS * blocks.len(), "{read} reads of {} blocks", blocks.len());
        assert!(order.len() >= 200, "{} go", order.len());
        assert!(kept.iter().all(|kept| !kept.reason.is_final() || matches!(kept.reason, Unproven::StillNeeded)));
    }
}
