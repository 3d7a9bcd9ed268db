//! Tables that SQL opens: blocks, folders, functions and their errors.

use chronoxide::{Blocks, OpenOptions};
use chronoxide_datafusion::SeriesTable;
use chronoxide_testkit::fuzzing::sound::series_in_order;
use datafusion::prelude::SessionContext;

use crate::rows::{agree, rows, session, write_goldens};

fn context() -> SessionContext {
    let context = SessionContext::new();
    chronoxide_datafusion::register(&context);
    context
}

#[tokio::test]
async fn a_folder_has_a_row_per_block_and_series() {
    let folder = tempfile::tempdir().expect("a folder");
    write_goldens(folder.path(), &["plain-bitpacked", "unicode"]);
    let blocks = Blocks::open(folder.path()).expect("a folder");
    assert_eq!(blocks.len(), 2);
    let tables = blocks.tables().expect("sound");
    let ids: Vec<String> = tables.iter().map(|table| table.block().view().block_id().to_string()).collect();
    let model: Vec<_> =
        ids.iter().zip(&tables).map(|(id, table)| (&**id, series_in_order(&table.block().view()))).collect();
    let context = session(&model, &SeriesTable::new(&blocks).expect("sound"), true);
    let all = agree(&context, "SELECT * FROM {}").await;
    assert_eq!(all.len(), model.iter().map(|(_, series)| series.len()).sum::<usize>());
    let one = agree(&context, &format!("SELECT * FROM {{}} WHERE block = '{}'", ids[0])).await;
    assert_eq!(one.len(), model[0].1.len());
    for condition in ["job = 'api'", "job IS NULL", "stadt LIKE 'Z%'", "stadt ~ '.'", "block > '1' AND job <> 'api'"] {
        agree(&context, &format!("SELECT * FROM {{}} WHERE {condition}")).await;
        agree(&context, &format!("SELECT count(*), count(job), min(stadt), max(block) FROM {{}} WHERE {condition}"))
            .await;
        agree(&context, &format!("SELECT job, count(*) FROM {{}} WHERE {condition} GROUP BY job")).await;
        agree(&context, &format!("SELECT DISTINCT stadt FROM {{}} WHERE {condition}")).await;
    }
    agree(&context, "SELECT block, series_ref, job FROM {} ORDER BY block, series_ref").await;
    for limit in 0..all.len() + 2 {
        agree(&context, &format!("SELECT count(*), count(job) FROM (SELECT job FROM {{}} LIMIT {limit})")).await;
        agree(&context, &format!("SELECT count(*) FROM (SELECT job FROM {{}} WHERE job <> '' LIMIT {limit})")).await;
    }
}

#[tokio::test]
async fn statements_open_blocks_and_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    write_goldens(folder.path(), &["plain-bitpacked"]);
    let path = folder.path().join("plain-bitpacked.cx");
    let context = context();
    for (name, location) in [("one", path.display().to_string()), ("url", format!("file://{}", path.display()))] {
        let create = format!("CREATE EXTERNAL TABLE {name} STORED AS CHRONOXIDE LOCATION '{location}'");
        assert_eq!(rows(&context, &create).await, Ok(Vec::new()));
        assert_eq!(rows(&context, &format!("SELECT count(*) FROM {name}")).await, Ok(vec![vec!["10".to_owned()]]));
    }
    let create = format!(
        "CREATE EXTERNAL TABLE whole STORED AS CHRONOXIDE LOCATION '{}' OPTIONS ('strings' 'dictionary')",
        folder.path().display()
    );
    assert_eq!(rows(&context, &create).await, Ok(Vec::new()));
    let types = rows(&context, "SELECT arrow_typeof(job), count(DISTINCT block) FROM whole GROUP BY 1").await;
    assert_eq!(types, Ok(vec![vec!["Dictionary(UInt32, Utf8View)".to_owned(), "1".to_owned()]]));
    let found = rows(&context, &format!("SELECT pod FROM series('{}') WHERE job = 'db'", path.display())).await;
    assert_eq!(found, Ok(vec![vec!["NULL".to_owned()], vec!["db-1".to_owned()]]));
}

/// The refs of a selection take at least 8 bytes.
#[tokio::test]
async fn a_statement_sets_the_memory_of_a_selection() {
    let folder = tempfile::tempdir().expect("a folder");
    write_goldens(folder.path(), &["plain-bitpacked"]);
    let path = folder.path().join("plain-bitpacked.cx");
    let context = context();
    for (name, bytes) in [("little", 7), ("enough", 1 << 20)] {
        let create = format!(
            "CREATE EXTERNAL TABLE {name} STORED AS CHRONOXIDE LOCATION '{}' OPTIONS ('max_memory' '{bytes}')",
            path.display()
        );
        assert_eq!(rows(&context, &create).await, Ok(Vec::new()));
    }
    let found = rows(&context, "SELECT pod FROM enough WHERE job = 'db'").await;
    assert_eq!(found, Ok(vec![vec!["NULL".to_owned()], vec!["db-1".to_owned()]]));
    let message = rows(&context, "SELECT pod FROM little WHERE job = 'db'").await.expect_err("a limit");
    assert!(message.contains("memory limit of 7 bytes"), "{message}");
}

