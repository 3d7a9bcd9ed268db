//! Forged schedules, records, manifests and folders: nothing is lost by them.

use std::fs;
use std::num::NonZeroU32;

use chronoxide_compactor::schedule::{
    CommitOptions, JobInput, Record, SCHEDULES_PREFIX, Schedule, ScheduleError, ScheduledJob, Sizing, clean, commit,
};
use chronoxide_format::identity::job_id;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, Job, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_locations::{Listing, Manifest, header_checksum, to_document};
use chronoxide_testkit::plan::{Labelset, Plan as BlockPlan, build};
use chronoxide_testkit::random::Random;
use serde_json::Value;

use crate::scene::{HOUR, Scene};

fn shards(count: u32) -> Sizing {
    Sizing { shards: NonZeroU32::new(count), ..Sizing::default() }
}

/// Returns the schedule with the id that follows from its content, as its author would state it.
fn with_id(schedule: Schedule) -> Schedule {
    let content = Schedule { id: String::new(), ..schedule };
    let id = u128::from_be_bytes(job_id(&[], &serde_json::to_string(&content).unwrap()));
    Schedule { id: format!("{id:032x}"), ..content }
}

#[test]
fn a_schedule_that_leads_out_of_its_location_is_refused() {
    let scene = Scene::local(9, &mut Random::new(23));
    let schedule = scene.schedule(&shards(2)).unwrap();
    assert_eq!(with_id(schedule.clone()), schedule);
    for key in ["../../other.cx", "/etc/passwd", "jobs/m1/1.cx", ".hidden.cx", ""] {
        let mut hostile = schedule.clone();
        hostile.jobs[0].outputs[0] = key.to_owned();
        let refused = Schedule::parse(with_id(hostile).to_json().as_bytes()).unwrap_err();
        assert_eq!(refused.to_string(), format!("not a valid schedule: {key:?} is not a key of the location"));
        let mut hostile = schedule.clone();
        let JobInput::Block(block) = &mut hostile.jobs[0].inputs[0] else { panic!("stage 1 reads blocks") };
        block.key = key.to_owned();
        assert!(Schedule::parse(with_id(hostile).to_json().as_bytes()).is_err(), "{key:?}");
    }
    let newer = schedule.to_json().replacen("\"chronoxide_schedule\": 1", "\"chronoxide_schedule\": 2", 1);
    assert_eq!(Schedule::parse(newer.as_bytes()).unwrap_err().to_string(), "version 2 of schedules is not supported");
}

