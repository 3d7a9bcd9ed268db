//! Selection of maps: tables of one column, through which columns refer to few of many rows by smaller codes.
//!
//! A keyset that uses 30 of 50,000 values needs codes of 16 bits, or codes of 5 bits and a map with 30 values. Columns
//! that use the same rows share a map. This module selects maps; `renumber` inserts them.

use std::collections::BTreeMap;

use super::factored::Factored;
use super::lists::Lists;
use super::map::{Map, Place, User, bits};
use super::renumber::insert;
use crate::content::Content;
use crate::plan::Part;

/// Codes of a column of a keyset's table, for callers that keep the rows elsewhere.
#[derive(Debug, Clone)]
pub struct ColumnCodes {
    /// Number of the keyset in the block.
    pub keyset: usize,
    /// Number of the column.
    pub column: usize,
    /// Distinct codes in increasing order.
    pub codes: Vec<u32>,
    /// Number of rows.
    pub uses: u64,
}

impl ColumnCodes {
    /// Returns true if the column would need fewer bits through a map, where `row_count` is the number of rows of its
    /// table or dictionary. Other columns can be omitted from [`Factored::add_maps`].
    #[must_use]
    pub fn may_gain(&self, row_count: u64) -> bool {
        user(Place::Keyset(self.keyset, self.column), &self.codes, self.uses, row_count).is_some()
    }
}

impl Factored {
    /// Adds maps where they save bits: one for each set of codes that several places use, if it saves more than it
    /// takes. `value_counts` is the number of values of each key.
    ///
    /// Columns of keysets that are not in `keyset_columns` are not changed. Tables are renumbered: a map comes before
    /// the tables that refer to it.
    pub fn add_maps(&mut self, value_counts: &[u32], keyset_columns: impl IntoIterator<Item = ColumnCodes>) {
        let mut users: BTreeMap<(Part, Vec<u32>), Vec<User>> = BTreeMap::new();
        let mut add = |place, part, codes: Vec<u32>, uses| {
            if let Some(user) = user(place, &codes, uses, self.row_count(part, value_counts)) {
                users.entry((part, codes)).or_default().push(user);
            }
        };
        for (place, part) in inner_places(self) {
            let (codes, uses) = match place {
                Place::Pool(pool) => distinct_members(&self.pools[pool].lists, self.row_count(part, value_counts)),
                _ => distinct(codes_at(self, place)),
            };
            add(place, part, codes, uses);
        }
        for ColumnCodes { keyset, column, codes, uses } in keyset_columns {
            add(Place::Keyset(keyset, column), self.keysets[keyset].parts[column], codes, uses);
        }
        let maps = users.into_iter().map(|((part, codes), users)| Map { part, codes, users }).filter(Map::pays);
        insert(self, &maps.collect::<Vec<_>>());
    }

    /// Adds maps for keysets whose rows are in memory.
    pub(super) fn add_maps_for_all(&mut self, content: &Content) {
        let column = |keyset: usize, column: usize| {
            let (codes, uses) = distinct(codes_at(self, Place::Keyset(keyset, column)));
            ColumnCodes { keyset, column, codes, uses }
        };
        let keysets = self.keysets.iter().enumerate();
        let columns = keysets.flat_map(|(number, keyset)| (0..keyset.parts.len()).map(move |column| (number, column)));
        // Few columns are worth a map: the codes of the others are not kept.
        let is_worth = |codes: &ColumnCodes| {
            let part = self.keysets[codes.keyset].parts[codes.column];
            codes.may_gain(self.row_count(part, &content.value_counts))
        };
        let keyset_columns: Vec<ColumnCodes> =
            columns.map(|(keyset, number)| column(keyset, number)).filter(is_worth).collect();
        self.add_maps(&content.value_counts, keyset_columns);
    }
}

/// Returns the place with its gain, if it needs fewer bits through a map.
fn user(place: Place, codes: &[u32], uses: u64, row_count: u64) -> Option<User> {
    let (least, most) = (codes.first()?, codes.last()?);
    // Fields of columns start at their smallest code; members of lists start at 0.
    let direct = if let Place::Pool(_) = place { bits(row_count as u32 - 1) } else { bits(most - least) };
    let mapped = bits(codes.len() as u32 - 1);
    (mapped < direct && (codes.len() as u64) < row_count).then(|| User { place, gain: uses * (direct - mapped) })
}

/// Returns the distinct codes in increasing order, and the number of all codes.
fn distinct(mut codes: Vec<u32>) -> (Vec<u32>, u64) {
    let uses = codes.len() as u64;
    codes.sort_unstable();
    codes.dedup();
    (codes, uses)
}

/// Returns the distinct members of lists in increasing order, and the number of all members. A pool can have many times
/// more members than its table has rows.
fn distinct_members(lists: &Lists, row_count: u64) -> (Vec<u32>, u64) {
    let mut is_member = vec![false; row_count as usize];
    lists.iter().flat_map(|list| list.iter()).for_each(|member| is_member[member as usize] = true);
    let members = (0..).zip(is_member).filter_map(|(member, is_member)| is_member.then_some(member));
    (members.collect(), lists.code_count())
}

/// Returns all places except columns of keysets, with the parts to which they refer.
fn inner_places(factored: &Factored) -> Vec<(Place, Part)> {
    let mut places = Vec::new();
    for (number, table) in factored.tables.iter().enumerate() {
        places.extend((0..).zip(&table.parts).map(|(column, &part)| (Place::Table(number, column), part)));
    }
    places.extend((0..).zip(&factored.pools).map(|(number, pool)| (Place::Pool(number), pool.part)));
    places
}

