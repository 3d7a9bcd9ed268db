//! Sampled rows of a keyset, column by column: [`Sample`].

use std::collections::BTreeMap;
use std::rc::Rc;

use super::group::{Group, Numbering, label_name};
use crate::content::KeysetRows;

/// Maximum number of sampled rows.
const MAX_ROWS: usize = 1 << 13;
/// Maximum number of sampled codes: wide keysets have fewer sampled rows.
const MAX_CODES: usize = 1 << 18;

/// Sampled rows of a keyset.
#[derive(Debug)]
pub(crate) struct Sample<'c> {
    pub keyset: &'c KeysetRows,
    /// Numbers of the sampled rows in increasing order, or `None` if all rows are sampled.
    rows: Option<Vec<u32>>,
    /// Bits of a code of each column in its dictionary.
    pub code_bits: Vec<u32>,
    /// Number of series per sampled row.
    pub scale: f64,
    /// Cache of groups.
    groups: BTreeMap<Vec<usize>, Rc<Group>>,
    /// Name of each row, once it was needed.
    whole_names: Vec<u64>,
    numbering: Numbering,
}

impl<'c> Sample<'c> {
    /// Samples whole prefixes: all rows in which one column has one of some codes. That column has the most values of
    /// those that leave several rows per value.
    pub(crate) fn new(keyset: &'c KeysetRows, value_counts: &[u32]) -> Self {
        let code_bits = keyset.keys.iter().map(|&key| bits(value_counts[key as usize] as usize)).collect();
        let limit = MAX_ROWS.min((MAX_CODES / keyset.keys.len().max(1)).max(256));
        let mut sample = Self {
            keyset,
            rows: None,
            code_bits,
            scale: 1.0,
            groups: BTreeMap::new(),
            whole_names: Vec::new(),
            numbering: Numbering::default(),
        };
        if keyset.len() > limit {
            let rows = sample.whole_prefixes(limit, value_counts);
            sample.scale = keyset.len() as f64 / rows.len() as f64;
            sample.rows = Some(rows);
        }
        sample
    }

    fn whole_prefixes(&self, limit: usize, value_counts: &[u32]) -> Vec<u32> {
        let total = self.keyset.len();
        let column = self.sampling_column(value_counts);
        let share = u64::MAX / total as u64 * limit as u64;
        let picked = |row: &[u32], number: u32| {
            let name = column.map_or_else(|| label_name(u32::MAX, number), |column| label_name(0, row[column]));
            name.wrapping_mul(0x9e37_79b9_7f4a_7c15) <= share
        };
        let rows: Vec<u32> = (0u32..)
            .zip(self.keyset.series())
            .filter(|&(number, row)| picked(row, number))
            .map(|(number, _)| number)
            .collect();
        if rows.len() >= limit / 4 && rows.len() <= limit * 2 {
            return rows;
        }
        let step = total.div_ceil(limit);
        (0..total as u32).step_by(step).collect()
    }

    /// Returns the column with the most values that has at least four rows per value.
    fn sampling_column(&self, value_counts: &[u32]) -> Option<usize> {
        let mut seen = Vec::new();
        let mut best: Option<(usize, usize)> = None;
        for (column, &key) in self.keyset.keys.iter().enumerate() {
            seen.clear();
            seen.resize(value_counts[key as usize] as usize, false);
            let mut distinct = 0;
            for row in self.keyset.series() {
                let seen = &mut seen[row[column] as usize];
                distinct += usize::from(!*seen);
                *seen = true;
            }
            if distinct * 4 <= self.keyset.len() && best.is_none_or(|(most, _)| distinct > most) {
                best = Some((distinct, column));
            }
        }
        best.filter(|&(distinct, _)| distinct > 64).map(|(_, column)| column)
    }

    /// Returns the number of sampled rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.as_ref().map_or(self.keyset.len(), Vec::len)
    }

    /// Estimates the combinations of a group in all rows per combination in the sample, if combinations that occur once
    /// in the sample are a sample of others like them.
    pub(crate) fn growth(&self, group: &Group) -> f64 {
        if self.rows.is_none() || group.distinct() == 0 {
            return 1.0;
        }
        let mut rows = vec![0u32; group.distinct()];
        group.codes.iter().for_each(|&code| rows[code as usize] += 1);
        let single = rows.iter().filter(|&&rows| rows == 1).count();
        1.0 + (self.scale - 1.0) * single as f64 / group.distinct() as f64
    }

    fn rows(&self) -> impl Iterator<Item = &'c [u32]> {
        let width = self.keyset.keys.len();
        let keyset = self.keyset;
        let all = self.rows.is_none().then(|| keyset.series());
        let some =
            self.rows.iter().flatten().map(move |&row| &keyset.rows[row as usize * width..(row as usize + 1) * width]);
        all.into_iter().flatten().chain(some)
    }

    /// Returns the group of these columns.
    pub(crate) fn group(&mut self, columns: &[usize]) -> Rc<Group> {
        if let Some(group) = self.groups.get(columns) {
            return Rc::clone(group);
        }
        let keys = &self.keyset.keys;
        let names: Vec<u64> = (self.rows())
            .map(|row| {
                columns.iter().fold(0u64, |sum, &column| sum.wrapping_add(label_name(keys[column], row[column])))
            })
            .collect();
        let group = Rc::new(Group::from_names(columns.to_vec(), &names, &mut self.numbering));
        self.groups.insert(columns.to_vec(), Rc::clone(&group));
        group
    }

    /// Returns the group of all columns except those of another group. Names are sums, so no column needs to be read.
    pub(crate) fn complement(&mut self, group: &Group) -> Rc<Group> {
        let columns = self.others(&group.columns);
        if let Some(group) = self.groups.get(&columns) {
            return Rc::clone(group);
        }
        if self.whole_names.is_empty() {
            let keys = &self.keyset.keys;
            let name = |row: &[u32]| {
                keys.iter().zip(row).fold(0u64, |sum, (&key, &code)| sum.wrapping_add(label_name(key, code)))
            };
            self.whole_names = self.rows().map(name).collect();
        }
        let names: Vec<u64> = (self.whole_names.iter().zip(&group.codes))
            .map(|(whole, &code)| whole.wrapping_sub(group.names[code as usize]))
            .collect();
        let group = Rc::new(Group::from_names(columns.clone(), &names, &mut self.numbering));
        self.groups.insert(columns, Rc::clone(&group));
        group
    }

    /// Returns the keys of these columns.
    pub(crate) fn keys_of(&self, columns: &[usize]) -> Vec<u32> {
        columns.iter().map(|&column| self.keyset.keys[column]).collect()
    }

    /// Returns the columns of these keys, which the keyset has.
    pub(crate) fn columns_of(&self, keys: &[u32]) -> Vec<usize> {
        keys.iter().filter_map(|key| self.keyset.keys.binary_search(key).ok()).collect()
    }

    /// Returns the columns that are not among these.
    pub(crate) fn others(&self, columns: &[usize]) -> Vec<usize> {
        (0..self.keyset.keys.len()).filter(|column| columns.binary_search(column).is_err()).collect()
    }
}

/// Returns the bits that distinguish `count` items.
pub(crate) fn bits(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}
