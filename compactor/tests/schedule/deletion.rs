//! Deletion of inputs after a commit: the right ones, and not too early.

use std::num::NonZeroU32;
use std::time::{SystemTime, UNIX_EPOCH};

use chronoxide_compactor::schedule::{
    CommitOptions, Committed, Schedule, ScheduleError, ScheduleOptions, Sizing, abort, clean, commit, make,
};
use chronoxide_compactor::strategy::StrategyOptions;
use chronoxide_compactor::{CompactOptions, schedule::JobInput};
use chronoxide_locations::{Listing, to_document};
use chronoxide_testkit::random::Random;
use serde_json::{Value, json};

use crate::scene::Scene;

const HOUR: u64 = 3600;

/// A location with a schedule whose jobs are done.
fn done(blocks: usize, seed: u64) -> (Scene, Schedule) {
    let mut scene = Scene::local(blocks, &mut Random::new(seed));
    // Outputs that are too long to be read whole by a listing.
    let labelset = |number| [("__name__", "up".to_owned()), ("pod", format!("a value that takes room: {number:060}"))];
    let owned = |labels: [(&str, String); 2]| labels.map(|(name, value)| (name.to_owned(), value)).into();
    scene.add(0, (0..4000).map(labelset).map(owned).collect());
    let sizing = Sizing { shards: NonZeroU32::new(2), ..Sizing::default() };
    let schedule = scene.schedule_ranges("4h", &sizing).unwrap();
    assert!(schedule.merges.len() > 1);
    scene.run_jobs(&schedule);
    (scene, schedule)
}

fn commit_to_delete(scene: &Scene, schedule: &Schedule) -> Committed {
    let options = CommitOptions { delete_inputs: true, grace_seconds: HOUR };
    commit(schedule, &scene.place(), options).unwrap()
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().try_into().unwrap()
}

/// Inputs of a schedule that are in the location.
fn inputs(scene: &Scene, schedule: &Schedule) -> usize {
    let keys = scene.keys();
    schedule.input_blocks().filter(|input| keys.contains(&input.key)).count()
}

#[test]
fn inputs_wait_for_the_grace_period_of_their_commit() {
    let (scene, schedule) = done(9, 103);
    let all = inputs(&scene, &schedule);
    let before = now();
    assert!(commit_to_delete(&scene, &schedule).deleted.is_empty());
    for (time, count) in [(now(), all), (before + 3599, all), (now() + 3601, 0)] {
        let cleaned = clean(&scene.place(), time, 0).unwrap();
        assert!(cleaned.failed.is_empty(), "{cleaned:?}");
        assert_eq!((inputs(&scene, &schedule), cleaned.kept.len()), (count, usize::from(count > 0)));
        scene.assert_seen("after clean");
    }
}

#[test]
fn inputs_are_kept_if_an_output_is_lost_or_damaged() {
    for is_lost in [true, false] {
        let (scene, schedule) = done(9, 107);
        let all = inputs(&scene, &schedule);
        let outputs = commit_to_delete(&scene, &schedule).outputs;
        let output = outputs.iter().max_by_key(|output| output.bytes).unwrap();
        let sound = scene.location.read(&output.key).unwrap();
        assert!(sound.len() > 200_000, "{}", sound.len());
        if is_lost {
            scene.location.delete(std::slice::from_ref(&output.key), &mut |_| {}).unwrap();
        } else {
            let mut damaged = sound.clone();
            let middle = damaged.len() / 2;
            damaged[middle] ^= 1;
            scene.location.replace(&output.key, &damaged).unwrap();
        }
        let cleaned = clean(&scene.place(), i64::MAX, 0).unwrap();
        assert_eq!((cleaned.failed.len(), cleaned.inputs.len()), (1, 0), "{cleaned:?}");
        assert_eq!(inputs(&scene, &schedule), all);
        scene.location.replace(&output.key, &sound).unwrap();
        assert_eq!(clean(&scene.place(), i64::MAX, 0).unwrap().inputs.len(), all);
        scene.assert_seen("after the second clean");
    }
}

