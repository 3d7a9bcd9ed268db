//! The order in which input files are deleted.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chronoxide_reader::BlockId;
use chronoxide_reader::lineage::{Lineage, Standing, judge};

/// A block without which different blocks would be live.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StillNeeded {
    pub(crate) path: PathBuf,
    pub(crate) id: BlockId,
}

/// Returns the files that hold these blocks, in an order of deletion that is safe if the job is killed after any of
/// them: after each deletion, the same blocks are live.
///
/// The order is that of ids, the oldest first, with one exception: the input of an earlier job that several outputs
/// hold is deleted before one of these outputs.
pub(crate) fn in_order(blocks: &[(PathBuf, Lineage)], delete: &BTreeSet<BlockId>) -> Result<Vec<PathBuf>, StillNeeded> {
    let mut left: Vec<&(PathBuf, Lineage)> = blocks.iter().collect();
    left.sort_by_key(|(path, block)| (block.id, path.clone()));
    let before = live(&left);
    let mut order = Vec::new();
    while let Some(oldest) = left.iter().find(|(_, block)| delete.contains(&block.id)) {
        let without = |place: usize| {
            let mut rest = left.clone();
            rest.remove(place);
            rest
        };
        let may_go = |place: &usize| delete.contains(&left[*place].1.id) && live(&without(*place)) == before;
        let Some(place) = (0..left.len()).find(may_go) else {
            return Err(StillNeeded { path: oldest.0.clone(), id: oldest.1.id });
        };
        order.push(left.remove(place).0.clone());
    }
    Ok(order)
}

fn live(blocks: &[&(PathBuf, Lineage)]) -> BTreeSet<BlockId> {
    let lineages: Vec<Lineage> = blocks.iter().map(|(_, lineage)| lineage.clone()).collect();
    let standings = judge(&lineages).standings;
    let live = lineages.iter().zip(standings).filter(|(_, standing)| *standing == Standing::Live);
    live.map(|(lineage, _)| lineage.id).collect()
}

#[cfg(test)]
mod tests {
    use chronoxide_reader::Job;

    use super::*;

    fn id(number: u8) -> BlockId {
        BlockId([number; 16])
    }

    fn block(number: u8, job: Option<(u8, u32, u32)>, origin: [&[u8]; 2]) -> (PathBuf, Lineage) {
        let job = job.map(|(job, output, output_count)| Job { id: [job; 16], output, output_count });
        let [parents, ancestors] = origin.map(|numbers| numbers.iter().copied().map(id).collect());
        (
            format!("{number}.cx").into(),
            Lineage {
                id: id(number),
                job,
                parents,
                ancestors,
                series_count: 0,
                is_read_only: false,
                is_rewritten: false,
            },
        )
    }

    fn order(blocks: &[(PathBuf, Lineage)], delete: &[u8]) -> Result<Vec<String>, BlockId> {
        let delete = delete.iter().copied().map(id).collect();
        let names = |order: Vec<PathBuf>| order.iter().map(|path| path.display().to_string()).collect();
        in_order(blocks, &delete).map(names).map_err(|needed| needed.id)
    }

    #[test]
    fn the_oldest_goes_first_and_each_copy() {
        let mut blocks = vec![
            block(3, None, [&[], &[]]),
            block(1, None, [&[], &[]]),
            block(2, None, [&[], &[]]),
            block(9, Some((1, 0, 1)), [&[1, 2, 3], &[]]),
        ];
        assert_eq!(order(&blocks, &[3, 1, 2, 77]).unwrap(), ["1.cx", "2.cx", "3.cx"]);
        blocks.push(("copy.cx".into(), blocks[1].1.clone()));
        assert_eq!(order(&blocks, &[1]).unwrap(), ["1.cx", "copy.cx"]);
        assert_eq!(order(&blocks, &[]).unwrap(), [""; 0]);
    }

    #[test]
    fn what_counts_is_not_deleted() {
        let blocks = [block(1, None, [&[], &[]]), block(2, None, [&[], &[]]), block(9, Some((1, 0, 1)), [&[1], &[]])];
        assert_eq!(order(&blocks, &[1, 2]), Err(id(2)));
        assert_eq!(order(&blocks, &[9]), Err(id(9)));
        let half = [block(1, None, [&[], &[]]), block(9, Some((1, 0, 2)), [&[1], &[]])];
        assert_eq!(order(&half, &[1]), Err(id(1)), "one of two outputs replaces nothing");
    }

    /// Block 5 was merged into 2 and 3, and 2 into 9; 5 was kept.
    #[test]
    fn a_part_goes_after_the_whole() {
        let whole = block(5, None, [&[], &[]]);
        let parts = [block(2, Some((1, 0, 2)), [&[5], &[]]), block(3, Some((1, 1, 2)), [&[5], &[]])];
        let [part, other] = parts;
        let blocks = [whole, part, other, block(9, Some((2, 0, 1)), [&[2], &[]])];
        assert_eq!(order(&blocks, &[2]), Err(id(2)), "5 would count again");
        assert_eq!(order(&blocks, &[2, 5]).unwrap(), ["5.cx", "2.cx"]);
    }
}
