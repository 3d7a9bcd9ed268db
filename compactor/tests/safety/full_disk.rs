//! A disk that is full at any byte: nothing half-written is published, inputs stay, and the compaction can be run again
//! when there is room.

use chronoxide_testkit::sweep;

use super::errors::assert_says_why;
use super::scene::{Scene, scenes, wide};

const ENOSPC: i32 = 28;

/// Tries disks of increasing size, in steps of `step` bytes. Returns the number of disks.
fn fill(scene: &Scene, step: usize) -> usize {
    let rooms = (0..scene.written).step_by(step);
    for room in rooms.clone().chain([scene.written - 1]) {
        let (folder, done, temporaries) = scene.try_full_disk(room);
        assert_says_why(&done, folder.path(), ENOSPC);
        assert_eq!(temporaries, 0, "{}: {room} bytes", scene.name);
    }
    let (_, done, _) = scene.try_full_disk(scene.written);
    assert!(done.is_ok(), "{}: {done:?}", scene.name);
    rooms.count() + 2
}

#[test]
fn a_full_disk_ends_a_compaction_without_harm() {
    let cases: usize = scenes().iter().map(|scene| fill(scene, sweep::cases(3 * 64, 64))).sum();
    println!("{cases} full disks");
    assert!(cases >= sweep::cases(83, 250), "only {cases} cases");
}

#[test]
fn a_disk_that_is_full_at_every_4_kib_ends_a_compaction_with_much_scratch_data_without_harm() {
    let scene = wide();
    let cases = fill(&scene, sweep::cases(4 * 4096, 4096));
    println!("{cases} full disks, {} bytes", scene.written);
    assert!(cases >= sweep::cases(20, 80), "only {cases} cases");
}
