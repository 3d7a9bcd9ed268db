//! Scratch data is read back as appended, in memory or in a file, and leaves no file.

mod support;

use std::io::Read;
use std::path::Path;
use std::thread;

use chronoxide_publish::faults::{Call, ERRORS, Effect, Fault, Faults, Outcome};
use chronoxide_publish::{Disk, FileSystem, Spool, SpoolError, SpoolStep, recover};
use support::{ENOSPC, content, temporaries};

/// Lengths around those of a piece, and appends of any length.
const LENGTHS: [usize; 9] = [0, 1, 7, 4096, 65_535, 65_536, 65_537, 200_000, 600_000];
const APPENDS: [usize; 5] = [1_000, 65_536, 70_000, 131_072, 600_000];

fn files(folder: &Path) -> usize {
    temporaries(folder, Path::new("none")).len()
}

fn spool_of<'a>(
    system: &'a dyn FileSystem,
    folder: &Path,
    memory_len: usize,
    bytes: &[u8],
    append: usize,
) -> Result<Spool<'a>, SpoolError> {
    let mut spool = Spool::new(system, folder, memory_len);
    for piece in bytes.chunks(append) {
        spool.append(piece)?;
    }
    Ok(spool)
}

fn all(spool: &Spool<'_>) -> Vec<u8> {
    let mut found = Vec::new();
    spool.contents().reader(0..u64::MAX).read_to_end(&mut found).expect("no fault");
    found
}

#[test]
fn bytes_come_back_for_every_threshold() {
    let mut cases = 0;
    for len in LENGTHS {
        let bytes = &content(3)[..len];
        for append in APPENDS {
            for memory_len in LENGTHS {
                let folder = tempfile::tempdir().expect("a folder");
                let spool = spool_of(&Disk, folder.path(), memory_len, bytes, append).expect("no fault");
                let case = format!("{len} bytes by {append}, {memory_len} in memory");
                assert_eq!(spool.byte_len(), len as u64, "{case}");
                assert_eq!(files(folder.path()), usize::from(len > memory_len), "{case}");
                assert_eq!(spool.is_spilled(), len > memory_len, "{case}");
                assert!(all(&spool) == bytes, "{case}");
                for (start, end) in [(0, len), (len / 3, len), (len / 2, len / 2 + len / 4), (len, len)] {
                    let mut found = vec![0; end - start];
                    spool.contents().read_exact_at(start as u64, &mut found).expect("no fault");
                    assert!(found == bytes[start..end], "{case}: {start}..{end}");
                    let mut found = Vec::new();
                    let mut reader = spool.contents().reader(start as u64..end as u64);
                    reader.read_to_end(&mut found).expect("no fault");
                    assert!(found == bytes[start..end], "{case}: {start}..{end}");
                }
                spool.close().expect("no fault");
                assert_eq!(files(folder.path()), 0, "{case}");
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 405);
}

#[test]
fn reading_between_appends_and_from_threads_moves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = content(4);
    let mut spool = Spool::new(&Disk, folder.path(), 1000);
    for (number, piece) in bytes.chunks(50_000).enumerate() {
        spool.append(piece).expect("no fault");
        assert!(all(&spool) == bytes[..(number + 1) * 50_000]);
    }
    let contents = spool.contents();
    thread::scope(|scope| {
        for thread in 0..4_usize {
            let bytes = &bytes;
            scope.spawn(move || {
                for at in (thread * 997..bytes.len() - 5000).step_by(3001) {
                    let mut found = [0; 5000];
                    contents.read_exact_at(at as u64, &mut found).expect("no fault");
                    assert!(found == bytes[at..at + 5000]);
                }
            });
        }
    });
}

#[test]
fn reading_beyond_the_end_is_an_error_with_its_place() {
    for memory_len in [0, 100] {
        let folder = tempfile::tempdir().expect("a folder");
        let spool = spool_of(&Disk, folder.path(), memory_len, b"labels", 6).expect("no fault");
        for (offset, len) in [(0, 7), (6, 1), (7, 0), (u64::MAX, 1), (u64::MAX - 3, 4)] {
            let error = spool.contents().read_exact_at(offset, &mut vec![0; len]).expect_err("too far");
            assert_eq!((error.step, error.source.kind()), (SpoolStep::Read, std::io::ErrorKind::UnexpectedEof));
            assert!(error.path.starts_with(folder.path()));
        }
    }
}

#[test]
fn a_file_that_was_cut_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let spool = spool_of(&Disk, folder.path(), 0, &content(5), 70_000).expect("no fault");
    let [path] = &temporaries(folder.path(), Path::new("none"))[..] else { panic!("one file") };
    std::fs::File::options().write(true).open(path).expect("it is there").set_len(1000).expect("it is ours");
    let error = spool.contents().read_exact_at(999, &mut [0; 2]).expect_err("it was cut");
    assert_eq!((&error.path, error.step), (path, SpoolStep::Read));
    let mut found = Vec::new();
    let error = spool.contents().reader(0..2000).read_to_end(&mut found).expect_err("it was cut");
    assert!(error.to_string().contains("cannot read scratch data"), "{error}");
}

