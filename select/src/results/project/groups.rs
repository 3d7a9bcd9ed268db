//! [`Groups`]: series that have equal values of some labels.

use std::iter;
use std::mem;
use std::rc::Rc;

use chronoxide_format::view::{BlockView, Keyset, Label};
use chronoxide_format::{KeyId, SeriesRef};
use hashbrown::{HashMap, HashSet};

use super::Labels;
use super::fold::{Fold, FoldedColumns, Folding, KeptKeys, value_of};
use super::spans::{for_each_keyset, room_for, rows_of};
use crate::rows::lists::Cursor;
use crate::rows::route::Source;
use crate::rows::runs::{Runs, SERIES_PER_READ};
use crate::{Ranges, Searcher, SelectError, Selection};

/// The series of a selection in groups: two series are in one group if the kept labels are equal.
#[derive(Clone, Debug)]
pub struct Groups {
    numbers: Vec<u32>,
    first: Vec<SeriesRef>,
    kept: KeptKeys,
}

impl Groups {
    /// Returns the group of each selected series, in the order of the selection. Refs that are out of range are left
    /// out. Groups are numbered from 0 in the order of their first series.
    #[must_use]
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Returns the number of groups.
    #[must_use]
    pub fn count(&self) -> usize {
        self.first.len()
    }

    /// Returns the first series of each group.
    #[must_use]
    pub fn first_series(&self) -> &[SeriesRef] {
        &self.first
    }

    /// Returns the kept labels of a group, in the order of their names; empty if the group is out of range.
    ///
    /// # Errors
    /// [`SelectError::Block`] if the block is damaged in a byte that was read.
    pub fn labels<'data>(&self, view: &BlockView<'data>, group: usize) -> Result<Vec<Label<'data>>, SelectError> {
        let Some(&first) = self.first.get(group) else { return Ok(Vec::new()) };
        let Some(series) = view.series(first)? else { return Ok(Vec::new()) };
        let mut labels = Vec::new();
        for ids in series.label_ids() {
            let ids = ids?;
            if self.kept.has(ids.key) {
                labels.push(Label { name: view.key_name(ids.key)?, value: view.symbol(ids.value)? });
            }
        }
        Ok(labels)
    }
}

/// Number of a labelset: of a single label its key and code, of several a number for each combination of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LabelsetId(u64);

impl LabelsetId {
    const NONE: Self = Self(u64::MAX);

    fn from_label(key: KeyId, code: u32) -> Self {
        Self((u64::from(key.0) << 32) | u64::from(code))
    }
}

/// Numbers combinations of labelsets.
#[derive(Default)]
struct Interning {
    pairs: HashMap<(LabelsetId, LabelsetId), LabelsetId>,
}

impl Fold for Interning {
    type Value = LabelsetId;

    const EMPTY: LabelsetId = LabelsetId::NONE;

    fn dictionary(&mut self, view: &BlockView<'_>, key: KeyId) -> Result<Vec<LabelsetId>, SelectError> {
        let count = view.cardinality(key)?.unwrap_or(0);
        Ok((0..count).map(|code| LabelsetId::from_label(key, code)).collect())
    }

    #[inline]
    fn join(&mut self, left: LabelsetId, right: LabelsetId) -> LabelsetId {
        match (left, right) {
            (LabelsetId::NONE, id) | (id, LabelsetId::NONE) => id,
            pair => {
                // Keys are below 2^31, since each takes a bit or more of the catalogue.
                let next = LabelsetId((1 << 63) | self.pairs.len() as u64);
                *self.pairs.entry(pair).or_insert(next)
            }
        }
    }
}

impl Searcher<'_, '_> {
    /// Groups selected series by the labels that are kept.
    ///
    /// Works on codes: each row of a table gets the number of its kept labels once, and a list that many rows end in is
    /// read once. No string is touched. Takes 4 bytes of memory per selected series, and some 50 per group.
    ///
    /// # Errors
    /// As [`Searcher::project`].
    pub fn group(&self, selection: &Selection, labels: Labels<'_>) -> Result<Groups, SelectError> {
        let kept = labels.keys(self)?;
        let mut grouping = Grouping {
            shared_keysets: self.keysets_that_share_keys(&kept),
            folding: Folding::new(self, kept.clone(), Interning::default()),
            numbers: room_for(selection)?,
            first: Vec::new(),
            by_id: HashMap::new(),
            by_labels: HashMap::new(),
            members: HashMap::new(),
            row_groups: HashMap::new(),
            runs: Runs::for_selection(self, selection),
        };
        for_each_keyset(self, selection, |keyset, places| grouping.add(keyset, places))?;
        let Grouping { numbers, first, .. } = grouping;
        Ok(Groups { numbers, first, kept })
    }

