//! [`deletion_order`]: the order in which blocks may be deleted.

use std::collections::{BTreeSet, HashMap};

use chronoxide_format::identity::BlockId;

use super::claims::{Claims, Node};
use super::judge::standings;
use super::{Lineage, Reason, Standing};

/// Result of [`deletion_order`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DeletionOrder {
    /// Positions of the blocks in the input, in an order of deletion that is safe if it is stopped after any of them:
    /// after each deletion, the same blocks are live.
    pub order: Vec<usize>,
    /// Blocks that are there and have to stay, by id: they are live, or without them different blocks would be live.
    pub needed: Vec<BlockId>,
}

/// Orders the deletion of hidden blocks of a folder. All copies of a block are deleted.
///
/// The order is that of ids, the oldest first, with one exception: a block that a job hides is deleted before the
/// outputs of this job. What an output of an unfinished job is compared with stays while it is there: parents, and the
/// blocks that replaced them. Lineage is a claim: prove first that others hold the series of the blocks.
#[must_use]
pub fn deletion_order(blocks: &[&Lineage], delete: &BTreeSet<BlockId>) -> DeletionOrder {
    let order = Deletion::new(blocks, delete).run();
    let gone: BTreeSet<usize> = order.iter().copied().collect();
    let left = (0..).zip(blocks).filter(|(place, _)| !gone.contains(place)).map(|(_, block)| block.id);
    let needed: BTreeSet<BlockId> = left.filter(|id| delete.contains(id)).collect();
    DeletionOrder { order, needed: needed.into_iter().collect() }
}

fn is_merged(standing: Standing) -> bool {
    matches!(standing, Standing::Hidden(Reason::Merged { .. }))
}

/// Returns true if a block holds itself in the end: a block is held by the complete jobs that claim it, these by their
/// outputs, and an output of an unfinished job by its parents. Takes away what holds nothing, until a cycle is left.
fn has_cycle(claims: &Claims<'_>, standings: &[Standing]) -> bool {
    let jobs = claims.jobs();
    // Jobs are numbered after the nodes.
    let holders = |place: usize| -> Vec<usize> {
        let Some(standing) = standings.get(place) else { return jobs[place - claims.len()].outputs().collect() };
        let is_pending = matches!(standing, Standing::Hidden(Reason::Pending { .. }));
        let parents = claims.block(place).filter(|_| is_pending).map(|block| claims.parents(block));
        let complete = claims.claimants(place).filter(|job| jobs[*job].is_complete());
        parents.into_iter().flatten().chain(complete.map(|job| claims.len() + job)).collect()
    };
    let mut held = vec![0_usize; claims.len() + jobs.len()];
    (0..held.len()).flat_map(holders).for_each(|holder| held[holder] += 1);
    let mut free: Vec<usize> = (0..held.len()).filter(|place| held[*place] == 0).collect();
    let mut left = held.len();
    while let Some(place) = free.pop() {
        left -= 1;
        for holder in holders(place) {
            held[holder] -= 1;
            if held[holder] == 0 {
                free.push(holder);
            }
        }
    }
    left > 0
}

/// Deletion of one block after the other, with the counts that say which can be next.
struct Deletion<'a> {
    claims: Claims<'a>,
    standings: Vec<Standing>,
    /// Positions of the files of each node.
    files: HashMap<BlockId, Vec<usize>>,
    /// Blocks that can be tried: outputs of unfinished jobs first, so that none of them becomes live when its parents
    /// go; then by id.
    ready: BTreeSet<(bool, BlockId, Node)>,
    /// Jobs whose claims count.
    hiding: Vec<bool>,
    /// Number of these jobs that hide each node.
    hiders: Vec<usize>,
    /// Number of outputs of unfinished jobs that name each node as a parent, and that are hidden or live by the number
    /// of series of their parents. While they are there, the parents stay, and so does what replaces them.
    children: Vec<usize>,
    /// Live outputs of jobs that name each node as a parent.
    live_children: Vec<Vec<Node>>,
    /// Blocks that wait until they have no children.
    childless_later: BTreeSet<Node>,
    /// Number of nodes that each job hides and that have children, or are there and hidden by no other job. The outputs
    /// of the job wait until it is 0.
    dependants: Vec<usize>,
    /// Outputs of each job that wait.
    waiting: Vec<Vec<Node>>,
}

