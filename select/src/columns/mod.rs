//! Columns of many series, read by whole runs: [`ColumnReader`].

mod cache;
mod code_column;
mod reader;

pub use code_column::CodeColumn;
pub use reader::ColumnReader;
