//! Remaps opened from files and memory, with eager, lazy and no checks.

use std::path::{Path, PathBuf};

use chronoxide_reader::{Checks, OpenError, Remap, RemapError, RemapErrorKind, RemapRule, SeriesRef, Target};
use chronoxide_testkit::remap::golden::golden_remaps;

const CHECKS: [Checks; 3] = [Checks::Lazy, Checks::Eager, Checks::Never];
const HEADER: usize = 108;
const OUTPUT: usize = 24;
const CHUNK: usize = 8192;

fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/remaps/golden").join(name).with_extension("cxr")
}

/// Maps a file that does not change while the test runs.
fn map(path: &Path, checks: Checks) -> Result<Remap, OpenError> {
    // SAFETY: goldens are not written to.
    unsafe { Remap::map(path, checks) }
}

fn targets(remap: &Remap) -> Result<Vec<Option<Target>>, RemapError> {
    remap.view().targets()?.collect()
}

/// Returns the targets that the golden text states.
fn stated(text: &str) -> Vec<Option<Target>> {
    let lines = text.lines().skip_while(|line| !line.starts_with("series ")).skip(1);
    lines
        .map(|line| {
            let mut words = line.split_whitespace().skip(1).map(|word| word.parse::<u32>());
            Some(Target { output: words.next()?.ok()?, series: SeriesRef(words.next()?.ok()?) })
        })
        .collect()
}

fn many_chunks() -> Vec<u8> {
    golden_remaps().into_iter().find(|golden| golden.name == "many-chunks").unwrap().bytes
}

#[test]
fn a_remap_is_the_same_from_map_and_buffers() {
    for golden in golden_remaps() {
        let path = golden_path(golden.name);
        for checks in CHECKS {
            let remaps = [
                map(&path, checks).unwrap(),
                Remap::read(&path, checks).unwrap(),
                Remap::from_vec(golden.bytes.clone(), checks).unwrap(),
            ];
            for remap in remaps {
                assert_eq!(remap.bytes(), golden.bytes);
                assert_eq!(targets(&remap).unwrap(), stated(&golden.text), "{}", golden.name);
                remap.verify().unwrap();
            }
        }
    }
}

#[test]
fn eager_checks_refuse_damage_at_once_and_lazy_ones_when_it_is_touched() {
    let sound = many_chunks();
    let expected = targets(&Remap::from_vec(sound.clone(), Checks::Eager).unwrap()).unwrap();
    // In the last chunk, with the rows of the last series.
    let chunks = (sound.len() - HEADER) / CHUNK;
    assert!(chunks >= 2);
    let damage = HEADER + chunks * CHUNK + 100;
    let mut bytes = sound.clone();
    bytes[damage] ^= 0x10;
    let error = Remap::from_vec(bytes.clone(), Checks::Eager).unwrap_err();
    assert_eq!(error.rule(), RemapRule::ChunkChecksum);

    let lazy = Remap::from_vec(bytes.clone(), Checks::Lazy).unwrap();
    assert_eq!(lazy.verify().unwrap_err().rule(), RemapRule::ChunkChecksum);
    let view = lazy.view();
    let (mut right, mut refused) = (0, 0);
    // Twice: a second attempt gives the same result.
    for series in (0..expected.len()).chain(0..expected.len()) {
        match view.get(SeriesRef(series as u32)) {
            Ok(target) => {
                assert_eq!(target, expected[series], "a lazy check gives nothing from a damaged chunk");
                right += 1;
            }
            Err(error) => {
                assert_eq!(error.rule(), RemapRule::ChunkChecksum, "series {series}: {error}");
                refused += 1;
            }
        }
    }
    assert!(right > 10_000 && refused > 1_000, "{right} and {refused}");

    let never = Remap::from_vec(bytes, Checks::Never).unwrap();
    let found = targets(&never);
    assert!(found.is_err() || found.unwrap() != expected, "nothing is checked");
}

#[test]
fn damaged_outputs_are_refused_at_opening_unless_nothing_is_checked() {
    let mut bytes = many_chunks();
    bytes[HEADER + OUTPUT - 4] ^= 1;
    for checks in [Checks::Lazy, Checks::Eager] {
        assert_eq!(Remap::from_vec(bytes.clone(), checks).unwrap_err().rule(), RemapRule::ChunkChecksum);
    }
    assert_eq!(Remap::from_vec(bytes, Checks::Never).unwrap().verify().unwrap_err().rule(), RemapRule::ChunkChecksum);
}

#[test]
fn the_header_is_always_checked() {
    let mut bytes = many_chunks();
    bytes[60] ^= 1;
    for checks in CHECKS {
        assert_eq!(Remap::from_vec(bytes.clone(), checks).unwrap_err().rule(), RemapRule::HeaderChecksum);
        assert_eq!(Remap::from_vec(Vec::new(), checks).unwrap_err().kind(), &RemapErrorKind::NotARemap);
    }
}

#[test]
fn errors_name_the_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/remaps/broken/version.cxr");
    for checks in CHECKS {
        for opened in [map(&path, checks), Remap::read(&path, checks)] {
            let error = opened.unwrap_err();
            let OpenError::Remap { source, .. } = &error else { panic!("{error:?}") };
            assert!(matches!(source.kind(), RemapErrorKind::UnsupportedVersion { .. }), "{error:?}");
            assert!(error.to_string().contains("version.cxr"), "{error}");
        }
    }
    let absent = Remap::read("absent.cxr", Checks::Lazy).unwrap_err();
    assert!(matches!(absent, OpenError::Io { .. }), "{absent:?}");
}
