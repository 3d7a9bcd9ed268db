//! From the parts of records to series: [`Assembler`].
//!
//! # The labels of a point
//!
//! A data point of OTLP has these labels; one series per distinct labelset, so a histogram is one series unless
//! [expanded](AssembleOptions::classic_histograms):
//!
//! 1. `__name__`, the name of its metric
//! 2. the point's attributes
//! 3. the scope's name and version, as `otel_scope_name` and `otel_scope_version`, and its attributes
//! 4. the resource's attributes
//!
//! Where two have the same name, the one further up in this list wins. Within one level the last one wins, and a
//! scope's name and version win over attributes of those names. Keys are taken as they are, dots and all, unless
//! [translated](AssembleOptions::prometheus_names). What the metric itself gives to its series besides its name (`le`,
//! `__type__`) wins over all attributes.
//!
//! Names and values are cut by the [label policy](chronoxide_format::policy) first; should two names become the same
//! by it, they are the same name from then on. An empty value is no label, and is dropped last: an empty attribute of
//! a point leaves the point without a label that its resource would give it, as setting a label to nothing does in
//! Prometheus.
//!
//! # Labels of Prometheus
//!
//! With [`prometheus_names`](AssembleOptions::prometheus_names) series of OTLP have the labels that Prometheus's OTLP receiver gives
//! them, so that one series has one labelset whichever way it came. From strong to weak:
//!
//! 1. `__name__`, `le`, `quantile`, `__type__` and `__unit__`
//! 2. `otel_scope_name`, `otel_scope_version`, `otel_scope_schema_url`, and `otel_scope_` before each attribute of the scope, if the
//!    scope has a name (Prometheus: `promote_scope_metadata`)
//! 3. `instance`, which is `service.instance.id`; and `job`, which is `service.name`, after `service.namespace` and `/` if it has that
//! 4. the point's attributes. Values of attributes that get one name are joined with `;`, in the order of their names before
//! 5. [promoted](AssembleOptions::promote_resource_attributes) attributes of the resource
//!
//! The other attributes of the resource are labels of one series `target_info` with the same `job` and `instance`, which has points
//! from the first to the last one of the resource.
//!
//! # Blocks
//!
//! Series are kept in one store, whatever window they are in; a window is a set of them. What is kept is sealed, a block
//! for each window, and the store begins anew, when there are as many series or as much memory is used as the options
//! say, and at the end. So memory does not grow with the stream. A series that comes again after that is in two blocks,
//! which a compaction makes one.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `options` | how series are collected and cut into blocks |
//! | `blocks` | blocks as they are sealed, and who takes them |
//! | `attributes` | the attributes of one level |
//! | `recall` | attributes that came before |
//! | `windows` | which series are in which window |
//! | `input_window` | the window that inputs have by themselves |
//! | `memory` | memory that collecting and sealing take |
//! | `metrics` | the metadata of metrics |
//! | `assembler` | [`Assembler`]: labels to series, series to blocks |
//! | `otlp` | what it makes of the parts of OTLP |
//! | `untranslated` | attributes before they become labels of Prometheus |
//! | `prometheus_labels` | labels of Prometheus's OTLP receiver |
//! | `series` | what it makes of series |
//! | `error` | why collecting stops |

mod assembler;
mod attributes;
mod blocks;
mod error;
mod input_window;
mod memory;
mod metrics;
mod options;
mod otlp;
mod prometheus_labels;
mod recall;
mod series;
#[cfg(test)]
mod tests;
mod untranslated;
mod windows;

pub use assembler::Assembler;
pub use blocks::{BlockSink, SealedBlock};
pub use error::AssembleError;
pub use options::{AssembleOptions, DEFAULT_MAX_BLOCKS, DEFAULT_MAX_WINDOWS};
