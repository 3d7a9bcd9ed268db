//! Reading of blocks: symbols, tables, keysets, series, lookups.
//!
//! [`BlockView::open`] checks header, directory and the extent of each section. Every later access is checked against
//! its section, for any bytes. A view without paths
//! allocates nothing, except for the order of refs in [`Resolver::resolve_many`]; one with [`Paths`] allocates these as
//! they are first used.
//! [`BlockView::verify`] checks every rule of the spec.
//!
//! Each module uses those before it in this table, and none after it:
//!
//! | module | contents |
//! |---|---|
//! | `catalogue` | [`BlockView`]: sections, symbols, keys, tables, lists and keysets |
//! | `labels` | from a row to its labels: [`Series`], [`Resolver`] |
//! | `find` | search for the series with given labels |
//! | `values` | [`SeriesColumn`]: values of series |

mod catalogue;
mod find;
mod labels;
mod values;

pub(crate) use catalogue::{BLOCK_ROWS, Records};
pub use catalogue::{
    BlockView, Column, Domain, Frame, Job, Keyset, List, Meta, MetricRows, Metrics, OwnedMeta, Pairs, Paths, Pool,
    ReadOnly, Section, Sections, Symbols, Table, TimeRange,
};
pub use find::FindError;
pub use labels::{
    KeysetSeries, Label, LabelIds, LabelIdsIter, Labels, Resolver, Series, SeriesIter, TableKeys, Text, TextLabel,
    TextLabels,
};
pub(crate) use values::{GROUP_LEN, Group, Numbers};
pub use values::{SeriesColumn, SeriesColumns, ValueFilter};
