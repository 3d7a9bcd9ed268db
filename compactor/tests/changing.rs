//! Inputs that change after they were verified: whatever bit flips, it never gets a fresh checksum.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use chronoxide_compactor::{CompactOptions, Compaction, Observer, Phase};
use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::metadata::{MetricMetadata, MetricType};
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_publish::{Disk, Spool};
use chronoxide_reader::{Block, Checks};
use chronoxide_testkit::plan::{Plan, build};
use chronoxide_testkit::random::{Random, random_series};

/// More than are verified at once on one thread.
const INPUTS: usize = 5;

fn input(number: usize) -> Vec<u8> {
    let mut random = Random::new(number as u64);
    let description = format!("what metric {number} means");
    let metric = MetricMetadata {
        name: "requests",
        metric_type: MetricType::Sum,
        monotonicity: true.into(),
        unit: "1",
        description: &description,
        ..MetricMetadata::default()
    };
    let meta = BlockMeta {
        time: Some(TimeRange { start: 1_000, end: 2_000 + number as i64 }),
        window: Some(TimeRange { start: 0, end: 3_000 }),
        external_labels: vec![("cluster".to_owned(), "eu".to_owned())],
        annotations: vec![(format!("note-{number}"), "text".to_owned())],
        metrics: [metric].into_iter().collect(),
        ..BlockMeta::default()
    };
    build(&random_series(8, &mut random), &Plan::default(), RowForm::BitPacked, &meta).unwrap()
}

/// Flips a bit of a file once blocks were verified.
struct Flip<'a> {
    path: &'a Path,
    byte: u64,
    bit: u8,
}

impl Flip<'_> {
    fn flip(&self) {
        let file = fs::File::options().read(true).write(true).open(self.path).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, self.byte).unwrap();
        byte[0] ^= 1 << self.bit;
        file.write_all_at(&byte, self.byte).unwrap();
    }
}

impl Observer for Flip<'_> {
    fn progress(&self, phase: Phase, done: u64, _of: u64) -> bool {
        // The first group of blocks has been verified, and the last block not.
        if phase == Phase::Verify && done > 0 {
            self.flip();
        }
        true
    }
}

#[test]
fn a_bit_that_flips_after_verification_is_never_copied() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let inputs: Vec<Vec<u8>> = (0..INPUTS).map(input).collect();
    let paths: Vec<_> = (0..INPUTS).map(|number| folder.path().join(format!("{number}.cx"))).collect();
    paths.iter().zip(&inputs).for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    let options = CompactOptions::default();
    let views: Vec<BlockView<'_>> = inputs.iter().map(|bytes| BlockView::open(bytes).unwrap()).collect();
    let expected = Compaction::new(&views, &options).merge_to_memory().unwrap().block;

    let view = views[0];
    let section = |kind: SectionKind| {
        let section = view.sections().find(|section| section.known() == Some(kind)).unwrap();
        section.offset as usize..(section.offset + section.length) as usize
    };
    let (meta, metrics) = (section(SectionKind::Meta), section(SectionKind::MetricMetadata));
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (mut refused, mut harmless, mut copied) = (0, 0, 0);
    for byte in 0..inputs[0].len() {
        let is_stated = meta.contains(&byte) || metrics.contains(&byte);
        for bit in (0..8).filter(|bit| is_stated || (byte + bit) % 11 == 0) {
            // SAFETY: the change is what is tried, and comes between two reads of the file's bytes.
            let open = |path| unsafe { Block::map(path, Checks::Never) }.unwrap();
            let blocks: Vec<Block> = paths.iter().map(open).collect();
            let views: Vec<BlockView<'_>> = blocks.iter().map(|block| *block.view()).collect();
            let flip = Flip { path: &paths[0], byte: byte as u64, bit: bit as u8 };
            let mut merged = Vec::new();
            let done = one_thread.install(|| {
                let mut spool = Spool::new(&Disk, folder.path(), usize::MAX);
                Compaction { observer: &flip, ..Compaction::new(&views, &options) }.merge_to_drafts(
                    &mut spool,
                    |_, draft| {
                        let mut out = std::io::Cursor::new(Vec::new());
                        let id = draft.write_to(&mut out)?;
                        merged.push(out.into_inner());
                        Ok::<_, chronoxide_compactor::CompactError>(id)
                    },
                )
            });
            match done {
                Err(_) => refused += 1,
                Ok(_) if merged == [expected.clone()] => harmless += 1,
                Ok(_) => {
                    println!("byte {byte}, bit {bit} was copied");
                    copied += 1;
                }
            }
            flip.flip();
            assert!(!is_stated || merged.is_empty(), "byte {byte}, bit {bit} of what the block says of itself");
        }
    }
    println!("{refused} bits refused, {harmless} without effect, {copied} copied");
    assert_eq!(copied, 0);
    let stated = 8 * (meta.len() + metrics.len());
    assert!(refused >= stated && stated >= 1_500, "{refused} of {stated}");
}
