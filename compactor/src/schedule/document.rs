//! [`Schedule`]: the document.

use std::collections::BTreeSet;
use std::iter::Sum;
use std::num::NonZeroU32;

use chronoxide_format::identity::{Fingerprint, job_id};
use chronoxide_locations::{Listed, Wanted, text};
use chronoxide_planner::Layout;
use chronoxide_reader::{BlockId, Job};
use serde::{Deserialize, Serialize};

use super::ScheduleError;
use super::make::MAX_SHARDS;
use crate::{AnnotationPolicy, CompactOptions, Origin, Shards};

/// Version of the document.
pub(super) const VERSION: u32 = 1;

/// Jobs that compact blocks of a location. Equal blocks and options make equal schedules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Version of the document: 1.
    pub chronoxide_schedule: u32,
    /// Id, derived from everything else: 32 hexadecimal digits.
    pub id: String,
    /// The location: a URL or an absolute path.
    pub location: String,
    /// Options of all merges.
    pub options: ScheduleOptions,
    /// Merges. Each replaces some blocks of the location.
    pub merges: Vec<Merge>,
    /// Jobs, those of stage 1 first.
    pub jobs: Vec<ScheduledJob>,
}

/// Options of all merges of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleOptions {
    /// Layout of the outputs: `factored`, `bitpacked` or `fixed`.
    pub layout: String,
    /// True if the outputs are archives.
    pub archive: bool,
    /// True if outputs are planned afresh.
    pub replan: bool,
    /// Label by which series are spread over shards.
    pub shard_by: String,
    /// External labels for inputs that lack them.
    pub external_labels: Vec<(String, String)>,
    /// Policy for annotations that differ: `error`, `first` or `drop`.
    pub annotations: String,
}

/// A merge: the blocks that it replaces, and the number of blocks that replace them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// Name in the schedule, such as `m1`.
    pub id: String,
    /// Ids of the inputs, in increasing order.
    #[serde(with = "text::list")]
    pub parents: Vec<BlockId>,
    /// Blocks that the inputs hold whole.
    #[serde(with = "text::list")]
    pub ancestors: Vec<BlockId>,
    /// Series and fingerprint of all inputs together.
    pub totals: Totals,
    /// Number of outputs.
    pub outputs: NonZeroU32,
}

/// A number of series and the sum of their fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Number of series.
    pub series: u64,
    /// Sum of fingerprints.
    #[serde(with = "text::fingerprint")]
    pub fingerprint: Fingerprint,
}

impl Totals {
    /// No series.
    pub const ZERO: Self = Self { series: 0, fingerprint: Fingerprint::ZERO };

    /// Returns the sum.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { series: self.series.saturating_add(other.series), fingerprint: self.fingerprint + other.fingerprint }
    }
}

impl Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(totals: I) -> Self {
        totals.fold(Self::ZERO, Self::and)
    }
}

/// One job: what a process does with `run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduledJob {
    /// Name in the schedule, such as `m1`, `m1-split-2` or `m1-merge-3`.
    pub id: String,
    /// Number of the job in the schedule, from 0.
    pub index: u32,
    /// 1 or 2. Jobs of stage 2 read outputs of stage 1.
    pub stage: u32,
    /// The merge that the job belongs to.
    pub merge: String,
    /// Inputs.
    pub inputs: Vec<JobInput>,
    /// Keys of the outputs, relative to the schedule's folder.
    pub outputs: Vec<String>,
    /// Maximum number of series of all outputs together.
    pub series: u64,
    /// Bytes of memory that the job needs at most, by an estimate.
    pub memory: u64,
}

/// An input of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum JobInput {
    /// A block of the location.
    Block(StoredBlock),
    /// An output of another job.
    Output {
        /// Name of the job.
        job: String,
        /// Number of the output, from 0.
        output: u32,
    },
}

impl JobInput {
    pub(super) fn block(&self) -> Option<&StoredBlock> {
        match self {
            Self::Block(block) => Some(block),
            Self::Output { .. } => None,
        }
    }
}

/// A block under a key: an input as it was when the schedule was made, or an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredBlock {
    /// Key, relative to the location.
    pub key: String,
    /// Block id.
    #[serde(with = "text")]
    pub id: BlockId,
    /// Length in bytes.
    pub bytes: u64,
    /// Checksum of the header.
    pub header_checksum: u32,
    /// Series and fingerprint.
    #[serde(flatten)]
    pub totals: Totals,
}

impl StoredBlock {
    pub(super) fn from_listed(Listed { object, facts }: &Listed) -> Self {
        Self {
            key: object.key.clone(),
            id: facts.id,
            bytes: object.byte_len,
            header_checksum: facts.header_checksum,
            totals: Totals { series: facts.series, fingerprint: facts.fingerprint },
        }
    }

