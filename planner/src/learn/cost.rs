//! Cost of a split of a keyset, in bits.

use std::rc::Rc;

use super::group::Group;
use super::known::{Known, KnownGroup};
use super::sample::{Sample, bits};
use crate::content::KeysetRows;
use crate::factor::row_bits;

/// Approximate bits of the records of a table. The exact widths are known only at the end.
pub(crate) const TABLE_BITS: f64 = 60.0;
/// Approximate bits of the record of a column.
pub(crate) const COLUMN_BITS: f64 = 32.0;
/// Approximate bits of a leaf record.
pub(crate) const LEAF_BITS: f64 = 2.0;
/// Approximate bits of the end of a list.
const LIST_BITS: f64 = 12.0;

/// Split of a keyset: sets of columns in increasing order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split {
    /// Columns behind each column of the keyset's table.
    pub prefix: Vec<Vec<usize>>,
    /// Columns behind its lists, if it has lists.
    pub list: Vec<usize>,
}

/// Group with the cost of its table.
fn table_bits(sample: &Sample<'_>, group: &Group, known: Option<&KnownGroup>) -> f64 {
    if group.columns.len() < 2 {
        return 0.0;
    }
    let row_bits: u32 = group.columns.iter().map(|&column| sample.code_bits[column]).sum();
    let new = |name: &u64| known.is_none_or(|known| !known.rows.contains(name));
    let new_rows = group.names.iter().filter(|name| new(name)).count();
    let new_rows = new_rows as f64 * sample.growth(group);
    let users = known.map_or(1, |known| known.users_expected.saturating_sub(known.users).max(1));
    let records = match known {
        Some(known) if known.users > 0 => 0.0,
        _ => TABLE_BITS + group.columns.len() as f64 * (COLUMN_BITS + LEAF_BITS),
    };
    // Keysets that share a table share its cost.
    let sharing = known.map_or(1.0, KnownGroup::sharing);
    new_rows * f64::from(row_bits) / sharing + records / f64::from(users)
}

impl Split {
    /// Returns the sets of columns behind shared tables. A single column needs none.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &[usize]> {
        self.prefix.iter().chain([&self.list]).map(Vec::as_slice).filter(|columns| columns.len() > 1)
    }

    /// Returns the cost: rows, anchors, lists, new entries of shared tables, and records.
    pub(crate) fn bits(&self, sample: &mut Sample<'_>, known: &Known) -> f64 {
        let keys = sample.keyset.keys.len() as f64;
        let mut total = TABLE_BITS + keys * LEAF_BITS + (self.prefix.len() as f64) * COLUMN_BITS;
        let prefix: Vec<Rc<Group>> = self.prefix.iter().map(|columns| sample.group(columns)).collect();
        let mut row_bits: u32 = prefix.iter().map(|group| bits(group.distinct())).sum();
        for group in &prefix {
            total += table_bits(sample, group, known.get(&sample.keys_of(&group.columns)));
        }
        let mut rows = sample.keyset.len() as f64;
        if !self.list.is_empty() {
            let list = sample.group(&self.list);
            let of_list = known.get(&sample.keys_of(&self.list));
            total += table_bits(sample, &list, of_list) + COLUMN_BITS;
            let prefixes = sample.complement(&list);
            let (lists, members) = lists(&prefixes, &list);
            let new = |name: &&u64| of_list.is_none_or(|known| !known.lists.contains(name));
            let list_count = of_list.map_or(0, |known| known.lists.len()) + lists.len();
            let table_rows = of_list.map_or(0, |known| known.rows.len()).max(list.distinct());
            row_bits += bits(list_count);
            let growth = sample.growth(&prefixes);
            rows = prefixes.distinct() as f64 * growth;
            let average = members as f64 / lists.len().max(1) as f64;
            let new_lists = lists.iter().filter(new).count() as f64 * growth;
            total += new_lists * (average * f64::from(bits(table_rows)) + LIST_BITS);
            total += rows / 16.0 * f64::from(bits(sample.keyset.len()));
        }
        total + rows * f64::from(row_bits)
    }

    /// Records the contents of its tables and lists.
    pub(crate) fn register(&self, sample: &mut Sample<'_>, known: &mut Known) {
        let prefix: Vec<Rc<Group>> = self.prefix.iter().map(|columns| sample.group(columns)).collect();
        for group in prefix.iter().filter(|group| group.columns.len() > 1) {
            enter(sample, group, known);
        }
        if !self.list.is_empty() {
            let list = sample.group(&self.list);
            let number = enter(sample, &list, known);
            let (lists, _) = lists(&sample.complement(&list), &list);
            known.group_mut(number).lists.extend(lists);
        }
    }
}

fn enter(sample: &Sample<'_>, group: &Group, known: &mut Known) -> usize {
    let number = known.number(&sample.keys_of(&group.columns));
    let entry = known.group_mut(number);
    entry.users += 1;
    entry.rows.extend(group.names.iter().copied());
    number
}

/// Returns the names of the distinct lists of prefixes, and the number of their members.
fn lists(prefixes: &Group, list: &Group) -> (Vec<u64>, usize) {
    let mut names = vec![(0u64, 0usize); prefixes.distinct()];
    for (&prefix, &member) in prefixes.codes.iter().zip(&list.codes) {
        let name = &mut names[prefix as usize];
        // Independent of the order, and unlike the sums that name rows.
        let member = list.names[member as usize];
        name.0 = name.0.wrapping_add((member ^ member >> 31).wrapping_mul(0x2545_f491_4f6c_dd1d));
        name.1 += 1;
    }
    names.sort_unstable();
    names.dedup();
    let members = names.iter().map(|name| name.1).sum();
    (names.into_iter().map(|name| name.0).collect(), members)
}

/// Returns the cost of the keyset without shared tables and lists.
pub(crate) fn plain_bits(sample: &Sample<'_>) -> f64 {
    let KeysetRows { keys, rows } = sample.keyset;
    let row_bits = row_bits(rows, keys.len());
    TABLE_BITS + keys.len() as f64 * COLUMN_BITS + sample.keyset.len() as f64 * row_bits as f64
}
