//! A block for unit tests.

use std::collections::BTreeSet;

use chronoxide_format::layout::RowForm;
use chronoxide_format::write::BlockMeta;
use chronoxide_inspect::report::{Explorer, Input, Options, explore};
use chronoxide_reader::{Block, Checks};
use chronoxide_testkit::plan::{Labelset, Plan, build};

/// Calls `each` with the counts of a block of these series.
pub(super) fn with_explorer<T>(series: &[&[(&str, &str)]], each: impl FnOnce(&Explorer<'_>) -> T) -> T {
    let labelset = |labels: &&[(&str, &str)]| labels.iter().map(|&(name, value)| (name.into(), value.into())).collect();
    let series: BTreeSet<Labelset> = series.iter().map(labelset).collect();
    let bytes = build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
    let blocks = vec![Block::from_vec(bytes, Checks::Lazy).unwrap().with_path("a.cx").into()];
    let input = Input { name: "a.cx".to_owned(), is_folder: false, skipped: Vec::new(), is_whole: true, blocks };
    explore(&input, &Options::default(), each).unwrap()
}

/// Series of two metrics and one series without a name.
pub(super) const SERIES: &[&[(&str, &str)]] = &[
    &[("__name__", "up"), ("job", "api"), ("pod", "a-1")],
    &[("__name__", "up"), ("job", "api"), ("pod", "a-2")],
    &[("__name__", "up"), ("job", "web"), ("pod", "B-3")],
    &[("__name__", "load"), ("job", "api")],
    &[("__name__", "load"), ("job", "web")],
    &[("job", "none")],
];
