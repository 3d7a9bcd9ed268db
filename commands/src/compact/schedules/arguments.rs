//! Arguments of the subcommands.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};

use crate::Quiet;
use crate::argument::{duration, positive, size};
use crate::compact::arguments::{ChosenBlocks, OutputArguments, shard_count};

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Schedule the compaction of a folder or bucket as jobs that many machines can run
    #[command(alias = "plan")]
    Schedule(ScheduleArguments),
    /// Run one job of a schedule, or all of them
    Run(RunArguments),
    /// Check a finished schedule and publish its outputs
    Commit(CommitArguments),
    /// Show which jobs of a schedule are done
    Status(StatusArguments),
    /// Remove what old schedules left behind, and inputs whose grace period is over
    Clean(CleanArguments),
    /// Write a manifest of all blocks, so that they are listed without reading each of them
    Index(IndexArguments),
}

const SCHEDULE_HELP: &str = "\
Locations are folders, or URLs such as s3://bucket/prefix/, gs://bucket/prefix/ or az://container/prefix/. Credentials and endpoints come \
from the environment (AWS_*, GOOGLE_*, AZURE_*). Equal blocks and options give equal schedules. Writes the schedule. If an equal schedule was aborted, its abort mark is deleted.

Exit codes: 0 done; 1 the location cannot be read; 2 invalid arguments; 3 or 4 an object is not a valid block: the schedule is written \
without it; 5 --abort of a schedule whose commit has begun.

Examples:
  chronoxide-compact schedule s3://metrics/blocks/ -o schedule.json
  chronoxide-compact schedule s3://metrics/blocks/ --job-memory 2GiB -o schedule.json
  chronoxide-compact schedule blocks/ --shards 4 | jq '.jobs[].id'
  chronoxide-compact schedule --abort schedule.json";

/// Arguments of `schedule`.
#[derive(Debug, Args)]
#[command(after_long_help = SCHEDULE_HELP)]
pub(crate) struct ScheduleArguments {
    /// Folder or URL of the blocks; with --abort, the schedule
    #[arg(value_name = "LOCATION")]
    pub(crate) location: String,

    /// File or URL to write the schedule to [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Give up a schedule, and delete what its jobs wrote
    #[arg(long, conflicts_with_all = ["output", "shards", "job_memory", "job_series"])]
    pub(crate) abort: bool,

    /// Split merges so that a job needs at most this memory, such as 2GiB, by an estimate
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Jobs")]
    pub(crate) job_memory: Option<usize>,

    /// Split merges into blocks of about N series
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroU64>, help_heading = "Jobs")]
    pub(crate) job_series: Option<NonZeroU64>,

    /// Split each merge into N shards
    #[arg(long, value_name = "N", value_parser = shard_count, conflicts_with = "job_series", help_heading = "Jobs")]
    pub(crate) shards: Option<NonZeroU32>,

    /// Label to spread series by
    ///
    /// All series with one value are in one shard. Blocks are smallest with a label of the target, such as a namespace
    /// or pod: with the metric name, each shard holds the labels of all targets.
    #[arg(long, value_name = "LABEL", default_value = "__name__", help_heading = "Jobs")]
    pub(crate) shard_by: String,

    #[command(flatten)]
    pub(crate) blocks: ChosenBlocks,

    /// Maximum number of series of the blocks that are merged together
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroU64>, help_heading = "Blocks")]
    pub(crate) max_series: Option<NonZeroU64>,

    #[command(flatten)]
    pub(crate) outputs: OutputArguments,

    #[command(flatten)]
    pub(crate) quiet: Quiet,
}

/// Folder of fetched blocks.
#[derive(Debug, Args)]
pub(crate) struct CacheArguments {
    /// Folder for fetched blocks [default: $CHRONOXIDE_CACHE, or chronoxide in the user's cache folder]
    #[arg(long, value_name = "DIR", help_heading = "Cache")]
    pub(crate) cache: Option<PathBuf>,

    /// Maximum size of the cache, such as 100GiB
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16GiB", help_heading = "Cache")]
    pub(crate) cache_size: usize,
}

/// Memory of the proofs that come before a deletion.
#[derive(Debug, Args)]
pub(crate) struct ProofArguments {
    /// Memory of the proofs; more goes to a scratch file in the location or the cache [default: half of the memory that
    /// the process may use]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory_limit: Option<usize>,
}

const RUN_HELP: &str = "\
A job can run again, and on several machines at once: its outputs follow from the schedule alone, and appear whole or not at all. A job that \
is done is not done again. Jobs of stage 2 need those of stage 1.

Exit codes: 0 done; 1 a file or object cannot be read or written, or a job that must come first is not done (run it again later); \
2 invalid arguments or schedule, or a merge that exceeds --memory-limit and the free disk space; 3 an input is damaged; 4 an input has an unsupported version or \
feature; 5 the blocks have changed since the schedule was made, or the schedule was aborted; 130 interrupted.

Examples:
  chronoxide-compact run --schedule schedule.json --all --parallel 2
  chronoxide-compact run --schedule schedule.json --job m1-split-2
  chronoxide-compact run --schedule s3://metrics/schedule.json --stage 1 --index 3";

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_long_help = RUN_HELP, group(ArgGroup::new("jobs").args(["job", "index", "all"]).required(true)))]
pub(crate) struct RunArguments {
    /// The schedule: a file, a URL, or `-` for standard input
    #[arg(long, alias = "plan", value_name = "FILE")]
    pub(crate) schedule: String,

