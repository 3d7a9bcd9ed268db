//! Samples joined with a block give what a plain program computes.

use std::sync::Arc;

use arrow::util::display::array_value_to_string;
use chronoxide::OpenOptions;
use chronoxide_datafusion::SeriesTable;
use datafusion::prelude::SessionContext;

use crate::data::{Files, SAMPLES};
use crate::queries::{SERVICE, assert_same, joined, plain, rates, session, wide};
use crate::rows::rows;

const SERIES: u64 = 5_000;

/// Returns the lines of a query's plan that read samples.
async fn scans_of_samples(context: &SessionContext, query: &str) -> Vec<String> {
    let batches = context.sql(&format!("EXPLAIN {query}")).await.expect("a query").collect().await.expect("a plan");
    let plan = array_value_to_string(batches[0].column(1), batches[0].num_rows() - 1).expect("a text");
    let lines: Vec<String> = plan.lines().filter(|line| line.contains("samples.parquet")).map(str::to_owned).collect();
    assert!(!lines.is_empty(), "{plan}");
    lines
}

#[tokio::test]
async fn samples_of_series_that_are_not_selected_are_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = Files::make(folder.path(), SERIES);
    let context = session(&files).await.expect("tables");
    let refs = |pod: &str| {
        format!("SELECT series.series_ref, value FROM series JOIN samples ON {pod} ORDER BY series.series_ref, value")
    };
    let block = files.block.display();
    let values = rows(&context, &format!("SELECT value FROM label_values('{block}', 'k8s.pod.name')")).await;
    let pods = values.expect("rows").concat();
    let pod = &pods[0];
    let key = "series.series_ref = samples.series_ref";
    let (one, all) = (refs(&format!("{key} AND \"k8s.pod.name\" = '{pod}'")), refs(key));
    // The condition prunes.
    for line in scans_of_samples(&context, &one).await {
        assert_eq!(line.matches(", predicate=").count(), 1, "{line}");
        assert!(line.contains("series_ref@0 >= ") && line.contains("series_ref_max@0 >= "), "{line}");
        let ends = line.split("pruning_predicate").next().expect("text").matches("series_ref@0 <= ").count();
        assert!((1..=16).contains(&ends), "{ends} ranges: {line}");
    }
    for line in scans_of_samples(&context, &all).await {
        assert!(!line.contains("series_ref@0 >= "), "{line}");
    }
    // A condition is there once; that of a range of one ref is an equality.
    let mut equalities = 0;
    for pod in pods.iter().step_by(pods.len() / 20) {
        let query = refs(&format!("{key} AND \"k8s.pod.name\" = '{pod}' AND __name__ LIKE '%e'"));
        for line in scans_of_samples(&context, &query).await {
            let predicate = line.split(", pruning_predicate").next().expect("text");
            let comparisons: Vec<&str> = predicate.split(&['(', ')'][..]).flat_map(|part| part.split(" OR ")).collect();
            let on_refs: Vec<&&str> = comparisons.iter().filter(|part| part.contains("series_ref@0 ")).collect();
            let distinct: std::collections::BTreeSet<_> = on_refs.iter().collect();
            assert_eq!(distinct.len(), on_refs.len(), "{line}");
            equalities += on_refs.iter().filter(|part| part.contains("series_ref@0 = ")).count();
        }
    }
    assert!(equalities > 0);
    // A session without the rule gives the same rows, for all kinds of joins and types of refs.
    let plain = SessionContext::new();
    let open = SeriesTable::open(&files.block, &OpenOptions::new()).expect("sound");
    plain.register_table("series", Arc::new(open)).expect("a new name");
    let samples = format!("CREATE EXTERNAL TABLE samples STORED AS PARQUET LOCATION '{}'", files.samples.display());
    plain.sql(&samples).await.expect("a table");
    for query in [
        one.clone(),
        one.replace("series JOIN samples", "samples JOIN series"),
        one.replace("JOIN samples", "JOIN (SELECT series_ref AS r, value FROM samples) AS s")
            .replace(key, "series.series_ref = r"),
        one.replace(
            "JOIN samples",
            "JOIN (SELECT CAST(series_ref AS INT) AS series_ref, value FROM samples) AS samples",
        ),
        one.replace("JOIN samples", "JOIN (SELECT series_ref + 1 AS series_ref, value FROM samples) AS samples"),
        one.replace("series JOIN samples", "series RIGHT JOIN samples"),
        one.replace("series JOIN samples", "series LEFT JOIN samples"),
        format!(
            "SELECT count(*) FROM samples WHERE series_ref NOT IN (SELECT series_ref FROM series WHERE \"k8s.pod.name\" = '{pod}')"
        ),
        format!(
            "SELECT count(*) FROM samples WHERE series_ref IN (SELECT series_ref FROM series WHERE \"k8s.pod.name\" = '{pod}')"
        ),
        refs(&format!("{key} AND \"k8s.pod.name\" = 'no such pod'")),
    ] {
        let [with, without] = [&context, &plain].map(|context| rows(context, &query));
        let (with, without) = (with.await.expect("rows"), without.await.expect("rows"));
        assert_eq!(with, without, "{query}");
        assert_eq!(with.is_empty(), query.contains("no such pod"), "{query}");
    }
}

#[tokio::test]
async fn a_join_gives_the_rates_that_a_loop_computes() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = Files::make(folder.path(), SERIES);
    let context = session(&files).await.expect("tables");
    let ask = async |query: &str| context.sql(query).await.expect("a query").collect().await.expect("rows");
    let services = ask(&format!("SELECT value FROM label_values('{}', '{SERVICE}')", files.block.display())).await;
    assert!(services[0].num_rows() > 3, "{}", services[0].num_rows());
    let names: Vec<String> = context
        .table("series")
        .await
        .expect("a table")
        .schema()
        .fields()
        .iter()
        .skip(1)
        .map(|field| field.name().clone())
        .collect();
    let first = array_value_to_string(services[0].column(0), 0).expect("a text");
    for service in [Some(&*first), Some("no such service"), None] {
        let expected = plain(&files, service);
        assert_eq!(expected.is_empty(), service == Some("no such service"));
        assert_same(&rates(&ask(&joined(service)).await), &expected);
        assert_same(&rates(&ask(&wide(service, &names)).await), &expected);
    }
    let counted = ask("SELECT count(*) AS n FROM samples").await;
    let count = array_value_to_string(counted[0].column(0), 0).expect("a number");
    assert_eq!(count, (SERIES * u64::from(SAMPLES)).to_string());
}
