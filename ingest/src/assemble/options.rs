//! Options of assembling series into blocks.

use std::num::{NonZeroU64, NonZeroUsize};

use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::TimeRange;
use chronoxide_labels::Layout;

/// Default of [`AssembleOptions::max_windows`]. A year has 8,760 hours.
pub const DEFAULT_MAX_WINDOWS: usize = 10_000;

/// Default of [`AssembleOptions::max_blocks`].
pub const DEFAULT_MAX_BLOCKS: u64 = 20_000;

/// Default of [`AssembleOptions::max_symbols`]. A store has at most 2^32 - 1 symbols, and a series takes some of them.
pub const DEFAULT_MAX_SYMBOLS: u32 = u32::MAX - (1 << 24);

/// Options of [`Assembler`](super::Assembler).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssembleOptions {
    /// Maximum lengths of names and values.
    pub policy: LabelPolicy,
    /// Layout of the blocks.
    pub layout: Layout,
    /// If true, blocks are archives: their arena is packed.
    pub archive: bool,
    /// External labels of each block, sorted by name.
    pub external_labels: Vec<(String, String)>,
    /// Annotations of each block, sorted by key.
    pub annotations: Vec<(String, String)>,
    /// Length of a window in nanoseconds. Windows start at its multiples since 1970. If `None`, blocks are not cut by
    /// time.
    pub window: Option<NonZeroU64>,
    /// If true, each input with a window, such as a block of Prometheus's TSDB, gets its own blocks with that window.
    /// If false, the window of a block is the union of the windows of its inputs, if all have one. Ignored if `window`
    /// is set.
    pub separate_input_windows: bool,
    /// Time of series without timestamps.
    pub time: Option<TimeRange>,
    /// If set, blocks have the first and last time of each series in the columns `chronoxide.first_time` and
    /// `chronoxide.last_time`, rounded outwards to multiples of this many nanoseconds, at most `i64::MAX`. Points
    /// without a time do not count, and a series without any time has no values. Costs 16 bytes of memory per series
    /// and window.
    pub time_step: Option<NonZeroU64>,
    /// Maximum number of series per block.
    pub max_series: u32,
    /// Number of distinct names and values of a store after which another block begins. A store has no more keys,
    /// values of a key, or dictionary rows than these. Ignored for one block: its store is full later, which is an
    /// error.
    pub max_symbols: u32,
    /// Maximum number of windows. Exceeding it is an error.
    pub max_windows: usize,
    /// Maximum number of blocks. Exceeding it is an error.
    pub max_blocks: u64,
    /// Maximum memory of assembling and sealing in bytes, including the block. Series are sealed before the limit is
    /// exceeded. No limit if `None`.
    pub max_memory: Option<usize>,
    /// Number of threads that plan a block, at most 8; if `None`, one per core. Unless it is 1, a store that is full is
    /// sealed on another thread while the next one fills. `max_memory` holds for both: a store takes three quarters of
    /// it, on any number of threads.
    pub threads: Option<NonZeroUsize>,
    /// If true, reaching `max_memory` is an error: everything goes into one block.
    pub one_block: bool,
    /// If true, expand histograms and summaries to classic Prometheus series: `_bucket` with `le`, `_sum`, `_count`,
    /// and one series per `quantile`. Exponential histograms remain one series, as in Prometheus.
    pub classic_histograms: bool,
    /// If true, series of OTLP get the [names](crate::names) and labels of Prometheus's OTLP receiver: see
    /// [labels of Prometheus](super#labels-of-prometheus).
    pub prometheus_names: bool,
    /// Resource attributes that `prometheus_names` adds to each series.
    pub promote_resource_attributes: Vec<String>,
    /// If true, add the labels `__type__` and `__unit__` of Prometheus to series whose type and unit are known.
    pub type_and_unit_labels: bool,
    /// If true, store type, unit, description, temporality and monotonicity of metrics in blocks.
    pub keep_metadata: bool,
    /// If true, also seal each block in the other layouts, for comparison.
    pub compare_layouts: bool,
    /// If true, a text that is not UTF-8 costs the points and series that it belongs to, and not its record.
    pub skip_invalid_texts: bool,
}

impl Default for AssembleOptions {
    fn default() -> Self {
        Self {
            policy: LabelPolicy::default(),
            layout: Layout::default(),
            archive: false,
            external_labels: Vec::new(),
            annotations: Vec::new(),
            window: None,
            separate_input_windows: false,
            time: None,
            time_step: None,
            max_series: u32::MAX,
            max_symbols: DEFAULT_MAX_SYMBOLS,
            max_windows: DEFAULT_MAX_WINDOWS,
            max_blocks: DEFAULT_MAX_BLOCKS,
            max_memory: None,
            threads: None,
            one_block: false,
            classic_histograms: false,
            prometheus_names: false,
            promote_resource_attributes: Vec::new(),
            type_and_unit_labels: false,
            keep_metadata: true,
            compare_layouts: false,
            skip_invalid_texts: false,
        }
    }
}
