//! Groups of blocks of similar size.

use super::{Description, StrategyOptions};

/// Returns groups of these blocks, the smallest block of each group first.
///
/// Starts with the smallest block, adds all blocks of similar size as far as they fit, and continues with the next
/// block. If a group is too small, its smallest block is left out and the others are tried again.
pub(super) fn groups<'a>(blocks: &[&'a Description], options: &StrategyOptions) -> Vec<Vec<&'a Description>> {
    let size = |block: &Description| block.bytes.max(options.small_bytes);
    let mut sorted = blocks.to_vec();
    sorted.sort_by(|a, b| (size(a), a.order()).cmp(&(size(b), b.order())));
    let mut groups = Vec::new();
    let mut rest = &sorted[..];
    while let Some(smallest) = rest.first() {
        let largest = size(smallest).saturating_mul(options.size_factor);
        let alike = rest.partition_point(|block| size(block) <= largest);
        let fitting = options.run(&rest[..alike]);
        let taken = if fitting >= options.min_alike.max(2) { fitting } else { 1 };
        if taken > 1 && !Description::are_siblings(&rest[..taken]) {
            groups.push(rest[..taken].to_vec());
        }
        rest = &rest[taken..];
    }
    groups
}
