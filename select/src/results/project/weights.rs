//! Sums of weights over all series, by the value of one label.

use chronoxide_format::view::{BlockView, Keyset, Pool};
use chronoxide_format::{KeyId, SymbolId};
use hashbrown::HashMap;

use super::Projection;
use super::fold::{Fold, Folding, KeptKeys};
use crate::{Searcher, SelectError};

/// Lists between two checks of the limits.
const LISTS_PER_CHECK: usize = 1 << 12;

/// Weight of one series: the sum of the weights of its labels, and of its shares in rows and lists.
pub(super) trait Weigh {
    /// Returns the weight of a label.
    fn label(&self, name: &[u8], value: SymbolId, text: &[u8]) -> f64;

    /// Returns a series' share in a row of a dictionary or inner table.
    fn row(&self, table: u32, row: u32) -> f64;

    /// Returns the share of all series of a keyset's row in this row.
    fn keyset_row(&self, keyset: &Keyset<'_, '_>) -> f64;

    /// Returns a series' share in a list.
    fn list(&self, pool: &Pool<'_, '_>, list: u32) -> f64;
}

/// Sums of weights, exact up to 2^53 if all weights are whole numbers.
pub(super) struct Weights {
    /// Sum of the series with each value of the label, by its code.
    pub(super) by_code: Vec<f64>,
    /// Sum of the series without the label.
    pub(super) absent: f64,
}

impl Weights {
    fn add(&mut self, code: u32, weight: f64) {
        *self.by_code.get_mut(code as usize).unwrap_or(&mut self.absent) += weight;
    }
}

impl Searcher<'_, '_> {
    /// Sums the weights of all series by the value of a key.
    pub(super) fn weights(&self, by: KeyId, weigh: impl Weigh) -> Result<Weights, SelectError> {
        let values = self.view.cardinality(by)?.unwrap_or_default();
        let mut weights = Weights { by_code: vec![0.0; values as usize], absent: 0.0 };
        let all = KeptKeys::new(self.view.key_count(), |_| true);
        let mut folding = Folding::new(self, all, Weighing { by, weigh });
        let mut members = Vec::new();
        for keyset in self.view.keysets() {
            let keyset = keyset?;
            self.limits.check()?;
            let columns = folding.columns(&keyset)?;
            let own = folding.fold.weigh.keyset_row(&keyset);
            let Some(pool) = keyset.pool() else {
                folding.each_row(&keyset, &columns, |row, _| weights.add(row.code, row.weight + own))?;
                continue;
            };
            let member_rows = columns.member_table.map(|table| folding.rows(table)).transpose()?.flatten();
            let member_rows = member_rows.as_deref().map(Vec::as_slice).unwrap_or_default();
            // Rows by list and code. The code is `ABSENT` if the key is among the labels of the members.
            let mut lists: HashMap<(u32, u32), Rows> = HashMap::new();
            folding.each_row(&keyset, &columns, |row, list| {
                let rows = lists.entry((list, row.code)).or_default();
                rows.count += 1.0;
                rows.weight += row.weight;
            })?;
            for (number, ((list, code), rows)) in lists.into_iter().enumerate() {
                if number % LISTS_PER_CHECK == 0 {
                    self.limits.check()?;
                }
                members.clear();
                pool.list(list)?.push_members(&mut members)?;
                // The list's rows in a series that each of them has with a member.
                let shared = rows.weight
                    + rows.count * (folding.fold.weigh.list(&pool, list) + own / members.len().max(1) as f64);
                for member in members.iter().filter_map(|&member| member_rows.get(member as usize)) {
                    let code = if member.code == Projection::ABSENT { code } else { member.code };
                    weights.add(code, shared + rows.count * member.weight);
                }
            }
        }
        Ok(weights)
    }
}

/// Rows that end in the same list.
#[derive(Default)]
struct Rows {
    count: f64,
    /// Sum of their weights.
    weight: f64,
}

/// Sums weights, and keeps the code of one key.
struct Weighing<W> {
    by: KeyId,
    weigh: W,
}

/// A row.
#[derive(Clone, Copy)]
struct Weight {
    weight: f64,
    /// Code of the key, or [`Projection::ABSENT`].
    code: u32,
}

impl<W: Weigh> Fold for Weighing<W> {
    type Value = Weight;

    const EMPTY: Weight = Weight { weight: 0.0, code: Projection::ABSENT };

    fn dictionary(&mut self, view: &BlockView<'_>, key: KeyId) -> Result<Vec<Weight>, SelectError> {
        let name = view.key_name(key)?;
        let Some(dictionary) = view.dictionary(key)? else { return Ok(Vec::new()) };
        let column = dictionary.column(0)?;
        let value = |code| {
            let symbol = SymbolId(dictionary.code(code, &column)?);
            let weight = self.weigh.label(name, symbol, view.symbol(symbol)?) + self.weigh.row(key.0, code);
            Ok(Weight { weight, code: if key == self.by { code } else { Projection::ABSENT } })
        };
        (0..dictionary.row_count()).map(value).collect()
    }

    fn join(&mut self, left: Weight, right: Weight) -> Weight {
        let code = if left.code == Projection::ABSENT { right.code } else { left.code };
        Weight { weight: left.weight + right.weight, code }
    }

    fn row(&mut self, table: u32, row: u32, value: Weight) -> Weight {
        Weight { weight: value.weight + self.weigh.row(table, row), ..value }
    }
}
