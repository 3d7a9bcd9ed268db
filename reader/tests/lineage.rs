//! Live blocks: examples, and random histories of a folder whose blocks are sets of numbers.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_reader::lineage::{
    DeletionOrder, Judgement, Lineage, Reason, Standing, ancestors, deletion_order, hidden_blocks, judge,
};
use chronoxide_reader::{BlockId, Job};
use chronoxide_testkit::random::Random;
use proptest::prelude::*;

const LIVE: Standing = Standing::Live;

const fn id(number: u8) -> BlockId {
    BlockId([number; 16])
}

fn original(number: u8) -> Lineage {
    Lineage {
        id: id(number),
        job: None,
        parents: Vec::new(),
        ancestors: Vec::new(),
        series_count: 0,
        is_read_only: false,
        is_rewritten: false,
    }
}

/// Returns output `output` of `count` of job number `job`.
fn output(number: u8, (job, output, count): (u8, u32, u32), parents: &[u8], ancestors: &[u8]) -> Lineage {
    let ids = |numbers: &[u8]| numbers.iter().copied().map(id).collect();
    let job = Some(Job { id: [job; 16], output, output_count: count });
    Lineage { job, parents: ids(parents), ancestors: ids(ancestors), ..original(number) }
}

const fn merged(job: u8) -> Standing {
    Standing::Hidden(Reason::Merged { job: [job; 16] })
}

const fn pending(job: u8) -> Standing {
    Standing::Hidden(Reason::Pending { job: [job; 16] })
}

/// Judges the blocks in several orders, which must not matter. Returns the standings in the order of `blocks`.
fn standings(blocks: &[Lineage]) -> Vec<Standing> {
    let Judgement { standings, .. } = judge(blocks);
    let mut turned = blocks.to_vec();
    for _ in 0..blocks.len() {
        turned.rotate_left(1);
        let by_id: BTreeMap<BlockId, Standing> =
            turned.iter().map(|block| block.id).zip(judge(&turned).standings).collect();
        assert!(blocks.iter().zip(&standings).all(|(block, standing)| by_id[&block.id] == *standing));
    }
    standings
}

/// Outputs 11, 12 and 13 of job 1, merged from 1 and 2.
fn three() -> [Lineage; 3] {
    [11, 12, 13].map(|number| output(number, (1, u32::from(number) - 11, 3), &[1, 2], &[]))
}

#[test]
fn all_outputs_together_hide_their_parents_and_fewer_hide_nothing() {
    let (one, two, [a, b, c]) = (original(1), original(2), three());
    assert_eq!(standings(&[one.clone(), two.clone()]), [LIVE, LIVE]);
    assert_eq!(standings(&[one.clone(), two.clone(), a.clone()]), [LIVE, LIVE, pending(1)]);
    let some = [one.clone(), two.clone(), a.clone(), c.clone()];
    assert_eq!(standings(&some), [LIVE, LIVE, pending(1), pending(1)]);
    let [incomplete] = judge(&some).incomplete[..] else { panic!("one job") };
    assert_eq!((incomplete.id, incomplete.output_count, incomplete.present), ([1; 16], 3, 2));
    let all = [one, two, a, b, c];
    assert_eq!(standings(&all), [merged(1), merged(1), LIVE, LIVE, LIVE]);
    assert!(judge(&all).incomplete.is_empty());
}

#[test]
fn a_read_only_block_is_never_hidden() {
    let read_only = |block: Lineage| Lineage { is_read_only: true, ..block };
    let (one, two, [a, b, c]) = (original(1), original(2), three());
    // A finished job hides its other parent.
    let all = [read_only(one.clone()), two.clone(), a.clone(), b, c];
    assert_eq!(standings(&all), [LIVE, merged(1), LIVE, LIVE, LIVE]);
    assert!(judge(&all).incomplete.is_empty());
    // Outputs of an unfinished job.
    assert_eq!(standings(&[one.clone(), two, a.clone()])[2], pending(1));
    assert_eq!(standings(&[one.clone(), original(2), read_only(a)])[2], LIVE);
    // A copy of it holds the same bytes.
    let copies = [read_only(one.clone()), read_only(one)];
    assert_eq!(judge(&copies).standings, [LIVE, Standing::Hidden(Reason::Copy)]);
}

#[test]
fn an_output_is_live_after_a_parent_is_gone() {
    let (one, [a, b, c]) = (original(1), three());
    // While the parents are deleted, and afterwards.
    assert_eq!(standings(&[one.clone(), a.clone(), b.clone(), c.clone()]), [merged(1), LIVE, LIVE, LIVE]);
    assert_eq!(standings(&[a.clone(), b.clone(), c]), [LIVE, LIVE, LIVE]);
    // An output is lost: the remaining parent may be the last block with some of its series.
    assert_eq!(standings(&[a.clone(), b.clone()]), [LIVE, LIVE]);
    assert_eq!(standings(&[one, a, b]), [LIVE, LIVE, LIVE]);
}

