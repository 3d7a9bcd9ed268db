//! Maps, and the places that refer through them.

use chronoxide_format::bits::width;

use crate::plan::Part;

/// Bits that the records of a map take, approximately.
const MAP_BITS: u64 = 72;

/// Place that refers to a table or a dictionary by codes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// Column of a shared table: the table and the column.
    Table(usize, usize),
    /// Column of a keyset's table: the keyset and the column.
    Keyset(usize, usize),
    /// Members of a pool.
    Pool(usize),
}

/// Place where a map saves bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct User {
    pub place: Place,
    /// Bits that the map saves there.
    pub gain: u64,
}

/// Table of one column that is added, or may be.
#[derive(Debug)]
pub(super) struct Map {
    /// Table or dictionary that it maps to.
    pub part: Part,
    /// Rows of `part` that it has, in increasing order.
    pub codes: Vec<u32>,
    /// Places that use exactly these rows.
    pub users: Vec<User>,
}

impl Map {
    /// Returns true if its users together save more bits than it takes.
    pub fn pays(&self) -> bool {
        let span = bits(self.codes[self.codes.len() - 1] - self.codes[0]);
        // A map in a shared table costs one more step per label, so it must save much.
        let worth = |user: &User| if let Place::Table(..) = user.place { user.gain / 8 } else { user.gain };
        let gain: u64 = self.users.iter().map(worth).sum();
        gain > self.codes.len() as u64 * span + MAP_BITS
    }
}

/// Returns the bits of a field whose largest value is `largest`.
pub(super) fn bits(largest: u32) -> u64 {
    width(largest.into()).into()
}
