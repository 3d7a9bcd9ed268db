//! Samples in Parquet, labels in a block, and SQL over both.
//!
//! ```sh
//! cargo run --release -p chronoxide-datafusion --example samples             # 10,000 series
//! cargo run --release -p chronoxide-datafusion --example samples -- 1000000  # a million
//! ```
//!
//! Samples refer to their series by `series_ref`, so that no label is stored beside them. The example asks for the sum
//! of a rate by namespace, of one service and of all, and compares size and time with a file that has a column per
//! label.

mod data;
mod queries;

use std::time::Instant;

use data::Files;
use datafusion::error::Result;
use queries::{SERVICE, assert_same, joined, plain, rates, session, wide};

#[tokio::main]
async fn main() -> Result<()> {
    let series = std::env::args().nth(1).map_or(10_000, |count| count.parse().expect("a number of series"));
    let folder = tempfile::tempdir()?;
    let files = Files::make(folder.path(), series);
    let bytes = |path| std::fs::metadata(path).map(|file| file.len());
    println!("labels in a block: {} bytes; samples: {} bytes", bytes(&files.block)?, bytes(&files.samples)?);
    println!("samples with labels: {} bytes", bytes(&files.wide)?);

    let context = session(&files).await?;
    let names = context
        .table("series")
        .await?
        .schema()
        .fields()
        .iter()
        .skip(1)
        .map(|field| field.name().clone())
        .collect::<Vec<_>>();
    let first = format!("SELECT value FROM label_values('{}', '{SERVICE}') LIMIT 1", files.block.display());
    let batches = context.sql(&first).await?.collect().await?;
    let service = arrow::util::display::array_value_to_string(batches[0].column(0), 0)?;
    for (what, service) in [("one service", Some(service.as_str())), ("all services", None)] {
        let expected = plain(&files, service);
        for (how, query) in [("block and samples", joined(service)), ("samples with labels", wide(service, &names))] {
            let start = Instant::now();
            let found = rates(&context.sql(&query).await?.collect().await?);
            let elapsed = start.elapsed();
            assert_same(&found, &expected);
            println!("{what}, {how}: {} namespaces in {elapsed:.1?}", found.len());
        }
    }
    Ok(())
}
