//! Cost of a split of a keyset, in bits.

use std::collections::BTreeMap;

use chronoxide_format::layout::ANCHOR_ROWS;

use super::group::Group;
use super::items::{Items, OwnItems};
use super::known::Known;
use super::sample::{Sample, bits};

/// Approximate bits of the records of a table. The exact widths are known only at the end.
pub(crate) const TABLE_BITS: f64 = 60.0;
/// Approximate bits of the record of a column.
pub(crate) const COLUMN_BITS: f64 = 32.0;
/// Approximate bits of a leaf record.
pub(crate) const LEAF_BITS: f64 = 2.0;
/// Approximate bits of the end of a list.
const LIST_BITS: f64 = 16.0;
/// Approximate bits of the records of a map.
const MAP_BITS: f64 = 72.0;
/// Factor by which a bound must exceed a cost, because their sums are rounded differently.
const ROUNDING: f64 = 1.000_001;

/// Split of a keyset: sets of columns in increasing order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split {
    /// Columns behind each column of the keyset's table.
    pub prefix: Vec<Vec<usize>>,
    /// Columns behind its lists, if it has lists.
    pub list: Vec<usize>,
}

/// Costs of parts of splits of one keyset, as long as nothing changes in what is known of others.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    parts: BTreeMap<Vec<usize>, PartCost>,
    lists: BTreeMap<Vec<usize>, ListCost>,
}

/// Cost of columns as one part.
#[derive(Debug, Clone, Copy)]
struct PartCost {
    /// Estimated number of its rows in the keyset.
    distinct: f64,
    /// Bits of new rows of its table, and of records.
    table: f64,
    /// Bits of a code of a row in its table.
    code_bits: u32,
}

impl PartCost {
    fn new(sample: &mut Sample<'_>, columns: &[usize], known: &Known) -> Self {
        let group = sample.group(columns);
        let own = sample.rows_of(&group);
        let distinct = own.count;
        if let [column] = *columns {
            return Self { distinct, table: 0.0, code_bits: sample.code_bits()[column] };
        }
        let row_bits: u32 = columns.iter().map(|&column| sample.code_bits()[column]).sum();
        let row_bits = f64::from(row_bits);
        let all_records = TABLE_BITS + columns.len() as f64 * (COLUMN_BITS + LEAF_BITS);
        let Some(table) = known.get(&sample.keys_of(columns)) else {
            let table = distinct * row_bits + all_records;
            return Self { distinct, table, code_bits: bits(distinct as usize) };
        };
        let (new_rows, _) = table.rows.new_items(&own, sample.is_exact());
        let code_bits = bits((table.rows.count() + new_rows).max(distinct) as usize);
        let records = if table.users > 0 { 0.0 } else { all_records };
        if known.is_complete {
            return Self { distinct, table: new_rows * row_bits + records, code_bits };
        }
        // Keysets that share a table share its cost.
        let users = table.users_expected.saturating_sub(table.users).max(1);
        let table = new_rows * row_bits / table.sharing() + records / f64::from(users);
        Self { distinct, table, code_bits }
    }

    /// Returns the bits of a column of `rows` codes: codes of the table, or shorter ones through a map.
    fn column_bits(&self, rows: f64) -> f64 {
        let direct = f64::from(self.code_bits);
        let mapped = rows * f64::from(bits(self.distinct as usize)) + self.distinct * direct + MAP_BITS;
        mapped.min(rows * direct)
    }
}

/// Cost of columns as the part behind lists.
#[derive(Debug, Clone, Copy)]
struct ListCost {
    /// Estimated number of prefix rows.
    rows: f64,
    /// Bits of the table, of new lists, of the column of lists, and of anchors.
    bits: f64,
}