#[test]
fn a_job_with_fewer_series_than_a_block_it_claims_hides_nothing() {
    let of = |series_count, block: Lineage| Lineage { series_count, ..block };
    let (one, two) = (of(7, original(1)), of(3, original(2)));
    let parts = |counts: [u64; 3]| three().into_iter().zip(counts).map(|(part, count)| of(count, part));
    let folder = |counts| [one.clone(), two.clone()].into_iter().chain(parts(counts)).collect::<Vec<_>>();
    // Six series are not the seven of the first parent: both are live.
    assert_eq!(standings(&folder([2, 2, 2])), [LIVE; 5]);
    let [job] = judge(&folder([2, 2, 2])).incomplete[..] else { panic!("one job") };
    assert_eq!((job.present, job.disputed), (3, Some(id(1))));
    assert_eq!(standings(&folder([0, 7, 0])), [merged(1), merged(1), LIVE, LIVE, LIVE]);
    // Missing blocks are not compared.
    assert_eq!(standings(&folder([2, 2, 2])[1..]), [merged(1), LIVE, LIVE, LIVE]);

    // Dropped series are declared.
    let mut rewritten = folder([0, 0, 1]);
    rewritten[4].is_rewritten = true;
    assert_eq!(standings(&rewritten), [merged(1), merged(1), LIVE, LIVE, LIVE]);

    // Ancestors are checked like parents.
    let by_ancestor = of(6, output(11, (1, 0, 1), &[], &[1]));
    assert_eq!(standings(&[one.clone(), by_ancestor.clone()]), [LIVE, LIVE]);
    assert_eq!(standings(&[one.clone(), of(7, by_ancestor.clone())]), [merged(1), LIVE]);
    // Outputs of a block with a rejected claim do not inherit the claim.
    assert_eq!(ancestors(&[one.clone(), two.clone(), by_ancestor]), BTreeSet::new());
}

/// One block claims the same output number, so that the job is in doubt. Another claims to hold the parents, which are
/// gone.
#[test]
fn blocks_that_cannot_hold_an_output_do_not_hide_it() {
    let of = |series_count, block: Lineage| Lineage { series_count, ..block };
    let merged_block = of(300, output(11, (1, 0, 1), &[1, 2], &[]));
    let double = output(12, (1, 0, 1), &[1, 2], &[]);
    let holder = output(13, (2, 0, 1), &[1, 2], &[]);
    let empty = [merged_block.clone(), double.clone(), holder.clone()];
    assert_eq!(standings(&empty)[0], LIVE);
    let large = [merged_block.clone(), double.clone(), of(300, holder)];
    assert_eq!(standings(&large)[0], pending(1));
    // Parents that are there are compared themselves.
    let with_parents = |count| [merged_block.clone(), double.clone(), of(count, original(1)), of(100, original(2))];
    assert_eq!(standings(&with_parents(200))[0], pending(1));
    assert_eq!(standings(&with_parents(199))[0], LIVE);
}

#[test]
fn a_chain_ends_in_its_last_block() {
    let (a, b) = (original(1), output(2, (1, 0, 1), &[1], &[]));
    let c = output(3, (2, 0, 1), &[2], &[1]);
    assert_eq!(standings(&[a.clone(), b.clone(), c.clone()]), [merged(1), merged(2), LIVE]);
    assert_eq!(standings(&[a.clone(), c.clone()]), [merged(2), LIVE], "b was deleted first");
    assert_eq!(standings(&[b, c.clone()]), [merged(2), LIVE]);
    let d = output(4, (3, 0, 2), &[3], &[1, 2]);
    assert_eq!(standings(&[a, c, d]), [merged(2), LIVE, pending(3)]);
}

#[test]
fn a_part_of_a_sharded_job_merged_with_others_hides_only_itself() {
    let (one, two, [a, b, c]) = (original(1), original(2), three());
    // The ancestors would be the parents of all three outputs. A single output has none.
    assert!(ancestors(&[a.clone(), original(5)]).is_empty());
    let d = output(20, (2, 0, 1), &[5, 11], &[]);
    let all = [one.clone(), two.clone(), original(5), a, b.clone(), c.clone(), d.clone()];
    assert_eq!(standings(&all), [merged(1), merged(1), merged(2), merged(2), LIVE, LIVE, LIVE]);
    // The output was deleted before its parents: 1 and 2 hold the series of 12 and 13.
    assert_eq!(standings(&[one, two, b, c, d]), [LIVE, LIVE, pending(1), pending(1), LIVE]);
}

