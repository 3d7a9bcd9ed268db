//! Series of a block as Arrow record batches.
//!
//! A block stores a label as codes over the dictionary of its key, which is what Arrow calls a dictionary array. A
//! [`BlockTable`] hands them over: the strings of its arrays are the mapped block itself, and are never copied. A
//! [`Scan`] reads some columns of some series, in batches.
//!
//! ```
//! use arrow_array::StringViewArray;
//! use arrow_array::cast::AsArray;
//! use arrow_array::types::UInt32Type;
//! use chronoxide_arrow::{BlockTable, Column};
//! use chronoxide_reader::{Block, Checks};
//! use chronoxide_select::Selector;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/plain-bitpacked.cx");
//! let table = BlockTable::new(Block::read(path, Checks::Lazy)?)?;
//! let selector: Selector = r#"up{job="db"}"#.parse()?;
//! let selection = table.select(selector.matchers())?;
//! let scan = table.scan().with_columns([Column::series_ref(), Column::label("pod")]).with_selection(selection);
//! for batch in scan.batches()? {
//!     let batch = batch?;
//!     let pods = batch.column(1).as_dictionary::<UInt32Type>().downcast_dict::<StringViewArray>();
//!     assert!(pods.expect("a dictionary of strings").into_iter().flatten().any(|pod| pod == "db-1"));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Columns
//!
//! | column | Arrow type | content |
//! |---|---|---|
//! | [`Column::series_ref`] | `UInt64` | ref of the series in its block |
//! | [`Column::block_id`] | `Utf8View` | id of the block |
//! | [`Column::label`] | `Dictionary(UInt32, Utf8View)`, or `Utf8View` | value of a label; null if the series does not have it |
//! | [`Column::labels`] | `Map(Utf8View, Utf8View)` | all labels of the series, sorted by name |
//! | [`Column::values`] | `Int64`, `UInt64`, `BinaryView` or `Timestamp(Nanosecond, "UTC")` | value of a series column; null if there is none |
//! | [`Column::fingerprint`] | `FixedSizeBinary(16)` | fingerprint of the labels: equal labelsets have equal ones in every block |
//!
//! All batches of a block share one dictionary per key, which has the values of all its series in byte order, so that
//! codes compare like values.
//!
//! # Order
//!
//! Batches are in the order of refs: keyset by keyset, and by labels within a keyset. [`Scan::in_label_order`] sorts by
//! all labels, as Prometheus does.
//!
//! | module | content |
//! |---|---|
//! | `table` | [`BlockTable`]: an open block with its dictionaries |
//! | `column` | [`Column`] and [`Strings`]: columns and their types |
//! | `scan` | [`Scan`]: choice of columns and series |
//! | `batches` | [`Batches`]: the record batches of a scan |
//! | `chained` | [`ChainedBatches`]: the record batches of several scans |
//! | `value_counts` | [`Scan::value_counts`]: the number of series of each value of a label |
//! | `guarded` | [`Guarded`]: batches for code in another language |
//! | `codes` | value codes of a key, as a column |
//! | `label_map` | the column of all labels |
//! | `values` | [`ValuesBuilder`]: values of a series column |
//! | `fingerprints` | the column of fingerprints |
//! | `dictionary` | values of a key as an array over the arena (unsafe) |
//! | `arena` | the arena as buffers of Arrow (unsafe) |
//! | `error` | [`TableError`] |

mod arena;
mod batches;
mod chained;
mod codes;
mod column;
mod dictionary;
mod error;
mod fingerprints;
mod guarded;
mod label_map;
mod scan;
mod table;
mod value_counts;
mod values;

pub use batches::Batches;
pub use chained::ChainedBatches;
pub use column::{Column, ColumnContent, FINGERPRINT, Strings, schema};
pub use error::TableError;
pub use guarded::Guarded;
pub use scan::Scan;
pub use table::BlockTable;
pub use values::ValuesBuilder;
