//! Schedules: compactions as jobs that any number of machines can run, in any order, more than once.
//!
//! A schedule is made from the listing of a [location](chronoxide_locations::Location), and says everything that its
//! jobs need to know. A job reads its inputs, merges them, and creates its outputs in the schedule's own folder below
//! the location, where no reader looks. Outputs follow from inputs and options alone, so that a job which runs twice,
//! or on two machines at once, creates the same bytes; creating an object that exists is a success if the bytes are
//! equal. When every job is done, [`commit`] checks the balance of series and fingerprints over the whole schedule, and
//! copies the outputs of the last stage into the location. Until then readers see nothing; from then on blocks name
//! their origin ([`lineage`](chronoxide_reader::lineage)), so that readers see each series once at any time.
//!
//! A merge that is too large for one job is *split and merged*: each job of stage 1 merges some of the inputs into as
//! many shards as there are jobs of stage 2. Each of these merges one shard. Outputs of stage 2 name the inputs of the
//! whole merge as their parents, as the outputs of one sharded job do.
//!
//! ```text
//! location/                          blocks; readers look only here
//!   chronoxide-schedules/<schedule>/schedule.json
//!   chronoxide-schedules/<schedule>/jobs/<job>/<number>.cx     outputs
//!   chronoxide-schedules/<schedule>/jobs/<job>/done.json       a job that is done, with its balance
//!   chronoxide-schedules/<schedule>/commit.json                the commit has begun
//!   chronoxide-schedules/<schedule>/committed.json             all outputs are published
//!   chronoxide-schedules/<schedule>/abort.json                 the schedule was given up
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `document` | [`Schedule`]: jobs with inputs, outputs, options and memory, as JSON (`spec/schedule.schema.json`) |
//! | `make` | [`make`] and [`make_checked`]: from a listing to a schedule |
//! | `staging` | keys of a schedule's objects |
//! | `record` | [`Record`]: inputs, outputs and balance of a finished job |
//! | `run` | [`run`]: one job |
//! | `status` | [`status`]: the state of each job |
//! | `commit` | [`commit`]: checks and publishes |
//! | `delete` | deletion with proof: inputs that a committed schedule replaced, and pending outputs |
//! | `clean` | [`abort`] and [`clean`]: remove what schedules left behind |
//! | `error` | errors |

mod clean;
mod commit;
mod delete;
mod document;
mod error;
mod make;
mod record;
mod run;
mod staging;
mod status;

pub use clean::{Cleaned, abort, clean, revive};
pub use commit::{CommitOptions, Committed, commit};
pub use document::{JobInput, Merge, Schedule, ScheduleOptions, ScheduledJob, StoredBlock, Totals};
pub use error::ScheduleError;
pub use make::{MAX_SHARDS, Sizing, make, make_checked};
pub use record::Record;
pub use run::{JobRun, run};
pub use staging::SCHEDULES_PREFIX;
pub use status::{JobState, ScheduleState, Status, status};
