//! A view with paths gives what a view without paths gives, for sound blocks and for damaged ones.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::view::{BlockView, Label, Paths};
use chronoxide_format::write::{BlockBuilder, BlockMeta};
use chronoxide_format::{Result, SeriesRef, SymbolId};
use chronoxide_testkit::archive::archives;
use chronoxide_testkit::broken::broken;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{KeysetPlan, Labelset, Plan, Source, build};
use chronoxide_testkit::random::Random;

/// Series that are read at most, per block.
const SERIES: u32 = 16;

/// Reads a series. Iterators must end after an error.
fn labels<'b>(view: &BlockView<'b>, series: SeriesRef) -> Result<Option<Vec<Label<'b>>>> {
    let Some(series) = view.series(series)? else { return Ok(None) };
    let labels: Vec<_> = series.labels().take(2000).collect();
    let errors = labels.iter().filter(|label| label.is_err()).count();
    assert!(errors == 0 || (errors == 1 && labels.last().is_some_and(|label| label.is_err())), "{labels:?}");
    labels.into_iter().collect::<Result<_>>().map(Some)
}

/// Checks that series have the labels of a view without paths, or an error where it gives one. Returns the number of
/// errors. A resolver need not agree: in order it trusts the lengths of lists, at random it trusts anchors.
fn agree(bare: &BlockView<'_>, random: &mut Random, what: &str) -> usize {
    let paths = Paths::new();
    let view = bare.with_paths(&paths);
    let count = bare.series_count().unwrap_or(0);
    let in_order = (0..count.min(SERIES)).chain([count, u32::MAX]);
    let scattered = (0..SERIES).map(|_| random.below(count.clamp(1, 10_000) as usize) as u32);
    let mut errors = 0;
    for series in in_order.chain(scattered).map(SeriesRef) {
        let expected = labels(bare, series).ok();
        assert_eq!(labels(&view, series).ok(), expected, "{what}: series {series}");
        errors += usize::from(expected.is_none());
    }
    errors
}

