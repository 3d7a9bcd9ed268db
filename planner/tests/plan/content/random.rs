//! Random labelsets with structures that the planner detects: keys that follow from others, products, lists, keys that
//! are constant or rare, in a few large keysets and many tiny ones.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::Labelset;

/// Number of keys to choose from.
const KEYS: usize = 14;

/// Value of a key in series `number`.
#[derive(Debug, Clone, Copy)]
enum Pattern {
    /// Constant.
    Constant,
    /// Equal in this number of neighbours: the name of a pod or, with a larger number, of its node.
    Block(u32),
    /// One after the other, again and again: what lists are made of.
    Cycle(u32),
    /// Both: neighbours, again and again.
    Blocks(u32, u32),
    /// Another one in each series.
    Unique,
    /// Random, one of this number of values.
    Any(u32),
}

impl Pattern {
    fn value(self, key: usize, series: u32) -> u32 {
        match self {
            Self::Constant => 0,
            Self::Block(len) => series / len,
            Self::Cycle(count) => series % count,
            Self::Blocks(len, count) => series / len % count,
            Self::Unique => series,
            Self::Any(count) => {
                let mixed = (u64::from(series) << 8 | key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                ((mixed ^ mixed >> 31).wrapping_mul(0x94D0_49BB_1331_11EB) >> 33) as u32 % count
            }
        }
    }
}

fn pattern() -> impl Strategy<Value = Pattern> {
    // Few different numbers, so that blocks and cycles of several keys fit each other.
    let len = prop::sample::select(&[2_u32, 4, 12, 24, 96][..]);
    prop_oneof![
        2 => Just(Pattern::Constant),
        4 => len.clone().prop_map(Pattern::Block),
        3 => len.clone().prop_map(Pattern::Cycle),
        2 => (len.clone(), len.clone()).prop_map(|(len, count)| Pattern::Blocks(len, count)),
        1 => Just(Pattern::Unique),
        2 => len.prop_map(Pattern::Any),
    ]
}

/// Some keys with some series.
#[derive(Debug, Clone)]
struct Keyset {
    /// A bit for each key that it has.
    keys: u32,
    first: u32,
    series: u32,
    /// A key that has another pattern here.
    other: Option<(usize, Pattern)>,
}

fn keyset(series: std::ops::Range<u32>) -> impl Strategy<Value = Keyset> {
    let other = prop::option::weighted(0.2, (0..KEYS, pattern()));
    (1_u32..1 << KEYS, prop_oneof![Just(0), 0_u32..200], series, other)
        .prop_map(|(keys, first, series, other)| Keyset { keys, first, series, other })
}

/// Labelsets of some large keysets and of many with few series.
pub fn labelsets() -> impl Strategy<Value = BTreeSet<Labelset>> {
    let large = vec(keyset(1..600), 0..7);
    let tiny = prop_oneof![3 => vec(keyset(1..4), 0..4), 1 => vec(keyset(1..4), 0..120)];
    (vec(pattern(), KEYS), large, tiny).prop_map(|(patterns, large, tiny)| {
        let mut labelsets = BTreeSet::new();
        for keyset in large.iter().chain(&tiny) {
            for series in keyset.first..keyset.first + keyset.series {
                let label = |key: usize| {
                    let other = keyset.other.filter(|&(other, _)| other == key);
                    let pattern = other.map_or(patterns[key], |(_, pattern)| pattern);
                    // Some keys have values in common.
                    (format!("key {key}"), format!("{} {}", key / 3, pattern.value(key, series)))
                };
                labelsets.insert((0..KEYS).filter(|key| keyset.keys >> key & 1 == 1).map(label).collect());
            }
        }
        labelsets
    })
}
