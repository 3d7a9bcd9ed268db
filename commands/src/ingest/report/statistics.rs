//! Statistics of the labels and sections of blocks.

use std::collections::BTreeMap;

use chronoxide_format::view::BlockView;
use chronoxide_format::{KeyId, Result};
use chronoxide_ingest::SealedBlock;
use chronoxide_labels::Layout;

use super::distribution::Distribution;

/// Statistics of the labels and sections of blocks. Each block counts its distinct strings.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    pub(crate) labels_per_series: Distribution,
    pub(crate) name_lens: Distribution,
    pub(crate) value_lens: Distribution,
    /// Number of values of each label name, in the block with the most.
    pub(crate) cardinalities: BTreeMap<String, u64>,
    /// Number of values of all label names, in the block with the most.
    pub(crate) most_values: u64,
    /// Number of distinct strings, in the block with the most.
    pub(crate) most_symbols: u64,
    /// Maximum number of series and bytes of memory of the store.
    pub(crate) most_store_series: u64,
    pub(crate) most_store_memory: u64,
    /// Bytes of each section, in file order, for each of [`Layout::ALL`].
    pub(crate) sections: Vec<(String, [u64; 3])>,
}

impl Statistics {
    /// Adds a block in all layouts. Costs one read of each value and keyset.
    pub(crate) fn add(&mut self, sealed: &SealedBlock) -> Result<()> {
        self.most_store_series = self.most_store_series.max(sealed.store_series as u64);
        self.most_store_memory = self.most_store_memory.max(sealed.store_memory as u64);
        let mut arena = Vec::new();
        let block = BlockView::open_unpacked(&sealed.block, &mut arena)?;
        for keyset in block.keysets() {
            let keyset = keyset?;
            let (labels, series) = (keyset.keys()?.count() as u64, keyset.series()?.count() as u64);
            self.labels_per_series.add(labels, series);
        }
        let mut values = 0;
        for number in 0..block.key_count() {
            let key = KeyId(number);
            let name = String::from_utf8_lossy(block.key_name(key)?).into_owned();
            self.name_lens.add(name.len() as u64, 1);
            let cardinality = u64::from(block.cardinality(key)?.unwrap_or_default());
            values += cardinality;
            let most = self.cardinalities.entry(name).or_default();
            *most = cardinality.max(*most);
            for value in block.label_values(key)?.into_iter().flatten() {
                self.value_lens.add(value?.len() as u64, 1);
            }
        }
        self.most_values = self.most_values.max(values);
        self.most_symbols = self.most_symbols.max(block.symbols().count().into());
        let others = sealed.others.iter().map(|(layout, block)| (*layout, block));
        for (layout, block) in others.chain([(sealed.layout, &sealed.block)]) {
            let view = BlockView::open(block)?;
            let Some(place) = Layout::ALL.iter().position(|&other| other == layout) else { continue };
            for section in view.sections() {
                let name = section.known().map_or("optional", |kind| kind.name());
                self.add_bytes(name, place, section.length);
            }
            self.add_bytes("checks", place, view.checks_len());
            let front = view.sections().next().map_or(0, |section| section.offset);
            self.add_bytes("header and directory", place, front);
        }
        Ok(())
    }

    fn add_bytes(&mut self, name: &str, place: usize, bytes: u64) {
        match self.sections.iter_mut().find(|(known, _)| known == name) {
            Some((_, all)) => all[place] += bytes,
            None => {
                let mut all = [0; 3];
                all[place] = bytes;
                self.sections.push((name.to_owned(), all));
            }
        }
    }
}
