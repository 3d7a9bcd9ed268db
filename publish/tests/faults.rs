//! Every call fails, or is the last before a death, in every way: the target is old or new, and no other file remains
//! after recovery.

mod support;

use std::fs;
use std::path::Path;

use chronoxide_publish::faults::{Call, ERRORS, Effect, Fault, Faults, Outcome};
use chronoxide_publish::{Disk, Existing, PublishError, Published, Step, recover};
use chronoxide_testkit::sweep;
use support::{Differs, EIO, ENOSPC, content, content_of, publish_bytes, publish_header_last, temporaries};

/// Parameters of a case.
#[derive(Clone, Copy, Debug)]
struct Scene {
    existing: Existing,
    /// True if the target exists.
    exists: bool,
    /// True if the writer seeks back.
    header_last: bool,
}

const fn scene(existing: Existing, exists: bool, header_last: bool) -> Scene {
    Scene { existing, exists, header_last }
}

const SCENES: [Scene; 4] = [
    scene(Existing::Refuse, false, false),
    scene(Existing::Replace, false, false),
    scene(Existing::Replace, true, false),
    scene(Existing::Refuse, false, true),
];

fn publish_scene(
    system: &Faults,
    target: &Path,
    scene: Scene,
    bytes: &[u8],
) -> Result<Published, PublishError<Differs>> {
    if scene.header_last {
        publish_header_last(system, target, scene.existing, bytes)
    } else {
        publish_bytes(system, target, scene.existing, bytes)
    }
}

/// The calls of a publication that meets no fault.
fn calls_of(scene: Scene) -> Vec<Call> {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    if scene.exists {
        fs::write(&target, content(1)).expect("the old file");
    }
    let system = Faults::none();
    let published = publish_scene(&system, &target, scene, &content(2)).expect("no fault");
    assert_eq!(published.byte_len, content(2).len() as u64);
    assert_eq!(content_of(&target), Some(content(2)));
    assert!(temporaries(folder.path(), &target).is_empty());
    system.calls()
}

/// Runs one publication with one fault and judges what it leaves. Returns whether the target is new.
fn try_fault(scene: Scene, fault: Fault) -> bool {
    let (old, new) = (scene.exists.then(|| content(1)), content(2));
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    if let Some(old) = &old {
        fs::write(&target, old).expect("the old file");
    }

    let system = Faults::with(fault);
    let result = publish_scene(&system, &target, scene, &new);
    assert!(system.struck(), "{fault:?} was not reached");
    let calls = system.calls();
    let case = format!("{scene:?}, {fault:?}, {calls:?}, {result:?}");

    let found = content_of(&target);
    let is_new = found.as_deref() == Some(&new);
    assert!(is_new || found == old, "neither old nor new: {case}");
    match &result {
        Ok(_) => assert!(is_new, "success without the file: {case}"),
        Err(error) => assert!(!is_new || error.may_be_in_place(), "in place unexpectedly: {case}"),
    }
    let syncs = calls.iter().filter(|call| **call == Call::SyncFile).count();
    assert!(syncs <= 1, "fsync was tried again: {case}");

    let left = temporaries(folder.path(), &target);
    assert!(left.len() <= 1, "{left:?}: {case}");
    let created_unseen = calls[fault.at] == Call::CreateTemporary && fault.effect == Effect::Whole;
    if !created_unseen && !matches!(fault.outcome, Outcome::ErrorFromThenOn(_) | Outcome::Death) {
        assert!(left.is_empty(), "{left:?}: {case}");
    }
    let recovered = recover(&Disk, folder.path()).expect("the folder can be listed");
    assert_eq!(recovered.removed, left, "{case}");
    assert!(temporaries(folder.path(), &target).is_empty(), "{case}");
    assert_eq!(content_of(&target), found, "recovery touched the target: {case}");
    is_new
}

#[test]
fn calls_are_made_in_a_fixed_order() {
    use Call::*;
    let writes = [Write, Write, Write];
    let expect = |before: &[Call], after: &[Call]| [before, &writes, after].concat();
    let durable_then = |rename| [SyncFile, Open, rename, SyncFolder];
    let [refuse, replace_none, replace_one, header_last] = SCENES;
    assert_eq!(calls_of(refuse), expect(&[CreateTemporary], &durable_then(RenameNew)));
    assert_eq!(calls_of(replace_none), expect(&[CreateTemporary], &durable_then(RenameOver)));
    // Windows has no modes to take over.
    let taken_over: &[Call] = if cfg!(unix) { &[CreateTemporary, SetMode] } else { &[CreateTemporary] };
    assert_eq!(calls_of(replace_one), expect(taken_over, &durable_then(RenameOver)));
    // Seeking flushes the buffer: one more write for the header.
    assert_eq!(calls_of(header_last), expect(&[CreateTemporary, Write], &durable_then(RenameNew)));
}

