//! Which keys stood in one group on other keysets. Where a column does not change, its rows cannot tell.

use crate::content::Origin;

/// How often, by series, two keys were in one group.
#[derive(Debug)]
pub(crate) struct Affinity {
    keys: usize,
    series: Vec<f64>,
}

impl Affinity {
    /// Keys of one origin belong together until their rows say otherwise.
    pub(crate) fn new(keys: usize, origins: &[Origin]) -> Self {
        let mut affinity = Self { keys, series: vec![0.0; keys * keys] };
        for (left, origin) in origins.iter().enumerate() {
            for (right, other) in origins.iter().enumerate() {
                if left < keys && right < keys && *origin != Origin::Unknown && origin == other {
                    affinity.series[left * keys + right] = 1.0;
                }
            }
        }
        affinity
    }

    /// Notes that these keys were in one group.
    pub(crate) fn note(&mut self, keys: &[u32], series: usize) {
        for &left in keys {
            for &right in keys {
                self.series[left as usize * self.keys + right as usize] += series as f64;
            }
        }
    }

    /// How much a key belongs to these.
    fn of(&self, key: u32, keys: &[u32]) -> f64 {
        keys.iter().map(|&other| self.series[key as usize * self.keys + other as usize]).sum::<f64>()
            / keys.len() as f64
    }

    /// Which of the groups a key belongs to: the one with most keys if nothing is known of it.
    pub(crate) fn nearest(&self, key: u32, groups: &[Vec<u32>]) -> usize {
        let mut best = (0.0, 0, 0);
        for (number, keys) in groups.iter().enumerate() {
            let affinity = self.of(key, keys);
            if affinity > best.0 || (affinity == best.0 && keys.len() > best.1) {
                best = (affinity, keys.len(), number);
            }
        }
        best.2
    }
}
