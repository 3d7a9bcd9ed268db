//! Order and limits of a labelset.

use chronoxide_format::layout;

use crate::error::LabelError;

/// Maximum number of labels of a series (spec, section 2).
pub const MAX_LABELS: usize = layout::MAX_LABELS as usize;

/// Maximum length of a label's name or value in bytes (spec, section 2).
pub const MAX_SYMBOL_LEN: usize = layout::MAX_SYMBOL_LEN as usize;

/// Checks a labelset: 1 to [`MAX_LABELS`] labels, names and values of 1 to [`MAX_SYMBOL_LEN`] bytes,
/// names strictly increasing in byte order.
///
/// # Errors
///
/// Returns the first violation from left to right.
pub fn check(labels: &[(&str, &str)]) -> Result<(), LabelError> {
    check_count(labels.len())?;
    let mut previous = "";
    for (position, &(name, value)) in labels.iter().enumerate() {
        check_name(name, position)?;
        check_value(value, position)?;
        // Names are not empty, so the first one is greater than the empty string.
        match name.cmp(previous) {
            std::cmp::Ordering::Less => return Err(LabelError::NotSorted { position }),
            std::cmp::Ordering::Equal => return Err(LabelError::DuplicateName { position }),
            std::cmp::Ordering::Greater => previous = name,
        }
    }
    Ok(())
}

/// Checks the number of labels of a series.
pub(crate) fn check_count(count: usize) -> Result<(), LabelError> {
    match count {
        0 => Err(LabelError::NoLabels),
        1..=MAX_LABELS => Ok(()),
        _ => Err(LabelError::TooManyLabels { count }),
    }
}

/// Checks the name of the label at `position`.
pub(crate) fn check_name(name: &str, position: usize) -> Result<(), LabelError> {
    match name.len() {
        0 => Err(LabelError::EmptyName { position }),
        1..=MAX_SYMBOL_LEN => Ok(()),
        len => Err(LabelError::NameTooLong { position, len }),
    }
}

/// Checks the value of the label at `position`.
pub(crate) fn check_value(value: &str, position: usize) -> Result<(), LabelError> {
    match value.len() {
        0 => Err(LabelError::EmptyValue { position }),
        1..=MAX_SYMBOL_LEN => Ok(()),
        len => Err(LabelError::ValueTooLong { position, len }),
    }
}