#[test]
fn appending_does_not_take_more_memory_than_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut spool = Spool::new(&Disk, folder.path(), 100_000);
    for _ in 0..100 {
        spool.append(&[7; 1000]).expect("no fault");
    }
    assert_eq!(files(folder.path()), 0, "the number of kept files");
    spool.append(&[7]).expect("no fault");
    assert_eq!(files(folder.path()), 1);
    drop(spool);
    assert_eq!(files(folder.path()), 0, "dropping removes it too");
}

/// A job with two spools: the one stays in memory.
fn job(system: &dyn FileSystem, folder: &Path) -> Result<(Vec<u8>, Vec<u8>), SpoolError> {
    let large = spool_of(system, folder, 100_000, &content(6), 50_000)?;
    let small = spool_of(system, folder, 100_000, &content(7)[..50_000], 7_000)?;
    let found = (all(&large), all(&small));
    large.close()?;
    small.close()?;
    Ok(found)
}

fn try_fault(fault: Fault) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let system = Faults::with(fault);
    let result = job(&system, folder.path());
    assert!(system.struck(), "{fault:?} was not reached");
    let calls = system.calls();
    let case = format!("{fault:?}, {calls:?}");
    let is_ok = match result {
        Ok((large, small)) => {
            assert!(large == content(6) && small == content(7)[..50_000], "other bytes: {case}");
            true
        }
        Err(error) => {
            let step = match calls[fault.at] {
                Call::CreateTemporary => SpoolStep::Create,
                Call::Write => SpoolStep::Write,
                Call::Unlink => SpoolStep::Remove,
                other => panic!("{other:?} was called: {case}"),
            };
            assert_eq!(error.step, step, "{case}");
            assert!(error.path.starts_with(folder.path()), "{case}");
            false
        }
    };
    let left = temporaries(folder.path(), Path::new("none"));
    let unseen = calls[fault.at] == Call::CreateTemporary && fault.effect == Effect::Whole;
    let lasting = matches!(fault.outcome, Outcome::ErrorFromThenOn(_) | Outcome::Death);
    if !unseen && !lasting && calls[fault.at] != Call::Unlink {
        assert!(left.is_empty(), "{left:?}: {case}");
    }
    assert!(left.len() <= 1, "{left:?}: {case}");
    let recovered = recover(&Disk, folder.path()).expect("the folder can be listed");
    assert_eq!(recovered.removed, left, "{case}");
    assert_eq!(files(folder.path()), 0, "{case}");
    is_ok
}

#[test]
fn every_call_fails_or_is_the_last() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = Faults::none();
    job(&whole, folder.path()).expect("no fault");
    let calls = whole.calls();
    // Seven pieces of 64 KiB from memory; the tail stays in memory.
    let expected = [&[Call::CreateTemporary][..], &[Call::Write; 8], &[Call::Unlink]].concat();
    assert_eq!(calls, expected);
    let (mut cases, mut continued) = (0, 0);
    for (at, call) in calls.into_iter().enumerate() {
        for effect in [Effect::Nothing, Effect::Half, Effect::Whole] {
            let once = ERRORS.map(Outcome::ErrorOnce);
            let lasting = ERRORS.map(Outcome::ErrorFromThenOn);
            for outcome in once.into_iter().chain(lasting).chain([Outcome::Death]) {
                assert!(!try_fault(Fault { at, effect, outcome }));
                cases += 1;
            }
        }
        if call == Call::Write {
            assert!(try_fault(Fault { at, effect: Effect::Half, outcome: Outcome::Success }));
            assert!(try_fault(Fault { at, effect: Effect::Nothing, outcome: Outcome::ErrorOnce(4) }));
            continued += 2;
        }
    }
    println!("{cases} faults, {continued} continued writes");
    assert!(cases >= 500 && continued >= 16, "only {cases} and {continued} cases");
}

#[test]
fn a_spool_that_failed_takes_and_gives_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let full = Fault { at: 2, effect: Effect::Half, outcome: Outcome::ErrorOnce(ENOSPC) };
    let system = Faults::with(full);
    let mut spool = Spool::new(&system, folder.path(), 0);
    spool.append(&content(8)[..70_000]).expect("the first piece");
    let error = spool.append(&content(8)[70_000..300_000]).expect_err("the disk is full");
    assert_eq!((error.step, error.source.raw_os_error()), (SpoolStep::Write, Some(ENOSPC)));
    assert_eq!(spool.append(b"x").expect_err("it has failed").step, SpoolStep::Write);
    assert_eq!(spool.contents().read_exact_at(0, &mut [0]).expect_err("it has failed").step, SpoolStep::Read);
    spool.close().expect("the file is removed");
    assert_eq!(system.calls(), [Call::CreateTemporary, Call::Write, Call::Write, Call::Unlink]);
    assert_eq!(files(folder.path()), 0);
}

/// Other systems have no advisory lock, and recovery removes nothing.
#[cfg(unix)]
#[test]
fn recovery_spares_the_file_of_a_living_job() {
    let folder = tempfile::tempdir().expect("a folder");
    let spool = spool_of(&Disk, folder.path(), 0, b"labels", 6).expect("no fault");
    assert_eq!(recover(&Disk, folder.path()).expect("it can be listed").in_use.len(), 1);
    assert_eq!(all(&spool), b"labels");
}
