//! [`Claims`]: blocks as numbered nodes, and the jobs that made them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use chronoxide_format::identity::BlockId;

use super::Lineage;

/// Number of a block that is there, or that another block names.
pub(super) type Node = usize;

/// Parents and ancestors that an output names.
type Origin<'a> = (&'a [BlockId], &'a [BlockId]);

/// Blocks as nodes, with the edges that their lineages claim. Built in one pass; blocks can be removed one by one.
#[derive(Debug)]
pub(super) struct Claims<'a> {
    ids: Vec<BlockId>,
    nodes: HashMap<BlockId, Node>,
    /// The first block with each id. `None`: named by another block, or removed.
    blocks: Vec<Option<&'a Lineage>>,
    /// Jobs that make a claim about each node, in the order of their ids.
    claimants: Vec<Vec<usize>>,
    /// The job that wrote each node.
    job_of: Vec<Option<usize>>,
    jobs: Vec<JobClaims<'a>>,
}

/// Claims of the outputs of one job.
#[derive(Debug)]
pub(super) struct JobClaims<'a> {
    pub(super) id: [u8; 16],
    pub(super) output_count: u32,
    /// Outputs that are there, by their number. More than one: the job is doubtful.
    by_number: BTreeMap<u32, BTreeSet<Node>>,
    origins: BTreeMap<Origin<'a>, usize>,
    /// Outputs whose number another output has.
    doubles: usize,
    /// Two files have one id and different lineages.
    is_contradictory: bool,
    claimed: Vec<Node>,
    series: u128,
    rewritten: usize,
    /// Claimed blocks that have more series than all outputs together.
    larger: usize,
    /// The first of these.
    pub(super) disputed: Option<Node>,
}

impl<'a> JobClaims<'a> {
    fn new(id: [u8; 16], output_count: u32) -> Self {
        Self {
            id,
            output_count,
            by_number: BTreeMap::new(),
            origins: BTreeMap::new(),
            doubles: 0,
            is_contradictory: false,
            claimed: Vec::new(),
            series: 0,
            rewritten: 0,
            larger: 0,
            disputed: None,
        }
    }

    fn add(&mut self, node: Node, block: &'a Lineage, output: u32) {
        let of_number = self.by_number.entry(output).or_default();
        self.doubles += usize::from(!of_number.is_empty());
        of_number.insert(node);
        *self.origins.entry((&block.parents, &block.ancestors)).or_default() += 1;
        self.series += u128::from(block.series_count);
        self.rewritten += usize::from(block.is_rewritten);
    }

    fn remove(&mut self, node: Node, block: &'a Lineage, output: u32) {
        if let Entry::Occupied(mut of_number) = self.by_number.entry(output) {
            of_number.get_mut().remove(&node);
            if of_number.get().is_empty() {
                of_number.remove();
            } else {
                self.doubles -= 1;
            }
        }
        if let Entry::Occupied(mut origin) = self.origins.entry((&block.parents, &block.ancestors)) {
            *origin.get_mut() -= 1;
            if *origin.get() == 0 {
                origin.remove();
            }
        }
        self.series -= u128::from(block.series_count);
        self.rewritten -= usize::from(block.is_rewritten);
    }

    /// Returns the number of different output numbers that are there.
    pub(super) fn present(&self) -> u32 {
        u32::try_from(self.by_number.len()).unwrap_or(u32::MAX)
    }

    /// Returns true if each output from 0 to `output_count` - 1 is there and they belong together.
    pub(super) fn is_complete(&self) -> bool {
        let in_range = self.by_number.last_key_value().is_some_and(|(last, _)| *last < self.output_count);
        let is_doubtful = self.is_contradictory || self.doubles > 0 || self.origins.len() != 1;
        in_range && !is_doubtful && self.present() == self.output_count
    }

    /// Returns true if a block that the outputs claim to hold has more series than they have together.
    pub(super) fn is_disputed(&self) -> bool {
        self.rewritten == 0 && self.larger > 0
    }

    /// Returns true if the job hides the blocks that it claims to hold.
    pub(super) fn is_hiding(&self) -> bool {
        self.is_complete() && !self.is_disputed()
    }

    /// Returns true if a claimed block with this number of series disputes the claims of the job.
    pub(super) fn is_smaller_than(&self, series_count: u64) -> bool {
        self.rewritten == 0 && u128::from(series_count) > self.series
    }

    /// Returns true if `block`, which the job claims, is the only one that disputes its claims.
    pub(super) fn is_only_disputed_by(&self, block: &Lineage) -> bool {
        self.larger == 1 && self.is_smaller_than(block.series_count)
    }

    /// Blocks that the job hides if it is complete; never its own outputs. They may be missing.
    pub(super) fn hides(&self) -> impl Iterator<Item = Node> + '_ {
        self.claimed.iter().copied()
    }

    pub(super) fn outputs(&self) -> impl Iterator<Item = Node> + '_ {
        self.by_number.values().flatten().copied()
    }

    pub(super) fn series(&self) -> u128 {
        self.series
    }
}

