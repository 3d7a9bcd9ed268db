//! [`Listing`]: the blocks of a location, and which of them are live.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chronoxide_reader::lineage::{IncompleteJob, Reason, Standing, judge};
use chronoxide_reader::{BlockId, is_block_name};

use crate::facts::Facts;
use crate::manifest::Manifest;
use crate::sparse::{Opening, SparseBlock, facts_of_head};
use crate::storage::{Object, RangedRead};
use crate::{Location, LocationError};

/// Extension of blocks, with its dot.
pub const BLOCK_SUFFIX: &str = ".cx";

/// Number of times that a location is listed before it counts as changing. Between two compactions, a listing succeeds.
const MAX_LISTINGS: usize = 100;

/// Number of times that a location is listed until it has an expected block.
const MAX_LOOKS: usize = 5;

/// A block of a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The object.
    pub object: Object,
    /// Facts that the block states.
    pub facts: Facts,
}

/// A hidden block, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenBlock {
    /// The block.
    pub block: Listed,
    /// Reason why it is hidden.
    pub reason: Reason,
}

/// The blocks of a location. Objects whose keys have a further `/`, do not end in `.cx`, or begin with a dot are not
/// blocks of the location.
#[derive(Debug, Default)]
pub struct Listing {
    /// Live blocks, by id.
    pub live: Vec<Listed>,
    /// Hidden blocks, by id.
    pub hidden: Vec<HiddenBlock>,
    /// Keys of objects that are not valid blocks, with the reason.
    pub unreadable: Vec<(String, LocationError)>,
    /// Jobs that lack outputs, or whose claims were rejected.
    pub incomplete: Vec<IncompleteJob>,
    /// Number of blocks that were taken from the manifest.
    pub from_manifest: usize,
}

impl Listing {
    /// Lists a location. Blocks that the manifest describes are not read; of each other block, two ranges are read,
    /// several blocks at a time.
    ///
    /// # Errors
    /// The location cannot be listed, or a block cannot be read, which may hide others. Objects that are not valid
    /// blocks are [listed](Listing::unreadable).
    pub fn read(location: &Location) -> Result<Self, LocationError> {
        Self::read_with(location, &Manifest::read(location)?, &mut |_, _| {})
    }

    /// Lists a location by its blocks alone, whatever its manifest says: for callers that delete or replace blocks.
    ///
    /// # Errors
    /// As [`Listing::read`].
    pub fn read_blocks(location: &Location) -> Result<Self, LocationError> {
        Self::read_with(location, &Manifest::default(), &mut |_, _| {})
    }

    /// Lists a location again by its blocks alone: reads those that this listing has not read.
    ///
    /// # Errors
    /// As [`Listing::read`].
    pub fn again(&self, location: &Location) -> Result<Self, LocationError> {
        let known = if self.from_manifest == 0 { Manifest::from_listing(self) } else { Manifest::default() };
        Self::read_with(location, &known, &mut |_, _| {}).map(|listing| Self { from_manifest: 0, ..listing })
    }

    /// Lists a location with a manifest that was read before. Calls `progress` with the number of blocks read so far,
    /// and the number to read.
    ///
    /// # Errors
    /// As [`Listing::read`].
    pub fn read_with(
        location: &Location,
        manifest: &Manifest,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, LocationError> {
        let mut objects = blocks(location)?;
        let mut known = BTreeMap::new();
        // A block that was deleted after the listing was replaced by others, which the listing may lack.
        for _ in 0..MAX_LISTINGS {
            let missing = read_facts(location, &objects, manifest, &mut known, progress)?;
            if !missing && location.is_remote() {
                return Self::from_facts(location, objects, known, manifest);
            }
            let again = blocks(location)?;
            // Names of a folder are not read at once: they may lack both a deleted block and those that replaced it.
            if !missing && again == objects {
                return Self::from_facts(location, objects, known, manifest);
            }
            objects = again;
        }
        Err(LocationError::Changing { location: location.text().to_owned() })
    }

    /// Lists a location by its blocks alone. It has blocks under these keys, as the caller knows: lists again if one is
    /// missing, since a store may answer with an old listing. The last listing counts.
    ///
    /// # Errors
    /// As [`Listing::read`].
    pub fn read_expecting<'a>(
        location: &Location,
        keys: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Result<Self, LocationError> {
        let mut listing = Self::read_blocks(location)?;
        for number in 1..MAX_LOOKS {
            let found: BTreeSet<&str> = listing.all().iter().map(|block| block.object.key.as_str()).collect();
            if keys.clone().into_iter().all(|key| found.contains(key)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50 << number));
            listing = Self::read_blocks(location)?;
        }
        Ok(listing)
    }

    fn from_facts(
        location: &Location,
        objects: Vec<Object>,
        mut known: BTreeMap<Object, Result<Facts, LocationError>>,
        manifest: &Manifest,
    ) -> Result<Self, LocationError> {
        let mut listing = Self::default();
        let mut blocks = Vec::with_capacity(objects.len());
        for object in objects {
            listing.from_manifest += usize::from(manifest.facts(&object).is_some());
            match known.remove(&object) {
                Some(Ok(facts)) => blocks.push(Listed { object, facts }),
                Some(Err(error)) => listing.unreadable.push((object.key, error)),
                None => {}
            }
        }
        // Stable: copies stay in the order of their keys.
        blocks.sort_by_key(|block| block.facts.id);
        listing.set_damaged_aside(location, &mut blocks)?;
        let lineages: Vec<_> = blocks.iter().map(|block| block.facts.lineage()).collect();
        let judgement = judge(&lineages);
        for (block, standing) in blocks.into_iter().zip(judgement.standings) {
            match standing {
                Standing::Live => listing.live.push(block),
                Standing::Hidden(reason) => listing.hidden.push(HiddenBlock { block, reason }),
            }
        }
        listing.incomplete = judgement.incomplete;
        Ok(listing)
    }

