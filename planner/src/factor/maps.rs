//! Maps: tables of one column, through which columns refer to few of many rows by smaller codes.

use std::collections::BTreeMap;

use super::tables::{Factored, FactoredTable};
use crate::plan::Part;

/// What the records of a map take, about, in bits.
const MAP_BITS: u64 = 72;

/// A place that refers to a table or a dictionary by codes.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Column of a shared table.
    Table(usize, usize),
    /// Column of a keyset's table.
    Keyset(usize, usize),
    /// The members of a pool.
    Pool(usize),
}

/// Adds maps where they save bits: one for each set of codes that some columns use, if these together save more than it takes.
///
/// Tables get new numbers: a map stands before what refers to it.
pub(crate) fn add_maps(factored: &mut Factored, row_counts: impl Fn(Part) -> usize) {
    let mut users: BTreeMap<(Part, Vec<u32>), Vec<(Place, u64)>> = BTreeMap::new();
    let mut offer = |place: Place, part: Part, codes: &mut Vec<u32>, direct: Option<u32>| {
        let uses = codes.len() as u64;
        codes.sort_unstable();
        codes.dedup();
        let (Some(least), Some(most)) = (codes.first(), codes.last()) else { return };
        let direct = direct.unwrap_or_else(|| width(most - least));
        let mapped = width(codes.len() as u32 - 1);
        if mapped < direct && codes.len() < row_counts(part) {
            let gain = uses * u64::from(direct - mapped);
            users.entry((part, std::mem::take(codes))).or_default().push((place, gain));
        }
    };
    let mut codes = Vec::new();
    let mut column = |parts: usize, rows: &[u32], number: usize| {
        codes.clear();
        codes.extend(rows.iter().skip(number).step_by(parts));
        std::mem::take(&mut codes)
    };
    for (table, inner) in factored.tables.iter().enumerate() {
        for (number, &part) in inner.parts.iter().enumerate() {
            offer(Place::Table(table, number), part, &mut column(inner.parts.len(), &inner.rows, number), None);
        }
    }
    for (keyset, own) in factored.keysets.iter().enumerate() {
        for (number, &part) in own.parts.iter().enumerate() {
            offer(Place::Keyset(keyset, number), part, &mut column(own.width(), &own.rows, number), None);
        }
    }
    for (number, pool) in factored.pools.iter().enumerate() {
        let direct = width(row_counts(pool.part) as u32 - 1);
        offer(Place::Pool(number), pool.part, &mut pool.lists.concat(), Some(direct));
    }
    let chosen: Vec<((Part, Vec<u32>), Vec<(Place, u64)>)> = users
        .into_iter()
        .filter(|((_, codes), places)| {
            let span = width(codes[codes.len() - 1] - codes[0]);
            // A map in a shared table is one step more for each label, so that it has to save much.
            let worth = |&(place, gain): &(Place, u64)| if let Place::Table(..) = place { gain / 8 } else { gain };
            let gain: u64 = places.iter().map(worth).sum();
            gain > codes.len() as u64 * u64::from(span) + MAP_BITS
        })
        .collect();
    insert(factored, chosen);
}

/// Inserts maps: those of dictionaries first, then each table followed by its maps.
fn insert(factored: &mut Factored, chosen: Vec<((Part, Vec<u32>), Vec<(Place, u64)>)>) {
    let tables = std::mem::take(&mut factored.tables);
    let mut numbers = vec![0; tables.len()];
    let mut maps = Vec::with_capacity(chosen.len());
    let push = |factored: &mut Factored, parts: Vec<Part>, rows: Vec<u32>| {
        factored.tables.push(FactoredTable { parts, rows });
        factored.tables.len() - 1
    };
    let mut of_part: BTreeMap<Part, Vec<usize>> = BTreeMap::new();
    for (number, ((part, _), _)) in chosen.iter().enumerate() {
        of_part.entry(*part).or_default().push(number);
        maps.push(0);
    }
    for (number, ((part, codes), _)) in chosen.iter().enumerate() {
        if let Part::Key(_) = part {
            maps[number] = push(factored, vec![*part], codes.clone());
        }
    }
    for (number, table) in tables.into_iter().enumerate() {
        numbers[number] = push(factored, table.parts, table.rows);
        for &map in of_part.get(&Part::Table(number)).into_iter().flatten() {
            maps[map] = push(factored, vec![Part::Table(numbers[number])], chosen[map].0.1.clone());
        }
    }
    let moved = |part: &mut Part| {
        if let Part::Table(table) = part {
            *table = numbers[*table];
        }
    };
    for &table in &numbers {
        factored.tables[table].parts.iter_mut().for_each(moved);
    }
    factored.keysets.iter_mut().flat_map(|keyset| &mut keyset.parts).for_each(moved);
    factored.pools.iter_mut().for_each(|pool| moved(&mut pool.part));
    for (((_, codes), places), map) in chosen.iter().zip(maps) {
        let ranked = |code: &mut u32| *code = codes.binary_search(code).unwrap_or_default() as u32;
        for &(place, _) in places {
            match place {
                Place::Table(table, number) => {
                    let table = &mut factored.tables[numbers[table]];
                    let width = table.parts.len();
                    table.parts[number] = Part::Table(map);
                    table.rows.iter_mut().skip(number).step_by(width).for_each(ranked);
                }
                Place::Keyset(keyset, number) => {
                    let keyset = &mut factored.keysets[keyset];
                    let width = keyset.width();
                    keyset.parts[number] = Part::Table(map);
                    keyset.rows.iter_mut().skip(number).step_by(width).for_each(ranked);
                }
                Place::Pool(pool) => {
                    let pool = &mut factored.pools[pool];
                    pool.part = Part::Table(map);
                    pool.lists.iter_mut().flatten().for_each(ranked);
                }
            }
        }
    }
    // Pools stand in the order of their tables, and a map's number is another than that of its table.
    let mut order: Vec<usize> = (0..factored.pools.len()).collect();
    order.sort_by_key(|&pool| factored.pools[pool].part);
    let mut places = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&pool, place)| places[pool] = place);
    factored.pools.sort_by_key(|pool| pool.part);
    factored.keysets.iter_mut().filter_map(|keyset| keyset.pool.as_mut()).for_each(|pool| *pool = places[*pool]);
}

fn width(span: u32) -> u32 {
    u32::BITS - span.leading_zeros()
}
