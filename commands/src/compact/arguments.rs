//! Arguments of the command.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use chronoxide_compactor::schedule::MAX_SHARDS;
use chronoxide_compactor::strategy::{Ranges, StrategyOptions};
use chronoxide_compactor::{AnnotationPolicy, CompactOptions, HashLabels, KeptColumns, Rewrite, Shards};
use chronoxide_format::shard::Shard;
use chronoxide_publish::{Disk, make_folder};
use chronoxide_select::Selector;
use clap::{Args, CommandFactory, Parser, ValueEnum};

use crate::argument::{duration, external_label, instant, pair, positive, size};
use crate::compact::failure::usage;
use crate::compact::schedules::Command;
use crate::mistake::misplaced_subcommand;
use crate::{Exit, Failure, FormatVersion, Layout, Quiet, mistyped_subcommand, url};

/// Most bytes of a key that are read.
const MAX_KEY_LEN: u64 = 64 << 10;

/// Merges blocks into fewer files, with each series once
///
/// Given files, writes one block, or several into a folder. Given a folder or bucket, chooses blocks by time and size,
/// and merges them in place.
///
/// Inputs are verified while they are merged, and never changed. Outputs are read again and verified, and appear whole
/// or not at all. Their bytes do not depend on the order of inputs or the number of threads.
#[derive(Debug, Parser)]
#[command(name = "chronoxide-compact", version, after_long_help = AFTER_HELP)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Blocks to merge, or one folder; files or URLs (s3://, gs://, az://)
    #[arg(required = true, value_name = "BLOCK|FOLDER")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Block to write, or a folder for blocks named after their ids; end a new folder with `/`. May be a URL
    #[arg(short, long, value_name = "FILE|DIR/")]
    pub(crate) output: Option<PathBuf>,

    /// Replace the output if it exists
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) outputs: OutputArguments,

    #[command(flatten)]
    pub(crate) format_version: FormatVersion,

    /// Write a remap per input into this folder, named after the input's id: where its series are in the outputs
    #[arg(long = "remaps", alias = "remap", value_name = "DIR")]
    pub(crate) remaps: Option<PathBuf>,

    /// Delete inputs, the oldest first, once all outputs are published and verified
    #[arg(long)]
    pub(crate) delete_inputs: bool,

    /// Time that readers of the inputs have to open the folder again: later runs delete them then
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = duration,
        default_value = "0s",
        requires = "delete_inputs",
        help_heading = "Folders"
    )]
    pub(crate) grace: Duration,

    /// Show which blocks would be merged, and why, without merging; of files, show what --keep-used would drop
    #[arg(long, help_heading = "Folders")]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) blocks: ChosenBlocks,

    /// Maximum number of series per output
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroU32>, help_heading = "Several outputs")]
    pub(crate) max_series_per_block: Option<NonZeroU32>,

    /// Spread series over N outputs by the value of a label
    #[arg(
        long,
        value_name = "N",
        value_parser = shard_count,
        conflicts_with = "shard",
        help_heading = "Several outputs"
    )]
    pub(crate) shards: Option<NonZeroU32>,

    /// Write only shard I of N, such as 1/4; other machines can write the others
    #[arg(long, value_name = "I/N", help_heading = "Several outputs")]
    pub(crate) shard: Option<Shard>,

    /// Label to spread series by [default: __name__]
    ///
    /// All series with one value are in one shard. Blocks are smallest with a label of the target, such as a namespace
    /// or pod: with the metric name, each shard holds the labels of all targets.
    #[arg(long, value_name = "LABEL", help_heading = "Several outputs")]
    pub(crate) shard_by: Option<String>,

    /// Keep only series that match this PromQL selector, such as '{namespace="prod"}', or another --keep
    #[arg(long, value_name = "SELECTOR", value_parser = crate::selectors::narrow, help_heading = "Rewriting")]
    pub(crate) keep: Vec<Selector>,

    /// Drop series that match this PromQL selector; may be repeated
    #[arg(long, value_name = "SELECTOR", value_parser = crate::selectors::narrow, help_heading = "Rewriting")]
    pub(crate) drop: Vec<Selector>,

    /// Drop metrics that no query of these files selects, see `chronoxide-inspect usage`: rules, dashboards, query
    /// logs, or one query per line, or folders of them. With --dry-run, print what would be dropped
    #[arg(long, value_name = "FILE|FOLDER", num_args = 1.., help_heading = "Rewriting")]
    pub(crate) keep_used: Vec<PathBuf>,

    /// Go on if some queries of --keep-used are not understood, and keep the metrics that they name
    #[arg(long, requires = "keep_used", help_heading = "Rewriting")]
    pub(crate) skip_bad_queries: bool,

    /// Drop a label from all series; may be repeated. Series that become equal are merged
    #[arg(long = "drop-label", value_name = "LABEL", help_heading = "Rewriting")]
    pub(crate) drop_labels: Vec<String>,

    /// Rename a label, replacing a label that already has the new name; may be repeated
    #[arg(long = "rename-label", value_name = "OLD=NEW", value_parser = rename, help_heading = "Rewriting")]
    pub(crate) rename_labels: Vec<(String, String)>,

    /// Replace the values of a label by keyed hashes: 16 digits of HMAC-SHA-256; may be repeated
    ///
    /// Equal values have equal hashes. Other labels, external labels, annotations and descriptions of metrics are not
    /// changed, also if they have the same values.
    #[arg(long = "hash-label", value_name = "LABEL", requires = "hash_key", help_heading = "Rewriting")]
    pub(crate) hash_labels: Vec<String>,

    /// File with the key of --hash-label: 16 bytes or more, without the line break at its end
    #[arg(long, value_name = "FILE", requires = "hash_labels", help_heading = "Rewriting")]
    pub(crate) hash_key: Option<PathBuf>,

    /// Keep only this series column, or another --keep-column. `*` at the end stands for any text:
    /// 'prometheus.chunks/*'
    #[arg(long = "keep-column", value_name = "COLUMN", help_heading = "Rewriting")]
    pub(crate) keep_columns: Vec<String>,

    /// Drop a series column, which may end in `*`; may be repeated
    #[arg(long = "drop-column", value_name = "COLUMN", help_heading = "Rewriting")]
    pub(crate) drop_columns: Vec<String>,

    /// Turn external labels into labels of the series, so that blocks of several clusters can be merged; existing
    /// labels win
    #[arg(long, help_heading = "Rewriting")]
    pub(crate) lift_external_labels: bool,

    /// Maximum number of threads [default: number of cores]
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Memory of a merge, such as 512MiB; more goes to a scratch file beside the outputs [default: half of the memory
    /// that the process may use]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory_limit: Option<usize>,

    /// Print the summary, or the result of --dry-run, as JSON to standard output: one object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) quiet: Quiet,
}

