//! How series are collected and cut into blocks.

use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::TimeRange;
use chronoxide_labels::Layout;
use std::num::NonZeroU64;

/// Default of [`AssembleOptions::max_windows`]: more than a year of hours.
pub const DEFAULT_MAX_WINDOWS: usize = 10_000;

/// Default of [`AssembleOptions::max_blocks`].
pub const DEFAULT_MAX_BLOCKS: u64 = 20_000;

/// How series are collected and cut into blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssembleOptions {
    /// How long names and values may be.
    pub policy: LabelPolicy,
    /// How blocks are laid out.
    pub layout: Layout,
    /// Labels of each block as a whole, in the order of their names.
    pub external_labels: Vec<(String, String)>,
    /// Pairs of each block, in the order of their keys.
    pub annotations: Vec<(String, String)>,
    /// Nanoseconds of a window; windows start at multiples of it since 1970. One block for all times if none.
    pub window: Option<NonZeroU64>,
    /// Whether each input that has a window, as blocks of Prometheus's TSDB do, becomes blocks of its own with that window. If
    /// not, the window of a block is the union of those of its inputs, if all have one. Without effect if `window` is set.
    pub separate_input_windows: bool,
    /// When series were seen whose input does not say so.
    pub time: Option<TimeRange>,
    /// The most series of a block.
    pub max_series: u32,
    /// Windows that all points may lie in; more are an error.
    pub max_windows: usize,
    /// Blocks that may be made; more are an error.
    pub max_blocks: u64,
    /// Bytes of memory for collecting and sealing, the block included. What was collected is sealed before more would
    /// be needed. No limit if `None`.
    pub max_memory: Option<usize>,
    /// If true, reaching `max_memory` is an error: everything goes into one block.
    pub one_block: bool,
    /// Whether histograms and summaries become the series that Prometheus has for them: `_bucket` with `le`, `_sum` and
    /// `_count`, and one for each `quantile`. Exponential histograms stay what they are, as in Prometheus.
    pub classic_histograms: bool,
    /// Whether series of OTLP have the [names](crate::names) and labels that Prometheus's OTLP receiver gives them: see
    /// [the assembler](super#labels-of-prometheus).
    pub prometheus_names: bool,
    /// Resource attributes that become labels of each series with `prometheus_names`.
    pub promote_resource_attributes: Vec<String>,
    /// Whether series get the labels `__type__` and `__unit__`, as Prometheus gives them, where these are known.
    pub type_and_unit_labels: bool,
    /// Whether blocks keep type, unit, description, temporality and monotonicity of metrics.
    pub keep_metadata: bool,
    /// Whether each block is also sealed in the other layouts, for comparison.
    pub compare_layouts: bool,
}

impl Default for AssembleOptions {
    fn default() -> Self {
        Self {
            policy: LabelPolicy::default(),
            layout: Layout::default(),
            external_labels: Vec::new(),
            annotations: Vec::new(),
            window: None,
            separate_input_windows: false,
            time: None,
            max_series: u32::MAX,
            max_windows: DEFAULT_MAX_WINDOWS,
            max_blocks: DEFAULT_MAX_BLOCKS,
            max_memory: None,
            one_block: false,
            classic_histograms: false,
            prometheus_names: false,
            promote_resource_attributes: Vec::new(),
            type_and_unit_labels: false,
            keep_metadata: true,
            compare_layouts: false,
        }
    }
}