    /// Returns the block as one that is wanted from the location.
    #[must_use]
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted { key: &self.key, byte_len: self.bytes, id: self.id, header_checksum: self.header_checksum }
    }
}

impl Schedule {
    /// Reads a schedule.
    ///
    /// # Errors
    /// [`ScheduleError::Document`] if it is not a schedule of this version, or its id does not follow from its content.
    pub fn parse(json: &[u8]) -> Result<Self, ScheduleError> {
        let refused = |error: serde_json::Error| ScheduleError::Document { reason: error.to_string() };
        #[derive(Deserialize)]
        struct VersionOnly {
            chronoxide_schedule: u32,
        }
        let begun: VersionOnly = serde_json::from_slice(json).map_err(refused)?;
        if begun.chronoxide_schedule != VERSION {
            return Err(ScheduleError::Version { version: begun.chronoxide_schedule });
        }
        let schedule: Self = serde_json::from_slice(json).map_err(refused)?;
        let reason = || "the schedule was changed: its id does not match its content".to_owned();
        refuse_if(schedule.id != schedule.derived_id(), reason)?;
        schedule.check_keys()?;
        schedule.check_structure()?;
        Ok(schedule)
    }

    /// Refuses keys that lead out of the location. A schedule may come from anywhere.
    pub(super) fn check_keys(&self) -> Result<(), ScheduleError> {
        let is_plain = |name: &str| !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.');
        let check = |key: &str, is_key: bool| refuse_if(!is_key, || format!("{key:?} is not a key of the location"));
        self.input_blocks().try_for_each(|input| check(&input.key, is_plain(&input.key)))?;
        for job in &self.jobs {
            check(&job.id, is_plain(&job.id))?;
            for (number, output) in job.outputs.iter().enumerate() {
                check(output, *output == format!("jobs/{}/{number}.cx", job.id))?;
            }
        }
        Ok(())
    }

    /// Refuses a schedule whose jobs do not read each input once, or whose merges do not publish all that was read.
    fn check_structure(&self) -> Result<(), ScheduleError> {
        let text = |reason: &'static str| move || reason.to_owned();
        let ids: BTreeSet<&str> = self.jobs.iter().map(|job| job.id.as_str()).collect();
        let is_numbered = (0..).zip(&self.jobs).all(|(number, job)| job.index == number);
        let is_ordered = ids.len() == self.jobs.len() && is_numbered && self.jobs.is_sorted_by_key(|job| job.stage);
        refuse_if(!is_ordered, text("the jobs are not numbered in the order of their stages, or two have one name"))?;
        let is_large = self.merges.iter().any(|merge| merge.outputs.get() > MAX_SHARDS);
        refuse_if(is_large, || format!("a merge has more than {MAX_SHARDS} outputs"))?;
        let merges: BTreeSet<&str> = self.merges.iter().map(|merge| merge.id.as_str()).collect();
        refuse_if(merges.len() != self.merges.len(), text("two merges have one name"))?;
        for job in &self.jobs {
            refuse_if(!merges.contains(job.merge.as_str()), || format!("job {} has no merge", job.id))?;
        }
        let (blocks, keys): (BTreeSet<BlockId>, BTreeSet<&str>) =
            self.input_blocks().map(|input| (input.id, input.key.as_str())).unzip();
        let count = self.input_blocks().count();
        refuse_if(blocks.len() != count || keys.len() != count, text("two jobs read one block"))?;
        for merge in &self.merges {
            let reason = || format!("the jobs of merge {} do not make its outputs of its inputs", merge.id);
            refuse_if(!self.is_whole(merge), reason)?;
        }
        Ok(())
    }

    /// Returns true if the jobs of a merge read its parents, and its last jobs everything that the first ones write.
    fn is_whole(&self, merge: &Merge) -> bool {
        let of_merge = || self.jobs.iter().filter(|job| job.merge == merge.id);
        let (first, second): (Vec<_>, Vec<_>) = of_merge().partition(|job| job.stage == 1);
        let read = || first.iter().flat_map(|job| &job.inputs);
        let blocks: Vec<&StoredBlock> = read().filter_map(JobInput::block).collect();
        let ids: BTreeSet<BlockId> = blocks.iter().map(|block| block.id).collect();
        let totals: Totals = blocks.iter().map(|block| block.totals).sum();
        let outputs = merge.outputs.get() as usize;
        let reads_output = |(number, job): (u32, &&ScheduledJob)| {
            let expected = first.iter().map(|split| JobInput::Output { job: split.id.clone(), output: number });
            job.stage == 2 && job.outputs.len() == 1 && expected.eq(job.inputs.iter().cloned())
        };
        ids.into_iter().eq(merge.parents.iter().copied())
            && totals == merge.totals
            && read().count() == blocks.len()
            && first.iter().all(|job| !job.inputs.is_empty() && job.outputs.len() == outputs)
            && match second.len() {
                0 => first.len() == 1,
                count => count == outputs && (0..).zip(&second).all(reads_output),
            }
    }

