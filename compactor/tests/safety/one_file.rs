//! One output under a name that was asked for.

use std::path::Path;

use chronoxide_compactor::{
    CompactOptions, Compaction, CompactionError, NoObserver, Observer, PLANNED_SERIES, Phase, verify_block,
};
use chronoxide_format::view::BlockView;
use chronoxide_publish::faults::{Call, ERRORS, Effect, Fault, Faults, Outcome};
use chronoxide_publish::{Disk, Existing, FileSystem, is_temporary_name, recover};
use chronoxide_testkit::sweep;

use super::scene::{EFFECTS, Files, Scene, files, name_of, scenes};

const TARGET: &str = "out.cx";

/// A scene whose compaction goes to one file: a new one, or an input's.
struct OneFile {
    scene: Scene,
    target: String,
    existing: Existing,
}

impl OneFile {
    fn all() -> [Self; 3] {
        let scene = || scenes().into_iter().find(|scene| scene.name == "adopting").unwrap();
        let replaced = |input: usize| {
            let scene = scene();
            let target = name_of(&scene.inputs[input]);
            Self { scene, target, existing: Existing::Replace }
        };
        [Self { scene: scene(), target: TARGET.to_owned(), existing: Existing::Refuse }, replaced(0), replaced(2)]
    }

    fn run(&self, system: &dyn FileSystem, folder: &Path, observer: &dyn Observer) -> Result<u64, CompactionError> {
        let inputs: Vec<BlockView<'_>> =
            self.scene.inputs.iter().map(|block| BlockView::open(block).unwrap()).collect();
        let compaction = Compaction {
            system,
            inputs: &inputs,
            options: &CompactOptions::default(),
            remaps: None,
            scratch_memory: 0,
            planned_series: PLANNED_SERIES,
            observer,
        };
        let done = compaction.merge_to_file(&folder.join(&self.target), self.existing, &verify_block);
        done.map(|(_, published)| published.byte_len)
    }

    fn block(&self) -> Vec<u8> {
        // The outputs of a folder and of a file are the same block.
        self.scene.outputs.values().next().unwrap().clone()
    }

    /// All files are as they were, but for the target, which may be whole and new. Returns whether it is, and how many
    /// temporary files there are.
    fn judge(&self, folder: &Path, before: &Files, case: &dyn Fn() -> String) -> (bool, usize) {
        let mut found = files(folder);
        let all = found.len();
        found.retain(|name, _| !is_temporary_name(name));
        let temporaries = all - found.len();
        let mut after = before.clone();
        after.retain(|name, _| !is_temporary_name(name));
        let is_new = found != after;
        if is_new {
            after.insert(self.target.clone(), self.block());
            assert!(found == after, "{}", case());
        }
        (is_new, temporaries)
    }

    /// The folder is put right again, and holds the new file at the end.
    fn judge_next_run(&self, folder: &Path, before: &Files, is_new: bool, case: &dyn Fn() -> String) {
        recover(&Disk, folder).unwrap();
        if !is_new || self.existing == Existing::Replace {
            self.run(&Disk, folder, &NoObserver).unwrap();
        }
        assert_eq!(self.judge(folder, before, case), (true, 0), "{}", case());
    }
}

#[test]
fn a_file_is_old_or_new_whatever_fails() {
    let mut cases = 0;
    for one in OneFile::all() {
        let (folder, system) = (one.scene.folder(), Faults::none());
        let before = files(folder.path());
        let byte_len = one.run(&system, folder.path(), &NoObserver).unwrap();
        assert_eq!(byte_len, one.block().len() as u64);
        // Temporary files of a dead writer are removed by recovery.
        assert_eq!(one.judge(folder.path(), &before, &|| "no fault".to_owned()), (true, 1));
        let calls = system.calls();
        for (at, &call) in calls.iter().enumerate() {
            // Each fourth error, by turns, unless all are asked for.
            let errors = sweep::by_turns(ERRORS, at, 4);
            let outcomes = errors.flat_map(|code| [Outcome::ErrorOnce(code), Outcome::ErrorFromThenOn(code)]);
            let outcomes: Vec<Outcome> = outcomes.chain([Outcome::Death]).collect();
            for effect in EFFECTS {
                for &outcome in &outcomes {
                    let (folder, fault) = (one.scene.folder(), Fault { at, effect, outcome });
                    let before = files(folder.path());
                    let done = one.run(&Faults::with(fault), folder.path(), &NoObserver);
                    let case = || format!("{fault:?}, {calls:?}, {done:?}");
                    let (is_new, temporaries) = one.judge(folder.path(), &before, &case);
                    let text = done.as_ref().unwrap_err().to_string();
                    assert!(text.starts_with(folder.path().to_str().unwrap()), "{text}");
                    let unseen = call == Call::CreateTemporary && effect == Effect::Whole;
                    if matches!(outcome, Outcome::ErrorOnce(_)) && call != Call::Unlink && !unseen {
                        assert_eq!(temporaries, 1, "{}", case());
                    }
                    one.judge_next_run(folder.path(), &before, is_new, &case);
                    cases += 1;
                }
            }
        }
    }
    println!("{cases} faults");
    assert!(cases >= sweep::cases(400, 1_400), "only {cases} cases");
}

/// Stops when this phase is reached.
struct Until(Phase);

impl Observer for Until {
    fn progress(&self, phase: Phase, _done: u64, _of: u64) -> bool {
        phase < self.0
    }
}

#[test]
fn a_file_that_is_cancelled_stays_as_it_was() {
    for one in OneFile::all() {
        for phase in Phase::ALL.into_iter().filter(|phase| *phase != Phase::Remap) {
            let folder = one.scene.folder();
            let before = files(folder.path());
            let done = one.run(&Disk, folder.path(), &Until(phase));
            assert_eq!(done.unwrap_err().to_string(), "cancelled");
            assert!(files(folder.path()) == before, "{phase}");
        }
    }
}
