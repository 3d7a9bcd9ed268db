//! Series as rows in memory: the model that tables are compared with.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow::util::display::array_value_to_string;
use chronoxide::OpenOptions;
use chronoxide_datafusion::SeriesTable;
use chronoxide_testkit::fuzzing::sound::series_in_order;
use chronoxide_testkit::plan::Labelset;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};

/// Rows of several blocks as a table in memory, with plain strings. `blocks` adds the column of block ids.
pub fn in_memory(blocks: &[(&str, Vec<Labelset>)], with_ids: bool) -> MemTable {
    let names: BTreeSet<&String> =
        blocks.iter().flat_map(|(_, series)| series).flat_map(|labels| labels.keys()).collect();
    let rows =
        || blocks.iter().flat_map(|(id, series)| (0_u64..).zip(series).map(|(number, labels)| (*id, number, labels)));
    let mut columns: Vec<(String, ArrayRef, bool)> = Vec::new();
    if with_ids {
        columns.push(("block".to_owned(), Arc::new(rows().map(|(id, ..)| Some(id)).collect::<StringArray>()), true));
    }
    let refs = rows().map(|(_, number, _)| number);
    columns.push(("series_ref".to_owned(), Arc::new(UInt64Array::from_iter_values(refs)), false));
    for name in names {
        let values: StringArray = rows().map(|(.., labels)| labels.get(name)).collect();
        columns.push((name.clone(), Arc::new(values), true));
    }
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length");
    MemTable::try_new(batch.schema(), vec![vec![batch]]).expect("one schema")
}

/// Returns a session with the rows of blocks as `model`, and the tables as `series` and `dictionaries`, the latter with
/// columns of dictionaries.
pub fn session(blocks: &[(&str, Vec<Labelset>)], table: &SeriesTable, with_ids: bool) -> SessionContext {
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(3));
    chronoxide_datafusion::register(&context);
    context.register_table("model", Arc::new(in_memory(blocks, with_ids))).expect("a new name");
    context.register_table("series", Arc::new(table.clone())).expect("a new name");
    let dictionaries = table.clone().with_strings(chronoxide_datafusion::Strings::Dictionary).expect("a type");
    context.register_table("dictionaries", Arc::new(dictionaries)).expect("a new name");
    context
}

/// Returns a session with one block.
pub fn session_of_block(bytes: &[u8]) -> SessionContext {
    let blocks = OpenOptions::new().open_bytes(bytes.to_vec()).expect("sound");
    let tables = blocks.tables().expect("sound");
    let model = [("", series_in_order(&tables[0].block().view()))];
    session(&model, &SeriesTable::new(&blocks).expect("sound"), false)
}

/// Returns the rows of a query, each as text, sorted; nulls are `NULL`.
pub async fn rows(context: &SessionContext, query: &str) -> Result<Vec<Vec<String>>, String> {
    let frame = context.sql(query).await.map_err(|error| error.to_string())?;
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    let mut rows = Vec::new();
    for batch in batches {
        let text = |column: &ArrayRef, row: usize| match arrow::array::Array::is_null(column, row) {
            true => "NULL".to_owned(),
            false => array_value_to_string(column, row).expect("printable"),
        };
        rows.extend((0..batch.num_rows()).map(|row| batch.columns().iter().map(|column| text(column, row)).collect()));
    }
    rows.sort();
    Ok(rows)
}

/// Asserts that a query gives the same rows of all three tables; `{}` stands for the table. Returns the rows.
pub async fn agree(context: &SessionContext, query: &str) -> Vec<Vec<String>> {
    let expected = rows(context, &query.replace("{}", "model")).await;
    for table in ["series", "dictionaries"] {
        let found = rows(context, &query.replace("{}", table)).await;
        assert_eq!(found, expected, "{query} of {table}");
    }
    expected.unwrap_or_else(|error| panic!("{query}: {error}"))
}

/// Returns the physical plan of a query, as text.
pub async fn plan(context: &SessionContext, query: &str) -> String {
    let frame = context.sql(query).await.expect("a query");
    let plan = frame.create_physical_plan().await.expect("a plan");
    datafusion::physical_plan::displayable(&*plan).indent(false).to_string()
}

/// Writes golden blocks with these names to a folder.
pub fn write_goldens(folder: &Path, names: &[&str]) {
    for golden in chronoxide_testkit::golden::goldens() {
        if names.contains(&golden.name) {
            std::fs::write(folder.join(format!("{}.cx", golden.name)), golden.bytes).expect("written");
        }
    }
}