    /// Returns the schedule as JSON, with a line break at the end.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists can always be written.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Returns the id that follows from the content.
    pub(super) fn derived_id(&self) -> String {
        let content = Self { id: String::new(), ..self.clone() };
        format!("{:032x}", u128::from_be_bytes(job_id(&[], &serde_json::to_string(&content).unwrap_or_default())))
    }

    /// Returns a job by its name.
    #[must_use]
    pub fn job(&self, id: &str) -> Option<&ScheduledJob> {
        self.jobs.iter().find(|job| job.id == id)
    }

    /// Returns the merge of a job.
    #[must_use]
    pub fn merge_of(&self, job: &ScheduledJob) -> Option<&Merge> {
        self.merges.iter().find(|merge| merge.id == job.merge)
    }

    /// Returns the jobs whose outputs are those of a merge, in the order of the outputs.
    pub fn last_jobs<'a>(&'a self, merge: &'a Merge) -> impl Iterator<Item = &'a ScheduledJob> {
        let of_merge = |job: &&ScheduledJob| job.merge == merge.id;
        let stage = self.jobs.iter().filter(of_merge).map(|job| job.stage).max();
        self.jobs.iter().filter(of_merge).filter(move |job| Some(job.stage) == stage)
    }

    /// Returns all input blocks, by job.
    pub fn input_blocks(&self) -> impl Iterator<Item = &StoredBlock> + Clone {
        self.jobs.iter().flat_map(|job| &job.inputs).filter_map(JobInput::block)
    }

    /// Returns the options of a job's merge.
    ///
    /// # Errors
    /// [`ScheduleError::Document`] if an option has an unknown value.
    pub fn compact_options(&self, job: &ScheduledJob) -> Result<CompactOptions, ScheduleError> {
        let mut options = self.options.to_compact_options()?;
        let unknown = || ScheduleError::Document { reason: format!("job {} has no merge", job.id) };
        let merge = self.merge_of(job).ok_or_else(unknown)?;
        let outputs = NonZeroU32::new(job.outputs.len() as u32).ok_or_else(unknown)?;
        if job.stage == 2 {
            let of_merge = self.last_jobs(merge).position(|other| other.id == job.id).ok_or_else(unknown)?;
            let what = format!("{}, {} shards, split and merged", options.describe(), merge.outputs);
            let number = Job {
                id: job_id(&merge.parents, &what),
                output: u32::try_from(of_merge).map_err(|_| unknown())?,
                output_count: merge.outputs.get(),
            };
            let Merge { parents, ancestors, .. } = merge.clone();
            options.origin = Some(Origin { job: number, parents, ancestors });
        } else if outputs.get() > 1 {
            options.shards = Some(Shards { count: outputs, by: self.options.shard_by.clone(), only: None });
        }
        Ok(options)
    }
}

/// Refuses a document.
fn refuse_if(is_refused: bool, reason: impl FnOnce() -> String) -> Result<(), ScheduleError> {
    if is_refused { Err(ScheduleError::Document { reason: reason() }) } else { Ok(()) }
}

impl ScheduleOptions {
    /// Takes over the options of a merge that a schedule can have.
    #[must_use]
    pub fn new(options: &CompactOptions, shard_by: &str) -> Self {
        let annotations = match options.annotations {
            AnnotationPolicy::MustAgree => "error",
            AnnotationPolicy::First => "first",
            AnnotationPolicy::Drop => "drop",
        };
        Self {
            layout: options.layout.name().to_owned(),
            archive: options.archive,
            replan: options.replan,
            shard_by: shard_by.to_owned(),
            external_labels: options.external_labels.clone(),
            annotations: annotations.to_owned(),
        }
    }

    pub(super) fn to_compact_options(&self) -> Result<CompactOptions, ScheduleError> {
        let unknown = |what: &str, value: &str| ScheduleError::Document { reason: format!("unknown {what} {value:?}") };
        let layout = Layout::ALL.into_iter().find(|layout| layout.name() == self.layout);
        Ok(CompactOptions {
            layout: layout.ok_or_else(|| unknown("layout", &self.layout))?,
            archive: self.archive,
            replan: self.replan,
            external_labels: self.external_labels.clone(),
            annotations: match self.annotations.as_str() {
                "error" => AnnotationPolicy::MustAgree,
                "first" => AnnotationPolicy::First,
                "drop" => AnnotationPolicy::Drop,
                other => return Err(unknown("policy for annotations", other)),
            },
            ..CompactOptions::default()
        })
    }
}