#[test]
fn damage_gives_errors_where_it_gives_them_without_paths() {
    let mut random = Random::new(1);
    let mut errors = 0;
    for broken in broken() {
        if let Ok(view) = BlockView::open(&broken.bytes) {
            errors += agree(&view, &mut random, &broken.name);
        }
    }
    for golden in goldens() {
        let mut bytes = golden.bytes;
        // An odd step meets each bit of a byte.
        let step = (bytes.len() * 8 / 400) | 1;
        for bit in (0..bytes.len() * 8).step_by(step) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(view) = BlockView::open(&bytes) {
                errors += agree(&view, &mut random, &format!("{}, bit {bit}", golden.name));
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
    assert!(errors > 1000, "{errors} errors");
}

#[test]
fn verification_does_not_read_paths() {
    let goldens = goldens();
    for pair in goldens.windows(2) {
        let [other, golden] = pair else { unreachable!("windows of two") };
        let paths = Paths::new();
        let other_view = BlockView::open(&other.bytes).unwrap().with_paths(&paths);
        read_all(&other_view);
        let view = BlockView::open(&golden.bytes).unwrap();
        assert_eq!(view.with_paths(&paths).verify(), view.verify(), "{} after {}", golden.name, other.name);
    }
}

/// Reads all series, so that paths keep what they can.
fn read_all(view: &BlockView<'_>) {
    for series in view.series_iter() {
        assert!(series.unwrap().labels().all(|label| label.is_ok()));
    }
}

#[test]
fn a_packed_arena_leaves_paths_as_they_are() {
    let mut packed = 0;
    for archive in archives() {
        let paths = Paths::new();
        let view = BlockView::open(&archive.bytes).unwrap().with_paths(&paths);
        if !view.is_packed() || view.series_count() == Ok(0) {
            continue;
        }
        let series = view.series(SeriesRef(0)).unwrap().unwrap();
        let ids: Vec<_> = series.label_ids().map(Result::unwrap).collect();
        assert_eq!(paths.allocated(), 0, "{}", archive.name);
        let mut arena = Vec::new();
        let bare = BlockView::open_unpacked(&archive.bytes, &mut arena).unwrap();
        let view = bare.with_paths(&paths);
        assert_eq!(labels(&view, SeriesRef(0)), labels(&bare, SeriesRef(0)), "{}", archive.name);
        let series = view.series(SeriesRef(0)).unwrap().unwrap();
        assert_eq!(series.label_ids().map(Result::unwrap).collect::<Vec<_>>(), ids, "{}", archive.name);
        assert!(paths.allocated() > 0, "{}", archive.name);
        packed += 1;
    }
    assert!(packed > 0);
}

/// Returns the bytes of the paths to one series, whose keys have these numbers of values.
fn allocated(value_counts: &[usize]) -> usize {
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    let most = value_counts.iter().max().copied().unwrap_or(0);
    let values: Vec<SymbolId> = (0..most).map(|value| builder.push_symbol(&format!("{value:05}")).unwrap()).collect();
    let names: Vec<SymbolId> =
        (0..value_counts.len()).map(|key| builder.push_symbol(&format!("key{key}")).unwrap()).collect();
    let keys = names.iter().zip(value_counts).map(|(&name, &count)| builder.push_key(name, &values[..count]).unwrap());
    let keys: Vec<_> = keys.collect();
    builder.push_keyset(&keys, &vec![0; keys.len()]).unwrap();
    let bytes = builder.finish(&BlockMeta::default()).unwrap();
    let paths = Paths::new();
    read_all(&BlockView::open(&bytes).unwrap().with_paths(&paths));
    paths.allocated()
}

#[test]
fn paths_keep_few_values() {
    // Dictionaries of at most 2^14 values are kept, of 2^16 values together: 8 bytes for each.
    let one = allocated(&[1 << 14]);
    assert!((8 << 14..(8 << 14) + 2000).contains(&one), "{one}");
    let large = allocated(&[(1 << 14) + 1]);
    assert!(large < 2000, "{large}");
    let four = allocated(&[1 << 14; 4]);
    let five = allocated(&[1 << 14; 5]);
    assert!(five < four + 1000, "{four}, then {five}");
}

/// Three values take codes of two bits: a flipped bit makes two of the three the first code that is out of range.
#[test]
fn the_code_after_the_last_one_is_an_error() {
    let labelset = |labels: &[(&str, &str)]| -> Labelset {
        labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let mut series = BTreeSet::from(["a", "b", "c"].map(|value| labelset(&[("j", "x"), ("k", value)])));
    check_first_code_out_of_range(&series, &Plan::default());
    // Now the dictionary has a fourth value, but the map has three rows.
    series.insert(labelset(&[("k", "d")]));
    let [j, k] = ["j", "k"].map(str::to_owned);
    let columns = vec![Source::Key(j.clone()), Source::Table(0)];
    let plan = Plan {
        tables: vec![vec![Source::Key(k.clone())]],
        keysets: BTreeMap::from([(vec![j, k], KeysetPlan { columns, list: None })]),
    };
    check_first_code_out_of_range(&series, &plan);
}

/// Flips each bit of the rows, and checks that two of the blocks have an error.
fn check_first_code_out_of_range(series: &BTreeSet<Labelset>, plan: &Plan) {
    let mut bytes = build(series, plan, RowForm::BitPacked, &BlockMeta::default()).unwrap();
    let view = BlockView::open(&bytes).unwrap();
    let rows = view.sections().find(|section| section.known() == Some(SectionKind::Rows)).unwrap();
    let mut errors = [0; 2];
    for bit in rows.offset as usize * 8..(rows.offset + rows.length) as usize * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (bare, paths) = (BlockView::open(&bytes).unwrap(), Paths::new());
        for (view, errors) in [bare, bare.with_paths(&paths)].iter().zip(&mut errors) {
            *errors += (0..3).filter(|&series| labels(view, SeriesRef(series)).is_err()).count();
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert_eq!(errors, [2; 2], "{plan:?}");
}

/// Each of 100 keysets has all 1,000 labels of one table: their paths would take 1.8 MB, the block 0.03.
#[test]
fn paths_take_no_more_than_their_room() {
    let shared: Vec<String> = (0..1_000).map(|key| format!("s{key:04}")).collect();
    let own: Vec<String> = (0..100).map(|key| format!("o{key:03}")).collect();
    let names = |own: &String| [vec![own.clone()], shared.clone()].concat();
    let series: BTreeSet<Labelset> =
        own.iter().map(|own| names(own).into_iter().map(|name| (name, "v".to_owned())).collect()).collect();
    let columns = |own: &String| vec![Source::Key(own.clone()), Source::Table(0)];
    let keyset = |own: &String| (names(own), KeysetPlan { columns: columns(own), list: None });
    let tables = vec![shared.iter().cloned().map(Source::Key).collect()];
    let plan = Plan { tables, keysets: own.iter().map(keyset).collect() };
    let bytes = build(&series, &plan, RowForm::BitPacked, &BlockMeta::default()).unwrap();
    let (bare, paths) = (BlockView::open(&bytes).unwrap(), Paths::new());
    let view = bare.with_paths(&paths);
    for number in (0..100).map(SeriesRef) {
        assert_eq!(labels(&view, number), labels(&bare, number), "{number:?}");
        let mut resolver = view.resolver();
        assert_eq!(resolver.labels(number).map(|labels| labels.map(<[_]>::to_vec)), labels(&bare, number));
    }
    assert!((900_000..1_300_000).contains(&paths.allocated()), "{}", paths.allocated());
}
