//! Symbols, values, table rows and lists that an output uses, and their new numbers.

use std::collections::BTreeMap;

use bitvec::vec::BitVec;
use chronoxide_format::write::{BlockBuilder, BuildError};
use chronoxide_format::{KeyId, SymbolId};
use chronoxide_planner::{ColumnCodes, Factored, FactoredKeyset, FactoredPool, FactoredTable, Lists, Part};
use rayon::prelude::*;
use roaring::RoaringBitmap;

use super::rows::OutputRows;
use crate::merge::{ByPart, MergeContext};
use crate::ranks::Ranks;

/// Everything that an output uses.
pub(crate) struct Used {
    symbols: BitVec,
    symbol_ranks: Ranks,
    /// Used keys by their old numbers, increasing.
    keys: Vec<u32>,
    /// Used codes of each part.
    codes: ByPart<BitVec>,
    /// New numbers of the used codes.
    ranks: ByPart<Ranks>,
    table_numbers: Vec<usize>,
    /// Used pools by their parts.
    pools: BTreeMap<Part, UsedPool>,
}

/// Used lists of a pool.
struct UsedPool {
    number: usize,
    /// Old list numbers, in the order of the lists' members.
    lists: Vec<u32>,
    /// New number of each old list number.
    ranks: Vec<u32>,
}

impl Used {
    /// Marks what `rows` use, from the columns of keysets down to the symbols. With `is_all_used`, every value counts
    /// as used, and codes of value columns need not be known.
    pub(crate) fn by(merging: &MergeContext<'_>, rows: &OutputRows, is_all_used: bool) -> Self {
        let vocabulary = merging.vocabulary();
        let plan = merging.context.plan;
        let values = vocabulary.keys.iter().map(|key| BitVec::repeat(is_all_used, key.values.len()));
        let rows_of_tables = merging.tables.tables.iter().map(|table| BitVec::repeat(false, table.fingerprints.len()));
        let mut used = ByPart { keys: values.collect(), tables: rows_of_tables.collect() };
        let mut lists: BTreeMap<Part, RoaringBitmap> = BTreeMap::new();
        for (&keyset, uses) in &rows.keysets {
            let choice = &plan.keysets[keyset];
            for (&part, codes) in choice.prefix.iter().zip(&uses.codes) {
                mark(&mut used[part], codes.iter());
            }
            if let (Some(part), Some(codes)) = (choice.list, uses.codes.last()) {
                *lists.entry(part).or_default() |= codes;
            }
        }
        let pools: Vec<(Part, UsedPool, BitVec)> =
            lists.par_iter().map(|(&part, lists)| used_lists(merging, part, lists)).collect();
        for (part, _, members) in &pools {
            used[*part] |= members;
        }
        // A table refers to earlier ones, so that its rows are known once all later tables have marked theirs.
        for table in (0..plan.tables.len()).rev() {
            let parts = &plan.tables[table].parts;
            let merged = &merging.tables.tables[table].rows;
            let of_table = std::mem::take(&mut used.tables[table]);
            for (column, &part) in parts.iter().enumerate() {
                let codes = of_table.iter_ones().map(|row| merged[row * parts.len() + column]);
                mark(&mut used[part], codes);
            }
            used.tables[table] = of_table;
        }
        let keys: Vec<u32> = (0..).zip(&used.keys).filter(|(_, values)| values.any()).map(|(key, _)| key).collect();
        let mut symbols = BitVec::repeat(false, vocabulary.symbols.len());
        for &key in &keys {
            let merged = &vocabulary.keys[key as usize];
            let of_values = used.keys[key as usize].iter_ones().map(|value| merged.values[value]);
            mark(&mut symbols, of_values.chain([merged.name]));
        }
        let mut next = 0;
        let mut table_numbers = Vec::with_capacity(used.tables.len());
        for rows in &used.tables {
            table_numbers.push(next);
            next += usize::from(rows.any());
        }
        Self {
            symbol_ranks: Ranks::new(&symbols),
            ranks: used.map(|used| Ranks::new(used)),
            pools: (0..).zip(pools).map(|(number, (part, pool, _))| (part, UsedPool { number, ..pool })).collect(),
            symbols,
            keys,
            codes: used,
            table_numbers,
        }
    }

    /// Returns the number of used values of each used key.
    pub(crate) fn value_counts(&self) -> Vec<u32> {
        self.keys.iter().map(|&key| self.ranks.keys[key as usize].count()).collect()
    }

    /// Returns the number of a key in the output.
    pub(crate) fn key(&self, key: u32) -> u32 {
        self.keys.binary_search(&key).map_or(0, |number| number as u32)
    }

