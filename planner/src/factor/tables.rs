//! Factoring of rows into shared tables, lists and the keysets' own tables.

use std::collections::BTreeMap;
use std::ops::{BitAnd, BitOr, Shl};

use super::factored::{Factored, FactoredKeyset, FactoredPool, FactoredTable};
use super::interned::{InternedLists, InternedRows};
use crate::content::{Content, KeysetRows};
use crate::plan::{KeysetPlan, Part, Plan};
use crate::threads::Threads;

/// Factors content by a plan.
pub(crate) fn factor(content: &Content, plan: &Plan, threads: &Threads) -> Factored {
    let mut interned: Vec<InternedRows> =
        plan.tables.iter().map(|table| InternedRows::new(table.parts.len())).collect();
    let mut keysets: Vec<(&KeysetPlan, Vec<Vec<u32>>)> = Vec::with_capacity(plan.keysets.len());
    for (keyset, choice) in content.keysets.iter().zip(&plan.keysets) {
        let parts = choice.prefix.iter().chain(&choice.list);
        keysets.push((choice, parts.map(|&part| codes(keyset, part, plan, &mut interned)).collect()));
    }
    let (tables, ranks) = sort_tables(plan, interned);
    let keysets = threads.map(keysets, |(choice, mut columns)| {
        for (part, column) in choice.prefix.iter().chain(&choice.list).zip(&mut columns) {
            if let Part::Table(table) = part {
                column.iter_mut().for_each(|code| *code = ranks[*table][*code as usize]);
            }
        }
        let (rows, order) = sort_rows(&columns);
        FactoredKeyset { parts: choice.prefix.clone(), pool: None, rows, order }
    });
    let mut factored = Factored { tables, keysets, ..Factored::default() };

    let mut pools: BTreeMap<Part, InternedLists> = BTreeMap::new();
    for (choice, keyset) in plan.keysets.iter().zip(&mut factored.keysets) {
        if let Some(list) = choice.list {
            gather_lists(keyset, choice.width(), pools.entry(list).or_default());
        }
    }
    sort_lists(&mut factored, plan, pools);
    factored.add_maps_for_all(content);
    factored
}

/// Returns the code of each row for a part.
fn codes(keyset: &KeysetRows, part: Part, plan: &Plan, interned: &mut [InternedRows]) -> Vec<u32> {
    let table = match part {
        Part::Table(table) => table,
        Part::Key(key) => match keyset.keys.binary_search(&key) {
            Ok(column) => return keyset.series().map(|row| row[column]).collect(),
            Err(_) => return Vec::new(),
        },
    };
    let source = |&part: &Part| match part {
        Part::Key(key) => Source::Column(keyset.keys.binary_search(&key).unwrap_or(keyset.keys.len())),
        Part::Table(_) => Source::Codes(codes(keyset, part, plan, interned)),
    };
    let sources: Vec<Source> = plan.tables[table].parts.iter().map(source).collect();
    let mut row = vec![0; sources.len()];
    let mut last = None;
    let code = |(number, series): (usize, &[u32])| {
        let mut same = true;
        for (code, source) in row.iter_mut().zip(&sources) {
            let new = match source {
                Source::Column(column) => series[*column],
                Source::Codes(codes) => codes[number],
            };
            same &= *code == new;
            *code = new;
        }
        let code = match last {
            Some(code) if same => code,
            _ => interned[table].intern(&row),
        };
        last = Some(code);
        code
    };
    keyset.series().enumerate().map(code).collect()
}

/// Codes of a column of a table, for the rows of a keyset.
enum Source {
    /// Column of the keyset. It is read with the others of a row: they are neighbours in memory.
    Column(usize),
    /// Codes of a table.
    Codes(Vec<u32>),
}

