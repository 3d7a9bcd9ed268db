//! Rows of a block's tables: where each label is, which rows have some codes, and which series they stand for.
//!
//! | module | content |
//! |---|---|
//! | `scan` | codes of columns, read in batches, and binary searches |
//! | `row_set` | rows of a table whose code is in a set |
//! | `postings` | the series of single values, made in memory when enough queries ask for them |
//! | `index` | [`Index`]: the column that holds each label key in each table |
//! | `times` | first and last times of series, and the range that is asked for |
//! | `searcher` | [`Searcher`]: a block, its index, and the limits of queries |
//! | `indexed_block` | [`IndexedBlock`]: an open block and its index, in one object |
//! | `lists` | the lists that rows end in, and the series of each row |
//! | `runs` | the lists of neighbouring rows and their members, read at once; `list_cache` keeps what they share |
//! | `route` | the way from a row to the value of one label |
//! | `columns` | [`ColumnReader`]: codes of labels of ranges of series, by whole runs; postings are made from them |

mod columns;
pub(crate) mod index;
mod indexed_block;
mod list_cache;
pub(crate) mod lists;
pub(crate) mod postings;
pub(crate) mod route;
pub(crate) mod row_set;
pub(crate) mod runs;
pub(crate) mod scan;
mod searcher;
pub(crate) mod times;

pub use columns::{CodeColumn, CodeCounts, ColumnReader};
pub use index::Index;
pub use indexed_block::IndexedBlock;
pub use searcher::Searcher;
