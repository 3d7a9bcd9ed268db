//! Errors of the builder.

use crate::layout::{MAX_COLUMNS, MAX_DEPTH, MAX_LABELS, MAX_META_LEN, MAX_METRIC_TEXT_LEN, MAX_SYMBOL_LEN};

/// Reason why the builder rejects an item.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A symbol is empty or too long.
    #[error("symbol of {len} bytes: 1 to {MAX_SYMBOL_LEN} are allowed")]
    SymbolLen {
        /// Length in bytes.
        len: usize,
    },
    /// An item does not come after the one pushed before it.
    #[error("{what} {number} does not come after the one before it")]
    Order {
        /// Kind of the item: `symbol`, `key`, `row`, ...
        what: &'static str,
        /// Number.
        number: u64,
    },
    /// Things were pushed in another order than symbols, keys, tables, pools, keysets.
    #[error("{what} must be pushed before {before}")]
    Phase {
        /// Item that was pushed.
        what: &'static str,
        /// Item that was pushed before.
        before: &'static str,
    },
    /// A number does not refer to an item.
    #[error("{what} {number} does not exist: there are {count}, from 0")]
    Unknown {
        /// Kind of the item: `symbol`, `table`, `row`, ...
        what: &'static str,
        /// The number.
        number: u64,
        /// Number of items.
        count: u64,
    },
    /// Something that may not be empty is.
    #[error("{what} is empty")]
    Empty {
        /// Kind of the items.
        what: &'static str,
    },
    /// A table has too many columns.
    #[error("table of {count} columns exceeds the limit of {MAX_COLUMNS}")]
    Columns {
        /// Number of items.
        count: usize,
    },
    /// The number of codes is not a multiple of the number of columns.
    #[error("{codes} codes are not a multiple of {columns} columns")]
    Shape {
        /// Number of codes.
        codes: usize,
        /// Number of columns.
        columns: usize,
    },
    /// A series has too many labels.
    #[error("series with {count} labels exceeds the limit of {MAX_LABELS}")]
    Labels {
        /// Number of items.
        count: usize,
    },
    /// A key is reached through two columns.
    #[error("two columns of a table have key {key}")]
    TwiceTheKey {
        /// The key.
        key: u32,
    },
    /// Tables are stacked too deep.
    #[error("a chain of tables is longer than {MAX_DEPTH}")]
    Depth,
    /// A list column where none may be.
    #[error("only the last of several columns of a keyset's table may hold lists")]
    ListColumn,
    /// There are more items of a kind than a block holds.
    #[error("a block holds at most {limit} {what}; use shorter time windows or more shards")]
    TooMany {
        /// Kind of the item.
        what: &'static str,
        /// Largest number of them.
        limit: u32,
    },
    /// A section or the file is longer than its offsets can address.
    #[error("{what} of {len} bytes: a block holds at most {limit}; use shorter time windows or more shards")]
    TooLong {
        /// Section: `symbols`, `rows`, or `file`.
        what: &'static str,
        /// Length in bytes.
        len: u64,
        /// Largest length in bytes.
        limit: u64,
    },
    /// External labels, annotations or origins are not in order, or too long.
    #[error("{what} must be in increasing order, without repetition, with keys of 1 to {MAX_SYMBOL_LEN} bytes")]
    MetaOrder {
        /// Kind of the items.
        what: &'static str,
    },
    /// An external label has an empty value.
    #[error("external label {name:?} has an empty value; leave the label out instead")]
    EmptyExternalLabel {
        /// Name of the label.
        name: String,
    },
    /// A time range does not start before it ends.
    #[error("time range starts at {start} but ends at {end}")]
    Time {
        /// Start.
        start: i64,
        /// End.
        end: i64,
    },
    /// A job's output number is not below its count, or its id is zero.
    #[error("job with id zero, or output {output} is out of range: the job has {output_count}, from 0")]
    Job {
        /// The number.
        output: u32,
        /// The count.
        output_count: u32,
    },
    /// The name of a metric is empty, or its name, unit or description is too long.
    #[error("metric {what} of {len} bytes: {least} to {MAX_METRIC_TEXT_LEN} are allowed")]
    MetricText {
        /// Kind of the text: `name`, `unit` or `description`.
        what: &'static str,
        /// Length in bytes.
        len: usize,
        /// The least that it may have.
        least: usize,
    },
    /// A series column has a name or a value that is not allowed, or not a value for each series.
    #[error("series column {name:?}: {reason}")]
    SeriesColumn {
        /// Name of the column.
        name: String,
        /// Text of the reason.
        reason: &'static str,
    },
    /// There is no memory for packing the arena.
    #[error("out of memory while the arena is packed")]
    Pack,
    /// The block is to be an archive, and this crate was built without the feature `archive`.
    #[error("chronoxide-format writes archives only with its feature `archive`")]
    UnsupportedArchive,
    /// The meta section would be too long.
    #[error("external labels, annotations and origins of {len} bytes exceed the limit of {MAX_META_LEN}")]
    MetaLen {
        /// Length in bytes.
        len: usize,
    },
}
