//! The arena and the starts of its symbols (spec, section 6).

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U16, U32};

use super::{BuildError, Limits};
use crate::SymbolId;
use crate::bits::{BitWriter, width};
use crate::layout::{MAX_SYMBOL_LEN, SYMBOL_GROUP, SymbolsHeader};
use crate::number::{index, length, low32};

/// The symbols of a block, in the order in which they are pushed.
#[derive(Debug)]
pub(super) struct SymbolsBuilder {
    arena: Vec<u8>,
    /// Start of each symbol, and the arena's length.
    starts: Vec<u64>,
}

impl SymbolsBuilder {
    pub(super) fn new() -> Self {
        Self { arena: Vec::new(), starts: vec![0] }
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Adds a symbol, which must come after the one before it.
    pub(super) fn push(&mut self, symbol: &str, limits: &Limits) -> Result<SymbolId, BuildError> {
        let len = symbol.len();
        if len == 0 || length(len) > u64::from(MAX_SYMBOL_LEN) {
            return Err(BuildError::SymbolLen { len });
        }
        let id = self.count();
        if self.symbol(id.wrapping_sub(1)).is_some_and(|last| last >= symbol.as_bytes()) {
            return Err(BuildError::Order { what: "symbol", number: length(id) });
        }
        let id = limits.next("symbols", id)?;
        limits.bytes("symbols", length(self.arena.len()), length(len))?;
        self.arena.extend_from_slice(symbol.as_bytes());
        self.starts.push(length(self.arena.len()));
        Ok(SymbolId(id))
    }

    fn symbol(&self, id: usize) -> Option<&[u8]> {
        let (&start, &end) = (self.starts.get(id)?, self.starts.get(id + 1)?);
        self.arena.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    pub(super) fn get(&self, id: SymbolId) -> Result<&[u8], BuildError> {
        let unknown = BuildError::Unknown { what: "symbol", number: id.0.into(), count: length(self.count()) };
        self.symbol(index(id.0)).ok_or(unknown)
    }

    /// Returns the symbols section and the arena.
    pub(super) fn finish(self) -> (Vec<u8>, Vec<u8>) {
        (pack_starts(&self.starts), self.arena)
    }
}

/// Returns the symbols section.
fn pack_starts(starts: &[u64]) -> Vec<u8> {
    let group = index(SYMBOL_GROUP);
    let bases = starts.iter().step_by(group);
    let base_width = width(bases.max().copied().unwrap_or(0));
    let differences =
        |group: &[u64]| group.iter().map(|start| start - group.first().unwrap_or(start)).collect::<Vec<u64>>();
    let difference_width = width(starts.chunks(group).flat_map(differences).max().unwrap_or(0));
    let header = SymbolsHeader {
        symbol_count: U32::new(low32(length(starts.len() - 1))),
        base_width: u8::try_from(base_width).unwrap_or(u8::MAX),
        difference_width: u8::try_from(difference_width).unwrap_or(u8::MAX),
        reserved: U16::new(0),
    };
    let mut writer = BitWriter::new();
    for &byte in header.as_bytes() {
        writer.push(byte.into(), 8);
    }
    for group in starts.chunks(group) {
        for (place, (&start, difference)) in group.iter().zip(differences(group)).enumerate() {
            if place == 0 { writer.push(start, base_width) } else { writer.push(difference, difference_width) }
        }
    }
    writer.finish()
}
