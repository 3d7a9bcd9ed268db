//! What tests share: options at random, a model of what they do to a series, and what is in a block.

// Each test binary uses its own part.
#![allow(dead_code)]

use std::collections::BTreeSet;

use chronoxide_compactor::select::Selector;
use chronoxide_compactor::{CompactOptions, Rewrite};
use chronoxide_format::view::BlockView;
use chronoxide_planner::Layout;
use chronoxide_testdata::plan::Labelset;
use chronoxide_testdata::random::Random;

/// Selectors about labels that random series have, or do not have; values of which are theirs.
pub const SELECTORS: [&str; 9] = [
    r#"{pod="pod-3"}"#,
    r#"{pod=~"pod-[0-4]",node!="node-0"}"#,
    r#"{zone="1",code=""}"#,
    r#"{node=~"node-[12]"}"#,
    r#"{__name__=~".+",le!~"x+"}"#,
    r#"{"a.b"=~".*[0-9]"}"#,
    r#"{"größe"!="",pod!~"pod-1."}"#,
    r#"{absent="a"}"#,
    r#"{__name__!="",absent=""}"#,
];

/// Old and new names of labels; some of them no series has.
const RENAMES: [(&str, &str); 7] = [
    ("pod", "instance"),
    ("node", "zone"),
    ("zone", "a"),
    ("a", "b"),
    ("le", "a"),
    ("absent", "pod"),
    ("code", "code"),
];

/// Labels to drop.
const NAMES: [&str; 5] = ["pod", "__name__", "le", "größe", "absent"];

fn some<T: Clone>(all: &[T], percent: usize, random: &mut Random) -> Vec<T> {
    let mut some: Vec<T> = all.iter().filter(|_| random.percent(percent)).cloned().collect();
    random.shuffle(&mut some);
    some
}

/// A layout, and now and then selectors, dropped and renamed labels.
pub fn random_options(random: &mut Random) -> CompactOptions {
    let selectors = |percent, random: &mut Random| -> Vec<Selector> {
        some(&SELECTORS, percent, random).into_iter().map(|text| text.parse().unwrap()).collect()
    };
    let rename = |(old, new): (&str, &str)| (old.to_owned(), new.to_owned());
    let rewrite = if random.percent(60) {
        Rewrite {
            drop_labels: some(&NAMES, 20, random).into_iter().map(str::to_owned).collect(),
            rename_labels: some(&RENAMES, 30, random).into_iter().map(rename).collect(),
        }
    } else {
        Rewrite::default()
    };
    CompactOptions {
        layout: Layout::ALL[random.below(3)],
        replan: random.percent(30),
        keep: if random.percent(40) { selectors(40, random) } else { Vec::new() },
        drop: if random.percent(60) { selectors(15, random) } else { Vec::new() },
        rewrite,
        ..CompactOptions::default()
    }
}

/// What becomes of a series, as the documentation of the options says it.
pub fn expected(labels: &Labelset, options: &CompactOptions) -> Option<Labelset> {
    let selects = |selector: &Selector| selector.matches_labels(labels.iter().map(|(name, value)| (&**name, &**value)));
    if !options.keep.is_empty() && !options.keep.iter().any(selects) || options.drop.iter().any(selects) {
        return None;
    }
    let Rewrite { drop_labels, rename_labels } = &options.rewrite;
    let renamed = |name: &str| rename_labels.iter().rev().find(|(old, _)| old == name).map(|(_, new)| new);
    let left = labels.iter().filter(|(name, _)| !drop_labels.contains(name));
    let mut after: Labelset = left
        .clone()
        .filter(|(name, _)| renamed(name).is_none())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    // In the order in which they were given, so that the last wins.
    for (old, new) in rename_labels {
        if renamed(old) == Some(new)
            && let Some((_, value)) = left.clone().find(|(name, _)| *name == old)
        {
            after.insert(new.clone(), value.clone());
        }
    }
    (!after.is_empty()).then_some(after)
}

/// The series of a block.
pub fn content(block: &[u8]) -> BTreeSet<Labelset> {
    let view = BlockView::open(block).unwrap();
    let text = view.text().unwrap();
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    view.all_series().map(|series| text.labels(&series.unwrap()).map(|label| owned(label.unwrap())).collect()).collect()
}
