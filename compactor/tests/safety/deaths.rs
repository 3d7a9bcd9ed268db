//! Every call is the last: readers see each series once, and the compaction can be run again.

use chronoxide_publish::Disk;
use chronoxide_publish::faults::{Call, Effect, Fault, Faults, Outcome};
use chronoxide_testkit::sweep;

use super::scene::{EFFECTS, Scene, scenes, wide};

#[test]
fn calls_are_made_in_a_fixed_order() {
    use Call::*;
    for scene in scenes().iter().chain([&wide()]) {
        // Temporary files of a dead writer, and the scratch file.
        let mut expected = vec![Unlink, CreateTemporary];
        if scene.name == "wide" {
            expected.push(Write);
        }
        for _ in 0..scene.outputs.len() {
            expected.extend([CreateTemporary, Write, SyncFile, Open, RenameNew, SyncFolder]);
        }
        // The scratch file goes before the inputs do.
        expected.push(Unlink);
        if scene.name != "kept" && scene.name != "one" {
            expected.extend([Unlink, Unlink, Unlink, SyncFolder]);
        }
        let mut calls = scene.calls.clone();
        calls.dedup_by(|next, call| *next == Write && *call == Write);
        assert_eq!(calls, expected, "{}", scene.name);
    }
}

fn die(scene: &Scene, at: usize, effect: Effect) {
    let (_, done, _) = scene.try_fault(Fault { at, effect, outcome: Outcome::Death });
    // Only recovery goes on without what it could not remove, and then everything else fails.
    assert!(done.is_err(), "{}: {at}", scene.name);
}

#[test]
fn every_call_is_the_last() {
    let mut cases = 0;
    for scene in scenes() {
        for at in 0..scene.calls.len() {
            EFFECTS.into_iter().for_each(|effect| die(&scene, at, effect));
            cases += EFFECTS.len();
        }
    }
    println!("{cases} deaths");
    assert!(cases >= 350, "only {cases} cases");
}

#[test]
fn every_call_is_the_last_with_much_scratch_data() {
    let scene = wide();
    let faults: Vec<_> = sweep::by_turns(scene.some_faults(), 0, 2).collect();
    println!("{} deaths", faults.len());
    faults.iter().for_each(|&(at, effect)| die(&scene, at, effect));
    assert!(faults.len() >= sweep::cases(20, 40), "only {} cases", faults.len());
}

/// The second run starts with recovery of what the first has left.
#[test]
fn every_call_is_the_last_twice() {
    let mut cases = 0;
    for scene in scenes().iter().filter(|scene| ["adopting", "cut"].contains(&scene.name)) {
        // Each second call, unless all are asked for.
        for first in sweep::by_turns(0..scene.calls.len(), 0, 2) {
            for second in 0.. {
                let folder = scene.folder();
                let effect = EFFECTS[(first + second) % 3];
                let death = |at| Faults::with(Fault { at, effect, outcome: Outcome::Death });
                scene.run(&death(first), folder.path()).unwrap_err();
                let system = death(second);
                let done = scene.run(&system, folder.path());
                let case = || format!("{first}, then {second}, {effect:?}, {:?}, {done:?}", system.calls());
                scene.judge(folder.path(), &case);
                cases += 1;
                if !system.struck() {
                    scene.judge_end(folder.path(), &case);
                    break;
                }
                scene.run(&Disk, folder.path()).unwrap();
                scene.judge_end(folder.path(), &case);
            }
        }
    }
    println!("{cases} pairs of deaths");
    assert!(cases >= sweep::cases(300, 600), "only {cases} cases");
}
