//! Targets that read blocks.

use chronoxide_compactor::{CompactError, CompactOptions, compact};
use chronoxide_format::view::BlockView;
use chronoxide_labels::Layout;

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
pub fn mutated_block(program: &[u8]) -> Vec<u8> {
    mutated(&mut Program(program))
}

fn read_and_check(bytes: &[u8], is_thorough: bool) {
    read_some(bytes, FIRST, is_thorough);
    if let Ok(view) = BlockView::open(bytes) {
        sound::check(&view, is_thorough);
    }
}

/// Two programs, the first as long as the second byte says: if both blocks verify, they are merged, and the result has the series of
/// both, whatever their order.
///
/// # Panics
/// If a promise of merging is broken.
pub fn merge(bytes: &[u8]) {
    let mut program = Program(bytes);
    let options = program.byte();
    let len = program.below(256);
    let blocks = [mutated(&mut Program(program.bytes(len))), mutated(&mut program)];
    let (Ok(first), Ok(second)) = (BlockView::open(&blocks[0]), BlockView::open(&blocks[1])) else { return };
    let layout = match options & 5 {
        0 => Layout::Factored,
        1 => Layout::FixedWidth,
        _ => Layout::BitPacked,
    };
    let compact_options = CompactOptions { layout, ..CompactOptions::default() };
    let merged = match compact(&[first, second], &compact_options) {
        Ok(merged) => merged,
        Err(CompactError::Differs { .. } | CompactError::UnknownFeatures { .. }) => return,
        Err(CompactError::Input { input: damaged @ 0..2, .. }) => {
            assert!([first, second][damaged].verify().is_err(), "a sound input is called damaged");
            return;
        }
        Err(error) => panic!("two sound blocks cannot be merged: {error}"),
    };
    let output = BlockView::open(&merged.block).expect("a merged block opens");
    output.verify().expect("a merged block verifies");
    if options & 2 != 0 {
        let swapped = compact(&[second, first], &compact_options).expect("the order of inputs does not matter");
        assert!(merged.block == swapped.block, "the order of inputs shows");
    }
    let (Some(in_first), Some(in_second)) = (sound::series(&first), sound::series(&second)) else { return };
    if let Some(in_output) = sound::series(&output) {
        assert_eq!(in_output, in_first.union(&in_second).cloned().collect());
    }
    assert_eq!(merged.summary.duplicates, in_first.intersection(&in_second).count() as u64);
}
