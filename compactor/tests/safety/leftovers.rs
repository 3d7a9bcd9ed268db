//! Leftovers of other runs: a killed compaction's inputs deleted by the next one, and shards that were made one by one.

use std::num::NonZeroU32;

use chronoxide_compactor::engine::Unproven;
use chronoxide_compactor::{CompactOptions, NoObserver, Shards};
use chronoxide_format::shard::Shard;
use chronoxide_publish::Disk;
use chronoxide_publish::faults::{Call, Fault, Faults, Outcome};

use super::scene::{EFFECTS, Scene, files, scenes};

fn scene(name: &str) -> Scene {
    scenes().into_iter().find(|scene| scene.name == name).unwrap()
}

fn death(at: usize, effect: usize) -> Faults {
    Faults::with(Fault { at, effect: EFFECTS[effect % 3], outcome: Outcome::Death })
}

#[test]
fn the_next_run_deletes_what_a_dead_one_has_merged_and_nothing_else() {
    let (mut cases, mut complete, mut kept) = (0, 0, 0);
    for name in ["adopting", "replanned", "cut", "shards", "empty"] {
        let scene = scene(name);
        for at in 0..scene.calls.len() {
            let folder = scene.folder();
            let done = scene.run(&death(at, at), folder.path());
            let was_after = scene.is_after(folder.path());
            let before = files(folder.path());
            let deleted = scene.clean(&Disk, folder.path());
            let case = || format!("{at}, {done:?}, {deleted:?}");
            assert_eq!(scene.judge(folder.path(), &case), 0, "temporary files: {}", case());
            let leftovers = deleted.as_ref().unwrap();
            assert!(leftovers.unreadable.is_empty(), "{}", case());
            let deleted = &leftovers.keys;
            assert_eq!(scene.is_after(folder.path()), was_after, "{}", case());
            // A job that dropped series cannot be proved to hold its inputs, except for an input that had none of them.
            // Running the same job again deletes them.
            let is_kept = scene.options.leaves_out();
            let is_held = |key: &String| scene.has_after(&before[key]);
            let reasons: Vec<&Unproven> = leftovers.kept.iter().map(|kept| &kept.reason).collect();
            match (&reasons[..], was_after) {
                ([], true) if !is_kept || deleted.iter().all(is_held) => {
                    scene.judge_end(folder.path(), &case);
                    complete += 1;
                }
                ([Unproven::Missing { series: 1.. }], true) if is_kept => {
                    assert_eq!(deleted.len(), 0, "{}", case());
                    kept += 1;
                }
                ([], false) => assert_eq!(deleted.len(), 0, "{}", case()),
                _ => panic!("{}", case()),
            }
            scene.run(&Disk, folder.path()).unwrap();
            scene.judge_end(folder.path(), &case);
            cases += 1;
        }
    }
    println!(
        "{cases} deaths, {} after all outputs were there, {kept} of these kept inputs without proof",
        complete + kept
    );
    assert!(cases >= 100 && complete + kept >= 25 && kept >= 4, "only {cases} cases, {complete} complete, {kept} kept");
}

#[test]
fn deleting_what_was_merged_can_be_killed_and_run_again() {
    let mut cases = 0;
    for name in ["adopting", "cut", "empty"] {
        let scene = scene(name);
        assert_eq!(scene.calls[scene.calls.len() - 4..], [Call::Unlink, Call::Unlink, Call::Unlink, Call::SyncFolder]);
        for effect in 0..3 {
            for second in 0.. {
                let folder = scene.folder();
                scene.run(&death(scene.calls.len() - 4, 0), folder.path()).unwrap_err();
                let system = death(second, effect);
                let cleaned = scene.clean(&system, folder.path());
                let case = || format!("{second}, {effect}, {:?}, {cleaned:?}", system.calls());
                scene.judge(folder.path(), &case);
                assert!(scene.is_after(folder.path()), "{}", case());
                assert_eq!(system.struck(), cleaned.is_err(), "{}", case());
                scene.clean(&Disk, folder.path()).unwrap();
                scene.judge_end(folder.path(), &case);
                cases += 1;
                if !system.struck() {
                    break;
                }
            }
        }
    }
    println!("{cases} killed deletions");
    assert!(cases >= 45, "only {cases} cases");
}

/// Runs as on several machines with one folder; any of them can die.
#[test]
fn shards_made_one_by_one_are_the_job() {
    let scene = scene("shards");
    let count = NonZeroU32::new(3).unwrap();
    let mut cases = 0;
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        for at in 0.. {
            let folder = scene.folder();
            let only = |number: usize| {
                let shards = Shards { only: Shard::all(count).nth(number), ..scene.options.shards.clone().unwrap() };
                CompactOptions { shards: Some(shards), ..scene.options.clone() }
            };
            let case = || format!("{order:?}, {at}");
            for number in &order[..2] {
                let (summary, done) = scene.run_as(&only(*number), &Disk, folder.path(), &NoObserver).unwrap();
                assert_eq!((summary.outputs, done.outputs.len(), done.deleted.len()), (1, 1, 0));
                assert_eq!(scene.judge(folder.path(), &case), 0);
                assert!(!scene.is_after(folder.path()), "{}", case());
            }
            let system = death(at, at / 2);
            let done = scene.run_as(&only(order[2]), &system, folder.path(), &NoObserver);
            scene.judge(folder.path(), &case);
            if done.is_ok() {
                assert!(scene.is_after(folder.path()), "{}", case());
            }
            // Who knows that all of them are there can delete what they were made of: that is the whole job.
            let (_, whole) = scene.run(&Disk, folder.path()).unwrap();
            let found = whole.outputs.iter().filter(|output| output.found).count();
            assert!(found == 3 || done.is_err() && found == 2, "{}: {found}", case());
            scene.judge_end(folder.path(), &case);
            cases += 1;
            if done.is_ok() {
                assert!(!system.struck());
                break;
            }
        }
    }
    println!("{cases} shards that died");
    assert!(cases >= 25, "only {cases} cases");
}
