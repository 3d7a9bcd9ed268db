//! Schedules over an object store whose requests fail: at each place, at random, and with workers that die.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use chronoxide_compactor::CompactionError;
use chronoxide_compactor::schedule::{Cleaned, Merge, Schedule, ScheduleError, Sizing, clean};
use chronoxide_locations::{Cache, Listing, Location};
use chronoxide_object_server::{BUCKET, FAULTS, Fault, Proxy, Server, at_once, every, nth, random};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::requirement::skip_or_fail;
use chronoxide_testkit::sweep;

use crate::scene::Scene;

/// An object server, a proxy before it, and a scene whose location is behind the proxy.
struct Stage {
    proxy: Proxy,
    scene: Scene,
    _server: Arc<Server>,
}

impl Stage {
    fn new(blocks: usize, seed: u64) -> Self {
        Self::at(Arc::new(Server::s3s().unwrap()), "fleet", blocks, seed)
    }

    fn at(server: Arc<Server>, prefix: &str, blocks: usize, seed: u64) -> Self {
        let proxy = Proxy::start(server.endpoint()).unwrap();
        let scene = Scene::fill(open(&proxy, prefix), crate::support::empty_folder(), blocks, &mut Random::new(seed));
        Self { proxy, scene, _server: server }
    }

    /// Returns a stage with a schedule whose jobs are done, and forgets their requests.
    fn ready(blocks: usize, seed: u64) -> (Self, Schedule) {
        let stage = Self::new(blocks, seed);
        let schedule = stage.schedule();
        stage.scene.run_jobs(&schedule);
        stage.proxy.forget();
        (stage, schedule)
    }

    fn schedule(&self) -> Schedule {
        self.scene.schedule(&Sizing { shards: NonZeroU32::new(2), ..Sizing::default() }).unwrap()
    }

    /// Runs each job and the commit once. Each must succeed.
    fn finish(&self, schedule: &Schedule, what: &str) {
        for job in &schedule.jobs {
            self.scene.run(schedule, job).unwrap_or_else(|error| panic!("{what}: {}: {error}", job.id));
        }
        let committed = self.scene.commit(schedule, true).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(committed.read.series, committed.written.series + committed.duplicates.series, "{what}");
    }

    /// Checks what readers see, and that `clean` leaves nothing but blocks.
    fn check(&self, schedule: &Schedule, what: &str) {
        self.proxy.calm();
        self.scene.assert_seen(what);
        clean(&self.scene.place(), i64::MAX, 0).unwrap();
        self.scene.assert_seen(what);
        let keys: BTreeSet<String> = self.scene.keys().into_iter().collect();
        let inputs: BTreeSet<String> = schedule.input_blocks().map(|input| input.key.clone()).collect();
        assert!(keys.is_disjoint(&inputs), "{what}: inputs are deleted");
        assert!(keys.iter().all(|key| !key.contains('/')), "{what}: {keys:?}");
    }
}

fn open(proxy: &Proxy, prefix: &str) -> Location {
    Location::open_with(&format!("s3://{BUCKET}/{prefix}/"), &Server::settings(proxy.endpoint())).unwrap()
}

/// Returns the requests at which something dies: all if all are asked for, else each `step`-th.
fn deaths(requests: u64, step: usize) -> Vec<u64> {
    let deaths: Vec<u64> = sweep::by_turns(0..requests, 0, step).collect();
    println!("{} deaths at {requests} requests", deaths.len());
    assert!(deaths.len() >= sweep::cases(3, 30), "{requests} requests");
    deaths
}

/// The schedule succeeds at its first try with each fault at every n-th request, for many n.
#[test]
fn faults_at_every_nth_request_are_survived() {
    let cases = FAULTS.into_iter().enumerate().flat_map(|(number, fault)| {
        // An object is found, then read: with an even number, each reading of a record would be damaged.
        let numbers = if matches!(fault, Fault::FlipByte(_)) { [3, 5] } else { [2, 5] };
        numbers.map(|n| (number, fault, n))
    });
    // One number for each fault, unless all are asked for.
    at_once(sweep::by_turns(cases, 0, 2), |(number, fault, n)| {
        let what = format!("{fault:?} at every {n}th request");
        let stage = Stage::new(6, number as u64);
        let schedule = stage.schedule();
        stage.proxy.inject(every(n, fault));
        stage.finish(&schedule, &what);
        stage.check(&schedule, &what);
    });
}