#[test]
fn leftovers_of_a_killed_job_stay_hidden_when_another_job_took_its_parents() {
    let [a, ..] = three();
    let other = output(20, (2, 0, 1), &[1, 2], &[]);
    assert_eq!(standings(&[original(1), a.clone(), other.clone()]), [merged(2), pending(1), LIVE]);
    assert_eq!(standings(&[a.clone(), other]), [pending(1), LIVE]);
    let later = output(21, (3, 0, 1), &[20, 30], &[1, 2]);
    assert_eq!(standings(&[a, later]), [pending(1), LIVE]);
}

#[test]
fn outputs_that_do_not_belong_together_hide_nothing() {
    let (one, two, [a, b, c]) = (original(1), original(2), three());
    let replace = |at: usize, with: Lineage| {
        let mut blocks = vec![one.clone(), two.clone(), a.clone(), b.clone(), c.clone()];
        blocks[at] = with;
        blocks
    };
    let hides_nothing = |blocks: &[Lineage]| {
        let found = standings(blocks);
        assert_eq!(found[..2], [LIVE, LIVE]);
        assert!(found[2..].iter().all(|standing| matches!(standing, Standing::Hidden(Reason::Pending { .. }))));
    };
    hides_nothing(&replace(4, output(13, (1, 1, 3), &[1, 2], &[])));
    hides_nothing(&replace(4, output(13, (1, 2, 4), &[1, 2], &[])));
    hides_nothing(&replace(4, output(13, (1, 3, 3), &[1, 2], &[])));
    hides_nothing(&replace(4, output(13, (1, 2, 3), &[1], &[])));
    hides_nothing(&replace(4, output(13, (1, 2, 3), &[1, 2], &[3])));
    let mut two_of_one_number = replace(4, c.clone());
    two_of_one_number.push(output(14, (1, 2, 3), &[1, 2], &[]));
    hides_nothing(&two_of_one_number);
    assert_eq!(judge(&two_of_one_number).incomplete[0].present, 3);
    let huge = [one.clone(), output(11, (1, u32::MAX - 1, u32::MAX), &[1], &[])];
    assert_eq!(standings(&huge), [LIVE, pending(1)]);
}

#[test]
fn a_copy_counts_once_and_completes_nothing() {
    let [a, b, _] = three();
    let blocks = [original(1), original(2), a.clone(), a.clone(), b.clone(), b];
    let copy = Standing::Hidden(Reason::Copy);
    assert_eq!(judge(&blocks).standings, [LIVE, LIVE, pending(1), copy, pending(1), copy]);
    let complete = [original(1), output(2, (1, 0, 1), &[1], &[]), output(2, (1, 0, 1), &[1], &[])];
    assert_eq!(judge(&complete).standings, [merged(1), LIVE, copy]);
}

#[test]
fn origins_that_form_a_cycle_hide_nothing_of_the_cycle() {
    let itself = output(1, (1, 0, 1), &[1], &[]);
    assert_eq!(standings(&[itself]), [LIVE]);
    let [a, b] = [output(1, (1, 0, 1), &[2], &[]), output(2, (2, 0, 1), &[1], &[])];
    assert_eq!(standings(&[a, b]), [LIVE, LIVE]);
    let [a, b] = [output(1, (1, 0, 2), &[2], &[]), output(2, (2, 0, 2), &[1], &[])];
    assert_eq!(standings(&[a, b, original(3)]), [LIVE, LIVE, LIVE]);
    // An output that is its own parent hides the others and loses nothing.
    let again = output(2, (1, 0, 1), &[1, 2], &[]);
    assert_eq!(standings(&[original(1), again]), [merged(1), LIVE]);
}

#[test]
fn ancestors_are_the_origins_that_parents_hold_whole() {
    let [a, b, c] = three().map(|block| Lineage { ancestors: vec![id(9)], ..block });
    assert_eq!(ancestors(&[a.clone(), b.clone(), c.clone()]), BTreeSet::from([1, 2, 9].map(id)));
    assert_eq!(ancestors(&[a.clone(), b.clone(), c, original(2)]), BTreeSet::from([1, 9].map(id)), "2 is a parent");
    assert_eq!(ancestors(&[a, b, original(2)]), BTreeSet::new());
}

/// All blocks of a history, with the numbers that stand for their series, and the blocks that are in the folder.
struct History {
    random: Random,
    blocks: Vec<(Lineage, BTreeSet<u32>)>,
    present: BTreeSet<usize>,
    /// Outputs of jobs.
    jobs: Vec<Vec<usize>>,
    series: u32,
}

impl History {
    fn new(seed: u64) -> Self {
        let (blocks, jobs) = (Vec::new(), Vec::new());
        let mut new = Self { random: Random::new(seed), blocks, present: BTreeSet::new(), jobs, series: 0 };
        for _ in 0..3 {
            new.ingest();
        }
        new
    }