impl<'a> Claims<'a> {
    pub(super) fn new(blocks: impl Iterator<Item = &'a Lineage> + Clone) -> Self {
        let mut claims = Self {
            ids: Vec::new(),
            nodes: HashMap::new(),
            blocks: Vec::new(),
            claimants: Vec::new(),
            job_of: Vec::new(),
            jobs: Vec::new(),
        };
        let keys: BTreeSet<([u8; 16], u32)> =
            blocks.clone().filter_map(|block| block.job).map(|job| (job.id, job.output_count)).collect();
        let numbers: HashMap<([u8; 16], u32), usize> = keys.iter().copied().zip(0..).collect();
        claims.jobs = keys.into_iter().map(|(id, output_count)| JobClaims::new(id, output_count)).collect();
        for block in blocks {
            claims.add(block, &numbers);
        }
        claims.connect();
        claims
    }

    fn add(&mut self, block: &'a Lineage, jobs: &HashMap<([u8; 16], u32), usize>) {
        let node = self.intern(block.id);
        let number = block.job.and_then(|job| jobs.get(&(job.id, job.output_count)).copied());
        if let Some(first) = self.blocks[node] {
            // Copies count once. Blocks with one id and different origins are not copies.
            if first.job != block.job || (&first.parents, &first.ancestors) != (&block.parents, &block.ancestors) {
                for job in [number, self.job_of[node]].into_iter().flatten() {
                    self.jobs[job].is_contradictory = true;
                }
            }
            return;
        }
        self.blocks[node] = Some(block);
        self.job_of[node] = number;
        if let (Some(number), Some(job)) = (number, block.job) {
            self.jobs[number].add(node, block, job.output);
        }
    }

    /// Adds the claims of each job: those of its first output, since they are equal if the job is complete.
    fn connect(&mut self) {
        for number in 0..self.jobs.len() {
            let first = self.jobs[number].outputs().next().and_then(|node| self.blocks[node]);
            let Some(first) = first else { continue };
            let named = first.parents.iter().chain(&first.ancestors);
            let mut claimed: Vec<Node> = named.map(|id| self.intern(*id)).collect();
            claimed.sort_unstable();
            claimed.dedup();
            claimed.retain(|node| self.job_of[*node] != Some(number));
            // The first block that disputes the claim is named in messages: by id, not by its number here.
            claimed.sort_unstable_by_key(|node| self.ids[*node]);
            for &node in &claimed {
                self.claimants[node].push(number);
                let job = &mut self.jobs[number];
                if self.blocks[node].is_some_and(|block| job.is_smaller_than(block.series_count)) {
                    job.larger += 1;
                    job.disputed.get_or_insert(node);
                }
            }
            self.jobs[number].claimed = claimed;
        }
    }

    fn intern(&mut self, id: BlockId) -> Node {
        let new = self.ids.len();
        let node = *self.nodes.entry(id).or_insert(new);
        if node == new {
            self.ids.push(id);
            self.blocks.push(None);
            self.claimants.push(Vec::new());
            self.job_of.push(None);
        }
        node
    }

    /// Removes a block that is there: all files with its id.
    pub(super) fn remove(&mut self, node: Node) {
        let Some(block) = self.blocks[node].take() else { return };
        for number in &self.claimants[node] {
            let job = &mut self.jobs[*number];
            if job.is_smaller_than(block.series_count) {
                job.larger = job.larger.saturating_sub(1);
            }
        }
        if let (Some(number), Some(job)) = (self.job_of[node], block.job) {
            self.jobs[number].remove(node, block, job.output);
        }
    }

    /// Puts a removed block back.
    pub(super) fn restore(&mut self, node: Node, block: &'a Lineage) {
        self.blocks[node] = Some(block);
        if let (Some(number), Some(job)) = (self.job_of[node], block.job) {
            self.jobs[number].add(node, block, job.output);
        }
        for number in &self.claimants[node] {
            let job = &mut self.jobs[*number];
            job.larger += usize::from(job.is_smaller_than(block.series_count));
        }
    }

    /// Returns the number of nodes: blocks that are there, were removed, or are named.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn id(&self, node: Node) -> BlockId {
        self.ids[node]
    }

    /// Returns the node of a block that is there or that another names.
    pub(super) fn node(&self, id: &BlockId) -> Option<Node> {
        self.nodes.get(id).copied()
    }

    /// Returns the block of a node, if it is there.
    pub(super) fn block(&self, node: Node) -> Option<&'a Lineage> {
        self.blocks[node]
    }

    pub(super) fn jobs(&self) -> &[JobClaims<'a>] {
        &self.jobs
    }

    /// Returns the number of the job that wrote a block.
    pub(super) fn job_of(&self, node: Node) -> Option<usize> {
        self.job_of[node]
    }

    /// Returns the jobs that make a claim about a node, by id.
    pub(super) fn claimants(&self, node: Node) -> impl Iterator<Item = usize> + '_ {
        self.claimants[node].iter().copied()
    }

    /// Returns the nodes of a block's parents.
    pub(super) fn parents<'b>(&'b self, block: &'b Lineage) -> impl Iterator<Item = Node> + 'b {
        block.parents.iter().filter_map(|id| self.node(id))
    }
}
