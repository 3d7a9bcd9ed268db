//! [`Groups`]: series that have equal values of some labels.

use std::rc::Rc;

use chronoxide_format::view::{BlockView, Domain, Keyset, Label};
use chronoxide_format::{KeyId, SeriesRef};
use hashbrown::{HashMap, HashSet};

use super::Labels;
use super::fold::{Fold, Folding, KeptKeys};
use super::path::{Cursor, Source};
use super::spans::for_each_keyset;
use crate::{Ranges, Searcher, SelectError, Selection};

/// The series of a selection in groups: two series are in one group if the kept labels are equal.
#[derive(Clone, Debug)]
pub struct Groups {
    numbers: Vec<u32>,
    first: Vec<SeriesRef>,
    kept: KeptKeys,
}

impl Groups {
    /// Returns the group of each selected series, in the order of the selection. Groups are numbered from 0 in the
    /// order of their first series.
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
                labels.push(Label {
                    name: view.key_name(ids.key)?.unwrap_or_default(),
                    value: view.symbol(ids.value)?.unwrap_or_default(),
                });
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
    /// read once. No string is touched.
    ///
    /// # Errors
    /// As [`Searcher::project`].
    pub fn group(&self, selection: &Selection, labels: Labels<'_>) -> Result<Groups, SelectError> {
        let kept = labels.keys(self.view)?;
        let mut grouping = Grouping {
            shared_keysets: self.keysets_that_share_keys(&kept),
            folding: Folding::new(self, kept.clone(), Interning::default()),
            numbers: Vec::with_capacity(selection.count() as usize),
            first: Vec::new(),
            by_id: HashMap::new(),
            by_labels: HashMap::new(),
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
}

/// The distinct kept labelsets of a list's members.
struct ListGroups {
    /// For each member, its place among the distinct ones.
    places: Vec<u32>,
    ids: Vec<LabelsetId>,
    /// For each distinct one, the place of its first member.
    first: Vec<u32>,
}

/// What a keyset needs for grouping.
struct KeysetGroups<'data, 'view> {
    keyset: Keyset<'data, 'view>,
    columns: Vec<(chronoxide_format::view::Column, Rc<Vec<LabelsetId>>)>,
    /// Labelsets of the rows that lists refer to, if these have kept labels.
    members: Option<Rc<Vec<LabelsetId>>>,
    /// Where each kept label is; empty if the keyset shares its kept keys with no other, or has at most one of them.
    sources: Vec<(KeyId, Source<'data, 'view>)>,
    /// True if the keyset's labelsets are in no other keyset.
    is_alone: bool,
}

impl<'a, 'data> Grouping<'_, 'a, 'data> {
    /// Appends the groups of some series of a keyset.
    fn add(&mut self, keyset: &Keyset<'data, 'a>, places: &Ranges) -> Result<(), SelectError> {
        let own = self.open(keyset)?;
        let mut cursor = Cursor::new(*keyset)?;
        // Rows whose labelset no other row of the keyset has need no lookup per member.
        let rows = if own.members.is_some() { self.rows_in(&own, &mut cursor, places)? } else { HashMap::new() };
        let mut cursor = Cursor::new(*keyset)?;
        let mut lists: HashMap<u32, ListGroups> = HashMap::new();
        let mut known: HashMap<(LabelsetId, u32), Rc<Vec<u32>>> = HashMap::new();
        for range in places.as_slice() {
            let mut place = range.start;
            while place < range.end && cursor.move_to(place)? {
                let end = range.end.min(cursor.before.saturating_add(cursor.len));
                let id = self.row_id(&own, cursor.row)?;
                match (&own.members, cursor.list) {
                    (Some(members), Some(list)) => {
                        let groups = match lists.get(&list) {
                            Some(groups) => groups,
                            None => lists.entry(list).or_insert(list_groups(&cursor, list, members)?),
                        };
                        let is_whole = place == cursor.before && end - place == cursor.len;
                        let in_list = (place - cursor.before) as usize..(end - cursor.before) as usize;
                        if is_whole && own.is_alone && rows.get(&id) == Some(&1) {
                            let base = self.first.len() as u32;
                            let first = keyset.first().0.saturating_add(place);
                            self.first
                                .extend(groups.first.iter().map(|&member| SeriesRef(first.saturating_add(member))));
                            self.numbers.extend(groups.places.iter().map(|&place| base + place));
                        } else if let Some(numbers) = known.get(&(id, list)).filter(|_| is_whole) {
                            self.numbers.extend_from_slice(numbers);
                        } else {
                            let mut numbers = Vec::with_capacity(in_list.len());
                            let mut found: Vec<Option<u32>> = vec![None; groups.ids.len()];
                            for (&number, member) in groups.places[in_list.clone()].iter().zip(place - cursor.before..)
                            {
                                let number = number as usize;
                                let group = match found[number] {
                                    Some(group) => group,
                                    None => {
                                        let joined = self.folding.fold.join(id, groups.ids[number]);
                                        let series = keyset.first().0.saturating_add(cursor.before + member);
                                        let member = cursor.member(cursor.before + member)?;
                                        self.group_of(&own, joined, cursor.row, member, series)?
                                    }
                                };
                                found[number] = Some(group);
                                numbers.push(group);
                            }
                            self.numbers.extend_from_slice(&numbers);
                            if is_whole {
                                known.insert((id, list), Rc::new(numbers));
                            }
                        }
                    }
                    _ => {
                        let series = keyset.first().0.saturating_add(place);
                        let group = self.group_of(&own, id, cursor.row, 0, series)?;
                        self.numbers.extend(std::iter::repeat_n(group, (end - place) as usize));
                    }
                }
                place = end;
            }
        }
        Ok(())
    }

    fn open(&mut self, keyset: &Keyset<'data, 'a>) -> Result<KeysetGroups<'data, 'a>, SelectError> {
        let searcher = self.folding.searcher;
        let (mut columns, mut members) = (Vec::new(), None);
        for column in keyset.table().columns() {
            let column = column?;
            match column.domain {
                Domain::Table(domain) => {
                    if let Some(rows) = self.folding.rows(domain.0)? {
                        columns.push((column, rows));
                    }
                }
                Domain::Pool(pool) => {
                    if let Some(pool) = searcher.view.pool(pool)? {
                        members = self.folding.rows(pool.table_id().0)?;
                    }
                }
                Domain::Arena => {}
            }
        }
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

    /// Returns the number of the kept labels of a row, without those of its list.
    #[inline]
    fn row_id(&mut self, own: &KeysetGroups<'data, 'a>, row: u32) -> Result<LabelsetId, SelectError> {
        let table = own.keyset.table();
        let mut id = LabelsetId::NONE;
        for (column, rows) in &own.columns {
            let code = table.code(row, column)?.unwrap_or_default();
            let next = rows.get(code as usize).copied().unwrap_or(LabelsetId::NONE);
            id = self.folding.fold.join(id, next);
        }
        Ok(id)
    }

    /// Counts the rows with selected series by the number of their kept labels.
    fn rows_in(
        &mut self,
        own: &KeysetGroups<'data, 'a>,
        cursor: &mut Cursor<'data, 'a>,
        places: &Ranges,
    ) -> Result<HashMap<LabelsetId, u32>, SelectError> {
        let mut rows = HashMap::new();
        let mut last = None;
        for range in places.as_slice() {
            let mut place = range.start;
            while place < range.end && cursor.move_to(place)? {
                if last != Some(cursor.row) {
                    *rows.entry(self.row_id(own, cursor.row)?).or_default() += 1;
                    last = Some(cursor.row);
                }
                place = cursor.before.saturating_add(cursor.len);
            }
        }
        Ok(rows)
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
                    Source::Row(path) => path.code(row)?,
                    Source::Member(path) => path.code(member)?,
                    Source::Absent => None,
                };
                if let Some(code) = code {
                    labels = self.folding.fold.join(labels, LabelsetId::from_label(*key, code));
                }
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

/// Returns the distinct kept labelsets of a list's members.
fn list_groups(cursor: &Cursor<'_, '_>, list: u32, members: &[LabelsetId]) -> Result<ListGroups, SelectError> {
    let mut groups = ListGroups { places: Vec::new(), ids: Vec::new(), first: Vec::new() };
    let Some(list) = cursor.lists().map(|lists| lists.pool.list(list)).transpose()?.flatten() else {
        return Ok(groups);
    };
    let mut known: HashMap<LabelsetId, u32> = HashMap::new();
    for (member, place) in list.members().zip(0..) {
        let id = members.get(member? as usize).copied().unwrap_or(LabelsetId::NONE);
        let next = groups.ids.len() as u32;
        let number = *known.entry(id).or_insert(next);
        if number == next {
            groups.ids.push(id);
            groups.first.push(place);
        }
        groups.places.push(number);
    }
    Ok(groups)
}
