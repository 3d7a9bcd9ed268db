//! Jobs with files that are there already, with inputs that are needed, and with outputs that are wrong.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use chronoxide_compactor::engine::Refused;
use chronoxide_compactor::{CompactionError, verify_block};
use chronoxide_publish::faults::{Call, Faults};
use chronoxide_publish::{Disk, PublishError};
use chronoxide_reader::BlockId;

use super::chain::{Block, Chain, ENDS, Step, key_of, names, outputs, path_of, planned, put, run_step};
use super::support::Here;

/// A folder with the originals, and the first job over three of them.
fn scene(count: u32) -> (tempfile::TempDir, Here, Vec<Block>, Step) {
    let Chain { originals, steps: [step, _] } = Chain::new([count, 1], true);
    let folder = tempfile::tempdir().unwrap();
    originals.iter().for_each(|original| put(folder.path(), original));
    let here = Here::new(&Disk, folder.path());
    (folder, here, originals, step)
}

fn named<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> BTreeSet<String> {
    blocks.into_iter().map(|(id, _)| format!("{id}.cx")).collect()
}

#[test]
fn inputs_stay_unless_they_are_to_be_deleted() {
    let (folder, here, originals, mut step) = scene(3);
    step.delete = false;
    let done = run_step(&here, &step).unwrap();
    let lens: Vec<(BlockId, u64, bool)> = done.outputs.iter().map(|it| (it.id, it.byte_len, it.found)).collect();
    let expected: Vec<_> = step.outputs.iter().map(|(id, bytes)| (*id, bytes.len() as u64, false)).collect();
    assert_eq!(lens, expected);
    assert_eq!((done.deleted.len(), done.absent.len()), (0, 0));
    assert_eq!(names(folder.path()), named(originals.iter().chain(&step.outputs)));

    // Run again, and to the end: what is there is taken, made durable, and the oldest input goes first.
    step.delete = true;
    let system = Faults::none();
    let done = run_step(&Here::new(&system, folder.path()), &step).unwrap();
    assert!(done.outputs.iter().all(|output| output.found));
    let oldest_first: Vec<_> = originals[..3].iter().map(|(id, _)| key_of(*id)).collect();
    assert_eq!(done.deleted, oldest_first);
    use Call::*;
    // The id is known when all bytes were written.
    let written: &[Call] = &[CreateTemporary, Write, Write, Unlink];
    let durable: &[Call] = if cfg!(unix) { &[Open, SyncFile, SyncFolder] } else { &[Open, SyncFolder] };
    let taken: &[Call] = &[written, durable].concat();
    let deleted: &[Call] = &[Unlink, Unlink, Unlink, SyncFolder];
    assert_eq!(system.calls(), [taken, taken, taken, deleted].concat());
    assert_eq!(names(folder.path()), named(originals[3..].iter().chain(&step.outputs)));

    let done = run_step(&here, &step).unwrap();
    let absent: BTreeSet<BlockId> = done.absent.into_iter().collect();
    assert_eq!((done.deleted.len(), absent), (0, step.inputs.iter().copied().collect()));
}

#[test]
fn a_file_with_the_name_of_an_output_is_left_alone_if_it_is_something_else() {
    let (folder, here, originals, step) = scene(3);
    let second = path_of(folder.path(), step.outputs[1].0);
    let mut flipped = step.outputs[1].1.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let cut = &step.outputs[1].1[..100];
    for other in [&b""[..], b"text", cut, &flipped, &originals[0].1] {
        fs::write(&second, other).unwrap();
        let error = run_step(&here, &step).unwrap_err();
        let CompactionError::Occupied { object, source } = &error else { panic!("{error:?}") };
        assert_eq!(object, second.to_str().unwrap());
        let other_block = other == originals[0].1;
        assert_eq!(matches!(source, Refused::OtherBlock { .. }), other_block, "{source:?}");
        assert_eq!(fs::read(&second).unwrap(), other);
        assert!(step.inputs.iter().all(|id| path_of(folder.path(), *id).exists()));
    }
    fs::remove_file(&second).unwrap();
    run_step(&here, &step).unwrap();
}

