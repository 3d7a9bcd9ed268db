//! Columns of many series, read by whole runs: [`ColumnReader`].

mod cache;
mod code_column;
mod code_counts;
mod post;
mod reader;

pub use code_column::CodeColumn;
pub use code_counts::CodeCounts;
pub use reader::ColumnReader;

/// Receives the value codes of one label of consecutive series.
trait CodeSink {
    /// Adds series without the label.
    fn push_absent(&mut self, count: u32);

    /// Adds one code per series.
    fn push_codes(&mut self, codes: &[u32]);

    /// Adds each code for as many series as its run is long.
    fn push_runs(&mut self, runs: &[u32], codes: &[u32]);
}
