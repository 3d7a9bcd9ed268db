//! Numbers that are the same for the same coordinates, on every machine.

/// A source of numbers (SplitMix64). Only integers and exact divisions are used, so that no mathematics library of a
/// platform has a say.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

impl Random {
    /// The numbers of a place: what comes from it does not depend on what was asked for before.
    pub(crate) fn at(coordinates: &[u64]) -> Self {
        coordinates.iter().fold(Self(0), |place, part| place.then(*part))
    }

    /// The numbers of a place within this one: one more coordinate.
    pub(crate) fn then(&self, part: u64) -> Self {
        Self(mixed(self.0.wrapping_add(STEP) ^ mixed(part.wrapping_add(STEP))))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// An index below `len`; 0 if `len` is 0.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns true with this probability in thousandths.
    pub(crate) fn per_mille(&mut self, share: u64) -> bool {
        self.below(1000) < share
    }

    /// Returns true with this probability in percent.
    pub(crate) fn percent(&mut self, share: u64) -> bool {
        self.per_mille(share * 10)
    }

    /// True with this probability.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        // 53 bits are exactly a double.
        const SCALE: f64 = 1.0 / 9_007_199_254_740_992.0;
        ((self.next() >> 11) as f64) * SCALE < probability
    }

    /// One of the items.
    ///
    /// # Panics
    /// If there are none: the lists are constants.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())]
    }

    /// A size from 1 to `most`, above `k` in about one of `k` cases: a few are large, most are small.
    pub(crate) fn skewed(&mut self, most: u64) -> u64 {
        let number = self.next() >> 32;
        ((1 << 32) / (number + 1)).min(most).max(1)
    }

    /// Returns this number of hexadecimal digits.
    pub(crate) fn hex(&mut self, len: usize) -> String {
        let mut text = String::with_capacity(len + 16);
        while text.len() < len {
            text.push_str(&format!("{:016x}", self.next()));
        }
        text.truncate(len);
        text
    }
}

/// Letters and digits of Kubernetes's names: no vowels, so that no words appear.
const SAFE: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Returns the number as `len` letters. Numbers below 27 to the power of `len` have different texts.
pub(crate) fn safe_text(number: u64, len: u32) -> String {
    let count = 27_u64.saturating_pow(len);
    // Odd, and no multiple of 3: neighbours get unlike texts, and no two the same.
    let mut rest = (u128::from(number) * 0x9E37_79B9_7F4A_7C15 % u128::from(count)) as u64;
    (0..len)
        .map(|_| {
            let letter = SAFE[(rest % 27) as usize];
            rest /= 27;
            char::from(letter)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn splitmix_is_the_published_one() {
        // The first numbers for the seed 1234567, as given by the reference implementation.
        let mut random = Random(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn texts_of_different_numbers_differ() {
        let texts: BTreeSet<String> = (0..27_u64.pow(3)).map(|number| safe_text(number, 3)).collect();
        assert_eq!(texts.len(), 27_usize.pow(3));
    }

    #[test]
    fn skewed_sizes_have_a_long_tail() {
        let mut random = Random::at(&[7]);
        let sizes: Vec<u64> = (0..100_000).map(|_| random.skewed(500)).collect();
        let above = |size| sizes.iter().filter(|&&other| other > size).count();
        assert!((9_000..11_000).contains(&above(9)), "{}", above(9));
        assert!((900..1_100).contains(&above(99)), "{}", above(99));
        assert_eq!(above(500), 0);
    }
}
