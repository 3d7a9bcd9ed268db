//! Options of a merge.

use std::num::NonZeroU32;

use chronoxide_format::shard::Shard;
use chronoxide_planner::Layout;
use chronoxide_reader::{BlockId, Job};
use chronoxide_select::Selector;

use crate::rewrite::Rewrite;

/// Options of a merge.
#[derive(Clone, Debug, Default)]
pub struct CompactOptions {
    /// Layout of the outputs.
    pub layout: Layout,
    /// True if the outputs are archives: their arena is packed. Inputs may be archives or not.
    pub archive: bool,
    /// Plan factored outputs afresh instead of adopting the plan of the largest input. Of up to
    /// [`planned_series`](crate::Compaction::planned_series) series, all rows are held in memory. Of more, a sample is
    /// held, and the plan of the inputs is kept if the outputs will probably be smaller with it.
    pub replan: bool,
    /// Maximum number of series per block. More series make more outputs.
    pub max_series_per_block: Option<NonZeroU32>,
    /// Shards to spread the series over, or one of them.
    pub shards: Option<Shards>,
    /// If not empty, keep only series that match at least one.
    pub keep: Vec<Selector>,
    /// Drop series that match one of these.
    pub drop: Vec<Selector>,
    /// Labels to drop or rename. Selectors see labels as they were before.
    pub rewrite: Rewrite,
    /// Series columns to keep or drop.
    pub columns: KeptColumns,
    /// True if the inputs are pieces of one block, the oldest first: their order decides which value of a series column
    /// is the newest, and columns that are merged by `drop` stay, as if the block had never been cut.
    pub are_pieces: bool,
    /// Default external labels for inputs that lack them. Names must not be empty.
    pub external_labels: Vec<(String, String)>,
    /// Turn external labels into labels of the series, so that blocks with different external labels can be merged. The
    /// outputs have no external labels. A series that already has a label with that name keeps its own. Selectors and
    /// rewriting do not see lifted labels.
    pub lift_external_labels: bool,
    /// Leave out the external labels of inputs, so that blocks with different external labels can be merged. Series of
    /// different inputs with equal labels become one series. Then no external label is lifted.
    pub drop_external_labels: bool,
    /// Policy for annotations that differ.
    pub annotations: AnnotationPolicy,
    /// True if the inputs are kept and stay live beside outputs with dropped series. Such outputs do not name their
    /// parents, since a reader of the folder would take them for a full replacement.
    pub keeps_inputs: bool,
    /// Lineage of the outputs, if it is not that of a merge of the inputs.
    pub origin: Option<Origin>,
    /// Bytes of memory of a merge. One that could need more, by an estimate, is refused. If the program's
    /// memory spills, with the allocator of `chronoxide-memory`, only one that certainly needs more is.
    pub memory_limit: Option<usize>,
}

impl CompactOptions {
    /// Returns true if outputs may lack series of the inputs: some are dropped, or get other labels.
    #[must_use]
    pub fn leaves_out(&self) -> bool {
        !self.keep.is_empty() || !self.drop.is_empty() || !self.rewrite.is_empty() || self.lift_external_labels
    }

    /// Returns true if outputs may hold less than the inputs: [`leaves_out`](Self::leaves_out), or columns are dropped.
    #[must_use]
    pub fn is_rewriting(&self) -> bool {
        self.leaves_out() || self.columns != KeptColumns::default()
    }

    /// Returns a text of all options that affect the outputs. It is part of the job id.
    pub(crate) fn describe(&self) -> String {
        let Self {
            layout,
            archive,
            replan,
            max_series_per_block,
            shards,
            external_labels,
            lift_external_labels: _,
            drop_external_labels,
            keep: _,
            drop: _,
            rewrite: _,
            columns,
            are_pieces,
            annotations,
            keeps_inputs,
            origin: _,
            memory_limit: _,
        } = self;
        let mut text = format!("merge, layout {}", layout.name());
        if *archive {
            text += ", archive";
        }
        if *replan {
            text += ", planned afresh";
        }
        if let Some(series) = max_series_per_block {
            text += &format!(", {series} series a block");
        }
        if let Some(Shards { count, by, .. }) = shards {
            text += &format!(", {count} shards by {by:?}");
        }
        if self.leaves_out() {
            text += ", ";
            text += &self.describe_rewriting(false);
        }
        for pattern in columns.describe() {
            text += ", ";
            text += &pattern;
        }
        if *are_pieces {
            text += ", of pieces";
        }
        for (name, value) in external_labels {
            text += &format!(", external label {name:?}={value:?}");
        }
        if *drop_external_labels {
            text += ", no external labels";
        }
        match annotations {
            AnnotationPolicy::MustAgree => {}
            AnnotationPolicy::First => text += ", first annotations",
            AnnotationPolicy::Drop => text += ", no annotations",
        }
        if *keeps_inputs && self.leaves_out() {
            text += ", beside the inputs";
        }
        text
    }

