//! Broken blocks are errors or rows, and never a panic.

use std::sync::Arc;

use chronoxide::OpenOptions;
use chronoxide_datafusion::SeriesTable;
use chronoxide_testkit::broken::broken;
use datafusion::prelude::SessionContext;

use crate::rows::{agree, rows, session_of_block};

/// A dictionary may have values that no series has: readers must not rely on the rule against it.
#[tokio::test]
async fn unused_values_are_not_in_results() {
    let broken = broken().into_iter().find(|broken| broken.name == "rows-used").expect("it is there");
    let context = session_of_block(&broken.bytes);
    for query in [
        "SELECT min(k), max(k), count(k), count(DISTINCT k) FROM {}",
        "SELECT max(k) FROM {} WHERE k IS NOT NULL",
        "SELECT DISTINCT k FROM {}",
    ] {
        agree(&context, query).await;
    }
}

#[tokio::test]
async fn broken_blocks_are_errors_or_rows() {
    let (mut opened, mut errors) = (0, 0);
    for broken in broken() {
        let Ok(blocks) = OpenOptions::new().open_bytes(broken.bytes) else { continue };
        let Ok(table) = SeriesTable::new(&blocks) else { continue };
        opened += 1;
        let context = SessionContext::new();
        chronoxide_datafusion::register(&context);
        context.register_table("series", Arc::new(table)).expect("a new name");
        for query in [
            "SELECT * FROM series LIMIT 1000",
            "SELECT count(*) FROM series WHERE series_ref < 1000",
            "SELECT * FROM series WHERE job = 'api' LIMIT 1000",
            "SELECT job, count(*) FROM series WHERE job LIKE 'a%' AND series_ref < 1000 GROUP BY job",
            "SELECT max(job), min(job), count(job) FROM series WHERE job ~ 'a' AND series_ref < 1000",
        ] {
            errors += usize::from(rows(&context, query).await.is_err());
        }
    }
    assert!(opened > 20 && errors > 20, "{opened} opened, {errors} errors");
}
