//! Targets that read blocks.

use chronoxide_format::view::BlockView;

use super::mutation::mutated;
use super::program::Program;
use super::sound;
use crate::exercise::read_some;

/// Things of each kind that are read; more of them are only slower.
const FIRST: u32 = 2;

/// Any bytes: read as if they were a block, and verified.
pub fn block_open(bytes: &[u8]) {
    // Most bytes are refused at once, so those that are not may cost more.
    read_and_check(bytes, true);
}

/// A program that changes a golden: read, and verified; what verifies must keep the promises of a sound block.
pub fn block_repaired(bytes: &[u8]) {
    let block = mutated(&mut Program(bytes));
    let is_thorough = bytes.get(1).is_some_and(|options| options & 12 == 12);
    read_and_check(&block, is_thorough);
}

/// The block that a program makes of a golden; see [`block_repaired`]. Some of them are sound.
#[must_use]
pub fn mutated_block(program: &[u8]) -> Vec<u8> {
    mutated(&mut Program(program))
}

fn read_and_check(bytes: &[u8], is_thorough: bool) {
    read_some(bytes, FIRST, is_thorough);
    let mut arena = Vec::new();
    if let Ok(view) = BlockView::open_unpacked(bytes, &mut arena) {
        sound::check(&view, is_thorough);
    }
}
