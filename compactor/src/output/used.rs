//! What an output uses of what is merged, and which numbers that gets.

use std::collections::BTreeMap;

use chronoxide_format::build::{BlockBuilder, BuildError};
use chronoxide_format::{KeyId, SymbolId};
use chronoxide_planner::{Factored, FactoredKeyset, FactoredPool, FactoredTable, Part};
use roaring::RoaringBitmap;

use super::draft::OutputRows;
use crate::merge::Merging;

/// New numbers of what is used, in the order of the old ones.
#[derive(Debug)]
pub(crate) enum Ranks {
    /// All are used, and stay what they are.
    Same(u32),
    /// Of old numbers; those that are not used have that of the next that is.
    Of(Vec<u32>, u32),
}

impl Ranks {
    fn of(used: &RoaringBitmap, count: usize) -> Self {
        if used.len() == count as u64 {
            return Self::Same(count as u32);
        }
        let mut ranks = Vec::with_capacity(count);
        let mut next = 0;
        let mut used = used.iter().peekable();
        for number in 0..count as u32 {
            ranks.push(next);
            next += u32::from(used.next_if_eq(&number).is_some());
        }
        Self::Of(ranks, next)
    }

    pub(crate) fn get(&self, number: u32) -> u32 {
        match self {
            Self::Same(_) => number,
            Self::Of(ranks, _) => ranks[number as usize],
        }
    }

    fn count(&self) -> u32 {
        match self {
            Self::Same(count) | Self::Of(_, count) => *count,
        }
    }
}

/// What an output uses.
pub(crate) struct Used {
    symbols: RoaringBitmap,
    symbol_ranks: Ranks,
    /// Of keys: old numbers, increasing.
    keys: Vec<u32>,
    /// For each key, the values that are used.
    values: Vec<RoaringBitmap>,
    pub value_ranks: Vec<Ranks>,
    /// For each shared table of the plan, its rows that are used, and its number if there are any.
    rows: Vec<RoaringBitmap>,
    pub row_ranks: Vec<Ranks>,
    table_numbers: Vec<usize>,
    /// For each pool that is used, its lists by their members.
    pools: BTreeMap<Part, UsedPool>,
}

/// Lists of a pool that are used.
struct UsedPool {
    number: usize,
    /// Old numbers, in the order of the members.
    lists: Vec<u32>,
    /// Of old numbers.
    ranks: Vec<u32>,
}

impl Used {
    /// Goes from the keysets' columns down to the symbols. If all that is merged is known to be used, codes of value columns need not be known.
    pub(crate) fn of(merging: &Merging<'_>, rows: &OutputRows, is_all_used: bool) -> Self {
        let vocabulary = merging.vocabulary();
        let plan = merging.context.plan;
        let all = |count: usize| -> RoaringBitmap { (0..count as u32).collect() };
        let mut values: Vec<RoaringBitmap> = vocabulary
            .keys
            .iter()
            .map(|key| if is_all_used { all(key.values.len()) } else { RoaringBitmap::new() })
            .collect();
        let mut table_rows: Vec<RoaringBitmap> = vec![RoaringBitmap::new(); plan.tables.len()];
        let mut lists: BTreeMap<Part, RoaringBitmap> = BTreeMap::new();
        for (&keyset, uses) in &rows.keysets {
            let choice = &plan.keysets[keyset];
            for (&part, codes) in choice.prefix.iter().zip(&uses.codes) {
                match part {
                    Part::Key(key) => values[key as usize] |= codes,
                    Part::Table(table) => table_rows[table] |= codes,
                }
            }
            if let (Some(part), Some(codes)) = (choice.list, uses.codes.last()) {
                *lists.entry(part).or_default() |= codes;
            }
        }
        let mut pools = BTreeMap::new();
        for (number, (&part, of_part)) in lists.iter().enumerate() {
            let reader = merging.lists.pool(part).read();
            let mut sorted: Vec<u32> = of_part.iter().collect();
            sorted.sort_unstable_by(|&a, &b| reader.list(a).cmp(reader.list(b)));
            let mut ranks = vec![0; of_part.max().map_or(0, |most| most as usize + 1)];
            let mut members = vec![false; merging.tables.fingerprints(vocabulary, part).len()];
            for (rank, &list) in (0..).zip(&sorted) {
                ranks[list as usize] = rank;
                reader.list(list).iter().for_each(|&member| members[member as usize] = true);
            }
            let members = (0_u32..).zip(members).filter_map(|(member, is_used)| is_used.then_some(member));
            match part {
                Part::Key(key) => values[key as usize].extend(members),
                Part::Table(table) => table_rows[table].extend(members),
            }
            pools.insert(part, UsedPool { number, lists: sorted, ranks });
        }
        for table in (0..plan.tables.len()).rev() {
            let parts = &plan.tables[table].parts;
            let merged = &merging.tables.tables[table].rows;
            for (column, &part) in parts.iter().enumerate() {
                let used = table_rows[table].iter().map(|row| merged[row as usize * parts.len() + column]);
                match part {
                    Part::Key(key) => mark(&mut values[key as usize], used, vocabulary.keys[key as usize].values.len()),
                    Part::Table(below) => {
                        let marked: Vec<u32> = used.collect();
                        mark(
                            &mut table_rows[below],
                            marked.into_iter(),
                            merging.tables.tables[below].fingerprints.len(),
                        );
                    }
                }
            }
        }
        let keys: Vec<u32> = (0..).zip(&values).filter(|(_, values)| !values.is_empty()).map(|(key, _)| key).collect();
        let mut is_used = vec![false; vocabulary.symbols.len()];
        for &key in &keys {
            let merged = &vocabulary.keys[key as usize];
            is_used[merged.name as usize] = true;
            values[key as usize].iter().for_each(|value| is_used[merged.values[value as usize] as usize] = true);
        }
        let symbols: RoaringBitmap =
            (0_u32..).zip(is_used).filter_map(|(symbol, is_used)| is_used.then_some(symbol)).collect();
        let mut next = 0;
        let mut table_numbers = Vec::with_capacity(table_rows.len());
        for rows in &table_rows {
            table_numbers.push(next);
            next += usize::from(!rows.is_empty());
        }
        Self {
            symbol_ranks: Ranks::of(&symbols, vocabulary.symbols.len()),
            value_ranks: values
                .iter()
                .zip(&vocabulary.keys)
                .map(|(used, key)| Ranks::of(used, key.values.len()))
                .collect(),
            row_ranks: table_rows
                .iter()
                .zip(&merging.tables.tables)
                .map(|(used, table)| Ranks::of(used, table.fingerprints.len()))
                .collect(),
            symbols,
            keys,
            values,
            rows: table_rows,
            table_numbers,
            pools,
        }
    }

