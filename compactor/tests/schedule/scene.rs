//! A location with random blocks, and what its readers must see.

use std::collections::BTreeSet;
use std::path::Path;

use chronoxide_compactor::engine::Workplace;
use chronoxide_compactor::schedule::{
    CommitOptions, Committed, JobRun, Record, Schedule, ScheduleError, ScheduleOptions, ScheduledJob, Sizing, commit,
    make, run,
};
use chronoxide_compactor::strategy::StrategyOptions;
use chronoxide_compactor::{CompactOptions, NoObserver};
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::TimeRange;
use chronoxide_format::write::BlockMeta;
use chronoxide_locations::{Cache, Listing, Location};
use chronoxide_planner::Layout;
use chronoxide_reader::{Block, Checks};
use chronoxide_testkit::plan::{Labelset, Plan as BlockPlan, build};
use chronoxide_testkit::random::{Random, random_plan, random_series};

use crate::support::series;

/// Nanoseconds.
pub const HOUR: i64 = 3_600_000_000_000;

fn block(hour: usize, series: &BTreeSet<Labelset>, plan: &BlockPlan) -> Vec<u8> {
    let start = hour as i64 * HOUR;
    let time = Some(TimeRange { start, end: start + HOUR });
    let meta = BlockMeta { time, window: time, ..BlockMeta::default() };
    build(series, plan, RowForm::BitPacked, &meta).unwrap()
}

/// A location, a cache, and the series that readers must find.
pub struct Scene {
    pub location: Location,
    pub cache: Cache,
    pub expected: BTreeSet<Labelset>,
    _folder: tempfile::TempDir,
}

impl Scene {
    /// Fills a folder of this machine with hourly blocks.
    pub fn local(blocks: usize, random: &mut Random) -> Self {
        let folder = crate::support::empty_folder();
        let path = folder.path().join("blocks");
        std::fs::create_dir(&path).unwrap();
        let location = Location::open(&path.display().to_string()).unwrap();
        Self::fill(location, folder, blocks, random)
    }

    /// Fills a location with hourly blocks. `folder` has room for the cache.
    pub fn fill(location: Location, folder: tempfile::TempDir, blocks: usize, random: &mut Random) -> Self {
        let cache = Cache::open(folder.path().join("cache"), 1 << 30).unwrap();
        let common = random_series(20, random);
        let mut expected = BTreeSet::new();
        for number in 0..blocks {
            let mut series = random_series(random.below(30), random);
            series.extend(common.iter().filter(|_| random.percent(60)).cloned());
            let plan = if random.percent(30) { BlockPlan::default() } else { random_plan(&series, random) };
            location.create_bytes(&format!("{number:04}.cx"), &block(number, &series, &plan)).unwrap();
            expected.extend(series);
        }
        Self { location, cache, expected, _folder: folder }
    }

    /// Adds a block of an hour.
    pub fn add(&mut self, hour: usize, series: BTreeSet<Labelset>) {
        let bytes = block(hour, &series, &BlockPlan::default());
        self.location.create_bytes(&format!("added-{hour}.cx"), &bytes).unwrap();
        self.expected.extend(series);
    }

    pub fn schedule(&self, sizing: &Sizing) -> Result<Schedule, ScheduleError> {
        self.schedule_ranges("4h,12h", sizing)
    }

    /// Makes a schedule of merges to these lengths of time.
    pub fn schedule_ranges(&self, ranges: &str, sizing: &Sizing) -> Result<Schedule, ScheduleError> {
        let listing = Listing::read(&self.location)?;
        let options = CompactOptions { layout: Layout::Factored, ..CompactOptions::default() };
        let strategy = StrategyOptions { ranges: ranges.parse().unwrap(), ..StrategyOptions::default() };
        make(self.location.text(), &listing, &ScheduleOptions::new(&options, "__name__"), &strategy, sizing)
    }

    pub fn run(&self, schedule: &Schedule, job: &ScheduledJob) -> Result<JobRun, ScheduleError> {
        self.run_at(&self.location, schedule, job)
    }

    /// Runs each job once, in order. Returns their records.
    #[track_caller]
    pub fn run_jobs(&self, schedule: &Schedule) -> Vec<Record> {
        schedule.jobs.iter().map(|job| self.run(schedule, job).unwrap().record.unwrap()).collect()
    }

    /// Runs a job by another way to the same location.
    pub fn run_at(
        &self,
        location: &Location,
        schedule: &Schedule,
        job: &ScheduledJob,
    ) -> Result<JobRun, ScheduleError> {
        let map = |path: &Path| Block::read(path, Checks::Never);
        let place = Workplace { location, cache: &self.cache, map: &map, memory_limit: None, observer: &NoObserver };
        run(schedule, job, &place)
    }

    /// Returns the place for commits and `clean`.
    pub fn place(&self) -> Workplace<'_> {
        let map = &|path: &Path| Block::read(path, Checks::Never);
        Workplace { location: &self.location, cache: &self.cache, map, memory_limit: None, observer: &NoObserver }
    }

    pub fn commit(&self, schedule: &Schedule, delete_inputs: bool) -> Result<Committed, ScheduleError> {
        commit(schedule, &self.place(), CommitOptions { delete_inputs, grace_seconds: 0 })
    }

    /// Returns the series of the live blocks, each as often as a live block has it.
    pub fn seen(&self) -> Vec<Labelset> {
        let listing = Listing::read(&self.location).unwrap();
        assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
        let mut seen = Vec::new();
        for block in &listing.live {
            let bytes = self.location.read(&block.object.key).unwrap();
            seen.extend(series(&bytes));
        }
        seen
    }

    /// Checks that readers find exactly the expected series. A series may be in several blocks.
    #[track_caller]
    pub fn assert_seen(&self, what: &str) {
        let seen: BTreeSet<Labelset> = self.seen().into_iter().collect();
        assert_eq!(seen, self.expected, "{what}");
    }

    /// Returns the keys of all objects.
    pub fn keys(&self) -> Vec<String> {
        self.location.list("", true).unwrap().into_iter().map(|object| object.key).collect()
    }
}
