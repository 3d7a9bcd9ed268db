//! Labels of protobuf messages: [`label_pair`].

use chronoxide_labels::MAX_LABELS;

use crate::protobuf::{Field, Fields, ProtoError};

/// Most labels that a series is parsed with. A series with more than the format allows is refused later; this limit
/// only bounds the memory until then.
pub(crate) const MAX_PARSED_LABELS: usize = 4 * (MAX_LABELS + 1);

/// Adds a label, unless there are too many.
pub(crate) fn push_label<'a>(
    labels: &mut Vec<(&'a str, &'a str)>,
    label: (&'a str, &'a str),
    field: &Field<'_>,
) -> Result<(), ProtoError> {
    if labels.len() >= MAX_PARSED_LABELS {
        return Err(too_many_labels(field));
    }
    labels.push(label);
    Ok(())
}

/// Returns the error of a series with more than [`MAX_PARSED_LABELS`] labels.
pub(crate) fn too_many_labels(field: &Field<'_>) -> ProtoError {
    ProtoError::TooMany { offset: field.end(), what: "labels", limit: MAX_PARSED_LABELS }
}

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