    /// How many values each key of the output has.
    pub(crate) fn value_counts(&self) -> Vec<u32> {
        self.keys.iter().map(|&key| self.value_ranks[key as usize].count()).collect()
    }

    /// The number that a key has in the output.
    pub(crate) fn key(&self, key: u32) -> u32 {
        self.keys.binary_search(&key).map_or(0, |number| number as u32)
    }

    /// A part in the numbers of the output.
    pub(crate) fn part(&self, part: Part) -> Part {
        match part {
            Part::Key(key) => Part::Key(self.key(key)),
            Part::Table(table) => Part::Table(self.table_numbers[table]),
        }
    }

    /// What the codes of a part become.
    pub(crate) fn ranks(&self, part: Part) -> &Ranks {
        match part {
            Part::Key(key) => &self.value_ranks[key as usize],
            Part::Table(table) => &self.row_ranks[table],
        }
    }

    /// What the numbers of lists become.
    pub(crate) fn list_ranks(&self, part: Part) -> &[u32] {
        self.pools.get(&part).map_or(&[], |pool| &pool.ranks)
    }

    /// Pushes symbols, keys and their dictionaries.
    pub(crate) fn push_labels(&self, merging: &Merging<'_>, builder: &mut BlockBuilder) -> Result<(), BuildError> {
        let vocabulary = merging.vocabulary();
        for symbol in &self.symbols {
            builder.push_symbol(vocabulary.symbols[symbol as usize])?;
        }
        for &key in &self.keys {
            let merged = &vocabulary.keys[key as usize];
            let symbol = |symbol: u32| SymbolId(self.symbol_ranks.get(symbol));
            let values: Vec<SymbolId> =
                self.values[key as usize].iter().map(|value| symbol(merged.values[value as usize])).collect();
            let _: KeyId = builder.push_key(symbol(merged.name), &values)?;
        }
        Ok(())
    }

    /// The shared tables and lists that are used, and keysets without their rows: those of the output, in its order.
    pub(crate) fn factored(&self, merging: &Merging<'_>, rows: &OutputRows) -> Factored {
        let plan = merging.context.plan;
        let mut factored = Factored::default();
        for (table, used) in self.rows.iter().enumerate().filter(|(_, used)| !used.is_empty()) {
            let parts = &plan.tables[table].parts;
            let merged = &merging.tables.tables[table].rows;
            let row = |row: u32| {
                let codes = &merged[row as usize * parts.len()..(row as usize + 1) * parts.len()];
                parts.iter().zip(codes).map(|(&part, &code)| self.ranks(part).get(code))
            };
            let rows = used.iter().flat_map(row).collect();
            factored.tables.push(FactoredTable { parts: parts.iter().map(|&part| self.part(part)).collect(), rows });
        }
        for (&part, pool) in &self.pools {
            let reader = merging.lists.pool(part).read();
            let ranks = self.ranks(part);
            let list = |&list: &u32| reader.list(list).iter().map(|&member| ranks.get(member)).collect();
            factored.pools.push(FactoredPool { part: self.part(part), lists: pool.lists.iter().map(list).collect() });
        }
        for &keyset in rows.keysets.keys() {
            let choice = &plan.keysets[keyset];
            factored.keysets.push(FactoredKeyset {
                parts: choice.prefix.iter().map(|&part| self.part(part)).collect(),
                pool: choice.list.and_then(|part| self.pools.get(&part)).map(|pool| pool.number),
                ..FactoredKeyset::default()
            });
        }
        factored
    }
}

/// Adds numbers, of which there may be so many.
fn mark(used: &mut RoaringBitmap, numbers: impl Iterator<Item = u32>, count: usize) {
    if used.len() == count as u64 {
        return;
    }
    let mut is_used = vec![false; count];
    numbers.for_each(|number| is_used[number as usize] = true);
    used.extend((0_u32..).zip(is_used).filter_map(|(number, is_used)| is_used.then_some(number)));
}
