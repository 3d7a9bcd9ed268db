//! Columns of a schema that are labels: [`LabelColumns`].

use std::collections::HashSet;

use arrow_schema::{DataType, Field, Schema};

use super::error::SchemaError;
use crate::series_json::SERIES_REF;

/// Name of the map of labels, if a schema has several maps.
const LABELS: &str = "labels";

/// Name of the column of times.
const TIMESTAMP: &str = "timestamp";

/// Columns of a schema that are read. Positions refer to a batch of only the columns of
/// [`projection`](Self::projection).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LabelColumns {
    /// Columns of the schema that are read, in ascending order.
    pub(super) projection: Vec<usize>,
    /// Positions and names of columns of text.
    pub(super) texts: Vec<(usize, String)>,
    /// Position and name of the map of labels.
    pub(super) map: Option<(usize, String)>,
    /// Position of the column of times.
    pub(super) timestamp: Option<usize>,
    /// Other columns, with their types.
    pub(super) ignored: Vec<String>,
}

impl LabelColumns {
    /// Finds the columns of labels.
    ///
    /// # Errors
    ///
    /// There are none, or two have the same name.
    pub(super) fn from_schema(schema: &Schema) -> Result<Self, SchemaError> {
        let maps = schema.fields().iter().filter(|field| is_map_of_texts(field.data_type()));
        let is_only = maps.count() == 1;
        let mut columns =
            Self { projection: Vec::new(), texts: Vec::new(), map: None, timestamp: None, ignored: Vec::new() };
        let mut names = HashSet::new();
        for (index, field) in schema.fields().iter().enumerate() {
            let (name, position) = (field.name(), columns.projection.len());
            let is_text = is_text(field.data_type());
            let is_map = is_map_of_texts(field.data_type()) && (is_only || name == LABELS);
            let is_time = name == TIMESTAMP && matches!(field.data_type(), DataType::Timestamp(..));
            if (is_text || is_time) && !names.insert(name) || is_map && columns.map.is_some() {
                return Err(SchemaError::DuplicateColumn { name: name.clone() });
            }
            if is_text {
                columns.texts.push((position, name.clone()));
            } else if is_map {
                columns.map = Some((position, name.clone()));
            } else if is_time {
                columns.timestamp = Some(position);
            } else {
                // Exports have it, so that it needs no warning.
                if name != SERIES_REF {
                    columns.ignored.push(shown(field));
                }
                continue;
            }
            columns.projection.push(index);
        }
        if columns.texts.is_empty() && columns.map.is_none() {
            return Err(SchemaError::NoLabels { columns: schema.fields().iter().map(|field| shown(field)).collect() });
        }
        Ok(columns)
    }
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
        DataType::Dictionary(_, values) => {
            matches!(**values, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        }
        _ => false,
    }
}

fn is_map_of_texts(data_type: &DataType) -> bool {
    let DataType::Map(entries, _) = data_type else { return false };
    match entries.data_type() {
        DataType::Struct(fields) => fields.len() == 2 && fields.iter().all(|field| is_text(field.data_type())),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::TimeUnit;

    use super::*;

    fn field(name: &str, data_type: DataType) -> Field {
        Field::new(name, data_type, true)
    }

    fn map(name: &str) -> Field {
        let key = Field::new("keys", DataType::Utf8View, false);
        let entries = DataType::Struct(vec![key, field("values", DataType::Utf8)].into());
        field(name, DataType::Map(Arc::new(Field::new("entries", entries, false)), false))
    }

    #[test]
    fn columns_of_text_and_a_map_are_labels() {
        let dictionary = DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8View));
        let schema = Schema::new(vec![
            field("series_ref", DataType::UInt64),
            field("job", dictionary),
            field("value", DataType::Float64),
            map("other"),
            field("timestamp", DataType::Timestamp(TimeUnit::Millisecond, None)),
            map("labels"),
            field("pod", DataType::LargeUtf8),
            field("raw", DataType::Binary),
        ]);
        let columns = LabelColumns::from_schema(&schema).unwrap();
        assert_eq!(columns.projection, [1, 4, 5, 6]);
        assert_eq!(columns.texts, [(0, "job".to_owned()), (3, "pod".to_owned())]);
        assert_eq!(columns.map, Some((2, "labels".to_owned())));
        assert_eq!(columns.timestamp, Some(1));
        assert_eq!(columns.ignored, ["value (Float64)", "other (nested)", "raw (Binary)"]);
    }

    #[test]
    fn the_only_map_needs_no_name_and_a_timestamp_must_be_one() {
        let columns = LabelColumns::from_schema(&Schema::new(vec![map("tags")])).unwrap();
        assert_eq!(columns.map, Some((0, "tags".to_owned())));
        let schema = Schema::new(vec![map("tags"), field("timestamp", DataType::Int64)]);
        assert_eq!(LabelColumns::from_schema(&schema).unwrap().ignored, ["timestamp (Int64)"]);
    }

    #[test]
    fn schemas_without_labels_and_with_two_of_a_name_are_refused() {
        let refused = |fields: Vec<Field>| LabelColumns::from_schema(&Schema::new(fields)).unwrap_err().to_string();
        let expected = "no column holds labels: expected columns of text, or a map `labels` from text to text; found ";
        assert_eq!(refused(vec![]), format!("{expected}no columns"));
        let numbers = (0..7).map(|number| field(&format!("n{number}"), DataType::Int8)).collect();
        let shown = "n0 (Int8), n1 (Int8), n2 (Int8), n3 (Int8), n4 (Int8) and 2 more";
        assert_eq!(refused(numbers), format!("{expected}{shown}"));
        assert_eq!(refused(vec![map("a"), map("b")]), format!("{expected}a (nested), b (nested)"));
        let twice = vec![field("job", DataType::Utf8), field("job", DataType::LargeUtf8)];
        assert_eq!(refused(twice), "two columns are called \"job\"");
        assert_eq!(refused(vec![map("labels"), map("labels")]), "two columns are called \"labels\"");
    }
}
