//! Groups of columns that belong together, found in the rows: starts with single columns, and joins the two groups that
//! save most until no join saves bits.

use std::rc::Rc;

use foldhash::HashMap;

use super::cost::{COLUMN_BITS, TABLE_BITS};
use super::group::{Counting, Group, Numbering};
use super::sample::{Sample, bits};

/// Maximum number of groups that are compared in pairs.
const MAX_GROUPS: usize = 48;

/// Returns the groups of the columns that vary. `columns` are the single columns of the keyset.
pub(crate) fn agglomerate(sample: &Sample<'_>, columns: &[Rc<Group>]) -> Vec<Group> {
    let varying = columns.iter().filter(|group| group.distinct() > 1);
    let mut groups = join_equivalent(varying.map(|group| Group::clone(group)).collect());
    let (mut counting, mut numbering) = (Counting::default(), Numbering::default());
    if groups.len() > MAX_GROUPS {
        join_determined(sample, &mut groups, &mut counting, &mut numbering);
    }
    // Groups with most values have most to gain.
    groups.sort_by_key(|group| std::cmp::Reverse(group.distinct()));
    let rest = groups.split_off(groups.len().min(MAX_GROUPS));
    join_best(sample, &mut groups, &mut counting, &mut numbering);
    groups.extend(rest);
    groups
}

/// Joins columns with equal codes, which change together.
fn join_equivalent(groups: Vec<Group>) -> Vec<Group> {
    let mut classes: HashMap<Vec<u32>, usize> = HashMap::default();
    let mut joined: Vec<Group> = Vec::new();
    for group in groups {
        match classes.get(&group.codes) {
            Some(&class) => {
                let class = &mut joined[class];
                class.columns.extend(&group.columns);
                class.columns.sort_unstable();
                for (name, other) in class.names.iter_mut().zip(&group.names) {
                    *name = name.wrapping_add(*other);
                }
            }
            None => {
                classes.insert(group.codes.clone(), joined.len());
                joined.push(group);
            }
        }
    }
    joined
}

/// Joins groups that one of the groups with most values determines, which is cheaper than comparing all pairs.
fn join_determined(sample: &Sample<'_>, groups: &mut Vec<Group>, counting: &mut Counting, numbering: &mut Numbering) {
    groups.sort_by_key(|group| std::cmp::Reverse(group.distinct()));
    let mut leader = 0;
    while leader < groups.len().min(8) {
        if groups[leader].distinct() * 2 > sample.len() {
            leader += 1;
            continue;
        }
        let mut number = leader + 1;
        while number < groups.len() {
            if groups[leader].count_joined(&groups[number], counting) == groups[leader].distinct() {
                let determined = groups.remove(number);
                groups[leader] = groups[leader].join(&determined, numbering);
            } else {
                number += 1;
            }
        }
        leader += 1;
    }
}

fn join_best(sample: &Sample<'_>, groups: &mut Vec<Group>, counting: &mut Counting, numbering: &mut Numbering) {
    let mut saved: Vec<Vec<f64>> = Vec::new();
    for number in 0..groups.len() {
        let row = (0..number).map(|other| saving(sample, &groups[number], &groups[other], counting)).collect();
        saved.push(row);
    }
    loop {
        let mut best = (0.0, 0, 0);
        for (number, row) in saved.iter().enumerate() {
            for (other, &saving) in row.iter().enumerate() {
                if saving > best.0 {
                    best = (saving, number, other);
                }
            }
        }
        let (_, number, other) = best;
        if number == other {
            return;
        }
        let joined = groups[number].join(&groups[other], numbering);
        groups.remove(number);
        saved.remove(number);
        for row in &mut saved[number..] {
            row.remove(number);
        }
        groups[other] = joined;
        for third in 0..groups.len() {
            if third != other {
                let saving = saving(sample, &groups[other], &groups[third], counting);
                saved[other.max(third)][other.min(third)] = saving;
            }
        }
    }
}

/// Returns the bits that joining two groups saves.
fn saving(sample: &Sample<'_>, left: &Group, right: &Group, counting: &mut Counting) -> f64 {
    let both = left.count_joined(right, counting);
    let row_bits = |group: &Group| -> u32 { group.columns.iter().map(|&column| sample.code_bits()[column]).sum() };
    let table = |distinct: usize, columns: usize, bits: u32| {
        if columns < 2 { 0.0 } else { TABLE_BITS + columns as f64 * COLUMN_BITS + distinct as f64 * f64::from(bits) }
    };
    let code_bits = |left: usize| f64::from(bits(left));
    let rows = sample.keyset.len() as f64;
    let saved = rows * (code_bits(left.distinct()) + code_bits(right.distinct()) - code_bits(both));
    let tables = table(both, left.columns.len() + right.columns.len(), row_bits(left) + row_bits(right))
        - table(left.distinct(), left.columns.len(), row_bits(left))
        - table(right.distinct(), right.columns.len(), row_bits(right));
    // The record of a column moves from the keyset to the table, which may be shared.
    saved - tables
}
