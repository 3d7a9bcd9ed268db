//! Columns of a schema that are labels: [`LabelColumns`].

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema};

use super::layout::{Layout, Role};
use super::values::series_column;
use crate::columns::error::SchemaError;
use crate::series::ColumnFacts;
use crate::series_json::is_ref_name;

/// Name of the column of maps that alone holds labels, if a schema has several.
const LABELS: &str = "labels";

/// Name of the column of times.
const TIMESTAMP: &str = "timestamp";

/// Columns of a schema that are read. Positions refer to a batch of only the columns of
/// [`projection`](Self::projection).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LabelColumns {
    /// Columns of the schema that are read, in ascending order.
    pub(super) projection: Vec<usize>,
    /// Columns of labels. The last one that has a label wins.
    pub(super) labels: Vec<LabelColumn>,
    /// Positions of series columns, and facts about them.
    pub(super) values: Vec<(usize, ColumnFacts)>,
    /// Position of the column of times.
    pub(super) timestamp: Option<usize>,
    /// Positions of the columns of metadata of metrics.
    pub(super) metadata: Option<MetadataColumns>,
    /// Other columns, with their types.
    pub(super) ignored: Vec<String>,
}

/// Column of labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LabelColumn {
    pub(super) position: usize,
    /// Name of the label, or of the column if its entries are labels.
    pub(super) name: String,
    pub(super) content: Content,
    /// Columns of higher ranks win.
    pub(super) rank: u8,
}

/// Content of a column of labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// Values of one label.
    Text,
    /// Bytes, which are values of one label if most of them are text. The column is shown like this if they are not.
    Binary(String),
    /// Values of one label, in this field of structs.
    Field(usize),
    /// Maps, or lists of pairs.
    Entries,
}

/// Positions of columns with the metadata of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MetadataColumns {
    pub(super) name: usize,
    pub(super) unit: Option<usize>,
    pub(super) description: Option<usize>,
}

impl LabelColumns {
    /// Finds the columns of labels. `has_block_times` is true if the file states times as a labels file of
    /// parquet-common does. Without `keeps_values`, series columns are ignored.
    ///
    /// # Errors
    ///
    /// There are none, or two have the same name.
    pub(super) fn from_schema(schema: &Schema, has_block_times: bool, keeps_values: bool) -> Result<Self, SchemaError> {
        let layout = Layout::of_schema(schema, has_block_times);
        let has_labels = schema.fields().iter().any(|field| field.name() == LABELS && is_group(field.data_type()));
        let keeps_values = keeps_values && layout == Layout::Plain;
        let mut columns = Self {
            projection: Vec::new(),
            labels: Vec::new(),
            values: Vec::new(),
            timestamp: None,
            metadata: None,
            ignored: Vec::new(),
        };
        let (mut unit, mut description) = (None, None);
        let mut names = HashSet::new();
        for (index, field) in schema.fields().iter().enumerate() {
            let (name, position) = (field.name(), columns.projection.len());
            let is_time = matches!(field.data_type(), DataType::Timestamp(..))
                && (name == TIMESTAMP || layout == Layout::OpenTelemetry && name == "TimeUnix");
            let values = if keeps_values && !is_time { series_column(field) } else { Ok(None) };
            if let Err(reason) = values {
                columns.ignored.push(format!("{} ({}; {reason})", name, field.data_type()));
                continue;
            }
            if let Ok(Some(facts)) = values {
                if columns.values.iter().any(|(_, known)| known.name == facts.name) {
                    return Err(SchemaError::DuplicateColumn { name: facts.name });
                }
                columns.values.push((position, facts));
                columns.projection.push(index);
                continue;
            }
            let is_text = is_text(field.data_type()) || is_binary(field.data_type());
            if (is_text || is_time) && !names.insert(name) {
                return Err(SchemaError::DuplicateColumn { name: name.clone() });
            }
            match (layout.role(name), field.data_type()) {
                _ if is_time => columns.timestamp = Some(position),
                (Role::Label { name, rank }, data_type) if is_text => {
                    let is_binary = is_binary(data_type);
                    let content = if is_binary { Content::Binary(shown(field)) } else { Content::Text };
                    columns.labels.push(LabelColumn { position, name, content, rank });
                }
                (Role::Unit, _) if is_text => unit = Some(position),
                (Role::Description, _) if is_text => description = Some(position),
                (Role::Silent, _) => continue,
                (_, data_type) if is_group(data_type) && (!has_labels || name == LABELS) => {
                    let before = columns.labels.len();
                    columns.push_group(position, name, data_type, layout.rank_of_entries(name));
                    if has_labels && !columns.labels.iter().take(before).all(is_text_column) {
                        return Err(SchemaError::DuplicateColumn { name: name.clone() });
                    }
                }
                _ => {
                    // Exports have it, so that it needs no warning.
                    if !is_ref_name(name) {
                        columns.ignored.push(shown(field));
                    }
                    continue;
                }
            }
            columns.projection.push(index);
        }
        columns.labels.sort_by_key(|column| column.rank);
        if columns.labels.is_empty() {
            return Err(match layout {
                Layout::ParquetCommon => SchemaError::ChunksOnly,
                _ => SchemaError::NoLabels { columns: schema.fields().iter().map(|field| shown(field)).collect() },
            });
        }
        let name = columns.labels.last().filter(|_| layout == Layout::OpenTelemetry).map(|column| column.position);
        columns.metadata = name.map(|name| MetadataColumns { name, unit, description });
        Ok(columns)
    }

