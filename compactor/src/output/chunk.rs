//! Merged rows that wait in the spool, packed, in the order in which they will be written.

use std::io;

use chronoxide_format::Rule;
use chronoxide_format::bits::{BitWriter, Bits};
use chronoxide_format::checksum::crc;
use chronoxide_format::identity::Fingerprint;
use chronoxide_publish::{Contents, Spool, SpoolError, SpoolStep};
use roaring::RoaringBitmap;

use crate::merge::{MergeContext, MergedPool, OpenKeyset, Overlap, Run};

/// Packed merged rows of a keyset.
#[derive(Debug)]
pub(crate) struct PackedChunk {
    pub bytes: Vec<u8>,
    pub uses: Uses,
}

/// Place of waiting rows of a keyset in the spool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    /// Number of the merged keyset.
    pub keyset: usize,
    pub rows: u32,
    pub series: u64,
    offset: u64,
    len: usize,
    /// Checksum of the bytes: without it, rows that change while they wait would get fresh checksums in the output.
    checksum: u32,
}

/// Codes that rows use, and sums over their series.
#[derive(Clone, Debug)]
pub(crate) struct Uses {
    pub rows: u64,
    pub series: u64,
    /// Fingerprint of these series.
    pub fingerprint: Fingerprint,
    /// Smallest and largest code of each column.
    pub ranges: Vec<(u32, u32)>,
    /// Distinct codes of each column; empty if they are not collected.
    pub codes: Vec<RoaringBitmap>,
}

impl Uses {
    /// Returns the uses of no rows with this number of columns.
    pub(crate) fn none(columns: usize) -> Self {
        Self {
            rows: 0,
            series: 0,
            fingerprint: Fingerprint::ZERO,
            ranges: vec![(u32::MAX, 0); columns],
            codes: vec![RoaringBitmap::new(); columns],
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.series += other.series;
        self.fingerprint = self.fingerprint + other.fingerprint;
        for (range, other) in self.ranges.iter_mut().zip(other.ranges) {
            *range = (range.0.min(other.0), range.1.max(other.1));
        }
        for (codes, other) in self.codes.iter_mut().zip(other.codes) {
            *codes |= other;
        }
    }
}

/// Packs merged rows. Returns them with their uses, and the series that occurred more than once. `with_codes` also
/// collects the distinct codes.
pub(crate) fn pack(
    merging: &MergeContext<'_>,
    keyset: &OpenKeyset<'_>,
    run: &Run,
    with_codes: bool,
) -> (PackedChunk, Overlap) {
    let widths = merging.widths(keyset.choice);
    let fingerprints = merging.part_fingerprints(keyset.choice);
    let lists = keyset.pool.map(MergedPool::read);
    let mut writer = BitWriter::new();
    let mut uses = Uses::none(run.width);
    let mut duplicates = Overlap::NONE;
    let prefix = keyset.choice.prefix.len();
    // Products over the first columns, which neighbouring rows have in common.
    let mut products = vec![Fingerprint::ONE; prefix + 1];
    let mut before: &[u32] = &[];
    for (row, overlap) in run.rows().zip(&run.overlaps) {
        let same = row[..prefix].iter().zip(before).take_while(|(code, before)| code == before).count();
        for column in same..prefix {
            products[column + 1] = products[column] * fingerprints[column][row[column] as usize];
        }
        before = row;
        let product = products[prefix];
        let series = match &lists {
            Some(lists) => {
                let list = lists.whole(row[prefix]);
                Overlap { series: list.series, sum: product * list.sum }
            }
            None => Overlap { series: 1, sum: product },
        };
        uses.series += series.series;
        uses.fingerprint = uses.fingerprint + series.sum;
        if overlap.series > 0 {
            // The overlap of a plain row has no sum.
            let sum = if lists.is_some() { product * overlap.sum } else { product.times(overlap.series) };
            duplicates = duplicates.and(Overlap { series: overlap.series, sum });
        }
        for ((&code, &width), range) in row.iter().zip(&widths).zip(&mut uses.ranges) {
            writer.push(code.into(), width);
            *range = (range.0.min(code), range.1.max(code));
        }
    }
    uses.rows = run.len() as u64;
    if with_codes {
        uses.codes = (0..run.width).map(|column| codes(run, column, uses.ranges[column])).collect();
    }
    (PackedChunk { bytes: writer.finish(), uses }, duplicates)
}

/// Returns the distinct codes of a column, which lie in this range.
fn codes(run: &Run, column: usize, (least, most): (u32, u32)) -> RoaringBitmap {
    let codes = run.codes.iter().skip(column).step_by(run.width).copied();
    let span = most.saturating_sub(least) as usize + 1;
    let sorted: Vec<u32> = if span <= run.len() * 8 {
        let mut is_there = vec![false; span];
        codes.for_each(|code| is_there[(code - least) as usize] = true);
        (least..).zip(is_there).filter_map(|(code, is_there)| is_there.then_some(code)).collect()
    } else {
        let mut codes: Vec<u32> = codes.collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    };
    // The codes are sorted, so this cannot fail.
    RoaringBitmap::from_sorted_iter(sorted).unwrap_or_default()
}

impl PackedChunk {
    /// Appends the rows to the spool.
    pub(crate) fn keep(&self, keyset: usize, spool: &mut Spool<'_>) -> Result<Chunk, SpoolError> {
        let offset = spool.byte_len();
        spool.append(&self.bytes)?;
        let checksum = crc(&self.bytes);
        let (rows, series) = (self.uses.rows as u32, self.uses.series);
        Ok(Chunk { keyset, rows, series, offset, len: self.bytes.len(), checksum })
    }
}

impl Chunk {
    /// Reads the rows back, one after the other. `widths` are the widths of their codes.
    ///
    /// # Errors
    /// The rows cannot be read, or differ from what was written.
    pub(crate) fn read(&self, contents: &Contents<'_>, widths: &[u32]) -> Result<Vec<u32>, SpoolError> {
        let mut bytes = vec![0; self.len];
        contents.read_exact_at(self.offset, &mut bytes)?;
        if crc(&bytes) != self.checksum {
            let source = io::Error::new(io::ErrorKind::InvalidData, "scratch data differs from what was written");
            return Err(SpoolError { path: contents.path().to_owned(), step: SpoolStep::Read, source });
        }
        let bits = Bits::new(&bytes, Rule::TableExtent);
        let mut codes = Vec::with_capacity(self.rows as usize * widths.len());
        let mut bit = 0;
        for _ in 0..self.rows {
            for &width in widths {
                // The rows were packed in these widths, so this cannot fail.
                codes.push(bits.get(bit, width).unwrap_or_default() as u32);
                bit += u64::from(width);
            }
        }
        Ok(codes)
    }
}
