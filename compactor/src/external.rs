//! External labels: defaults for inputs, and lifting to labels of series.

use std::collections::BTreeMap;

use chronoxide_format::policy::{LabelPolicy, is_reserved_name};
use chronoxide_format::view::Meta;

use crate::{CompactError, CompactOptions};

/// Returns the external labels of an input, sorted by name, with the defaults of the options; none if the options leave
/// them out.
pub(crate) fn labels_of(meta: &Meta<'_>, options: &CompactOptions) -> chronoxide_format::Result<Vec<(String, String)>> {
    if options.drop_external_labels {
        return Ok(Vec::new());
    }
    let mut labels = Vec::new();
    for pair in meta.external_labels()? {
        let (name, value) = pair?;
        labels.push((name.to_owned(), value.to_owned()));
    }
    Ok(with_defaults(labels, &options.external_labels))
}

/// Adds defaults for names that `labels` lacks.
pub(crate) fn with_defaults(labels: Vec<(String, String)>, defaults: &[(String, String)]) -> Vec<(String, String)> {
    let mut all: BTreeMap<String, String> = defaults.iter().cloned().collect();
    all.extend(labels);
    all.into_iter().collect()
}

/// External labels of each input that are lifted to labels of its series.
///
/// A series that already has a label with that name keeps its own, as when Prometheus sends series with external
/// labels (spec, section 10).
#[derive(Debug)]
pub(crate) struct Lifted {
    /// Names and values, by input.
    by_input: Vec<Vec<(String, String)>>,
}

impl Lifted {
    /// Lifts the external labels of each input if the options ask for it.
    ///
    /// # Errors
    /// A label is longer than the label policy of the blocks allows, or its name is reserved.
    pub(crate) fn new(
        external_labels: Vec<Vec<(String, String)>>,
        policy: LabelPolicy,
        options: &CompactOptions,
    ) -> Result<Self, CompactError> {
        if !options.lift_external_labels {
            return Ok(Self { by_input: external_labels.into_iter().map(|_| Vec::new()).collect() });
        }
        let by_input = external_labels;
        let (max_name_len, max_value_len) = (policy.max_name_len() as usize, policy.max_value_len() as usize);
        let is_too_long = |(name, value): &(String, String)| name.len() > max_name_len || value.len() > max_value_len;
        if by_input.iter().flatten().any(is_too_long) {
            let what = "an external label is longer than the label policy of the blocks allows, and cannot become a label of series";
            return Err(CompactError::Options { what });
        }
        if by_input.iter().flatten().any(|(name, _)| is_reserved_name(name)) {
            let what = "an external label has a name that begins with U+0000, which is reserved: it cannot become a label of series";
            return Err(CompactError::Options { what });
        }
        Ok(Self { by_input })
    }

    /// Returns true if no series gets a label.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_input.iter().all(Vec::is_empty)
    }

    /// Returns names and values of all inputs, with repetitions.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_input.iter().flatten().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns names and values, by input.
    pub(crate) fn by_input(&self) -> &[Vec<(String, String)>] {
        &self.by_input
    }
}
