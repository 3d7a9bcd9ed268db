//! Model of a merge, series by series, with which mergers are compared, and selectors and names to try
//! it with.

use std::collections::BTreeSet;
use std::io::Cursor;

use chronoxide_compactor::{CompactError, CompactOptions, Compaction, Draft, Rewrite, Shards, Summary};
use chronoxide_format::shard::shard_of;
use chronoxide_format::view::BlockView;
use chronoxide_publish::Spool;
use chronoxide_select::Selector;
use chronoxide_testkit::plan::Labelset;

/// Selectors on labels that random series have or lack, with values of these labels.
pub const SELECTORS: [&str; 9] = [
    r#"{pod="pod-3"}"#,
    r#"{pod=~"pod-[0-4]",node!="node-0"}"#,
    r#"{zone="1",code=""}"#,
    r#"{node=~"node-[12]"}"#,
    r#"{__name__=~".+",le!~"x+"}"#,
    r#"{"a.b"=~".*[0-9]"}"#,
    r#"{"größe"!="",pod!~"pod-1."}"#,
    r#"{absent="a"}"#,
    r#"{__name__!="",absent=""}"#,
];

/// Old and new names of labels; some of them no series has.
pub const RENAMES: [(&str, &str); 7] = [
    ("pod", "instance"),
    ("node", "zone"),
    ("zone", "a"),
    ("a", "b"),
    ("le", "a"),
    ("absent", "pod"),
    ("code", "code"),
];

/// Labels to drop.
pub const NAMES: [&str; 5] = ["pod", "__name__", "le", "größe", "absent"];

/// Outputs of a compaction.
#[derive(Debug)]
pub struct Merged {
    /// Its blocks, in their order.
    pub outputs: Vec<Vec<u8>>,
    /// A remap for each input, if they were asked for.
    pub remaps: Vec<Vec<u8>>,
    /// Counts of series.
    pub summary: Summary,
}

/// Merges blocks into memory; merged rows wait in the spool.
///
/// # Errors
/// Errors of the compactor.
///
/// # Panics
/// If outputs or remaps come in another order than theirs.
pub fn merge_in_memory(
    views: &[BlockView<'_>],
    options: &CompactOptions,
    with_remaps: bool,
    spool: &mut Spool<'_>,
) -> Result<Merged, CompactError> {
    let (mut outputs, mut remaps) = (Vec::new(), Vec::new());
    let publish = |number, draft: Draft<'_>| {
        assert_eq!(number as usize, outputs.len());
        let mut out = Cursor::new(Vec::new());
        let id = draft.write_to(&mut out)?;
        outputs.push(out.into_inner());
        Ok::<_, CompactError>(id)
    };
    let publish_remap = |input, remap| {
        assert_eq!(input, remaps.len());
        remaps.push(remap);
        Ok(())
    };
    let summary = if with_remaps {
        Compaction::new(views, options).merge_to_drafts_with_remaps(spool, publish, publish_remap)?
    } else {
        Compaction::new(views, options).merge_to_drafts(spool, publish)?
    };
    Ok(Merged { outputs, remaps, summary })
}

/// Returns the expected labels of a series, as the options are documented; `None` if it is dropped.
#[must_use]
pub fn expected(labels: &Labelset, options: &CompactOptions) -> Option<Labelset> {
    let selects = |selector: &Selector| selector.matches_labels(labels.iter().map(|(name, value)| (&**name, &**value)));
    if !options.keep.is_empty() && !options.keep.iter().any(selects) || options.drop.iter().any(selects) {
        return None;
    }
    let Rewrite { drop_labels, rename_labels, hash_labels } = &options.rewrite;
    let renamed = |name: &str| rename_labels.iter().rev().find(|(old, _)| old == name).map(|(_, new)| new);
    let left = labels.iter().filter(|(name, _)| !drop_labels.contains(name));
    let mut after: Labelset = left
        .clone()
        .filter(|(name, _)| renamed(name).is_none())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    // In the order in which they were given, so that the last wins.
    for (old, new) in rename_labels {
        if renamed(old) == Some(new)
            && let Some((_, value)) = left.clone().find(|(name, _)| *name == old)
        {
            after.insert(new.clone(), value.clone());
        }
    }
    for name in hash_labels.names() {
        if let Some(value) = after.get_mut(name) {
            *value = hash_labels.hash(value);
        }
    }
    (!after.is_empty()).then_some(after)
}

/// The shard of a series that is left.
#[must_use]
pub fn shard(labels: &Labelset, shards: &Shards) -> u32 {
    shard_of(labels.get(&shards.by).map_or("", |value| value).as_bytes(), shards.count)
}

/// Returns the expected labels of a series, or `None` if it is dropped or belongs to a shard that is not written.
#[must_use]
pub fn expected_here(labels: &Labelset, options: &CompactOptions) -> Option<Labelset> {
    let after = expected(labels, options)?;
    let only = options.shards.as_ref().and_then(|shards| Some((shards, shards.only?)));
    only.is_none_or(|(shards, only)| shard(&after, shards) == only.number()).then_some(after)
}

/// The series that the outputs of each shard have together; one shard if there are none.
pub fn merged<'a>(series: impl Iterator<Item = &'a Labelset>, options: &CompactOptions) -> Vec<BTreeSet<Labelset>> {
    let of_all = options.shards.as_ref().filter(|shards| shards.only.is_none());
    let mut merged = vec![BTreeSet::new(); of_all.map_or(1, |shards| shards.count.get() as usize)];
    for after in series.filter_map(|labels| expected_here(labels, options)) {
        let shard = of_all.map_or(0, |shards| shard(&after, shards));
        merged[shard as usize].insert(after);
    }
    merged
}