    /// Adds a column of maps, lists of pairs or structs.
    fn push_group(&mut self, position: usize, name: &str, data_type: &DataType, rank: u8) {
        let DataType::Struct(fields) = data_type else {
            self.labels.push(LabelColumn { position, name: name.to_owned(), content: Content::Entries, rank });
            return;
        };
        for (index, field) in fields.iter().enumerate() {
            let (name, content) = (field.name().clone(), Content::Field(index));
            self.labels.push(LabelColumn { position, name, content, rank });
        }
    }
}

fn is_text_column(column: &LabelColumn) -> bool {
    matches!(column.content, Content::Text | Content::Binary(_))
}

fn shown(field: &Field) -> String {
    // The types of nested columns may be pages long.
    match field.data_type() {
        data_type if data_type.is_nested() => format!("{} (nested)", field.name()),
        data_type => format!("{} ({data_type})", field.name()),
    }
}

/// Returns true for text, and for dictionaries of text.
pub(super) fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// Returns true for bytes of any length, and for dictionaries of them.
fn is_binary(data_type: &DataType) -> bool {
    match data_type {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => true,
        DataType::Dictionary(_, values) => is_binary(values),
        _ => false,
    }
}

/// Returns true for maps from text to text, lists of pairs of texts, and structs of texts.
fn is_group(data_type: &DataType) -> bool {
    let are_texts = |fields: &Fields| {
        !fields.is_empty() && fields.iter().all(|field| is_text(field.data_type()) || is_binary(field.data_type()))
    };
    match data_type {
        DataType::Map(entries, _) | DataType::List(entries) | DataType::LargeList(entries) => {
            matches!(entries.data_type(), DataType::Struct(fields) if fields.len() == 2 && are_texts(fields))
        }
        DataType::Struct(fields) => are_texts(fields),
        _ => false,
    }
}

/// Returns the position of the keys in pairs of these fields: the first, unless the second is called so.
pub(super) fn key_position(fields: &Fields) -> usize {
    let is_key = |field: &Arc<Field>| ["key", "keys", "name", "k"].contains(&field.name().as_str());
    usize::from(!fields.first().is_some_and(is_key) && fields.get(1).is_some_and(is_key))
}

#[cfg(test)]
mod tests {
    use arrow_schema::TimeUnit;

    use super::*;

    fn field(name: &str, data_type: DataType) -> Field {
        Field::new(name, data_type, true)
    }

