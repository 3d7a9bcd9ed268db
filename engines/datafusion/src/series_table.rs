//! [`SeriesTable`]: blocks as a table.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use chronoxide::{Blocks, OpenOptions, ValueType};
use chronoxide_arrow::{BlockTable, Column, ColumnContent, Strings, schema};
use chronoxide_select::{Limits, Selection};
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::error::external;
use crate::predicate::{Predicate, is_exact};
use crate::series_exec::SeriesExec;

/// Blocks as a table of DataFusion: a row per series and block. See the [crate] for its columns and filters.
///
/// Keeps the blocks open. A table of a folder is a snapshot: make it again to see new blocks.
#[derive(Clone, Debug)]
pub struct SeriesTable {
    blocks: Arc<[BlockTable]>,
    columns: Arc<[Column]>,
    strings: Strings,
    schema: SchemaRef,
    /// Maximum memory of the refs of the series that a query selects, in bytes.
    max_memory: u64,
}

impl SeriesTable {
    /// Makes a table of blocks. That of a folder has a column `block`.
    ///
    /// # Errors
    /// `External` if a block is damaged in a byte that was read.
    pub fn new(blocks: &Blocks) -> Result<Self> {
        let tables = blocks.tables().map_err(external)?;
        let mut names = BTreeSet::new();
        for table in &tables {
            names.extend(table.label_names().map_err(external)?);
        }
        let own = blocks.is_folder().then(Column::block_id).into_iter().chain([Column::series_ref()]);
        let mut own: Vec<Column> = own.collect();
        for column in blocks.columns().map_err(external)? {
            let values = Column::values(column.name, column.value_type);
            let values = match (column.name, column.value_type) {
                (Blocks::FIRST_TIME, ValueType::I64) => values.with_name("first_time"),
                (Blocks::LAST_TIME, ValueType::I64) => values.with_name("last_time"),
                _ => values,
            };
            let taken: Vec<String> = own.iter().map(|own| own.name().to_owned()).collect();
            own.push(values.beside(taken.iter().map(String::as_str)));
        }
        let columns = Column::with_labels(own, names.into_iter().collect());
        // Tables are handed to DataFusion of other languages, too.
        let columns: Vec<Column> = columns.into_iter().map(Column::without_nul).collect();
        // Most operators of DataFusion have a fast path for views, and none for dictionaries.
        Self::with_columns(tables, columns, Strings::View)
    }

    /// Makes a table of a block, or of the live blocks of a folder or of a location in an object store, by its path or
    /// URL. A URL that ends in `.cx` names a block.
    ///
    /// # Errors
    /// As [`SeriesTable::new`], and errors of reading files and of the object store.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Self::new(&options.open(path).map_err(external)?)
    }

    /// Makes a table with some of the columns of the blocks.
    pub(crate) fn with_columns(blocks: Vec<BlockTable>, columns: Vec<Column>, strings: Strings) -> Result<Self> {
        let (schema, max_memory) = (schema(&columns, strings).map_err(external)?, Limits::DEFAULT_MAX_MEMORY);
        Ok(Self { blocks: blocks.into(), columns: columns.into(), strings, schema, max_memory })
    }

    /// Sets the type of columns of labels. With dictionaries, `GROUP BY` of DataFusion 55 takes 1.1 to 1.8 times as
    /// long, for 2 to 7,699 values of a label in a million series: they are for consumers that keep them.
    ///
    /// # Errors
    /// The schema cannot be made, which has no known cause: the columns are those of the table.
    pub fn with_strings(self, strings: Strings) -> Result<Self> {
        let schema = schema(&self.columns, strings).map_err(external)?;
        Ok(Self { strings, schema, ..self })
    }

    /// Sets the maximum memory of the refs of the series that a query selects from all blocks, in bytes, instead of
    /// [`Limits::DEFAULT_MAX_MEMORY`]: see [`Limits::with_max_memory`]. A query with `LIMIT` selects no more than its
    /// rows.
    #[must_use]
    pub fn with_max_memory(self, max_memory: u64) -> Self {
        Self { max_memory, ..self }
    }

    /// Returns the columns, as in the schema.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the blocks.
    #[must_use]
    pub fn blocks(&self) -> &[BlockTable] {
        &self.blocks
    }

    /// Returns the plan that reads columns of the series that satisfy conditions that were pushed to this table, or of
    /// the first of them.
    pub(crate) fn read(
        &self,
        columns: Vec<Column>,
        filters: &[Expr],
        limit: Option<usize>,
        state: &dyn Session,
    ) -> Result<SeriesExec> {
        let predicate = Predicate::new(&self.schema, filters, |name| self.content(name))?;
        let mut selected = Vec::with_capacity(self.blocks.len());
        let reserved = AtomicU64::new(0);
        let limits = self.limits().with_shared_memory(&reserved);
        let mut left = limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
        for block in &*self.blocks {
            let series = match left {
                Some(0) => Selection::default(),
                first => predicate.select(block, self.strings, first, limits)?,
            };
            left = left.map(|left| left.saturating_sub(series.count()));
            selected.push((block.clone(), series));
        }
        let partitions = state.config().target_partitions();
        let exec = SeriesExec::new(self.clone(), filters.to_vec(), columns, selected, partitions)?;
        match limit {
            Some(limit) => exec.limited_to(limit),
            None => Ok(exec),
        }
    }

    /// Returns the series of a block that satisfy conditions that were pushed to this table.
    pub(crate) fn select(&self, block: &BlockTable, filters: &[Expr]) -> Result<Selection> {
        Predicate::new(&self.schema, filters, |name| self.content(name))?.select(
            block,
            self.strings,
            None,
            self.limits(),
        )
    }

    /// Returns the maximum memory of the refs of the series that a query selects, in bytes.
    #[cfg(feature = "distributed")]
    pub(crate) fn max_memory(&self) -> u64 {
        self.max_memory
    }

    /// Returns the limits of a query.
    pub(crate) fn limits(&self) -> Limits<'static> {
        Limits::default().with_max_memory(self.max_memory)
    }

    /// Returns the content of a column.
    pub(crate) fn content(&self, name: &str) -> Option<&ColumnContent> {
        self.column(name).map(Column::content)
    }

    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name() == name)
    }

    /// Returns the type of columns of labels.
    pub(crate) fn strings(&self) -> Strings {
        self.strings
    }
}

#[async_trait]
impl TableProvider for SeriesTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match is_exact(filter, |name| self.content(name)) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns = match projection {
            None => self.columns.to_vec(),
            Some(projection) => projection.iter().filter_map(|&place| self.columns.get(place).cloned()).collect(),
        };
        Ok(Arc::new(self.read(columns, filters, limit, state)?))
    }
}