/// Each change makes a schedule that would lose series, or publish some twice.
#[test]
fn a_schedule_whose_jobs_do_not_fit_together_is_refused() {
    let scene = Scene::local(9, &mut Random::new(61));
    // A merge of three blocks that is split, and others.
    let schedule = scene.schedule(&shards(2)).unwrap();
    let stage = |schedule: &Schedule, stage: u32| schedule.jobs.iter().position(|job| job.stage == stage).unwrap();
    let (split, merge) = (stage(&schedule, 1), stage(&schedule, 2));
    let other = schedule.jobs.iter().position(|job| job.merge != schedule.jobs[split].merge).unwrap();
    type Change = Box<dyn Fn(&mut Schedule)>;
    let changes: Vec<(&str, Change)> = vec![
        (
            "a parent that no job reads",
            Box::new(|schedule| {
                let id = schedule.merges[1].parents[0];
                schedule.merges[0].parents.push(id);
                schedule.merges[0].parents.sort();
            }),
        ),
        (
            "a job whose outputs no job reads",
            Box::new(move |schedule| {
                let lost = schedule.jobs[split].id.clone();
                for job in &mut schedule.jobs {
                    job.inputs.retain(|input| !matches!(input, JobInput::Output { job, .. } if *job == lost));
                }
            }),
        ),
        (
            "an output that is read twice",
            Box::new(move |schedule| {
                let twice = schedule.jobs[merge].inputs[0].clone();
                schedule.jobs[merge].inputs.push(twice);
            }),
        ),
        (
            "an output of another number",
            Box::new(move |schedule| {
                let JobInput::Output { output, .. } = &mut schedule.jobs[merge].inputs[0] else { panic!("an output") };
                *output += 1;
            }),
        ),
        (
            "a block that two jobs read",
            Box::new(move |schedule| {
                let twice = schedule.jobs[split].inputs[0].clone();
                schedule.jobs[other].inputs.push(twice);
            }),
        ),
        ("other totals", Box::new(|schedule| schedule.merges[0].totals.series += 1)),
        ("more outputs than jobs", Box::new(|schedule| schedule.merges[0].outputs = NonZeroU32::new(3).unwrap())),
        ("too many outputs", Box::new(|schedule| schedule.merges[0].outputs = NonZeroU32::MAX)),
        ("a job twice", Box::new(move |schedule| schedule.jobs.push(schedule.jobs[split].clone()))),
        ("a merge twice", Box::new(|schedule| schedule.merges.push(schedule.merges[0].clone()))),
        ("a merge that is missing", Box::new(|schedule| _ = schedule.merges.remove(0))),
        ("other numbers", Box::new(|schedule| schedule.jobs[0].index = 5)),
        ("a third stage", Box::new(|schedule| schedule.jobs.last_mut().unwrap().stage = 3)),
        ("no inputs", Box::new(move |schedule| schedule.jobs[split].inputs.clear())),
        ("an ancestor among the parents", Box::new(|schedule| schedule.merges[0].parents.clear())),
    ];
    assert!(Schedule::parse(with_id(schedule.clone()).to_json().as_bytes()).is_ok());
    for (what, change) in changes {
        let mut forged = schedule.clone();
        change(&mut forged);
        assert_ne!(forged, schedule, "{what}");
        let refused = Schedule::parse(with_id(forged).to_json().as_bytes());
        assert!(matches!(refused, Err(ScheduleError::Document { .. })), "{what}: {refused:?}");
    }
}

/// An ancestor is a block that the outputs hide.
#[test]
fn a_schedule_that_hides_another_block_is_not_committed() {
    let scene = Scene::local(9, &mut Random::new(67));
    let listing = Listing::read(&scene.location).unwrap();
    let mut schedule = scene.schedule(&shards(2)).unwrap();
    let is_input = |id| schedule.input_blocks().any(|input| input.id == id);
    let other = listing.live.iter().map(|block| block.facts.id).find(|&id| !is_input(id)).expect("a block stays");
    schedule.merges[0].ancestors = vec![other];
    let schedule = with_id(schedule);
    assert!(Schedule::parse(schedule.to_json().as_bytes()).is_ok());
    scene.run_jobs(&schedule);
    let refused = scene.commit(&schedule, true).unwrap_err();
    assert!(refused.to_string().contains("ancestors"), "{refused}");
    scene.assert_seen("after a refused commit");
}

fn labelset(value: &str) -> Labelset {
    Labelset::from([("__name__".to_owned(), "up".to_owned()), ("instance".to_owned(), value.to_owned())])
}

fn record_key(schedule: &Schedule, job: &ScheduledJob) -> String {
    format!("{}jobs/{}/done.json", schedule.prefix(), job.id)
}

