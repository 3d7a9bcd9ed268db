//! Assembles series from parts of records, and blocks from series: [`Assembler`].
//!
//! # The labels of a point
//!
//! A data point of OTLP has these labels. Each distinct labelset is one series, so a histogram is one series unless it
//! is [expanded](AssembleOptions::classic_histograms):
//!
//! 1. `__name__`, the name of the metric
//! 2. attributes of the point
//! 3. name and version of the scope, as `otel_scope_name` and `otel_scope_version`, and its attributes
//! 4. attributes of the resource
//!
//! If two labels have the same name, the one further up in this list wins. Within one level the last one wins, and name
//! and version of the scope win over attributes of those names. Keys are not changed unless they are
//! [translated](AssembleOptions::prometheus_names). Labels that the metric adds besides its name (`le`, `__type__`) win
//! over all attributes.
//!
//! Labels of the input, such as those of its path, come last.
//!
//! The [label policy](chronoxide_format::policy) truncates names and values first; names that become equal are the same
//! name. Empty values are dropped last: an empty attribute of a point removes the label of its resource with that name,
//! as setting a label to the empty string does in Prometheus.
//!
//! # Labels of Prometheus
//!
//! With [`prometheus_names`](AssembleOptions::prometheus_names) series of OTLP get the labels of Prometheus's OTLP
//! receiver, so that a series has the same labels on both ways. By precedence:
//!
//! 1. `__name__`, `le`, `quantile`, `__type__` and `__unit__`
//! 2. `otel_scope_name`, `otel_scope_version`, `otel_scope_schema_url`, and attributes of the scope with the prefix
//!    `otel_scope_`, if the scope has a name (Prometheus: `promote_scope_metadata`)
//! 3. `instance` from `service.instance.id`; `job` from `service.name`, or `service.namespace`, `/` and `service.name`
//! 4. attributes of the point; values of attributes that get the same name are joined with `;`, in order of the
//!    original names
//! 5. [promoted](AssembleOptions::promote_resource_attributes) attributes of the resource
//!
//! The other attributes of the resource are labels of one series `target_info` with the same `job` and `instance`. It
//! has points from the first to the last point of the resource.
//!
//! # Blocks
//!
//! One store holds the series of all windows; a window is a set of series. At a cut, each window is sealed into a block
//! and the store starts anew. A cut happens when the number of series or the memory reaches its limit, and at the end.
//! Memory is therefore bounded for streams of any length. A series that recurs after a cut is in two blocks, which a
//! compaction merges.
//!
//! With [`time_step`](AssembleOptions::time_step), a window also keeps the first and last time of its series, and its
//! block has them as columns. Values of series columns of the inputs are kept and written in the same way: each window
//! in which a row has its time gets the values of the row.
//!
//! # Caches
//!
//! Sources repeat themselves, so the assembler remembers what it saw last. Each cache pays by itself: without it, the
//! benchmark `ingest` (100,000 series) takes longer by this factor.
//!
//! | cache | of | input | known series | new series |
//! | --- | --- | --- | ---: | ---: |
//! | `lists` | the labels of a list of attributes, by its bytes | OTLP as protobuf | 1.8 | 1.3 |
//! | `template` | the row of the point before | OTLP as protobuf | 1.25 | 1.1 |
//! | `neighbours` | the attributes of the series before, by position | series as JSON | 1.45 | 1.5 |
//!
//! # Modules
//!
//! | module | contents |
//! | --- | --- |
//! | `options` | options of assembling |
//! | `blocks` | sealed blocks and their sink |
//! | `cut` | the series of a store, which become blocks |
//! | `sealer` | sealing on another thread |
//! | `attributes` | the attributes of one level |
//! | `neighbours` | attributes of the last resource, scope and point |
//! | `lists` | cache of encoded lists of attributes |
//! | `template` | row that the points of a metric share |
//! | `windows` | the series of each window |
//! | `series_times` | first and last time of each series of a window |
//! | `series_values` | series columns of the inputs, and their values in a window |
//! | `input_labels` | labels of the inputs, for series that lack them |
//! | `input_window` | the window of the inputs |
//! | `memory` | memory of assembling and sealing |
//! | `metrics` | metadata of metrics |
//! | `families` | metadata of the metric families of an input, for labels of the series that follow |
//! | `assembler` | [`Assembler`]: labels to series, series to blocks |
//! | `otlp` | requests of OTLP |
//! | `untranslated` | attributes before they become labels of Prometheus |
//! | `prometheus_labels` | labels of Prometheus's OTLP receiver |
//! | `series` | the sink of series |
//! | `error` | errors of assembling |

mod assembler;
mod attributes;
mod blocks;
mod cut;
mod error;
mod families;
mod input_labels;
mod input_window;
mod lists;
mod memory;
mod metrics;
mod neighbours;
mod options;
mod otlp;
mod prometheus_labels;
mod sealer;
mod series;
mod series_times;
mod series_values;
mod template;
#[cfg(test)]
mod tests;
mod untranslated;
mod windows;

pub use assembler::Assembler;
pub use blocks::{BlockSink, SealedBlock};
pub use error::AssembleError;
pub use options::{AssembleOptions, DEFAULT_MAX_BLOCKS, DEFAULT_MAX_SYMBOLS, DEFAULT_MAX_WINDOWS};