    /// Verifies blocks that share an id and differ in their headers: such blocks are not copies, and none of them may
    /// hide the sound one.
    fn set_damaged_aside(&mut self, location: &Location, blocks: &mut Vec<Listed>) -> Result<(), LocationError> {
        let mut first: BTreeMap<BlockId, u32> = BTreeMap::new();
        let mut disputed = BTreeSet::new();
        for block in &*blocks {
            let header = block.facts.header_checksum;
            if *first.entry(block.facts.id).or_insert(header) != header {
                disputed.insert(block.facts.id);
            }
        }
        for block in std::mem::take(blocks) {
            match disputed.contains(&block.facts.id).then(|| crate::fetch::verify_in_memory(location, &block.object)) {
                Some(Err(error)) if error.is_temporary() => return Err(error),
                Some(Err(error)) => self.unreadable.push((block.object.key, error)),
                _ => blocks.push(block),
            }
        }
        Ok(())
    }

    /// Reads the live blocks with these ids again, if the listing may know them from a manifest alone: a ranged read
    /// per block. If one states something else, lists the location by its blocks. Returns the keys of these blocks.
    ///
    /// Without this, merges would refuse the blocks, and each further listing would repeat what the manifest says.
    ///
    /// # Errors
    /// As [`Listing::read`].
    pub fn correct(&mut self, location: &Location, ids: &BTreeSet<BlockId>) -> Result<Vec<String>, LocationError> {
        if self.from_manifest == 0 {
            return Ok(Vec::new());
        }
        let blocks: Vec<&Listed> = self.live.iter().filter(|block| ids.contains(&block.facts.id)).collect();
        let objects: Vec<Object> = blocks.iter().map(|block| block.object.clone()).collect();
        let mut stated = BTreeMap::new();
        read_facts(location, &objects, &Manifest::default(), &mut stated, &mut |_, _| {})?;
        let is_wrong =
            |block: &&&Listed| !matches!(stated.get(&block.object), Some(Ok(facts)) if *facts == block.facts);
        let contradicted: Vec<String> = blocks.iter().filter(is_wrong).map(|block| block.object.key.clone()).collect();
        if !contradicted.is_empty() {
            *self = Self::read_blocks(location)?;
        }
        Ok(contradicted)
    }

    /// Returns the readable block under a key.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<&Listed> {
        let mut blocks = self.live.iter().chain(self.hidden.iter().map(|hidden| &hidden.block));
        blocks.find(|block| block.object.key == key)
    }

    /// Returns all readable blocks, live and hidden, by id.
    #[must_use]
    pub fn all(&self) -> Vec<&Listed> {
        let mut all: Vec<&Listed> = self.live.iter().chain(self.hidden.iter().map(|hidden| &hidden.block)).collect();
        all.sort_by(|a, b| (a.facts.id, &a.object.key).cmp(&(b.facts.id, &b.object.key)));
        all
    }
}

/// Returns the objects of a location that may be blocks, by key.
pub(crate) fn blocks(location: &Location) -> Result<Vec<Object>, LocationError> {
    Ok(location.list("", false)?.into_iter().filter(|object| is_block_name(&object.key)).collect())
}

/// Reads the facts of blocks that are not known. Returns true if one of them is missing.
fn read_facts(
    location: &Location,
    objects: &[Object],
    manifest: &Manifest,
    known: &mut BTreeMap<Object, Result<Facts, LocationError>>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<bool, LocationError> {
    let mut unknown = Vec::new();
    for object in objects {
        match manifest.facts(object) {
            Some(facts) => _ = known.insert(object.clone(), Ok(facts.clone())),
            None if !known.contains_key(object) => unknown.push(object),
            None => {}
        }
    }
    let request =
        |object: &&Object| RangedRead { key: object.key.clone(), ranges: vec![Opening::facts(object.byte_len)] };
    let requests: Vec<RangedRead> = unknown.iter().map(request).collect();
    let (mut done, mut is_missing, mut failed) = (0, false, None);
    location.read_ranges(requests, &mut |place, read| {
        done += 1;
        progress(done, unknown.len());
        let object = unknown[place];
        let facts = read.and_then(|read| facts_of(location, object, read));
        match facts {
            Err(LocationError::Missing { .. }) => is_missing = true,
            // An object that is not a block differs from one that cannot be read now: that may hide others.
            Err(error) if error.is_temporary() => failed = Some(error),
            facts => _ = known.insert(object.clone(), facts),
        }
        failed.is_none()
    });
    failed.map_or(Ok(is_missing), Err)
}

fn facts_of(location: &Location, object: &Object, read: Vec<bytes::Bytes>) -> Result<Facts, LocationError> {
    match read.first().and_then(|head| facts_of_head(object, head)) {
        Some(facts) => Ok(facts),
        None => SparseBlock::open(location, object)?.facts(),
    }
}
