//! `CREATE EXTERNAL TABLE ... STORED AS CHRONOXIDE`.

use std::sync::Arc;

use async_trait::async_trait;
use chronoxide::OpenOptions;
use chronoxide_arrow::Strings;
use chronoxide_select::Limits;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::plan_err;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::Result;
use datafusion::logical_expr::CreateExternalTable;
use datafusion::prelude::SessionContext;

use crate::error::external;
use crate::{CountsOfGroups, LabelNames, LabelValues, RefsOfJoins, Series, SeriesTable};

/// Name of the format in SQL.
const STORED_AS: &str = "CHRONOXIDE";

/// Teaches a session to open blocks: `CREATE EXTERNAL TABLE name STORED AS CHRONOXIDE LOCATION 'path'`, and the table
/// functions `series(path)`, `label_names(path)` and `label_values(path, name)`. Files are read into memory. Joins on
/// refs get [conditions](RefsOfJoins) on the other table, and groups by a label are [counted in codes](CountsOfGroups).
///
/// A path or URL (`s3://`, `gs://`, `az://`, `file://`) names a block, or a folder or location without the blocks that
/// a compaction replaced. Blocks of object stores are fetched into the cache that the environment names. The option
/// `strings` is `view` (default) or `dictionary`: the type of the columns of labels. The option `max_memory` sets the
/// maximum memory of the refs of the series that a query selects, in bytes: see [`SeriesTable::with_max_memory`].
pub fn register(context: &SessionContext) {
    register_with(context, &OpenOptions::new());
}

/// Like [`register`], with options by which files are opened, such as [`OpenOptions::map`].
pub fn register_with(context: &SessionContext, options: &OpenOptions) {
    let factory = Arc::new(SeriesTableFactory::new(options.clone()));
    context.state_ref().write().table_factories_mut().insert(STORED_AS.to_owned(), factory);
    context.add_optimizer_rule(Arc::new(CountsOfGroups));
    context.add_optimizer_rule(Arc::new(RefsOfJoins));
    context.register_udtf("series", Arc::new(Series::new(options.clone())));
    context.register_udtf("label_names", Arc::new(LabelNames::new(options.clone())));
    context.register_udtf("label_values", Arc::new(LabelValues::new(options.clone())));
}

/// Makes tables of blocks for `CREATE EXTERNAL TABLE`.
#[derive(Debug)]
pub struct SeriesTableFactory {
    options: OpenOptions,
}

impl SeriesTableFactory {
    /// Makes a factory that opens files by these options.
    #[must_use]
    pub fn new(options: OpenOptions) -> Self {
        Self { options }
    }
}

#[async_trait]
impl TableProviderFactory for SeriesTableFactory {
    async fn create(&self, _: &dyn Session, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        let [location] = &command.locations[..] else {
            return plan_err!("a table of series has one location: a block, or a folder of blocks");
        };
        if !command.schema.fields().is_empty() {
            return plan_err!(
                "the columns of a table of series are those of its blocks: leave out the list of columns"
            );
        }
        if !command.table_partition_cols.is_empty() || !command.order_exprs.is_empty() {
            return plan_err!("PARTITIONED BY and WITH ORDER have no meaning for a table of series");
        }
        let mut strings = Strings::View;
        let mut max_memory = Limits::DEFAULT_MAX_MEMORY;
        for (name, value) in &command.options {
            // DataFusion puts `format.` before names without a dot.
            match (name.strip_prefix("format.").unwrap_or(name), value.as_str()) {
                ("strings", "view") => strings = Strings::View,
                ("strings", "dictionary") => strings = Strings::Dictionary,
                ("strings", other) => return plan_err!("strings {other:?} is unknown: use 'view' or 'dictionary'"),
                ("max_memory", bytes) => match bytes.parse() {
                    Ok(bytes) => max_memory = bytes,
                    Err(_) => return plan_err!("max_memory {bytes:?} is not a number of bytes"),
                },
                (other, _) => {
                    return plan_err!(
                        "option {other:?} is unknown: a table of series has 'strings' and 'max_memory' only"
                    );
                }
            }
        }
        let (location, options) = (location.clone(), self.options.clone());
        // Reads files, or even downloads them.
        let open = move || {
            let table = SeriesTable::open(&location, &options)?.with_max_memory(max_memory);
            table.with_strings(strings)
        };
        let table = SpawnedTask::spawn_blocking(open).join().await.map_err(external)??;
        Ok(Arc::new(table))
    }
}