impl ListCost {
    fn new(sample: &mut Sample<'_>, columns: &[usize], part: PartCost, known: &Known) -> Self {
        let list = sample.group(columns);
        let prefixes = sample.complement(&list);
        let rows = sample.count(&prefixes);
        let own = lists(sample, &prefixes, &list);
        let pool = known.get(&sample.keys_of(columns)).map(|known| &known.lists);
        let (new_lists, new_members) =
            pool.map_or((own.count, own.weight), |lists| lists.new_items(&own, sample.is_exact()));
        let list_count = pool.map_or(0.0, Items::count) + new_lists;
        let mut total = part.table + COLUMN_BITS;
        total += new_lists * LIST_BITS + member_bits(new_lists, new_members, part.code_bits);
        for bits in Self::row_bits(sample, rows, list_count) {
            total += bits;
        }
        Self { rows, bits: total }
    }

    /// Returns the bits of the column of lists, and of anchors.
    fn row_bits(sample: &Sample<'_>, rows: f64, list_count: f64) -> [f64; 2] {
        let anchors = rows / f64::from(ANCHOR_ROWS) * f64::from(bits(sample.keyset.len()));
        [rows * f64::from(bits(list_count as usize)), anchors]
    }
}

impl Costs {
    fn part(&mut self, sample: &mut Sample<'_>, columns: &[usize], known: &Known) -> PartCost {
        if let Some(&cost) = self.parts.get(columns) {
            return cost;
        }
        let cost = PartCost::new(sample, columns, known);
        self.parts.insert(columns.to_vec(), cost);
        cost
    }

    /// Returns a lower bound of the cost of a split without its records, before its lists are found. It is 0 unless all
    /// rows are sampled: estimates of distinct rows have no bound.
    fn least_bits(&mut self, split: &Split, sample: &mut Sample<'_>, known: &Known) -> f64 {
        if !sample.all_are_exact() || split.list.is_empty() || self.lists.contains_key(&split.list) {
            return 0.0;
        }
        let part = self.part(sample, &split.list, known);
        let prefix = || split.prefix.iter().filter_map(|columns| self.parts.get(columns));
        // No prefix has more members than the list has rows.
        let rows = (sample.keyset.len() as f64 / part.distinct).ceil();
        let rows = prefix().map(|part| part.distinct).fold(rows, f64::max);
        let lists = known.get(&sample.keys_of(&split.list)).map_or(1.0, |known| known.lists.count());
        let of_rows: f64 = ListCost::row_bits(sample, rows, lists).iter().sum();
        prefix().fold(part.table + of_rows, |sum, part| sum + part.table + part.column_bits(rows))
    }

    fn list(&mut self, sample: &mut Sample<'_>, columns: &[usize], known: &Known) -> ListCost {
        if let Some(&cost) = self.lists.get(columns) {
            return cost;
        }
        let part = self.part(sample, columns, known);
        let cost = ListCost::new(sample, columns, part, known);
        self.lists.insert(columns.to_vec(), cost);
        cost
    }
}

impl Split {
    /// Returns the sets of columns behind shared tables. A single column needs none.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &[usize]> {
        self.prefix.iter().chain([&self.list]).map(Vec::as_slice).filter(|columns| columns.len() > 1)
    }

    /// Returns the cost: rows, anchors, lists, new entries of shared tables, and records. Returns infinity if a bound
    /// shows that it is more than `limit`.
    pub(crate) fn bits(&self, sample: &mut Sample<'_>, known: &Known, limit: f64) -> f64 {
        let mut costs = std::mem::take(&mut sample.costs);
        let keys = sample.keyset.keys.len() as f64;
        let mut total = TABLE_BITS + keys * LEAF_BITS + (self.prefix.len() as f64) * COLUMN_BITS;
        if total + costs.least_bits(self, sample, known) > limit * ROUNDING {
            sample.costs = costs;
            return f64::INFINITY;
        }
        let mut rows = sample.keyset.len() as f64;
        if !self.list.is_empty() {
            let list = costs.list(sample, &self.list, known);
            total += list.bits;
            rows = list.rows;
        }
        for columns in &self.prefix {
            // The rest only adds to it.
            if total > limit {
                total = f64::INFINITY;
                break;
            }
            let part = costs.part(sample, columns, known);
            total += part.table + part.column_bits(rows);
        }
        sample.costs = costs;
        total
    }

    /// Returns the contents of its tables and lists.
    pub(crate) fn contents(&self, sample: &mut Sample<'_>) -> Contents {
        let table = |columns: &[usize]| {
            let group = sample.group(columns);
            (sample.keys_of(columns), sample.rows_of(&group))
        };
        let tables = self.tables().map(table).collect();
        let lists = (!self.list.is_empty()).then(|| {
            let list = sample.group(&self.list);
            let prefixes = sample.complement(&list);
            (sample.keys_of(&self.list), lists(sample, &prefixes, &list))
        });
        Contents { tables, lists }
    }
}

