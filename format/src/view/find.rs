//! Search for the series with given labels (spec, sections 9 and 12): binary searches from symbols to dictionaries,
//! tables, prefix and list member.

use std::cell::Cell;
use std::cmp::Ordering;

use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::{MAX_DEPTH, MAX_LABELS, MAX_WIDE};
use crate::number::index;
use crate::view::catalogue::{BlockView, Column, Domain, Keyset, Table, binary_search};
use crate::view::labels::compare_keys;
use crate::{Error, KeyId, Result, Rule, SeriesRef};

/// Reason why a search for a labelset failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// Two labels have the same name.
    #[error("two labels have the same name")]
    DuplicateName,
    /// The block is damaged in a byte that was read.
    #[error(transparent)]
    Block(#[from] Error),
}

/// A wanted label: its key and its value.
type Wanted<T> = (KeyId, T);

/// The wanted value of a column.
#[derive(Clone, Copy, Debug)]
enum Value<'w> {
    /// Code of the column.
    Code(u32),
    /// Bytes of a value of the key, which is the domain of the column.
    Bytes(KeyId, &'w [u8]),
}

/// The wanted labels of a series, by key.
trait WantedLabels: Copy {
    /// Returns the wanted value of a key, or `None` if it is not wanted.
    fn get(&self, key: KeyId) -> Option<Value<'_>>;
}

impl WantedLabels for &[Wanted<u32>] {
    fn get(&self, key: KeyId) -> Option<Value<'_>> {
        let found = self.binary_search_by_key(&key, |&(key, _)| key).ok();
        found.and_then(|at| <[_]>::get(self, at)).map(|&(_, code)| Value::Code(code))
    }
}

impl WantedLabels for &[Wanted<&[u8]>] {
    fn get(&self, key: KeyId) -> Option<Value<'_>> {
        let found = self.binary_search_by_key(&key, |&(key, _)| key).ok();
        found.and_then(|at| <[_]>::get(self, at)).map(|&(key, value)| Value::Bytes(key, value))
    }
}

impl Value<'_> {
    /// Returns the order of a column's code relative to the wanted value.
    #[inline]
    fn compare(&self, view: &BlockView<'_>, code: u32) -> Result<Ordering> {
        match *self {
            Value::Code(wanted) => Ok(code.cmp(&wanted)),
            Value::Bytes(key, wanted) => Ok(view.value_in(&view.dictionary_entry(key)?, code)?.cmp(wanted)),
        }
    }
}

/// Maximum steps from the table of a keyset or pool to a dictionary.
const MAX_STEPS: u32 = MAX_DEPTH;

/// Maximum number of columns that lead to the labels of a series: each step has at most one per label.
const MAX_VISITS: u32 = MAX_LABELS * (MAX_STEPS + 1);

/// Work that a search may still do, for any bytes.
#[derive(Clone, Copy)]
struct Bounds<'b> {
    /// Steps down to a dictionary.
    steps: u32,
    /// Columns to visit. Those of a forged block can lead to the same table over and over.
    visits: &'b Cell<u32>,
}

impl Bounds<'_> {
    /// Takes a step down from a table.
    fn step(self, table: &Table<'_, '_>) -> Result<Self> {
        let too_deep = || corrupt_at(Rule::TableDepth, Place::Table(table.id().0.into()));
        Ok(Self { steps: self.steps.checked_sub(1).ok_or_else(too_deep)?, ..self })
    }

    /// Visits a column of a table.
    fn visit(self, table: &Table<'_, '_>) -> Result<()> {
        let too_many = || corrupt_at(Rule::LeavesOrder, Place::Table(table.id().0.into()));
        self.visits.set(self.visits.get().checked_sub(1).ok_or_else(too_many)?);
        Ok(())
    }
}

/// Columns of a table that is searched with little memory.
const NARROW: u32 = 64;

/// A column's field and its value in the wanted row.
#[derive(Clone, Copy)]
struct Field<'w> {
    value: Value<'w>,
    base: u32,
    start_bit: u16,
    width: u8,
}

impl Default for Field<'_> {
    fn default() -> Self {
        Self { value: Value::Code(0), base: 0, start_bit: 0, width: 0 }
    }
}