    fn pair(key: DataType, value: DataType) -> Arc<Field> {
        let fields = vec![Field::new("keys", key, false), field("values", value)];
        Arc::new(Field::new("entries", DataType::Struct(fields.into()), false))
    }

    fn map(name: &str) -> Field {
        field(name, DataType::Map(pair(DataType::Utf8View, DataType::Utf8), false))
    }

    fn columns(fields: Vec<Field>) -> Result<LabelColumns, SchemaError> {
        LabelColumns::from_schema(&Schema::new(fields), false, true)
    }

    /// Columns of labels as text, the strongest last.
    fn labels(columns: &LabelColumns) -> Vec<String> {
        let shown = |column: &LabelColumn| match &column.content {
            Content::Text => format!("{} {}", column.position, column.name),
            Content::Binary(_) => format!("{} {} binary", column.position, column.name),
            Content::Field(field) => format!("{}.{field} {}", column.position, column.name),
            Content::Entries => format!("{} {} entries", column.position, column.name),
        };
        columns.labels.iter().map(shown).collect()
    }

    #[test]
    fn columns_of_text_and_a_map_are_labels() {
        let dictionary = DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8View));
        let columns = columns(vec![
            field("series_ref", DataType::UInt64),
            field("job", dictionary),
            field("value", DataType::Float64),
            map("other"),
            field("timestamp", DataType::Timestamp(TimeUnit::Millisecond, None)),
            map("labels"),
            field("pod", DataType::LargeUtf8),
            field("raw", DataType::Binary),
        ])
        .unwrap();
        assert_eq!(columns.projection, [1, 4, 5, 6, 7]);
        assert_eq!(labels(&columns), ["2 labels entries", "0 job", "3 pod", "4 raw binary"]);
        assert_eq!(columns.timestamp, Some(1));
        assert_eq!(columns.ignored, ["value (Float64)", "other (nested)"]);
    }

    #[test]
    fn the_only_map_needs_no_name_and_a_timestamp_must_be_one() {
        assert_eq!(labels(&columns(vec![map("tags")]).unwrap()), ["0 tags entries"]);
        let columns = columns(vec![map("tags"), field("timestamp", DataType::Float64)]).unwrap();
        assert_eq!(columns.ignored, ["timestamp (Float64)"]);
    }

    #[test]
    fn all_maps_are_labels_and_points_win_over_scopes_and_resources() {
        let fields = ["attributes", "resource_attributes", "scope", "more"].map(map);
        let found = columns(fields.to_vec()).unwrap();
        assert_eq!(
            labels(&found),
            ["1 resource_attributes entries", "2 scope entries", "0 attributes entries", "3 more entries"]
        );
    }

    #[test]
    fn lists_of_pairs_and_structs_of_texts_are_labels() {
        let texts = |names: [&str; 2]| {
            DataType::Struct(names.into_iter().map(|name| field(name, DataType::Utf8)).collect::<Vec<_>>().into())
        };
        let numbers = DataType::Struct(vec![field("a", DataType::Utf8), field("b", DataType::Int8)].into());
        let found = columns(vec![
            field("l", DataType::List(pair(DataType::Utf8, DataType::Utf8))),
            field("n", DataType::LargeList(pair(DataType::Binary, DataType::Binary))),
            field("s", texts(["job", "pod"])),
            field("x", numbers.clone()),
            field("y", DataType::List(Arc::new(field("item", numbers)))),
            field("z", DataType::List(Arc::new(field("item", DataType::Utf8)))),
        ])
        .unwrap();
        assert_eq!(labels(&found), ["0 l entries", "1 n entries", "2.0 job", "2.1 pod"]);
        assert_eq!(found.ignored, ["x (nested)", "y (nested)", "z (nested)"]);
        let position = |names| match texts(names) {
            DataType::Struct(fields) => key_position(&fields),
            _ => unreachable!(),
        };
        assert_eq!([["key", "value"], ["value", "key"], ["a", "b"], ["name", "k"]].map(position), [0, 1, 0, 0]);
    }

    #[test]
    fn labels_files_have_a_prefix_and_columns_without_labels() {
        let fields = vec![
            field("l___name__", DataType::Utf8),
            field("l_job", DataType::Binary),
            field("l_l_x", DataType::Utf8),
            field("other", DataType::Utf8),
            field("s_col_indexes", DataType::Binary),
            field("s_data_0", DataType::Binary),
        ];
        let found = columns(fields.clone()).unwrap();
        assert_eq!(labels(&found), ["0 __name__", "1 job binary", "2 l_x"]);
        assert_eq!(found.ignored, ["other (Utf8)"]);
        assert_eq!(columns(fields[5..].to_vec()), Err(SchemaError::ChunksOnly));
        // Without columns of chunks and without times in the footer, these are names of labels.
        let plain = Schema::new(fields[..3].to_vec());
        let plain = |has_times| labels(&LabelColumns::from_schema(&plain, has_times, true).unwrap());
        assert_eq!(plain(false), ["0 l___name__", "1 l_job binary", "2 l_l_x"]);
        assert_eq!(plain(true), ["0 __name__", "1 job binary", "2 l_x"]);
        let text = Schema::new(vec![field("l_a", DataType::Utf8), field("b", DataType::Utf8)]);
        assert_eq!(labels(&LabelColumns::from_schema(&text, true, true).unwrap()), ["0 l_a", "1 b"]);
    }

    #[test]
    fn tables_of_the_clickhouse_exporter_have_the_labels_of_otlp() {
        let time = DataType::Timestamp(TimeUnit::Nanosecond, None);
        let found = columns(vec![
            map("ResourceAttributes"),
            field("ResourceSchemaUrl", DataType::Utf8),
            field("ScopeName", DataType::Utf8),
            field("ScopeVersion", DataType::Utf8),
            map("ScopeAttributes"),
            field("ServiceName", DataType::Utf8),
            field("MetricName", DataType::Utf8),
            field("MetricDescription", DataType::Utf8),
            field("MetricUnit", DataType::Utf8),
            map("Attributes"),
            field("TimeUnix", time.clone()),
            field("StartTimeUnix", time),
            field("Tenant", DataType::Utf8),
            field("Value", DataType::Float64),
        ])
        .unwrap();
        let expected = [
            "4 service.name",
            "0 ResourceAttributes entries",
            "3 ScopeAttributes entries",
            "1 otel_scope_name",
            "2 otel_scope_version",
            "8 Attributes entries",
            "10 Tenant",
            "5 __name__",
        ];
        assert_eq!(labels(&found), expected);
        assert_eq!(found.timestamp, Some(9));
        assert_eq!(found.metadata, Some(MetadataColumns { name: 5, unit: Some(7), description: Some(6) }));
        let ignored = ["ResourceSchemaUrl (Utf8)", "StartTimeUnix (Timestamp(ns))", "Value (Float64)"];
        assert_eq!(found.ignored, ignored);
        // A label may have such a name.
        assert_eq!(labels(&columns(vec![field("MetricName", DataType::Utf8)]).unwrap()), ["0 MetricName"]);
    }

    #[test]
    fn schemas_without_labels_and_with_two_of_a_name_are_refused() {
        let refused = |fields: Vec<Field>| columns(fields).unwrap_err().to_string();
        let expected = "no column holds labels: expected columns of text, or a map `labels` from text to text; found ";
        assert_eq!(refused(vec![]), format!("{expected}no columns"));
        let numbers = (0..7).map(|number| field(&format!("n{number}"), DataType::Int8)).collect();
        let shown = "n0 (Int8), n1 (Int8), n2 (Int8), n3 (Int8), n4 (Int8) and 2 more";
        assert_eq!(refused(numbers), format!("{expected}{shown}"));
        let twice = vec![field("job", DataType::Utf8), field("job", DataType::LargeUtf8)];
        assert_eq!(refused(twice), "two columns are called \"job\"");
        assert_eq!(refused(vec![map("labels"), map("labels")]), "two columns are called \"labels\"");
    }
}
