//! How blocks are merged.

use std::num::NonZeroU32;

use chronoxide_format::shard::Shard;
use chronoxide_planner::Layout;

use crate::rewrite::Rewrite;
use chronoxide_select::Selector;

/// How blocks are merged.
#[derive(Clone, Debug, Default)]
pub struct CompactOptions {
    /// How the outputs are laid out.
    pub layout: Layout,
    /// Plan factored outputs afresh, from all their rows, instead of adopting the largest input's plan. Takes memory for all rows.
    pub replan: bool,
    /// Series of a block, at most: one output more when there are more.
    pub max_series_per_block: Option<NonZeroU32>,
    /// Spread series over several outputs, or make one of these.
    pub shards: Option<Shards>,
    /// Series that none of these selects are left out, if there are any.
    pub keep: Vec<Selector>,
    /// Series that one of these selects are left out.
    pub drop: Vec<Selector>,
    /// Labels that are dropped or renamed. Selectors see them as they were before.
    pub rewrite: Rewrite,
    /// External labels that outputs get unless an input has one of that name already, with non-empty names.
    pub external_labels: Vec<(String, String)>,
    /// Make external labels labels of the series, and leave the outputs without: so that blocks with different external labels can be merged. A series that has a
    /// label of that name keeps its own. Selectors and rewritten labels are those that series have before.
    pub lift_external_labels: bool,
    /// What becomes of what users attached to blocks, where it differs.
    pub user_pairs: UserPairs,
    /// Inputs stay, and go on to count beside outputs from which something was left out: such outputs do not name them as what they were made of, since readers of a folder
    /// would otherwise take them for all that the inputs hold.
    pub keeps_inputs: bool,
    /// Refuse to begin what could take more bytes of memory than this.
    pub memory_limit: Option<usize>,
}

impl CompactOptions {
    /// True if outputs may lack series that the inputs have: they are left out, or get other labels.
    pub fn leaves_out(&self) -> bool {
        !self.keep.is_empty() || !self.drop.is_empty() || !self.rewrite.is_empty() || self.lift_external_labels
    }

    /// A text that says what is done with the inputs, as far as the outputs depend on it: part of the id of the job.
    pub(crate) fn describe(&self) -> String {
        let Self {
            layout,
            replan,
            max_series_per_block,
            shards,
            external_labels,
            lift_external_labels: _,
            keep: _,
            drop: _,
            rewrite: _,
            user_pairs,
            keeps_inputs,
            memory_limit: _,
        } = self;
        let mut text = format!("merge, layout {}", layout.name());
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
            text += &self.describe_rewriting();
        }
        for (name, value) in external_labels {
            text += &format!(", external label {name:?}={value:?}");
        }
        match user_pairs {
            UserPairs::MustAgree => {}
            UserPairs::First => text += ", first user pairs",
            UserPairs::Drop => text += ", no user pairs",
        }
        if *keeps_inputs && self.leaves_out() {
            text += ", beside the inputs";
        }
        text
    }

    /// A text that says which series are left out and which labels change.
    pub(crate) fn describe_rewriting(&self) -> String {
        let mut parts = Vec::new();
        for (what, selectors) in [("keep", &self.keep), ("drop", &self.drop)] {
            parts.extend(selectors.iter().map(|selector| format!("{what} {selector}")));
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

/// Outputs among which series are spread by the value of a label ([`chronoxide_format::shard`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shards {
    /// How many there are.
    pub count: NonZeroU32,
    /// The name of the label. With that of the metric, the lists that series of a metric share stay whole.
    pub by: String,
    /// The only one that is made, so that several machines can share a job; none for all of them.
    pub only: Option<Shard>,
}

/// What becomes of pairs that users attached to blocks, where inputs say different things under one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserPairs {
    /// It is an error.
    #[default]
    MustAgree,
    /// The value of the oldest block that has the key, by the order of block ids.
    First,
    /// Drops all pairs except [`REWRITTEN_KEY`](chronoxide_reader::lineage::REWRITTEN_KEY).
    Drop,
}
