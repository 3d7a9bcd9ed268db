//! Counts, differences, exports and reports of the labels of one or more blocks: the library behind
//! `chronoxide-inspect`, beside `chronoxide`, which answers its queries, and `chronoxide-dump`, which shows the content
//! of one block.
//!
//! | module | contents |
//! |---|---|
//! | [`query`] | the largest counts, and differences, of one or more blocks |
//! | [`export`] | series as a Parquet, Arrow, CSV or JSON lines file |
//! | [`report`] | what multiplies series, and what to drop |
//! | `error` | [`InspectError`] |

mod error;
pub mod export;
pub mod query;
pub mod report;

pub use error::InspectError;