/// Choice of the blocks of a location that are merged.
#[derive(Debug, Args)]
pub(crate) struct ChosenBlocks {
    /// Lengths of time windows in which blocks are merged, each a multiple of the one before
    #[arg(long, value_name = "LENGTHS", default_value = "2h,6h,1d,7d", help_heading = "Blocks")]
    pub(crate) ranges: Ranges,

    /// Merge only blocks that begin at this time or later, such as 2025-11-11T09:00:00Z
    #[arg(long, value_name = "TIME", value_parser = instant, help_heading = "Blocks")]
    pub(crate) min_time: Option<i64>,

    /// Merge only blocks that end at this time or earlier
    #[arg(long, value_name = "TIME", value_parser = instant, help_heading = "Blocks")]
    pub(crate) max_time: Option<i64>,
}

impl ChosenBlocks {
    /// Returns the options of the strategy.
    pub(crate) fn strategy(&self, max_series: Option<u64>) -> StrategyOptions {
        let Self { ranges, min_time, max_time } = self;
        StrategyOptions {
            ranges: ranges.clone(),
            min_time: *min_time,
            max_time: *max_time,
            max_series,
            ..StrategyOptions::default()
        }
    }
}

/// Form and meta of the outputs.
#[derive(Debug, Args)]
pub(crate) struct OutputArguments {
    /// Layout of the outputs
    #[arg(long, value_enum, default_value_t = Layout::Factored, help_heading = "Outputs")]
    pub(crate) layout: Layout,