/// Returns the tables in order of the plan with sorted rows, and the new number of each row.
fn sort_tables(plan: &Plan, interned: Vec<InternedRows>) -> (Vec<FactoredTable>, Vec<Vec<u32>>) {
    let (mut tables, mut ranks) = (Vec::new(), Vec::<Vec<u32>>::new());
    for (table, mut interned) in plan.tables.iter().zip(interned) {
        for (column, part) in table.parts.iter().enumerate() {
            if let Part::Table(behind) = part {
                interned.replace(column, &ranks[*behind]);
            }
        }
        let (rows, rank) = interned.sorted();
        tables.push(FactoredTable { parts: table.parts.clone(), rows });
        ranks.push(rank);
    }
    (tables, ranks)
}

/// Returns the rows of these columns in increasing order, and the origin of each row.
fn sort_rows(columns: &[Vec<u32>]) -> (Vec<u32>, Vec<u32>) {
    let count = columns.first().map_or(0, Vec::len) as u32;
    let width = |column: &Vec<u32>| u32::BITS - column.iter().max().copied().unwrap_or(0).leading_zeros();
    let widths: Vec<u32> = columns.iter().map(width).collect();
    let row = |number: u32| columns.iter().map(move |column| column[number as usize]);
    let bits = widths.iter().sum::<u32>() + u32::BITS - count.leading_zeros();
    let order = if bits <= u64::BITS {
        sorted_as::<u64>(columns, &widths, count)
    } else if bits <= u128::BITS {
        sorted_as::<u128>(columns, &widths, count)
    } else {
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_unstable_by(|&left, &right| row(left).cmp(row(right)));
        order
    };
    let mut rows = Vec::with_capacity(order.len() * columns.len());
    order.iter().for_each(|&number| rows.extend(row(number)));
    (rows, order)
}

/// Returns the numbers of the rows of these columns in the order of the rows: each row and its number are sorted as one
/// number, in which the codes have these widths.
fn sorted_as<N>(columns: &[Vec<u32>], widths: &[u32], count: u32) -> Vec<u32>
where
    N: Copy + Ord + From<u32> + Shl<u32, Output = N> + BitOr<Output = N> + BitAnd<Output = N> + TryInto<u32>,
{
    let number_width = u32::BITS - count.leading_zeros();
    let mut rows = vec![N::from(0); count as usize];
    for (column, &width) in columns.iter().zip(widths) {
        rows.iter_mut().zip(column).for_each(|(row, &code)| *row = *row << width | N::from(code));
    }
    rows.iter_mut().zip(0..count).for_each(|(row, number)| *row = *row << number_width | N::from(number));
    rows.sort_unstable();
    let mask = N::from(1_u32.checked_shl(number_width).unwrap_or(0).wrapping_sub(1));
    rows.into_iter().map(|row| (row & mask).try_into().unwrap_or_default()).collect()
}

/// Merges rows that differ only in their last code into one row, which ends with the list of these codes.
fn gather_lists(keyset: &mut FactoredKeyset, width: usize, lists: &mut InternedLists) {
    let all = std::mem::take(&mut keyset.rows);
    let prefix = |row: &[u32]| row[..width - 1].to_vec();
    let rows: Vec<&[u32]> = all.chunks_exact(width).collect();
    let mut members = Vec::new();
    for same in rows.chunk_by(|left, right| left[..width - 1] == right[..width - 1]) {
        members.clear();
        members.extend(same.iter().map(|row| row[width - 1]));
        keyset.rows.extend(prefix(same[0]));
        keyset.rows.push(lists.intern(&members));
    }
}

