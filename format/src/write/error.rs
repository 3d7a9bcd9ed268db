//! What the builder refuses.

use crate::layout::{MAX_COLUMNS, MAX_DEPTH, MAX_LABELS, MAX_META_LEN, MAX_METRIC_TEXT_LEN, MAX_SYMBOL_LEN};

/// Why something cannot be part of a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A symbol is empty or too long.
    #[error("a symbol has {len} bytes; it must have 1 to {MAX_SYMBOL_LEN}")]
    SymbolLen {
        /// Its length in bytes.
        len: usize,
    },
    /// Something does not come after what was pushed before it.
    #[error("{what} {number} does not come after the one before it")]
    Order {
        /// What: `symbol`, `key`, `row`, ...
        what: &'static str,
        /// Its number.
        number: u64,
    },
    /// Things were pushed in another order than symbols, keys, tables, pools, keysets.
    #[error("{what} must be pushed before {before}")]
    Phase {
        /// What was pushed.
        what: &'static str,
        /// What was pushed before.
        before: &'static str,
    },
    /// A number refers to nothing.
    #[error("{what} {number} does not exist; there are {count}")]
    Unknown {
        /// What: `symbol`, `table`, `row`, ...
        what: &'static str,
        /// The number.
        number: u64,
        /// How many there are.
        count: u64,
    },
    /// Something that may not be empty is.
    #[error("{what} is empty")]
    Empty {
        /// What.
        what: &'static str,
    },
    /// A table has too many columns.
    #[error("a table has {count} columns; it may have {MAX_COLUMNS}")]
    Columns {
        /// How many.
        count: usize,
    },
    /// The number of codes is no multiple of the number of columns.
    #[error("{codes} codes do not make rows of {columns} columns")]
    Shape {
        /// How many codes.
        codes: usize,
        /// How many columns.
        columns: usize,
    },
    /// A series has too many labels.
    #[error("a series has {count} labels; it may have {MAX_LABELS}")]
    Labels {
        /// How many.
        count: usize,
    },
    /// A key is reached through two columns.
    #[error("key {key} is reached by two columns of a table")]
    TwiceTheKey {
        /// The key.
        key: u32,
    },
    /// Tables are stacked too deep.
    #[error("tables are more than {MAX_DEPTH} deep")]
    Depth,
    /// A list column where none may be.
    #[error("only the last of several columns of a keyset's table may hold lists")]
    ListColumn,
    /// There are more of something than a number of 32 bits counts.
    #[error("there are more than 4,294,967,295 {what}; cut the series into several blocks")]
    TooMany {
        /// What.
        what: &'static str,
    },
    /// External labels, annotations or origins are not in order, or too long.
    #[error("{what} must be in increasing order, without repetition, with keys of 1 to {MAX_SYMBOL_LEN} bytes")]
    MetaOrder {
        /// What.
        what: &'static str,
    },
    /// A time range does not start before it ends.
    #[error("a time range starts at {start} and ends at {end}")]
    Time {
        /// Its start.
        start: i64,
        /// Its end.
        end: i64,
    },
    /// A job's output number is not below its count.
    #[error("output {output} of a job that has {output_count}")]
    Job {
        /// The number.
        output: u32,
        /// The count.
        output_count: u32,
    },
    /// The name of a metric is empty, or its name, unit or description is too long.
    #[error("the {what} of a metric has {len} bytes; it must have {least} to {MAX_METRIC_TEXT_LEN}")]
    MetricText {
        /// What: `name`, `unit` or `description`.
        what: &'static str,
        /// Its length in bytes.
        len: usize,
        /// The least that it may have.
        least: usize,
    },
    /// The meta section would be too long.
    #[error("external labels, annotations and origins take {len} bytes; they may take {MAX_META_LEN}")]
    MetaLen {
        /// Its length in bytes.
        len: usize,
    },
}
