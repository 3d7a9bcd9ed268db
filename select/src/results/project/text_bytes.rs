//! [`TextBytes`]: bytes of the labels of all series, as text, by the value of one label.

use chronoxide_format::view::BlockView;
use chronoxide_format::{KeyId, SymbolId};
use hashbrown::HashMap;

use super::Projection;
use super::fold::{Fold, Folding, KeptKeys};
use crate::{Searcher, SelectError};

/// Lists between two checks of the limits.
const LISTS_PER_CHECK: usize = 1 << 12;

/// Bytes of the names and values of all labels of series, by the value of one label. A label counts once per series
/// that has it, without separators and quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextBytes {
    by_code: Vec<u64>,
    absent: u64,
}

impl TextBytes {
    /// Returns the bytes of the series with each value of the label, by its code: a position in the dictionary of the
    /// key.
    #[must_use]
    pub fn by_code(&self) -> &[u64] {
        &self.by_code
    }

    /// Returns the bytes of the series without the label.
    #[must_use]
    pub fn absent(&self) -> u64 {
        self.absent
    }

    fn add(&mut self, code: u32, bytes: u64) {
        let sum = self.by_code.get_mut(code as usize).unwrap_or(&mut self.absent);
        *sum = sum.saturating_add(bytes);
    }
}

impl Searcher<'_, '_> {
    /// Counts the bytes of the labels of all series by the value of a key.
    ///
    /// Costs a few nanoseconds per row and column of each table, and per member of each list; a list is read once per
    /// keyset and value of the key. Takes 16 bytes of memory per row of these tables, and some 32 per distinct pair of
    /// list and value.
    ///
    /// # Errors
    /// As [`Searcher::project`].
    pub fn text_bytes(&self, by: KeyId) -> Result<TextBytes, SelectError> {
        let values = self.view.cardinality(by)?.unwrap_or_default();
        let mut bytes = TextBytes { by_code: vec![0; values as usize], absent: 0 };
        let all = KeptKeys::new(self.view.key_count(), |_| true);
        let mut folding = Folding::new(self, all, Lengths { by });
        let mut members = Vec::new();
        for keyset in self.view.keysets() {
            let keyset = keyset?;
            self.limits.check()?;
            let columns = folding.columns(&keyset)?;
            let Some(pool) = keyset.pool() else {
                folding.each_row(&keyset, &columns, |row, _| bytes.add(row.code, row.len))?;
                continue;
            };
            let member_rows = columns.member_table.map(|table| folding.rows(table)).transpose()?.flatten();
            let member_rows = member_rows.as_deref().map(Vec::as_slice).unwrap_or_default();
            // Rows by list and code. The code is `ABSENT` if the key is among the labels of the members.
            let mut lists: HashMap<(u32, u32), Rows> = HashMap::new();
            folding.each_row(&keyset, &columns, |row, list| {
                let rows = lists.entry((list, row.code)).or_default();
                rows.count += 1;
                rows.len = rows.len.saturating_add(row.len);
            })?;
            for (number, ((list, code), rows)) in lists.into_iter().enumerate() {
                if number % LISTS_PER_CHECK == 0 {
                    self.limits.check()?;
                }
                members.clear();
                pool.list(list)?.push_members(&mut members)?;
                for member in members.iter().filter_map(|&member| member_rows.get(member as usize)) {
                    let code = if member.code == Projection::ABSENT { code } else { member.code };
                    bytes.add(code, rows.len.saturating_add(rows.count.saturating_mul(member.len)));
                }
            }
        }
        Ok(bytes)
    }
}

/// Rows that end in the same list.
#[derive(Default)]
struct Rows {
    count: u64,
    /// Sum of their lengths.
    len: u64,
}

/// Sums the lengths of labels, and keeps the code of one key.
struct Lengths {
    by: KeyId,
}

/// Labels of a row.
#[derive(Clone, Copy)]
struct Length {
    /// Bytes of their names and values.
    len: u64,
    /// Code of the key, or [`Projection::ABSENT`].
    code: u32,
}

impl Fold for Lengths {
    type Value = Length;

    const EMPTY: Length = Length { len: 0, code: Projection::ABSENT };

    fn dictionary(&mut self, view: &BlockView<'_>, key: KeyId) -> Result<Vec<Length>, SelectError> {
        let name_len = view.key_name(key)?.len() as u64;
        let Some(dictionary) = view.dictionary(key)? else { return Ok(Vec::new()) };
        let column = dictionary.column(0)?;
        let value = |code| {
            let value = view.symbol(SymbolId(dictionary.code(code, &column)?))?;
            let code = if key == self.by { code } else { Projection::ABSENT };
            Ok(Length { len: name_len + value.len() as u64, code })
        };
        (0..dictionary.row_count()).map(value).collect()
    }

    fn join(&mut self, left: Length, right: Length) -> Length {
        let code = if left.code == Projection::ABSENT { right.code } else { left.code };
        Length { len: left.len.saturating_add(right.len), code }
    }
}
