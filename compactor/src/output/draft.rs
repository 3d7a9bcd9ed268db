//! An output whose id and length are known, but whose rows are not written yet: [`Draft`].

use std::collections::BTreeMap;
use std::io::{self, Seek, Write};

use chronoxide_format::SeriesRef;
use chronoxide_format::bits::BitWriter;
use chronoxide_format::identity::{BlockId, Fingerprint};
use chronoxide_format::layout::ANCHOR_ROWS;
use chronoxide_format::write::{
    BlockBuilder, BlockMeta, BuildError, KeysetOutline, PackedColumn, PackedRows, PreparedBlock, RowPacker, RowSink,
};
use chronoxide_planner::{ColumnCodes, KeysetPlan, Layout, Part};
use chronoxide_publish::Contents;
use rayon::prelude::*;

use super::chunk::{Chunk, Uses};
use super::rows::OutputRows;
use super::used::Used;
use crate::CompactError;
use crate::batches::batches;
use crate::merge::MergeContext;
use crate::ranks::Ranks;

/// Approximate number of rows that are read, renumbered and packed at a time.
const GROUP_ROWS: u64 = 1 << 17;

/// Maps the codes of a column to codes of the output.
enum Renumber<'a> {
    Ranks(&'a Ranks),
    /// Ranks, then the position in a map.
    Mapped(&'a Ranks, &'a [u32]),
    Lists(&'a [u32]),
}

impl Renumber<'_> {
    fn get(&self, code: u32) -> u32 {
        match self {
            Self::Ranks(ranks) => ranks.get(code),
            Self::Mapped(ranks, map) => {
                // The map has every code of the column.
                map.binary_search(&ranks.get(code)).unwrap_or_default() as u32
            }
            Self::Lists(ranks) => ranks[code as usize],
        }
    }
}

/// Packs the rows of a keyset.
struct KeysetWriter {
    packer: RowPacker,
    /// Part of the output that each column refers to, except for lists: a key, a shared table, or a map.
    parts: Vec<Part>,
}

/// A block that is ready to be written. Its rows may still be in the spool.
pub struct Draft<'a> {
    prepared: PreparedBlock,
    /// Rows that are in the spool; `None` if the whole block is in memory.
    rows: Option<Box<RowsToWrite<'a>>>,
    refs: Vec<SeriesRef>,
}

struct RowsToWrite<'a> {
    merging: &'a MergeContext<'a>,
    rows: &'a OutputRows,
    contents: Contents<'a>,
    used: Used,
    /// Codes of each map, by the number of its table.
    maps: BTreeMap<usize, Vec<u32>>,
    /// Writers by keyset of the output.
    keysets: Vec<KeysetWriter>,
}

impl<'a> Draft<'a> {
    /// Renumbers what the rows use, and prepares everything but the rows.
    pub(crate) fn new(
        merging: &'a MergeContext<'a>,
        rows: &'a OutputRows,
        contents: Contents<'a>,
        is_all_used: bool,
        layout: Layout,
        meta: &BlockMeta,
    ) -> Result<Self, CompactError> {
        let used = Used::by(merging, rows, is_all_used);
        let mut factored = used.factored(merging, rows);
        if layout == Layout::Factored {
            let keysets: Vec<(usize, (&usize, &Uses))> = rows.keysets.iter().enumerate().collect();
            let columns = keysets.par_iter().flat_map_iter(|&(number, (&keyset, uses))| {
                let choice = &merging.context.plan.keysets[keyset];
                let columns = choice.prefix.iter().zip(&uses.codes).enumerate();
                columns
                    .filter_map(|(column, (&part, codes))| used.column(number, column, part, codes, uses.rows))
                    .collect::<Vec<_>>()
            });
            let columns: Vec<ColumnCodes> = columns.collect();
            factored.add_maps(&used.value_counts(), columns);
        }
        let mut builder = BlockBuilder::new(layout.row_form());
        used.push_labels(merging, &mut builder)?;
        let key_count = used.value_counts().len() as u32;
        // The builder takes the rows of all tables; those of maps are needed again.
        let maps = factored.tables.iter().enumerate().filter(|(_, table)| table.parts.len() == 1);
        let maps: BTreeMap<usize, Vec<u32>> = maps.map(|(number, table)| (number, table.rows.clone())).collect();
        let pools = factored.write_shared(key_count, &mut builder)?;
        let mut keysets = Vec::with_capacity(rows.keysets.len());
        for ((&number, uses), keyset) in rows.keysets.iter().zip(factored.keysets) {
            let choice = &merging.context.plan.keysets[number];
            let columns = renumber(&used, choice, &keyset.parts, &maps);
            let ranges = columns.iter().zip(&uses.ranges);
            let mut ranges: Vec<(u32, u32)> =
                ranges.map(|(column, &(least, most))| (column.get(least), column.get(most))).collect();
            if let (Some(part), Some(codes), Some(range)) = (choice.list, uses.codes.last(), ranges.last_mut()) {
                // Renumbering changes the order of lists.
                let ranks = used.list_ranks(part);
                let ranks = codes.iter().map(|list| ranks[list as usize]);
                *range = ranks.fold((u32::MAX, 0), |range, rank| (range.0.min(rank), range.1.max(rank)));
            }
            let outline = KeysetOutline {
                domains: &keyset.domains(key_count, &pools),
                row_count: u32::try_from(uses.rows)
                    .map_err(|_| BuildError::TooMany { what: "rows", limit: u32::MAX })?,
                ranges: &ranges,
                series_count: uses.series,
                fingerprint: uses.fingerprint,
            };
            let (_, packer) = builder.push_keyset_outline(&outline)?;
            keysets.push(KeysetWriter { packer, parts: keyset.parts });
        }
        let prepared = builder.prepare(meta)?;
        let rows = RowsToWrite { merging, rows, contents, used, maps, keysets };
        Ok(Self { prepared, rows: Some(Box::new(rows)), refs: Vec::new() })
    }