    /// Name of the job
    #[arg(long, value_name = "ID")]
    pub(crate) job: Option<String>,

    /// Number of the job, from 0; with --stage, its number among the jobs of the stage
    #[arg(long, value_name = "N")]
    pub(crate) index: Option<u32>,

    /// Stage of the job: 1 or 2; with --all, the only stage to run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2), conflicts_with = "job")]
    pub(crate) stage: Option<u32>,

    /// Run all jobs that are not done, in order of their stages
    #[arg(long)]
    pub(crate) all: bool,

    /// With --all, jobs at a time [default: 1]
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>, requires = "all")]
    pub(crate) parallel: Option<NonZeroUsize>,

    /// Maximum number of threads of all jobs together [default: number of cores]
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Memory of a job; more goes to a scratch file in the location or the cache [default: half of the memory that the
    /// process may use, shared by parallel jobs]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory_limit: Option<usize>,

    #[command(flatten)]
    pub(crate) cache: CacheArguments,

    /// Print each finished job as JSON to standard output: one object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) quiet: Quiet,
}

const COMMIT_HELP: &str = "\
The outputs of one merge become visible together, and hide their inputs. With --delete-inputs, `clean` deletes the inputs when the grace \
period is over; with --grace 0s they are deleted at once. Inputs and outputs are read again before: inputs are kept, with a warning, if the \
outputs lack one of their series. A commit that was stopped is finished by the same command.

Exit codes: as for `run`; 3 series or fingerprints do not balance; 5 inputs were kept without proof.

Examples:
  chronoxide-compact commit --schedule schedule.json
  chronoxide-compact commit --schedule schedule.json --delete-inputs --grace 1h";

/// Arguments of `commit`.
#[derive(Debug, Args)]
#[command(after_long_help = COMMIT_HELP)]
pub(crate) struct CommitArguments {
    /// The schedule: a file, a URL, or `-` for standard input
    #[arg(long, alias = "plan", value_name = "FILE")]
    pub(crate) schedule: String,

    /// Delete the inputs when the grace period is over
    #[arg(long)]
    pub(crate) delete_inputs: bool,

    /// Time that readers of the inputs have to open the location again
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1h", requires = "delete_inputs")]
    pub(crate) grace: Duration,

    #[command(flatten)]
    pub(crate) proofs: ProofArguments,

    #[command(flatten)]
    pub(crate) cache: CacheArguments,

    /// Print the result as JSON to standard output
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) quiet: Quiet,
}

const STATUS_HELP: &str = "\
Schedules are open (jobs are not done), ready (all jobs are done), committing, committed or aborted. `clean` deletes finished schedules: they are \
shown as open then.

Examples:
  chronoxide-compact status --schedule schedule.json
  chronoxide-compact status --schedule schedule.json --json | jq -r '.jobs[] | select(.state == \"ready\").id'";

/// Arguments of `status`.
#[derive(Debug, Args)]
#[command(after_long_help = STATUS_HELP)]
pub(crate) struct StatusArguments {
    /// The schedule: a file, a URL, or `-` for standard input
    #[arg(long, alias = "plan", value_name = "FILE")]
    pub(crate) schedule: String,

    /// Print the state as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const CLEAN_HELP: &str = "\
Deletes the inputs of committed schedules whose grace period is over, finishes commits that were stopped, and deletes what aborted and \
unfinished schedules left behind. A block is deleted only after it was read, and live blocks were found to hold all its series; what blocks say \
about their origin is not enough.

Exit codes: 0 done; otherwise that of the first schedule that could not be cleaned: 1 an object cannot be read or deleted; 3 it is damaged; \
5 blocks have changed, or were kept without proof.

Examples:
  chronoxide-compact clean s3://metrics/blocks/
  chronoxide-compact clean s3://metrics/blocks/ --grace 2d --json";

/// Arguments of `clean`.
#[derive(Debug, Args)]
#[command(after_long_help = CLEAN_HELP)]
pub(crate) struct CleanArguments {
    /// Folder or URL of the blocks
    #[arg(value_name = "LOCATION")]
    pub(crate) location: String,

    /// Age of unfinished schedules that are deleted, such as 12h or 2d; inputs have the grace period of their commit
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1d")]
    pub(crate) grace: Duration,

    #[command(flatten)]
    pub(crate) proofs: ProofArguments,

    #[command(flatten)]
    pub(crate) cache: CacheArguments,

    /// Print what was removed as JSON to standard output
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) quiet: Quiet,
}

const INDEX_HELP: &str = "\
Reads two ranges of each block, so that nothing is copied from a manifest that is wrong.

Exit codes: 0 done; 1 the location cannot be read or written; 3 or 4 an object is not a valid block: the manifest is written without it.

Examples:
  chronoxide-compact index s3://metrics/blocks/
  chronoxide-compact index s3://metrics/blocks/ --incremental";

/// Arguments of `index`.
#[derive(Debug, Args)]
#[command(after_long_help = INDEX_HELP)]
pub(crate) struct IndexArguments {
    /// Folder or URL of the blocks
    #[arg(value_name = "LOCATION")]
    pub(crate) location: String,

    /// Read only blocks that the last manifest does not describe, and believe what it says of the others
    #[arg(long)]
    pub(crate) incremental: bool,

    /// Print the result as JSON to standard output
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) quiet: Quiet,
}