/// Sorts the pools by their tables, and the lists of each pool.
fn sort_lists(factored: &mut Factored, plan: &Plan, pools: BTreeMap<Part, InternedLists>) {
    // Dictionaries come before tables.
    let numbers: BTreeMap<Part, usize> = pools.keys().copied().zip(0..).collect();
    let mut ranks = Vec::new();
    for (part, lists) in &pools {
        let (lists, rank) = lists.sorted();
        factored.pools.push(FactoredPool { part: *part, lists });
        ranks.push(rank);
    }
    for (keyset, choice) in factored.keysets.iter_mut().zip(&plan.keysets) {
        let Some(pool) = choice.list.map(|part| numbers[&part]) else { continue };
        keyset.pool = Some(pool);
        let width = keyset.width();
        for list in keyset.rows.iter_mut().skip(width - 1).step_by(width) {
            *list = ranks[pool][*list as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_say_where_they_came_from() {
        let (rows, order) = sort_rows(&[vec![3, 1, 3, 2], vec![0, 5, 1, 18]]);
        assert_eq!(rows, [1, 5, 2, 18, 3, 0, 3, 1]);
        assert_eq!(order, [1, 3, 0, 2]);
    }

    #[test]
    fn rows_too_wide_for_a_number_are_sorted_all_the_same() {
        let wide = vec![u32::MAX, 0, 7];
        let (rows, order) = sort_rows(&[vec![1, 1, 0], wide.clone(), wide.clone(), wide.clone(), wide]);
        assert_eq!(order, [2, 1, 0]);
        assert_eq!(rows[..5], [0, 7, 7, 7, 7]);
    }

    #[test]
    fn rows_of_any_width_are_sorted_as_a_model_does() {
        let mut random = 1_u32;
        let mut code = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random >> (random % 7)
        };
        for count in [1, 2, 3, 257] {
            for width in 0..6 {
                // The first column has few values, so that others decide; numbers of 64 and 128 bits hold some rows.
                let few: Vec<u32> = (0..count).map(|_| code() % 3).collect();
                let columns = [vec![few], (0..width).map(|_| (0..count).map(|_| code()).collect()).collect()].concat();
                let row = |number: usize| columns.iter().map(|column| column[number]).collect::<Vec<u32>>();
                let mut model: Vec<usize> = (0..count).collect();
                model.sort_by_key(|&number| row(number));
                let (rows, order) = sort_rows(&columns);
                assert_eq!(order, model.iter().map(|&number| number as u32).collect::<Vec<u32>>(), "{width}");
                assert_eq!(rows, model.iter().flat_map(|&number| row(number)).collect::<Vec<u32>>());
            }
        }
    }

    #[test]
    fn rows_are_sorted_where_they_just_fit_into_a_number_and_where_they_do_not() {
        // Numbers of 257 rows take 9 bits: rows of 55 and of 119 bits are the widest of both kinds.
        for bits in (46..=66).chain(110..=130) {
            let count = 257_u32;
            let mut rest: u32 = bits;
            let mut columns = Vec::new();
            while rest > 0 {
                let width = rest.min(32);
                rest -= width;
                let code = |number: u32| number.wrapping_mul(2_654_435_761).rotate_left(bits + rest) >> (32 - width);
                // The first row has the largest code of each column.
                columns.push((0..count).map(|n| if n == 0 { u32::MAX >> (32 - width) } else { code(n) }).collect());
            }
            let columns: Vec<Vec<u32>> = columns;
            let row = |number: u32| columns.iter().map(|column| column[number as usize]).collect::<Vec<u32>>();
            let mut model: Vec<u32> = (0..count).collect();
            model.sort_by_key(|&number| row(number));
            assert_eq!(sort_rows(&columns).1, model, "{bits} bits");
        }
    }

    #[test]
    fn prefixes_that_have_the_same_members_share_a_list() {
        let mut lists = InternedLists::default();
        let rows = vec![0, 1, 5, 0, 1, 6, 0, 2, 5, 0, 2, 6, 1, 1, 7];
        let mut keyset = FactoredKeyset { rows, ..FactoredKeyset::default() };
        gather_lists(&mut keyset, 3, &mut lists);
        assert_eq!(keyset.rows, [0, 1, 0, 0, 2, 0, 1, 1, 1]);
        assert_eq!(lists.sorted().0, [vec![5, 6], vec![7]].into_iter().collect());
    }
}
