//! Plans: what is pushed, counted without reading, limited, ordered and divided.

use chronoxide_format::layout::RowForm;
use chronoxide_format::write::BlockMeta;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::rows::{agree, plan, rows, session_of_block};

fn golden(name: &str) -> Vec<u8> {
    goldens().into_iter().find(|golden| golden.name == name).expect("it is there").bytes
}

#[tokio::test]
async fn explain_shows_conditions_and_skipped_series() {
    let context = session_of_block(&golden("plain-bitpacked"));
    let plan = plan(&context, "SELECT pod FROM series WHERE job = 'api' AND pod LIKE 'api-%'").await;
    assert!(plan.contains("series=3, skipped=7"), "{plan}");
    assert!(plan.contains("pushed=[job = Utf8View(\"api\") AND pod LIKE Utf8View(\"api-%\")]"), "{plan}");
    assert!(plan.contains("columns=[pod]"), "{plan}");
    assert!(!plan.contains("FilterExec"), "{plan}");
}

#[tokio::test]
async fn counts_are_known_without_reading() {
    let context = session_of_block(&golden("plain-bitpacked"));
    for query in [
        "SELECT count(*) FROM series",
        "SELECT count(*) FROM series WHERE job = 'api'",
        "SELECT count(pod) FROM series",
        "SELECT min(series_ref), max(series_ref) FROM series",
    ] {
        let plan = plan(&context, query).await;
        assert!(plan.contains("PlaceholderRowExec") && !plan.contains("SeriesExec"), "{query}\n{plan}");
        agree(&context, &query.replace("series ", "{} ").replace("series", "{}").replace("{}_ref", "series_ref")).await;
    }
}

#[tokio::test]
async fn groups_and_distinct_values_agree() {
    for (name, label) in [("plain-bitpacked", "job"), ("planned-small", "host"), ("plain-fixedwidth", "job")] {
        let context = session_of_block(&golden(name));
        for query in [
            "SELECT job, count(*), min(pod), max(series_ref) FROM {} GROUP BY job",
            "SELECT job, pod, count(*) FROM {} GROUP BY job, pod",
            "SELECT count(DISTINCT job), count(DISTINCT pod), count(pod) FROM {}",
            "SELECT a.series_ref, b.series_ref FROM {} a JOIN model b ON a.job = b.job AND a.pod = b.pod",
        ] {
            agree(&context, &query.replace("job", label)).await;
        }
    }
}

#[tokio::test]
async fn groups_by_one_label_are_counted_in_codes() {
    let context = session_of_block(&golden("plain-bitpacked"));
    for (query, is_counted) in [
        ("SELECT pod, count(*) FROM {} GROUP BY pod", true),
        ("SELECT count(*) AS n FROM {} GROUP BY pod", true),
        ("SELECT s.pod AS p, count(*) + 1, count(1) FROM {} s GROUP BY s.pod", true),
        ("SELECT pod, count(*) FROM {} WHERE job = 'api' AND pod IS NOT NULL GROUP BY pod", true),
        ("SELECT pod, count(*) FROM {} WHERE job = 'none' GROUP BY pod", true),
        ("SELECT pod FROM {} GROUP BY pod HAVING count(*) > 1", true),
        ("SELECT pod, count(*) FROM {} GROUP BY pod ORDER BY count(*) DESC, pod LIMIT 2", true),
        ("SELECT DISTINCT pod FROM {}", true),
        ("SELECT count(DISTINCT pod) FROM {}", true),
        ("SELECT pod, count(DISTINCT 1) FROM {} GROUP BY pod", true),
        ("SELECT p, n FROM (SELECT pod AS p, count(*) AS n FROM {} GROUP BY 1) WHERE p > 'api-1'", true),
        ("SELECT a.pod, a.n FROM (SELECT pod, count(*) n FROM {} GROUP BY 1) a JOIN model m ON a.pod = m.pod", true),
        ("SELECT pod, count(*) FROM {} WHERE job || pod <> 'x' GROUP BY pod", false),
        ("SELECT pod, count(job) FROM {} GROUP BY pod", false),
        ("SELECT pod, count(*) FILTER (WHERE job = 'api') FROM {} GROUP BY pod", false),
        ("SELECT pod, count(NULL) FROM {} GROUP BY pod", false),
        ("SELECT pod, count(DISTINCT 1), count(*) FROM {} GROUP BY pod", false),
        ("SELECT pod, count(*), max(series_ref) FROM {} GROUP BY pod", false),
        ("SELECT pod, job, count(*) FROM {} GROUP BY pod, job", false),
        ("SELECT pod, count(*) FROM (SELECT pod FROM {} ORDER BY series_ref LIMIT 3) GROUP BY pod", false),
        ("SELECT series_ref, count(*) FROM {} GROUP BY series_ref", false),
    ] {
        let plan = plan(&context, &query.replace("{}", "series")).await;
        assert_eq!(plan.contains("LabelCountsExec"), is_counted, "{query}\n{plan}");
        eprintln!("{plan}");
        agree(&context, query).await;
    }
    let plan = plan(&context, "SELECT pod, count(*) FROM series WHERE job = 'api' GROUP BY pod").await;
    assert!(plan.contains("LabelCountsExec: blocks=1, series=7, skipped=3, pushed=[job = "), "{plan}");
}

