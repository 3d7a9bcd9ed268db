//! From a row to its labels.
//!
//! | module | contents |
//! |---|---|
//! | `walk` | the labels of a row, each with the column that holds it |
//! | `table_keys` | [`TableKeys`]: the keys of a table |
//! | `label` | labels as ids, bytes and text |
//! | `series` | [`Series`]: labels of a series |
//! | `text` | [`Text`]: labels as `&str` |
//! | `label_cache` | names and values of labels, cached |
//! | `fields` | where the codes of labels are stored, cached |
//! | `resolver` | [`Resolver`]: labels of many series |

mod fields;
mod label;
mod label_cache;
mod resolver;
mod series;
mod table_keys;
mod text;
mod walk;

pub use label::{Label, LabelIds, TextLabel};
pub use resolver::Resolver;
pub(crate) use series::compare_keys;
pub use series::{KeysetSeries, LabelIdsIter, Labels, Series, SeriesIter};
pub use table_keys::TableKeys;
pub use text::{Text, TextLabels};
