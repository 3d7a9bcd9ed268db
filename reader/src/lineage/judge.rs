//! [`judge`]: which blocks are live.

use std::collections::BTreeSet;

use chronoxide_format::identity::BlockId;

use super::claims::{Claims, Node};
use super::{IncompleteJob, Lineage, Reason, Standing};

/// Result of [`judge`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Judgement {
    /// State of each block, in the order of the input.
    pub standings: Vec<Standing>,
    /// Incomplete jobs, by id.
    pub incomplete: Vec<IncompleteJob>,
}

/// Decides for each block of a folder whether it is live; see the [module](super).
#[must_use]
pub fn judge(blocks: &[Lineage]) -> Judgement {
    let claims = Claims::new(blocks.iter());
    let by_node = standings(&claims);
    let mut seen: BTreeSet<BlockId> = BTreeSet::new();
    let standing = |block: &Lineage| match claims.node(&block.id) {
        Some(node) if seen.insert(block.id) => by_node[node],
        _ => Standing::Hidden(Reason::Copy),
    };
    let standings = blocks.iter().map(standing).collect();
    let incomplete = claims.jobs().iter().filter(|job| !job.is_hiding()).map(|job| IncompleteJob {
        id: job.id,
        output_count: job.output_count,
        present: job.present(),
        disputed: job.disputed.filter(|_| job.is_complete()).map(|node| claims.id(node)),
    });
    Judgement { incomplete: incomplete.collect(), standings }
}

/// Returns the state of each node. Nodes whose blocks are not there count as live.
pub(super) fn standings(claims: &Claims<'_>) -> Vec<Standing> {
    let hiding: Vec<Option<usize>> = (0..claims.len()).map(|node| first_hiding(claims, node)).collect();
    let is_there = |node: Node| claims.block(node).is_some() || hiding[node].is_some();
    let holders: Vec<Option<usize>> = (0..claims.len()).map(|node| largest_hiding(claims, node)).collect();
    let standing = |node: Node| {
        let Some(block) = claims.block(node).filter(|block| !block.is_read_only) else { return Standing::Live };
        if let Some(job) = hiding[node] {
            return Standing::Hidden(Reason::Merged { job: claims.jobs()[job].id });
        }
        let Some(number) = claims.job_of(node) else { return Standing::Live };
        let job = &claims.jobs()[number];
        // An output without parents has no other copy.
        let is_replaceable = !block.parents.is_empty()
            && block.parents.iter().all(|id| claims.node(id).is_some_and(is_there))
            && series_held(claims, block, &holders) >= u128::from(block.series_count);
        if job.is_complete() || !is_replaceable {
            Standing::Live
        } else {
            Standing::Hidden(Reason::Pending { job: job.id })
        }
    };
    let mut standings: Vec<Standing> = (0..claims.len()).map(standing).collect();
    let held = Held::find(claims, &standings);
    for (standing, _) in standings.iter_mut().zip(held).filter(|(_, is_held)| !is_held) {
        *standing = Standing::Live;
    }
    standings
}

fn hiding<'a>(claims: &'a Claims<'_>, node: Node) -> impl Iterator<Item = usize> + 'a {
    claims.claimants(node).filter(|job| claims.jobs()[*job].is_hiding())
}

pub(super) fn first_hiding(claims: &Claims<'_>, node: Node) -> Option<usize> {
    hiding(claims, node).next()
}

/// Returns the job with the most series that hides a node. Each of these jobs holds all series of the node, so the
/// largest is the best bound.
fn largest_hiding(claims: &Claims<'_>, node: Node) -> Option<usize> {
    hiding(claims, node).max_by_key(|job| claims.jobs()[*job].series())
}

/// Returns the most series that the parents can hold. A missing parent counts as the outputs of a job that hides it.
fn series_held(claims: &Claims<'_>, block: &Lineage, holders: &[Option<usize>]) -> u128 {
    let missing = claims.parents(block).filter(|parent| claims.block(*parent).is_none());
    let jobs: BTreeSet<usize> = missing.filter_map(|parent| holders[parent]).collect();
    // A parent that is an output of such a job is counted with the job.
    let is_counted = |parent: &Node| claims.job_of(*parent).is_some_and(|job| jobs.contains(&job));
    let there = claims.parents(block).filter(|parent| !is_counted(parent)).filter_map(|parent| claims.block(parent));
    let of_jobs: u128 = jobs.iter().map(|job| claims.jobs()[*job].series()).sum();
    of_jobs + there.map(|parent| u128::from(parent.series_count)).sum::<u128>()
}

/// Finds the blocks whose series are all in live blocks: all of them, unless origins form a cycle. Follows each edge
/// once.
struct Held {
    /// Blocks that are held.
    held: Vec<bool>,
    /// Nodes that are held, or that a job hides whose outputs are all held.
    covered: Vec<bool>,
    /// Number of outputs of each job that are not held.
    missing: Vec<usize>,
    /// Hidden outputs of unfinished jobs that name each node as a parent.
    waiting: Vec<Vec<Node>>,
    /// Number of parents of each of these outputs that are not covered.
    uncovered: Vec<usize>,
    new: Vec<Node>,
}

impl Held {
    fn find(claims: &Claims<'_>, standings: &[Standing]) -> Vec<bool> {
        let count = claims.len();
        let mut this = Self {
            held: vec![false; count],
            covered: vec![false; count],
            missing: claims.jobs().iter().map(|job| job.outputs().count()).collect(),
            waiting: vec![Vec::new(); count],
            uncovered: vec![0; count],
            new: Vec::new(),
        };
        for (node, standing) in standings.iter().enumerate() {
            let Some(block) = claims.block(node) else { continue };
            if let Standing::Hidden(Reason::Pending { .. }) = standing {
                for parent in claims.parents(block) {
                    this.waiting[parent].push(node);
                    this.uncovered[node] += 1;
                }
            }
        }
        for node in (0..count).filter(|node| claims.block(*node).is_some()) {
            if standings[node] == Standing::Live {
                this.hold(node);
            }
        }
        while let Some(node) = this.new.pop() {
            this.cover(node);
            let Some(number) = claims.job_of(node) else { continue };
            this.missing[number] -= 1;
            let job = &claims.jobs()[number];
            if this.missing[number] == 0 && job.is_hiding() {
                for hidden in job.hides() {
                    this.cover(hidden);
                    // An output of an unfinished job may be merged as well, which is the reason that counts.
                    let is_merged = matches!(standings[hidden], Standing::Hidden(Reason::Merged { .. }));
                    if is_merged && claims.block(hidden).is_some() {
                        this.hold(hidden);
                    }
                }
            }
        }
        this.held
    }

    fn hold(&mut self, node: Node) {
        if !std::mem::replace(&mut self.held[node], true) {
            self.new.push(node);
        }
    }

    fn cover(&mut self, node: Node) {
        if std::mem::replace(&mut self.covered[node], true) {
            return;
        }
        for waiting in std::mem::take(&mut self.waiting[node]) {
            self.uncovered[waiting] -= 1;
            if self.uncovered[waiting] == 0 {
                self.hold(waiting);
            }
        }
    }
}
