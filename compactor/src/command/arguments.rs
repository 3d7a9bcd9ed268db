//! What the command understands.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use chronoxide_cli::argument::{instant, pair, size};
use chronoxide_cli::memory::default_limit;
use chronoxide_cli::{Failure, Layout, Quiet};
use chronoxide_compactor::strategy::{Ranges, StrategyOptions};
use chronoxide_compactor::{CompactOptions, Rewrite, Shards, UserPairs};
use chronoxide_format::shard::Shard;
use chronoxide_select::Selector;
use clap::{Parser, ValueEnum};

use crate::failure::usage;

/// Merges blocks: each series once, in fewer files
///
/// Of files, makes one block, or several in a folder. Of a folder, plans by itself which of its blocks go together, by windows of time
/// and by size, and merges these in place.
///
/// Inputs are verified in full as they are merged, and never changed. Outputs appear whole or not at all, after they were read again and verified; their bytes
/// depend neither on the order of the inputs nor on the number of threads.
#[derive(Debug, Parser)]
#[command(name = "chronoxide-compact", version, after_long_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Blocks to merge, or one folder
    #[arg(required = true, value_name = "BLOCK|FOLDER")]
    pub(crate) inputs: Vec<PathBuf>,

    /// The block to write; a folder, which ends in `/` if it is not there yet, for blocks that are named after their ids
    #[arg(short, long, value_name = "FILE|DIR/")]
    pub(crate) output: Option<PathBuf>,

    /// Replace the output if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// How outputs are laid out
    #[arg(long, value_enum, default_value_t = Layout::Factored)]
    pub(crate) layout: Layout,

    /// Plan factored outputs afresh instead of adopting the largest input's plan: slower, in memory for all rows
    #[arg(long)]
    pub(crate) replan: bool,

    /// Write for each input where its series are in the outputs, into this folder: a file named after the input's id
    #[arg(long, value_name = "DIR")]
    pub(crate) remap: Option<PathBuf>,

    /// Delete inputs once all outputs are in their places and verified, the oldest first
    #[arg(long)]
    pub(crate) delete_inputs: bool,

    /// Show what would be merged with what, and why, and do nothing
    #[arg(long, help_heading = "Folders")]
    pub(crate) dry_run: bool,

    /// Lengths of windows of time in which blocks are merged, each a multiple of the one before
    #[arg(long, value_name = "LENGTHS", default_value = "2h,6h,1d,7d", help_heading = "Folders")]
    pub(crate) ranges: Ranges,

    /// Only blocks that begin at this time or later, such as 2025-11-11T09:00:00Z
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub(crate) min_time: Option<i64>,

    /// Only blocks that end at this time or before
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub(crate) max_time: Option<i64>,

    /// Series of an output, at most
    #[arg(long, value_name = "N", help_heading = "Several outputs")]
    pub(crate) max_series_per_block: Option<NonZeroU32>,

    /// Spread series over so many outputs by the value of a label
    #[arg(long, value_name = "N", conflicts_with = "shard", help_heading = "Several outputs")]
    pub(crate) shards: Option<NonZeroU32>,

    /// Make one of several such outputs only, such as 1/4: other machines can make the others
    #[arg(long, value_name = "I/N", help_heading = "Several outputs")]
    pub(crate) shard: Option<Shard>,

    /// The label by whose value series are spread [default: __name__]
    #[arg(long, value_name = "LABEL", help_heading = "Several outputs")]
    pub(crate) shard_by: Option<String>,

    /// Keep only series that this PromQL selector selects, such as '{namespace="prod"}'; may be repeated: one of them is enough
    #[arg(long, value_name = "SELECTOR", help_heading = "Rewriting")]
    pub(crate) keep: Vec<Selector>,

    /// Leave out series that this selector selects; may be repeated
    #[arg(long, value_name = "SELECTOR", help_heading = "Rewriting")]
    pub(crate) drop: Vec<Selector>,

    /// Drop a label from all series; may be repeated. Series that become equal become one
    #[arg(long = "drop-label", value_name = "LABEL", help_heading = "Rewriting")]
    pub(crate) drop_labels: Vec<String>,

    /// Rename a label, in place of one that has the new name already; may be repeated
    #[arg(long = "rename-label", value_name = "OLD=NEW", value_parser = rename, help_heading = "Rewriting")]
    pub(crate) rename_labels: Vec<(String, String)>,

    /// Set this external label for inputs that lack it; may be repeated
    #[arg(long = "external-label", value_name = "NAME=VALUE", value_parser = pair, help_heading = "Rewriting")]
    pub(crate) external_labels: Vec<(String, String)>,

    /// Turn external labels into labels of the series, so that blocks of several clusters can be merged; a series keeps a label of its own with that name
    #[arg(long, help_heading = "Rewriting")]
    pub(crate) lift_external_labels: bool,

    /// How to merge annotations of inputs that differ
    #[arg(long, value_enum, default_value_t = Annotations::Error, help_heading = "Rewriting")]
    pub(crate) annotations: Annotations,

    /// Threads to use, at most; as many as there are cores if not given
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Refuse to begin what could take more memory than this, such as 512MiB [default: half of the memory that the process may use]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory_limit: Option<usize>,

    /// Print the summary, or the plan of --dry-run, as JSON on standard output: one object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) quiet: Quiet,
}

