//! [`Codes`]: value codes of one key of the series of a batch, with their nulls.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringViewArray, UInt32Array};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, ScalarBuffer};
use arrow_schema::ArrowError;
use arrow_select::take::take;
use chronoxide_select::{CodeColumn, Projection};

use crate::Strings;
use crate::dictionary::dictionary_array;

/// One code per series; null where the label is absent.
#[derive(Clone, Debug)]
pub(crate) enum Codes {
    /// No series has the label.
    AllNull,
    /// Some have it.
    Some(ScalarBuffer<u32>, Option<NullBuffer>),
}

impl Codes {
    /// Takes the codes of a column that was read by runs.
    pub(crate) fn from_column(column: CodeColumn) -> Self {
        let (codes, absent) = column.into_parts();
        if codes.is_empty() {
            return Self::AllNull;
        }
        if absent.is_empty() {
            return Self::Some(codes.into(), None);
        }
        let mut present = BooleanBufferBuilder::new(codes.len());
        for range in absent.as_slice() {
            present.append_n(range.start as usize - present.len(), true);
            present.append_n(range.len(), false);
        }
        present.append_n(codes.len() - present.len(), true);
        Self::Some(codes.into(), Some(NullBuffer::new(present.finish())))
    }

    /// Copies the codes of a projection.
    pub(crate) fn from_projected(codes: &[u32]) -> Self {
        let absent = codes.iter().filter(|&&code| code == Projection::ABSENT).count();
        if absent == codes.len() {
            return Self::AllNull;
        }
        let nulls = (absent > 0).then(|| codes.iter().map(|&code| code != Projection::ABSENT).collect());
        let stored = |&code: &u32| if code == Projection::ABSENT { 0 } else { code };
        Self::Some(codes.iter().map(stored).collect(), nulls)
    }

    /// Returns the code of a series, or `None` if it does not have the label.
    #[inline]
    pub(crate) fn get(&self, position: usize) -> Option<u32> {
        let Self::Some(codes, nulls) = self else { return None };
        let code = *codes.get(position)?;
        let is_absent = nulls.as_ref().is_some_and(|nulls| nulls.is_null(position));
        (!is_absent).then_some(code)
    }

    /// Returns the column of the codes over their dictionary, or `None` if a code is beyond it, as it may be in a
    /// damaged block.
    pub(crate) fn to_array(
        &self,
        nulls: &Nulls,
        values: Arc<StringViewArray>,
        strings: Strings,
    ) -> Result<Option<ArrayRef>, ArrowError> {
        let codes = match self {
            Self::AllNull if strings == Strings::View => return Ok(Some(Arc::clone(&nulls.views))),
            Self::AllNull => nulls.codes.clone(),
            Self::Some(codes, nulls) => UInt32Array::try_new(codes.clone(), nulls.clone())?,
        };
        Ok(match strings {
            Strings::Dictionary => dictionary_array(codes, values).map(|array| Arc::new(array) as ArrayRef),
            Strings::View => {
                // Codes of absent labels are 0.
                let are_below = codes.values().iter().all(|&code| (code as usize) < values.len());
                if are_below { Some(take(&*values, &codes, None)?) } else { None }
            }
        })
    }
}

/// Columns of some length without a value. They share their memory: a block can have very many labels.
#[derive(Clone, Debug)]
pub(crate) struct Nulls {
    codes: UInt32Array,
    views: ArrayRef,
}

impl Nulls {
    pub(crate) fn new(len: usize) -> Self {
        Self { codes: UInt32Array::new_null(len), views: Arc::new(StringViewArray::new_null(len)) }
    }

    /// Returns the length of the columns.
    pub(crate) fn len(&self) -> usize {
        self.codes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projected_codes_have_nulls_where_the_label_is_absent() {
        let codes = Codes::from_projected(&[3, Projection::ABSENT, 0]);
        assert_eq!([codes.get(0), codes.get(1), codes.get(2), codes.get(3)], [Some(3), None, Some(0), None]);
        assert!(matches!(Codes::from_projected(&[Projection::ABSENT; 2]), Codes::AllNull));
        assert!(matches!(Codes::from_projected(&[1]), Codes::Some(_, None)));
    }

    #[test]
    fn codes_beyond_the_dictionary_have_no_array() {
        for strings in [Strings::Dictionary, Strings::View] {
            let array = |codes: &[u32], values: usize| {
                let values = StringViewArray::from_iter_values((0..values).map(|value| value.to_string()));
                Codes::from_projected(codes).to_array(&Nulls::new(codes.len()), Arc::new(values), strings).unwrap()
            };
            assert!(array(&[3, Projection::ABSENT, 0], 3).is_none(), "{strings:?}");
            assert_eq!(array(&[3, Projection::ABSENT, 0], 4).unwrap().null_count(), 1);
            assert_eq!(array(&[Projection::ABSENT; 2], 0).unwrap().logical_null_count(), 2, "{strings:?}");
            assert!(array(&[0], 0).is_none(), "{strings:?}");
        }
    }
}
