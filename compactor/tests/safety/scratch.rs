//! Damaged scratch files. A block made from one would have valid checksums, so the damage must be found when rows are
//! read back.

use std::error::Error;
use std::fs::{File, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chronoxide_planner::Layout;
use chronoxide_publish::{Disk, FileSystem};
use chronoxide_testkit::random::Random;
use chronoxide_testkit::sweep;

use super::scene::wide_as;

/// A disk that flips a bit of one of the writes to the first file that is created.
#[derive(Clone, Debug)]
struct Flipping {
    write: usize,
    bit: usize,
    files: Arc<AtomicUsize>,
    writes: Arc<AtomicUsize>,
}

impl FileSystem for Flipping {
    fn create_temporary(&self, folder: &Path) -> io::Result<(File, PathBuf)> {
        self.files.fetch_add(1, Ordering::Relaxed);
        Disk.create_temporary(folder)
    }
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        if self.files.load(Ordering::Relaxed) != 1 || number != self.write {
            return Disk.write(file, bytes);
        }
        let mut flipped = bytes.to_vec();
        let bit = self.bit % (bytes.len() * 8);
        flipped[bit / 8] ^= 1 << (bit % 8);
        Disk.write(file, &flipped)
    }
    fn set_mode(&self, file: &File, mode: Permissions) -> io::Result<()> {
        Disk.set_mode(file, mode)
    }
    fn sync_file(&self, file: &File) -> io::Result<()> {
        Disk.sync_file(file)
    }
    fn open(&self, path: &Path) -> io::Result<File> {
        Disk.open(path)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename_new(from, to)
    }
    fn rename_over(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename_over(from, to)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        Disk.sync_folder(folder)
    }
    fn unlink(&self, path: &Path) -> io::Result<()> {
        Disk.unlink(path)
    }
}

fn with_sources(error: &dyn Error) -> String {
    error.source().map_or(error.to_string(), |source| format!("{error}: {}", with_sources(source)))
}

#[test]
fn damaged_scratch_data_is_never_published() {
    let mut random = Random::new(9);
    let mut cases = 0;
    // Rows of the one are renumbered as they are written, those of the other planned all at once.
    for layout in [Layout::BitPacked, Layout::Factored] {
        let scene = wide_as(layout);
        for number in 0..sweep::cases(3, 24) {
            let folder = scene.folder();
            let bit = random.below(usize::MAX);
            let system = Flipping { write: number % 2, bit, files: Arc::default(), writes: Arc::default() };
            let done = scene.run(&system, folder.path());
            let case = || format!("{layout:?}, write {}, bit {bit}: {done:?}", number % 2);
            // Outputs without these rows may be there, and are whole.
            assert_eq!(scene.judge(folder.path(), &case), 0, "temporary files: {}", case());
            let error = with_sources(done.as_ref().unwrap_err());
            assert!(error.contains("cannot read scratch data: scratch data differs from what was written"), "{error}");
            scene.run(&Disk, folder.path()).unwrap();
            scene.judge_end(folder.path(), &case);
            cases += 1;
        }
    }
    println!("{cases} damaged scratch files");
    assert!(cases >= sweep::cases(6, 48), "only {cases} cases");
}