/// Another implementation of S3 answers alike.
#[test]
fn faults_are_survived_on_another_server() {
    let server = match Server::moto() {
        Ok(server) => Arc::new(server),
        Err(error) if error.kind() == ErrorKind::NotFound => return skip_or_fail("moto_server", error),
        Err(error) => panic!("{error}"),
    };
    at_once(sweep::by_turns(FAULTS.into_iter().enumerate(), 0, 3), |(number, fault)| {
        let what = format!("{fault:?} at every third request to moto");
        let stage = Stage::at(Arc::clone(&server), &format!("fleet-{number}"), 6, number as u64);
        let schedule = stage.schedule();
        stage.proxy.inject(every(3, fault));
        stage.finish(&schedule, &what);
        stage.check(&schedule, &what);
    });
}

/// A worker dies at some request of a schedule: all its later requests fail. Another one finishes the schedule.
#[test]
fn a_death_at_any_request_loses_nothing() {
    let whole = Stage::new(5, 3);
    let schedule = whole.schedule();
    whole.proxy.forget();
    whole.finish(&schedule, "without faults");
    let requests = whole.proxy.take_requests().len() as u64;
    assert!(requests > 50, "{requests}");
    at_once(deaths(requests, 19), |at| {
        let what = format!("death at request {at} of {requests}");
        let stage = Stage::new(5, 3);
        let schedule = stage.schedule();
        // A fault that is never tried again stands for death.
        stage.proxy.inject(Box::new(move |number, _| (number >= at).then_some(Fault::Status(400))));
        let died = schedule.jobs.iter().try_for_each(|job| stage.scene.run(&schedule, job).map(|_| ()));
        let died = died.and_then(|()| stage.scene.commit(&schedule, true).map(|_| ()));
        assert!(died.is_err(), "{what}");
        stage.proxy.calm();
        stage.scene.assert_seen(&what);
        stage.finish(&schedule, &what);
        stage.check(&schedule, &what);
    });
}

/// Two workers run every job at once, through a store that fails at random, with a cache that is lost now and then.
#[test]
fn two_workers_at_once_and_random_faults() {
    at_once(0..sweep::cases(2, 12), |seed| {
        let stage = Stage::new(6, seed);
        let schedule = stage.schedule();
        stage.proxy.inject(random(seed, 8, FAULTS.to_vec()));
        let work = |worker: u64| {
            let location = open(&stage.proxy, "fleet");
            for job in &schedule.jobs {
                if (seed + worker + u64::from(job.index)).is_multiple_of(5) {
                    for file in std::fs::read_dir(stage.scene.cache.folder()).unwrap().flatten() {
                        let is_block = file.path().extension().is_some_and(|extension| extension == "cx");
                        let _ = if is_block { std::fs::remove_file(file.path()) } else { Ok(()) };
                    }
                }
                while let Err(error) = stage.scene.run_at(&location, &schedule, job) {
                    let may_pass = matches!(
                        error,
                        ScheduleError::NotDone { .. }
                            | ScheduleError::Store(_)
                            | ScheduleError::Open(_)
                            | ScheduleError::Compaction(CompactionError::Publish(_))
                    );
                    assert!(may_pass, "seed {seed}, worker {worker}, {}: {error}", job.id);
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| work(0));
            scope.spawn(|| work(1));
        });
        let what = format!("seed {seed}");
        stage.finish(&schedule, &what);
        stage.check(&schedule, &what);
    });
}

#[test]
fn a_death_during_one_fault_is_the_same_as_none_for_the_bytes() {
    let expected = Stage::new(6, 5);
    let schedule = expected.schedule();
    expected.finish(&schedule, "without faults");
    let outputs =
        |stage: &Stage| -> Vec<String> { stage.scene.keys().into_iter().filter(|key| !key.contains('/')).collect() };
    let stage = Stage::new(6, 5);
    let same = stage.schedule();
    assert_eq!(same.id, schedule.id);
    stage.proxy.inject(nth(40, Fault::LoseAnswer));
    stage.finish(&same, "with a fault");
    assert_eq!(outputs(&stage), outputs(&expected), "ids follow from content");
}

