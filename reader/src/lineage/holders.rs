//! [`hidden_blocks`]: hidden blocks, and the live blocks that are said to hold their series.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use chronoxide_format::identity::BlockId;

use super::claims::{Claims, Node};
use super::judge::{first_hiding, standings};
use super::{Lineage, Reason, Standing};

/// Hidden blocks with one reason, and the live blocks that hold their series if lineage is true.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HiddenBlocks {
    /// Reason why the blocks are hidden: the job that merged them, or the unfinished job that wrote them.
    pub reason: Reason,
    /// Positions of the blocks in the input. Copies are included.
    pub blocks: Vec<usize>,
    /// Positions of the live blocks, each once.
    pub holders: Vec<usize>,
}

/// Returns the hidden blocks of a folder, grouped by the job that is the reason, by its id. Blocks that are hidden only
/// as copies are not included.
///
/// Claims lead to the holders: from a merged block to the outputs of the job, and from an output of an unfinished job
/// to its parents, until a block is live. That they hold the series is to be proved from their content.
#[must_use]
pub fn hidden_blocks(blocks: &[&Lineage]) -> Vec<HiddenBlocks> {
    let claims = Claims::new(blocks.iter().copied());
    let standings = standings(&claims);
    let mut files: HashMap<BlockId, Vec<usize>> = HashMap::new();
    for (place, block) in blocks.iter().enumerate() {
        files.entry(block.id).or_default().push(place);
    }
    let mut finder = Finder { claims: &claims, standings: &standings, found: HashMap::new() };
    let mut groups: BTreeMap<(bool, [u8; 16]), Group> = BTreeMap::new();
    for node in (0..claims.len()).filter(|node| claims.block(*node).is_some()) {
        let Standing::Hidden(reason) = standings[node] else { continue };
        let key = match reason {
            Reason::Merged { job } => (false, job),
            Reason::Pending { job } => (true, job),
            Reason::Copy => continue,
        };
        let group =
            groups.entry(key).or_insert_with(|| Group { reason, files: BTreeSet::new(), holders: Holders::default() });
        group.files.extend(files.get(&claims.id(node)).into_iter().flatten());
        let holders = finder.holders(node);
        // Blocks that one job hides share their set.
        if !Rc::ptr_eq(&group.holders, &holders) {
            add(&mut group.holders, holders);
        }
    }
    let first_file = |node: &Node| files.get(&claims.id(*node)).and_then(|files| files.first()).copied();
    let group = |Group { reason, files, holders }: Group| {
        let holders: BTreeSet<usize> = holders.iter().filter_map(first_file).collect();
        HiddenBlocks { reason, blocks: files.into_iter().collect(), holders: holders.into_iter().collect() }
    };
    groups.into_values().map(group).collect()
}

/// Returns the blocks that would be hidden if `added` were in the folder too, and that were live or are added
/// themselves, but not the parents of `added`: a job proves by its merge that its outputs hold these. Positions count
/// through `blocks` and `added`.
///
/// Blocks are hidden so by claims that others make about them, or that the job inherits from its inputs.
#[must_use]
pub fn newly_hidden(blocks: &[&Lineage], added: &[&Lineage]) -> Vec<HiddenBlocks> {
    let claims = Claims::new(blocks.iter().copied());
    let before = standings(&claims);
    let parents: BTreeSet<BlockId> = added.iter().flat_map(|block| &block.parents).copied().collect();
    let was_live = |id: &BlockId| {
        claims.node(id).is_some_and(|node| claims.block(node).is_some() && before[node] == Standing::Live)
    };
    let all: Vec<&Lineage> = blocks.iter().chain(added).copied().collect();
    let mut groups = hidden_blocks(&all);
    for group in &mut groups {
        // Until the last output of a job is there, the others are hidden by the parents.
        let is_merged = matches!(group.reason, Reason::Merged { .. });
        group.blocks.retain(|place| {
            let id = all[*place].id;
            let is_added = claims.node(&id).is_none_or(|node| claims.block(node).is_none());
            !parents.contains(&id) && (was_live(&id) || is_added && is_merged)
        });
    }
    groups.retain(|group| !group.blocks.is_empty());
    groups
}

type Holders = Rc<BTreeSet<Node>>;

struct Group {
    reason: Reason,
    files: BTreeSet<usize>,
    holders: Holders,
}

fn add(holders: &mut Holders, more: Holders) {
    if holders.is_empty() {
        *holders = more;
    } else {
        Rc::make_mut(holders).extend(more.iter());
    }
}

/// Finds the live blocks above each node. Nodes that one job hides share their set.
struct Finder<'a, 'b> {
    claims: &'a Claims<'b>,
    standings: &'a [Standing],
    /// `None` while the nodes above are being visited: a cycle ends there, without a holder.
    found: HashMap<Place, Option<Holders>>,
}

/// A node, or all outputs of a job.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Node(Node),
    Job(usize),
}

impl Finder<'_, '_> {
    /// Returns the live blocks above a node. A chain of merges may have thousands of links, so this does not recurse.
    fn holders(&mut self, node: Node) -> Holders {
        let mut stack = vec![Place::Node(node)];
        while let Some(&place) = stack.last() {
            if let Some(Some(_)) = self.found.get(&place) {
                stack.pop();
                continue;
            }
            let above = self.above(place);
            let is_first_visit = self.found.insert(place, None).is_none();
            let unknown: Vec<Place> = above.iter().copied().filter(|above| !self.found.contains_key(above)).collect();
            if is_first_visit && !unknown.is_empty() {
                stack.extend(unknown);
                continue;
            }
            stack.pop();
            let holders = self.union(place, &above);
            self.found.insert(place, Some(holders));
        }
        self.found.get(&Place::Node(node)).cloned().flatten().unwrap_or_default()
    }

    fn union(&self, place: Place, above: &[Place]) -> Holders {
        if let Place::Node(node) = place
            && self.claims.block(node).is_some()
            && self.standings[node] == Standing::Live
        {
            return Rc::new(BTreeSet::from([node]));
        }
        let mut union = Holders::default();
        let mut last = Holders::default();
        for holders in above.iter().filter_map(|above| self.found.get(above).cloned().flatten()) {
            // Outputs that one job merged share their set.
            if !Rc::ptr_eq(&last, &holders) {
                add(&mut union, holders.clone());
                last = holders;
            }
        }
        union
    }

    fn above(&self, place: Place) -> Vec<Place> {
        match place {
            Place::Job(job) => self.claims.jobs()[job].outputs().map(Place::Node).collect(),
            Place::Node(node) => match (self.claims.block(node), self.standings[node]) {
                (Some(_), Standing::Live) => Vec::new(),
                (Some(block), Standing::Hidden(Reason::Pending { .. })) => {
                    self.claims.parents(block).map(Place::Node).collect()
                }
                _ => first_hiding(self.claims, node).map(Place::Job).into_iter().collect(),
            },
        }
    }
}