    fn push(&mut self, job: Option<Job>, origin: [Vec<BlockId>; 2], series: BTreeSet<u32>) -> usize {
        let number = self.blocks.len();
        // Ids are not in order of age.
        let mut bytes = [self.random.below(256) as u8; 16];
        bytes[8..].copy_from_slice(&(number as u64).to_be_bytes());
        let [parents, ancestors] = origin;
        let series_count = series.len() as u64;
        let lineage = Lineage {
            id: BlockId(bytes),
            job,
            parents,
            ancestors,
            series_count,
            is_read_only: false,
            is_rewritten: false,
        };
        self.blocks.push((lineage, series));
        number
    }

    fn ingest(&mut self) {
        let end = self.series + 1 + self.random.below(6) as u32;
        let block = self.push(None, Default::default(), (self.series..end).collect());
        self.series = end;
        self.present.insert(block);
    }

    fn judged(&self) -> Vec<(usize, Standing)> {
        let lineages: Vec<Lineage> = self.present.iter().map(|&block| self.blocks[block].0.clone()).collect();
        self.present.iter().copied().zip(judge(&lineages).standings).collect()
    }

    fn live(&self) -> BTreeSet<usize> {
        self.judged().into_iter().filter(|(_, standing)| *standing == LIVE).map(|(block, _)| block).collect()
    }

    fn series_of(&self, blocks: &BTreeSet<usize>) -> BTreeSet<u32> {
        blocks.iter().flat_map(|&block| self.blocks[block].1.iter().copied()).collect()
    }

    fn some_of(&mut self, of: &BTreeSet<usize>) -> BTreeSet<usize> {
        of.iter().copied().filter(|_| self.random.percent(40)).collect()
    }

    /// Runs a job on these blocks and kills it after any of its outputs.
    fn merge(&mut self, inputs: &BTreeSet<usize>) {
        if inputs.is_empty() {
            return;
        }
        let lineages: Vec<Lineage> = inputs.iter().map(|&block| self.blocks[block].0.clone()).collect();
        let older = ancestors(&lineages);
        let union = self.series_of(inputs);
        for ancestor in &older {
            let (_, series) = self.blocks.iter().find(|(block, _)| block.id == *ancestor).expect("a block that was");
            assert!(series.is_subset(&union), "an ancestor that the parents do not hold");
        }
        let parents: BTreeSet<BlockId> = lineages.iter().map(|block| block.id).collect();
        let count = 1 + self.random.below(4);
        let mut parts = vec![BTreeSet::new(); count];
        for series in union {
            parts[self.random.below(count)].insert(series);
        }
        let id = [self.jobs.len() as u8; 16];
        let mut outputs = Vec::new();
        for (output, part) in parts.into_iter().enumerate() {
            let job = Job { id, output: output as u32, output_count: count as u32 };
            let origin = [parents.iter().copied().collect(), older.iter().copied().collect()];
            outputs.push(self.push(Some(job), origin, part));
        }
        let published = if self.random.percent(70) { count } else { self.random.below(count) };
        self.present.extend(&outputs[..published]);
        self.jobs.push(outputs);
    }

    /// Publishes the missing outputs of a killed job, if all its inputs are still live.
    fn run_again(&mut self) {
        if self.jobs.is_empty() {
            return;
        }
        let outputs = self.jobs[self.random.below(self.jobs.len())].clone();
        let parents = &self.blocks[outputs[0]].0.parents;
        let live: BTreeSet<BlockId> = self.live().iter().map(|&block| self.blocks[block].0.id).collect();
        if parents.iter().all(|parent| live.contains(parent)) {
            self.present.extend(outputs);
        }
    }

