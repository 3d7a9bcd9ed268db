//! [`Options`] of a report.

use chronoxide_select::Selector;
use chronoxide_usage::Queries;

/// Options of a report.
#[derive(Clone, Copy, Debug)]
pub struct Options<'o> {
    /// Count the series that match at least one of these; all series without any.
    pub selectors: &'o [Selector],
    /// Number of metrics to list: the first by series and the first by bytes.
    pub first: usize,
    /// Refuse a merge of blocks that could need more bytes of memory; `None` for no limit. The merged block and the
    /// counts are not included.
    pub memory_limit: Option<usize>,
    /// Queries that may use the counted metrics and labels.
    pub queries: Option<&'o Queries>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { selectors: &[], first: 100, memory_limit: None, queries: None }
    }
}
