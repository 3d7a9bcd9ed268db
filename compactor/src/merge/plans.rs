//! Chooses the plan that the outputs adopt from the plans of the inputs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chronoxide_format::view::{BlockView, OwnedMeta, Table};
use chronoxide_planner::{KeysetPlan, Layout, Part, Plan, TablePlan};
use rayon::prelude::*;

use super::changes::KeyChanges;
use super::inputs::{self, Behind, behind, inner_tables};
use super::label_rows::{AllLabelRows, InputContext};
use super::vocabulary::Vocabulary;
use crate::CompactError;
use crate::error::InInput;

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

/// Merged labels of the inputs, from which keysets and their plans follow.
#[derive(Clone, Copy)]
pub(crate) struct MergedLabels<'a> {
    pub inputs: &'a [BlockView<'a>],
    pub metas: &'a [OwnedMeta],
    pub vocabulary: &'a Vocabulary<'a>,
    pub changes: &'a KeyChanges,
    /// Labels that are added to all series of each input: keys and value codes.
    pub lifted: &'a [Vec<(u32, u32)>],
}

impl<'a> MergedLabels<'a> {
    /// Returns the inputs with this plan.
    pub(crate) fn context<'b>(self, adopted: &'b Adopted, labels: &'b AllLabelRows<'b>) -> InputContext<'b>
    where
        'a: 'b,
    {
        let Self { inputs, vocabulary, changes, .. } = self;
        InputContext { inputs, vocabulary, plan: &adopted.plan, parts: &adopted.parts, changes, labels }
    }

    /// Finds the keysets of the outputs and their sources, and chooses their plan.
    pub(crate) fn adopt(self, choice: Choice<'_>) -> Result<Adopted, CompactError> {
        let Self { inputs, metas, vocabulary, changes, lifted } = self;
        let mut known = KnownTables::default();
        let mut parts = Vec::with_capacity(inputs.len());
        for (input, view) in inputs.iter().enumerate() {
            parts.push(input_parts(view, &vocabulary.key_maps[input], &mut known).in_input(input)?);
        }
        let mut plans = (inputs.par_iter().zip(&parts).enumerate())
            .map(|(input, (view, parts))| {
                let keysets = (0..view.keyset_count()).map(|keyset| input_keyset(view, keyset, parts, &known));
                keysets.collect::<chronoxide_format::Result<_>>().in_input(input)
            })
            .collect::<Result<Vec<Vec<InputKeyset>>, CompactError>>()?;
        let keysets = keysets(&mut plans, changes, lifted);

        let order = by_size(inputs)?;
        let chosen = match choice {
            Choice::Plain => keysets.iter().map(plain).collect(),
            Choice::OfInputs => of_inputs(&keysets, &plans, &order, changes, &mut known),
            Choice::Learned(plan) => known.add_plan(plan),
        };
        let (plan, numbers) = in_order(known, chosen);

        let renumbered = |&part: &Part| match part {
            Part::Key(_) => Some(part),
            Part::Table(table) => numbers[table].map(Part::Table),
        };
        let parts = parts.iter().map(|parts| parts.iter().map(renumbered).collect()).collect();
        let mut adopted = Adopted { keysets, parts, planner_version: 0, plan };
        for (keyset, choice) in adopted.keysets.iter_mut().zip(&adopted.plan.keysets) {
            for source in &mut keyset.sources {
                let stored = &plans[source.input][source.keyset as usize];
                let KeysetPlan { prefix, list } = &stored.choice;
                source.agrees = !source.is_rewritten
                    && prefix.iter().map(renumbered).eq(choice.prefix.iter().copied().map(Some))
                    && list.as_ref().map(renumbered) == choice.list.map(Some);
                keyset.rows += u64::from(if source.agrees { stored.rows } else { stored.series });
                keyset.translated += u64::from(if source.agrees { 0 } else { stored.series });
            }
        }
        match (choice, order.first()) {
            (Choice::OfInputs, Some(&first)) => {
                adopted.planner_version = metas[first].meta().in_input(first)?.planner_version();
            }
            (Choice::Learned(_), _) => adopted.planner_version = Layout::Factored.planner_version(),
            _ => {}
        }
        Ok(adopted)
    }
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
fn by_size(inputs: &[BlockView<'_>]) -> Result<Vec<usize>, CompactError> {
    let mut sizes = Vec::with_capacity(inputs.len());
    for (input, view) in inputs.iter().enumerate() {
        let size = Reverse(view.series_count().in_input(input)?);
        sizes.push((!is_planned(view).in_input(input)?, size, view.block_id(), input));
    }
    sizes.sort_unstable();
    Ok(sizes.into_iter().map(|(.., input)| input).collect())
}

/// Returns true if an input was planned, so that there is a plan to adopt.
pub(crate) fn has_plan(inputs: &[BlockView<'_>]) -> Result<bool, CompactError> {
    for (input, view) in inputs.iter().enumerate() {
        if is_planned(view).in_input(input)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_planned(view: &BlockView<'_>) -> chronoxide_format::Result<bool> {
    Ok(view.meta()?.planner_version() > 0 || !inner_tables(view).is_empty() || view.pool_count() > 0)
}

/// Returns the part that each dictionary and inner table becomes.
fn input_parts(view: &BlockView<'_>, keys: &[u32], known: &mut KnownTables) -> chronoxide_format::Result<Vec<Part>> {
    let mut parts: Vec<Part> = keys.iter().copied().map(Part::Key).collect();
    for table in inner_tables(view) {
        let columns = columns(view, &inputs::table(view, table)?, &parts)?.prefix;
        parts.push(match columns[..] {
            // A map has the rows of its domain.
            [behind] => behind,
            _ => Part::Table(known.number(columns)),
        });
    }
    Ok(parts)
}

fn input_keyset(
    view: &BlockView<'_>,
    keyset: u32,
    parts: &[Part],
    known: &KnownTables,
) -> chronoxide_format::Result<InputKeyset> {
    let keyset = inputs::keyset(view, keyset)?;
    let choice = columns(view, &keyset.table(), parts)?;
    let keys = known.keys_of_all(choice.prefix.iter().chain(&choice.list));
    Ok(InputKeyset { keys, choice, rows: keyset.table().row_count(), series: keyset.series_count() })
}

/// Returns the parts that the columns of a table refer to, and the part of its list column.
fn columns(view: &BlockView<'_>, table: &Table<'_, '_>, parts: &[Part]) -> chronoxide_format::Result<KeysetPlan> {
    let mut columns = KeysetPlan::default();
    for Behind { table, pool } in behind(view, table)? {
        let part = parts[table.0 as usize];
        if pool.is_some() { columns.list = Some(part) } else { columns.prefix.push(part) }
    }
    Ok(columns)
}

/// Returns parts with other numbers of tables.
fn renumbered(parts: &[Part], number: impl Fn(usize) -> usize) -> Vec<Part> {
    let part = |&part: &Part| if let Part::Table(table) = part { Part::Table(number(table)) } else { part };
    parts.iter().map(part).collect()
}

/// Returns the plan of a keyset with other numbers of tables.
fn renumbered_keyset(keyset: &KeysetPlan, number: impl Fn(usize) -> usize) -> KeysetPlan {
    let list = renumbered(keyset.list.as_slice(), &number).pop();
    KeysetPlan { prefix: renumbered(&keyset.prefix, number), list }
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
        for table in &plan.tables {
            numbers.push(self.number(renumbered(&table.parts, |table| numbers[table])));
        }
        plan.keysets.iter().map(|keyset| renumbered_keyset(keyset, |table| numbers[table])).collect()
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
    let number = |numbers: &[Option<usize>], table: usize| numbers[table].unwrap_or_default();
    for level in 1..=levels.iter().copied().max().unwrap_or(0) {
        let of_level = (0..levels.len()).filter(|&table| levels[table] == level && used[table]);
        let placed = |table: usize| (table, renumbered(&known.columns[table], |table| number(&numbers, table)));
        let mut of_level: Vec<(usize, Vec<Part>)> = of_level.map(placed).collect();
        of_level.sort_by(|(a, a_parts), (b, b_parts)| (&known.keys[*a], a_parts).cmp(&(&known.keys[*b], b_parts)));
        for (table, parts) in of_level {
            numbers[table] = Some(tables.len());
            tables.push(TablePlan { parts });
        }
    }
    let keysets = keysets.iter().map(|keyset| renumbered_keyset(keyset, |table| number(&numbers, table)));
    (Plan { tables, keysets: keysets.collect() }, numbers)
}

fn used_tables(columns: &[Vec<Part>], keysets: &[KeysetPlan]) -> Vec<bool> {
    let mut used = vec![false; columns.len()];
    let mut waiting: Vec<Part> =
        keysets.iter().flat_map(|keyset| keyset.prefix.iter().chain(&keyset.list)).copied().collect();
    while let Some(part) = waiting.pop() {
        if let Part::Table(table) = part
            && !std::mem::replace(&mut used[table], true)
        {
            waiting.extend(&columns[table]);
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
