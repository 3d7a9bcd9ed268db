//! Times of reading labels relative to flat pairs, and of lazy checks relative to none. All ways run in turn, round by
//! round, so that other work of the machine slows them alike.
//!
//! The least that any way can take is to touch the bytes of labels that are resolved and in the cache: of
//! [`RESOLVED`] series, again and again.

use std::hint::black_box;
use std::time::Instant;

use chronoxide_format::view::{BlockView, Paths};
use chronoxide_reader::{Block, Checks, Label, SeriesRef};
use chronoxide_testkit::flat::{FlatPairs, touch};
use criterion::Criterion;

use crate::workload::{SERIES, blocks, scatter};
use crate::{SAMPLE, at_random, in_order, touch_all, touch_many, touch_series};

/// Rounds, each of one pass of every way.
const ROUNDS: usize = 21;
/// Series whose labels are resolved before.
const RESOLVED: usize = 100;
/// Series to find in a pass.
const FOUND: u32 = 2000;

/// A way to read labels.
struct Way<'a> {
    name: &'static str,
    /// Name of the way that it is compared with.
    base: &'static str,
    /// Largest ratio to the base that is wanted.
    goal: Option<f64>,
    pass: Box<dyn Fn() -> u64 + 'a>,
}

impl<'a> Way<'a> {
    fn new(name: &'static str, base: &'static str, goal: Option<f64>, pass: impl Fn() -> u64 + 'a) -> Self {
        Self { name, base, goal, pass: Box::new(pass) }
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn print(ways: &[Way<'_>]) {
    let mut nanos = vec![Vec::with_capacity(ROUNDS); ways.len()];
    for _ in 0..ROUNDS {
        for (way, nanos) in ways.iter().zip(&mut nanos) {
            let start = Instant::now();
            black_box((way.pass)());
            nanos.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(SAMPLE));
        }
    }
    println!("{:34} {:>7}  ratio  goal", "", "ns");
    for (way, own) in ways.iter().zip(&nanos) {
        let base = ways.iter().position(|base| base.name == way.base).expect("a way of the list");
        let ratio = median(own.iter().zip(&nanos[base]).map(|(own, base)| own / base).collect());
        let goal = way.goal.map_or_else(String::new, |goal| format!("{goal:.2} of {}", way.base));
        println!("{:34} {:7.0}  {ratio:5.2}  {goal}", way.name, median(own.clone()));
    }
}

/// Prints the median time per series of each way, and the median ratio to its base, unless other benches are asked for.
pub fn ratios(_: &mut Criterion) {
    if std::env::args().skip(1).any(|argument| !argument.starts_with('-') && argument != "ratios") {
        return;
    }
    let [_, _, (_, bytes)] = blocks(SERIES);
    let bare = &BlockView::open(&bytes).expect("sound");
    let paths = Paths::new();
    let view = &bare.with_paths(&paths);
    let lazy = Block::from_vec(bytes.clone(), Checks::Lazy).expect("sound");
    lazy.keep_paths();
    let lazy = &lazy.view();
    let flat = &FlatPairs::from_view(view);
    let refs: &Vec<SeriesRef> = &at_random().map(SeriesRef).collect();
    let expected: u64 = at_random().map(|series| flat.touch(series)).sum();
    assert_eq!(touch_many(view, refs), expected);
    assert_eq!(touch_all(lazy, at_random()), expected);

    let resolved: Vec<Vec<Label<'_>>> = in_order()
        .take(RESOLVED)
        .map(|n| view.series(SeriesRef(n)).expect("sound").expect("a series").labels().collect::<Result<_, _>>())
        .collect::<Result<_, _>>()
        .expect("sound");
    let touch_labels =
        |labels: &Vec<Label<'_>>| -> u64 { labels.iter().map(|label| touch(label.name) + touch(label.value)).sum() };
    let one_by_one = |view: &BlockView<'_>, refs: &mut dyn Iterator<Item = u32>| -> u64 {
        refs.map(|series| touch_series(view, series)).sum()
    };
    println!("a million factored series, every byte of every label, per series:");
    print(&[
        Way::new("in order, flat pairs", "in order, flat pairs", None, || {
            in_order().map(|series| flat.touch(series)).sum()
        }),
        Way::new("bytes of resolved labels", "in order, flat pairs", None, || {
            resolved.iter().cycle().take(SAMPLE as usize).map(touch_labels).sum()
        }),
        Way::new("in order", "in order, flat pairs", Some(2.0), || one_by_one(view, &mut in_order())),
        Way::new("in order, without paths", "in order, flat pairs", None, || one_by_one(bare, &mut in_order())),
        Way::new("in order, lazy", "in order", Some(1.05), || one_by_one(lazy, &mut in_order())),
        Way::new("in order, resolver", "in order, flat pairs", Some(0.9), || touch_all(view, in_order())),
        Way::new("in order, resolver, lazy", "in order, resolver", Some(1.05), || touch_all(lazy, in_order())),
        Way::new("at random, flat pairs", "at random, flat pairs", None, || {
            at_random().map(|series| flat.touch(series)).sum()
        }),
        Way::new("at random", "at random, flat pairs", Some(1.0), || one_by_one(view, &mut at_random())),
        Way::new("at random, without paths", "at random, flat pairs", None, || one_by_one(bare, &mut at_random())),
        Way::new("at random, lazy", "at random", Some(1.05), || one_by_one(lazy, &mut at_random())),
        Way::new("at random, resolver", "at random, flat pairs", Some(0.6), || touch_all(view, at_random())),
        Way::new("at random, resolver, lazy", "at random, resolver", Some(1.05), || touch_all(lazy, at_random())),
        Way::new("at random, resolve_many", "at random, flat pairs", Some(0.4), || touch_many(view, refs)),
        Way::new("at random, resolve_many, lazy", "at random, resolve_many", Some(1.05), || touch_many(lazy, refs)),
    ]);
    find(view, lazy);
    println!("paths take {:.2} bytes per series", paths.allocated() as f64 / f64::from(SERIES));
}

/// Prints the time of finding a series by its labels.
fn find(view: &BlockView<'_>, lazy: &BlockView<'_>) {
    let text = view.text().expect("sound");
    let labels = |n| -> Vec<(&str, &str)> {
        let series = view.series(SeriesRef(scatter(n) % SERIES)).expect("sound").expect("a series");
        text.labels(&series).map(|label| label.map(Into::into)).collect::<Result<_, _>>().expect("sound")
    };
    let wanted: Vec<_> = (0..FOUND).map(labels).collect();
    let mut times = [view, lazy].map(|view| (view, Vec::with_capacity(ROUNDS)));
    for _ in 0..ROUNDS {
        for (view, times) in &mut times {
            let start = Instant::now();
            for labels in &wanted {
                assert!(view.find(labels.iter().copied()).expect("sound").is_some());
            }
            times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(FOUND));
        }
    }
    let [(_, never), (_, lazy)] = times;
    let ratio = median(lazy.iter().zip(&never).map(|(lazy, never)| lazy / never).collect());
    let (never, lazy) = (median(never), median(lazy));
    println!("find without an index: {never:.1} us; lazy {lazy:.1} us, ratio {ratio:.2}, goal 1.05");
}