#[tokio::test]
async fn a_limit_stops_early() {
    let context = session_of_block(&golden("plain-bitpacked"));
    for (query, count) in [
        ("SELECT job FROM series LIMIT 3", 3),
        ("SELECT job FROM series WHERE job = 'api' LIMIT 2", 2),
        ("SELECT job FROM series LIMIT 100", 10),
        ("SELECT job FROM series LIMIT 0", 0),
    ] {
        assert_eq!(rows(&context, query).await.expect("rows").len(), count, "{query}");
    }
    let plan = plan(&context, "SELECT job FROM series WHERE job = 'api' LIMIT 2").await;
    assert!(plan.contains("series=2, ") && plan.contains("limit=2"), "{plan}");
}

#[tokio::test]
async fn limits_hold_in_ordered_tables() {
    let mut some = 0;
    // The last has several partitions.
    for block in [golden("plain-bitpacked"), golden("planned-small"), many()] {
        let context = session_of_block(&block);
        for query in [
            "SELECT * FROM {} ORDER BY series_ref LIMIT 3",
            "SELECT series_ref FROM {} ORDER BY series_ref LIMIT 3 OFFSET 2",
            "SELECT series_ref FROM {} ORDER BY series_ref DESC LIMIT 3 OFFSET 1",
            "SELECT sum(series_ref), count(*) FROM (SELECT series_ref FROM {} ORDER BY series_ref LIMIT 5)",
            "SELECT count(*) FROM (SELECT series_ref FROM {} ORDER BY series_ref LIMIT 5 OFFSET 3)",
            "SELECT count(*) FROM (SELECT series_ref FROM {} ORDER BY series_ref LIMIT 50000 OFFSET 40000)",
            "SELECT sum(n) FROM (SELECT series_ref AS n FROM {} WHERE series_ref > 3 ORDER BY series_ref LIMIT 4)",
            "SELECT count(*) FROM (SELECT * FROM {} LIMIT 5)",
            "SELECT sum(r) FROM (SELECT series_ref + 0 AS r FROM {} WHERE series_ref % 2 = 1 ORDER BY series_ref LIMIT 4)",
            "SELECT count(*) FROM ((SELECT series_ref FROM {} ORDER BY series_ref LIMIT 2) UNION ALL SELECT 1)",
            "SELECT a.series_ref FROM (SELECT series_ref FROM {} ORDER BY series_ref LIMIT 2) a JOIN model m USING (series_ref)",
        ] {
            some += agree(&context, query).await.len();
        }
    }
    assert!(some > 30, "{some} rows");
}

#[tokio::test]
async fn refs_are_in_order() {
    let context = session_of_block(&golden("plain-bitpacked"));
    let plan = plan(&context, "SELECT series_ref, job FROM series ORDER BY series_ref").await;
    assert!(!plan.contains("SortExec"), "{plan}");
}

#[tokio::test]
async fn a_label_may_be_named_like_the_column_of_counts() {
    let labels = |value: &str| Labelset::from([("count".to_owned(), value.to_owned())]);
    let series = ["1", "2", "3"].map(labels).into();
    let block = build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).expect("the plan is valid");
    let context = session_of_block(&block);
    let rows = agree(&context, "SELECT count, count(*) FROM {} WHERE count <> '2' GROUP BY count").await;
    assert_eq!(rows, [["1", "1"], ["3", "1"]]);
}

/// A block of enough series to be divided.
fn many() -> Vec<u8> {
    let labels = |number: u32| {
        let pod = format!("pod-{:05}", number / 7);
        let core = (number % 7).to_string();
        Labelset::from([("__name__", "cpu"), ("core", &core), ("pod", &pod)].map(|(a, b)| (a.to_owned(), b.to_owned())))
    };
    let series = (0..100_000).map(labels).collect();
    build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).expect("the plan is valid")
}

#[tokio::test]
async fn partitions_have_all_series_once() {
    let blocks = chronoxide::OpenOptions::new().open_bytes(many()).expect("sound");
    let table = chronoxide_datafusion::SeriesTable::new(&blocks).expect("sound");
    for (partitions, expected) in [(1, 1), (2, 2), (16, 4)] {
        let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(partitions));
        context.register_table("series", std::sync::Arc::new(table.clone())).expect("a new name");
        let frame = context.sql("SELECT series_ref, pod, core FROM series").await.expect("a query");
        let plan = frame.create_physical_plan().await.expect("a plan");
        let count = datafusion::physical_plan::ExecutionPlanProperties::output_partitioning(&plan).partition_count();
        assert_eq!(count, expected);
        let found = rows(
            &context,
            "SELECT count(*), count(DISTINCT series_ref), sum(series_ref) FROM series WHERE core || '' <> ''",
        );
        let sum: u64 = (0..100_000).sum();
        assert_eq!(found.await, Ok(vec![vec!["100000".to_owned(), "100000".to_owned(), sum.to_string()]]));
    }
}

#[tokio::test]
async fn explain_analyze_counts_rows() {
    let context = session_of_block(&golden("plain-bitpacked"));
    let found = rows(&context, "EXPLAIN ANALYZE SELECT job, pod FROM series WHERE job = 'api'").await.expect("rows");
    let text = found.concat().concat();
    assert!(text.contains("output_rows=7"), "{text}");
}
