//! Publishers, readers and recoveries at the same time.

mod support;

use std::cell::{Cell, RefCell};
use std::fs;
use std::rc::Rc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use chronoxide_publish::{Disk, Existing, PublishError, recover};
use support::{Rigged, content, content_of, publish_bytes, temporaries};

#[test]
fn of_two_publishers_that_replace_nothing_one_wins() {
    for round in 0..50_u8 {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("week.cx");
        let start = Barrier::new(2);
        let results = thread::scope(|scope| {
            let publishers = [1, 2].map(|seed| {
                let (start, target) = (&start, &target);
                scope.spawn(move || {
                    let bytes = content(seed);
                    start.wait();
                    publish_bytes(&Disk, target, Existing::Refuse, &bytes)
                })
            });
            publishers.map(|publisher| publisher.join().expect("it does not panic"))
        });
        let winner = match &results {
            [Ok(_), Err(PublishError::Exists { .. })] => content(1),
            [Err(PublishError::Exists { .. }), Ok(_)] => content(2),
            other => panic!("round {round}: {other:?}"),
        };
        assert_eq!(content_of(&target), Some(winner));
        assert!(temporaries(folder.path(), &target).is_empty());
    }
}

#[test]
fn readers_see_whole_files_only_and_recovery_spares_living_writers() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    fs::write(&target, content(0)).expect("the first file");
    let whole: Vec<Vec<u8>> = (0..4).map(content).collect();
    let done = AtomicBool::new(false);
    let (reads, removed) = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !done.load(Ordering::Relaxed) {
                let found = content_of(&target).expect("it is always there");
                assert!(whole.contains(&found), "{} bytes", found.len());
                reads += 1;
            }
            reads
        });
        let recovery = scope.spawn(|| {
            let mut removed = 0;
            while !done.load(Ordering::Relaxed) {
                removed += recover(&Disk, folder.path())
                    .expect("it can be listed")
                    .removed
                    .len();
            }
            removed
        });
        let publishers = [1, 2].map(|seed| {
            let (target, bytes) = (&target, &whole[seed]);
            scope.spawn(move || {
                for _ in 0..40 {
                    publish_bytes(&Disk, target, Existing::Replace, bytes).expect("no fault");
                }
            })
        });
        let finished = publishers.map(thread::ScopedJoinHandle::join);
        done.store(true, Ordering::Relaxed);
        for publisher in finished {
            publisher.expect("its file was whole");
        }
        (
            reader.join().expect("whole files"),
            recovery.join().expect("it does not panic"),
        )
    });
    println!("{reads} reads, {removed} files taken before their writer locked them");
    assert!(reads > 0);
    assert!(temporaries(folder.path(), &target).is_empty());
}

/// Recovery may come between the creation of a file and its lock.
#[test]
#[cfg(unix)]
fn a_writer_whose_new_file_was_taken_for_a_stale_one_takes_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    let (parent, created) = (folder.path().to_path_buf(), Rc::new(Cell::new(0)));
    let count = Rc::clone(&created);
    let held = RefCell::new(Vec::new());
    let system = Rigged {
        created: Box::new(move |path| {
            match count.replace(count.get() + 1) {
                // It has come and gone.
                0 => assert_eq!(recover(&Disk, &parent).expect("a folder").removed.len(), 1),
                // It has the lock and is about to remove the file.
                1 => {
                    let file = fs::File::open(path).expect("it was created");
                    file.lock().expect("nobody has it");
                    held.borrow_mut().push(file);
                }
                _ => {}
            }
        }),
        ..Rigged::default()
    };
    publish_bytes(&system, &target, Existing::Refuse, &content(1)).expect("the third is its own");
    assert_eq!(created.get(), 3);
    assert_eq!(content_of(&target), Some(content(1)));
    assert!(temporaries(folder.path(), &target).is_empty());
}

#[test]
#[cfg(unix)]
fn a_locked_file_is_in_use_and_others_are_not_ours() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (living, stale) = (
        path(".chronoxide-aaaaaaaaaaaa"),
        path(".chronoxide-bbbbbbbbbbbb"),
    );
    for file in [&living, &stale, &path(".chronoxide-lock"), &path("week.cx")] {
        fs::write(file, "x").expect("a file");
    }
    fs::create_dir(path(".chronoxide-cccccccccccc")).expect("a folder");
    std::os::unix::fs::symlink(path("week.cx"), path(".chronoxide-dddddddddddd")).expect("a link");
    let lock = fs::File::open(&living).expect("it is there");
    lock.lock().expect("nobody has it");

    let first = recover(&Disk, folder.path()).expect("it can be listed");
    assert_eq!(
        (&first.removed, &first.in_use),
        (&vec![stale], &vec![living.clone()])
    );
    assert!(first.left.is_empty());
    drop(lock);
    let second = recover(&Disk, folder.path()).expect("it can be listed");
    assert_eq!(second.removed, vec![living]);
    let mut left: Vec<_> = fs::read_dir(folder.path())
        .expect("it can be listed")
        .map(|entry| entry.expect("it can be listed").file_name())
        .collect();
    left.sort();
    assert_eq!(
        left,
        [
            ".chronoxide-cccccccccccc",
            ".chronoxide-dddddddddddd",
            ".chronoxide-lock",
            "week.cx"
        ]
    );
}
