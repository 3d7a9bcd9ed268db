//! Table functions: `series`, `label_names` and `label_values`.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema};
use chronoxide::{OpenOptions, Selector};
use datafusion::catalog::{MemTable, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;

use crate::SeriesTable;
use crate::error::external;

/// Declares a table function.
macro_rules! table_function {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            options: OpenOptions,
        }

        impl $name {
            /// Makes the function. It opens files by these options.
            #[must_use]
            pub fn new(options: OpenOptions) -> Self {
                Self { options }
            }
        }
    };
}

table_function! {
    /// `series('path')`: a block, or the blocks of a folder, as a table; see [`SeriesTable`].
    Series
}

table_function! {
    /// `label_names('path' [, 'selector'])`: the names of labels, in byte order, as a column `name`. With a PromQL
    /// selector, those of the series that it selects.
    LabelNames
}

table_function! {
    /// `label_values('path', 'label' [, 'selector'])`: the distinct values of a label, in byte order, as a column
    /// `value`. With a PromQL selector, those of the series that it selects.
    LabelValues
}

impl TableFunctionImpl for Series {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        match &texts("series", args.exprs())?[..] {
            [path] => Ok(Arc::new(SeriesTable::open(path, &self.options)?)),
            _ => plan_err!("series takes one argument: the path of a block or a folder"),
        }
    }
}

impl TableFunctionImpl for LabelNames {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let (path, selector) = match &texts("label_names", args.exprs())?[..] {
            [path] => (*path, None),
            [path, selector] => (*path, Some(parse(selector)?)),
            _ => return plan_err!("label_names takes the path of a block or a folder and, if wanted, a selector"),
        };
        let blocks = self.options.open(path).map_err(external)?;
        let names = blocks.query(selector.unwrap_or_default()).and_then(|query| query.label_names());
        column("name", &names.map_err(external)?)
    }
}

impl TableFunctionImpl for LabelValues {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let (path, name, selector) = match &texts("label_values", args.exprs())?[..] {
            [path, name] => (*path, *name, None),
            [path, name, selector] => (*path, *name, Some(parse(selector)?)),
            _ => {
                return plan_err!(
                    "label_values takes the path of a block or a folder, the name of a label and, if wanted, a selector"
                );
            }
        };
        let blocks = self.options.open(path).map_err(external)?;
        let values = blocks.query(selector.unwrap_or_default()).and_then(|query| query.label_values(name));
        column("value", &values.map_err(external)?)
    }
}

/// Returns the arguments of a function, which must be constant texts.
fn texts<'e>(function: &str, arguments: &'e [Expr]) -> Result<Vec<&'e str>> {
    let text = |argument: &'e Expr| match argument {
        Expr::Literal(value, _) => match value.try_as_str().flatten() {
            Some(text) => Ok(text),
            None => plan_err!("{function}: {argument} is not a text"),
        },
        _ => plan_err!("{function}: {argument} is not a constant"),
    };
    arguments.iter().map(text).collect()
}

fn parse(selector: &str) -> Result<Selector> {
    selector.parse().or_else(|error| plan_err!("{selector:?}: {error}"))
}

/// Returns texts as a table of one column.
fn column(name: &str, texts: &[&str]) -> Result<Arc<dyn TableProvider>> {
    let values: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
    let schema = Arc::new(Schema::new(vec![Field::new(name, DataType::Utf8View, false)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![values])?;
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
}