#[test]
fn a_record_that_names_another_block_is_not_committed() {
    let scene = Scene::local(9, &mut Random::new(71));
    let schedule = scene.schedule(&shards(1)).unwrap();
    let records = scene.run_jobs(&schedule);
    let (job, record) = (&schedule.jobs[0], &records[0]);
    let refused = |forged: &Record, what: &str| {
        scene.location.replace(&record_key(&schedule, job), &to_document(forged).unwrap()).unwrap();
        let refused = scene.commit(&schedule, true);
        assert!(
            matches!(refused, Err(ScheduleError::Record { .. } | ScheduleError::OutputLost { .. })),
            "{what}: {refused:?}"
        );
        scene.assert_seen(what);
    };
    // The key of a sound block elsewhere.
    let mut forged = record.clone();
    forged.outputs[0].key = schedule.input_blocks().next().unwrap().key.clone();
    refused(&forged, "another key");
    let mut forged = record.clone();
    forged.inputs.pop();
    refused(&forged, "another input");
    let sound = scene.location.read(&record.outputs[0].key).unwrap();
    // A sound block in the place of the output, under its own id and checksum, with the totals of the record.
    let listing = Listing::read(&scene.location).unwrap();
    let other = &listing.live[0];
    scene.location.replace(&record.outputs[0].key, &scene.location.read(&other.object.key).unwrap()).unwrap();
    let mut forged = record.clone();
    let wanted = other.wanted();
    (forged.outputs[0].id, forged.outputs[0].bytes) = (wanted.id, wanted.byte_len);
    forged.outputs[0].header_checksum = wanted.header_checksum;
    refused(&forged, "another block");
    // Blocks with the same series, which replace nothing or something else.
    let series = crate::support::series(&sound).into_iter().collect();
    let meta = BlockView::open(&sound).unwrap().to_owned_meta().unwrap();
    let named = meta.meta().unwrap().job();
    let parents = schedule.merges[0].parents.clone();
    for (what, job, parents) in [
        ("a block without parents", None, vec![]),
        ("an output of another job", named.map(|job| Job { id: [7; 16], ..job }), parents.clone()),
        ("an output of other inputs", named, parents[1..].to_vec()),
    ] {
        let meta = BlockMeta { job, parents, ..BlockMeta::default() };
        let bytes = build(&series, &BlockPlan::default(), RowForm::BitPacked, &meta).unwrap();
        scene.location.replace(&record.outputs[0].key, &bytes).unwrap();
        let mut forged = record.clone();
        forged.outputs[0].id = BlockView::open(&bytes).unwrap().block_id();
        forged.outputs[0].bytes = bytes.len() as u64;
        forged.outputs[0].header_checksum = header_checksum(&bytes);
        refused(&forged, what);
    }
    // The job can run again after it.
    assert!(!scene.run(&schedule, job).unwrap().was_done);
    scene.commit(&schedule, true).unwrap();
    scene.assert_seen("after the commit");
}

/// Each record balances by itself.
#[test]
fn records_that_do_not_balance_with_the_schedule_are_not_committed() {
    let scene = Scene::local(9, &mut Random::new(103));
    let schedule = scene.schedule(&shards(1)).unwrap();
    let records = scene.run_jobs(&schedule);
    let mut forged = records[0].clone();
    forged.read.series += 1;
    forged.duplicates.series += 1;
    scene.location.replace(&record_key(&schedule, &schedule.jobs[0]), &to_document(&forged).unwrap()).unwrap();
    let refused = scene.commit(&schedule, true);
    assert!(matches!(refused, Err(ScheduleError::Unbalanced { .. })), "{refused:?}");
    scene.assert_seen("after a refused commit");
}

