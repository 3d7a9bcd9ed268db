//! Samples joined with a block give what a plain program computes.

use crate::data::{Files, SAMPLES};
use crate::queries::{SERVICE, assert_same, joined, plain, rates, session, wide};

const SERIES: u64 = 5_000;

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
    let first = arrow::util::display::array_value_to_string(services[0].column(0), 0).expect("a text");
    for service in [Some(&*first), Some("no such service"), None] {
        let expected = plain(&files, service);
        assert_eq!(expected.is_empty(), service == Some("no such service"));
        assert_same(&rates(&ask(&joined(service)).await), &expected);
        assert_same(&rates(&ask(&wide(service, &names)).await), &expected);
    }
    let counted = ask("SELECT count(*) AS n FROM samples").await;
    let count = arrow::util::display::array_value_to_string(counted[0].column(0), 0).expect("a number");
    assert_eq!(count, (SERIES * u64::from(SAMPLES)).to_string());
}
