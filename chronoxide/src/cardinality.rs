//! [`Cardinality`]: numbers of series by keyset, name and value.

use std::collections::{BTreeMap, HashMap};

use chronoxide_reader::{BlockView, KeyId, SymbolId};
use chronoxide_select::{Searcher, SelectError, Selection as Refs, Tally};
use rayon::prelude::*;

use crate::{Error, Query, Selection};

/// Numbers of series by the names and values of their labels: which of them multiply series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cardinality<'b> {
    /// Number of series.
    pub series: u64,
    /// Sum of the number of labels over all series.
    pub labels: u64,
    /// Number of series by value, by name of the label: those of `__name__` are the series of each metric.
    pub values: BTreeMap<&'b str, HashMap<&'b str, u64>>,
    /// Number of series by the names of all their labels.
    pub keysets: BTreeMap<Vec<&'b str>, u64>,
}

impl<'b> Query<'b> {
    /// Counts the selected series by keyset, and by the values of all labels.
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
    /// let blocks = chronoxide::Blocks::open(path)?;
    /// let cardinality = blocks.query(r#"{job="api"}"#)?.cardinality()?;
    /// for (name, values) in &cardinality.values {
    ///     println!("{name}: {} values", values.len());
    /// }
    /// # Ok::<(), chronoxide::Error>(())
    /// ```
    ///
    /// Costs some nanoseconds per row of one block for one selector; else some 100 ns per series of each block, on all
    /// threads. Takes some 50 bytes of memory per distinct value, and for several blocks some 40 per distinct series,
    /// up to [`Query::max_memory`].
    ///
    /// # Errors
    /// As [`Query::series`].
    pub fn cardinality(&self) -> Result<Cardinality<'b>, Error> {
        let started = self.start();
        if let ([only], [matchers]) = (&*started.positions(), &*self.alternatives()) {
            let Some(block) = self.blocks.set.blocks().get(*only) else { return Ok(Cardinality::default()) };
            let limits = self.limits();
            let counted = block.open().search(limits, |searcher| {
                let tally = started.timed(searcher).tally(matchers)?;
                limits.check_series(tally.series_count())?;
                Cardinality::new(searcher.view(), &tally)
            });
            return counted
                .map_err(Error::from)
                .or_else(|error| self.leave_out(error).map(|()| Cardinality::default()));
        }
        let selection = self.found(&started)?;
        let counts = self.accepted(started.each_distinct(&selection, Cardinality::series_of_block)?)?;
        Ok(Cardinality::sum(counts))
    }
}

impl Selection {
    /// Counts the selected series by keyset, and by the values of all labels, as [`Query::cardinality`] does. A series
    /// that is selected in several blocks counts in each.
    ///
    /// # Errors
    /// An error of kind `Corrupt` if a block is damaged where the labels are.
    pub fn cardinality(&self) -> Result<Cardinality<'_>, Error> {
        Ok(Cardinality::sum(self.read_blocks(Cardinality::series_of_block)?))
    }
}

impl<'b> Cardinality<'b> {
    /// Counts series of a block.
    pub(crate) fn series_of_block(searcher: &Searcher<'_, 'b>, series: &Refs) -> Result<Self, SelectError> {
        Self::new(searcher.view(), &searcher.tally_selection(series)?)
    }

    /// Adds the counts of blocks.
    pub(crate) fn sum(counts: Vec<Self>) -> Self {
        counts.into_iter().reduce(Self::add).unwrap_or_default()
    }

    /// Resolves the counts of a block.
    fn new(view: &BlockView<'b>, tally: &Tally) -> Result<Self, SelectError> {
        let text = view.text()?;
        let name = |key: KeyId| text.symbol(view.key_symbol(key)?);
        let mut counted = Self { series: tally.series_count(), ..Self::default() };
        let keys: Vec<KeyId> = tally.keys().collect();
        let values = |&key: &KeyId| {
            let mut values = HashMap::with_capacity(tally.values(key).count());
            if let Some(dictionary) = view.dictionary(key)? {
                let column = dictionary.column(0)?;
                for (code, count) in tally.values(key) {
                    values.insert(text.symbol(SymbolId(dictionary.code(code, &column)?))?, count);
                }
            }
            Ok((name(key)?, values))
        };
        let values: Vec<_> = keys.par_iter().map(values).collect::<Result<_, SelectError>>()?;
        counted.values = values.into_iter().filter(|(_, values)| !values.is_empty()).collect();
        for &(number, count) in tally.keysets() {
            let Some(keyset) = view.keyset(number)? else { continue };
            let names = keyset.keys()?.map(|key| name(key?)).collect::<Result<Vec<_>, _>>()?;
            counted.labels += count * names.len() as u64;
            *counted.keysets.entry(names).or_default() += count;
        }
        Ok(counted)
    }

    /// Adds the counts of other series.
    fn add(mut self, other: Self) -> Self {
        self.series += other.series;
        self.labels += other.labels;
        for (name, values) in other.values {
            let own = self.values.entry(name).or_default();
            for (value, count) in values {
                *own.entry(value).or_default() += count;
            }
        }
        for (names, count) in other.keysets {
            *self.keysets.entry(names).or_default() += count;
        }
        self
    }
}
