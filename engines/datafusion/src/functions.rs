//! Table functions: `series`, `label_names` and `label_values`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::Utf8Error;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema};
use chronoxide_arrow::BlockTable;
use chronoxide_select::{Limits, Searcher, SelectError, Selector};
use datafusion::catalog::{MemTable, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;

use crate::location::external;
use crate::{Access, SeriesTable};

/// Declares a table function.
macro_rules! table_function {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            access: Access,
        }

        impl $name {
            /// Makes the function. It opens files by `access`.
            #[must_use]
            pub fn new(access: Access) -> Self {
                Self { access }
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
            [path] => Ok(Arc::new(SeriesTable::open_location(path, self.access)?)),
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
        distinct("name", &self.access.open(path)?.blocks, |searcher| {
            searcher.label_names(selector.as_ref().map_or(&[], Selector::matchers))
        })
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
        distinct("value", &self.access.open(path)?.blocks, |searcher| {
            searcher.label_values(name, selector.as_ref().map_or(&[], Selector::matchers), None)
        })
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
    match Selector::parse_any(selector) {
        Ok(parsed) => Ok(parsed),
        Err(error) => plan_err!("invalid selector {selector:?}: {error}"),
    }
}

/// Error of a damaged block.
#[derive(Debug)]
struct NotText(Utf8Error);

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name or value of a label is not text: {}", self.0)
    }
}

impl std::error::Error for NotText {}

/// Returns the distinct texts of all blocks as a table of one column.
fn distinct(
    column: &str,
    blocks: &[BlockTable],
    texts: impl for<'a, 'data> Fn(&Searcher<'a, 'data>) -> std::result::Result<Vec<&'data [u8]>, SelectError>,
) -> Result<Arc<dyn TableProvider>> {
    let mut all = BTreeSet::new();
    for table in blocks {
        let found = table.indexed().search(Limits::default(), &texts).map_err(external)?;
        for text in found {
            let text = std::str::from_utf8(text).map_err(|error| external(table.block().locate(NotText(error))))?;
            all.insert(text.to_owned());
        }
    }
    let values: ArrayRef = Arc::new(StringViewArray::from_iter_values(all));
    let schema = Arc::new(Schema::new(vec![Field::new(column, DataType::Utf8View, false)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![values])?;
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
}