#[test]
fn every_call_fails_with_every_error() {
    let mut cases = 0;
    for scene in SCENES {
        for (at, call) in calls_of(scene).into_iter().enumerate() {
            for effect in [Effect::Nothing, Effect::Half, Effect::Whole] {
                // Each fifth error, by turns, unless all are asked for.
                for code in sweep::by_turns(ERRORS, at, 5) {
                    for outcome in [Outcome::ErrorOnce(code), Outcome::ErrorFromThenOn(code)] {
                        let is_new = try_fault(scene, Fault { at, effect, outcome });
                        let renamed = effect == Effect::Whole && matches!(call, Call::RenameNew | Call::RenameOver);
                        assert_eq!(is_new, renamed || call == Call::SyncFolder, "{call:?}");
                        cases += 1;
                    }
                }
            }
        }
    }
    println!("{cases} failing calls");
    assert!(cases >= sweep::cases(390, 2_000), "only {cases} cases");
}

#[test]
fn every_call_is_the_last() {
    let mut cases = 0;
    for scene in SCENES {
        for at in 0..calls_of(scene).len() {
            for effect in [Effect::Nothing, Effect::Half, Effect::Whole] {
                try_fault(scene, Fault { at, effect, outcome: Outcome::Death });
                cases += 1;
            }
        }
    }
    println!("{cases} deaths");
    assert!(cases >= 100, "only {cases} cases");
}

#[test]
fn short_and_interrupted_writes_are_continued() {
    const EINTR: i32 = 4;
    let mut cases = 0;
    for scene in SCENES {
        for (at, call) in calls_of(scene).into_iter().enumerate() {
            if call == Call::Write {
                let short = Fault { at, effect: Effect::Half, outcome: Outcome::Success };
                assert!(try_fault(scene, short));
                let interrupted = Fault { at, effect: Effect::Nothing, outcome: Outcome::ErrorOnce(EINTR) };
                assert!(try_fault(scene, interrupted));
                cases += 2;
            }
        }
    }
    println!("{cases} continued writes");
    assert!(cases >= 26, "only {cases} cases");
}

#[test]
fn a_disk_that_is_full_at_any_4_kib_leaves_what_was_there() {
    let mut cases = 0;
    for scene in SCENES {
        // A header that is written last is written over zeros.
        let written = content(2).len() as u64 + if scene.header_last { 4096 } else { 0 };
        for room in sweep::by_turns((0..=written).step_by(4096), 0, 3).chain([written - 1, written]) {
            let folder = tempfile::tempdir().expect("a folder");
            let target = folder.path().join("week.cx");
            let old = scene.exists.then(|| content(1));
            if let Some(old) = &old {
                fs::write(&target, old).expect("the old file");
            }
            let system = Faults::full_after(room);
            let result = publish_scene(&system, &target, scene, &content(2));
            let case = format!("{scene:?}, room for {room} bytes: {result:?}");
            assert_eq!(system.written(), room, "{case}");
            if room == written {
                assert_eq!(content_of(&target), Some(content(2)), "{case}");
            } else {
                assert_eq!(content_of(&target), old, "{case}");
                let Err(PublishError::Io { path, step, source }) = result else { panic!("{case}") };
                assert_eq!((&path, step, source.raw_os_error()), (&target, Step::Write, Some(ENOSPC)));
            }
            assert!(temporaries(folder.path(), &target).is_empty(), "{case}");
            cases += 1;
        }
    }
    println!("{cases} full disks");
    assert!(cases >= sweep::cases(190, 590), "only {cases} cases");
}

#[test]
fn a_failed_fsync_ends_the_publication() {
    use Call::*;
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    let at = calls_of(SCENES[0]).iter().position(|call| *call == SyncFile).expect("it syncs");
    let fault = Fault { at, effect: Effect::Nothing, outcome: Outcome::ErrorOnce(EIO) };
    let system = Faults::with(fault);
    match publish_bytes(&system, &target, Existing::Refuse, &content(2)) {
        Err(PublishError::Io { step, source, .. }) => {
            assert_eq!((step, source.raw_os_error()), (Step::SyncFile, Some(EIO)));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(system.calls()[at..], [SyncFile, Unlink]);
}

#[test]
fn recovery_can_be_killed_and_run_again() {
    for at in 0..3 {
        for effect in [Effect::Nothing, Effect::Whole] {
            let folder = tempfile::tempdir().expect("a folder");
            let target = folder.path().join("week.cx");
            for number in 0..3 {
                let name = format!(".chronoxide-00000000000{number}");
                fs::write(folder.path().join(name), "stale").expect("a stale file");
            }
            let fault = Fault { at, effect, outcome: Outcome::Death };
            let killed = recover(&Faults::with(fault), folder.path()).expect("it can be listed");
            assert_eq!((killed.removed.len(), killed.left.len()), (at, 3 - at));
            let removed = at + usize::from(effect == Effect::Whole);
            assert_eq!(temporaries(folder.path(), &target).len(), 3 - removed);
            let again = recover(&Disk, folder.path()).expect("it can be listed");
            assert_eq!((again.removed.len(), again.left.len()), (3 - removed, 0));
            assert!(temporaries(folder.path(), &target).is_empty());
        }
    }
}
