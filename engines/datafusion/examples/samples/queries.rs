//! `sum by (namespace)` of a rate over one hour, in SQL.

use std::collections::BTreeMap;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Float64Type;
use chronoxide_format::SeriesRef;
use chronoxide_reader::{Block, Checks};
use datafusion::error::Result;
use datafusion::prelude::SessionContext;

use crate::data::{Files, SAMPLES, START, STEP, sample};

/// Label of the service, and of the namespace.
pub const SERVICE: &str = "service.name";
pub const NAMESPACE: &str = "k8s.namespace.name";

/// One hour of the samples, in milliseconds since 1970.
const HOUR: std::ops::Range<i64> = START + 2 * STEP..START + 6 * STEP;

/// Returns a session with the tables `series`, `samples` and `wide`.
pub async fn session(files: &Files) -> Result<SessionContext> {
    let context = SessionContext::new();
    chronoxide_datafusion::register(&context);
    for (name, format, path) in [
        ("series", "CHRONOXIDE", &files.block),
        ("samples", "PARQUET", &files.samples),
        ("wide", "PARQUET", &files.wide),
    ] {
        let create = format!("CREATE EXTERNAL TABLE {name} STORED AS {format} LOCATION '{}'", path.display());
        context.sql(&create).await?;
    }
    Ok(context)
}

/// Returns the query that joins samples with the block: of one service, or of all.
pub fn joined(service: Option<&str>) -> String {
    let condition = service.map_or(String::new(), |service| format!(r#"AND series."{SERVICE}" = '{service}'"#));
    let (start, end) = (HOUR.start, HOUR.end);
    format!(
        r#"SELECT namespace, sum(rate) AS rate FROM (
            SELECT "{NAMESPACE}" AS namespace, (max(value) - min(value)) / 3600 AS rate
            FROM series JOIN samples ON series.series_ref = samples.series_ref
            WHERE timestamp >= to_timestamp_millis({start}) AND timestamp < to_timestamp_millis({end}) {condition}
            GROUP BY series.series_ref, "{NAMESPACE}"
        ) GROUP BY namespace ORDER BY namespace"#
    )
}

/// Returns the same query of the table with a column per label, which identify a series.
pub fn wide(service: Option<&str>, labels: &[String]) -> String {
    let condition = service.map_or(String::new(), |service| format!(r#"AND "{SERVICE}" = '{service}'"#));
    let (start, end) = (HOUR.start, HOUR.end);
    let labels: Vec<String> = labels.iter().map(|name| format!("\"{name}\"")).collect();
    format!(
        r#"SELECT namespace, sum(rate) AS rate FROM (
            SELECT "{NAMESPACE}" AS namespace, (max(value) - min(value)) / 3600 AS rate
            FROM wide
            WHERE timestamp >= to_timestamp_millis({start}) AND timestamp < to_timestamp_millis({end}) {condition}
            GROUP BY {}
        ) GROUP BY namespace ORDER BY namespace"#,
        labels.join(", ")
    )
}

/// Returns the rate of each namespace in the result of a query.
pub fn rates(batches: &[RecordBatch]) -> BTreeMap<Option<String>, f64> {
    let mut rates = BTreeMap::new();
    for batch in batches {
        let names = arrow::compute::cast(batch.column(0), &arrow::datatypes::DataType::Utf8View).expect("strings");
        let values = batch.column(1).as_primitive::<Float64Type>().values();
        for (name, rate) in names.as_string_view().iter().zip(values) {
            rates.insert(name.map(str::to_owned), *rate);
        }
    }
    rates
}

/// Computes the rates of a service, or of all, without SQL: a loop over the series of the block.
pub fn plain(files: &Files, service: Option<&str>) -> BTreeMap<Option<String>, f64> {
    let block = Block::read(&files.block, Checks::Lazy).expect("sound");
    let view = block.view();
    let mut rates: BTreeMap<Option<String>, f64> = BTreeMap::new();
    for series in (0..view.series_count().expect("sound")).map(SeriesRef) {
        let labels = view.series(series).expect("sound").expect("in range");
        let text = |name: &str| {
            labels.get(name).expect("sound").map(|value| String::from_utf8(value.to_vec()).expect("UTF-8"))
        };
        if service.is_some() && text(SERVICE).as_deref() != service {
            continue;
        }
        let values: Vec<f64> = (0..SAMPLES)
            .filter(|number| HOUR.contains(&(START + i64::from(*number) * STEP)))
            .map(|number| sample(series.0.into(), number))
            .collect();
        let (first, last) = (values.first().expect("samples"), values.last().expect("samples"));
        *rates.entry(text(NAMESPACE)).or_default() += (last - first) / 3600.0;
    }
    rates
}

/// Asserts that rates are equal, but for the order of additions.
pub fn assert_same(found: &BTreeMap<Option<String>, f64>, expected: &BTreeMap<Option<String>, f64>) {
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for ((name, found), expected) in found.iter().zip(expected.values()) {
        assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{name:?}: {found} and {expected}");
    }
}
