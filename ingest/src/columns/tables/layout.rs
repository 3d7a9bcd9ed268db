//! Layouts of tables that other programs write: [`Layout`].

use arrow_schema::{DataType, Schema};

use super::schema::is_text;

/// Prefix of columns of labels in files of parquet-common.
const LABEL_PREFIX: &str = "l_";

/// Prefix of the other columns in files of parquet-common: chunks, hashes, and numbers of columns.
const SERIES_PREFIX: &str = "s_";

/// Names of the columns of parquet-common that are not labels; columns of chunks have a number too.
const SERIES_COLUMNS: [&str; 3] = ["s_col_indexes", "s_series_hash", "s_data_"];

/// Order of columns by which one wins over another, as in a point of OTLP: an entry of a resource is the weakest, and
/// the name of the metric the strongest.
mod rank {
    pub(super) const SERVICE: u8 = 0;
    pub(super) const RESOURCE: u8 = 1;
    pub(super) const SCOPE: u8 = 2;
    pub(super) const SCOPE_FIELD: u8 = 3;
    pub(super) const ENTRIES: u8 = 4;
    pub(super) const TEXT: u8 = 5;
    pub(super) const METRIC_NAME: u8 = 6;
}

/// Layout of a table, by which its columns have their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// A column of text is the label of its name.
    Plain,
    /// Labels and chunks of [parquet-common](https://github.com/prometheus-community/parquet-common), which Cortex and
    /// Thanos write.
    ParquetCommon,
    /// Tables of metrics that the ClickHouse exporter of the OpenTelemetry Collector makes.
    OpenTelemetry,
}

/// Meaning of a column by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// If it is text, the label of this name. Columns of higher ranks win.
    Label { name: String, rank: u8 },
    /// Unit of a metric.
    Unit,
    /// Description of a metric.
    Description,
    /// Ignored with a warning.
    Ignored,
    /// Ignored: no reader expects labels in it.
    Silent,
}

impl Layout {
    /// Returns the layout of a table. `has_block_times` is true if the file states times as a labels file does.
    pub(super) fn of_schema(schema: &Schema, has_block_times: bool) -> Self {
        let is_series_column = |name: &str| {
            SERIES_COLUMNS.iter().any(|known| match known.strip_suffix('_') {
                Some(_) => name.strip_prefix(known).is_some_and(|number| number.parse::<u32>().is_ok()),
                None => name == *known,
            })
        };
        let has = |name: &str| schema.fields().iter().any(|field| field.name() == name);
        let is_map =
            |name| schema.field_with_name(name).is_ok_and(|field| matches!(field.data_type(), DataType::Map(..)));
        let mut others = schema.fields().iter().filter(|field| !is_series_column(field.name()));
        let has_series_column =
            schema.fields().iter().any(|field| is_series_column(field.name()) && !is_text(field.data_type()));
        if has_series_column || has_block_times && others.all(|field| field.name().starts_with(LABEL_PREFIX)) {
            return Self::ParquetCommon;
        }
        if has("MetricName") && (is_map("ResourceAttributes") || is_map("Attributes")) {
            return Self::OpenTelemetry;
        }
        Self::Plain
    }

    /// Returns the meaning of a column.
    pub(super) fn role(self, column: &str) -> Role {
        let label = |name: &str, rank| Role::Label { name: name.to_owned(), rank };
        match self {
            Self::Plain => label(column, rank::TEXT),
            Self::ParquetCommon => match column.strip_prefix(LABEL_PREFIX) {
                Some(name) => label(name, rank::TEXT),
                None if column.starts_with(SERIES_PREFIX) => Role::Silent,
                None => Role::Ignored,
            },
            Self::OpenTelemetry => match column {
                "MetricName" => label("__name__", rank::METRIC_NAME),
                "MetricUnit" => Role::Unit,
                "MetricDescription" => Role::Description,
                "ScopeName" => label("otel_scope_name", rank::SCOPE_FIELD),
                "ScopeVersion" => label("otel_scope_version", rank::SCOPE_FIELD),
                // A copy of an attribute of the resource.
                "ServiceName" => label("service.name", rank::SERVICE),
                // Labels of OTLP have no schema URLs, and no temporality.
                "ResourceSchemaUrl" | "ScopeSchemaUrl" | "AggregationTemporality" => Role::Ignored,
                _ => label(column, rank::TEXT),
            },
        }
    }

    /// Returns the rank of the entries of a column.
    pub(super) fn rank_of_entries(self, column: &str) -> u8 {
        let column = column.to_ascii_lowercase();
        match () {
            () if column.contains("resource") => rank::RESOURCE,
            () if column.contains("scope") => rank::SCOPE,
            () => rank::ENTRIES,
        }
    }
}
