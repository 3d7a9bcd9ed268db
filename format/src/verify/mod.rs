//! Every rule of the spec (its section 15).
//!
//! Verification reads the whole block once, section by section, in the order in which later checks rely on earlier ones: checksums,
//! catalogue, symbols, tables, pools, keysets, meta, metrics. It holds one bit per symbol, row of a dictionary or inner table, list and text, and
//! one fingerprint per row and list: bounded by the bytes that are there.

mod catalogue;
mod content;
mod keyset;
mod meta;
mod metrics;
mod pool;
mod symbol;
mod table;

use bitvec::vec::BitVec;

pub use content::ContentFingerprint;

use crate::error::{Place, corrupt};
use crate::identity::BlockId;
use crate::layout::SectionKind;
use crate::number::{index, length};
use crate::view::BlockView;
use crate::{Result, Rule};

impl BlockView<'_> {
    /// Checks every rule of the spec: the block is exactly what a writer would have written for its content and plan. Returns what the
    /// content adds up to.
    ///
    /// Cost: one pass over the block, and for each series one product per column of its keyset's table.
    ///
    /// # Errors
    /// The first rule that is broken, with place and values.
    pub fn verify(&self) -> Result<ContentFingerprint> {
        self.verify_structure()?;
        let content = ContentFingerprint::of(self)?;
        self.verify_identity(&content)?;
        Ok(content)
    }

    /// Whether the rows of all tables and the lists of all pools lie one after the other, so that their bytes bound how many there are: O(tables). A part of
    /// [`BlockView::verify_structure`].
    ///
    /// # Errors
    /// The first that does not begin where the one before it ends.
    pub fn verify_extents(&self) -> Result<()> {
        table::verify_extents(self)?;
        pool::verify_extents(self)
    }

    /// The part of [`BlockView::verify`] that does not need the content's fingerprint: for those who compute that on another thread meanwhile.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn verify_structure(&self) -> Result<()> {
        self.frame().check_all(self.bytes())?;
        catalogue::verify(self)?;
        symbol::verify(self)?;
        let mut uses = Uses::new(self);
        let keys = table::verify(self, &mut uses)?;
        pool::verify(self, &mut uses)?;
        keyset::verify(self, &keys)?;
        uses.verify()
    }

    /// The rest of it: what the block says of its content and of its metrics, and its id.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn verify_identity(&self, content: &ContentFingerprint) -> Result<()> {
        meta::verify(self, content)?;
        metrics::verify(self)?;
        use SectionKind::{Catalogue, Meta, MetricMetadata};
        let section = |kind| self.frame().section(self.bytes(), kind);
        let time_start = self.meta()?.time().map(|time| time.start);
        let expected = BlockId::derive(time_start, section(Meta), section(Catalogue), section(MetricMetadata));
        if self.block_id() != expected {
            let first = |id: BlockId| u64::from_be_bytes(id.0.first_chunk().copied().unwrap_or_default());
            return Err(corrupt(Rule::BlockId, Place::Byte(24), first(self.block_id()), first(expected)));
        }
        Ok(())
    }
}

/// Bits of a word of a [`BitVec`].
const WORD_BITS: usize = index(usize::BITS);

/// What was seen to be used.
struct Uses {
    symbols: BitVec,
    /// Rows of dictionaries and inner tables, one after the other.
    rows: BitVec,
    /// Where the rows of each of these tables start in `rows`, and where the last ends.
    row_starts: Vec<usize>,
    /// Lists of all pools, one after the other.
    lists: BitVec,
    list_starts: Vec<usize>,
}

impl Uses {
    fn new(view: &BlockView<'_>) -> Self {
        // Counted while tables and pools are walked, each after its extent was found to lie in the block: see `add_table`.
        Self {
            symbols: BitVec::repeat(false, index(view.symbols().count())),
            rows: BitVec::new(),
            row_starts: vec![0],
            lists: BitVec::new(),
            list_starts: vec![0],
        }
    }

    /// Makes room for the rows of the next table.
    fn add_table(&mut self, row_count: u32) {
        self.rows.resize(self.rows.len() + index(row_count), false);
        self.row_starts.push(self.rows.len());
    }

    /// Makes room for the lists of the next pool.
    fn add_pool(&mut self, list_count: u32) {
        self.lists.resize(self.lists.len() + index(list_count), false);
        self.list_starts.push(self.lists.len());
    }

    fn symbol(&mut self, id: u32) {
        set(&mut self.symbols, Some(index(id)));
    }

    fn row(&mut self, table: u32, row: u32) {
        let start = self.row_starts.get(index(table)).copied();
        set(&mut self.rows, start.map(|start| start + index(row)));
    }

    /// The same for many rows of one table; neighbours are often the same.
    fn rows(&mut self, table: u32, rows: impl Iterator<Item = u32>) {
        let Some(&start) = self.row_starts.get(index(table)) else { return };
        // One word at a time: a reference to a bit costs several times as much.
        let words = self.rows.as_raw_mut_slice();
        let mut last = None;
        for row in rows {
            if last != Some(row) {
                let bit = start + index(row);
                if let Some(word) = words.get_mut(bit / WORD_BITS) {
                    *word |= 1 << (bit % WORD_BITS);
                }
                last = Some(row);
            }
        }
    }

    fn list(&mut self, pool: u32, list: u32) {
        let start = self.list_starts.get(index(pool)).copied();
        set(&mut self.lists, start.map(|start| start + index(list)));
    }

    fn verify(&self) -> Result<()> {
        if let Some(symbol) = self.symbols.first_zero() {
            return Err(corrupt(Rule::SymbolsUsed, Place::Symbol(length(symbol)), 0, 1));
        }
        if let Some(row) = self.rows.first_zero() {
            let table = self.row_starts.partition_point(|&start| start <= row) - 1;
            return Err(corrupt(Rule::RowsUsed, Place::Table(length(table)), 0, 1));
        }
        if let Some(list) = self.lists.first_zero() {
            let pool = self.list_starts.partition_point(|&start| start <= list) - 1;
            return Err(corrupt(Rule::ListUsed, Place::Pool(length(pool)), 0, 1));
        }
        Ok(())
    }
}

fn set(bits: &mut BitVec, bit: Option<usize>) {
    if let Some(mut bit) = bit.and_then(|bit| bits.get_mut(bit)) {
        *bit = true;
    }
}

/// Refuses a value that is not the expected one.
fn expect(rule: Rule, place: Place, found: u64, expected: u64) -> Result<()> {
    if found == expected { Ok(()) } else { Err(corrupt(rule, place, found, expected)) }
}

/// Refuses a value that is not below the bound.
fn expect_below(rule: Rule, place: Place, found: u64, bound: u64) -> Result<()> {
    if found < bound { Ok(()) } else { Err(corrupt(rule, place, found, bound)) }
}
