//! Recovery removes the files of dead writers, and no other files.
//!
//! On systems where a lock prevents reading, recovery removes nothing.
#![cfg(unix)]

mod support;

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use chronoxide_publish::{Disk, Existing, recover};
use support::{Rigged, content, content_of, publish_bytes, temporaries};

/// Recovery may come between the creation of a file and its lock.
#[test]
fn a_writer_whose_new_file_was_taken_for_a_stale_one_takes_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    let (parent, created) = (folder.path().to_path_buf(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&created);
    let held = Mutex::new(Vec::new());
    let system = Rigged {
        created: Box::new(move |path| {
            match count.fetch_add(1, Ordering::Relaxed) {
                // The other recovery has finished.
                0 => assert_eq!(recover(&Disk, &parent).expect("a folder").removed.len(), 1),
                // The other recovery has the lock and is about to remove the file.
                1 => {
                    let file = fs::File::open(path).expect("it was created");
                    file.lock().expect("the lock is free");
                    held.lock().expect("nothing panicked").push(file);
                }
                _ => {}
            }
        }),
        ..Rigged::default()
    };
    publish_bytes(&system, &target, Existing::Refuse, &content(1)).expect("the third is its own");
    assert_eq!(created.load(Ordering::Relaxed), 3);
    assert_eq!(content_of(&target), Some(content(1)));
    assert!(temporaries(folder.path(), &target).is_empty());
}

#[test]
fn a_locked_file_is_in_use_and_others_are_not_ours() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (living, stale) = (path(".chronoxide-aaaaaaaaaaaa"), path(".chronoxide-bbbbbbbbbbbb"));
    for file in [&living, &stale, &path(".chronoxide-lock"), &path("week.cx")] {
        fs::write(file, "x").expect("a file");
    }
    fs::create_dir(path(".chronoxide-cccccccccccc")).expect("a folder");
    std::os::unix::fs::symlink(path("week.cx"), path(".chronoxide-dddddddddddd")).expect("a link");
    let lock = fs::File::open(&living).expect("it is there");
    lock.lock().expect("the lock is free");

    let first = recover(&Disk, folder.path()).expect("it can be listed");
    assert_eq!((&first.removed, &first.in_use), (&vec![stale], &vec![living.clone()]));
    assert!(first.left.is_empty());
    drop(lock);
    let second = recover(&Disk, folder.path()).expect("it can be listed");
    assert_eq!(second.removed, vec![living]);
    let mut left: Vec<_> = fs::read_dir(folder.path())
        .expect("it can be listed")
        .map(|entry| entry.expect("it can be listed").file_name())
        .collect();
    left.sort();
    assert_eq!(left, [".chronoxide-cccccccccccc", ".chronoxide-dddddddddddd", ".chronoxide-lock", "week.cx"]);
}