const AFTER_HELP: &str = "\
Selectors are those of PromQL, are for files that are named, and see labels as they are in the inputs, before any is dropped or renamed. A folder is locked while a job works in it; \
a job that was killed can simply be run again. Blocks are merged only if they have equal external labels and were cut by the same label policy.

Exit codes: 0 done; 1 a file cannot be read or written; 2 usage, inputs that cannot be merged, or a merge that could exceed --memory-limit; 3 an input is damaged, or blocks of a folder are, and \
the others were merged; 4 an input is of a version or has features that are not known; 5 inputs of an earlier \
run were kept because series are missing from its outputs, or a block claims to hold a block with more series; 130 interrupted.

Examples:
  chronoxide-compact monday.cx tuesday.cx -o week.cx
  chronoxide-compact blocks/ --dry-run
  chronoxide-compact blocks/ --delete-inputs --memory-limit 1GiB --json
  chronoxide-compact hours/*.cx -o day/ --max-series-per-block 10000000
  chronoxide-compact hours/*.cx -o shards/ --shard 2/4
  chronoxide-compact blocks/ --delete-inputs --remap remaps/
  chronoxide-compact eu.cx us.cx -o all.cx --lift-external-labels
  chronoxide-compact week.cx -o small.cx --drop '{namespace=\"test\",pod=~\"canary-.*\"}' --drop-label pod_uid";

/// How annotations of inputs that differ are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Annotations {
    /// Refuse to merge inputs with different values for a key
    Error,
    /// Keep the value of the oldest block that has the key
    First,
    /// Drop all annotations except chronoxide.rewritten
    Drop,
}

impl Arguments {
    /// How blocks are merged.
    pub(crate) fn options(&self) -> CompactOptions {
        let shards = self.shards.map(|count| (count, None)).or(self.shard.map(|shard| (shard.count(), Some(shard))));
        CompactOptions {
            layout: self.layout.into(),
            replan: self.replan,
            max_series_per_block: self.max_series_per_block,
            shards: shards.map(|(count, only)| Shards {
                count,
                by: self.shard_by.clone().unwrap_or_else(|| "__name__".to_owned()),
                only,
            }),
            keep: self.keep.clone(),
            drop: self.drop.clone(),
            rewrite: Rewrite { drop_labels: self.drop_labels.clone(), rename_labels: self.rename_labels.clone() },
            user_pairs: match self.annotations {
                Annotations::Error => UserPairs::MustAgree,
                Annotations::First => UserPairs::First,
                Annotations::Drop => UserPairs::Drop,
            },
            keeps_inputs: false,
            external_labels: self.external_labels.clone(),
            lift_external_labels: self.lift_external_labels,
            memory_limit: Some(self.memory_limit.unwrap_or_else(default_limit)),
        }
    }

    /// Refuses options that would do nothing.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.shard_by.is_some() && self.shards.is_none() && self.shard.is_none() {
            return Err(usage("--shard-by needs --shards or --shard"));
        }
        if self.replan && self.layout != Layout::Factored {
            return Err(usage("--replan is for factored outputs: plain ones have no plan"));
        }
        Ok(())
    }

    /// Which blocks of a folder are merged.
    pub(crate) fn strategy_options(&self) -> StrategyOptions {
        StrategyOptions {
            ranges: self.ranges.clone(),
            min_time: self.min_time,
            max_time: self.max_time,
            max_series: self.max_series_per_block.map(|most| most.get().into()),
            ..StrategyOptions::default()
        }
    }
}

/// Reads `old=new`, both of which are there.
fn rename(text: &str) -> Result<(String, String), String> {
    match pair(text) {
        Ok((old, new)) if !new.is_empty() => Ok((old, new)),
        _ => Err("two names with `=` between them are expected, such as pod=instance".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_consistent() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn a_label_is_renamed_to_something() {
        assert_eq!(rename("a=b"), Ok(("a".to_owned(), "b".to_owned())));
        for text in ["a", "a=", "=b", ""] {
            assert!(rename(text).is_err(), "{text:?}");
        }
    }
}