    /// Creates a draft whose block is in memory.
    pub(crate) fn whole(prepared: PreparedBlock, refs: Vec<SeriesRef>) -> Self {
        Self { prepared, rows: None, refs }
    }

    /// Takes the series ref that each row became; empty if rows kept their order.
    pub(crate) fn take_refs(&mut self) -> Vec<SeriesRef> {
        std::mem::take(&mut self.refs)
    }

    /// Adds series columns, which have a value or none for each series in the order of refs.
    pub(crate) fn with_columns(self, columns: &[PackedColumn]) -> Result<Self, BuildError> {
        Ok(Self { prepared: self.prepared.with_columns(columns)?, ..self })
    }

    /// Returns the length of the file in bytes.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.prepared.byte_len()
    }

    /// Returns the number of optional sections that are copied from the input without being understood.
    #[must_use]
    pub const fn carried_sections(&self) -> usize {
        self.prepared.carried_sections()
    }

    /// Returns the number of series.
    #[must_use]
    pub const fn series_count(&self) -> u64 {
        self.prepared.series_count()
    }

    /// Returns the fingerprint of the series.
    #[must_use]
    pub const fn fingerprint(&self) -> Fingerprint {
        self.prepared.fingerprint()
    }

    /// Writes the block to the beginning of `out`, and returns its id. A group of rows is in memory at a time.
    ///
    /// # Errors
    /// Errors of `out`, and of reading rows from the spool.
    pub fn write_to<W: Write + Seek>(self, out: &mut W) -> io::Result<BlockId> {
        self.prepared.write_to(out, |sink| self.rows.as_ref().map_or(Ok(()), |rows| rows.write(sink)))
    }
}

fn renumber<'a>(
    used: &'a Used,
    choice: &KeysetPlan,
    parts: &[Part],
    maps: &'a BTreeMap<usize, Vec<u32>>,
) -> Vec<Renumber<'a>> {
    let column = |(&part, output): (&Part, &Part)| match output {
        Part::Table(table) if maps.contains_key(table) => Renumber::Mapped(used.ranks(part), &maps[table]),
        _ => Renumber::Ranks(used.ranks(part)),
    };
    let lists = choice.list.map(|part| Renumber::Lists(used.list_ranks(part)));
    choice.prefix.iter().zip(parts).map(column).chain(lists).collect()
}

/// Packed rows of a chunk, and the number of series of each row if the keyset has lists.
struct Written {
    packed: PackedRows,
    series: Vec<u32>,
}

impl RowsToWrite<'_> {
    fn write(&self, sink: &mut RowSink<'_>) -> io::Result<()> {
        let numbers: BTreeMap<usize, usize> = self.rows.keysets.keys().copied().zip(0..).collect();
        let (mut open, mut anchors, mut series_before, mut rows_before) = (None, Vec::new(), 0_u32, 0_u32);
        for group in batches(&self.rows.chunks, GROUP_ROWS, |chunk| chunk.rows.into()) {
            let written = (group.par_iter())
                .map(|chunk| self.pack(chunk, &self.keysets[numbers[&chunk.keyset]]))
                .collect::<io::Result<Vec<Written>>>()?;
            for (chunk, written) in group.iter().zip(written) {
                if open != Some(chunk.keyset) {
                    if open.is_some_and(|open| self.has_lists(open)) {
                        sink.anchors(std::mem::take(&mut anchors))?;
                    }
                    sink.next_table()?;
                    (open, series_before, rows_before) = (Some(chunk.keyset), 0, 0);
                }
                sink.push(&written.packed)?;
                for series in written.series {
                    if rows_before % ANCHOR_ROWS == 0 {
                        anchors.push(series_before);
                    }
                    series_before += series;
                    rows_before += 1;
                }
            }
        }
        if open.is_some_and(|open| self.has_lists(open)) {
            sink.anchors(anchors)?;
        }
        Ok(())
    }

    fn has_lists(&self, keyset: usize) -> bool {
        self.merging.context.plan.keysets[keyset].list.is_some()
    }

    fn pack(&self, chunk: &Chunk, writer: &KeysetWriter) -> io::Result<Written> {
        let choice = &self.merging.context.plan.keysets[chunk.keyset];
        let widths = self.merging.widths(choice);
        let mut codes = chunk.read(&self.contents, &widths).map_err(io::Error::other)?;
        let width = widths.len();
        let series = match self.merging.pool(choice) {
            Some(pool) => {
                let reader = pool.read();
                codes.iter().skip(width - 1).step_by(width).map(|&list| reader.len(list) as u32).collect()
            }
            None => Vec::new(),
        };
        let columns = renumber(&self.used, choice, &writer.parts, &self.maps);
        for row in codes.chunks_exact_mut(width) {
            for (code, column) in row.iter_mut().zip(&columns) {
                *code = column.get(*code);
            }
        }
        let mut bits = BitWriter::new();
        writer.packer.pack(&codes, &mut bits).map_err(io::Error::other)?;
        Ok(Written { packed: PackedRows::from_writer(bits), series })
    }
}
