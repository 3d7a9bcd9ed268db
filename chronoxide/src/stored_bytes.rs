//! [`Blocks::stored_bytes`]: bytes of the files by the value of a label.

use std::collections::BTreeMap;

use chronoxide_reader::SymbolId;
use chronoxide_select::{Limits, SelectError, StoredBytes};
use rayon::prelude::*;

use crate::{Blocks, Error};

impl Blocks {
    /// Splits the bytes of the files among all series, and sums them by the value of a label: what each team, service
    /// or metric costs. `None` stands for the series without the label, and for blocks without series. The sum is that
    /// of the lengths of the files.
    ///
    /// What several series use, as a string, a row of a table or a list, is split evenly among them, and the metadata
    /// of a metric among its series; what is of the whole file, as its catalogue and columns, among all. A series that
    /// several blocks have costs bytes in each.
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/plain-bitpacked.cx");
    /// let blocks = chronoxide::Blocks::open(path)?;
    /// for (job, bytes) in blocks.stored_bytes("job")? {
    ///     println!("{}: {bytes:.0} bytes", job.unwrap_or("(no job)"));
    /// }
    /// # Ok::<(), chronoxide::Error>(())
    /// ```
    ///
    /// Reads each row of each block once, on all threads: some 35 ns per series. Takes 24 bytes of memory per row of a
    /// table and per string, of the blocks that are read at a time.
    ///
    /// # Errors
    /// An error of kind `Corrupt` for the first damaged block.
    pub fn stored_bytes(&self, name: &str) -> Result<BTreeMap<Option<&str>, f64>, Error> {
        let of_block = |block: usize| {
            let Some(opened) = self.set.blocks().get(block) else { return Ok(BTreeMap::new()) };
            let bytes = opened.open().search(Limits::default(), |searcher| {
                let (view, text) = (searcher.view(), searcher.view().text()?);
                let key = view.key(name)?.filter(|_| view.series_count().is_ok_and(|count| count > 0));
                let Some(key) = key else { return Ok(BTreeMap::from([(None, view.bytes().len() as f64)])) };
                let split: StoredBytes = searcher.stored_bytes(key)?;
                let mut bytes = BTreeMap::new();
                if let Some(dictionary) = view.dictionary(key)? {
                    let column = dictionary.column(0)?;
                    for (code, &of_value) in (0..dictionary.row_count()).zip(split.by_code()) {
                        bytes.insert(Some(text.symbol(SymbolId(dictionary.code(code, &column)?))?), of_value);
                    }
                }
                if split.absent() > 0.0 {
                    bytes.insert(None, split.absent());
                }
                Ok::<_, SelectError>(bytes)
            });
            Ok::<_, Error>(bytes?)
        };
        (0..self.len()).into_par_iter().map(of_block).try_reduce(BTreeMap::new, |mut all, other| {
            for (value, bytes) in other {
                *all.entry(value).or_default() += bytes;
            }
            Ok(all)
        })
    }
}
