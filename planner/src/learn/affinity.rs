//! Affinity of keys by their groups on other keysets. Rows cannot show it for columns that do not change.

use foldhash::HashMap;

use crate::content::Origin;

/// Maximum number of pairs of keys. Affinity is a hint, and blocks may have many keys.
const MAX_PAIRS: usize = 1 << 22;

/// Number of series for which two keys were in one group.
#[derive(Debug)]
pub(crate) struct Affinity<'c> {
    origins: &'c [Origin],
    /// Series by pairs of keys, the smaller key first. A table of all pairs would grow with the square of the keys.
    series: HashMap<(u32, u32), f64>,
}

impl<'c> Affinity<'c> {
    /// Creates affinities in which keys of one origin belong together.
    pub(crate) fn new(origins: &'c [Origin]) -> Self {
        Self { origins, series: HashMap::default() }
    }

    /// Records that these keys, in increasing order, were in one group.
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

    /// Returns the sum of the affinities of a key to others.
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
        assert_eq!(affinity.with_all(0, &[1, 2, 3, 9]), 1.0, "one has the same origin");
        assert_eq!(affinity.with_all(2, &[0, 1, 3, 9]), 1.0 + 7.0 + 5.0);
        assert_eq!(affinity.with_all(3, &[9]), 0.0, "the origin of both is unknown");
    }
}
