//! Properties of each block that verifies.

use std::collections::BTreeSet;

use chronoxide_dump::dump;
use chronoxide_format::layout::{MAJOR, MINOR};
use chronoxide_format::view::{BlockView, Series};
use chronoxide_format::{Result, SeriesRef};

use super::rebuild::{fingerprint_of, rebuilt, rebuilt_with_rows_written_later};
use crate::archive::is_same_archive;
use crate::plan::Labelset;

/// Series that are looked at one by one. Few bytes can stand for very many.
const MAX_SERIES: u32 = 64;

/// The series of a block, if it is sound and they are few.
///
/// # Panics
/// If a block that verifies breaks a promise: something cannot be read, counts differ, a series stands twice or is not
/// found at its own ref, its labels are out of order, or the block is not what the builder makes of its content.
///
/// What costs the most is done only if the check is to be thorough.
pub fn check(view: &BlockView<'_>, is_thorough: bool) -> Option<BTreeSet<Labelset>> {
    let content = view.verify().ok()?;
    let meta = view.meta().expect("a sound block has meta");
    assert_eq!((meta.series_count(), meta.label_count()), (content.series_count, content.label_count));
    assert_eq!(meta.fingerprint(), content.fingerprint.to_parts());
    // A block with an unknown feature in `ro_compat` may have another canonical form. The builder writes one version.
    if view.unknown_ro_compat() == 0 && view.version() == (MAJOR, MINOR) {
        let is_same = |block: &[u8]| match view.packed() {
            Ok(None) => block == view.bytes(),
            // Frames of one content differ, and nothing else does.
            _ => is_same_archive(block, view.bytes()),
        };
        assert!(is_same(&rebuilt(view)), "verify accepts a block that the builder would not make");
        assert!(is_same(&rebuilt_with_rows_written_later(view)), "rows written later make another block");
    }
    let series = series(view)?;
    assert_eq!(series.len() as u64, content.series_count, "series are missing");
    let label_count: usize = series.iter().map(Labelset::len).sum();
    assert_eq!(label_count as u64, content.label_count, "labels are missing");
    if is_thorough {
        assert_eq!(fingerprint_of(&series), content.fingerprint, "the fingerprint depends on the plan");
        dump(view, Some(2), &mut std::io::sink()).expect("a sound block is dumped");
    }
    Some(series)
}

/// The series of a sound block, if they are few.
///
/// # Panics
/// As [`check`], without what concerns the block as a whole.
#[must_use]
pub fn series(view: &BlockView<'_>) -> Option<BTreeSet<Labelset>> {
    let count = view.series_count().expect("a sound block counts its series");
    if count > MAX_SERIES {
        return None;
    }
    let mut all = BTreeSet::new();
    for (number, series) in (0..).zip(view.series_iter()) {
        let series = series.expect("a sound block has its series");
        assert_eq!(series.series_ref(), SeriesRef(number), "refs have gaps");
        let again = view.series(SeriesRef(number)).expect("a sound block").expect("a ref below the count");
        assert!(again.label_ids().eq(series.label_ids()), "series {number} differs when resolved by itself");
        let labels = labels(&series).expect("a sound block has its labels");
        assert_eq!(view.find(&labels), Ok(Some(SeriesRef(number))), "{labels:?}");
        assert!(all.insert(labels), "series {number} stands twice");
    }
    assert_eq!(all.len(), count as usize, "series are missing");
    assert_eq!(view.series(SeriesRef(count)).map(|series| series.is_none()), Ok(true));
    Some(all)
}

/// The series of a sound block by their refs.
///
/// # Panics
/// If one cannot be read.
#[must_use]
pub fn series_in_order(view: &BlockView<'_>) -> Vec<Labelset> {
    let series = |series: Result<Series<'_, '_>>| labels(&series.expect("a sound block has its series"));
    view.series_iter().map(series).collect::<Result<_>>().expect("a sound block has its labels")
}

fn labels(series: &Series<'_, '_>) -> Result<Labelset> {
    let mut labels = Labelset::new();
    for label in series.labels() {
        let label = label?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("a sound block is UTF-8");
        let (name, value) = (text(label.name), text(label.value));
        assert!(labels.last_key_value().is_none_or(|(last, _)| *last < name), "{name:?} is out of order");
        assert_eq!(series.get(label.name), Ok(Some(label.value)), "{name:?}");
        assert!(!value.is_empty(), "{name:?} has no value");
        labels.insert(name, value);
    }
    Ok(labels)
}
