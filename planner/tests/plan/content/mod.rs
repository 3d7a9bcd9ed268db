//! Model of planning: labelsets as content and as blocks, without optimization.

mod block;
mod random;

use std::collections::{BTreeMap, BTreeSet};

pub use block::{plain_block, sizes, write};
use chronoxide_planner::{Content, KeysetRows, Origin};
pub use random::labelsets;

/// A labelset: values by name, none empty.
pub type Labelset = BTreeMap<String, String>;

/// A labelset of such pairs.
pub fn labelset(labels: &[(&str, &str)]) -> Labelset {
    labels.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Content and what its numbers stand for.
#[derive(Debug, Clone)]
pub struct Model {
    /// The key with each number.
    pub names: Vec<String>,
    /// The values of each key in the order of their codes.
    pub values: Vec<Vec<String>>,
    /// The series, all distinct, in the order of the content.
    pub series: Vec<Labelset>,
    /// Labelsets as numbers.
    pub content: Content,
}

impl Model {
    /// Returns the content of these labelsets, without origins of keys.
    pub fn from_labelsets(labelsets: &BTreeSet<Labelset>) -> Self {
        let mut values: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
        for (name, value) in labelsets.iter().flatten() {
            values.entry(name).or_default().insert(value);
        }
        let numbers: BTreeMap<&String, u32> = values.keys().copied().zip(0..).collect();
        let codes: BTreeMap<&String, BTreeMap<&String, u32>> =
            values.iter().map(|(&name, values)| (name, values.iter().copied().zip(0..).collect())).collect();

        let mut keysets: BTreeMap<Vec<u32>, BTreeMap<Vec<u32>, &Labelset>> = BTreeMap::new();
        for labels in labelsets {
            let keys = labels.keys().map(|name| numbers[name]).collect();
            let row = labels.iter().map(|(name, value)| codes[name][value]).collect();
            keysets.entry(keys).or_default().insert(row, labels);
        }
        let rows_of = |(keys, rows): (&Vec<u32>, &BTreeMap<Vec<u32>, &Labelset>)| KeysetRows {
            keys: keys.clone(),
            rows: rows.keys().flatten().copied().collect(),
        };
        Self {
            content: Content {
                value_counts: values.values().map(|values| values.len() as u32).collect(),
                origins: Vec::new(),
                keysets: keysets.iter().map(rows_of).collect(),
            },
            series: keysets.values().flat_map(BTreeMap::values).map(|&labels| labels.clone()).collect(),
            names: values.keys().map(|&name| name.clone()).collect(),
            values: values.into_values().map(|values| values.into_iter().cloned().collect()).collect(),
        }
    }

    /// Returns the content with origins of keys.
    pub fn with_origins(mut self, origin: impl Fn(&str) -> Origin) -> Self {
        self.content.origins = self.names.iter().map(|name| origin(name)).collect();
        self
    }
}
