//! Bytes that the planner's choices saved, computed from the block alone.

mod balance;
mod gain;
mod uses;

use std::cmp::Reverse;

pub use balance::Balance;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, Meta};
use chronoxide_format::{Forecast, PLAN_KEY};
use chronoxide_format::{Result, TableId};
pub use gain::KeysetGain;
use serde::Serialize;
use uses::Uses;
pub use uses::{PoolUse, TableUse};

use crate::DumpError;
use crate::name::Name;

/// Bytes that a plan saved: in each keyset, and in the whole block.
///
/// *Plain* sizes are computed in the block's own row form, so that a block without inner tables and lists saves
/// nothing.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Properties of the whole plan.
    pub head: Head,
    /// Keysets, ordered by the bytes saved.
    pub keysets: Vec<KeysetGain>,
    /// The inner tables, in the order of the block.
    pub tables: Vec<TableUse>,
    /// The list pools, in the order of the block.
    pub pools: Vec<PoolUse>,
    /// Totals of the block.
    pub balance: Balance,
}

/// Properties of the whole plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Head {
    /// The version of the planner that chose the tables; 0 for none.
    pub planner_version: u32,
    /// Form of the rows: `fixedwidth` or `bitpacked`.
    pub rows: &'static str,
    /// True if the block has inner tables or lists.
    pub factored: bool,
    /// Series.
    pub series: u32,
    /// Keysets.
    pub keysets: u32,
    /// Number of sampled series that the plan was learned from, if the block states it.
    pub sampled_series: Option<u64>,
    /// Bytes per series of tables, lists and their records that the planner expected, if the block states it.
    pub expected_bytes_per_series: Option<f64>,
}

impl Plan {
    /// Reads each label of each row and list: the cost is proportional to rows, not to series. Holds a few numbers per
    /// keyset, table and pool, and no rows.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn from_view(view: &BlockView<'_>) -> Result<Self> {
        let meta = view.meta()?;
        // First: it also checks whether the keysets' numbers of series are plausible.
        let uses = Uses::from_view(view)?;
        let mut keysets = view
            .keysets()
            .map(|keyset| KeysetGain::from_keyset(view, &keyset?, view.row_form().unwrap_or_default()))
            .collect::<Result<Vec<_>>>()?;
        keysets.sort_by_key(|keyset| (Reverse(keyset.saved_bytes), keyset.keyset));
        let forecast = forecast(&meta)?;
        let head = Head {
            sampled_series: forecast.map(|forecast| forecast.sampled_series),
            expected_bytes_per_series: forecast.map(|forecast| forecast.bytes_per_series),
            planner_version: meta.planner_version(),
            rows: meta.row_form().map_or("unknown", RowForm::name),
            factored: !uses.tables.is_empty() || !uses.pools.is_empty(),
            series: view.series_count()?,
            keysets: view.keyset_count(),
        };
        let balance = Balance::from_view(view, head.series, &keysets, &uses);
        Ok(Self { head, keysets, tables: uses.tables, pools: uses.pools, balance })
    }
}

/// Returns the forecast that the annotations of a block have.
fn forecast(meta: &Meta<'_>) -> Result<Option<Forecast>> {
    for pair in meta.annotations()? {
        if let (PLAN_KEY, text) = pair? {
            return Ok(text.parse().ok());
        }
    }
    Ok(None)
}

/// An entry of the report on a plan. `Serialize` gives an object with the entry's `type`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Entry<'v> {
    /// The plan as a whole.
    Plan(Head),
    /// A keyset.
    Keyset {
        /// Bytes that the keyset saved.
        #[serde(flatten)]
        gain: KeysetGain,
        /// Label names, in order.
        keys: Vec<Name<'v>>,
    },
    /// An inner table.
    Table {
        /// Size and users.
        #[serde(flatten)]
        used: TableUse,
        /// Names of the labels of its rows, in order.
        keys: Vec<Name<'v>>,
    },
    /// A list pool.
    Pool(PoolUse),
    /// Number of keysets, tables or pools that are not shown.
    More {
        /// Number of entries.
        count: usize,
    },
    /// Bytes saved in the whole block.
    Balance(Balance),
}

/// Calls `take` with each entry of the report on a plan of `view`'s block, in order. With `first`, passes only the
/// first keysets, inner tables and pools.
///
/// # Errors
/// Returns an error if the block is damaged, or the error of `take`.
pub fn plan_entries<'v>(
    view: &'v BlockView<'v>,
    plan: &Plan,
    first: Option<u32>,
    take: &mut dyn FnMut(Entry<'v>) -> Result<(), DumpError>,
) -> Result<(), DumpError> {
    let text = view.text()?;
    let keys = |table: u32| match view.table(TableId(table))? {
        Some(table) => Name::from_leaves(&text, &table),
        None => Ok(Vec::new()),
    };
    let most = first.map_or(usize::MAX, |first| first as usize);
    let more = |take: &mut dyn FnMut(_) -> _, count: usize| match count.checked_sub(most) {
        Some(left @ 1..) => take(Entry::More { count: left }),
        _ => Ok(()),
    };
    take(Entry::Plan(plan.head))?;
    for &gain in plan.keysets.iter().take(most) {
        take(Entry::Keyset { gain, keys: keys(gain.table)? })?;
    }
    more(take, plan.keysets.len())?;
    for &used in plan.tables.iter().take(most) {
        take(Entry::Table { used, keys: keys(used.table)? })?;
    }
    more(take, plan.tables.len())?;
    for &used in plan.pools.iter().take(most) {
        take(Entry::Pool(used))?;
    }
    more(take, plan.pools.len())?;
    take(Entry::Balance(plan.balance.clone()))
}
