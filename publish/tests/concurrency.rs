//! Publishers, readers and recoveries at the same time.

mod support;

use std::fs;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use chronoxide_publish::{Disk, Existing, PublishError, recover};
use support::{content, content_of, publish_bytes, temporaries};

#[test]
fn one_of_two_publishers_that_do_not_replace_wins() {
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
                removed += recover(&Disk, folder.path()).expect("it can be listed").removed.len();
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
        (reader.join().expect("whole files"), recovery.join().expect("it does not panic"))
    });
    println!("{reads} reads, {removed} files taken before their writer locked them");
    assert!(reads > 0);
    assert!(temporaries(folder.path(), &target).is_empty());
}
