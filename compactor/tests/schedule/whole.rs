//! Whole schedules on a folder.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use chronoxide_compactor::schedule::{
    CommitOptions, JobState, SCHEDULES_PREFIX, Schedule, ScheduleError, ScheduleState, Sizing, abort, clean, commit,
    revive, status,
};
use chronoxide_locations::{Listing, Manifest};
use chronoxide_testkit::random::Random;
use proptest::prelude::*;

use crate::scene::Scene;

fn shards(count: u32) -> Sizing {
    Sizing { shards: NonZeroU32::new(count), ..Sizing::default() }
}

/// Runs the jobs in a random order, some of them twice; jobs of stage 2 that come too early are refused.
fn run_all(scene: &Scene, schedule: &Schedule, random: &mut Random) {
    let mut left: Vec<_> = schedule.jobs.iter().collect();
    while !left.is_empty() {
        random.shuffle(&mut left);
        left.retain(|job| match scene.run(schedule, job) {
            Ok(done) => {
                assert!(!done.was_done, "{} ran once", job.id);
                if random.percent(50) {
                    let again = scene.run(schedule, job).unwrap();
                    assert!(again.was_done);
                    assert_eq!(again.record, done.record);
                }
                false
            }
            Err(ScheduleError::NotDone { .. }) => {
                assert_eq!(job.stage, 2);
                true
            }
            Err(error) => panic!("{error}"),
        });
        scene.assert_seen("before the commit");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn readers_see_every_series_and_outputs_replace_inputs(seed: u64, blocks in 2_usize..16, count in 1_u32..5, deletes: bool) {
        let random = &mut Random::new(seed);
        let scene = Scene::local(blocks, random);
        let before: BTreeSet<String> = scene.keys().into_iter().collect();
        let schedule = scene.schedule(&shards(count)).unwrap();
        prop_assert_eq!(&schedule, &scene.schedule(&shards(count)).unwrap(), "equal blocks make equal schedules");
        prop_assert_eq!(&Schedule::parse(schedule.to_json().as_bytes()).unwrap(), &schedule);
        run_all(&scene, &schedule, random);
        let inputs: BTreeSet<String> = schedule.input_blocks().map(|input| input.key.clone()).collect();
        prop_assert!(inputs.is_subset(&before));
        prop_assert_eq!(status(&schedule, &scene.location).unwrap().schedule, ScheduleState::Ready);

        let committed = scene.commit(&schedule, deletes).unwrap();
        prop_assert_eq!(committed.read.series, committed.written.series + committed.duplicates.series);
        scene.assert_seen("after the commit");
        let listing = Listing::read(&scene.location).unwrap();
        let live: BTreeSet<String> = listing.live.iter().map(|block| block.object.key.clone()).collect();
        let outputs: BTreeSet<String> = committed.outputs.iter().map(|output| output.key.clone()).collect();
        let expected: BTreeSet<String> = before.difference(&inputs).chain(&outputs).cloned().collect();
        prop_assert_eq!(live, expected, "outputs replace the inputs");
        let there: BTreeSet<String> = scene.keys().into_iter().collect();
        prop_assert_eq!(inputs.is_disjoint(&there), deletes || inputs.is_empty());

        let again = scene.commit(&schedule, deletes).unwrap();
        prop_assert!(again.was_committed);
        prop_assert_eq!(again.outputs, committed.outputs);
        for job in &schedule.jobs {
            let late = scene.run(&schedule, job).unwrap();
            prop_assert_eq!((late.record, late.was_done), (None, true));
        }
        clean(&scene.place(), i64::MAX, 0).unwrap();
        prop_assert!(scene.keys().iter().all(|key| !key.contains('/')), "{:?}", scene.keys());
        scene.assert_seen("after clean");
    }

    #[test]
    fn an_aborted_schedule_leaves_nothing(seed: u64, count in 1_u32..4) {
        let random = &mut Random::new(seed);
        let scene = Scene::local(9, random);
        let before = scene.keys();
        let schedule = scene.schedule(&shards(count)).unwrap();
        for job in schedule.jobs.iter().filter(|job| job.stage == 1) {
            scene.run(&schedule, job).unwrap();
        }
        prop_assert!(!abort(&schedule, &scene.location).unwrap().is_empty());
        let refused = scene.run(&schedule, &schedule.jobs[0]).unwrap_err();
        prop_assert!(matches!(refused, ScheduleError::Aborted), "{}", refused);
        if random.percent(50) {
            revive(&schedule, &scene.location).unwrap();
            prop_assert!(!scene.run(&schedule, &schedule.jobs[0]).unwrap().was_done, "the schedule was made again");
            abort(&schedule, &scene.location).unwrap();
        }
        clean(&scene.place(), i64::MAX, 0).unwrap();
        prop_assert_eq!(scene.keys(), before);
        scene.assert_seen("after the abort");
    }
}

#[test]
fn a_schedule_is_not_committed_before_its_jobs_are_done() {
    let random = &mut Random::new(7);
    let scene = Scene::local(9, random);
    let schedule = scene.schedule(&shards(2)).unwrap();
    let refused = scene.commit(&schedule, true).unwrap_err();
    assert!(matches!(refused, ScheduleError::NotDone { .. }), "{refused}");
    for job in &schedule.jobs[1..] {
        let _ = scene.run(&schedule, job);
    }
    let refused = scene.commit(&schedule, true).unwrap_err();
    assert_eq!(refused.to_string(), format!("job {} is not done: run it first", schedule.jobs[0].id));
    let states = status(&schedule, &scene.location).unwrap();
    assert_eq!((states.schedule, &states.jobs[0]), (ScheduleState::Open, &JobState::Ready));
    let waiting = schedule.jobs.iter().zip(&states.jobs).filter(|(_, state)| **state == JobState::Waiting);
    let waiting: Vec<&str> = waiting.map(|(job, _)| job.id.as_str()).collect();
    assert_eq!(waiting, ["m1-merge-1", "m1-merge-2"]);
}

#[test]
fn an_input_that_changes_under_a_schedule_stops_it() {
    let random = &mut Random::new(11);
    let scene = Scene::local(9, random);
    let schedule = scene.schedule(&shards(1)).unwrap();
    let key = schedule.input_blocks().next().unwrap().key.clone();
    let other = scene.location.read(&schedule.input_blocks().nth(1).unwrap().key).unwrap();
    for job in &schedule.jobs {
        scene.run(&schedule, job).unwrap();
    }
    let was = scene.location.read(&key).unwrap();
    scene.location.replace(&key, &other).unwrap();
    let refused = scene.commit(&schedule, true).unwrap_err();
    assert!(matches!(refused, ScheduleError::Stale { .. }), "{refused}");
    scene.location.delete(std::slice::from_ref(&key), &mut |_| {}).unwrap();
    let refused = scene.commit(&schedule, true).unwrap_err();
    assert!(matches!(refused, ScheduleError::Stale { .. }), "{refused}");
    scene.location.create_bytes(&key, &was).unwrap();
    scene.commit(&schedule, true).unwrap();
    scene.assert_seen("after all");
}

#[test]
fn a_schedule_whose_blocks_another_schedule_merged_is_refused() {
    let random = &mut Random::new(13);
    let scene = Scene::local(9, random);
    let schedules = [shards(1), shards(3)].map(|sizing| scene.schedule(&sizing).unwrap());
    for schedule in &schedules {
        schedule.jobs.iter().for_each(|job| _ = scene.run(schedule, job).unwrap());
    }
    scene.commit(&schedules[0], false).unwrap();
    let refused = scene.commit(&schedules[1], false).unwrap_err();
    assert!(refused.to_string().contains("it is hidden: merged"), "{refused}");
    scene.assert_seen("after both");
}

#[test]
fn a_changed_schedule_is_refused() {
    let scene = Scene::local(9, &mut Random::new(17));
    let json = scene.schedule(&shards(2)).unwrap().to_json();
    let changed = json.replacen("\"stage\": 1", "\"stage\": 2", 1);
    assert_ne!(json, changed);
    let refused = Schedule::parse(changed.as_bytes()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "not a valid schedule: the schedule was changed: its id does not match its content"
    );
    assert!(Schedule::parse(b"{}").is_err());
}

#[test]
fn a_merge_that_was_split_is_not_planned_again() {
    let scene = Scene::local(9, &mut Random::new(137));
    let schedule = scene.schedule_ranges("4h", &shards(2)).unwrap();
    assert!(!schedule.jobs.is_empty());
    scene.run_jobs(&schedule);
    scene.commit(&schedule, true).unwrap();
    for sizing in [shards(2), shards(1)] {
        assert_eq!(scene.schedule_ranges("4h", &sizing).unwrap().jobs, [], "{sizing:?}");
    }
    assert!(!scene.schedule_ranges("8h", &shards(2)).unwrap().jobs.is_empty(), "longer ranges have other blocks");
}

#[test]
fn inputs_can_be_deleted_after_the_commit() {
    let random = &mut Random::new(29);
    let scene = Scene::local(9, random);
    let schedule = scene.schedule(&shards(1)).unwrap();
    scene.run_jobs(&schedule);
    assert!(scene.commit(&schedule, false).unwrap().deleted.is_empty());
    let inputs = schedule.input_blocks().count();
    assert_eq!(scene.commit(&schedule, true).unwrap().deleted.len(), inputs);
    scene.assert_seen("after the second commit");
}

#[test]
fn a_manifest_is_used_and_never_trusted() {
    let random = &mut Random::new(19);
    let scene = Scene::local(9, random);
    let listing = Listing::read(&scene.location).unwrap();
    assert_eq!(listing.from_manifest, 0);
    Manifest::from_listing(&listing).write(&scene.location).unwrap();
    let again = Listing::read(&scene.location).unwrap();
    assert_eq!((again.from_manifest, &again.live), (9, &listing.live));
    // A block that was replaced by a shorter one, one that is gone, and one that the manifest lacks.
    let bytes = scene.location.read("0001.cx").unwrap();
    scene.location.replace("0002.cx", &bytes).unwrap();
    scene.location.delete(&["0003.cx".to_owned()], &mut |_| {}).unwrap();
    scene.location.create_bytes("new.cx", &bytes).unwrap();
    let changed = Listing::read(&scene.location).unwrap();
    let keys: Vec<&str> = changed.live.iter().map(|block| block.object.key.as_str()).collect();
    assert_eq!(changed.from_manifest, 7);
    assert_eq!(keys.len(), 7, "copies are hidden: {keys:?}");
    scene.location.replace("chronoxide-manifest.json", b"{\"crc32\":1,\"content\":{}}").unwrap();
    assert_eq!(Listing::read(&scene.location).unwrap().live, changed.live, "a damaged manifest is ignored");
}

/// The outputs of a schedule may be merged again before its inputs are deleted.
#[test]
fn inputs_are_deleted_though_their_outputs_were_merged_and_deleted() {
    for count in [1, 2] {
        let scene = Scene::local(26, &mut Random::new(31));
        let first = scene.schedule_ranges("4h", &shards(count)).unwrap();
        scene.run_jobs(&first);
        let later = CommitOptions { delete_inputs: true, grace_seconds: 3600 };
        let outputs = commit(&first, &scene.place(), later).unwrap().outputs;
        let second = scene.schedule_ranges("12h", &shards(count)).unwrap();
        scene.run_jobs(&second);
        scene.commit(&second, true).unwrap();
        assert!(outputs.iter().any(|output| !scene.keys().contains(&output.key)), "outputs are gone");
        scene.assert_seen("before clean");
        let cleaned = clean(&scene.place(), i64::MAX, 0).unwrap();
        assert!(cleaned.failed.is_empty(), "{cleaned:?}");
        assert_eq!(cleaned.inputs.len(), first.input_blocks().count());
        scene.assert_seen("after clean");
        assert!(scene.keys().iter().all(|key| !key.contains('/')), "{:?}", scene.keys());
    }
}

/// A schedule that cannot be cleaned does not keep another from being cleaned.
#[test]
fn a_schedule_that_cannot_be_cleaned_is_named() {
    let scene = Scene::local(9, &mut Random::new(37));
    let schedule = scene.schedule(&shards(1)).unwrap();
    scene.run_jobs(&schedule);
    let later = CommitOptions { delete_inputs: true, grace_seconds: 3600 };
    commit(&schedule, &scene.place(), later).unwrap();
    let other = format!("{SCHEDULES_PREFIX}{}/", "0".repeat(32));
    for name in ["schedule.json", "committed.json"] {
        scene.location.create_bytes(&format!("{other}{name}"), b"{}").unwrap();
    }
    let cleaned = clean(&scene.place(), i64::MAX, 0).unwrap();
    assert_eq!(cleaned.failed.iter().map(|(schedule, _)| schedule).collect::<Vec<_>>(), [&other]);
    assert_eq!(cleaned.inputs.len(), schedule.input_blocks().count());
    scene.assert_seen("after clean");
}

#[test]
fn a_job_whose_record_or_output_is_damaged_is_done_again() {
    let scene = Scene::local(9, &mut Random::new(41));
    let schedule = scene.schedule(&shards(2)).unwrap();
    let job = &schedule.jobs[0];
    let done = scene.run(&schedule, job).unwrap().record.unwrap();
    let record = format!("{}jobs/{}/done.json", schedule.prefix(), job.id);
    let was = scene.location.read(&record).unwrap();
    let other = scene.location.read(&format!("{}schedule.json", schedule.prefix())).unwrap();
    let output = done.outputs[0].key.clone();
    for (key, bytes) in [(&record, &b"{}"[..]), (&record, &was[..was.len() - 2]), (&record, &other), (&output, &other)]
    {
        scene.location.replace(key, bytes).unwrap();
        let again = scene.run(&schedule, job).unwrap();
        assert_eq!((again.was_done, again.record.as_ref()), (false, Some(&done)), "{key}");
        assert_eq!(scene.location.read(&record).unwrap(), was);
        assert!(scene.run(&schedule, job).unwrap().was_done);
    }
}

#[test]
fn a_foreign_block_under_the_name_of_an_output_is_not_replaced() {
    let scene = Scene::local(9, &mut Random::new(43));
    let schedule = scene.schedule(&shards(1)).unwrap();
    let records = scene.run_jobs(&schedule);
    let key = format!("{}.cx", records[0].outputs[0].id);
    let foreign = scene.location.read(&schedule.input_blocks().next().unwrap().key).unwrap();
    scene.location.create_bytes(&key, &foreign).unwrap();
    let refused = scene.commit(&schedule, true).unwrap_err();
    assert!(refused.to_string().contains("exists with different content"), "{refused}");
    assert_eq!(scene.location.read(&key).unwrap(), foreign);
    scene.assert_seen("after the commit failed");
}