impl<'a> Deletion<'a> {
    fn new(blocks: &[&'a Lineage], delete: &BTreeSet<BlockId>) -> Self {
        let claims = Claims::new(blocks.iter().copied());
        let mut files: HashMap<BlockId, Vec<usize>> = HashMap::new();
        for (place, block) in blocks.iter().enumerate() {
            files.entry(block.id).or_default().push(place);
        }
        let is_there = |node: &Node| claims.block(*node).is_some();
        let nodes = delete.iter().filter_map(|id| claims.node(id)).filter(is_there);
        let standings = standings(&claims);
        // Which blocks of a cycle are live depends on all of it. Sound blocks form none, so nothing is deleted.
        let is_cyclic = has_cycle(&claims, &standings);
        let nodes = nodes.filter(|_| !is_cyclic);
        let ready = nodes.map(|node| (is_merged(standings[node]), claims.id(node), node)).collect();
        let mut hiders = vec![0; claims.len()];
        let hiding: Vec<bool> = claims.jobs().iter().map(|job| job.is_hiding()).collect();
        for (job, _) in claims.jobs().iter().zip(&hiding).filter(|(_, is_hiding)| **is_hiding) {
            job.hides().for_each(|node| hiders[node] += 1);
        }
        let (mut children, mut live_children) = (vec![0; claims.len()], vec![Vec::new(); claims.len()]);
        for (node, standing) in standings.iter().enumerate() {
            let Some(block) = claims.block(node) else { continue };
            if *standing == Standing::Live && !block.is_read_only {
                claims.parents(block).for_each(|parent| live_children[parent].push(node));
            }
            let is_complete = claims.job_of(node).is_none_or(|job| claims.jobs()[job].is_complete());
            let is_there = |parent: Node| claims.block(parent).is_some() || hiders[parent] > 0;
            let is_child = match standing {
                Standing::Hidden(Reason::Pending { .. }) => true,
                Standing::Live => !block.is_read_only && !is_complete && claims.parents(block).all(is_there),
                Standing::Hidden(_) => false,
            };
            if is_child {
                claims.parents(block).for_each(|parent| children[parent] += 1);
            }
        }
        let (dependants, waiting) = (vec![0; claims.jobs().len()], vec![Vec::new(); claims.jobs().len()]);
        let childless_later = BTreeSet::new();
        let mut this = Self {
            claims,
            standings,
            files,
            ready,
            hiding,
            hiders,
            children,
            live_children,
            childless_later,
            dependants,
            waiting,
        };
        for node in 0..this.claims.len() {
            for job in this.needed_hiders(node) {
                this.dependants[job] += 1;
            }
        }
        this
    }

    fn run(mut self) -> Vec<usize> {
        let mut order = Vec::new();
        while let Some((_, id, node)) = self.ready.pop_first() {
            if self.delete(node) {
                order.extend(self.files.get(&id).into_iter().flatten());
            }
        }
        order
    }

    fn make_ready(&mut self, node: Node) {
        self.ready.insert((is_merged(self.standings[node]), self.claims.id(node), node));
    }

    /// Deletes a block if the same others are live afterwards. If it must wait for others, it becomes ready after them.
    fn delete(&mut self, node: Node) -> bool {
        let Some(block) = self.claims.block(node) else { return false };
        if self.standings[node] == Standing::Live {
            return false;
        }
        // Without it, its children would have a parent that is not there, or is replaced by blocks with other series.
        if self.children[node] > 0 {
            self.childless_later.insert(node);
            return false;
        }
        // Without it, the claims of these jobs count. They must not hide what is live.
        let decides = |job: &usize| {
            let job = &self.claims.jobs()[*job];
            job.is_complete() && job.is_only_disputed_by(block)
        };
        let believed: Vec<usize> = self.claims.claimants(node).filter(decides).collect();
        let is_live = |other: Node| {
            other != node && self.claims.block(other).is_some() && self.standings[other] == Standing::Live
        };
        // Nor must they replace the parents of others: a parent counts as there then, and by other blocks.
        let job = self.claims.job_of(node);
        let is_pending = |child: &Node| {
            let own = self.claims.job_of(*child);
            own.is_some_and(|own| Some(own) == job || !self.claims.jobs()[own].is_complete())
        };
        let would_hide = |other: Node| {
            is_live(other) || self.children[other] > 0 || self.live_children[other].iter().any(is_pending)
        };
        if believed.iter().any(|job| self.claims.jobs()[*job].hides().any(would_hide)) {
            return false;
        }
        if let Some(number) = job {
            let was_complete = self.claims.jobs()[number].is_complete();
            if self.dependants[number] > 0 {
                self.waiting[number].push(node);
                return false;
            }
            if was_complete && self.hides_others_without(number, node, block) {
                return false;
            }
            self.claims.remove(node);
            if !was_complete && self.claims.jobs()[number].is_complete() {
                // The job was in doubt because of this block.
                self.claims.restore(node, block);
                return false;
            }
        } else {
            self.claims.remove(node);
        }
        self.count_removed(node, block, &believed);
        true
    }

    /// Brings the counts up to date after a block was removed, one change after the other: each relies on counts that
    /// belong together.
    fn count_removed(&mut self, node: Node, block: &Lineage, believed: &[usize]) {
        if let Some(job) = self.only_hider(node) {
            self.depend_less(job);
        }
        if let Some(number) = self.claims.job_of(node).filter(|number| self.hiding[*number]) {
            self.stop_hiding(number);
        }
        if !is_merged(self.standings[node]) {
            let parents: Vec<Node> = self.claims.parents(block).collect();
            for parent in parents {
                self.remove_child(parent);
            }
        }
        for number in believed {
            self.start_hiding(*number);
        }
    }

    /// Takes a child from a parent. What waits for the last one goes on.
    fn remove_child(&mut self, parent: Node) {
        if self.children[parent] > 1 {
            self.children[parent] -= 1;
            return;
        }
        let needed_before = self.needed_hiders(parent);
        self.children[parent] = 0;
        let still_needed = self.needed_hiders(parent);
        for job in needed_before.into_iter().filter(|job| !still_needed.contains(job)) {
            self.depend_less(job);
        }
        if self.childless_later.remove(&parent) {
            self.make_ready(parent);
        }
    }

    /// Returns true if a complete job has other live outputs, which would count as those of an unfinished job without
    /// this one, and be hidden.
    fn hides_others_without(&self, number: usize, node: Node, block: &Lineage) -> bool {
        let job = &self.claims.jobs()[number];
        let is_live = |other: Node| other != node && self.standings[other] == Standing::Live;
        let own = usize::from(self.hiding[number]);
        let is_there = |parent: Node| self.claims.block(parent).is_some() || self.hiders[parent] > own;
        job.outputs().any(is_live)
            && !block.parents.is_empty()
            && block.parents.iter().all(|id| self.claims.node(id).is_some_and(is_there))
    }

    /// Takes back what a job hides, after one of its outputs was removed.
    fn stop_hiding(&mut self, number: usize) {
        self.hiding[number] = false;
        let hidden: Vec<Node> = self.claims.jobs()[number].hides().collect();
        for node in hidden {
            self.hiders[node] -= 1;
            for job in self.needed_hiders(node) {
                self.dependants[job] += 1;
            }
        }
    }

    /// Adds what a job hides whose claims count from now on.
    fn start_hiding(&mut self, number: usize) {
        if !self.claims.jobs()[number].is_hiding() {
            return;
        }
        let hidden: Vec<Node> = self.claims.jobs()[number].hides().collect();
        for node in hidden {
            let before = self.only_hider(node);
            self.hiders[node] += 1;
            if self.claims.block(node).is_some() {
                match before {
                    Some(job) => self.depend_less(job),
                    None if self.hiders[node] == 1 => self.dependants[number] += 1,
                    None => {}
                }
            }
        }
        self.hiding[number] = true;
    }

    fn depend_less(&mut self, job: usize) {
        self.dependants[job] -= 1;
        if self.dependants[job] == 0 {
            for node in std::mem::take(&mut self.waiting[job]) {
                self.make_ready(node);
            }
        }
    }

    /// Returns the jobs that have to hide a node: each of them, if its children are compared with their outputs.
    fn needed_hiders(&self, node: Node) -> Vec<usize> {
        if self.children[node] > 0 {
            self.claims.claimants(node).filter(|job| self.hiding[*job]).collect()
        } else if self.claims.block(node).is_some() {
            self.only_hider(node).into_iter().collect()
        } else {
            Vec::new()
        }
    }

    /// Returns the only job that hides a node.
    fn only_hider(&self, node: Node) -> Option<usize> {
        if self.hiders[node] == 1 { self.claims.claimants(node).find(|job| self.hiding[*job]) } else { None }
    }
}
