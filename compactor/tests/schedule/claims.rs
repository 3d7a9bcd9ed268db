//! Blocks and manifests that say what is not so: a proof of content, or the block itself, decides.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use chronoxide_compactor::CompactOptions;
use chronoxide_compactor::engine::Unproven;
use chronoxide_compactor::schedule::{
    CommitOptions, SCHEDULES_PREFIX, ScheduleError, ScheduleOptions, Sizing, clean, commit, make_checked,
};
use chronoxide_compactor::strategy::StrategyOptions;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, Job};
use chronoxide_format::write::BlockMeta;
use chronoxide_locations::{Listing, Manifest, to_document};
use chronoxide_reader::BlockId;
use chronoxide_reader::lineage::Reason;
use chronoxide_testkit::plan::{Labelset, Plan as BlockPlan, build};
use chronoxide_testkit::random::Random;
use serde_json::Value;

use crate::scene::Scene;

fn shards(count: u32) -> Sizing {
    Sizing { shards: NonZeroU32::new(count), ..Sizing::default() }
}

fn series(numbers: std::ops::Range<usize>) -> BTreeSet<Labelset> {
    let labels = |number| [("__name__", "up".to_owned()), ("pod", format!("{number}"))];
    let owned = |labels: [(&str, String); 2]| labels.map(|(name, value)| (name.to_owned(), value)).into();
    numbers.map(labels).map(owned).collect()
}

/// Writes a block that is an output of a job which made it of these parents.
fn write(
    scene: &Scene,
    key: &str,
    numbers: std::ops::Range<usize>,
    job: (u8, u32, u32),
    parents: &[BlockId],
) -> BlockId {
    let (id, output, output_count) = job;
    let job = Some(Job { id: [id; 16], output, output_count });
    let meta = BlockMeta { job, parents: parents.to_vec(), ..BlockMeta::default() };
    let bytes = build(&series(numbers), &BlockPlan::default(), RowForm::BitPacked, &meta).unwrap();
    scene.location.create_bytes(key, &bytes).unwrap();
    BlockView::open(&bytes).unwrap().block_id()
}

/// A merged block whose parents are gone. One forged block claims the parents, and one the place of the merged block in
/// its job, so that the block counts as an output of an unfinished job whose parents were merged elsewhere.
#[test]
fn a_pending_output_is_kept_if_its_parents_are_only_claimed() {
    let scene = Scene::local(1, &mut Random::new(3));
    let gone = [BlockId([1; 16]), BlockId([2; 16])];
    write(&scene, "merged.cx", 0..30, (1, 0, 1), &gone);
    write(&scene, "holder.cx", 100..130, (2, 0, 1), &gone);
    write(&scene, "double.cx", 200..201, (1, 0, 1), &gone);
    let listing = Listing::read(&scene.location).unwrap();
    let hidden: Vec<&str> = listing.hidden.iter().map(|hidden| hidden.block.object.key.as_str()).collect();
    assert!(hidden.contains(&"merged.cx"), "{hidden:?}");
    let cleaned = clean(&scene.place(), i64::MAX, 0).unwrap();
    assert_eq!((cleaned.outputs, cleaned.failed.len()), (vec![], 0));
    let [kept] = &cleaned.unproved[..] else { panic!("{:?}", cleaned.unproved) };
    assert!(matches!(kept.reason, Unproven::Missing { series: 31 }), "{kept:?}");
    assert_eq!(kept.holders, ["holder.cx"]);
    assert!(scene.keys().contains(&"merged.cx".to_owned()));
}

#[test]
fn a_pending_output_is_deleted_once_its_parents_are_found_to_hold_it() {
    let scene = Scene::local(0, &mut Random::new(3));
    let parents = [write(&scene, "a.cx", 0..10, (8, 0, 1), &[]), write(&scene, "b.cx", 5..20, (9, 0, 1), &[])];
    let mut sorted = parents.to_vec();
    sorted.sort();
    write(&scene, "half.cx", 0..15, (1, 0, 2), &sorted);
    // One series of this one is in neither parent.
    write(&scene, "other.cx", 10..21, (2, 1, 3), &sorted);
    let cleaned = clean(&scene.place(), i64::MAX, 0).unwrap();
    assert_eq!(cleaned.outputs, ["half.cx"]);
    let [kept] = &cleaned.unproved[..] else { panic!("{:?}", cleaned.unproved) };
    assert!(matches!(kept.reason, Unproven::Missing { series: 1 }), "{kept:?}");
    assert_eq!(scene.keys().len(), 3, "{:?}", scene.keys());
}