    /// Deletes one block, if the same blocks are live afterwards.
    fn delete(&mut self) -> bool {
        let before = self.live();
        let all: Vec<usize> = self.present.iter().copied().collect();
        let chosen = all[self.random.below(all.len())];
        self.present.remove(&chosen);
        let kept = self.live() == before;
        if !kept {
            self.present.insert(chosen);
        }
        kept
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    /// Jobs merge live blocks, are killed and run again, and delete blocks that make no difference.
    #[test]
    fn each_series_is_seen_exactly_once(seed: u64) {
        let mut history = History::new(seed);
        for _ in 0..40 {
            match history.random.below(8) {
                0 => history.ingest(),
                1 | 2 => {
                    let live = history.live();
                    let inputs = history.some_of(&live);
                    history.merge(&inputs);
                }
                3 => history.run_again(),
                _ => drop(history.delete()),
            }
            let live = history.live();
            prop_assert_eq!(history.series_of(&live), (0..history.series).collect::<BTreeSet<u32>>());
            let seen: usize = live.iter().map(|&block| history.blocks[block].1.len()).sum();
            prop_assert_eq!(seen, history.series as usize, "series are seen twice");
        }
    }

    /// Like the test above, with any inputs and blocks lost at any time.
    #[test]
    fn no_series_of_the_folder_is_lost(seed: u64) {
        let mut history = History::new(seed);
        for _ in 0..40 {
            match history.random.below(8) {
                0 => history.ingest(),
                1..4 => {
                    let present = history.present.clone();
                    let inputs = history.some_of(&present);
                    history.merge(&inputs);
                }
                4 => history.run_again(),
                _ if history.present.len() > 1 => {
                    let all: Vec<usize> = history.present.iter().copied().collect();
                    let lost = all[history.random.below(all.len())];
                    history.present.remove(&lost);
                }
                _ => {}
            }
            let live = history.live();
            prop_assert_eq!(history.series_of(&live), history.series_of(&history.present));
        }
    }
}

/// Checks that the histories above contain the cases they are meant to test.
#[test]
fn histories_have_deletions_and_unfinished_jobs() {
    let (mut deleted, mut hidden) = (0, [0; 2]);
    for seed in 0..100 {
        let mut history = History::new(seed);
        for _ in 0..20 {
            let live = history.live();
            let inputs = history.some_of(&live);
            history.merge(&inputs);
            deleted += usize::from(history.delete());
            for (_, standing) in history.judged() {
                match standing {
                    Standing::Hidden(Reason::Merged { .. }) => hidden[0] += 1,
                    Standing::Hidden(Reason::Pending { .. }) => hidden[1] += 1,
                    _ => {}
                }
            }
        }
    }
    println!("{deleted} deletions, {hidden:?} hidden by merges and in unfinished jobs");
    assert!(deleted > 500 && hidden.iter().all(|count| *count > 500), "{deleted}, {hidden:?}");
}

/// Random blocks with random claims: few ids, so that claims meet, jobs are in doubt and origins form cycles.
fn random_claims(seed: u64) -> Vec<Lineage> {
    let mut random = Random::new(seed);
    let ids = 3 + random.below(12);
    // Without cycles in every second pair of seeds: no block of a folder with a cycle is deleted.
    let names_older = seed % 4 >= 2;
    let some = |random: &mut Random, percent, number| -> Vec<BlockId> {
        let ids = (1..=ids).filter(|_| random.percent(percent));
        ids.filter(|id| !names_older || *id < number).map(|number| id(number as u8)).collect()
    };
    let mut blocks = Vec::new();
    for number in 1..=ids {
        if random.percent(20) {
            continue;
        }
        let jobs = 1 + ids / 2;
        let output_count = 1 + random.below(3) as u32;
        let job =
            Job { id: [random.below(jobs) as u8; 16], output: random.below(3) as u32 % output_count, output_count };
        let percent = if random.percent(50) { 10 } else { 35 };
        let has_job = random.percent(75);
        let [parents, ancestors] = [some(&mut random, percent, number), some(&mut random, 5, number)];
        let block = Lineage {
            id: id(number as u8),
            job: has_job.then_some(job),
            parents: if has_job { parents } else { Vec::new() },
            ancestors: if has_job { ancestors } else { Vec::new() },
            series_count: random.below(12) as u64,
            is_read_only: random.percent(4),
            is_rewritten: random.percent(8),
        };
        // Outputs of one job often name equal origins.
        let twin = blocks.iter().find(|other: &&Lineage| other.job.map(|job| job.id) == block.job.map(|job| job.id));
        let block = match twin {
            Some(twin) if random.percent(80) => {
                Lineage { parents: twin.parents.clone(), ancestors: twin.ancestors.clone(), ..block }
            }
            _ => block,
        };
        let copies = if random.percent(10) { 2 } else { 1 };
        blocks.extend(vec![block; copies]);
    }
    blocks
}

/// Rules of the module's documentation, one after the other, without regard to cost.
mod model {
    use super::*;

    type Key = ([u8; 16], u32);

    fn key(block: &Lineage) -> Option<Key> {
        block.job.map(|job| (job.id, job.output_count))
    }

    struct Folder(BTreeMap<BlockId, Lineage>);

    impl Folder {
        fn outputs(&self, job: Key) -> Vec<&Lineage> {
            self.0.values().filter(|block| key(block) == Some(job)).collect()
        }

        fn is_complete(&self, job: Key) -> bool {
            let outputs = self.outputs(job);
            let numbers: Vec<u32> = outputs.iter().filter_map(|block| Some(block.job?.output)).collect();
            let origins: BTreeSet<_> = outputs.iter().map(|block| (&block.parents, &block.ancestors)).collect();
            let distinct: BTreeSet<u32> = numbers.iter().copied().collect();
            origins.len() == 1 && distinct.len() == numbers.len() && distinct.into_iter().eq(0..job.1)
        }

