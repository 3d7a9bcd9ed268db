//! From labels to a series ref (spec, sections 9 and 12): up from symbols to dictionaries, tables, prefix and member, by
//! binary search.

use std::cmp::Ordering;

use super::series::compare_keys;
use super::symbol::binary_search;
use super::{BlockView, Domain, Keyset, Table};
use crate::error::{Place, corrupt};
use crate::layout::{MAX_COLUMNS, MAX_DEPTH, MAX_WIDE};
use crate::number::{index, length};
use crate::{Error, KeyId, Result, Rule, SeriesRef};

/// Why a labelset cannot be looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// Two labels have the same name.
    #[error("two of the labels have the same name")]
    DuplicateName,
    /// The block is damaged where it was touched.
    #[error(transparent)]
    Block(#[from] Error),
}

/// A label to look for: its key and the place of its value in the key's dictionary.
type Wanted = (KeyId, u32);

/// The codes of a table's columns, for as many as it has.
type Codes = [u32; MAX_WIDE];

impl<'a> BlockView<'a> {
    /// The series with exactly these labels, if the block has it. The block's label policy is applied to names and values,
    /// and empty values count as absent. Labels may come in any order; sorted ones are found faster.
    ///
    /// Costs one binary search per label in its key's dictionary, one over the keysets and one over the keyset's rows; nothing
    /// is allocated unless a name or value is longer than the policy allows.
    ///
    /// # Errors
    /// Two labels of one name, if the block knows that name, and damage to what was touched.
    pub fn find<N: AsRef<str>, V: AsRef<str>>(
        &self,
        labels: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Option<SeriesRef>, FindError> {
        let policy = self.meta()?.policy();
        let mut wanted: [Wanted; MAX_WIDE] = [(KeyId(0), 0); MAX_WIDE];
        let mut count = 0_usize;
        // A name or value that the block does not know decides the answer, but a name that it knows and that comes twice is still an error.
        let mut unknown = false;
        let mut key_hint = 0;
        for (name, value) in labels {
            if value.as_ref().is_empty() {
                continue;
            }
            let Some(key) = self.key_from(policy.name(name.as_ref()).as_bytes(), key_hint)? else {
                unknown = true;
                continue;
            };
            key_hint = key.0 + 1;
            let code = self.value_code(key, policy.value(value.as_ref()).as_bytes())?;
            unknown |= code.is_none();
            // Kept without its code: the name may come again.
            let code = code.unwrap_or(u32::MAX);
            match wanted.get_mut(count) {
                Some(slot) => *slot = (key, code),
                None => return Ok(None),
            }
            count += 1;
        }
        let wanted = wanted.get_mut(..count).unwrap_or_default();
        wanted.sort_unstable();
        if wanted.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b)) {
            return Err(FindError::DuplicateName);
        }
        if unknown || wanted.is_empty() {
            return Ok(None);
        }
        Ok(self.find_sorted(wanted)?)
    }

    fn find_sorted(&self, wanted: &[Wanted]) -> Result<Option<SeriesRef>> {
        let keys = || wanted.iter().map(|&(key, _)| key);
        let Ok(keyset) = binary_search(self.keyset_count(), |keyset| compare_keys(&self.keyset(keyset)?, keys()))?
        else {
            return Ok(None);
        };
        let keyset = self.keyset(keyset)?;
        let Some(row) = find_row(&keyset.table(), wanted, MAX_DEPTH + 2)? else {
            return Ok(None);
        };
        let in_list = match keyset.list(row)? {
            None => 0,
            Some(list) => {
                let Some(member) = find_member(&keyset, wanted)? else {
                    return Ok(None);
                };
                match list.position(member)? {
                    Some(place) => place,
                    None => return Ok(None),
                }
            }
        };
        let place = u64::from(keyset.first().0) + u64::from(keyset.series_before(row)?) + u64::from(in_list);
        Ok(u32::try_from(place).ok().map(SeriesRef))
    }
}

/// The row of the pool's table that has the wanted labels.
fn find_member(keyset: &Keyset<'_>, wanted: &[Wanted]) -> Result<Option<u32>> {
    match keyset.pool() {
        Some(pool) => find_row(&pool.table()?, wanted, MAX_DEPTH),
        None => Ok(None),
    }
}

/// The row of `table` that has the wanted labels, as far as the table has their keys.
///
/// Recursion goes down the levels of depth only; `depth` bounds it whatever the bytes say.
fn find_row(table: &Table<'_>, wanted: &[Wanted], depth: u32) -> Result<Option<u32>> {
    if table.is_dictionary() {
        let found = wanted.binary_search_by_key(&table.id().0, |&(key, _)| key.0);
        return Ok(found.ok().and_then(|place| wanted.get(place)).map(|&(_, code)| code));
    }
    let Some(below) = depth.checked_sub(1) else {
        return Err(corrupt(Rule::TableDepth, Place::Table(table.id().0.into()), MAX_DEPTH.into(), MAX_DEPTH.into()));
    };
    let mut codes: Codes = [0; MAX_WIDE];
    let mut known = 0;
    for (number, slot) in (0..table.column_count()).zip(&mut codes) {
        let column = table.column(number)?;
        if matches!(column.domain, Domain::Pool(_)) {
            break;
        }
        let Some(behind) = table.behind(column.domain)? else {
            return Ok(None);
        };
        // A map does not add to the depth, but it is one more step.
        let steps = if table.is_map() { depth } else { below };
        let code =
            if behind.is_map() { find_mapped(&behind, wanted, steps)? } else { find_row(&behind, wanted, below)? };
        match code {
            Some(code) => *slot = code,
            None => return Ok(None),
        }
        known = number + 1;
    }
    let codes = codes.get(..index(known)).unwrap_or_default();
    Ok(binary_search(table.row_count(), |row| compare_row(table, row, codes))?.ok())
}

/// The row of a map that has the wanted labels.
fn find_mapped(map: &Table<'_>, wanted: &[Wanted], depth: u32) -> Result<Option<u32>> {
    let column = map.column(0)?;
    let code = match map.behind(column.domain)? {
        Some(behind) if !behind.is_map() => find_row(&behind, wanted, depth.saturating_sub(1))?,
        _ => None,
    };
    let Some(code) = code else {
        return Ok(None);
    };
    Ok(binary_search(map.row_count(), |row| Ok(map.code(row, &column)?.cmp(&code)))?.ok())
}

/// Compares the first columns of a row with `codes`.
fn compare_row(table: &Table<'_>, row: u32, codes: &[u32]) -> Result<Ordering> {
    for (number, code) in (0..).zip(codes) {
        match table.code_at(row, number)?.cmp(code) {
            Ordering::Equal => {}
            unequal => return Ok(unequal),
        }
    }
    debug_assert!(length(codes.len()) <= u64::from(MAX_COLUMNS));
    Ok(Ordering::Equal)
}