/// Contents of the tables and lists of a split, with their keys.
#[derive(Debug)]
pub(crate) struct Contents {
    tables: Vec<(Vec<u32>, OwnItems)>,
    lists: Option<(Vec<u32>, OwnItems)>,
}

impl Contents {
    /// Adds the contents to what is known, or removes them.
    pub(crate) fn register(&self, known: &mut Known, is_added: bool) {
        let change = |items: &mut Items, own: &OwnItems| if is_added { items.add(own) } else { items.remove(own) };
        for (keys, rows) in &self.tables {
            let number = known.number(keys);
            let entry = known.group_mut(number);
            entry.users = if is_added { entry.users + 1 } else { entry.users - 1 };
            change(&mut entry.rows, rows);
        }
        if let Some((keys, lists)) = &self.lists {
            let number = known.number(keys);
            change(&mut known.group_mut(number).lists, lists);
        }
    }
}

/// Estimates the bits of lists, given the bits of a plain member: lists are split where that is shorter. The limits of
/// the builder, which leaves some lists plain, are left out.
fn member_bits(lists: f64, members: f64, code_bits: u32) -> f64 {
    let plain = members * f64::from(code_bits);
    if lists <= 0.0 || members <= 0.0 {
        return plain;
    }
    let rows = f64::from(code_bits).exp2();
    // The best low bits leave about one upper step per member.
    let low_bits = (rows * lists / members).log2().floor().max(0.0);
    plain.min(members * (low_bits + 1.0) + lists * rows / low_bits.exp2())
}

/// Returns the distinct lists of the prefixes of a keyset.
fn lists(sample: &Sample<'_>, prefixes: &Group, list: &Group) -> OwnItems {
    // Name of all sampled members of each prefix, of those that the samples of all keysets have, and their number.
    let mut found = vec![(0u64, 0u64, 0u32); prefixes.distinct()];
    for (row, (&prefix, &member)) in prefixes.codes.iter().zip(&list.codes).enumerate() {
        // Independent of the order, and unlike the sums that name rows.
        let member = list.names[member as usize];
        let member = (member ^ member >> 31).wrapping_mul(0x2545_f491_4f6c_dd1d);
        let of_prefix = &mut found[prefix as usize];
        of_prefix.0 = of_prefix.0.wrapping_add(member);
        of_prefix.1 = of_prefix.1.wrapping_add(if sample.is_shared(row) { member } else { 0 });
        of_prefix.2 += 1;
    }
    if sample.all_are_exact() {
        found.sort_unstable();
        found.dedup();
        return sample.exact_items(found.into_iter().map(|(_, name, members)| (name, members)));
    }
    let mut distinct = found.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let numbers: Vec<u32> =
        found.iter().map(|found| distinct.binary_search(found).unwrap_or_default() as u32).collect();
    let rows: Vec<u32> = prefixes.codes.iter().map(|&prefix| numbers[prefix as usize]).collect();
    let named: Vec<(u64, u32)> = distinct.iter().map(|&(_, name, members)| (name, members)).collect();
    sample.items(&rows, &named, sample.is_chosen_by(&list.columns))
}

/// Returns the cost of the keyset without shared tables and lists.
pub(crate) fn plain_bits(sample: &Sample<'_>) -> f64 {
    let row_bits: u32 = sample.code_bits().iter().sum();
    TABLE_BITS + sample.code_bits().len() as f64 * COLUMN_BITS + sample.keyset.len() as f64 * f64::from(row_bits)
}
