//! Blocks after a plan given by hand: the oracle's side of factored blocks.
//!
//! Nothing here is fast or clever. Labelsets are maps, rows are sets of maps, and a table's row numbers are positions
//! in a sorted list, so that what a block should contain is plain to see.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::layout::RowForm;
use chronoxide_format::view::Domain;
use chronoxide_format::write::{BlockBuilder, BlockMeta, BuildError};
use chronoxide_format::{KeyId, PoolId, SymbolId, TableId};

/// A labelset: values by name, none empty.
pub type Labelset = BTreeMap<String, String>;

/// Domain of a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The value dictionary of a key.
    Key(String),
    /// An inner table, by its place in [`Plan::tables`].
    Table(usize),
}

/// Shorthand for [`Source::Key`].
#[must_use]
pub fn key(name: &str) -> Source {
    Source::Key(name.to_owned())
}

/// The columns of a keyset, and what its lists hold, if it has lists.
#[derive(Clone, Debug, Default)]
pub struct KeysetPlan {
    /// In any order; the block has them in the order of their first keys.
    pub columns: Vec<Source>,
    /// Domain of the members of lists.
    pub list: Option<Source>,
}

/// Which tables a block has, and which of them each keyset uses. Keysets that are not named are plain.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Inner tables, each after those it refers to. One with a single source is a map and is left out where it would
    /// change nothing.
    pub tables: Vec<Vec<Source>>,
    /// Plans by the keys of the keyset.
    pub keysets: BTreeMap<Vec<String>, KeysetPlan>,
}

impl Plan {
    /// The keys that a source stands for.
    fn keys(&self, source: &Source) -> BTreeSet<String> {
        match source {
            Source::Key(name) => BTreeSet::from([name.clone()]),
            Source::Table(table) => self.tables[*table].iter().flat_map(|source| self.keys(source)).collect(),
        }
    }

    fn project(&self, source: &Source, labels: &Labelset) -> Labelset {
        self.keys(source).into_iter().map(|name| (name.clone(), labels[&name].clone())).collect()
    }

    fn in_order(&self, sources: &[Source]) -> Vec<Source> {
        let mut sources = sources.to_vec();
        sources.sort_by_key(|source| self.keys(source));
        sources
    }
}

/// The rows of a dictionary or inner table: what each stands for, in order.
struct Rows {
    domain: Domain,
    numbers: BTreeMap<Labelset, u32>,
}

/// Builds the block that holds `series` after `plan`.
///
/// # Errors
/// What the builder refuses.
pub fn build(series: &BTreeSet<Labelset>, plan: &Plan, form: RowForm, meta: &BlockMeta) -> Result<Vec<u8>, BuildError> {
    let mut builder = BlockBuilder::new(form);
    let (symbols, key_numbers) = push_symbols(&mut builder, series)?;
    let mut tables: BTreeMap<Source, Rows> = BTreeMap::new();
    for (name, number) in &key_numbers {
        let values: BTreeSet<&String> = series.iter().filter_map(|labels| labels.get(name)).collect();
        let ids: Vec<SymbolId> = values.iter().map(|&value| symbols[value]).collect();
        builder.push_key(symbols[name], &ids)?;
        let row = |value: &&String| Labelset::from([(name.clone(), (*value).clone())]);
        let numbers = values.iter().map(row).zip(0..).collect();
        tables.insert(Source::Key(name.clone()), Rows { domain: Domain::Table(TableId(number.0)), numbers });
    }

    let mut keysets: BTreeMap<Vec<KeyId>, (KeysetPlan, BTreeSet<&Labelset>)> = BTreeMap::new();
    for labels in series {
        let names: Vec<String> = labels.keys().cloned().collect();
        let plain = || KeysetPlan { columns: names.iter().map(|name| key(name)).collect(), list: None };
        let numbers = names.iter().map(|name| key_numbers[name]).collect();
        let chosen = || (plan.keysets.get(&names).cloned().unwrap_or_else(plain), BTreeSet::new());
        keysets.entry(numbers).or_insert_with(chosen).1.insert(labels);
    }

    push_tables(&mut builder, plan, &keysets, &mut tables)?;
    let pools = push_pools(&mut builder, plan, &keysets, &tables)?;
    for (keyset, members) in keysets.values() {
        push_keyset(&mut builder, plan, keyset, members, &tables, &pools)?;
    }
    builder.finish(meta)
}

type Names = (BTreeMap<String, SymbolId>, BTreeMap<String, KeyId>);

fn push_symbols(builder: &mut BlockBuilder, series: &BTreeSet<Labelset>) -> Result<Names, BuildError> {
    let names: BTreeSet<&String> = series.iter().flat_map(BTreeMap::keys).collect();
    let strings: BTreeSet<&String> = series.iter().flat_map(BTreeMap::values).chain(names.iter().copied()).collect();
    let mut symbols = BTreeMap::new();
    for string in strings {
        symbols.insert(string.clone(), builder.push_symbol(string)?);
    }
    Ok((symbols, names.into_iter().cloned().zip((0..).map(KeyId)).collect()))
}

fn sources(keyset: &KeysetPlan) -> impl Iterator<Item = &Source> {
    keyset.columns.iter().chain(&keyset.list)
}