#[test]
fn an_output_that_is_not_what_was_planned_is_not_published() {
    let (folder, here, originals, step) = scene(3);
    let refused = |outputs: Vec<Block>, wrong: fn(&Refused) -> bool| {
        match here.publish(&verify_block, outputs.iter().map(planned), Some(&step.inputs)).unwrap_err() {
            CompactionError::Publish(PublishError::Unverified { source, .. }) => assert!(wrong(&source), "{source:?}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(names(folder.path()), named(&originals));
    };
    let [first, second, ..] = &step.outputs[..] else { unreachable!() };
    refused(vec![(first.0, second.1.clone())], |it| matches!(it, Refused::OtherBlock { .. }));
    refused(vec![second.clone()], |it| matches!(it, Refused::OtherJob { output: 0 }));
    let mut damaged = first.clone();
    damaged.1[200] ^= 4;
    refused(vec![damaged], |it| matches!(it, Refused::Open(_)));
    // An original is the output of no job.
    fs::remove_file(path_of(folder.path(), originals[3].0)).unwrap();
    let none = here.publish(&verify_block, [planned(&originals[3])], None).unwrap_err();
    assert!(
        matches!(
            none,
            CompactionError::Publish(PublishError::Unverified { source: Refused::OtherJob { output: 0 }, .. })
        ),
        "{none:?}"
    );
    put(folder.path(), &originals[3]);
    let mut longer = planned(first);
    longer.byte_len = Some(1);
    let error = here.publish(&verify_block, [longer], None).unwrap_err();
    let CompactionError::Publish(PublishError::Unverified { source, .. }) = error else { panic!("{error:?}") };
    assert_eq!(source.to_string(), format!("it has {} bytes, not 1", first.1.len()));
}

#[test]
fn two_outputs_of_three_delete_nothing() {
    let (folder, here, originals, step) = scene(3);
    let error = here.publish(&verify_block, step.outputs[..2].iter().map(planned), Some(&step.inputs)).unwrap_err();
    assert_eq!(error.to_string(), "2 of 3 outputs were published");
    let error = here.publish(&verify_block, [], Some(&step.inputs)).unwrap_err();
    assert_eq!(error.to_string(), "0 of 1 outputs were published");
    assert_eq!(names(folder.path()), named(originals.iter().chain(&step.outputs[..2])));
}

#[test]
fn what_the_job_did_not_merge_is_not_deleted() {
    let (folder, here, originals, mut step) = scene(1);
    step.inputs.push(originals[3].0);
    let error = run_step(&here, &step).unwrap_err();
    let CompactionError::StillNeeded { object, id } = error else { panic!("{error:?}") };
    assert_eq!((Path::new(&object), id), (&*path_of(folder.path(), originals[3].0), originals[3].0));
    assert_eq!(names(folder.path()), named(originals.iter().chain(&step.outputs)));
}

#[test]
fn an_output_among_the_inputs_is_not_deleted() {
    let (folder, here, originals, mut step) = scene(1);
    step.inputs.push(step.outputs[0].0);
    let done = run_step(&here, &step).unwrap();
    assert_eq!((done.deleted.len(), done.absent.len()), (3, 0));
    assert_eq!(names(folder.path()), named([&originals[3], &step.outputs[0]]));
}

/// One of three outputs was merged with another block, and what all three were made of is still there.
#[test]
fn a_part_is_not_deleted_before_the_whole() {
    let (folder, here, originals, mut step) = scene(3);
    step.delete = false;
    run_step(&here, &step).unwrap();
    let part = [step.outputs[0].clone(), originals[3].clone()];
    let inputs = part.each_ref().map(|(id, _)| *id).to_vec();
    let mut merge = Step { inputs, outputs: outputs(&part, 1, ENDS[4]), delete: true };
    let error = run_step(&here, &merge).unwrap_err();
    assert!(matches!(error, CompactionError::StillNeeded { .. }), "{error:?}");
    assert!(merge.inputs.iter().all(|id| path_of(folder.path(), *id).exists()));
    merge.inputs.extend(&step.inputs);
    let done = run_step(&here, &merge).unwrap();
    assert_eq!(done.deleted.len(), 5);
    assert_eq!(names(folder.path()), named(step.outputs[1..].iter().chain(&merge.outputs)));
}

#[test]
fn outputs_are_verified_once_more_before_inputs_are_deleted() {
    let (folder, here, originals, step) = scene(3);
    let verified = Cell::new(0);
    let verify = |path: &Path| {
        verified.set(verified.get() + 1);
        if verified.get() == 5 {
            let mut bytes = fs::read(path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(path, bytes).unwrap();
        }
        verify_block(path)
    };
    let error = here.publish(&verify, step.outputs.iter().map(planned), Some(&step.inputs)).unwrap_err();
    let CompactionError::Unverified { object, .. } = error else { panic!("{error:?}") };
    assert_eq!(Path::new(&object), path_of(folder.path(), step.outputs[1].0));
    assert_eq!(names(folder.path()), named(originals.iter().chain(&step.outputs)));
}
