//! Numbers and labelsets from a seed, the same on every machine.

/// A generator of numbers from a seed (SplitMix64; Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, or 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64().checked_rem(bound).unwrap_or_default()
    }

    /// A short text from few characters, so that texts repeat, share beginnings, and need more than one
    /// byte a character now and then. Never empty.
    pub fn text(&mut self) -> String {
        let len = 1 + self.below(4);
        (0..len).map(|_| ['a', 'b', '_', '\u{0}', 'é', '世', '🦀', '\u{10ffff}'][self.below(8) as usize]).collect()
    }

    /// A labelset of 1 to `most` labels, sorted by name.
    pub fn labels(&mut self, most: u64) -> Vec<(String, String)> {
        let count = 1 + self.below(most);
        let labels: std::collections::BTreeMap<_, _> = (0..count).map(|_| (self.text(), self.text())).collect();
        labels.into_iter().collect()
    }
}
