//! Names and values of labels.

use std::collections::BTreeSet;

use super::Queried;
use super::queried::text;
use crate::InspectError;

/// Returns the names of the labels of selected series of all blocks.
#[must_use]
pub fn label_names<'data>(blocks: &[Queried<'data>]) -> BTreeSet<&'data str> {
    let mut names = BTreeSet::new();
    for block in blocks {
        match names_of_block(block) {
            Ok(found) => names.extend(found),
            Err(damage) => block.note(damage),
        }
    }
    names
}

fn names_of_block<'data>(block: &Queried<'data>) -> Result<BTreeSet<&'data str>, InspectError> {
    if block.is_whole() {
        return block.view().label_names().map(|name| text(name?)).collect();
    }
    let searcher = block.searcher()?;
    let mut names = BTreeSet::new();
    for matchers in block.alternatives() {
        for name in searcher.label_names(matchers)? {
            names.insert(text(name)?);
        }
    }
    Ok(names)
}

/// Returns the first `limit` values with a prefix that a label has in selected series of all blocks; all values if
/// there is no limit. Holds these values of each block in memory, as references.
#[must_use]
pub fn label_values<'data>(
    blocks: &[Queried<'data>],
    name: &str,
    prefix: &str,
    limit: Option<usize>,
) -> BTreeSet<&'data str> {
    let mut values = BTreeSet::new();
    for block in blocks {
        match values_of_block(block, name, prefix, limit) {
            Ok(found) => values.extend(found),
            Err(damage) => block.note(damage),
        }
        while limit.is_some_and(|limit| values.len() > limit) {
            values.pop_last();
        }
    }
    values
}

fn values_of_block<'data>(
    block: &Queried<'data>,
    name: &str,
    prefix: &str,
    limit: Option<usize>,
) -> Result<BTreeSet<&'data str>, InspectError> {
    let limit = limit.unwrap_or(usize::MAX);
    let view = block.view();
    if block.is_whole() {
        let Some(key) = block.key(name)? else { return Ok(BTreeSet::new()) };
        let Some(values) = view.label_values(key)? else { return Ok(BTreeSet::new()) };
        let values = values.map(|value| text(value?));
        let begins = |value: &Result<&str, _>| value.as_ref().map_or(true, |value| value.starts_with(prefix));
        return values.filter(begins).take(limit).collect();
    }
    let searcher = block.searcher()?;
    let mut values = BTreeSet::new();
    for matchers in block.alternatives() {
        for value in searcher.label_values_with_prefix(name, prefix, matchers, Some(limit))? {
            values.insert(text(value)?);
        }
    }
    Ok(values)
}
