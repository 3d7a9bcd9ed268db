//! [`value_columns`]: series columns beside labels; and the metadata of their fields.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use chronoxide_arrow::{BlockTable, Column, ColumnContent, Scan, TableError};
use chronoxide_format::column::field_key;

/// Returns the series columns of a block as columns beside `others`, in the order of their names. One whose name
/// another column has gets as many underscores before it as make it differ from all names.
///
/// # Errors
/// [`TableError::Select`] if the beginning of a column is damaged.
pub fn value_columns<'n>(
    table: &BlockTable,
    others: impl IntoIterator<Item = &'n str>,
) -> Result<Vec<Column>, TableError> {
    let view = table.block().view();
    let found = view.series_columns().collect::<Result<Vec<_>, chronoxide_format::Error>>();
    let found = found.map_err(|error| table.block().locate(error.into()))?;
    let mut taken: BTreeSet<String> = others.into_iter().map(str::to_owned).collect();
    // A name that is free stays, also if a column before it had to move.
    let moved: Vec<bool> = found.iter().map(|column| !taken.insert(column.name().to_owned())).collect();
    Ok(found
        .iter()
        .zip(moved)
        .map(|(column, is_moved)| {
            let values = Column::values(column.name(), column.value_type());
            if !is_moved {
                return values;
            }
            let values = values.beside(taken.iter().map(String::as_str));
            taken.insert(values.name().to_owned());
            values
        })
        .collect())
}

/// Returns the schema of a scan, with the name, the way to merge and the unit of series columns as metadata of their
/// fields.
pub(super) fn schema(scan: &Scan) -> Result<SchemaRef, TableError> {
    let (table, schema) = (scan.table(), scan.schema()?);
    let mut fields = Vec::with_capacity(schema.fields().len());
    for (column, field) in scan.columns()?.iter().zip(schema.fields()) {
        let found = match column.content() {
            ColumnContent::Values { name, .. } => {
                table.block().view().series_column(name).map_err(|error| table.block().locate(error.into()))?
            }
            _ => None,
        };
        let metadata = found.map(|values| {
            HashMap::from([
                (field_key::NAME.to_owned(), values.name().to_owned()),
                (field_key::MERGE.to_owned(), values.merge().to_string()),
                (field_key::UNIT.to_owned(), values.unit().to_string()),
            ])
        });
        fields.push(match metadata {
            Some(metadata) => Arc::new(Field::clone(field).with_metadata(metadata)),
            None => FieldRef::clone(field),
        });
    }
    Ok(Arc::new(Schema::new(fields)))
}
