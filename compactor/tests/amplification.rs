//! Small blocks that stand for very many series: merged in memory that goes with their bytes, or refused before it
//! starts.

use std::num::NonZeroU32;
use std::path::Path;
use std::slice;
use std::sync::Mutex;

use chronoxide_compactor::engine::{Proof, Unproven};
use chronoxide_compactor::{CompactError, CompactOptions, Compaction, Draft, NoObserver, Rewrite};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::{BlockMeta, BuildError};
use chronoxide_planner::Layout;
use chronoxide_publish::{Disk, Spool};
use chronoxide_reader::{Block, BlockId, Checks, OpenError};
use chronoxide_testkit::allocation::{Counting, measure_process};
use chronoxide_testkit::archive::undecodable;
use chronoxide_testkit::product::{product, product_of};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Memory is counted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// 4 x 10^8 series in a third of a megabyte.
const VALUES: u32 = 20_000;

#[test]
fn what_cannot_stay_below_the_limit_is_refused_before_it_starts() {
    let _alone = ALONE.lock();
    let (a, b) = (product(VALUES, "a").unwrap(), product(VALUES, "b").unwrap());
    assert!(a.len() < 400_000 && b.len() < 400_000, "{} and {} bytes", a.len(), b.len());
    let views = [&a, &b].map(|block| BlockView::open(block).unwrap());
    assert!(views.iter().all(|view| view.series_count() == Ok(VALUES * VALUES)));
    let limit = 1 << 30;
    let plain = CompactOptions { memory_limit: Some(limit), ..CompactOptions::default() };
    let rewrite = Rewrite { drop_labels: vec!["a".to_owned()], ..Rewrite::default() };
    let cases = [
        ("other lists", CompactOptions { ..plain.clone() }),
        ("plain rows", CompactOptions { layout: Layout::BitPacked, ..plain.clone() }),
        ("planned afresh", CompactOptions { replan: true, ..plain.clone() }),
        ("without a label", CompactOptions { rewrite, ..plain.clone() }),
        (
            "lifted",
            CompactOptions {
                lift_external_labels: true,
                external_labels: vec![("c".to_owned(), "1".to_owned())],
                ..plain.clone()
            },
        ),
    ];
    for (case, options) in cases {
        let (result, usage) = measure_process(|| Compaction::new(&views, &options).merge_to_memory());
        let Err(CompactError::Memory { needed, limit: of_error }) = result else { panic!("{case}: {result:?}") };
        assert_eq!(of_error, limit as u64);
        assert!(needed > limit as u64, "{case}: {needed}");
        assert!(usage.peak < 64 << 20, "{case}: {usage:?}");
    }
}

#[test]
fn arenas_of_archives_are_counted_before_a_proof_decodes_them() {
    let _alone = ALONE.lock();
    let folder = tempfile::tempdir().unwrap();
    let [output, input] = ["output.cx", "input.cx"].map(|name| folder.path().join(name));
    std::fs::write(&output, undecodable(12 << 20, &BlockMeta::default())).unwrap();
    std::fs::write(&input, product(10, "a").unwrap()).unwrap();
    // SAFETY: the files lie in a folder of this test, and nothing changes them.
    let open = |path: &Path| unsafe { Block::map_packed(path, Checks::Never) };
    let prove = |limit| {
        let proof = Proof {
            system: &Disk,
            open: &open,
            memory_limit: Some(limit),
            external_labels: &[],
            observer: &NoObserver,
        };
        let [outputs, inputs] = [&output, &input].map(slice::from_ref);
        measure_process(|| proof.prove(folder.path(), outputs, inputs).unwrap_err())
    };
    let (error, usage) = prove(120 << 20);
    assert!(matches!(error, Unproven::Compact(CompactError::Memory { needed, .. }) if needed > 120 << 20), "{error}");
    assert!(usage.peak < 1 << 20, "{usage:?}");
    let (error, _) = prove(1 << 30);
    assert!(matches!(&error, Unproven::Open(OpenError::Block { path, .. }) if *path == output), "{error}");
}

#[test]
fn blocks_that_are_factored_alike_are_merged_in_little_memory() {
    let _alone = ALONE.lock();
    let blocks = [product(VALUES, "b").unwrap(), product(VALUES - 1, "b").unwrap()];
    let views = [0, 1].map(|block| BlockView::open(&blocks[block]).unwrap());
    let options = CompactOptions { memory_limit: Some(1 << 30), ..CompactOptions::default() };
    let (merged, usage) = measure_process(|| Compaction::new(&views, &options).merge_to_memory().unwrap());
    assert_eq!(merged.summary.series_out, u64::from(VALUES) * u64::from(VALUES));
    assert!(usage.peak < 64 << 20, "{usage:?}");
}

#[test]
fn more_series_than_a_block_can_have_are_refused_or_cut_into_blocks() {
    let _alone = ALONE.lock();
    // 3.6 x 10^9 series each, with other labels: no series is in both.
    let count = 60_000;
    let blocks = [product_of(count, ["a", "b"], "b").unwrap(), product_of(count, ["a", "c"], "c").unwrap()];
    let views = [0, 1].map(|block| BlockView::open(&blocks[block]).unwrap());
    let options = CompactOptions::default();
    let result = Compaction::new(&views, &options).merge_to_memory();
    let Err(CompactError::Build(BuildError::TooMany { what, limit })) = result else { panic!("{result:?}") };
    assert_eq!((what, limit), ("series", u32::MAX));

    let options = CompactOptions { max_series_per_block: NonZeroU32::new(u32::MAX), ..options };
    let mut outputs = Vec::new();
    let mut spool = Spool::new(&Disk, Path::new("."), usize::MAX);
    let publish = |_, draft: Draft<'_>| {
        outputs.push(draft.series_count());
        Ok::<_, CompactError>(BlockId::default())
    };
    let summary = Compaction::new(&views, &options).merge_to_drafts(&mut spool, publish).unwrap();
    assert_eq!(outputs.iter().sum::<u64>(), 2 * u64::from(count) * u64::from(count));
    assert_eq!(summary.outputs as usize, outputs.len());
}
