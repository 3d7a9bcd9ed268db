//! Numbers of series that remain without labels: [`SeriesProducts`].

use chronoxide_format::SeriesRef;
use chronoxide_format::identity::Fingerprint;

use super::Labels;
use super::fingerprints::Product;
use super::fold::Fold;
use super::spans::room;
use crate::{CodeColumn, ColumnReader, Searcher, SelectError, Selection};

/// The fingerprints of all series of a block, from which single labels can be taken out.
///
/// A fingerprint is a product over labels, so that the series without some labels are known from these labels alone.
/// [`Searcher::count_groups`] looks at all labels of all keysets instead, but not at each series.
#[derive(Debug)]
pub struct SeriesProducts {
    products: Vec<Fingerprint>,
}

impl Searcher<'_, '_> {
    /// Returns the fingerprints of all series. Takes 16 bytes of memory per series.
    ///
    /// # Errors
    /// As [`Searcher::fingerprints`].
    pub fn series_products(&self) -> Result<SeriesProducts, SelectError> {
        let all = Selection::from_range(SeriesRef(0)..SeriesRef(self.view.series_count()?));
        Ok(SeriesProducts { products: self.fingerprints(&all, Labels::All)? })
    }
}

impl SeriesProducts {
    /// Counts the distinct labelsets, but the empty one, that remain when the labels with these names are dropped. The
    /// searcher must be of the same block.
    ///
    /// Costs some 60 ns per series, for sorting, and a few per series and name; some 200 ns per value of the dropped
    /// labels; and 16 bytes of memory per series. Labelsets are compared by their fingerprints: constructed collisions
    /// make the count smaller.
    ///
    /// # Errors
    /// As [`Searcher::project`], and `OutOfMemory`.
    pub fn count_without(&self, searcher: &Searcher<'_, '_>, names: &[&str]) -> Result<u64, SelectError> {
        let mut left: Vec<Fingerprint> = room(self.products.len() as u64)?;
        left.extend_from_slice(&self.products);
        let mut keys = Vec::with_capacity(names.len());
        for name in names {
            keys.extend(searcher.key(name.as_bytes())?.filter(|key| !keys.contains(key)));
        }
        let mut reader = ColumnReader::default();
        let all = SeriesRef(0)..SeriesRef(searcher.view.series_count()?);
        for &key in &keys {
            let mut column = [CodeColumn::default()];
            reader.read(searcher, all.clone(), &[key], &mut column)?;
            let [column] = column;
            let inverses = inverses(Product.dictionary(searcher.view, key)?);
            let absent = column.absent().as_slice().iter();
            // The series with the label are those between the ranges without it.
            let mut start = 0;
            for end in absent.map(|range| (range.start, range.end)).chain([(column.len(), column.len())]) {
                let places = start as usize..end.0 as usize;
                let codes = column.codes().get(places.clone()).unwrap_or_default();
                for (product, &code) in left.get_mut(places).unwrap_or_default().iter_mut().zip(codes) {
                    *product = *product * inverses.get(code as usize).copied().unwrap_or(Fingerprint::ONE);
                }
                start = end.1;
            }
        }
        searcher.limits.check()?;
        left.sort_unstable_by_key(|product| product.to_parts());
        left.dedup();
        let is_empty = left.binary_search_by_key(&Fingerprint::ONE.to_parts(), |product| product.to_parts()).is_ok();
        Ok(left.len() as u64 - u64::from(is_empty))
    }
}

/// Returns the inverse of each fingerprint of a label, by one inversion and three products for each.
fn inverses(mut labels: Vec<Fingerprint>) -> Vec<Fingerprint> {
    let mut product = Fingerprint::ONE;
    // Products of the labels before each.
    let before: Vec<Fingerprint> = labels
        .iter()
        .map(|&label| {
            let before = product;
            product = product * label;
            before
        })
        .collect();
    let mut inverse = product.inverse();
    for (label, before) in labels.iter_mut().zip(before).rev() {
        (*label, inverse) = (inverse * before, inverse * *label);
    }
    labels
}
