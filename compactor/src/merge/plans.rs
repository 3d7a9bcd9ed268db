//! Chooses the plan that the outputs adopt from the plans of the inputs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chronoxide_format::view::{BlockView, Domain, OwnedMeta, Table};
use chronoxide_format::{Result, TableId};
use chronoxide_planner::{KeysetPlan, Layout, Part, Plan, TablePlan};
use rayon::prelude::*;

use super::vocabulary::Vocabulary;
use crate::CompactError;
use crate::rewrite::KeyChanges;

/// A keyset of the outputs, and the keysets of inputs that its series come from.
#[derive(Debug)]
pub(crate) struct MergedKeyset {
    /// Keys, as numbers of the vocabulary.
    pub keys: Vec<u32>,
    pub sources: Vec<KeysetSource>,
    /// Rows of all sources; for sources that are factored differently, their series.
    pub rows: u64,
    /// Series of sources that are factored differently.
    pub translated: u64,
}

/// A keyset of an input.
#[derive(Debug)]
pub(crate) struct KeysetSource {
    pub input: usize,
    pub keyset: u32,
    /// True if the input factors it as the outputs do.
    pub agrees: bool,
    /// True if labels of its series are dropped, renamed or added.
    pub is_rewritten: bool,
    /// Labels added to its series: keys and value codes, by key.
    pub added: Vec<(u32, u32)>,
}

/// Keysets to merge, and the plan of the outputs.
#[derive(Debug)]
pub(crate) struct Adopted {
    /// Keysets in the order of the outputs: by their lists of keys.
    pub keysets: Vec<MergedKeyset>,
    /// Plan of these keysets.
    pub plan: Plan,
    /// Part of the outputs that each dictionary or inner table of an input becomes, by input and table; `None` if the
    /// outputs do not have it.
    pub parts: Vec<Vec<Option<Part>>>,
    /// Version of the planner that made the adopted plan.
    pub planner_version: u32,
}

/// Shared tables by their columns, without maps. Tables of two inputs with the same columns are the same table.
#[derive(Default)]
struct KnownTables {
    numbers: BTreeMap<Vec<Part>, usize>,
    columns: Vec<Vec<Part>>,
    /// Keys of each table, increasing.
    keys: Vec<Vec<u32>>,
}

/// A keyset of an input, with keys as numbers of the vocabulary.
struct InputKeyset {
    /// Keys, increasing.
    keys: Vec<u32>,
    choice: KeysetPlan,
    rows: u32,
    series: u32,
}

/// Plan that the outputs get.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Choice<'p> {
    /// Plain rows in every keyset.
    Plain,
    /// Plan of the largest planned input, and for keysets that it lacks the plan of the next one.
    OfInputs,
    /// A plan of the merged keysets, which have the same order.
    Learned(&'p Plan),
}

