//! Decoders of Parquet files and Arrow IPC.
//!
//! | module | contents |
//! | --- | --- |
//! | `schema` | columns of a schema that are labels |
//! | `layout` | meaning of columns in tables of other programs |
//! | `texts` | texts of a column |
//! | `values` | series columns and their values |
//! | `entries` | entries of a column of maps |
//! | `rows` | rows of a batch to series |
//! | `ipc` | messages of Arrow IPC |
//! | `arrow_file` | Arrow files by their footers |
//! | `body` | sizes that a message claims |
//! | `parquet` | Parquet files |
//! | `guard` | panics of decoders as errors |

mod arrow_file;
mod body;
mod entries;
mod guard;
mod ipc;
mod layout;
mod parquet;
mod rows;
mod schema;
mod texts;
mod values;

pub(crate) use arrow_file::ArrowFile;
pub use guard::silence_guarded_panics;
pub(crate) use ipc::{MessageDecoder, body_len, is_schema};
pub(crate) use parquet::ParquetFile;
