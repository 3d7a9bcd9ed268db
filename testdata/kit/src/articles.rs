//! Data in the shapes that the articles on symbol tables and labelset stores measured: see `docs/stores.md`.

use std::collections::BTreeSet;

use crate::random::Random;

/// Seed of the articles' set. Of the seeds 1 to 300, it comes nearest to the articles' counts of strings longer than 12
/// and 23 bytes from below: these determine the allocations of string types that keep short strings inline.
pub const SEED: u64 = 299;

/// Distribution of lengths: a share in percent, and a range of lengths in bytes that are equally likely.
type Lengths = [(usize, std::ops::RangeInclusive<usize>)];

/// Lengths of label keys.
const KEY_LENGTHS: &Lengths = &[(75, 10..=18), (22, 19..=30), (3, 31..=67)];

/// Lengths of label values.
const VALUE_LENGTHS: &Lengths = &[(82, 5..=25), (14, 26..=45), (3, 46..=150), (1, 151..=680)];

/// Distinct strings of three kinds: label keys, common values, and rare values.
#[derive(Debug, Clone)]
pub struct Symbols {
    /// Label keys.
    pub keys: Vec<String>,
    /// Values that recur.
    pub common: Vec<String>,
    /// Values that occur once.
    pub rare: Vec<String>,
    seed: u64,
}

impl Symbols {
    /// Returns the articles' set: 513 keys, 25,000 common values, 75,000 rare values.
    #[must_use]
    pub fn from_articles() -> Self {
        Self::new(513, 25_000, 75_000, SEED)
    }

    /// Returns this number of strings of each kind. All are distinct.
    #[must_use]
    pub fn new(keys: usize, common: usize, rare: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut known = BTreeSet::new();
        let mut distinct = |count, lengths| {
            let mut texts = Vec::new();
            while texts.len() < count {
                let text = text(lengths, &mut random);
                if known.insert(text.clone()) {
                    texts.push(text);
                }
            }
            texts
        };
        let (keys, common) = (distinct(keys, KEY_LENGTHS), distinct(common, VALUE_LENGTHS));
        let rare = distinct(rare, VALUE_LENGTHS);
        Self { keys, common, rare, seed }
    }

    /// Returns all strings: keys, common values, rare values.
    pub fn unique(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().chain(&self.common).chain(&self.rare).map(String::as_str)
    }

    /// Returns `pairs` pairs, each a random key and a value: 3 in 4 a random common one, 1 in 4 the next rare one.
    ///
    /// # Panics
    /// There are not enough rare values.
    #[must_use]
    pub fn mixed(&self, pairs: usize) -> Vec<&str> {
        let mut random = Random::new(self.seed ^ 1);
        let mut rare = self.rare.iter();
        let mut texts = Vec::with_capacity(2 * pairs);
        for _ in 0..pairs {
            texts.push(self.keys[random.below(self.keys.len())].as_str());
            texts.push(match random.below(4) {
                0 => rare.next().expect("enough rare values"),
                _ => &self.common[random.below(self.common.len())],
            });
        }
        texts
    }
}

/// Returns a random text of lowercase letters and digits, with a random length from `lengths`.
fn text(lengths: &Lengths, random: &mut Random) -> String {
    let mut percent = random.below(100);
    let mut lengths = lengths.iter();
    let range = loop {
        let (share, range) = lengths.next().expect("the shares sum to 100");
        if percent < *share {
            break range;
        }
        percent -= share;
    };
    let len = range.start() + random.below(range.end() - range.start() + 1);
    (0..len).map(|_| char::from(b"abcdefghijklmnopqrstuvwxyz0123456789"[random.below(36)])).collect()
}

/// Returns `count` series of one keyset, with 5 labels each, sorted by name. Each instance has 50 metrics.
#[must_use]
pub fn series(count: usize) -> Vec<Vec<(String, String)>> {
    let label = |name: &str, value: String| (name.to_owned(), value);
    (0..count)
        .map(|number| {
            let (metric, instance) = (number % 50, number / 50);
            vec![
                label("__name__", format!("http_requests_{metric:02}_total")),
                label("instance", format!("instance-{instance:06}")),
                label("job", format!("job-{:02}", instance % 20)),
                label("method", ["GET", "POST", "PUT", "PATCH", "DELETE"][number % 5].to_owned()),
                label("status_code", ["200", "204", "404", "500"][number / 7 % 4].to_owned()),
            ]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_have_the_counts_and_lengths_of_the_articles() {
        let symbols = Symbols::from_articles();
        let all: BTreeSet<&str> = symbols.unique().collect();
        assert_eq!(
            (symbols.keys.len(), symbols.common.len(), symbols.rare.len(), all.len()),
            (513, 25_000, 75_000, 100_513)
        );
        let longer_than = |len| all.iter().filter(|text| text.len() > len).count();
        assert_eq!(
            (longer_than(12), longer_than(23)),
            (69_035, 25_856),
            "17 below the articles' allocations, and less"
        );
        let values: Vec<usize> = symbols.common.iter().chain(&symbols.rare).map(String::len).collect();
        for (percent, range) in VALUE_LENGTHS {
            let share = values.iter().filter(|len| range.contains(len)).count() as f64 / values.len() as f64 * 100.0;
            assert!((share - *percent as f64).abs() < 0.5, "{range:?}: {share}%");
        }
        let mixed = symbols.mixed(1_000);
        assert_eq!(mixed.len(), 2_000);
        let rare: BTreeSet<&str> = symbols.rare.iter().map(String::as_str).collect();
        let count = mixed.iter().filter(|text| rare.contains(*text)).count();
        assert!((200..300).contains(&count), "{count} rare values of 1,000");
    }

    #[test]
    fn series_are_distinct_and_sorted() {
        let series = series(5_000);
        let distinct: BTreeSet<_> = series.iter().collect();
        assert_eq!(distinct.len(), 5_000);
        assert!(series.iter().all(|labels| labels.len() == 5 && labels.is_sorted()));
    }
}
