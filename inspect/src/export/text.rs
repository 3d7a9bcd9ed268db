//! CSV and JSON lines.

use std::borrow::Cow;
use std::fmt::Write;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, SchemaRef};
use chronoxide_text::human::time;
use csv::ByteRecord;
use serde::Serializer;

use super::cells::{Cell, Cells};
use super::encoder::Encoder;

/// Encoder of CSV.
pub(super) struct Csv {
    /// Header, until the first batch.
    header: Vec<u8>,
    /// True if no cell may be a formula.
    is_safe: bool,
}

impl Csv {
    /// Creates an encoder. An export without series has the header, too.
    pub(super) fn new(schema: &SchemaRef, is_safe: bool) -> Result<Self, ArrowError> {
        if let Some(field) = schema.fields().iter().find(|field| field.data_type().is_nested()) {
            return Err(nested(field));
        }
        let mut header = Vec::new();
        let mut writer = csv::Writer::from_writer(&mut header);
        let names = schema.fields().iter().map(|field| cell(field.name(), is_safe));
        writer.write_record(names.map(|name| name.into_owned().into_bytes())).map_err(external)?;
        writer.flush()?;
        drop(writer);
        Ok(Self { header, is_safe })
    }
}

impl Encoder for Csv {
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let columns = Cells::columns(batch)?;
        let mut text = std::mem::take(&mut self.header);
        let mut writer = csv::Writer::from_writer(&mut text);
        // The writer takes a whole record faster than its fields one by one.
        let mut record = ByteRecord::new();
        let mut digits = String::new();
        for row in 0..batch.num_rows() {
            record.clear();
            for (column, cells) in columns.iter().enumerate() {
                match cells.get(row) {
                    None => record.push_field(b""),
                    Some(Cell::Text(value)) => record.push_field(cell(value, self.is_safe).as_bytes()),
                    Some(Cell::Value(value)) => {
                        digits.clear();
                        let _ = write!(digits, "{value}"); // a String never fails
                        record.push_field(digits.as_bytes());
                    }
                    Some(Cell::Time(nanoseconds)) => record.push_field(time(nanoseconds).as_bytes()),
                    Some(Cell::Labels(_)) => return Err(nested(batch.schema_ref().field(column))),
                }
            }
            writer.write_byte_record(&record).map_err(external)?;
        }
        writer.flush()?;
        drop(writer);
        Ok(text)
    }

    fn finish(&mut self) -> Result<Vec<u8>, ArrowError> {
        Ok(std::mem::take(&mut self.header))
    }
}

/// Returns the text of a cell. Spreadsheets compute cells that begin like formulas, even quoted ones, and a formula can
/// read other cells and send them (<https://owasp.org/www-community/attacks/CSV_Injection>).
fn cell(value: &str, is_safe: bool) -> Cow<'_, str> {
    let is_formula = is_safe && value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { Cow::Owned(format!("'{value}")) } else { Cow::Borrowed(value) }
}

/// Returns the error of a column that has more than one value per series.
fn nested(field: &Field) -> ArrowError {
    ArrowError::CsvError(format!("column {:?} has type {}, which CSV does not have", field.name(), field.data_type()))
}

/// Encoder of JSON lines. Nulls are left out, so that a label is in the object if and only if the series has it.
pub(super) struct JsonLines;

impl Encoder for JsonLines {
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let columns = Cells::columns(batch)?;
        let fields = batch.schema_ref().fields();
        let mut text = Vec::new();
        for row in 0..batch.num_rows() {
            // Cells are serialized as they come: no object is made per series.
            let present =
                fields.iter().zip(&columns).filter_map(|(field, cells)| Some((field.name(), cells.get(row)?)));
            serde_json::Serializer::new(&mut text).collect_map(present).map_err(external)?;
            text.push(b'\n');
        }
        Ok(text)
    }

    fn finish(&mut self) -> Result<Vec<u8>, ArrowError> {
        Ok(Vec::new())
    }
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}
