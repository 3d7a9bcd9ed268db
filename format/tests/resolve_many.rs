//! Resolving through a cache, in any order, gives what resolving one series after the other gives: for sound blocks and
//! for damaged ones.

use chronoxide_format::checksum::ChunkProofs;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::{BlockView, Frame, Label, Paths};
use chronoxide_format::write::BlockMeta;
use chronoxide_format::{Result, SeriesRef};
use chronoxide_testkit::broken::broken;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::build;
use chronoxide_testkit::random::{Random, random_plan, random_series};

/// Labels of a series: `None` if it is out of range.
type Resolved<'b> = Option<Vec<Label<'b>>>;

/// Refs that are tried at most, per block.
const REFS: u32 = 400;

/// Resolves a series by itself.
fn plain<'b>(view: &BlockView<'b>, series: SeriesRef) -> Result<Resolved<'b>> {
    match view.series(series)? {
        Some(series) => series.labels().collect::<Result<Vec<_>>>().map(Some),
        None => Ok(None),
    }
}

/// Resolves many series at once. Each position of `refs` must get exactly one result.
fn many<'b>(view: &BlockView<'b>, refs: &[SeriesRef]) -> Vec<Result<Resolved<'b>>> {
    let mut results: Vec<Option<Result<Resolved<'b>>>> = vec![None; refs.len()];
    let mut last = None;
    view.resolver().resolve_many(refs, |position, labels| {
        assert!(last <= Some(refs[position]), "calls come in the order of refs");
        last = Some(refs[position]);
        let known = results[position].replace(labels.map(|labels| labels.map(<[Label]>::to_vec)));
        assert_eq!(known, None, "position {position} has one call");
    });
    results.into_iter().map(|result| result.expect("each position has a call")).collect()
}

/// Refs of a block in random order: some twice, and some that it does not have.
fn some_refs(view: &BlockView<'_>, random: &mut Random) -> Vec<SeriesRef> {
    let count = view.series_count().unwrap_or(0);
    let mut refs: Vec<u32> = (0..count.min(REFS)).collect();
    refs.extend((0..REFS / 4).map(|_| random.below(count.max(1) as usize) as u32));
    refs.extend([count, count.saturating_add(1), u32::MAX, u32::MAX, 0]);
    random.shuffle(&mut refs);
    refs.into_iter().map(SeriesRef).collect()
}

/// Checks that all ways to resolve give one result.
fn agree(view: &BlockView<'_>, random: &mut Random, what: &str) -> usize {
    let refs = some_refs(view, random);
    let mut resolver = view.resolver();
    for (&series, result) in refs.iter().zip(many(view, &refs)) {
        let expected = plain(view, series);
        assert_eq!(result, expected, "{what}: series {series}, many at once");
        let cached = resolver.labels(series).map(|labels| labels.map(<[Label]>::to_vec));
        assert_eq!(cached, expected, "{what}: series {series}, by a resolver");
    }
    refs.len()
}

/// Calls `check` with views that check chunks as they read them, without paths and with paths.
fn lazily(bytes: &[u8], mut check: impl FnMut(&BlockView<'_>)) {
    let Ok(frame) = Frame::parse(bytes) else { return };
    let paths = Paths::new();
    for paths in [None, Some(&paths)] {
        // Proofs of their own: a chunk that was checked before gives no errors.
        let proofs = ChunkProofs::new(bytes.len());
        let view = BlockView::with_frame(bytes, &frame, Some(&proofs));
        if view.prove_frame().is_ok() {
            check(&paths.map_or(view, |paths| view.with_paths(paths)));
        }
    }
}

/// Resolves a damaged block: labels may be wrong, since nothing is verified, but each ref gets its call. Returns the
/// number of errors.
fn survive(view: &BlockView<'_>, random: &mut Random) -> usize {
    let refs = some_refs(view, random);
    let mut resolver = view.resolver();
    for &series in &refs {
        let _ = resolver.labels(series).map(|labels| labels.map(<[Label]>::len));
    }
    many(view, &refs).iter().filter(|result| result.is_err()).count()
}

#[test]
fn no_refs_are_no_calls() {
    for golden in goldens() {
        assert!(many(&BlockView::open(&golden.bytes).unwrap(), &[]).is_empty());
    }
}

#[test]
fn goldens_resolve_in_any_order() {
    let mut random = Random::new(1);
    for golden in goldens() {
        let view = BlockView::open(&golden.bytes).unwrap();
        assert!(agree(&view, &mut random, golden.name) > 100);
        lazily(&golden.bytes, |view| assert!(agree(view, &mut random, golden.name) > 100));
    }
}

#[test]
fn random_blocks_resolve_in_any_order() {
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let series = random_series(1 + random.below(300), &mut random);
        let plan = random_plan(&series, &mut random);
        for form in [RowForm::BitPacked, RowForm::FixedWidth] {
            let bytes = build(&series, &plan, form, &BlockMeta::default()).unwrap();
            let what = format!("seed {seed}, {form:?}");
            agree(&BlockView::open(&bytes).unwrap(), &mut random, &what);
            lazily(&bytes, |view| assert!(agree(view, &mut random, &what) > 0));
        }
    }
}

#[test]
fn broken_blocks_give_errors_as_values() {
    let mut random = Random::new(2);
    let (mut errors, mut lazy_errors) = (0, 0);
    for broken in broken() {
        if let Ok(view) = BlockView::open(&broken.bytes) {
            errors += survive(&view, &mut random);
        }
        lazily(&broken.bytes, |view| lazy_errors += survive(view, &mut random));
    }
    assert!(errors >= 400 && lazy_errors >= 400, "{errors} errors, {lazy_errors} with lazy checks");
}

/// Without checks, a flipped bit may give wrong labels. With lazy checks it gives an error, or what the block had.
#[test]
fn flipped_bits_give_errors_as_values() {
    let mut random = Random::new(3);
    let (mut cases, mut errors) = (0, 0);
    // A block of one chunk is refused at opening.
    for golden in goldens().into_iter().filter(|golden| golden.bytes.len() > 8192) {
        let sound = BlockView::open(&golden.bytes).unwrap();
        for bit in (0..golden.bytes.len() * 8).step_by(golden.bytes.len() / 25) {
            let mut bytes = golden.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(view) = BlockView::open(&bytes) {
                survive(&view, &mut random);
            }
            lazily(&bytes, |view| {
                let refs = some_refs(&sound, &mut random);
                for (&series, result) in refs.iter().zip(many(view, &refs)) {
                    match result {
                        Ok(labels) => assert_eq!(Ok(labels), plain(&sound, series), "{}, bit {bit}", golden.name),
                        Err(_) => errors += 1,
                    }
                }
                // There and back: after an error, nothing of it is left.
                let mut resolver = view.resolver();
                for pair in refs.windows(2) {
                    for series in [pair[0], pair[1], pair[0]] {
                        if let Ok(labels) = resolver.labels(series) {
                            let labels = labels.map(<[Label]>::to_vec);
                            assert_eq!(Ok(labels), plain(&sound, series), "{}, bit {bit}", golden.name);
                        }
                    }
                }
                cases += 1;
            });
        }
    }
    assert!(cases > 0 && errors > 0, "{cases} blocks, {errors} errors");
}