        fn claimed(&self, job: Key) -> BTreeSet<BlockId> {
            let mut outputs = self.outputs(job);
            outputs.sort_by_key(|block| block.job.map(|job| job.output));
            let own: BTreeSet<BlockId> = outputs.iter().map(|block| block.id).collect();
            let named = outputs.first().into_iter().flat_map(|block| block.parents.iter().chain(&block.ancestors));
            named.copied().filter(|id| !own.contains(id)).collect()
        }

        fn series(&self, job: Key) -> u64 {
            self.outputs(job).iter().map(|block| block.series_count).sum()
        }

        fn is_hiding(&self, job: Key) -> bool {
            let is_larger = |id: &BlockId| self.0.get(id).is_some_and(|block| block.series_count > self.series(job));
            let is_rewritten = self.outputs(job).iter().any(|block| block.is_rewritten);
            self.is_complete(job) && (is_rewritten || !self.claimed(job).iter().any(is_larger))
        }

        fn hiding(&self, id: BlockId) -> Vec<Key> {
            let jobs: BTreeSet<Key> = self.0.values().filter_map(key).collect();
            jobs.into_iter().filter(|job| self.is_hiding(*job) && self.claimed(*job).contains(&id)).collect()
        }

        fn can_be_replaced(&self, block: &Lineage) -> bool {
            let is_there = |id: &BlockId| self.0.contains_key(id) || !self.hiding(*id).is_empty();
            let largest = |id: &BlockId| self.hiding(*id).into_iter().max_by_key(|job| self.series(*job));
            let jobs: BTreeSet<Key> =
                block.parents.iter().filter(|id| !self.0.contains_key(*id)).filter_map(largest).collect();
            let of_jobs: BTreeSet<BlockId> =
                jobs.iter().flat_map(|job| self.outputs(*job)).map(|block| block.id).collect();
            let there = block.parents.iter().copied().filter(|id| self.0.contains_key(id));
            let holders: BTreeSet<BlockId> = there.chain(of_jobs).collect();
            let held: u64 = holders.iter().map(|id| self.0[id].series_count).sum();
            !block.parents.is_empty() && block.parents.iter().all(is_there) && held >= block.series_count
        }

        fn rule(&self, block: &Lineage) -> Standing {
            match (self.hiding(block.id).first(), key(block)) {
                _ if block.is_read_only => Standing::Live,
                (Some((job, _)), _) => Standing::Hidden(Reason::Merged { job: *job }),
                (None, Some(job)) if !self.is_complete(job) && self.can_be_replaced(block) => {
                    Standing::Hidden(Reason::Pending { job: job.0 })
                }
                _ => Standing::Live,
            }
        }

        /// Blocks whose series are in live blocks.
        fn held(&self, rules: &BTreeMap<BlockId, Standing>) -> BTreeSet<BlockId> {
            let mut held: BTreeSet<BlockId> =
                rules.iter().filter(|(_, rule)| **rule == Standing::Live).map(|(id, _)| *id).collect();
            loop {
                let by_job = |id: &BlockId| {
                    let mut jobs = self.hiding(*id).into_iter();
                    jobs.any(|job| self.outputs(job).iter().all(|output| held.contains(&output.id)))
                };
                let is_held = |id: &BlockId| match rules[id] {
                    Standing::Hidden(Reason::Pending { .. }) => {
                        self.0[id].parents.iter().all(|parent| held.contains(parent) || by_job(parent))
                    }
                    _ => by_job(id),
                };
                let more: Vec<BlockId> =
                    rules.keys().copied().filter(|id| !held.contains(id)).filter(is_held).collect();
                if more.is_empty() {
                    return held;
                }
                held.extend(more);
            }
        }
    }

