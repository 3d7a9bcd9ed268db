//! [`Opened`]: open blocks, and what classes of blocks and folders have in common.

use std::sync::{Arc, OnceLock};

use chronoxide::{Blocks, Query, Selection, Selector};
use chronoxide_datafusion::SeriesTable;
use pyo3::prelude::*;

use crate::errors::{Raise, SelectorError};
use crate::table::Rows;

/// Open blocks, and their table of DataFusion when it was needed.
pub(crate) struct Opened {
    pub(crate) blocks: Blocks,
    /// Made by the first query that needs it.
    table: OnceLock<SeriesTable>,
}

/// Series that are asked for: those that a selector selects, all if there is none, with data in a time range.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) selector: Option<&'a str>,
    pub(crate) between: Option<(i64, i64)>,
}

impl Opened {
    pub(crate) fn new(blocks: Blocks) -> Arc<Self> {
        Arc::new(Self { blocks, table: OnceLock::new() })
    }

    /// Returns the blocks as a table of DataFusion. The first call makes their indexes.
    pub(crate) fn table(&self) -> PyResult<&SeriesTable> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        // Two threads may both make it, which is harmless.
        let made = SeriesTable::new(&self.blocks).map_err(Raise::raise)?;
        Ok(self.table.get_or_init(|| made))
    }

    /// Answers a query.
    pub(crate) fn ask<'o, T: Send>(
        &'o self,
        py: Python<'_>,
        asked: Asked<'_>,
        answer: impl FnOnce(Query<'o>) -> Result<T, chronoxide::Error> + Send,
    ) -> PyResult<T> {
        let selector = parse(asked.selector)?;
        let query = || {
            let query = self.blocks.query(selector)?;
            answer(match asked.between {
                Some((start, end)) => query.between(start, end),
                None => query,
            })
        };
        py.detach(query).map_err(Raise::raise)
    }

    pub(crate) fn select(&self, py: Python<'_>, asked: Asked<'_>, max_memory: Option<u64>) -> PyResult<Selection> {
        self.ask(py, asked, |query| match max_memory {
            Some(max_memory) => query.max_memory(max_memory).select(),
            None => query.select(),
        })
    }

    pub(crate) fn label_names(&self, py: Python<'_>, asked: Asked<'_>) -> PyResult<Vec<String>> {
        self.ask(py, asked, |query| Ok(owned(query.label_names()?)))
    }

    pub(crate) fn label_values(
        &self,
        py: Python<'_>,
        name: &str,
        asked: Asked<'_>,
        limit: Option<usize>,
    ) -> PyResult<Vec<String>> {
        self.ask(py, asked, |query| Ok(owned(query.max_strings(limit.unwrap_or(usize::MAX)).label_values(name)?)))
    }

    pub(crate) fn verify(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.blocks.verify()).map_err(Raise::raise)
    }

    /// Returns the number of series, summed over the blocks.
    pub(crate) fn series_count(&self) -> PyResult<usize> {
        let count = self.blocks.iter().map(|block| Ok(block?.series_count as usize)).sum::<Result<usize, _>>();
        count.map_err(|error: chronoxide::Error| error.raise())
    }
}

impl Rows for Opened {
    fn selection(&self) -> PyResult<Selection> {
        self.blocks.query("{}").and_then(|query| query.select()).map_err(Raise::raise)
    }
}

fn owned(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

/// Parses a selector; `None` selects all series.
pub(crate) fn parse(selector: Option<&str>) -> PyResult<Selector> {
    let Some(text) = selector else { return Ok(Selector::default()) };
    text.parse().map_err(|error: chronoxide::Error| SelectorError::new_err(error.to_string()))
}