impl<'data> BlockView<'data> {
    /// Returns the series with exactly these labels, or `None` if the block does not have it. The block's label policy
    /// is applied to names and values first. Labels with an empty value are ignored. Labels may come in any order;
    /// sorted labels are found faster.
    ///
    /// Costs one binary search per label in its key's dictionary, one over the keysets and one over the keyset's rows.
    /// Allocates only if a name or value is longer than the policy allows.
    ///
    /// # Errors
    /// [`FindError::DuplicateName`] if two labels have one name and the block has that name; [`FindError::Block`] if a
    /// byte that was read is damaged.
    pub fn find<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        labels: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Option<SeriesRef>, FindError> {
        let policy = self.meta()?.policy();
        let mut wanted: [Wanted<u32>; MAX_WIDE] = [(KeyId(0), 0); MAX_WIDE];
        let mut count = 0_usize;
        // An unknown name or value means that there is no such series. A known name that comes twice is an error even
        // then.
        let mut unknown = false;
        let mut key_hint = 0;
        for (name, value) in labels {
            if value.as_ref().is_empty() {
                continue;
            }
            let key = match policy.name_bytes(name.as_ref()) {
                Some(name) => self.key_from(&name, key_hint)?,
                None => None,
            };
            let Some(key) = key else {
                unknown = true;
                continue;
            };
            key_hint = key.0 + 1;
            let code = match policy.value_bytes(value.as_ref()) {
                Some(value) => self.value_code(key, value)?,
                None => None,
            };
            unknown |= code.is_none();
            // Kept without a code: the name may come again.
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

    fn find_sorted(&self, wanted: &[Wanted<u32>]) -> Result<Option<SeriesRef>> {
        match self.keyset_with_keys(wanted.iter().map(|&(key, _)| key))? {
            Some(keyset) => keyset.find(wanted),
            None => Ok(None),
        }
    }

    /// Returns the keyset with exactly these keys, which must increase, or `None` if the block does not have it. Costs
    /// a binary search over keysets.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn keyset_with_keys(&self, keys: impl Iterator<Item = KeyId> + Clone) -> Result<Option<Keyset<'data, '_>>> {
        let found = binary_search(self.keyset_count(), |keyset| compare_keys(self, keyset, keys.clone()))?;
        found.ok().map(|keyset| Keyset::open(self, keyset)).transpose()
    }
}

impl Keyset<'_, '_> {
    /// Returns the series of the keyset with these values, given as the codes of its keys in increasing order of keys;
    /// `None` if there is none. Costs a binary search over the keyset's rows and one per shared table.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn find(&self, wanted: &[(KeyId, u32)]) -> Result<Option<SeriesRef>> {
        self.find_labels(wanted)
    }

    /// Like [`Keyset::find`], with the bytes of values. Values are compared with those of the rows that the binary
    /// searches meet, so that most of them are never searched in the dictionaries of their keys.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn find_values(&self, wanted: &[(KeyId, &[u8])]) -> Result<Option<SeriesRef>> {
        self.find_labels(wanted)
    }

    fn find_labels(&self, wanted: impl WantedLabels) -> Result<Option<SeriesRef>> {
        let visits = Cell::new(MAX_VISITS);
        let bounds = Bounds { steps: MAX_STEPS, visits: &visits };
        let Some(row) = find_row(&self.table(), wanted, bounds)? else {
            return Ok(None);
        };
        let in_list = match self.list(row)? {
            None => 0,
            Some(list) => {
                let Some(member) = find_member(self, wanted, bounds)? else {
                    return Ok(None);
                };
                match list.position(member)? {
                    Some(place) => place,
                    None => return Ok(None),
                }
            }
        };
        let place = u64::from(self.first().0) + u64::from(self.series_before(row)?) + u64::from(in_list);
        Ok(u32::try_from(place).ok().map(SeriesRef))
    }
}

/// Returns the row of the pool's table that has the wanted labels.
fn find_member(keyset: &Keyset<'_, '_>, wanted: impl WantedLabels, bounds: Bounds<'_>) -> Result<Option<u32>> {
    match keyset.pool() {
        Some(pool) => find_row(&pool.table()?, wanted, bounds),
        None => Ok(None),
    }
}

/// Returns the row of `table` that has the wanted values for all keys of the table.
///
/// Recurses through the tables of a chain.
fn find_row(table: &Table<'_, '_>, wanted: impl WantedLabels, bounds: Bounds<'_>) -> Result<Option<u32>> {
    if table.is_dictionary() {
        return match wanted.get(KeyId(table.id().0)) {
            Some(Value::Code(code)) => Ok(Some(code)),
            Some(Value::Bytes(key, value)) => table.view.value_code(key, value),
            None => Ok(None),
        };
    }
    let below = bounds.step(table)?;
    // Most tables have few columns: zeroing the fields of the widest costs more than their search.
    if table.column_count() <= NARROW {
        find_row_within::<{ index(NARROW) }>(table, wanted, below)
    } else {
        find_row_within::<MAX_WIDE>(table, wanted, below)
    }
}