#[test]
fn a_forged_record_of_a_commit_deletes_nothing() {
    let (scene, schedule) = done(9, 109);
    let all = inputs(&scene, &schedule);
    // Published, so that the inputs are hidden.
    commit_to_delete(&scene, &schedule);
    let key = format!("{}committed.json", schedule.prefix());
    let record: Value = serde_json::from_slice(&scene.location.read(&key).unwrap()).unwrap();
    let record = &record["content"];
    let outputs = record["outputs"].as_array().unwrap();
    let listing = Listing::read(&scene.location).unwrap();
    let is_output = |key: &str| outputs.iter().any(|output| output["key"] == key);
    let other = listing.live.iter().find(|block| !is_output(&block.object.key)).expect("a block stays");
    let mut foreign = outputs.clone();
    foreign[0]["key"] = json!(other.object.key);
    foreign[0]["id"] = json!(other.facts.id.to_string());
    let forgeries = [
        ("no outputs", json!({ "outputs": [] })),
        ("too few outputs", json!({ "outputs": outputs[1..] })),
        ("another block", json!({ "outputs": foreign })),
        ("nothing read", json!({ "read": { "series": 0, "fingerprint": "0".repeat(32) } })),
        ("another schedule", json!({ "schedule": "0".repeat(32) })),
    ];
    for (what, changes) in forgeries {
        let mut forged = record.clone();
        for (name, value) in changes.as_object().unwrap() {
            forged[name] = value.clone();
        }
        scene.location.replace(&key, &to_document(&forged).unwrap()).unwrap();
        let cleaned = clean(&scene.place(), i64::MAX, 0).unwrap();
        assert_eq!((cleaned.failed.len(), cleaned.inputs.len()), (1, 0), "{what}: {cleaned:?}");
        assert!(scene.commit(&schedule, true).is_err(), "{what}");
        assert_eq!(inputs(&scene, &schedule), all, "{what}");
    }
    scene.location.replace(&key, &to_document(record).unwrap()).unwrap();
    assert_eq!(clean(&scene.place(), i64::MAX, 0).unwrap().inputs.len(), all);
    scene.assert_seen("after clean");
}

#[test]
fn an_aborted_commit_is_not_finished() {
    let (scene, schedule) = done(9, 113);
    let all = inputs(&scene, &schedule);
    for name in ["commit.json", "abort.json"] {
        let mark = to_document(&CommitOptions { delete_inputs: true, grace_seconds: 0 }).unwrap();
        scene.location.create_bytes(&format!("{}{name}", schedule.prefix()), &mark).unwrap();
    }
    let cleaned = clean(&scene.place(), i64::MAX, 0).unwrap();
    assert!(cleaned.failed.is_empty() && cleaned.inputs.is_empty(), "{cleaned:?}");
    assert_eq!(scene.keys().len(), 10, "nothing was published");
    assert_eq!(inputs(&scene, &schedule), all);
    scene.assert_seen("after clean");
}

#[test]
fn a_commit_that_has_begun_cannot_be_aborted() {
    for grace_seconds in [0, HOUR] {
        let (scene, schedule) = done(9, 127);
        let all = inputs(&scene, &schedule);
        let mark = to_document(&CommitOptions { delete_inputs: true, grace_seconds }).unwrap();
        scene.location.create_bytes(&format!("{}commit.json", schedule.prefix()), &mark).unwrap();
        assert!(matches!(abort(&schedule, &scene.location), Err(ScheduleError::CommitBegun)));
        let options = CommitOptions { delete_inputs: true, grace_seconds };
        assert!(!commit(&schedule, &scene.place(), options).unwrap().was_committed);
        scene.assert_seen("after the commit");
        // The inputs are deleted at once, or by `clean` after the grace period.
        assert_eq!(inputs(&scene, &schedule), if grace_seconds == 0 { 0 } else { all });
        let cleaned = clean(&scene.place(), i64::MAX, 0).unwrap();
        assert!(cleaned.failed.is_empty() && inputs(&scene, &schedule) == 0, "{cleaned:?}");
        scene.assert_seen("after clean");
    }
}

#[test]
fn no_job_needs_more_memory_than_it_may() {
    let scene = Scene::local(8, &mut Random::new(131));
    let mut listing = Listing::read(&scene.location).unwrap();
    for (number, block) in (1..).zip(&mut listing.live) {
        block.facts.counts.inner_rows = number * 1_000_000;
        block.facts.series = 10_000_000;
    }
    let options = ScheduleOptions::new(&CompactOptions::default(), "__name__");
    let strategy = StrategyOptions { ranges: "8h".parse().unwrap(), ..StrategyOptions::default() };
    let schedule = |job_memory| {
        let sizing = Sizing { job_memory, ..Sizing::default() };
        make(scene.location.text(), &listing, &options, &strategy, &sizing)
    };
    let whole = schedule(None).unwrap();
    let [job] = &whole.jobs[..] else { panic!("one job: {whole:?}") };
    let (mut made, mut stages) = (0, 0);
    for part in 1..=40 {
        let limit = job.memory / 40 * part + 64;
        match schedule(Some(limit)) {
            Ok(schedule) => {
                made += 1;
                stages = stages.max(schedule.jobs.iter().map(|job| job.stage).max().unwrap_or(0));
                let most = schedule.jobs.iter().map(|job| job.memory).max().unwrap_or(0);
                assert!(most <= limit, "{most} of {limit}");
                let read = schedule.jobs.iter().flat_map(|job| &job.inputs);
                assert_eq!(read.filter(|input| matches!(input, JobInput::Block(_))).count(), 8);
            }
            Err(ScheduleError::Memory { needed, .. }) => assert!(needed > limit && made == 0, "{needed} of {limit}"),
            Err(error) => panic!("{error}"),
        }
    }
    // The largest block alone needs less than a third of the whole.
    assert!(made > 25 && stages == 2, "{made} schedules, {stages} stages");
}