    pub(super) fn standings(blocks: &[Lineage]) -> Vec<Standing> {
        let folder = Folder(blocks.iter().map(|block| (block.id, block.clone())).collect());
        let rules: BTreeMap<BlockId, Standing> = folder.0.iter().map(|(id, block)| (*id, folder.rule(block))).collect();
        let held = folder.held(&rules);
        let mut seen = BTreeSet::new();
        let standing = |block: &Lineage| match rules[&block.id] {
            _ if !seen.insert(block.id) => Standing::Hidden(Reason::Copy),
            rule if held.contains(&block.id) => rule,
            _ => Standing::Live,
        };
        blocks.iter().map(standing).collect()
    }
}

fn live_ids(blocks: &[Lineage]) -> BTreeSet<BlockId> {
    let standings = model::standings(blocks);
    blocks.iter().zip(standings).filter(|(_, standing)| *standing == LIVE).map(|(block, _)| block.id).collect()
}

/// Deletes one block after the other as long as the same blocks are live, trying all of them each time.
fn deletable(blocks: &[Lineage], delete: &BTreeSet<BlockId>) -> BTreeSet<BlockId> {
    let before = live_ids(blocks);
    let (mut left, mut gone) = (blocks.to_vec(), BTreeSet::new());
    let without = |left: &[Lineage], id: BlockId| -> Vec<Lineage> {
        left.iter().filter(|block| block.id != id).cloned().collect()
    };
    while let Some(next) =
        left.iter().map(|block| block.id).find(|id| delete.contains(id) && live_ids(&without(&left, *id)) == before)
    {
        left = without(&left, next);
        gone.insert(next);
    }
    gone
}

/// Returns the blocks that are deleted, after it checked that the same blocks are live after each deletion.
fn check_order(blocks: &[Lineage], delete: &BTreeSet<BlockId>) -> BTreeSet<BlockId> {
    let before = live_ids(blocks);
    let DeletionOrder { order, needed, .. } = deletion_order(&blocks.iter().collect::<Vec<_>>(), delete);
    let mut gone = BTreeSet::new();
    for place in &order {
        assert!(gone.insert(*place), "deleted twice");
        let left = (0..).zip(blocks).filter(|(place, _)| !gone.contains(place)).map(|(_, block)| block.clone());
        assert_eq!(live_ids(&left.collect::<Vec<_>>()), before, "after {gone:?} of {blocks:#?}");
    }
    let gone: BTreeSet<BlockId> = order.iter().map(|place| blocks[*place].id).collect();
    let present: BTreeSet<BlockId> = blocks.iter().map(|block| block.id).collect();
    let kept: BTreeSet<BlockId> = needed.into_iter().collect();
    assert!(gone.is_subset(delete) && kept.is_disjoint(&gone));
    assert_eq!(gone.union(&kept).copied().collect::<BTreeSet<_>>(), delete.intersection(&present).copied().collect());
    gone
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn blocks_with_any_claims_are_judged_by_the_rules(seed: u64) {
        let blocks = random_claims(seed);
        prop_assert_eq!(judge(&blocks).standings, model::standings(&blocks), "{:#?}", blocks);
    }

    #[test]
    fn deletions_keep_the_same_blocks_live_whatever_blocks_claim(seed: u64) {
        delete_some(seed);
    }
}

fn delete_some(seed: u64) {
    let blocks = random_claims(seed);
    let ids = blocks.iter().map(|block| block.id);
    let mut random = Random::new(seed ^ 1);
    let delete = ids.filter(|_| random.percent(70)).collect();
    check_order(&blocks, &delete);
}

/// Between two deletions, the blocks that replaced the parents of a pending output had fewer series than it.
#[test]
fn a_pending_output_is_held_after_each_deletion() {
    for seed in [9_877_601_750_009_389_244, 7_644_065_110_247_614_725] {
        delete_some(seed);
    }
}

/// Without the block, its job lacks an output, and another job replaces the parents of the outputs that are left.
#[test]
fn a_block_stays_that_hides_others_in_two_ways() {
    delete_some(10_165_149_183_147_954_329);
}

/// The cycle holds itself once another holder of its blocks is gone.
#[test]
fn nothing_is_deleted_beside_a_cycle() {
    delete_some(2_960_856_463_183_128_177);
}

/// Honest jobs, killed and run again: every hidden block that can go does go.
#[test]
fn all_blocks_go_that_no_other_needs() {
    let mut deleted = 0;
    for seed in 0..100 {
        let mut history = History::new(seed);
        for _ in 0..12 {
            let live = history.live();
            let inputs = history.some_of(&live);
            history.merge(&inputs);
            if history.random.percent(30) {
                history.delete();
            }
        }
        let blocks: Vec<Lineage> = history.present.iter().map(|&block| history.blocks[block].0.clone()).collect();
        let delete: BTreeSet<BlockId> = blocks.iter().map(|block| block.id).collect();
        let gone = check_order(&blocks, &delete);
        assert_eq!(gone, deletable(&blocks, &delete), "seed {seed}");
        deleted += gone.len();
    }
    println!("{deleted} deletions");
    assert!(deleted > 300, "{deleted}");
}

/// Returns the numbers of blocks in the order of their deletion, or the first that has to stay.
fn order(blocks: &[Lineage], delete: &[u8]) -> Result<Vec<u8>, u8> {
    let delete = delete.iter().copied().map(id).collect();
    check_order(blocks, &delete);
    let DeletionOrder { order, needed, .. } = deletion_order(&blocks.iter().collect::<Vec<_>>(), &delete);
    match needed.first() {
        Some(needed) => Err(needed.0[0]),
        None => Ok(order.into_iter().map(|place| blocks[place].id.0[0]).collect()),
    }
}

#[test]
fn the_oldest_goes_first_and_each_copy() {
    let mut blocks = vec![original(3), original(1), original(2), output(9, (1, 0, 1), &[1, 2, 3], &[])];
    assert_eq!(order(&blocks, &[3, 1, 2, 77]), Ok(vec![1, 2, 3]));
    blocks.push(blocks[1].clone());
    assert_eq!(order(&blocks, &[1]), Ok(vec![1, 1]));
    assert_eq!(order(&blocks, &[]), Ok(vec![]));
}

#[test]
fn what_counts_is_not_deleted() {
    let blocks = [original(1), original(2), output(9, (1, 0, 1), &[1], &[])];
    assert_eq!(order(&blocks, &[1, 2]), Err(2));
    assert_eq!(order(&blocks, &[9]), Err(9));
    let half = [original(1), output(9, (1, 0, 2), &[1], &[])];
    assert_eq!(order(&half, &[1]), Err(1), "one of two outputs replaces nothing");
}

/// Block 5 was merged into 2 and 3, and 2 into 9; 5 was kept.
#[test]
fn a_part_goes_after_the_whole() {
    let blocks = [
        original(5),
        output(2, (1, 0, 2), &[5], &[]),
        output(3, (1, 1, 2), &[5], &[]),
        output(9, (2, 0, 1), &[2], &[]),
    ];
    assert_eq!(order(&blocks, &[2]), Err(2), "5 would count again");
    assert_eq!(order(&blocks, &[2, 5]), Ok(vec![5, 2]));
}

#[test]
fn claims_lead_to_live_blocks() {
    let groups = |blocks: &[Lineage]| -> Vec<(Vec<u8>, Vec<u8>)> {
        let number = |place: &usize| blocks[*place].id.0[0];
        let found = hidden_blocks(&blocks.iter().collect::<Vec<_>>());
        found
            .iter()
            .map(|group| (group.blocks.iter().map(number).collect(), group.holders.iter().map(number).collect()))
            .collect()
    };
    // A chain, whose first links are each hidden by the next.
    let chain = [original(1), output(2, (1, 0, 1), &[1], &[]), output(3, (2, 0, 1), &[2], &[])];
    assert_eq!(groups(&chain), [(vec![1], vec![3]), (vec![2], vec![3])]);
    // Two outputs. One of them was merged with another block. Copies are deleted as well.
    let parts = [
        original(5),
        original(5),
        output(6, (1, 0, 2), &[5], &[]),
        output(7, (1, 1, 2), &[5], &[]),
        original(8),
        output(9, (2, 0, 1), &[7, 8], &[]),
    ];
    assert_eq!(groups(&parts), [(vec![5, 5], vec![6, 9]), (vec![7, 8], vec![9])]);
    // An output of an unfinished job is held by its parents, or by what replaced them.
    let [a, ..] = three();
    let pending = [original(1), a, output(20, (2, 0, 1), &[2], &[])];
    assert_eq!(groups(&pending), [(vec![11], vec![1, 20])]);
}

/// Chains of tens of thousands of links, and as many claims about one block.
#[test]
fn many_blocks_are_judged_and_ordered() {
    const COUNT: usize = 20_000;
    let id = |number: usize| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
        BlockId(bytes)
    };
    let link = |number: usize, parents: Vec<BlockId>| {
        let mut job = [1; 16];
        job[..8].copy_from_slice(&(number as u64).to_be_bytes());
        let job = (number > 0).then_some(Job { id: job, output: 0, output_count: 1 });
        Lineage { id: id(number), job, parents, ..original(1) }
    };
    let chain: Vec<Lineage> =
        (0..COUNT).map(|number| link(number, (0..number).next_back().map(id).into_iter().collect())).collect();
    let star: Vec<Lineage> =
        (0..COUNT).map(|number| link(number, (number > 0).then(|| id(0)).into_iter().collect())).collect();
    for (blocks, hidden) in [(chain, COUNT - 1), (star, 1)] {
        let found = judge(&blocks).standings;
        assert_eq!(found.iter().filter(|standing| **standing != LIVE).count(), hidden);
        let all: BTreeSet<BlockId> = blocks.iter().map(|block| block.id).collect();
        let references: Vec<&Lineage> = blocks.iter().collect();
        let DeletionOrder { order, needed, .. } = deletion_order(&references, &all);
        assert_eq!((order.len(), needed.len()), (hidden, COUNT - hidden));
        assert!(order.into_iter().eq(0..hidden));
        assert_eq!(hidden_blocks(&references).iter().map(|group| group.blocks.len()).sum::<usize>(), hidden);
    }
}