#[test]
fn an_output_that_is_damaged_after_its_job_is_made_again_before_the_commit() {
    let mut scene = Scene::local(9, &mut Random::new(73));
    scene.add(0, (0..6000).map(|number| labelset(&format!("a value that takes some room: {number:040}"))).collect());
    let schedule = scene.schedule(&shards(1)).unwrap();
    let records = scene.run_jobs(&schedule);
    let output = &records[0].outputs[0].key;
    let sound = scene.location.read(output).unwrap();
    assert!(sound.len() > 400_000, "{}", sound.len());
    let mut damaged = sound.clone();
    // Not read with header and meta section.
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    scene.location.replace(output, &damaged).unwrap();
    let keys = || scene.location.list("", false).unwrap().into_iter().map(|object| object.key).collect::<Vec<_>>();
    let before = keys();
    let refused = scene.commit(&schedule, true).unwrap_err();
    assert!(refused.to_string().ends_with("run the job again"), "{refused}");
    assert_eq!(keys(), before, "nothing is published");
    assert!(!scene.run(&schedule, &schedule.jobs[0]).unwrap().was_done);
    assert_eq!(scene.location.read(output).unwrap(), sound);
    // Damage that the listing sees, and a lost output.
    damaged.truncate(sound.len() - 1);
    for change in [Some(&damaged), None] {
        match change {
            Some(bytes) => scene.location.replace(output, bytes).unwrap(),
            None => scene.location.delete(std::slice::from_ref(output), &mut |_| {}).unwrap(),
        }
        let refused = scene.commit(&schedule, true).unwrap_err();
        assert!(refused.to_string().ends_with("missing or damaged: run job m1 again"), "{refused}");
        assert!(!scene.run(&schedule, &schedule.jobs[0]).unwrap().was_done);
    }
    scene.commit(&schedule, true).unwrap();
    scene.assert_seen("after the second commit");
}

/// Facts of a manifest are believed by readers, but nothing is deleted because of them.
#[test]
fn a_manifest_that_lies_deletes_nothing() {
    let scene = Scene::local(6, &mut Random::new(79));
    let listing = Listing::read(&scene.location).unwrap();
    Manifest::from_listing(&listing).write(&scene.location).unwrap();
    let key = "chronoxide-manifest.json";
    let document: Value = serde_json::from_slice(&scene.location.read(key).unwrap()).unwrap();
    let mut content = document["content"].clone();
    let blocks = content["blocks"].as_array_mut().unwrap();
    blocks.sort_by_key(|block| std::cmp::Reverse(block["series"].as_u64()));
    let first = blocks[0]["id"].clone();
    // All but the largest are outputs of a job that lacks another output: garbage, if it were true.
    for block in &mut blocks[1..] {
        block["job"] = serde_json::json!({ "id": "11".repeat(16), "output": 0, "output_count": 2 });
        block["parents"] = serde_json::json!([first]);
    }
    scene.location.replace(key, &to_document(&content).unwrap()).unwrap();
    assert!(Listing::read(&scene.location).unwrap().live.len() < 6, "the lie is one");
    let cleaned = clean(&scene.place(), i64::MAX, 0).unwrap();
    assert_eq!((cleaned.outputs, cleaned.inputs), (vec![], vec![]));
    scene.location.delete(&[key.to_owned()], &mut |_| {}).unwrap();
    scene.assert_seen("without the manifest");
}

