//! Series columns: a value per series (COLUMNS.md).
//!
//! | module | contents |
//! |---|---|
//! | `numbers` | [`Numbers`]: an array of numbers in groups |
//! | `texts` | [`TextRun`]: texts that are read in order |
//! | `column` | [`SeriesColumn`]: values of one column |
//! | `filter` | [`ValueFilter`]: series with some values |

mod column;
mod filter;
mod numbers;
mod texts;

pub use column::{SeriesColumn, SeriesColumns};
pub use filter::ValueFilter;
pub(crate) use numbers::{GROUP_LEN, Group, Numbers};
