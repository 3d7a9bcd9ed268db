//! Verification sees the content of the file, not the bytes that were meant to be written.

mod support;

use std::io::{self, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use chronoxide_publish::faults::{Call, Effect, Fault, Faults, Outcome};
use chronoxide_publish::{Disk, Existing, Output, PublishError, publish};
use support::{ENOSPC, Rigged, content, content_of, publish_bytes, same, temporaries};

/// A disk that claims to have written what it was given, and at its write number `at` wrote something else.
fn liar(at: usize, change: fn(&[u8]) -> Vec<u8>) -> Rigged {
    let writes = AtomicUsize::new(0);
    Rigged {
        write: Box::new(move |mut file, bytes| {
            let number = writes.fetch_add(1, Ordering::Relaxed);
            if number == at {
                file.write_all(&change(bytes))?
            } else {
                file.write_all(bytes)?
            }
            Ok(bytes.len())
        }),
        ..Rigged::default()
    }
}

#[test]
fn a_flipped_bit_is_seen_by_the_verifier() {
    for at in 0..3 {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("week.cx");
        let change = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes[0] ^= 1;
            bytes
        };
        let system = liar(at, change);
        match publish_bytes(&system, &target, Existing::Refuse, &content(2)) {
            Err(PublishError::Unverified { source, .. }) => {
                assert_eq!(source.byte_len, content(2).len());
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(content_of(&target), None);
        assert!(temporaries(folder.path(), &target).is_empty());
    }
}

#[test]
fn a_lost_byte_is_seen_before_the_verifier() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    let system = liar(2, |bytes| bytes[1..].to_vec());
    match publish_bytes(&system, &target, Existing::Refuse, &content(2)) {
        Err(PublishError::LengthDiffers { written, found, .. }) => {
            assert_eq!((written, found), (600_000, 599_999));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(content_of(&target), None);
    assert!(temporaries(folder.path(), &target).is_empty());
}

#[test]
fn the_verifier_sees_a_file_of_its_own_in_the_same_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    let verify = |candidate: &chronoxide_publish::Candidate<'_>| {
        assert_eq!(candidate.byte_len(), 3);
        assert_eq!(candidate.path().parent(), Some(folder.path()));
        assert_eq!(content_of(candidate.path()), Some(b"abc".to_vec()));
        assert_eq!(content_of(&target), None, "the target is not there yet");
        same(candidate, b"abc")
    };
    publish(&Disk, &target, Existing::Refuse, |out| out.write_all(b"abc"), verify).expect("no fault");
}

#[test]
fn an_empty_file_is_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("empty");
    let published = publish_bytes(&Disk, &target, Existing::Refuse, b"").expect("no fault");
    assert_eq!(published.byte_len, 0);
    assert_eq!(content_of(&target), Some(Vec::new()));
}

#[test]
fn a_write_error_that_the_writer_overlooks_still_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    let full = Fault { at: 1, effect: Effect::Half, outcome: Outcome::ErrorOnce(ENOSPC) };
    let system = Faults::with(full);
    let write = |out: &mut dyn Output| {
        for piece in content(2).chunks(300_000) {
            let _ = out.write_all(piece);
        }
        Ok(())
    };
    let result = publish(&system, &target, Existing::Refuse, write, |candidate| same(candidate, &content(2)));
    assert!(matches!(result, Err(PublishError::Io { .. })), "{result:?}");
    assert_eq!(system.calls(), [Call::CreateTemporary, Call::Write, Call::Unlink]);
    assert!(temporaries(folder.path(), &target).is_empty());
}

#[test]
fn a_writer_that_gives_up_or_panics_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    let given_up = publish(
        &Disk,
        &target,
        Existing::Refuse,
        |out| out.write_all(b"abc").and(Err(io::Error::other("no more input"))),
        |candidate| same(candidate, b"abc"),
    );
    assert!(matches!(given_up, Err(PublishError::Io { .. })), "{given_up:?}");
    assert!(temporaries(folder.path(), &target).is_empty());

    let panicked = catch_unwind(AssertUnwindSafe(|| {
        publish(
            &Disk,
            &target,
            Existing::Refuse,
            |_| panic!("the writer has a bug"),
            |candidate| same(candidate, b"abc"),
        )
    }));
    assert!(panicked.is_err());
    assert!(temporaries(folder.path(), &target).is_empty());
    assert_eq!(content_of(&target), None);
}

#[test]
fn a_file_ends_where_its_last_byte_stands() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |out: &mut dyn Output| {
        out.write_all(b"....efgh")?;
        assert_eq!(out.stream_position()?, 8);
        out.rewind()?;
        out.write_all(b"abcd")?;
        assert_eq!(out.seek(SeekFrom::End(-1))?, 7);
        out.write_all(b"HIJ")?;
        assert_eq!(out.seek(SeekFrom::Current(-6))?, 4);
        out.write_all(b"E")?;
        assert!(out.seek(SeekFrom::Current(-6)).is_err());
        // Nothing is there, and nothing will be.
        assert_eq!(out.seek(SeekFrom::Start(1 << 40))?, 1 << 40);
        Ok(())
    };
    let target = folder.path().join("week.cx");
    let published = publish(&Disk, &target, Existing::Refuse, write, |candidate| same(candidate, b"abcdEfgHIJ"));
    assert_eq!(published.expect("no fault").byte_len, 10);
    assert_eq!(content_of(&target), Some(b"abcdEfgHIJ".to_vec()));
}

#[test]
fn going_back_hides_no_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("week.cx");
    let full = Fault { at: 1, effect: Effect::Half, outcome: Outcome::ErrorOnce(ENOSPC) };
    let write = |out: &mut dyn Output| {
        let _ = out.write_all(&content(2));
        let _ = out.rewind();
        let _ = out.write_all(&content(2));
        Ok(())
    };
    let system = Faults::with(full);
    let result = publish(&system, &target, Existing::Refuse, write, |candidate| same(candidate, &content(2)));
    assert!(matches!(result, Err(PublishError::Io { .. })), "{result:?}");
    assert_eq!(system.calls(), [Call::CreateTemporary, Call::Write, Call::Unlink]);
}
