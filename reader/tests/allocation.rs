//! Resolving allocates nothing, from opening a block to its last label; nor does following series through a remap.

use chronoxide_format::SeriesRef;
use chronoxide_format::remap::RemapView;
use chronoxide_format::view::BlockView;
use chronoxide_reader::{Block, Checks, Label, OwnedLabels};
use chronoxide_testkit::allocation::{Counting, Usage, measure};
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::remap::golden::golden_remaps;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Resolves every series in order, at random, label by label and as text, and finds it again. Returns the bytes of all
/// labels.
fn resolve_everything(view: &BlockView<'_>) -> usize {
    let text = view.text().expect("a sound block");
    let mut bytes = 0;
    let mut resolver = view.resolver();
    for series in view.series_iter() {
        let series = series.expect("a sound block");
        let resolved = resolver.labels(series.series_ref()).expect("a sound block").expect("it is there");
        assert_eq!(resolved.len(), series.label_count() as usize);
        for label in series.labels() {
            let label = label.expect("a sound block");
            bytes += label.name.len() + label.value.len();
        }
        let found = view
            .find(text.labels(&series).map(|label| <(&str, &str)>::from(label.expect("a sound block"))))
            .expect("a sound block");
        assert_eq!(found, Some(series.series_ref()));
        let again = view.series(series.series_ref()).expect("a sound block").expect("it was there");
        let first = again.labels().next().expect("a label").expect("a sound block");
        assert_eq!(again.get(first.name), Ok(Some(first.value)));
    }
    assert!(view.series(SeriesRef(u32::MAX)).expect("a sound block").is_none());
    bytes
}

#[test]
fn resolving_a_view_allocates_nothing() {
    for golden in goldens() {
        let expected: usize = golden.series.iter().flatten().map(|(name, value)| name.len() + value.len()).sum();
        let (bytes, usage) = measure(|| resolve_everything(&BlockView::open(&golden.bytes).expect("a golden block")));
        assert_eq!(bytes, expected, "{}", golden.name);
        assert_eq!(usage, Usage::default(), "{}", golden.name);
    }
}

#[test]
fn a_mapped_block_allocates_little_at_open_and_nothing_after() {
    for golden in goldens() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("block.cx");
        std::fs::write(&path, &golden.bytes).expect("a temporary file");
        for checks in [Checks::Lazy, Checks::Eager, Checks::Never] {
            // SAFETY: the file lies in a folder of this test, and nothing changes it.
            let (block, opening) = measure(|| unsafe { Block::map(&path, checks) }.expect("a golden block"));
            assert!(opening.peak <= 64 * 1024, "{} {checks:?}: {opening:?}", golden.name);
            let (bytes, usage) = measure(|| resolve_everything(&block.view()));
            assert!(bytes > 0 || golden.series.is_empty());
            assert_eq!(usage, Usage::default(), "{} {checks:?}", golden.name);
        }
    }
}

#[test]
fn a_block_that_keeps_paths_allocates_for_the_first_reader_alone() {
    for golden in goldens() {
        let block = Block::from_vec(golden.bytes, Checks::Lazy).expect("a golden block");
        let expected = resolve_everything(&block.view());
        let (_, asking) = measure(|| block.keep_paths());
        assert_eq!(asking, Usage::default(), "{}", golden.name);
        let (bytes, first) = measure(|| resolve_everything(&block.view()));
        assert_eq!(bytes, expected, "{}", golden.name);
        let kept = block.paths().expect("paths are kept").allocated() as u64;
        assert_eq!(kept > 0, expected > 0, "{}", golden.name);
        assert!(first.peak >= kept, "{}: {kept} of {first:?}", golden.name);
        let (bytes, later) = measure(|| resolve_everything(&block.clone().view()));
        assert_eq!((bytes, later), (expected, Usage::default()), "{}", golden.name);
    }
}

/// Follows every series in order and one by one, and verifies the remap. Returns how many were followed.
fn follow_everything(bytes: &[u8]) -> u64 {
    let view = RemapView::open(bytes).expect("a golden remap");
    view.verify().expect("a golden remap");
    let mut followed = 0;
    for (series, target) in (0..).zip(view.targets().expect("a golden remap")) {
        assert_eq!(view.get(SeriesRef(series)), target);
        followed += 1;
    }
    assert_eq!(view.get(SeriesRef(u32::MAX)), Ok(None));
    followed
}

#[test]
fn following_and_verifying_a_remap_allocates_nothing() {
    for golden in golden_remaps() {
        let (followed, usage) = measure(|| follow_everything(&golden.bytes));
        assert!(golden.text.contains(&format!("\nseries {followed}\n")), "{}: {followed}", golden.name);
        assert_eq!(usage, Usage::default(), "{}", golden.name);
    }
}

#[test]
fn owned_labels_outlive_the_block() {
    for golden in goldens().into_iter().filter(|golden| !golden.series.is_empty()) {
        let block = Block::from_vec(golden.bytes, Checks::Lazy).expect("a golden block");
        let view = block.view();
        let all = view.series_iter().map(|series| OwnedLabels::from_series(&series?)).collect::<Result<Vec<_>, _>>();
        let all = all.expect("a golden block");
        drop(block);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        let found = all
            .iter()
            .map(|labels| labels.iter().map(|label| (text(label.name), text(label.value))).collect())
            .collect();
        assert_eq!(golden.series, found, "{}", golden.name);
        let Label { name, value } = all[0].iter().next().expect("a label");
        assert_eq!(all[0].get(name), Some(value));
        assert_eq!(all[0].get(b"no such label"), None);
    }
}