    /// Returns a text of the selectors and rewritten labels. In a block it must not name values that are hashed there.
    pub(crate) fn describe_rewriting(&self, is_for_block: bool) -> String {
        let hashed = &self.rewrite.hash_labels;
        // First, because a block has the beginning of a long text only.
        let mut parts: Vec<String> = hashed.describe().collect();
        let names_hashed = |selector: &Selector| {
            selector.matchers().iter().any(|matcher| hashed.names().iter().any(|name| name == matcher.name()))
        };
        for (what, selectors) in [("keep", &self.keep), ("drop", &self.drop)] {
            parts.extend(selectors.iter().map(|selector| match is_for_block && names_hashed(selector) {
                true => format!("{what} values of a hashed label"),
                false => format!("{what} {selector}"),
            }));
        }
        parts.extend(self.rewrite.drop_labels.iter().map(|label| format!("drop label {label:?}")));
        let renamed = self.rewrite.rename_labels.iter();
        parts.extend(renamed.map(|(old, new)| format!("rename label {old:?} to {new:?}")));
        if self.lift_external_labels {
            parts.push("lift external labels".to_owned());
        }
        parts.join(", ")
    }
}

/// Series columns that outputs have. A pattern is the name of a column, or the beginning of names and `*`:
/// `prometheus.chunks/*` for example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptColumns {
    /// If not empty, keep only columns that match at least one.
    pub keep: Vec<String>,
    /// Drop columns that match one of these.
    pub drop: Vec<String>,
}

impl KeptColumns {
    /// Returns true if outputs have the columns of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let matches = |pattern: &String| is_match(pattern, name);
        (self.keep.is_empty() || self.keep.iter().any(matches)) && !self.drop.iter().any(matches)
    }

    /// Returns a text for each pattern.
    fn describe(&self) -> impl Iterator<Item = String> {
        let keep = self.keep.iter().map(|pattern| format!("keep column {pattern:?}"));
        keep.chain(self.drop.iter().map(|pattern| format!("drop column {pattern:?}")))
    }

    /// Returns a text for each pattern that matches none of these names.
    #[must_use]
    pub fn unmatched(&self, names: &[&str]) -> Vec<String> {
        let patterns = self.keep.iter().chain(&self.drop);
        let is_unmatched = |pattern: &String| !names.iter().any(|name| is_match(pattern, name));
        patterns.zip(self.describe()).filter(|(pattern, _)| is_unmatched(pattern)).map(|(_, text)| text).collect()
    }
}

fn is_match(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

/// Shards of the series, by the value of a label ([`chronoxide_format::shard`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shards {
    /// Number of shards.
    pub count: NonZeroU32,
    /// Name of the label. With `__name__`, lists of series of one metric stay whole.
    pub by: String,
    /// The only shard to write, so that several machines can share a job; `None` for all shards.
    pub only: Option<Shard>,
}

/// Lineage of the one output of a merge that is a step of a larger job: its inputs are intermediate blocks, which
/// are deleted later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The larger job, and the number of the output in it.
    pub job: Job,
    /// Inputs of the larger job, in increasing order.
    pub parents: Vec<BlockId>,
    /// [Ancestors](chronoxide_reader::lineage::ancestors) of the inputs.
    pub ancestors: Vec<BlockId>,
}

/// Policy for annotations whose values differ between inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnnotationPolicy {
    /// Refuse to merge.
    #[default]
    MustAgree,
    /// Keep the value of the oldest block that has the key, by the order of block ids.
    First,
    /// Drop all annotations of the inputs except [`REWRITTEN_KEY`](chronoxide_reader::lineage::REWRITTEN_KEY).
    Drop,
}
