//! [`Difference`]: series that only one of two queries selects.

use chronoxide_select::BlockSelection;

use crate::{Cardinality, Error, Query, Selection};

/// Series of two queries, compared by their labels, byte by byte.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference<'b> {
    /// Series that both select, each once, in the blocks of the first.
    pub same: Selection,
    /// Series that the first alone selects, each once.
    pub gone: Selection,
    /// Their labels.
    pub gone_labels: Cardinality<'b>,
    /// Series that the second alone selects, each once.
    pub came: Selection,
    /// Their labels.
    pub came_labels: Cardinality<'b>,
}

impl<'b> Query<'b> {
    /// Compares the selected series with those of a later query, of other blocks or of the same.
    ///
    /// ```
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden");
    /// # let [monday, tuesday] = ["plain-bitpacked.cx", "lists-bitpacked.cx"].map(|name| format!("{folder}/{name}"));
    /// let (before, after) = (chronoxide::Blocks::open(monday)?, chronoxide::Blocks::open(tuesday)?);
    /// let difference = before.query("{}")?.difference(&after.query("{}")?)?;
    /// for (metric, series) in &difference.came_labels.values["__name__"] {
    ///     println!("{metric}: {series} new series");
    /// }
    /// assert_eq!(difference.same.len() + difference.came.len(), after.query("{}")?.count()?);
    /// # Ok::<(), chronoxide::Error>(())
    /// ```
    ///
    /// Series are compared by hashes, as counts of several blocks are: costs some 100 ns per series and block, on all
    /// threads, and some 40 bytes of memory per distinct series, up to [`Query::max_memory`]. The limits are those of
    /// this query.
    ///
    /// # Errors
    /// As [`Query::series`], for both queries.
    pub fn difference(&self, after: &Self) -> Result<Difference<'b>, Error> {
        let queries = [self.start(), after.start()];
        let [before, later] = [self.found(&queries[0])?, after.found(&queries[1])?];
        let found = queries[0].difference(&before, (&queries[1], &later), Cardinality::series_of_block)?;
        let [failed, failed_later] = found.failed;
        self.accept(failed)?;
        after.accept(failed_later)?;
        let side = |query: &Self, found: Vec<(BlockSelection, Cardinality<'b>)>| {
            let (series, labels): (Vec<_>, Vec<_>) = found.into_iter().unzip();
            (Selection::new(query.blocks, &series), Cardinality::sum(labels))
        };
        let ((gone, gone_labels), (came, came_labels)) = (side(self, found.gone), side(after, found.came));
        Ok(Difference { same: Selection::new(self.blocks, &found.same), gone, gone_labels, came, came_labels })
    }
}