    /// Converts a part to the numbers of the output.
    pub(crate) fn part(&self, part: Part) -> Part {
        match part {
            Part::Key(key) => Part::Key(self.key(key)),
            Part::Table(table) => Part::Table(self.table_numbers[table]),
        }
    }

    /// Returns the map from old to new codes of a part.
    pub(crate) fn ranks(&self, part: Part) -> &Ranks {
        &self.ranks[part]
    }

    /// Returns the codes of a keyset's column in the numbers of the output if a map could make the column narrower.
    pub(crate) fn column(
        &self,
        keyset: usize,
        column: usize,
        part: Part,
        codes: &RoaringBitmap,
        uses: u64,
    ) -> Option<ColumnCodes> {
        let ranks = self.ranks(part);
        let codes = codes.iter().map(|code| ranks.get(code)).collect();
        let codes = ColumnCodes { keyset, column, codes, uses };
        codes.may_gain(ranks.count().into()).then_some(codes)
    }

    /// Returns the map from old to new list numbers of a part's pool.
    pub(crate) fn list_ranks(&self, part: Part) -> &[u32] {
        self.pools.get(&part).map_or(&[], |pool| &pool.ranks)
    }

    /// Adds used symbols, keys and dictionaries to the builder.
    pub(crate) fn push_labels(&self, merging: &MergeContext<'_>, builder: &mut BlockBuilder) -> Result<(), BuildError> {
        let vocabulary = merging.vocabulary();
        for symbol in self.symbols.iter_ones() {
            builder.push_symbol(vocabulary.symbols[symbol])?;
        }
        for &key in &self.keys {
            let merged = &vocabulary.keys[key as usize];
            let symbol = |symbol: u32| SymbolId(self.symbol_ranks.get(symbol));
            let values: Vec<SymbolId> =
                self.codes.keys[key as usize].iter_ones().map(|value| symbol(merged.values[value])).collect();
            let _: KeyId = builder.push_key(symbol(merged.name), &values)?;
        }
        Ok(())
    }

    /// Returns used shared tables, used lists, and keysets without rows, in the order of the output.
    pub(crate) fn factored(&self, merging: &MergeContext<'_>, rows: &OutputRows) -> Factored {
        let plan = merging.context.plan;
        let mut factored = Factored::default();
        let tables: Vec<usize> = (0..plan.tables.len()).filter(|&table| self.codes.tables[table].any()).collect();
        factored.tables = tables.par_iter().map(|&table| self.table(merging, table)).collect();
        let pools: Vec<(&Part, &UsedPool)> = self.pools.iter().collect();
        factored.pools = pools.par_iter().map(|&(&part, pool)| self.pool(merging, part, pool)).collect();
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

    fn table(&self, merging: &MergeContext<'_>, table: usize) -> FactoredTable {
        let parts = &merging.context.plan.tables[table].parts;
        let merged = &merging.tables.tables[table].rows;
        let row = |row: usize| {
            let codes = &merged[row * parts.len()..(row + 1) * parts.len()];
            parts.iter().zip(codes).map(|(&part, &code)| self.ranks(part).get(code))
        };
        let rows = self.codes.tables[table].iter_ones().flat_map(row).collect();
        FactoredTable { parts: parts.iter().map(|&part| self.part(part)).collect(), rows }
    }

    fn pool(&self, merging: &MergeContext<'_>, part: Part, pool: &UsedPool) -> FactoredPool {
        let reader = merging.lists.pool(part).read();
        let ranks = self.ranks(part);
        let mut lists = Lists::default();
        for &list in &pool.lists {
            lists.push(reader.list(list).iter().map(|member| ranks.get(member)));
        }
        FactoredPool { part: self.part(part), lists }
    }
}

fn mark(used: &mut BitVec, numbers: impl Iterator<Item = u32>) {
    numbers.for_each(|number| used.set(number as usize, true));
}

/// Returns the used lists of a pool in the order of their members, and the set of their members.
fn used_lists(merging: &MergeContext<'_>, part: Part, lists: &RoaringBitmap) -> (Part, UsedPool, BitVec) {
    let reader = merging.lists.pool(part).read();
    let sorted = reader.sorted(lists.iter());
    let mut ranks = vec![0; lists.max().map_or(0, |most| most as usize + 1)];
    let mut members = BitVec::repeat(false, merging.tables.fingerprints(merging.vocabulary(), part).len());
    for (rank, &list) in (0..).zip(&sorted) {
        ranks[list as usize] = rank;
        mark(&mut members, reader.list(list).iter());
    }
    (part, UsedPool { number: 0, lists: sorted, ranks }, members)
}
