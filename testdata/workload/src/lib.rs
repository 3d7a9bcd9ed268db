//! A frozen, generated workload of OTLP metrics.
//!
//! Sizes and speeds must be measured on millions of realistic series, but series of real fleets cannot be published.
//! This workload is generated from a seed and a size: services of some clusters, with the
//! resources of their pods, their instrumentation libraries, metrics and points. From one window to the next, some pods
//! are replaced. It is a stream: memory grows with services and not with series. Tests and benches read it
//! through this library; the command `chronoxide-workload` writes it to files.
//!
//! **It is frozen.** The same options give the same bytes, on every machine and at any time: there is no clock in it,
//! no randomness of a system, and no arithmetic that platforms do differently. Figures of different versions can be
//! compared for this reason alone, so that a change of its bytes is a change of its own, after which all figures are
//! measured again. `tests/frozen.rs` holds it to that. Files of a million series are these:
//!
//! | `--series 1M --format` | bytes | CRC-32 |
//! | --- | ---: | --- |
//! | `otlp-proto` | 216,392,278 | `3ae38703` |
//! | `otlp-json` | 413,890,306 | `9ed604e1` |
//! | `series-json` | 901,424,289 | `b171513c` |
//!
//! It depends on no other crate of the workspace: what it measures cannot change it.
//!
//! # Modules
//!
//! Data flows from the top of this table to its end:
//!
//! | module | content |
//! | --- | --- |
//! | `random` | numbers by coordinates |
//! | [`options`] | size, seed, windows, churn, and the [sets](Set) |
//! | `fleet` | services and pods, with their places and resources |
//! | `telemetry` | instrumentation libraries, metrics, and points with values |
//! | `adversary` | sets that are hard on a format |
//! | [`workload`] | the stream of requests |
//! | [`labelset`] | the labels of the points of a request |
//! | [`encode`] | protobuf, JSON, series as JSON |
//! | [`statistics`] | measures of a workload |
//!
//! # Example
//!
//! ```
//! use chronoxide_workload::{Options, Workload, visit_labelsets};
//!
//! let workload = Workload::new(Options { series: 1_000, windows: 0..2, ..Options::default() })?;
//! let (mut requests, mut points, mut labels) = (0, 0, 0);
//! for request in workload.requests() {
//!     requests += 1;
//!     visit_labelsets(&request, |series| {
//!         points += 1;
//!         labels += series.len();
//!         assert_eq!(series.iter().filter(|(name, _)| *name == "__name__").count(), 1);
//!     });
//! }
//! assert_eq!(points, 2 * 1_000);
//! assert!(requests > 4 && labels > 15 * points);
//! # Ok::<(), chronoxide_workload::OptionsError>(())
//! ```
//!
//! # Measures
//!
//! `cargo run --release -p chronoxide-workload -- --series 1M --describe` prints, for one window:
//!
//! | measure | value |
//! | --- | ---: |
//! | series | 1,000,000 |
//! | pods | 7,699 |
//! | requests | 7,699 |
//! | labels per series | 24.67 |
//! | labels per series, at most | 34 |
//! | label bytes per series | 751.4 |
//! | bytes per name or value, by use | 15.2 |
//! | keysets | 3,578 |
//! | keys | 118 |
//! | distinct strings | 32,935 |
//! | series per distinct string | 30.4 |
//! | bytes per distinct string | 22.6 |
//! | their 10th, 50th, 90th, 99th, 100th percentile | 12, 20, 36, 64, 242 |
//!
//! A series is the labelset of a data point: a histogram is one. Its labels are `__name__`, the attributes of the
//! point, `otel_scope_name` and `otel_scope_version`, and the attributes of the resource; no two of these have a name
//! in common. There are exactly as many as were asked for in each window: a fleet is planned a little larger, and the
//! stream of a window ends when there are enough. Pods report in an order in which those of a service are far apart,
//! and each always at the same time within its interval, so that requests of one scrape are not sorted by time.
//!
//! Some labels depend on others, as in real fleets: a node is in one zone, a zone in one region, a deployment in one
//! namespace. Others do not: pods of one service have not all seen the same errors, so that points are
//! not a product of pods and metrics. A tenth of the services has three quarters of the series. Other seeds give other
//! fleets of the same kind: the seeds 1 to 9 have 23.4 to 25.0 labels per series, and 26 to 31 series per string.
//!
//! One size is not the beginning of another: a larger fleet has larger services. At a hundred thousand series the
//! strings and keysets that all services share weigh more: there are some 18 series per string and 1,700 keysets.
//!
//! Ten million series as protobuf are 2.1 GB, for which the command needs 11 seconds and 6 MB of memory on a shared
//! core of a server.
//!
//! | set | difficulty |
//! | --- | --- |
//! | [`Set::UniqueLabel`] | every series has a string of 32 bytes of its own |
//! | [`Set::TinyKeysets`] | 10,000 keysets, which have a few series each |
//! | [`Set::Wide`] | 500 labels per series; 300 are attributes of the resource |
//! | [`Set::Independent`] | 20 labels, of 2 to 1,000 values each, that say nothing about each other: nothing to factor |

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
