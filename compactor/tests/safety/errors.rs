//! Every call fails: the error says which file and why, inputs stay, and the compaction can be run again.

use std::error::Error;
use std::io;
use std::path::Path;

use chronoxide_planner::Layout;
use chronoxide_publish::faults::{Call, ERRORS, Effect, Fault, Outcome};
use chronoxide_testkit::sweep;

use super::scene::{Done, EFFECTS, Scene, scenes, wide, wide_as};

const EINTR: i32 = 4;

/// The error names a file of the folder, or the folder, says what could not be done with it, and has the system's error
/// at its end.
#[track_caller]
pub fn assert_says_why(done: &Done, folder: &Path, code: i32) {
    let error = done.as_ref().unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(folder.to_str().unwrap()), "{text}");
    assert!(text.contains(": cannot "), "{text}");
    let mut last: &(dyn Error + 'static) = error;
    while let Some(source) = last.source() {
        last = source;
    }
    let said = last.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
    assert_eq!(said, Some(code), "{text}: {last}");
}

fn try_error(scene: &Scene, at: usize, effect: Effect, outcome: Outcome) {
    let (folder, done, temporaries) = scene.try_fault(Fault { at, effect, outcome });
    let call = scene.calls[at];
    if at == 0 && matches!(outcome, Outcome::ErrorOnce(_)) {
        // A stale file that cannot be removed does not stop a job.
        assert!(done.is_ok(), "{done:?}");
        return;
    }
    let (Outcome::ErrorOnce(code) | Outcome::ErrorFromThenOn(code)) = outcome else { unreachable!() };
    assert_says_why(&done, folder.path(), code);
    if matches!(outcome, Outcome::ErrorOnce(_)) {
        let unseen = call == Call::CreateTemporary && effect == Effect::Whole;
        let kept = call == Call::Unlink && effect != Effect::Whole;
        assert!(temporaries == 0 || unseen || kept, "{}: {temporaries} left: {at}, {call:?}, {effect:?}", scene.name);
    }
}

#[test]
fn every_call_fails() {
    let mut cases = 0;
    for scene in scenes() {
        for at in 0..scene.calls.len() {
            for effect in EFFECTS {
                // One error, by turns, unless all are asked for.
                for code in sweep::by_turns(ERRORS, at, ERRORS.len()) {
                    for outcome in [Outcome::ErrorOnce(code), Outcome::ErrorFromThenOn(code)] {
                        try_error(&scene, at, effect, outcome);
                        cases += 1;
                    }
                }
            }
        }
    }
    println!("{cases} failing calls");
    assert!(cases >= sweep::cases(1_100, 9_400), "only {cases} cases");
}

#[test]
fn every_call_fails_with_much_scratch_data() {
    let scene = wide();
    // One or three errors each, by turns: all of them would take minutes.
    let each = sweep::cases(1, 3);
    let faults: Vec<(usize, Effect)> =
        sweep::by_turns(scene.some_faults(), 1, 2).flat_map(|fault| std::iter::repeat_n(fault, each)).collect();
    for (number, &(at, effect)) in faults.iter().enumerate() {
        let code = ERRORS[number % ERRORS.len()];
        let outcomes = [Outcome::ErrorOnce(code), Outcome::ErrorFromThenOn(code)];
        try_error(&scene, at, effect, outcomes[number / ERRORS.len() % 2]);
    }
    println!("{} failing calls", faults.len());
    assert!(faults.len() >= sweep::cases(20, 120), "only {} cases", faults.len());
}

#[test]
fn short_and_interrupted_writes_are_continued() {
    let mut cases = 0;
    let wide: Vec<Scene> = [wide(), wide_as(Layout::FixedWidth), wide_as(Layout::Factored)].into();
    for scene in scenes().iter().chain(wide.iter().take(sweep::cases(1, 3))) {
        for (at, _) in scene.calls.iter().enumerate().filter(|(_, call)| **call == Call::Write) {
            // Both by turns, unless all are asked for.
            let continued = [(Effect::Half, Outcome::Success), (Effect::Nothing, Outcome::ErrorOnce(EINTR))];
            for (effect, outcome) in sweep::by_turns(continued, at, 2) {
                let (_, done, temporaries) = scene.try_fault(Fault { at, effect, outcome });
                assert!(done.is_ok() && temporaries == 0, "{}: {at}: {done:?}", scene.name);
                cases += 1;
            }
        }
    }
    println!("{cases} continued writes");
    assert!(cases >= sweep::cases(30, 120), "only {cases} cases");
}
