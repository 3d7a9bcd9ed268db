//! The statements of README.md and docs/engines.md run.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, TimestampMillisecondArray, UInt64Array};
use datafusion::prelude::SessionContext;
use parquet::arrow::ArrowWriter;

use crate::rows::{rows, write_goldens};

/// Returns the statements of the blocks of SQL in a document.
fn statements(document: &str) -> Vec<String> {
    let blocks = document.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next());
    let statements = blocks.flat_map(|block| block.split(';')).map(|statement| statement.trim().to_owned());
    statements.filter(|statement| !statement.is_empty()).collect()
}

fn write_samples(path: &Path) {
    let columns: [(&str, ArrayRef); 3] = [
        ("series_ref", Arc::new(UInt64Array::from_iter_values([3, 3, 4]))),
        ("timestamp", Arc::new(TimestampMillisecondArray::from_iter_values([1_790_000_000_000; 3]))),
        ("value", Arc::new(Float64Array::from_iter_values([1.0, 2.0, 3.0]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let mut writer =
        ArrowWriter::try_new(fs::File::create(path).expect("created"), batch.schema(), None).expect("valid");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
}

#[tokio::test]
async fn the_statements_of_the_documents_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let blocks = folder.path().join("blocks");
    fs::create_dir(&blocks).expect("made");
    write_goldens(&blocks, &["plain-bitpacked"]);
    fs::copy(blocks.join("plain-bitpacked.cx"), folder.path().join("week.cx")).expect("copied");
    write_samples(&folder.path().join("samples.parquet"));
    for (document, expected) in [("README.md", 2), ("docs/engines.md", 8)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
        let statements = statements(&fs::read_to_string(path).expect("the document is part of the project"));
        let context = SessionContext::new();
        chronoxide_datafusion::register(&context);
        let mut row_count = 0;
        for statement in &statements {
            let mut placed = statement.clone();
            for name in ["week.cx", "blocks/", "samples.parquet"] {
                placed = placed.replace(&format!("'{name}'"), &format!("'{}'", folder.path().join(name).display()));
            }
            let found = rows(&context, &placed).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
            assert!(!found.is_empty() || statement.starts_with("CREATE"), "{statement}");
            row_count += found.len();
        }
        assert_eq!(statements.len(), expected, "statements of {document}");
        assert!(row_count > 0, "rows of {document}");
    }
}
