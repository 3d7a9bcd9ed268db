//! Models: a symbol table and a labelset store over `BTreeMap`.

use std::collections::BTreeMap;

use chronoxide_labels::{
    Counted, LabelError, LabelSetStore, LabelSets, StoreRef, StoreSymbolId, SymbolTable, labelset,
};

/// Symbol table over `BTreeMap`, the model of every other one.
#[derive(Debug, Default, Clone)]
pub struct ModelSymbolTable {
    ids: BTreeMap<String, StoreSymbolId>,
    texts: Vec<String>,
}

impl ModelSymbolTable {
    /// Returns the number of bytes of all strings.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.texts.iter().map(String::len).sum()
    }
}

impl SymbolTable for ModelSymbolTable {
    fn intern(&mut self, text: &str) -> Result<StoreSymbolId, LabelError> {
        if let Some(&id) = self.ids.get(text) {
            return Ok(id);
        }
        let id = StoreSymbolId(Counted::Symbol.next(self.texts.len())?);
        self.ids.insert(text.to_owned(), id);
        self.texts.push(text.to_owned());
        Ok(id)
    }

    fn get(&self, text: &str) -> Option<StoreSymbolId> {
        self.ids.get(text).copied()
    }

    fn resolve(&self, id: StoreSymbolId) -> Option<&str> {
        self.texts.get(id.index()).map(String::as_str)
    }

    fn len(&self) -> usize {
        self.texts.len()
    }

    fn estimated_bytes(&self) -> usize {
        self.texts.iter().map(|text| 2 * text.len() + 3 * size_of::<String>()).sum()
    }

    fn used_bytes(&self) -> usize {
        self.estimated_bytes()
    }
}

type Labels = Vec<(String, String)>;

/// Labelset store over `BTreeMap`, the model of every other one.
#[derive(Debug, Default, Clone)]
pub struct ModelStore {
    refs: BTreeMap<Labels, StoreRef>,
    series: Vec<Labels>,
}

impl ModelStore {
    /// Returns the labels of each series, in order of refs.
    #[must_use]
    pub fn series(&self) -> &[Vec<(String, String)>] {
        &self.series
    }
}

fn owned(labels: &[(&str, &str)]) -> Labels {
    labels.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

impl LabelSets for ModelStore {
    fn find(&self, labels: &[(&str, &str)]) -> Result<Option<StoreRef>, LabelError> {
        labelset::check(labels)?;
        Ok(self.refs.get(&owned(labels)).copied())
    }

    fn visit(&self, series: StoreRef, mut each: impl FnMut(&str, &str)) -> Result<(), LabelError> {
        let unknown = LabelError::Unknown { what: Counted::Series, number: series.0 };
        for (name, value) in self.series.get(series.index()).ok_or(unknown)? {
            each(name, value);
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.series.len()
    }

    fn estimated_bytes(&self) -> usize {
        let label_size = |(name, value): &(String, String)| name.len() + value.len() + 2 * size_of::<String>();
        let series_size = |labels: &Labels| size_of::<Labels>() + labels.iter().map(label_size).sum::<usize>();
        2 * self.series.iter().map(series_size).sum::<usize>()
    }
    fn used_bytes(&self) -> usize {
        self.estimated_bytes()
    }
}

impl LabelSetStore for ModelStore {
    fn insert(&mut self, labels: &[(&str, &str)]) -> Result<(StoreRef, bool), LabelError> {
        labelset::check(labels)?;
        let labels = owned(labels);
        if let Some(&series) = self.refs.get(&labels) {
            return Ok((series, false));
        }
        let series = StoreRef(Counted::Series.next(self.series.len())?);
        self.refs.insert(labels.clone(), series);
        self.series.push(labels);
        Ok((series, true))
    }
}