/// Finds the keysets of the outputs and their sources, and chooses their plan. `lifted` has the labels that are added
/// to all series of an input: keys and value codes.
pub(crate) fn adopt(
    inputs: &[BlockView<'_>],
    metas: &[OwnedMeta],
    vocabulary: &Vocabulary<'_>,
    changes: &KeyChanges,
    lifted: &[Vec<(u32, u32)>],
    choice: Choice<'_>,
) -> std::result::Result<Adopted, CompactError> {
    let mut known = KnownTables::default();
    let mut parts = Vec::with_capacity(inputs.len());
    for (input, view) in inputs.iter().enumerate() {
        let of_input = input_parts(view, &vocabulary.key_maps[input], &mut known);
        parts.push(of_input.map_err(|source| CompactError::Input { input, source })?);
    }
    let mut plans = (inputs.par_iter().zip(&parts).enumerate())
        .map(|(input, (view, parts))| {
            let keysets = (0..view.keyset_count()).map(|keyset| input_keyset(view, keyset, parts, &known));
            keysets.collect::<Result<_>>().map_err(|source| CompactError::Input { input, source })
        })
        .collect::<std::result::Result<Vec<Vec<InputKeyset>>, CompactError>>()?;
    let keysets = keysets(&mut plans, changes, lifted);

    let order = by_size(inputs)?;
    let chosen = match choice {
        Choice::Plain => keysets.iter().map(plain).collect(),
        Choice::OfInputs => of_inputs(&keysets, &plans, &order, changes, &mut known),
        Choice::Learned(plan) => known.add_plan(plan),
    };
    let (plan, numbers) = in_order(known, chosen);

    let renumbered = |part: Part| match part {
        Part::Key(_) => Some(part),
        Part::Table(table) => numbers[table].map(Part::Table),
    };
    let mut adopted = Adopted {
        keysets,
        parts: parts.iter().map(|parts| parts.iter().map(|&part| renumbered(part)).collect()).collect(),
        planner_version: 0,
        plan,
    };
    for (keyset, choice) in adopted.keysets.iter_mut().zip(&adopted.plan.keysets) {
        for source in keyset.sources.iter_mut().filter(|source| !source.is_rewritten) {
            let own = &plans[source.input][source.keyset as usize].choice;
            let same = |own: Part, chosen: Part| renumbered(own) == Some(chosen);
            source.agrees = own.prefix.len() == choice.prefix.len()
                && own.prefix.iter().zip(&choice.prefix).all(|(&own, &chosen)| same(own, chosen))
                && match (own.list, choice.list) {
                    (Some(own), Some(chosen)) => same(own, chosen),
                    (own, chosen) => own == chosen,
                };
        }
        for source in &keyset.sources {
            let stored = &plans[source.input][source.keyset as usize];
            keyset.rows += u64::from(if source.agrees { stored.rows } else { stored.series });
            keyset.translated += u64::from(if source.agrees { 0 } else { stored.series });
        }
    }
    match (choice, order.first()) {
        (Choice::OfInputs, Some(&first)) => {
            let meta = metas[first].meta().map_err(|source| CompactError::Input { input: first, source })?;
            adopted.planner_version = meta.planner_version();
        }
        (Choice::Learned(_), _) => adopted.planner_version = Layout::Factored.planner_version(),
        _ => {}
    }
    Ok(adopted)
}

fn plain(keyset: &MergedKeyset) -> KeysetPlan {
    KeysetPlan { prefix: keyset.keys.iter().copied().map(Part::Key).collect(), list: None }
}

/// Returns the plan that the first input in `order` has for each keyset, after rewriting.
fn of_inputs(
    keysets: &[MergedKeyset],
    plans: &[Vec<InputKeyset>],
    order: &[usize],
    changes: &KeyChanges,
    known: &mut KnownTables,
) -> Vec<KeysetPlan> {
    let mut ranks = vec![0; order.len()];
    order.iter().enumerate().for_each(|(rank, &input)| ranks[input] = rank);
    let chosen = keysets.iter().map(|keyset| {
        let Some(source) = keyset.sources.iter().min_by_key(|source| ranks[source.input]) else { return plain(keyset) };
        let own = &plans[source.input][source.keyset as usize].choice;
        if source.is_rewritten {
            known.rewritten(own, changes, &source.added, &keyset.keys).unwrap_or_else(|| plain(keyset))
        } else {
            own.clone()
        }
    });
    chosen.collect()
}

/// Returns the inputs in order of preference: planned inputs first, then larger ones. Ties are broken by content, so
/// that the order of arguments does not matter.
fn by_size(inputs: &[BlockView<'_>]) -> std::result::Result<Vec<usize>, CompactError> {
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    let mut sizes = Vec::with_capacity(inputs.len());
    for (input, view) in inputs.iter().enumerate() {
        let at = |source| CompactError::Input { input, source };
        sizes.push((!is_planned(view).map_err(at)?, Reverse(view.series_count().map_err(at)?)));
    }
    order.sort_by_key(|&input| (sizes[input], inputs[input].block_id()));
    Ok(order)
}

/// Returns true if an input was planned, so that there is a plan to adopt.
pub(crate) fn has_plan(inputs: &[BlockView<'_>]) -> std::result::Result<bool, CompactError> {
    for (input, view) in inputs.iter().enumerate() {
        if is_planned(view).map_err(|source| CompactError::Input { input, source })? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_planned(view: &BlockView<'_>) -> Result<bool> {
    let inner = view.table_count() - view.key_count() - view.keyset_count();
    Ok(view.meta()?.planner_version() > 0 || inner > 0 || view.pool_count() > 0)
}

/// Returns the part that each dictionary and inner table becomes.
fn input_parts(view: &BlockView<'_>, keys: &[u32], known: &mut KnownTables) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = keys.iter().copied().map(Part::Key).collect();
    for table in view.key_count()..view.table_count() - view.keyset_count() {
        let table = view.table(TableId(table))?.expect("a table of the input");
        let columns = columns(view, &table, &parts)?.0;
        parts.push(match columns[..] {
            // A map has the rows of its domain.
            [behind] => behind,
            _ => Part::Table(known.number(columns)),
        });
    }
    Ok(parts)
}

fn input_keyset(view: &BlockView<'_>, keyset: u32, parts: &[Part], known: &KnownTables) -> Result<InputKeyset> {
    let keyset = view.keyset(keyset)?.expect("a keyset of the input");
    let (prefix, list) = columns(view, &keyset.table(), parts)?;
    let keys = known.keys_of_all(prefix.iter().chain(&list));
    let (rows, series) = (keyset.table().row_count(), keyset.series_count());
    Ok(InputKeyset { keys, choice: KeysetPlan { prefix, list }, rows, series })
}

/// Returns the parts that the columns of a table refer to, and the part of its list column.
fn columns(view: &BlockView<'_>, table: &Table<'_, '_>, parts: &[Part]) -> Result<(Vec<Part>, Option<Part>)> {
    let (mut columns, mut list) = (Vec::new(), None);
    for column in table.columns() {
        match column?.domain {
            Domain::Table(behind) => columns.push(parts[behind.0 as usize]),
            Domain::Pool(pool) => {
                let pool = view.pool(pool)?.expect("columns refer to pools of their block");
                list = Some(parts[pool.table_id().0 as usize]);
            }
            Domain::Arena => {}
        }
    }
    Ok((columns, list))
}

impl KnownTables {
    fn number(&mut self, columns: Vec<Part>) -> usize {
        let next = self.columns.len();
        let number = *self.numbers.entry(columns.clone()).or_insert(next);
        if number == next {
            self.keys.push(self.keys_of_all(&columns));
            self.columns.push(columns);
        }
        number
    }

    /// Returns the keys of some parts, increasing.
    fn keys_of_all<'p>(&self, parts: impl IntoIterator<Item = &'p Part>) -> Vec<u32> {
        let mut keys = Vec::new();
        for part in parts {
            match part {
                Part::Key(key) => keys.push(*key),
                Part::Table(table) => keys.extend_from_slice(&self.keys[*table]),
            }
        }
        keys.sort_unstable();
        keys
    }

    /// Adds the tables of a plan, and returns the plans of its keysets with their numbers.
    fn add_plan(&mut self, plan: &Plan) -> Vec<KeysetPlan> {
        let mut numbers = Vec::with_capacity(plan.tables.len());
        let placed = |numbers: &[usize], part: Part| match part {
            Part::Table(table) => Part::Table(numbers[table]),
            key => key,
        };
        for table in &plan.tables {
            let columns = table.parts.iter().map(|&part| placed(&numbers, part)).collect();
            numbers.push(self.number(columns));
        }
        let keysets = plan.keysets.iter().map(|keyset| KeysetPlan {
            prefix: keyset.prefix.iter().map(|&part| placed(&numbers, part)).collect(),
            list: keyset.list.map(|part| placed(&numbers, part)),
        });
        keysets.collect()
    }

    /// Returns the plan of a keyset after its keys changed to `keys`; `None` if two columns would get the same key.
    fn rewritten(
        &mut self,
        plan: &KeysetPlan,
        changes: &KeyChanges,
        added: &[(u32, u32)],
        keys: &[u32],
    ) -> Option<KeysetPlan> {
        let mut prefix: Vec<Part> = plan.prefix.iter().filter_map(|&part| self.rewritten_part(part, changes)).collect();
        let mut list = plan.list.and_then(|part| self.rewritten_part(part, changes));
        if let ([Part::Table(table)], None, false) = (&prefix[..], list, added.is_empty()) {
            // The only column of a keyset adds no depth to its table; one of several would.
            prefix = self.columns[*table].clone();
        }
        prefix.extend(added.iter().map(|&(key, _)| Part::Key(key)));
        if prefix.is_empty() {
            // A list needs a prefix.
            prefix.extend(list.take());
        }
        self.sort_by_keys(&mut prefix);
        (self.keys_of_all(prefix.iter().chain(&list)) == keys).then_some(KeysetPlan { prefix, list })
    }

    fn rewritten_part(&mut self, part: Part, changes: &KeyChanges) -> Option<Part> {
        let table = match part {
            Part::Key(key) => return changes.key_after(key).map(Part::Key),
            Part::Table(table) => table,
        };
        let columns = self.columns[table].clone();
        let mut parts: Vec<Part> = columns.into_iter().filter_map(|part| self.rewritten_part(part, changes)).collect();
        self.sort_by_keys(&mut parts);
        match parts[..] {
            [] => None,
            [part] => Some(part),
            _ => Some(Part::Table(self.number(parts))),
        }
    }

    /// Sorts parts by their first keys, the order of columns.
    fn sort_by_keys(&self, parts: &mut [Part]) {
        parts.sort_by_key(|&part| match part {
            Part::Key(key) => Some(key),
            Part::Table(table) => self.keys[table].first().copied(),
        });
    }
}

/// Returns the plan with the tables that these keysets use, in an order that depends on their columns alone, and the
/// new number of each known table.
fn in_order(known: KnownTables, keysets: Vec<KeysetPlan>) -> (Plan, Vec<Option<usize>>) {
    let mut levels: Vec<usize> = Vec::with_capacity(known.columns.len());
    for columns in &known.columns {
        let level = |part: &Part| if let Part::Table(table) = part { levels[*table] } else { 0 };
        // A table refers to tables known before it.
        levels.push(1 + columns.iter().map(level).max().unwrap_or(0));
    }
    let mut numbers: Vec<Option<usize>> = vec![None; known.columns.len()];
    let mut tables: Vec<TablePlan> = Vec::new();
    let used = used_tables(&known.columns, &keysets);
    let placed = |numbers: &[Option<usize>], parts: &[Part]| -> Vec<Part> {
        let part = |&part: &Part| match part {
            Part::Table(table) => Part::Table(numbers[table].unwrap_or_default()),
            key => key,
        };
        parts.iter().map(part).collect()
    };
    for level in 1..=levels.iter().copied().max().unwrap_or(0) {
        let of_level = (0..levels.len()).filter(|&table| levels[table] == level && used[table]);
        let mut of_level: Vec<(usize, Vec<Part>)> =
            of_level.map(|table| (table, placed(&numbers, &known.columns[table]))).collect();
        of_level.sort_by(|(a, a_parts), (b, b_parts)| (&known.keys[*a], a_parts).cmp(&(&known.keys[*b], b_parts)));
        for (table, parts) in of_level {
            numbers[table] = Some(tables.len());
            tables.push(TablePlan { parts });
        }
    }
    let keyset = |keyset: KeysetPlan| KeysetPlan {
        prefix: placed(&numbers, &keyset.prefix),
        list: keyset.list.map(|list| placed(&numbers, &[list])[0]),
    };
    (Plan { tables, keysets: keysets.into_iter().map(keyset).collect() }, numbers)
}

fn used_tables(columns: &[Vec<Part>], keysets: &[KeysetPlan]) -> Vec<bool> {
    let mut used = vec![false; columns.len()];
    let mark = |parts: &[Part], used: &mut Vec<bool>| {
        for part in parts {
            if let Part::Table(table) = part {
                used[*table] = true;
            }
        }
    };
    for keyset in keysets {
        mark(&keyset.prefix, &mut used);
        mark(keyset.list.as_slice(), &mut used);
    }
    for table in (0..columns.len()).rev() {
        if used[table] {
            mark(&columns[table], &mut used);
        }
    }
    used
}

/// Groups the keysets of all inputs by their keys after rewriting. Takes the keys out of `plans`.
fn keysets(plans: &mut [Vec<InputKeyset>], changes: &KeyChanges, lifted: &[Vec<(u32, u32)>]) -> Vec<MergedKeyset> {
    let mut sources: Vec<(Vec<u32>, KeysetSource)> = Vec::new();
    for (input, keysets) in plans.iter_mut().enumerate() {
        for (keyset, own) in (0..).zip(keysets) {
            let (mut keys, is_changed) = changes.keys_after(std::mem::take(&mut own.keys));
            // A series that lost all its labels is dropped: added labels do not keep it.
            let is_new = |(key, _): &&(u32, u32)| !keys.is_empty() && keys.binary_search(key).is_err();
            let added: Vec<(u32, u32)> = lifted[input].iter().filter(is_new).copied().collect();
            keys.extend(added.iter().map(|&(key, _)| key));
            keys.sort_unstable();
            let is_rewritten = is_changed || !added.is_empty();
            sources.push((keys, KeysetSource { input, keyset, agrees: false, is_rewritten, added }));
        }
    }
    // Stable: sources stay in the order of inputs.
    sources.par_sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut merged: Vec<MergedKeyset> = Vec::new();
    for (keys, source) in sources {
        match merged.last_mut() {
            Some(last) if last.keys == keys => last.sources.push(source),
            _ => merged.push(MergedKeyset { keys, sources: vec![source], rows: 0, translated: 0 }),
        }
    }
    merged
}