    /// Write archive blocks, whose strings are stored as one zstd frame. Writing takes about 0.1 s more per MB of
    /// strings; opening a block decodes them, at about 1 ms per MB, and holds them in memory
    #[arg(long, help_heading = "Outputs")]
    pub(crate) archive: bool,

    /// Plan factored outputs afresh instead of adopting the plan of the largest input. Takes about twice the
    /// time. If the inputs have more than 4 million series, the plan is learned from a sample of 1 million
    #[arg(long, help_heading = "Outputs")]
    pub(crate) replan: bool,

    /// Set an external label for inputs that lack it; may be repeated
    #[arg(long = "external-label", value_name = "NAME=VALUE", value_parser = external_label, help_heading = "Outputs")]
    pub(crate) external_labels: Vec<(String, String)>,

    /// How to merge annotations of inputs that differ
    #[arg(long, value_enum, default_value_t = Annotations::Error, help_heading = "Outputs")]
    pub(crate) annotations: Annotations,
}

impl OutputArguments {
    /// Returns the options of the merge, with the default of all others.
    pub(crate) fn options(&self) -> CompactOptions {
        CompactOptions {
            layout: self.layout.into(),
            archive: self.archive,
            replan: self.replan,
            external_labels: self.external_labels.clone(),
            annotations: self.annotations.into(),
            ..CompactOptions::default()
        }
    }

    /// Refuses options that would have no effect.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.replan && self.layout != Layout::Factored {
            return Err(usage("--replan needs --layout factored"));
        }
        Ok(())
    }
}

const AFTER_HELP: &str = "\
Selectors are PromQL selectors. They need named files, and see the labels of the inputs, before any is dropped or renamed. A folder is \
locked while a job runs in it; a bucket is listed again before outputs are published. A killed job can be run again. Blocks are merged only if they have equal external labels and the same label policy.

Exit codes: 0 done; 1 a file cannot be read or written, or another job is running in the folder; 2 invalid arguments, inputs that cannot be \
merged, or a merge that exceeds --memory-limit and the free disk space; 3 an input is damaged (in a folder, other blocks are still merged); 4 an input has an \
unsupported version or feature; 5 inputs of an earlier run were kept without proof, a block's claim about its inputs cannot be true, or another process changed the inputs; \
6 a query of --keep-used was not understood, and nothing was written; 130 interrupted.

