//! Series of blocks as tables of DataFusion.
//!
//! A [`SeriesTable`] is a block, or the blocks of a folder or bucket, as a table: a row per series, with its ref and a
//! column per label. [`register`] teaches a session to open blocks from SQL.
//!
//! ```
//! use datafusion::prelude::SessionContext;
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden");
//! # let runtime = tokio::runtime::Runtime::new()?;
//! # runtime.block_on(async {
//! let context = SessionContext::new();
//! chronoxide_datafusion::register(&context);
//! let create = format!("CREATE EXTERNAL TABLE series STORED AS CHRONOXIDE LOCATION '{folder}/plain-bitpacked.cx'");
//! context.sql(&create).await?;
//! let query = context.sql("SELECT job, count(*) AS n FROM series WHERE pod LIKE 'api%' GROUP BY job").await?;
//! let batches = query.collect().await?;
//! assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
//! # Ok::<(), datafusion::error::DataFusionError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Columns
//!
//! | column | type | content |
//! |---|---|---|
//! | `block` | `Utf8View` | id of the block; only in tables of folders |
//! | `series_ref` | `UInt64` | ref of the series in its block |
//! | `first_time`, `last_time` | `Timestamp(Nanosecond, "UTC")` | first and last time of the series in its block; only if a block knows them, null if unknown |
//! | one per other series column | `Int64`, `UInt64` or `BinaryView` | value of the series in its block, null if it has none |
//! | one per label | `Utf8View` (or [`Strings::Dictionary`]) | value of the label, null if the series does not have it |
//!
//! A series that several blocks of a folder have is a row for each of them. If a label is named like another column, it
//! keeps its name, and the other column gets a leading underscore. Names with dots or capital letters need double
//! quotes in SQL: `"k8s.namespace.name"`.
//!
//! # Absent labels
//!
//! In SQL, a comparison with null is not true: `env <> 'prod'` leaves out series without a label `env`. In PromQL an
//! absent label equals the empty value, so that `{env!="prod"}` selects them.
//!
//! | PromQL | SQL |
//! |---|---|
//! | `{env="prod"}` | `env = 'prod'` |
//! | `{env!="prod"}` | `env IS DISTINCT FROM 'prod'` |
//! | `{env=""}` | `env IS NULL` |
//! | `{env!=""}` | `env IS NOT NULL` |
//! | `{env=~"a.*"}` | `env LIKE 'a%'`, or `env ~ '^a'` |
//! | `{env!~"a.*"}` | `env NOT LIKE 'a%' OR env IS NULL` |
//!
//! # Filters
//!
//! A condition on a single label is evaluated on the distinct values of the label, and only series with an accepted
//! value are read: comparisons, `IN`, `BETWEEN`, `LIKE`, `ILIKE`, `~`, `~*`, `IS NULL`, `IS DISTINCT FROM`, casts to
//! strings, and `AND`, `OR` and `NOT` of these. The same holds for comparisons of `block`, `series_ref`, and numbers
//! and times of series with constants: `first_time < '2025-11-11T10:00:00Z' AND last_time >= '2025-11-11T09:00:00Z'`
//! are the series of an hour. The result is exact: DataFusion does not filter again, and `count(*)` of such a query
//! reads no series at all. Other conditions, such as those on two labels or with functions, are left to DataFusion.
//! `EXPLAIN` shows the conditions and how many series they leave.
//!
//! | module | content |
//! |---|---|
//! | `series_table` | [`SeriesTable`]: blocks as a table |
//! | `predicate` | conditions of a query as accepted codes and refs |
//! | `values` | evaluation of a condition on the values of a label |
//! | `numbers` | comparisons of numbers with constants as ranges |
//! | `series_exec` | the plan that reads series |
//! | `refs_of_joins` | [`RefsOfJoins`]: conditions on refs that follow from a join |
//! | `counts_of_groups` | [`CountsOfGroups`]: groups by a label, counted in the codes of rows |
//! | `label_counts` | the number of series of each value of a label, as a table |
//! | `scan_of` | the table that a column of a plan comes from |
//! | `error` | errors of blocks as errors of DataFusion |
//! | `statistics` | numbers of rows, nulls and distinct values |
//! | `factory` | `CREATE EXTERNAL TABLE ... STORED AS CHRONOXIDE` |
//! | `functions` | table functions `series`, `label_names` and `label_values` |
//! | `tasks` | division of plans among machines (feature `distributed`) |
//! | `codec` | `SeriesCodec`: plans as messages to other machines (feature `distributed`) |

#[cfg(feature = "distributed")]
mod codec;
mod counts_of_groups;
mod error;
mod factory;
mod functions;
mod label_counts;
mod numbers;
mod predicate;
mod refs_of_joins;
mod scan_of;
mod series_exec;
mod series_table;
mod statistics;
#[cfg(feature = "distributed")]
mod tasks;
mod values;

pub use chronoxide_arrow::Strings;
#[cfg(feature = "distributed")]
pub use codec::SeriesCodec;
pub use counts_of_groups::CountsOfGroups;
pub use factory::{SeriesTableFactory, register, register_with};
pub use functions::{LabelNames, LabelValues, Series};
pub use refs_of_joins::RefsOfJoins;
pub use series_table::SeriesTable;
#[cfg(feature = "distributed")]
pub use tasks::{split, task_count};

/// The examples of the document are tests of this crate.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/engines.md")]
struct EnginesDocument;