/// A commit or `clean` dies at some request, and only `clean` runs afterwards, as in a CronJob.
#[test]
fn clean_ends_what_a_dead_commit_or_clean_has_begun() {
    let ready = || Stage::ready(6, 9);
    let finish = |stage: &Stage, schedule: &Schedule| {
        stage.scene.commit(schedule, true).and_then(|_| clean_all(stage)).map(|_| ())
    };
    let (whole, schedule) = ready();
    finish(&whole, &schedule).unwrap();
    let requests = whole.proxy.take_requests().len() as u64;
    let states = Mutex::new(BTreeSet::new());
    at_once(deaths(requests, 17), |at| {
        let what = format!("death at request {at} of {requests}");
        let (stage, schedule) = ready();
        stage.proxy.inject(Box::new(move |number, _| (number >= at).then_some(Fault::Status(400))));
        assert!(finish(&stage, &schedule).is_err(), "{what}");
        stage.proxy.calm();
        stage.scene.assert_seen(&what);
        let cleaned = clean_all(&stage).unwrap();
        assert!(cleaned.failed.is_empty() && cleaned.kept.is_empty(), "{what}: {cleaned:?}");
        stage.scene.assert_seen(&what);
        let keys: BTreeSet<String> = stage.scene.keys().into_iter().collect();
        assert!(keys.iter().all(|key| !key.contains('/')), "{what}: {keys:?}");
        // Either the commit had not begun, or it is ended with its options.
        let left = schedule.input_blocks().filter(|input| keys.contains(&input.key)).count();
        assert!(left == 0 || left == schedule.input_blocks().count(), "{what}: {left} inputs are left");
        states.lock().unwrap().insert(left == 0);
    });
    assert_eq!(states.into_inner().unwrap().len(), 2, "deaths before the commit and after it");
}

/// Another schedule merged the inputs of one merge after a commit died: `clean` deletes those of the other.
#[test]
fn clean_deletes_the_inputs_of_the_merges_that_a_dead_commit_published() {
    let (whole, schedule) = Stage::ready(9, 13);
    whole.scene.commit(&schedule, true).unwrap();
    // Search by halves: before the early request no merge is published, after the late one all are.
    let (mut early, mut late, mut is_seen) = (0, whole.proxy.take_requests().len() as u64, false);
    while !is_seen {
        assert!(late - early > 1, "the commit of one merge was never seen alone");
        let at = early.midpoint(late);
        let (stage, schedule) = Stage::ready(9, 13);
        stage.proxy.inject(Box::new(move |number, _| (number >= at).then_some(Fault::Status(400))));
        assert!(stage.scene.commit(&schedule, true).is_err(), "request {at}");
        stage.proxy.calm();
        let live = |id| Listing::read(&stage.scene.location).unwrap().live.iter().any(|block| block.facts.id == id);
        let is_replaced = |merge: &Merge| merge.parents.iter().all(|&id| !live(id));
        let open: Vec<&Merge> = schedule.merges.iter().filter(|merge| !is_replaced(merge)).collect();
        if open.is_empty() {
            late = at;
            continue;
        }
        if open.len() == schedule.merges.len() {
            early = at;
            continue;
        }
        is_seen = true;
        // The next schedule has the other merge alone.
        let next = stage.schedule();
        stage.scene.run_jobs(&next);
        stage.scene.commit(&next, true).unwrap();
        clean_all(&stage).unwrap();
        stage.scene.assert_seen("after clean");
        let keys: BTreeSet<String> = stage.scene.keys().into_iter().collect();
        let left: Vec<_> = schedule.input_blocks().filter(|input| keys.contains(&input.key)).collect();
        assert!(left.is_empty(), "{left:?}");
        assert!(keys.iter().all(|key| !key.contains('/')), "{keys:?}");
    }
}

/// Cleans with a grace period that is over. Returns the first error.
fn clean_all(stage: &Stage) -> Result<Cleaned, ScheduleError> {
    let mut cleaned = clean(&stage.scene.place(), i64::MAX, 0)?;
    match cleaned.failed.pop() {
        Some((_, error)) => Err(error),
        None => Ok(cleaned),
    }
}

/// Several machines commit a schedule at once: all succeed.
#[test]
fn commits_at_once_all_succeed() {
    at_once(0..sweep::cases(2, 10), |seed| {
        let stage = Stage::new(6, seed);
        let schedule = stage.schedule();
        stage.scene.run_jobs(&schedule);
        let commit = || stage.scene.commit(&schedule, true).map(|committed| committed.outputs);
        let outputs = std::thread::scope(|scope| {
            let threads = [(); 3].map(|()| scope.spawn(commit));
            threads.map(|thread| thread.join().unwrap().unwrap_or_else(|error| panic!("seed {seed}: {error}")))
        });
        assert!(outputs.iter().all(|other| *other == outputs[0]), "seed {seed}");
        stage.check(&schedule, &format!("seed {seed}"));
    });
}

/// A cache that holds one block is enough for a job with many inputs.
#[test]
fn jobs_run_with_a_cache_that_is_too_small() {
    let mut stage = Stage::new(9, 12);
    let schedule = stage.schedule();
    let folder = tempfile::tempdir().unwrap();
    stage.scene.cache = Cache::open(folder.path(), 1).unwrap();
    stage.finish(&schedule, "small cache");
    stage.check(&schedule, "small cache");
}