#[test]
fn an_output_that_was_renamed_does_not_stop_clean() {
    let scene = Scene::local(9, &mut Random::new(5));
    let schedule = scene.schedule(&shards(1)).unwrap();
    scene.run_jobs(&schedule);
    let options = CommitOptions { delete_inputs: true, grace_seconds: 3600 };
    let outputs = commit(&schedule, &scene.place(), options).unwrap().outputs;
    for (number, output) in outputs.iter().enumerate() {
        let bytes = scene.location.read(&output.key).unwrap();
        scene.location.create_bytes(&format!("renamed-{number}.cx"), &bytes).unwrap();
    }
    let keys: Vec<String> = outputs.iter().map(|output| output.key.clone()).collect();
    scene.location.delete(&keys, &mut |_| {}).unwrap();
    let cleaned = clean(&scene.place(), i64::MAX, 0).unwrap();
    assert!(cleaned.failed.is_empty() && cleaned.unproved.is_empty(), "{cleaned:?}");
    assert_eq!(cleaned.inputs.len(), schedule.input_blocks().count());
    scene.assert_seen("after clean");
    assert!(scene.keys().iter().all(|key| !key.starts_with(SCHEDULES_PREFIX)));
}

/// An attacker knows which output a compaction will write, and claims it beforehand.
#[test]
fn an_output_that_another_block_claims_already_is_not_published() {
    let scene = Scene::local(6, &mut Random::new(7));
    let schedule = scene.schedule(&shards(1)).unwrap();
    let records = scene.run_jobs(&schedule);
    let output = &records[0].outputs[0];
    let count = output.totals.series as usize;
    write(&scene, "claim.cx", 1000..1000 + count, (7, 0, 1), &[output.id]);
    let refused = scene.commit(&schedule, true).unwrap_err();
    assert!(matches!(&refused, ScheduleError::Claimed { holder, .. } if holder.ends_with("claim.cx")), "{refused}");
    scene.location.delete(&["claim.cx".to_owned()], &mut |_| {}).unwrap();
    scene.assert_seen("after the commit was refused");
    scene.commit(&schedule, true).unwrap();
    scene.assert_seen("after the commit");
}

#[test]
fn a_schedule_says_what_blocks_state_whatever_the_manifest_says() {
    let scene = Scene::local(6, &mut Random::new(11));
    let listing = Listing::read(&scene.location).unwrap();
    let honest = scene.schedule(&shards(1)).unwrap();
    let key = "chronoxide-manifest.json";
    for field in ["series", "header_checksum", "id", "parents", "counts"] {
        Manifest::from_listing(&listing).write(&scene.location).unwrap();
        let document: Value = serde_json::from_slice(&scene.location.read(key).unwrap()).unwrap();
        let mut content = document["content"].clone();
        let block = &mut content["blocks"].as_array_mut().unwrap()[1];
        let id = block["id"].as_str().unwrap();
        let other = if id.ends_with('0') { "1" } else { "0" };
        block[field] = match field {
            "id" => format!("{}{other}", &id[..id.len() - 1]).into(),
            "parents" => vec![block["id"].clone()].into(),
            "counts" => {
                serde_json::json!({ "symbols": 1, "arena_len": 1, "values": 1, "inner_rows": 0, "inner_codes": 0,
                "inner_labels": 0, "lists": 0, "member_bytes": 0, "codes": 0, "largest_keyset": 0, "largest_width": 0,
                "metric_bytes": 0 })
            }
            _ => (block[field].as_u64().unwrap() + 1).into(),
        };
        scene.location.replace(key, &to_document(&content).unwrap()).unwrap();
        let mut listing = Listing::read(&scene.location).unwrap();
        assert!(listing.from_manifest > 0, "{field}");
        let options = ScheduleOptions::new(&CompactOptions::default(), "__name__");
        let strategy = StrategyOptions { ranges: "4h,12h".parse().unwrap(), ..StrategyOptions::default() };
        let (schedule, contradicted) =
            make_checked(&scene.location, &mut listing, &options, &strategy, &shards(1)).unwrap();
        assert_eq!(contradicted, ["0001.cx"], "{field}");
        assert_eq!(schedule.merges, honest.merges, "{field}");
    }
}

/// The holder of a claim is itself hidden by another claim: only live blocks prove anything.
#[test]
fn a_hidden_holder_proves_nothing() {
    let scene = Scene::local(0, &mut Random::new(3));
    let a = write(&scene, "a.cx", 0..10, (8, 0, 1), &[]);
    let merged = write(&scene, "merged.cx", 0..10, (1, 0, 1), &[a]);
    write(&scene, "claim.cx", 50..60, (2, 0, 1), &[merged]);
    let listing = Listing::read(&scene.location).unwrap();
    assert!(listing.hidden.iter().all(|hidden| matches!(hidden.reason, Reason::Merged { .. })));
    assert_eq!(listing.hidden.len(), 2);
    write(&scene, "half.cx", 0..5, (3, 0, 2), &[a]);
    let cleaned = clean(&scene.place(), i64::MAX, 0).unwrap();
    assert_eq!(cleaned.outputs, Vec::<String>::new());
    let [kept] = &cleaned.unproved[..] else { panic!("{:?}", cleaned.unproved) };
    assert_eq!(kept.holders, ["claim.cx"]);
    assert!(matches!(kept.reason, Unproven::Missing { series: 5 }), "{kept:?}");
}
