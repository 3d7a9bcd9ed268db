//! [`ListCache`]: lists of pools, decoded.

use std::ops::Range;
use std::sync::Arc;

use chronoxide_format::view::Pool;
use hashbrown::HashMap;

use crate::SelectError;

/// Maximum number of members and lengths: 16 MiB. All are dropped at once then.
const MAX_NUMBERS: usize = 4 << 20;
/// A pool is decoded when this part of it was asked for.
const NUMBERS_PER_LOOKUP: u64 = 4;

/// Members and lengths of the lists of one block.
#[derive(Debug, Default)]
pub(super) struct ListCache {
    pools: HashMap<u32, CachedPool>,
    lens: HashMap<u32, CachedLens>,
    /// Number of members and lengths in the cache.
    len: usize,
}

#[derive(Debug)]
enum CachedPool {
    /// Number of members that were asked for.
    Asked(u64),
    Decoded(Arc<DecodedPool>),
}

#[derive(Debug)]
enum CachedLens {
    /// Number of lists that were asked for.
    Asked(u64),
    /// Number of members of each list.
    Decoded(Arc<[u32]>),
}

/// All lists of a pool.
#[derive(Debug)]
pub(super) struct DecodedPool {
    /// End of each list in `members`.
    ends: Vec<u32>,
    members: Vec<u32>,
}

impl DecodedPool {
    fn new(pool: &Pool<'_, '_>) -> Result<Self, SelectError> {
        let mut decoded = Self { ends: Vec::new(), members: Vec::new() };
        pool.push_ends(&mut decoded.ends)?;
        pool.push_members(&mut decoded.members)?;
        Ok(decoded)
    }

    /// Returns the members of a list in some places, or `None` if one is out of range.
    pub(super) fn members(&self, list: u32, places: Range<u32>) -> Option<&[u32]> {
        let end = *self.ends.get(list as usize)? as usize;
        let start = list.checked_sub(1).map_or(Some(0), |before| self.ends.get(before as usize).copied())? as usize;
        self.members.get(start..end)?.get(places.start as usize..places.end as usize)
    }
}

impl ListCache {
    /// Returns all lists of a pool, or `None` while too few of their members were asked for.
    pub(super) fn pool(&mut self, pool: &Pool<'_, '_>, wanted: u32) -> Result<Option<Arc<DecodedPool>>, SelectError> {
        let mut asked = u64::from(wanted);
        match self.pools.get_mut(&pool.id().0) {
            Some(CachedPool::Decoded(decoded)) => return Ok(Some(Arc::clone(decoded))),
            Some(CachedPool::Asked(before)) => asked = asked.saturating_add(*before),
            None => {}
        }
        let len = pool.member_count() as usize + pool.list_count() as usize;
        if len > MAX_NUMBERS || asked * NUMBERS_PER_LOOKUP < len as u64 {
            self.pools.insert(pool.id().0, CachedPool::Asked(asked));
            return Ok(None);
        }
        let decoded = Arc::new(DecodedPool::new(pool)?);
        self.make_room(len);
        self.pools.insert(pool.id().0, CachedPool::Decoded(Arc::clone(&decoded)));
        Ok(Some(decoded))
    }

    /// Returns the lengths of all lists of a pool, or `None` while too few of its lists were asked for.
    pub(super) fn list_lens(&mut self, pool: &Pool<'_, '_>, wanted: u32) -> Result<Option<Arc<[u32]>>, SelectError> {
        let mut asked = u64::from(wanted);
        match self.lens.get_mut(&pool.id().0) {
            Some(CachedLens::Decoded(lens)) => return Ok(Some(Arc::clone(lens))),
            Some(CachedLens::Asked(before)) => asked = asked.saturating_add(*before),
            None => {}
        }
        let count = pool.list_count() as usize;
        if count > MAX_NUMBERS || asked * NUMBERS_PER_LOOKUP < count as u64 {
            self.lens.insert(pool.id().0, CachedLens::Asked(asked));
            return Ok(None);
        }
        let mut ends = Vec::new();
        pool.push_ends(&mut ends)?;
        let starts = [0].into_iter().chain(ends.iter().copied());
        let lens: Arc<[u32]> = ends.iter().zip(starts).map(|(end, start)| end - start).collect();
        self.make_room(count);
        self.lens.insert(pool.id().0, CachedLens::Decoded(Arc::clone(&lens)));
        Ok(Some(lens))
    }

    /// Forgets everything if `added` more numbers exceed the limit.
    fn make_room(&mut self, added: usize) {
        if self.len.saturating_add(added) > MAX_NUMBERS {
            self.pools.clear();
            self.lens.clear();
            self.len = 0;
        }
        self.len = self.len.saturating_add(added);
    }
}
