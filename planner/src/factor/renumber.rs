//! Maps into their place among the tables, which get new numbers.

use std::collections::BTreeMap;

use super::factored::{Factored, FactoredTable};
use super::map::{Map, Place};
use crate::plan::Part;

/// Inserts maps: those of dictionaries first, then each table followed by its maps. Their users refer to them.
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

/// Where tables are now.
struct Numbers {
    /// By their number before.
    tables: Vec<usize>,
    /// In the order of the maps.
    maps: Vec<usize>,
}

/// Puts maps among the tables. The tables' columns still refer to the numbers before.
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

/// Has all columns, those of maps included, and all pools refer to tables by their new numbers.
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

/// Has a place refer to a map instead of what the map refers to.
fn refer_to_map(factored: &mut Factored, place: Place, map: &Map, number: usize, tables: &[usize]) {
    // Every code of the place is in the map.
    let rank = |code: &mut u32| *code = map.codes.binary_search(code).unwrap_or_default() as u32;
    match place {
        Place::Table(table, column) => {
            let table = &mut factored.tables[tables[table]];
            let width = table.parts.len();
            table.parts[column] = Part::Table(number);
            table.rows.iter_mut().skip(column).step_by(width).for_each(rank);
        }
        Place::Keyset(keyset, column) => {
            let keyset = &mut factored.keysets[keyset];
            let width = keyset.width();
            keyset.parts[column] = Part::Table(number);
            keyset.rows.iter_mut().skip(column).step_by(width).for_each(rank);
        }
        Place::Pool(pool) => {
            let pool = &mut factored.pools[pool];
            pool.part = Part::Table(number);
            pool.lists.iter_mut().flatten().for_each(rank);
        }
    }
}

/// Puts the pools in the order of their tables: that of a dictionary may now be over a map, which comes later than others.
fn sort_pools(factored: &mut Factored) {
    let mut order: Vec<usize> = (0..factored.pools.len()).collect();
    order.sort_by_key(|&pool| factored.pools[pool].part);
    let mut places = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&pool, place)| places[pool] = place);
    factored.pools.sort_by_key(|pool| pool.part);
    factored.keysets.iter_mut().filter_map(|keyset| keyset.pool.as_mut()).for_each(|pool| *pool = places[*pool]);
}