Examples:
  chronoxide-compact monday.cx tuesday.cx -o week.cx
  chronoxide-compact blocks/ --dry-run
  chronoxide-compact blocks/ --delete-inputs --memory-limit 1GiB --json
  chronoxide-compact hours/*.cx -o day/ --max-series-per-block 10000000
  chronoxide-compact hours/*.cx -o shards/ --shard 2/4
  chronoxide-compact blocks/ --delete-inputs --remaps remaps/
  chronoxide-compact eu.cx us.cx -o all.cx --lift-external-labels
  chronoxide-compact s3://metrics/blocks/ --delete-inputs --grace 1h
  chronoxide-compact schedule s3://metrics/blocks/ --job-memory 2GiB -o schedule.json
  chronoxide-compact week.cx -o small.cx --drop '{namespace=\"test\",pod=~\"canary-.*\"}' --drop-label pod_uid
  chronoxide-compact week.cx -o used.cx --keep-used rules/ dashboards/
  chronoxide-compact week.cx -o shared.cx --hash-label customer --hash-key key.txt";

/// Policy for annotations that differ between inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Annotations {
    /// Refuse to merge inputs with different values for a key
    Error,
    /// Keep the value of the oldest block that has the key
    First,
    /// Drop all annotations except chronoxide.rewritten
    Drop,
}

impl From<Annotations> for AnnotationPolicy {
    fn from(annotations: Annotations) -> Self {
        match annotations {
            Annotations::Error => Self::MustAgree,
            Annotations::First => Self::First,
            Annotations::Drop => Self::Drop,
        }
    }
}

impl Arguments {
    /// Returns the options of the merge, except hashed labels, whose key must be read: see [`Arguments::hash_labels`].
    pub(crate) fn options(&self) -> CompactOptions {
        let shards = self.shards.map(|count| (count, None)).or(self.shard.map(|shard| (shard.count(), Some(shard))));
        CompactOptions {
            max_series_per_block: self.max_series_per_block,
            shards: shards.map(|(count, only)| Shards {
                count,
                by: self.shard_by.clone().unwrap_or_else(|| "__name__".to_owned()),
                only,
            }),
            keep: self.keep.clone(),
            drop: self.drop.clone(),
            rewrite: Rewrite {
                drop_labels: self.drop_labels.clone(),
                rename_labels: self.rename_labels.clone(),
                ..Rewrite::default()
            },
            columns: KeptColumns { keep: self.keep_columns.clone(), drop: self.drop_columns.clone() },
            lift_external_labels: self.lift_external_labels,
            ..self.outputs.options()
        }
    }

    /// Reads the key of the hashed labels.
    pub(crate) fn hash_labels(&self) -> Result<HashLabels, Failure> {
        let Some(file) = &self.hash_key else { return Ok(HashLabels::default()) };
        let named = |error: &dyn Display| format!("{}: {error}", file.display());
        let mut key = Vec::new();
        let read = File::open(file).and_then(|file| file.take(MAX_KEY_LEN).read_to_end(&mut key));
        read.map_err(|error| Failure::new(Exit::Io, named(&error)))?;
        let key = key.strip_suffix(b"\n").unwrap_or(&key);
        let key = key.strip_suffix(b"\r").unwrap_or(key);
        HashLabels::new(self.hash_labels.clone(), key).map_err(|error| usage(named(&error)))
    }

    /// Refuses options that would have no effect.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if let Some(failure) = self.inputs.first().and_then(|first| mistyped_subcommand::<Self>(first)) {
            return Err(failure);
        }
        // clap takes a subcommand after an option for an input.
        let first = self.inputs.first().filter(|first| first.symlink_metadata().is_err());
        if let Some(name) = first
            && Self::command().find_subcommand(name).is_some()
        {
            return Err(usage(format!(
                "put files and options after the subcommand: chronoxide-compact {} ...",
                name.display()
            )));
        }
        let inputs: Vec<_> = self.inputs.iter().map(|input| input.clone().into_os_string()).collect();
        if let Some(failure) = misplaced_subcommand(&Self::command(), &inputs, None) {
            return Err(failure);
        }
        if self.shard_by.is_some() && self.shards.is_none() && self.shard.is_none() {
            return Err(usage("--shard-by needs --shards or --shard"));
        }
        self.outputs.check()?;
        if let Some(remaps) = self.remaps.as_ref().filter(|remaps| url(remaps).is_some()) {
            return Err(usage(format!("{}: remaps are written to a folder of this machine", remaps.display())));
        }
        Ok(())
    }

    /// Creates the folder of the remaps.
    pub(crate) fn make_remaps_folder(&self) -> Result<(), Failure> {
        match &self.remaps {
            Some(folder) => make_folder(&Disk, folder).map_err(|error| Failure::new(Exit::Io, error)),
            None => Ok(()),
        }
    }

    /// Returns the options of the strategy.
    pub(crate) fn strategy_options(&self) -> StrategyOptions {
        self.blocks.strategy(self.max_series_per_block.map(|most| most.get().into()))
    }
}

/// Parses `old=new`.
fn rename(text: &str) -> Result<(String, String), String> {
    match pair(text) {
        Ok((old, new)) if !new.is_empty() => Ok((old, new)),
        _ => Err("expected OLD=NEW, such as pod=instance".to_owned()),
    }
}

/// Parses a number of shards: each needs memory of its own.
pub(crate) fn shard_count(text: &str) -> Result<NonZeroU32, String> {
    let count: NonZeroU32 = positive(text)?;
    if count.get() > MAX_SHARDS { Err(format!("more than {MAX_SHARDS} shards")) } else { Ok(count) }
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
