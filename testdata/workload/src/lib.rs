//! A frozen, generated workload of OTLP metrics.

mod adversary;
mod attribute;
pub mod encode;
mod fleet;
pub mod labelset;
pub mod options;
mod random;
pub mod statistics;
mod telemetry;
pub mod workload;

pub use encode::{Format, write};
pub use labelset::{Label, Labelset, visit_labelsets};
pub use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
pub use options::{Options, OptionsError, Set};
pub use statistics::Statistics;
pub use workload::{Requests, Workload};
