//! Which keys stood in one group on other keysets. Where a column does not change, its rows cannot tell.

use foldhash::HashMap;

use crate::content::Origin;

/// Pairs of keys that are remembered, at most: what is known of them is a hint, and blocks may have many keys.
const MAX_PAIRS: usize = 1 << 22;

/// How often, by series, two keys were in one group.
#[derive(Debug)]
pub(crate) struct Affinity<'c> {
    origins: &'c [Origin],
    /// By the two keys, the smaller first: a table of all pairs would grow with the square of the keys.
    series: HashMap<(u32, u32), f64>,
}

impl<'c> Affinity<'c> {
    /// Keys of one origin belong together until their rows say otherwise.
    pub(crate) fn new(origins: &'c [Origin]) -> Self {
        Self { origins, series: HashMap::default() }
    }

    /// Notes that these keys, which increase, were in one group.
    pub(crate) fn note(&mut self, keys: &[u32], series: usize) {
        if self.series.len() + keys.len() * keys.len() / 2 > MAX_PAIRS {
            return;
        }
        for (place, &left) in keys.iter().enumerate() {
            for &right in &keys[place + 1..] {
                *self.series.entry((left, right)).or_default() += series as f64;
            }
        }
    }

    /// How much a key belongs to others, all of these together.
    pub(crate) fn with_all(&self, key: u32, others: &[u32]) -> f64 {
        others.iter().map(|&other| self.with_key(key, other)).sum()
    }

    fn with_key(&self, key: u32, other: u32) -> f64 {
        let origin = |key: u32| self.origins.get(key as usize).copied().unwrap_or_default();
        let same = origin(key) != Origin::Unknown && origin(key) == origin(other);
        let noted = self.series.get(&(key.min(other), key.max(other)));
        f64::from(u8::from(same)) + noted.copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_belong_together_by_their_origin_and_by_the_series_that_had_them_in_a_group() {
        let origins = [Origin::Resource, Origin::Point, Origin::Resource, Origin::Unknown];
        let mut affinity = Affinity::new(&origins);
        affinity.note(&[1, 2, 9], 5);
        affinity.note(&[1, 2], 2);
        assert_eq!(affinity.with_all(0, &[1, 2, 3, 9]), 1.0, "one is of the same origin");
        assert_eq!(affinity.with_all(2, &[0, 1, 3, 9]), 1.0 + 7.0 + 5.0);
        assert_eq!(affinity.with_all(3, &[9]), 0.0, "where both come from nobody said");
    }
}
