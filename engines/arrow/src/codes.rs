//! [`Codes`]: value codes of one key of the series of a batch, with their nulls.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanBufferBuilder, DictionaryArray, StringViewArray, UInt32Array};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::compute::take;
use arrow::error::ArrowError;
use chronoxide_select::{CodeColumn, Projection};

use crate::Strings;

/// One code per series; null where the label is absent.
#[derive(Clone, Debug)]
pub(crate) struct Codes {
    codes: ScalarBuffer<u32>,
    nulls: Option<NullBuffer>,
}

impl Codes {
    /// Takes the codes of a column that was read by runs.
    pub(crate) fn from_column(column: CodeColumn) -> Self {
        let (codes, absent) = column.into_parts();
        if absent.is_empty() {
            return Self { codes: codes.into(), nulls: None };
        }
        let mut present = BooleanBufferBuilder::new(codes.len());
        for range in absent.as_slice() {
            present.append_n(range.start as usize - present.len(), true);
            present.append_n(range.len(), false);
        }
        present.append_n(codes.len() - present.len(), true);
        Self { codes: codes.into(), nulls: Some(NullBuffer::new(present.finish())) }
    }

    /// Copies the codes of a projection.
    pub(crate) fn from_projected(codes: &[u32]) -> Self {
        let nulls = codes.contains(&Projection::ABSENT);
        let nulls = nulls.then(|| codes.iter().map(|&code| code != Projection::ABSENT).collect());
        let stored = |&code: &u32| if code == Projection::ABSENT { 0 } else { code };
        Self { codes: codes.iter().map(stored).collect(), nulls }
    }

    /// Returns true if no series has the label.
    pub(crate) fn are_all_null(&self) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.null_count() == self.codes.len())
    }

    /// Returns the code of a series, or `None` if it does not have the label.
    #[inline]
    pub(crate) fn get(&self, position: usize) -> Option<u32> {
        let code = *self.codes.get(position)?;
        let is_absent = self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(position));
        (!is_absent).then_some(code)
    }

    /// Returns true if all codes are positions in a dictionary of `len` values. Those of a damaged block may not be.
    pub(crate) fn are_below(&self, len: usize) -> bool {
        self.codes.iter().copied().max().is_none_or(|largest| (largest as usize) < len) || self.are_all_null()
    }

    /// Returns the column of the codes over their dictionary.
    pub(crate) fn to_array(&self, values: Arc<StringViewArray>, strings: Strings) -> Result<ArrayRef, ArrowError> {
        let codes = UInt32Array::try_new(self.codes.clone(), self.nulls.clone())?;
        match strings {
            Strings::Dictionary => Ok(Arc::new(DictionaryArray::try_new(codes, values)?)),
            Strings::View => take(&*values, &codes, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projected_codes_have_nulls_where_the_label_is_absent() {
        let codes = Codes::from_projected(&[3, Projection::ABSENT, 0]);
        assert_eq!([codes.get(0), codes.get(1), codes.get(2), codes.get(3)], [Some(3), None, Some(0), None]);
        assert!(!codes.are_all_null());
        assert!(codes.are_below(4) && !codes.are_below(3));
        let absent = Codes::from_projected(&[Projection::ABSENT; 2]);
        assert!(absent.are_all_null() && absent.are_below(0));
        assert_eq!(Codes::from_projected(&[1]).nulls.map(|nulls| nulls.len()), None);
    }
}