#[tokio::test]
async fn functions_list_names_and_values() {
    let folder = tempfile::tempdir().expect("a folder");
    write_goldens(folder.path(), &["plain-bitpacked", "unicode"]);
    let context = context();
    let place = folder.path().display();
    let single = |texts: &[&str]| Ok(texts.iter().map(|text| vec![(*text).to_owned()]).collect());
    let ask = async |query: String| rows(&context, &query).await;
    assert_eq!(ask(format!("SELECT * FROM label_values('{place}', 'job')")).await, single(&["api", "db"]));
    let pods = format!("SELECT value FROM label_values('{place}', 'pod', '{{job=\"db\"}}')");
    assert_eq!(ask(pods).await, single(&["db-1"]));
    assert_eq!(ask(format!("SELECT * FROM label_values('{place}', 'none')")).await, single(&[]));
    let names = format!("SELECT name FROM label_names('{place}/plain-bitpacked.cx')");
    assert_eq!(ask(names).await, single(&["__name__", "job", "pod", "zone"]));
    let names = format!("SELECT name FROM label_names('{place}', '{{zone=\"a\"}}')");
    assert_eq!(ask(names).await, single(&["job", "zone"]));
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    write_goldens(folder.path(), &["plain-bitpacked"]);
    let block = folder.path().join("plain-bitpacked.cx");
    std::fs::write(folder.path().join("text.cx"), "not a block").expect("written");
    let (folder, block) = (folder.path().display().to_string(), block.display().to_string());
    let create = |rest: String| format!("CREATE EXTERNAL TABLE t {rest}");
    for (statement, expected) in [
        (create(format!("STORED AS CHRONOXIDE LOCATION '{folder}/none.cx'")), "none.cx"),
        (create(format!("STORED AS CHRONOXIDE LOCATION '{folder}'")), "text.cx"),
        (create("STORED AS CHRONOXIDE LOCATION 'ftp://host/blocks/'".to_owned()), "unknown scheme ftp"),
        (create("STORED AS CHRONOXIDE LOCATION 'file://blocks/'".to_owned()), "three slashes"),
        (create("STORED AS CHRONOXIDE LOCATION 'file:///no/such/file.cx'".to_owned()), "/no/such/file.cx"),
        (create(format!("(job TEXT) STORED AS CHRONOXIDE LOCATION '{block}'")), "leave out the list of columns"),
        (create(format!("STORED AS CHRONOXIDE LOCATION '{block}' OPTIONS ('strings' 'utf8')")), "use 'view' or"),
        (
            create(format!("STORED AS CHRONOXIDE LOCATION '{block}' OPTIONS ('string' 'view')")),
            "'strings' and 'max_memory' only",
        ),
        (create(format!("STORED AS CHRONOXIDE LOCATION '{block}' OPTIONS ('max_memory' '1MiB')")), "number of bytes"),
        ("SELECT * FROM series()".to_owned(), "takes one argument"),
        (format!("SELECT * FROM label_values('{block}')"), "the name of a label"),
        (format!("SELECT * FROM label_values('{block}', 'job', '{{job=')"), "selector"),
        (format!("SELECT * FROM series('{block}') WHERE job ~ '('"), "regex"),
    ] {
        let message = rows(&context(), &statement).await.expect_err(&statement);
        assert!(message.to_lowercase().contains(&expected.to_lowercase()), "{statement}: {message}");
    }
}

#[tokio::test]
async fn labels_keep_their_names() {
    use chronoxide_format::layout::RowForm;
    use chronoxide_format::write::BlockMeta;
    use chronoxide_testkit::plan::{Labelset, Plan, build};

    let labels = ["series_ref", "block", "Job", "k8s.pod"].map(|name| (name.to_owned(), format!("{name} 1")));
    let series = [Labelset::from(labels)].into_iter().collect();
    let bytes = build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).expect("valid");
    let blocks = OpenOptions::new().open_bytes(bytes).expect("sound");
    let table = SeriesTable::new(&blocks).expect("sound");
    let context = SessionContext::new();
    context.register_table("series", std::sync::Arc::new(table)).expect("a new name");
    let query =
        r#"SELECT _series_ref, series_ref, "block", "Job", "k8s.pod" FROM series WHERE "k8s.pod" = 'k8s.pod 1'"#;
    let row = ["0", "series_ref 1", "block 1", "Job 1", "k8s.pod 1"].map(str::to_owned).to_vec();
    assert_eq!(rows(&context, query).await, Ok(vec![row]));
}
