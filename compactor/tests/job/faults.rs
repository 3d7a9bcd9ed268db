//! Every call fails, or is the last: readers see each series once, and the jobs can be run again.

use chronoxide_publish::faults::{Call, ERRORS, Effect, Fault, Faults, Outcome};
use chronoxide_publish::{Disk, is_temporary_name};
use chronoxide_testkit::sweep;

use super::chain::{Chain, names};

/// Outputs of both jobs, and whether the first deletes its inputs.
const SCENES: [([u32; 2], bool); 5] = [([1, 1], true), ([3, 3], true), ([3, 1], true), ([1, 3], true), ([3, 3], false)];
const EFFECTS: [Effect; 3] = [Effect::Nothing, Effect::Half, Effect::Whole];

fn calls_of(chain: &Chain) -> Vec<Call> {
    let folder = chain.folder();
    let system = Faults::none();
    chain.run(&system, folder.path()).unwrap();
    chain.judge_end(folder.path(), &|| "no fault".to_owned());
    system.calls()
}

/// Runs the chain with one fault, judges, and runs it again to the end. Returns whether the first run got there.
fn try_fault(chain: &Chain, fault: Fault) -> bool {
    let folder = chain.folder();
    let system = Faults::with(fault);
    let result = chain.run(&system, folder.path());
    let case = || format!("{fault:?}, {:?}, {result:?}", system.calls());
    assert!(system.struck(), "not reached: {}", case());
    chain.judge(folder.path(), &case);
    chain.run(&Disk, folder.path()).unwrap();
    chain.judge_end(folder.path(), &case);
    result.is_ok()
}

#[test]
fn calls_are_made_in_a_fixed_order() {
    use Call::*;
    let publish = [CreateTemporary, Write, Write, SyncFile, Open, RenameNew, SyncFolder];
    let unlinks = |count: usize| [vec![Unlink; count], vec![SyncFolder]].concat();
    let stale = [Unlink];
    let chain = Chain::new([3, 1], true);
    let expected = [&stale[..], &publish, &publish, &publish, &unlinks(3), &publish, &unlinks(4)].concat();
    assert_eq!(calls_of(&chain), expected);
}

#[test]
fn every_call_is_the_last() {
    let mut cases = 0;
    for (counts, first_deletes) in SCENES {
        let chain = Chain::new(counts, first_deletes);
        for at in 0..calls_of(&chain).len() {
            for effect in EFFECTS {
                let ended = try_fault(&chain, Fault { at, effect, outcome: Outcome::Death });
                // Only recovery goes on without what it could not remove, and then everything else fails.
                assert!(!ended);
                cases += 1;
            }
        }
    }
    println!("{cases} deaths");
    assert!(cases >= 550, "only {cases} cases");
}

#[test]
fn every_call_is_the_last_twice() {
    let mut cases = 0;
    for (scene, (counts, first_deletes)) in SCENES.into_iter().enumerate() {
        let chain = Chain::new(counts, first_deletes);
        // Each third call, by turns, unless all are asked for.
        for first in sweep::by_turns(0..calls_of(&chain).len(), scene, 3) {
            // The second run starts with recovery, and may need more calls or fewer than the first.
            for second in 0.. {
                let folder = chain.folder();
                let effect = EFFECTS[(first + second) % 3];
                let death = |at| Faults::with(Fault { at, effect, outcome: Outcome::Death });
                chain.run(&death(first), folder.path()).unwrap_err();
                let system = death(second);
                let result = chain.run(&system, folder.path());
                let case = || format!("{first}, then {second}, {effect:?}, {:?}, {result:?}", system.calls());
                chain.judge(folder.path(), &case);
                cases += 1;
                if !system.struck() {
                    chain.judge_end(folder.path(), &case);
                    break;
                }
                chain.run(&Disk, folder.path()).unwrap();
                chain.judge_end(folder.path(), &case);
            }
        }
    }
    println!("{cases} pairs of deaths");
    assert!(cases >= sweep::cases(1_900, 6_000), "only {cases} cases");
}

#[test]
fn every_call_fails() {
    let mut cases = 0;
    for (counts, first_deletes) in SCENES {
        let chain = Chain::new(counts, first_deletes);
        for at in 0..calls_of(&chain).len() {
            for effect in EFFECTS {
                // Each fourth error, by turns, unless all are asked for.
                for code in sweep::by_turns(ERRORS, at, 4) {
                    for outcome in [Outcome::ErrorOnce(code), Outcome::ErrorFromThenOn(code)] {
                        let ended = try_fault(&chain, Fault { at, effect, outcome });
                        // A stale file that cannot be removed does not stop a job.
                        let only_recovery = at == 0 && matches!(outcome, Outcome::ErrorOnce(_));
                        assert_eq!(ended, only_recovery, "{at} {effect:?} {outcome:?}");
                        cases += 1;
                    }
                }
            }
        }
    }
    println!("{cases} failing calls");
    assert!(cases >= sweep::cases(2_900, 11_700), "only {cases} cases");
}

#[test]
fn short_and_interrupted_writes_are_continued() {
    let mut cases = 0;
    for (counts, first_deletes) in SCENES {
        let chain = Chain::new(counts, first_deletes);
        for (at, call) in calls_of(&chain).into_iter().enumerate() {
            if call == Call::Write {
                assert!(try_fault(&chain, Fault { at, effect: Effect::Half, outcome: Outcome::Success }));
                assert!(try_fault(&chain, Fault { at, effect: Effect::Nothing, outcome: Outcome::ErrorOnce(4) }));
                cases += 2;
            }
        }
    }
    println!("{cases} continued writes");
    assert!(cases >= 88, "only {cases} cases");
}

#[test]
fn a_full_disk_ends_a_job_without_harm() {
    let mut cases = 0;
    for (counts, first_deletes) in SCENES {
        let chain = Chain::new(counts, first_deletes);
        let whole = Faults::none();
        chain.run(&whole, chain.folder().path()).unwrap();
        for room in (0..whole.written()).step_by(56) {
            let (folder, system) = (chain.folder(), Faults::full_after(room));
            let result = chain.run(&system, folder.path());
            let case = || format!("room for {room} bytes, {:?}, {result:?}", system.calls());
            assert!(result.as_ref().is_err_and(|error| error.contains(": cannot write")), "{}", case());
            chain.judge(folder.path(), &case);
            assert!(!names(folder.path()).iter().any(|name| is_temporary_name(name)), "{}", case());
            chain.run(&Disk, folder.path()).unwrap();
            chain.judge_end(folder.path(), &case);
            cases += 1;
        }
    }
    println!("{cases} full disks");
    assert!(cases >= 220, "only {cases} cases");
}
