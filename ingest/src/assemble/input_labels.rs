//! Labels of the inputs, for series that lack them.
//!
//! They belong to each series, unlike external labels, which belong to the block: inputs with different labels share a
//! block.

use chronoxide_labels::{LabelId, Origin};

use super::assembler::Assembler;
use super::blocks::BlockSink;
use super::error::AssembleError;

impl<B: BlockSink> Assembler<B> {
    /// Begins an input whose series get these labels unless they have them. A series has a label of a name also if it
    /// sets it to the empty text. The last of equal names wins.
    pub(crate) fn input_has_labels(&mut self, labels: &[(String, String)]) -> Result<(), AssembleError> {
        self.input.clear();
        for (name, value) in labels.iter().filter(|(name, value)| !name.is_empty() && !value.is_empty()) {
            if self.refuses_name(name) {
                continue;
            }
            self.work += 1;
            let label = self.intern_label(name, value)?;
            self.input.retain(|other| other.key != label.key);
            self.input.push(label);
        }
        self.note_origins_of_input();
        // The labels that a resource adds to its points include those of the input.
        self.base_is_current = false;
        self.template.discard();
        Ok(())
    }

    pub(super) fn note_origins_of_input(&mut self) {
        for label in &self.input {
            self.store.note_origin(label.key, Origin::Resource);
        }
    }

    /// Adds the labels of the input to the current series, whose labels are complete. It may have none itself: all
    /// columns of a table may be in its path.
    #[inline]
    pub(super) fn add_input_labels(&mut self) {
        let Self { input, labels, metric, point, .. } = self;
        for label in &*input {
            if point.position(label.key).is_none() && !metric.iter().any(|other| other.key == label.key) {
                labels.push(*label);
            }
        }
    }
}

/// Adds the labels of an input whose keys `labels` lacks.
pub(super) fn add_missing(labels: &mut Vec<LabelId>, input: &[LabelId]) {
    for &label in input {
        if !labels.iter().any(|other| other.key == label.key) {
            labels.push(label);
        }
    }
}