    /// Returns the keysets that have the same kept keys as another one.
    fn keysets_that_share_keys(&self, kept: &KeptKeys) -> HashSet<u32> {
        // The kept keys of a keyset, as a trie: the node of the keys before, and the next key.
        let mut nodes: HashMap<(u32, u32), u32> = HashMap::new();
        let mut keysets = vec![0_u32; self.view.keyset_count() as usize];
        for key in kept.iter() {
            for (keyset, _) in self.index.keysets_with(key) {
                if let Some(node) = keysets.get_mut(keyset as usize) {
                    let next = nodes.len() as u32 + 1;
                    *node = *nodes.entry((*node, key.0)).or_insert(next);
                }
            }
        }
        let mut counts: HashMap<u32, u32> = HashMap::new();
        for &node in &keysets {
            *counts.entry(node).or_default() += 1;
        }
        (0..)
            .zip(&keysets)
            .filter(|(_, node)| counts.get(*node).is_some_and(|&count| count > 1))
            .map(|(keyset, _)| keyset)
            .collect()
    }
}

struct Grouping<'s, 'a, 'data> {
    folding: Folding<'s, 'a, 'data, Interning>,
    /// Keysets whose series may be in groups of other keysets.
    shared_keysets: HashSet<u32>,
    numbers: Vec<u32>,
    first: Vec<SeriesRef>,
    /// Groups by the number of a labelset. Different numbers can stand for one labelset if keysets combine labels in
    /// different orders.
    by_id: HashMap<LabelsetId, u32>,
    /// Groups by the number of a labelset whose labels were combined in the order of their keys.
    by_labels: HashMap<LabelsetId, u32>,
    /// Kept labels of the members of lists, by the table of the members.
    members: HashMap<u32, Rc<MemberLabels>>,
    /// Groups of the last row that ended in a list, by the table of the members.
    row_groups: HashMap<u32, RowGroups>,
    runs: Runs,
}

/// The kept labelsets of the rows that lists refer to, numbered without gaps.
struct MemberLabels {
    table: u32,
    numbers: Vec<u32>,
    ids: Vec<LabelsetId>,
}

impl MemberLabels {
    fn new(table: u32, rows: &[LabelsetId]) -> Self {
        let mut known: HashMap<LabelsetId, u32> = HashMap::new();
        let mut ids = Vec::new();
        let mut number = |id: &LabelsetId| {
            *known.entry(*id).or_insert_with(|| {
                ids.push(*id);
                ids.len() as u32 - 1
            })
        };
        let numbers = rows.iter().map(&mut number).collect();
        Self { table, numbers, ids }
    }
}

/// Kept labels of a keyset.
struct KeysetGroups<'data, 'view> {
    keyset: Keyset<'data, 'view>,
    columns: FoldedColumns<LabelsetId>,
    /// Labelsets of the members of lists, if these have kept labels.
    members: Option<Rc<MemberLabels>>,
    /// Place of each kept label; empty if the keyset shares its kept keys with no other, or has at most one of them.
    sources: Vec<(KeyId, Source<'data, 'view>)>,
    /// True if the keyset's labelsets are in no other keyset.
    is_alone: bool,
}

/// Groups of the labelsets of members, beside the labelset of one row.
struct RowGroups {
    id: Option<LabelsetId>,
    generation: u32,
    /// Generation and group, by the number of the member's labelset. A group of an older generation is of another row.
    groups: Vec<(u32, u32)>,
}

impl RowGroups {
    /// Forgets all groups, unless they are of this labelset.
    fn begin(&mut self, id: LabelsetId) {
        if self.id != Some(id) {
            self.id = Some(id);
            self.generation += 1;
        }
    }
}

