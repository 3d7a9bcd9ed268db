//! A compaction that is cancelled at any time it asks.

use std::collections::BTreeSet;
use std::sync::Mutex;

use chronoxide_compactor::{CompactError, CompactionError, Observer, Phase};
use chronoxide_publish::Disk;

use super::scene::{scenes, wide};

/// Cancels after this number of calls.
struct CancelAfter {
    left: Mutex<usize>,
    seen: Mutex<Vec<(Phase, u64, u64)>>,
}

impl CancelAfter {
    fn new(times: usize) -> Self {
        Self { left: Mutex::new(times), seen: Mutex::default() }
    }
}

impl Observer for CancelAfter {
    fn progress(&self, phase: Phase, done: u64, of: u64) -> bool {
        self.seen.lock().unwrap().push((phase, done, of));
        let mut left = self.left.lock().unwrap();
        let progress = *left > 0;
        *left = left.saturating_sub(1);
        progress
    }
}

#[test]
fn a_cancelled_compaction_leaves_inputs_and_whole_outputs_only() {
    let mut cases = 0;
    for scene in scenes().iter().chain([&wide()]) {
        let watched = CancelAfter::new(usize::MAX);
        scene.run_watched(&Disk, scene.folder().path(), &watched).unwrap();
        let asked = watched.seen.into_inner().unwrap();
        let phases: BTreeSet<Phase> = asked.iter().map(|(phase, ..)| *phase).collect();
        // No remaps are wanted.
        let expected: BTreeSet<Phase> = Phase::ALL.into_iter().filter(|phase| *phase != Phase::Remap).collect();
        assert_eq!(phases, expected, "{}", scene.name);
        assert!(asked.iter().all(|(_, done, of)| done <= of), "{asked:?}");
        for times in 0..asked.len() {
            let folder = scene.folder();
            let observer = CancelAfter::new(times);
            let done = scene.run_watched(&Disk, folder.path(), &observer);
            let case = || format!("{times} of {}: {done:?}", asked.len());
            assert!(
                matches!(&done, Err(CompactionError::Compact(CompactError::Cancelled))),
                "{}: {}",
                scene.name,
                case()
            );
            assert_eq!(observer.seen.lock().unwrap()[..], asked[..=times], "it is not asked again");
            assert_eq!(scene.judge(folder.path(), &case), 0, "temporary files: {}", case());
            // The outputs that were written before it was cancelled: the judge has seen that they are whole.
            let written = asked[..times].iter().filter(|(phase, ..)| *phase == Phase::Write).count();
            let blocks = super::scene::files(folder.path()).len();
            assert_eq!(blocks, scene.inputs.len() + 1 + written, "{}: {}", scene.name, case());
            scene.run(&Disk, folder.path()).unwrap();
            scene.judge_end(folder.path(), &case);
            cases += 1;
        }
    }
    println!("{cases} cancellations");
    assert!(cases >= 80, "only {cases} cases");
}