/// Finds a row of a table of at most `N` columns.
fn find_row_within<const N: usize>(
    table: &Table<'_, '_>,
    wanted: impl WantedLabels,
    below: Bounds<'_>,
) -> Result<Option<u32>> {
    let mut fields = [Field::default(); N];
    let mut count = 0;
    let mut start_bit = 0;
    for number in 0..table.column_count() {
        below.visit(table)?;
        let column = table.column_from(number, start_bit)?;
        start_bit = column.start_bit + column.width;
        if matches!(column.domain, Domain::Pool(_)) {
            break;
        }
        let Some(value) = find_value(table, &column, &wanted, below)? else {
            return Ok(None);
        };
        if column.width == 0 {
            if value.compare(table.view, column.base)?.is_ne() {
                return Ok(None);
            }
            continue;
        }
        let (Some(slot), Ok(start_bit), Ok(width)) =
            (fields.get_mut(count), u16::try_from(column.start_bit), u8::try_from(column.width))
        else {
            return Ok(None);
        };
        *slot = Field { value, base: column.base, start_bit, width };
        count += 1;
    }
    let fields = fields.get(..count).unwrap_or_default();
    search_rows(table, fields)
}

/// Returns the value of a column in the wanted row.
fn find_value<'w>(
    table: &Table<'_, '_>,
    column: &Column,
    wanted: &'w impl WantedLabels,
    bounds: Bounds<'_>,
) -> Result<Option<Value<'w>>> {
    let view = table.view;
    if let Domain::Table(key) = column.domain
        && key.0 < view.key_count()
    {
        return Ok(wanted.get(KeyId(key.0)));
    }
    let Some(behind) = table.behind(column.domain)? else {
        return Ok(None);
    };
    let row = if behind.is_map() { find_mapped(&behind, *wanted, bounds) } else { find_row(&behind, *wanted, bounds) };
    Ok(row?.map(Value::Code))
}

/// Returns the row of a map that has the wanted labels.
fn find_mapped(map: &Table<'_, '_>, wanted: impl WantedLabels, bounds: Bounds<'_>) -> Result<Option<u32>> {
    let column = map.column(0)?;
    let below = bounds.step(map)?;
    let value = match map.behind(column.domain)? {
        Some(behind) if behind.is_dictionary() => wanted.get(KeyId(behind.id().0)),
        Some(behind) if behind.is_map() => find_mapped(&behind, wanted, below)?.map(Value::Code),
        Some(behind) => find_row(&behind, wanted, below)?.map(Value::Code),
        None => None,
    };
    let Some(value) = value else {
        return Ok(None);
    };
    Ok(binary_search(map.row_count(), |row| value.compare(map.view, map.code(row, &column)?))?.ok())
}

/// Returns the row with these fields. The binary search remembers how many leading fields equal the wanted ones at
/// both ends of the range: all rows between them have these fields too, so that they are not compared again.
fn search_rows(table: &Table<'_, '_>, fields: &[Field<'_>]) -> Result<Option<u32>> {
    let (mut low, mut high) = (0, table.row_count());
    let (mut equal_at_low, mut equal_at_high) = (0, 0);
    while low < high {
        let middle = low + (high - low) / 2;
        let (order, equal) = compare_row(table, middle, fields, equal_at_low.min(equal_at_high))?;
        match order {
            Ordering::Less => (low, equal_at_low) = (middle + 1, equal),
            Ordering::Greater => (high, equal_at_high) = (middle, equal),
            Ordering::Equal => return Ok(Some(middle)),
        }
    }
    Ok(None)
}

/// Compares the fields of a row, from field `from` on, with the wanted ones. Returns the order and the number of equal
/// leading fields.
fn compare_row(table: &Table<'_, '_>, row: u32, fields: &[Field<'_>], from: usize) -> Result<(Ordering, usize)> {
    for (number, field) in fields.iter().enumerate().skip(from) {
        let code = u64::from(field.base) + table.field(row, field.start_bit.into(), field.width.into())?;
        let Ok(code) = u32::try_from(code) else {
            return Err(corrupt(Rule::ColumnCode, Place::Row(table.id().0, row), code, u32::MAX.into()));
        };
        match field.value.compare(table.view, code)? {
            Ordering::Equal => {}
            unequal => return Ok((unequal, number)),
        }
    }
    Ok((Ordering::Equal, fields.len()))
}
