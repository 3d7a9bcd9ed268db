//! The schema of a file with texts as bytes: [`unmarked`].

use std::sync::Arc;

use parquet::basic::Type as PhysicalType;
use parquet::errors::Result;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

/// Returns the schema without the marks of text. The decoder checks marked columns page by page, so that one value that
/// is not UTF-8 would cost its page.
pub(super) fn unmarked(schema: &SchemaDescriptor) -> Result<SchemaDescriptor> {
    Ok(SchemaDescriptor::new(unmarked_type(&schema.root_schema_ptr())?))
}

fn unmarked_type(part: &TypePtr) -> Result<TypePtr> {
    let info = part.get_basic_info();
    let id = info.has_id().then(|| info.id());
    match part.as_ref() {
        Type::PrimitiveType { physical_type: PhysicalType::BYTE_ARRAY, .. } => {
            let builder = Type::primitive_type_builder(info.name(), PhysicalType::BYTE_ARRAY);
            Ok(Arc::new(builder.with_repetition(info.repetition()).with_id(id).build()?))
        }
        Type::PrimitiveType { .. } => Ok(part.clone()),
        Type::GroupType { fields, .. } => {
            let mut builder = Type::group_type_builder(info.name())
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_fields(fields.iter().map(unmarked_type).collect::<Result<_>>()?)
                .with_id(id);
            if info.has_repetition() {
                builder = builder.with_repetition(info.repetition());
            }
            Ok(Arc::new(builder.build()?))
        }
    }
}