impl<'a, 'data> Grouping<'_, 'a, 'data> {
    /// Appends the groups of some series of a keyset.
    fn add(&mut self, keyset: &Keyset<'data, 'a>, places: &Ranges) -> Result<(), SelectError> {
        let own = self.open(keyset)?;
        let rows = rows_of(keyset, places)?;
        let first_row = rows.start;
        let ids = self.folding.row_values(keyset, &own.columns, rows)?;
        let Some(members) = own.members.clone() else { return self.add_rows(&own, places, &ids, first_row) };

        // A labelset that one row alone has needs no lookup per member.
        let mut row_counts: HashMap<LabelsetId, u32> = HashMap::new();
        if own.is_alone && !own.columns.columns.is_empty() {
            ids.iter().for_each(|id| *row_counts.entry(*id).or_default() += 1);
        }
        // The last row of another keyset may have had the same labels.
        let new_groups = || RowGroups { id: None, generation: 0, groups: vec![(0, 0); members.ids.len()] };
        let mut row_groups = self.row_groups.remove(&members.table).unwrap_or_else(new_groups);
        let mut kept_runs = mem::take(&mut self.runs);
        let mut runs = kept_runs.open(keyset, places.count(), true)?;
        let mut numbers = mem::take(&mut self.numbers);
        for places in places.in_steps(SERIES_PER_READ) {
            let mut series = keyset.first().0.saturating_add(places.start);
            let rows = runs.read(&self.folding.searcher.limits, places)?;
            for (row, read) in rows.zip(runs.members_of_rows()) {
                let id = value_of(&ids, row.wrapping_sub(first_row), keyset.table().id())?;
                row_groups.begin(id);
                let is_new = row_counts.get(&id) == Some(&1);
                for &member in read {
                    let number = value_of(&members.numbers, member, keyset.table().id())? as usize;
                    let Some(slot) = row_groups.groups.get_mut(number) else { continue };
                    if slot.0 != row_groups.generation {
                        let group = if is_new {
                            self.first.push(SeriesRef(series));
                            self.first.len() as u32 - 1
                        } else {
                            let joined = self.folding.fold.join(id, members.ids[number]);
                            self.group_of(&own, joined, row, member, series)?
                        };
                        *slot = (row_groups.generation, group);
                    }
                    numbers.push(slot.1);
                    series = series.saturating_add(1);
                }
            }
        }
        (self.numbers, self.runs) = (numbers, kept_runs);
        self.row_groups.insert(members.table, row_groups);
        Ok(())
    }

    /// Appends the groups of series whose lists, if they have any, have no kept labels.
    fn add_rows(
        &mut self,
        own: &KeysetGroups<'data, 'a>,
        places: &Ranges,
        ids: &[LabelsetId],
        first_row: u32,
    ) -> Result<(), SelectError> {
        let mut cursor = Cursor::new(own.keyset);
        let mut ranges = places.as_slice().iter().cloned().peekable();
        let mut row = first_row;
        // Rows with equal labels are passed together.
        for same in ids.chunk_by(|left, right| left == right) {
            let (Some(&id), len) = (same.first(), same.len() as u32) else { continue };
            let end = cursor.move_to_row(row.saturating_add(len))?;
            let mut group = None;
            while let Some(range) = ranges.peek_mut().filter(|range| range.start < end) {
                let group = match group {
                    Some(group) => group,
                    None => {
                        let series = own.keyset.first().0.saturating_add(range.start);
                        *group.insert(self.group_of(own, id, row, 0, series)?)
                    }
                };
                let selected = range.end.min(end) - range.start;
                self.numbers.extend(iter::repeat_n(group, selected as usize));
                if range.end > end {
                    range.start = end;
                    break;
                }
                ranges.next();
            }
            row = row.saturating_add(len);
        }
        Ok(())
    }

    fn open(&mut self, keyset: &Keyset<'data, 'a>) -> Result<KeysetGroups<'data, 'a>, SelectError> {
        let searcher = self.folding.searcher;
        let columns = self.folding.columns(keyset)?;
        let members = columns.member_table.map(|table| self.members_of(table)).transpose()?.flatten();
        let is_alone = !self.shared_keysets.contains(&keyset.id());
        let mut sources = Vec::new();
        if !is_alone {
            for key in self.folding.kept.iter() {
                match searcher.source(keyset, key)? {
                    Source::Absent => {}
                    source => sources.push((key, source)),
                }
            }
        }
        // A single label has one number only.
        if sources.len() == 1 {
            sources.clear();
        }
        Ok(KeysetGroups { keyset: *keyset, columns, members, sources, is_alone })
    }

    /// Returns the kept labelsets of a table's rows, or `None` if the table has none of the kept keys.
    fn members_of(&mut self, table: u32) -> Result<Option<Rc<MemberLabels>>, SelectError> {
        if let Some(known) = self.members.get(&table) {
            return Ok(Some(Rc::clone(known)));
        }
        let Some(rows) = self.folding.rows(table)? else { return Ok(None) };
        let members = Rc::new(MemberLabels::new(table, &rows));
        self.members.insert(table, Rc::clone(&members));
        Ok(Some(members))
    }

    /// Returns the group of a labelset, whose labels are those of a row and a member.
    #[inline]
    fn group_of(
        &mut self,
        own: &KeysetGroups<'data, 'a>,
        id: LabelsetId,
        row: u32,
        member: u32,
        series: u32,
    ) -> Result<u32, SelectError> {
        if let Some(&group) = self.by_id.get(&id) {
            return Ok(group);
        }
        let next = self.first.len() as u32;
        let group = if own.sources.is_empty() {
            next
        } else {
            let mut labels = LabelsetId::NONE;
            for (key, source) in &own.sources {
                let code = match source {
                    Source::Row(route) => route.code(row)?,
                    Source::Member(route) => route.code(member)?,
                    Source::Absent => continue,
                };
                labels = self.folding.fold.join(labels, LabelsetId::from_label(*key, code));
            }
            *self.by_labels.entry(labels).or_insert(next)
        };
        self.by_id.insert(id, group);
        if group == next {
            self.first.push(SeriesRef(series));
        }
        Ok(group)
    }
}
