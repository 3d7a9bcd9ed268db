//! Labels of protobuf messages: [`label_pair`].

use crate::protobuf::{Fields, ProtoError};

/// Returns name and value of a `prometheus.Label` or an `io.prometheus.client.LabelPair`.
pub(crate) fn label_pair(mut fields: Fields<'_>) -> Result<(&str, &str), ProtoError> {
    let (mut name, mut value) = ("", "");
    while let Some(field) = fields.next()? {
        match field.number {
            1 => name = field.text()?,
            2 => value = field.text()?,
            _ => {}
        }
    }
    Ok((name, value))
}