type Keysets<'a> = BTreeMap<Vec<KeyId>, (KeysetPlan, BTreeSet<&'a Labelset>)>;

/// Pushes the inner tables with the rows that something uses.
fn push_tables(
    builder: &mut BlockBuilder,
    plan: &Plan,
    keysets: &Keysets<'_>,
    tables: &mut BTreeMap<Source, Rows>,
) -> Result<(), BuildError> {
    // From the last table to the first, since tables use the rows of earlier ones.
    let mut used: Vec<BTreeSet<Labelset>> = vec![BTreeSet::new(); plan.tables.len()];
    for (keyset, members) in keysets.values() {
        for source in sources(keyset) {
            if let Source::Table(table) = source {
                used[*table].extend(members.iter().map(|labels| plan.project(source, labels)));
            }
        }
    }
    for table in (0..plan.tables.len()).rev() {
        for source in &plan.tables[table] {
            if let Source::Table(behind) = source {
                let rows: Vec<Labelset> = used[table].iter().map(|labels| plan.project(source, labels)).collect();
                used[*behind].extend(rows);
            }
        }
    }
    for (table, used) in used.into_iter().enumerate().filter(|(_, used)| !used.is_empty()) {
        let columns = plan.in_order(&plan.tables[table]);
        let rows: BTreeMap<Vec<u32>, Labelset> =
            used.into_iter().map(|labels| (codes(plan, &columns, &labels, tables), labels)).collect();
        let domains: Vec<Domain> = columns.iter().map(|source| tables[source].domain).collect();
        let identity = columns.len() == 1 && tables[&columns[0]].numbers.len() == rows.len();
        let domain = if identity {
            domains[0]
        } else {
            let flat: Vec<u32> = rows.keys().flatten().copied().collect();
            Domain::Table(builder.push_table(&domains, &flat)?)
        };
        tables.insert(Source::Table(table), Rows { domain, numbers: rows.into_values().zip(0..).collect() });
    }
    Ok(())
}

fn codes(plan: &Plan, columns: &[Source], labels: &Labelset, tables: &BTreeMap<Source, Rows>) -> Vec<u32> {
    columns.iter().map(|source| tables[source].numbers[&plan.project(source, labels)]).collect()
}

/// The series of a keyset by prefix: codes of its columns, and the members of their lists.
fn prefixes(
    plan: &Plan,
    keyset: &KeysetPlan,
    members: &BTreeSet<&Labelset>,
    tables: &BTreeMap<Source, Rows>,
) -> BTreeMap<Vec<u32>, Vec<u32>> {
    let columns = plan.in_order(&keyset.columns);
    let mut prefixes: BTreeMap<Vec<u32>, BTreeSet<u32>> = BTreeMap::new();
    for labels in members {
        let list = prefixes.entry(codes(plan, &columns, labels, tables)).or_default();
        list.extend(keyset.list.iter().map(|source| tables[source].numbers[&plan.project(source, labels)]));
    }
    prefixes.into_iter().map(|(prefix, list)| (prefix, list.into_iter().collect())).collect()
}

type Pools = BTreeMap<TableId, (PoolId, Vec<Vec<u32>>)>;

fn push_pools(
    builder: &mut BlockBuilder,
    plan: &Plan,
    keysets: &Keysets<'_>,
    tables: &BTreeMap<Source, Rows>,
) -> Result<Pools, BuildError> {
    let mut lists: BTreeMap<TableId, BTreeSet<Vec<u32>>> = BTreeMap::new();
    for (keyset, members) in keysets.values() {
        if let Some(Domain::Table(table)) = keyset.list.as_ref().map(|source| tables[source].domain) {
            lists.entry(table).or_default().extend(prefixes(plan, keyset, members, tables).into_values());
        }
    }
    let mut pools = Pools::new();
    for (table, lists) in lists {
        let lists: Vec<Vec<u32>> = lists.into_iter().collect();
        let slices: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
        pools.insert(table, (builder.push_pool(table, &slices)?, lists));
    }
    Ok(pools)
}

fn push_keyset(
    builder: &mut BlockBuilder,
    plan: &Plan,
    keyset: &KeysetPlan,
    members: &BTreeSet<&Labelset>,
    tables: &BTreeMap<Source, Rows>,
    pools: &Pools,
) -> Result<(), BuildError> {
    let mut domains: Vec<Domain> = plan.in_order(&keyset.columns).iter().map(|source| tables[source].domain).collect();
    let pool = match keyset.list.as_ref().map(|source| tables[source].domain) {
        Some(Domain::Table(table)) => Some(&pools[&table]),
        _ => None,
    };
    domains.extend(pool.map(|&(pool, _)| Domain::Pool(pool)));
    let mut rows = Vec::new();
    for (mut row, list) in prefixes(plan, keyset, members, tables) {
        row.extend(pool.map(|(_, lists)| lists.binary_search(&list).expect("every list was collected") as u32));
        rows.extend(row);
    }
    builder.push_keyset_table(&domains, &rows)?;
    Ok(())
}

/// Returns labelsets.
#[must_use]
pub fn labelsets(labelsets: &[&[(&str, &str)]]) -> BTreeSet<Labelset> {
    let labelset = |labels: &&[(&str, &str)]| labels.iter().map(|&(name, value)| (name.into(), value.into())).collect();
    labelsets.iter().map(labelset).collect()
}
