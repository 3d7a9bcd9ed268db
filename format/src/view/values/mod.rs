//! Series columns: a value per series (COLUMNS.md).
//!
//! | module | contents |
//! |---|---|
//! | `numbers` | [`Numbers`]: an array of numbers in groups |
//! | `column` | [`SeriesColumn`]: values of one column |

mod column;
mod numbers;

pub use column::{SeriesColumn, SeriesColumns};
pub(crate) use numbers::{GROUP_LEN, Group, Numbers};
