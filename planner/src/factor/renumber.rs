//! Insertion of maps among the tables, which are renumbered.

use std::collections::BTreeMap;

use super::factored::{Factored, FactoredTable};
use super::lists::Lists;
use super::map::{Map, Place};
use crate::plan::Part;

/// Inserts maps: maps of dictionaries first, then each table followed by its maps. Places refer to the maps afterwards.
pub(super) fn insert(factored: &mut Factored, maps: &[Map]) {
    let numbers = place_tables(factored, maps);
    refer_to_new_numbers(factored, &numbers.tables);
    for (map, &number) in maps.iter().zip(&numbers.maps) {
        for user in &map.users {
            refer_to_map(factored, user.place, map, number, &numbers.tables);
        }
    }
    sort_pools(factored);
}

/// New numbers of tables.
struct Numbers {
    /// New number of each table, by its old number.
    tables: Vec<usize>,
    /// Number of each map, in order of the maps.
    maps: Vec<usize>,
}

/// Inserts maps among the tables. The columns of tables still refer to old numbers.
fn place_tables(factored: &mut Factored, maps: &[Map]) -> Numbers {
    let mut of_part: BTreeMap<Part, Vec<usize>> = BTreeMap::new();
    for (number, map) in maps.iter().enumerate() {
        of_part.entry(map.part).or_default().push(number);
    }
    let before = std::mem::take(&mut factored.tables);
    let mut numbers = Numbers { tables: Vec::with_capacity(before.len()), maps: vec![0; maps.len()] };
    let mut push = |table: FactoredTable| {
        factored.tables.push(table);
        factored.tables.len() - 1
    };
    let of_keys = of_part.iter().filter(|(part, _)| matches!(part, Part::Key(_)));
    for &map in of_keys.flat_map(|(_, maps)| maps) {
        numbers.maps[map] = push(FactoredTable { parts: vec![maps[map].part], rows: maps[map].codes.clone() });
    }
    for (number, table) in before.into_iter().enumerate() {
        numbers.tables.push(push(table));
        for &map in of_part.get(&Part::Table(number)).into_iter().flatten() {
            numbers.maps[map] = push(FactoredTable { parts: vec![maps[map].part], rows: maps[map].codes.clone() });
        }
    }
    numbers
}

/// Renumbers the references of all columns, including those of maps, and of all pools.
fn refer_to_new_numbers(factored: &mut Factored, tables: &[usize]) {
    let of_tables = factored.tables.iter_mut().flat_map(|table| &mut table.parts);
    let of_keysets = factored.keysets.iter_mut().flat_map(|keyset| &mut keyset.parts);
    let of_pools = factored.pools.iter_mut().map(|pool| &mut pool.part);
    for part in of_tables.chain(of_keysets).chain(of_pools) {
        if let Part::Table(table) = part {
            *table = tables[*table];
        }
    }
}

/// Redirects a place to a map.
fn refer_to_map(factored: &mut Factored, place: Place, map: &Map, number: usize, tables: &[usize]) {
    // The map has every code of the place.
    let rank = |code: u32| map.codes.binary_search(&code).unwrap_or_default() as u32;
    let to_rank = |code: &mut u32| *code = rank(*code);
    match place {
        Place::Table(table, column) => {
            let table = &mut factored.tables[tables[table]];
            let width = table.parts.len();
            table.parts[column] = Part::Table(number);
            table.rows.iter_mut().skip(column).step_by(width).for_each(to_rank);
        }
        Place::Keyset(keyset, column) => {
            let keyset = &mut factored.keysets[keyset];
            let width = keyset.width();
            keyset.parts[column] = Part::Table(number);
            keyset.rows.iter_mut().skip(column).step_by(width).for_each(to_rank);
        }
        Place::Pool(pool) => {
            let pool = &mut factored.pools[pool];
            pool.part = Part::Table(number);
            let mut lists = Lists::default();
            for list in pool.lists.iter() {
                lists.push(list.iter().map(rank));
            }
            pool.lists = lists;
        }
    }
}

/// Sorts the pools by their tables: a pool over a dictionary may now be over a map, which comes later.
fn sort_pools(factored: &mut Factored) {
    let mut order: Vec<usize> = (0..factored.pools.len()).collect();
    order.sort_by_key(|&pool| factored.pools[pool].part);
    let mut places = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&pool, place)| places[pool] = place);
    factored.pools.sort_by_key(|pool| pool.part);
    factored.keysets.iter_mut().filter_map(|keyset| keyset.pool.as_mut()).for_each(|pool| *pool = places[*pool]);
}
