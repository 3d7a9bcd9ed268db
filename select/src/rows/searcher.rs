//! [`Searcher`]: a block, its index, and the limits of the queries that read them.

use chronoxide_format::KeyId;
use chronoxide_format::view::{BlockView, TimeRange};

use crate::rows::index::Index;
use crate::{Limits, SelectError};

/// Queries a block: which series match, what values a label has, and how series fall into groups.
///
/// Made from a view and its [`Index`] at no cost, for one query or for many. [`select`](crate::select) is the short
/// way for a single query.
///
/// ```
/// use chronoxide_reader::{Block, Checks};
/// use chronoxide_select::{Index, Limits, Searcher, Selector};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
/// let block = Block::read(path, Checks::Lazy)?;
/// let view = block.view();
/// let index = Index::new(&view)?;
/// let searcher = Searcher::new(&view, &index).with_limits(Limits::default().with_max_series(1000));
/// let selector: Selector = r#"up{job="db"}"#.parse()?;
/// for series in &searcher.select(selector.matchers())? {
///     println!("{:?}", view.series(series)?.map(|series| series.label_count()));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Searcher<'a, 'data> {
    pub(crate) view: &'a BlockView<'data>,
    pub(crate) index: &'a Index,
    pub(crate) limits: Limits<'a>,
    /// Time range of the series that are selected.
    pub(crate) time: Option<TimeRange>,
}

impl<'a, 'data> Searcher<'a, 'data> {
    /// Combines a view and an index of the same block.
    #[must_use]
    pub fn new(view: &'a BlockView<'data>, index: &'a Index) -> Self {
        Self { view, index, limits: Limits::default(), time: None }
    }

    /// Returns the view.
    #[must_use]
    pub fn view(&self) -> &'a BlockView<'data> {
        self.view
    }

    /// Sets the limits of the queries that follow. The time limit counts from [`Limits::with_timeout`], not from each
    /// query: set new limits for each.
    #[must_use]
    pub fn with_limits(self, limits: Limits<'a>) -> Self {
        Self { limits, ..self }
    }

    /// Returns the key with a name, which is cut by the label policy of the block as its labels were.
    pub(crate) fn key(&self, name: &[u8]) -> Result<Option<KeyId>, SelectError> {
        let policy = self.view.meta()?.policy();
        match policy.name_bytes(name) {
            Some(name) => Ok(self.index.key(self.view, &name)?),
            None => Ok(None),
        }
    }
}