/// Returns the codes of a place, with repetitions.
fn codes_at(factored: &Factored, place: Place) -> Vec<u32> {
    let column = |rows: &[u32], column: usize, width: usize| rows.iter().copied().skip(column).step_by(width).collect();
    match place {
        Place::Table(table, number) => {
            let table = &factored.tables[table];
            column(&table.rows, number, table.parts.len())
        }
        Place::Keyset(keyset, number) => {
            let keyset = &factored.keysets[keyset];
            column(&keyset.rows, number, keyset.width())
        }
        Place::Pool(pool) => factored.pools[pool].lists.iter().flat_map(|list| list.iter()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::KeysetRows;
    use crate::factor::{FactoredKeyset, FactoredPool, FactoredTable};

    /// Returns content with one key of 1,000 values and one of 2, and keysets with these columns of the first key.
    fn content(columns: &[Vec<u32>]) -> (Content, Factored) {
        let rows = |column: &Vec<u32>| KeysetRows { keys: vec![0], rows: column.clone() };
        let keysets = columns.iter().map(rows).collect();
        let content = Content { value_counts: vec![1000, 2], origins: Vec::new(), keysets };
        let factored = Factored::plain(&content);
        (content, factored)
    }

    fn every_fortieth() -> Vec<u32> {
        (0..25).map(|number| number * 40).collect()
    }

    #[test]
    fn columns_that_have_the_same_of_many_values_share_a_map() {
        // 25 codes of 10 bits in the map, about 9 bytes of records, and 5 bits saved per row: one column does not pay,
        // six do.
        for columns in [1, 3, 6] {
            let (content, mut factored) = content(&vec![every_fortieth(); columns]);
            let before = factored.clone();
            factored.add_maps_for_all(&content);
            if columns * 25 * 5 <= 25 * 10 + 72 {
                assert_eq!(factored, before);
                continue;
            }
            let map = FactoredTable { parts: vec![Part::Key(0)], rows: every_fortieth() };
            assert_eq!(factored.tables, [map]);
            for keyset in &factored.keysets {
                assert_eq!((&keyset.parts, &keyset.rows), (&vec![Part::Table(0)], &(0..25).collect()));
            }
        }
    }

    #[test]
    fn maps_stand_before_what_refers_to_them_and_pools_follow_their_tables() {
        // Two tables of 2,000 rows. Keysets use four of each, and lists 40 of the first.
        let rows: Vec<u32> = (0..2000).flat_map(|code| [code / 2, code % 2]).collect();
        let table = FactoredTable { parts: vec![Part::Key(0), Part::Key(1)], rows };
        let rows: Vec<u32> = (0..200).flat_map(|number| [number % 4 * 500, 0]).collect();
        let keyset = |part: usize, pool: usize| FactoredKeyset {
            parts: vec![Part::Table(part)],
            pool: Some(pool),
            rows: rows.clone(),
            order: Vec::new(),
        };
        let lists = (0..400).map(|number| vec![number / 20, 1000 + number % 20]).collect();
        let whole = (0..2000).map(|number| vec![number]).collect();
        let mut factored = Factored {
            tables: vec![table.clone(), table],
            pools: vec![
                FactoredPool { part: Part::Table(0), lists },
                FactoredPool { part: Part::Table(1), lists: whole },
            ],
            keysets: vec![keyset(0, 0), keyset(1, 1)],
        };
        factored.add_maps_for_all(&Content { value_counts: vec![1000, 2], ..Content::default() });

        let parts: Vec<Vec<Part>> = factored.tables.iter().map(|table| table.parts.clone()).collect();
        let shared = vec![Part::Key(0), Part::Key(1)];
        let (first, second) = (vec![Part::Table(0)], vec![Part::Table(3)]);
        assert_eq!(parts, [shared.clone(), first.clone(), first, shared, second]);
        assert_eq!(factored.tables[1].rows, (0..20).chain(1000..1020).collect::<Vec<_>>());
        assert_eq!([&factored.tables[2].rows, &factored.tables[4].rows], [&[0, 500, 1000, 1500]; 2]);
        assert_eq!(factored.pools.iter().map(|pool| pool.part).collect::<Vec<_>>(), [Part::Table(1), Part::Table(3)]);
        assert_eq!(factored.pools[0].lists.list(399).iter().collect::<Vec<u32>>(), [19, 39]);
        for (keyset, map) in factored.keysets.iter().zip([2, 4]) {
            assert_eq!((keyset.parts[0], &keyset.rows[..8]), (Part::Table(map), &[0, 0, 1, 0, 2, 0, 3, 0][..]));
        }
    }

    #[test]
    fn pools_change_places_when_a_map_comes_after_the_next_ones_table() {
        // Lists over a few values of the first key, in a map; lists over the second key are not changed.
        let lists = (0..100).map(|number| vec![number / 10 * 10, 900 + number % 10]).collect();
        let pools = vec![
            FactoredPool { part: Part::Key(0), lists },
            FactoredPool { part: Part::Key(1), lists: [[0, 1]].into_iter().collect() },
        ];
        let keyset = |pool: usize| FactoredKeyset { pool: Some(pool), ..FactoredKeyset::default() };
        let mut factored = Factored { tables: Vec::new(), pools, keysets: vec![keyset(0), keyset(1)] };
        factored.add_maps_for_all(&Content { value_counts: vec![1000, 2], ..Content::default() });
        assert_eq!(factored.tables.len(), 1);
        assert_eq!(factored.pools.iter().map(|pool| pool.part).collect::<Vec<_>>(), [Part::Key(1), Part::Table(0)]);
        assert_eq!(factored.keysets.iter().map(|keyset| keyset.pool).collect::<Vec<_>>(), [Some(1), Some(0)]);
    }
}