#[cfg(unix)]
#[test]
fn clean_follows_no_links_and_deletes_nothing_else() {
    let scene = Scene::local(4, &mut Random::new(83));
    let victim = tempfile::tempdir().unwrap();
    fs::create_dir(victim.path().join("jobs")).unwrap();
    fs::write(victim.path().join("jobs/data.txt"), "data").unwrap();
    fs::write(victim.path().join("schedule.json"), "{}").unwrap();
    let schedules = scene.location.path(SCHEDULES_PREFIX).unwrap();
    let id = "0123456789abcdef0123456789abcdef";
    fs::create_dir(&schedules).unwrap();
    std::os::unix::fs::symlink(victim.path(), schedules.join(id)).unwrap();
    std::os::unix::fs::symlink("..", schedules.join(id.replace('0', "a"))).unwrap();
    fs::create_dir(schedules.join("notes")).unwrap();
    fs::write(schedules.join("notes/schedule.json"), "mine").unwrap();
    let before = scene.location.list("", false).unwrap();
    clean(&scene.place(), i64::MAX, 0).unwrap();
    assert_eq!(scene.location.list("", false).unwrap(), before);
    assert_eq!(fs::read_to_string(victim.path().join("jobs/data.txt")).unwrap(), "data");
    assert_eq!(fs::read_to_string(victim.path().join("schedule.json")).unwrap(), "{}");
    assert_eq!(fs::read_to_string(schedules.join("notes/schedule.json")).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn a_name_that_no_schedule_can_have_is_refused_when_the_schedule_is_made() {
    let scene = Scene::local(6, &mut Random::new(89));
    let folder = scene.location.path("").unwrap();
    fs::rename(folder.join("0001.cx"), folder.join("a\\b.cx")).unwrap();
    let refused = scene.schedule(&shards(1)).unwrap_err();
    assert!(refused.to_string().contains(r#""a\\b.cx" is not a key"#), "{refused}");
    assert!(scene.schedule(&shards(1025)).is_err(), "too many shards");
}

/// The options of a commit are lost: it keeps the inputs.
#[test]
fn a_commit_with_a_damaged_mark_is_finished() {
    let scene = Scene::local(6, &mut Random::new(97));
    let schedule = scene.schedule(&shards(1)).unwrap();
    scene.run_jobs(&schedule);
    scene.location.replace(&format!("{}commit.json", schedule.prefix()), b"{\"del").unwrap();
    let cleaned = clean(&scene.place(), i64::MAX, 0).unwrap();
    assert!(cleaned.failed.is_empty() && cleaned.inputs.is_empty(), "{cleaned:?}");
    let listing = Listing::read(&scene.location).unwrap();
    assert!(schedule.input_blocks().all(|input| listing.hidden.iter().any(|hidden| hidden.block.facts.id == input.id)));
    scene.assert_seen("after clean");
}

/// A schedule that was aborted during a commit, and made again, waits for its own commit.
#[test]
fn the_mark_of_a_commit_that_an_abort_stopped_is_taken_back() {
    let scene = Scene::local(6, &mut Random::new(101));
    let schedule = scene.schedule(&shards(1)).unwrap();
    scene.run_jobs(&schedule);
    scene.location.create_bytes(&format!("{}abort.json", schedule.prefix()), b"{}").unwrap();
    let options = CommitOptions { delete_inputs: true, grace_seconds: 0 };
    let stopped = commit(&schedule, &scene.place(), options);
    assert!(matches!(stopped, Err(ScheduleError::Aborted)), "{stopped:?}");
    chronoxide_compactor::schedule::revive(&schedule, &scene.location).unwrap();
    let keys = scene.keys();
    assert!(keys.iter().all(|key| !key.ends_with("/commit.json") && !key.ends_with("/abort.json")), "{keys:?}");
    scene.assert_seen("after the abort");
}

/// Readers reject the claim of a block to hold others with more series. A merge would inherit it.
#[test]
fn a_block_whose_claim_is_rejected_is_not_merged() {
    let scene = Scene::local(6, &mut Random::new(17));
    let mut parents: Vec<_> = Listing::read(&scene.location).unwrap().live.iter().map(|block| block.facts.id).collect();
    parents.sort_unstable();
    let time = Some(TimeRange { start: 0, end: HOUR });
    let job = Some(Job { id: [7; 16], output: 0, output_count: 1 });
    let meta = BlockMeta { job, parents, time, window: time, ..BlockMeta::default() };
    let few = scene.expected.iter().take(2).cloned().collect();
    let block = build(&few, &BlockPlan::default(), RowForm::BitPacked, &meta).unwrap();
    scene.location.create_bytes("claim.cx", &block).unwrap();
    scene.assert_seen("the claim hides nothing");

    let schedule = scene.schedule(&shards(2)).unwrap();
    let keys: Vec<&str> = schedule.input_blocks().map(|input| input.key.as_str()).collect();
    assert!(keys.contains(&"0000.cx") && !keys.contains(&"claim.cx"), "{keys:?}");
    scene.run_jobs(&schedule);
    scene.commit(&schedule, true).unwrap();
    scene.assert_seen("after the commit");
    assert!(scene.keys().contains(&"claim.cx".to_owned()));
}
