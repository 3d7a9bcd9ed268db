//! Guard: resolving and selecting as ratios to flat pairs of the same run, compared with recorded ratios.
//!
//! ```sh
//! cargo bench -p chronoxide-select --bench guard
//! cargo bench -p chronoxide-select --bench guard -- --record
//! ```
//!
//! The data are the generated million of the bench `resolve` of `chronoxide-reader`, factored, or `--block FILE`, with
//! the selectors of `bench/postings/selectors.txt`. All ways run in turn, round by round, each for a few milliseconds
//! at most, so that other work of the machine slows them alike; the median of the ratios of all rounds counts.
//!
//! Resolving is compared with flat pairs, which take 8 bytes per label and nothing to decode. A scan of flat pairs
//! would be too slow to compare a selection with: its unit is the time in which flat pairs resolve 100 series at random
//! 10 times. With 1,000 series once, which are not in the cache, the unit grew by half while another program used the
//! memory, and selections, which read little, did not.

#[path = "../../reader/benches/resolve/workload.rs"]
mod workload;

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use chronoxide_format::SeriesRef;
use chronoxide_format::view::{BlockView, Paths};
use chronoxide_select::{Index, Searcher, Selector};
use chronoxide_testkit::flat::{FlatPairs, touch};
use workload::{SERIES, blocks, scatter};

/// Rounds, each of one pass of every way.
const ROUNDS: u32 = 400;
/// Series that are resolved in a pass: other ones in each round, so that they are not in the cache.
const SAMPLE: u32 = 2000;
/// Series that flat pairs resolve at random in the unit of selections, and how often.
const UNIT: (u32, u32) = (100, 10);
/// Share by which a ratio may grow, unless set: more than a busy machine adds.
const TOLERANCE: f64 = 0.25;

/// Names of ways that others are compared with.
const IN_ORDER: &str = "in order, flat pairs";
const AT_RANDOM: &str = "at random, flat pairs";
const REPEATED: &str = "100 at random 10 times, flat pairs";

/// Selectors of the generated million, by kind.
const SELECTORS: [(&str, &str); 14] = [
    ("a host", r#"{"host.name"="node-0263.eu-central-1.internal"}"#),
    ("a pod", r#"{"k8s.pod.name"="service-043-151c41ff-3e8"}"#),
    ("a metric", r#"{__name__="app.subsystem0.metric_000"}"#),
    ("a metric and a namespace", r#"{__name__="app.subsystem0.metric_000","k8s.namespace.name"="team-9"}"#),
    ("a metric and a host", r#"{__name__="app.subsystem0.metric_000","host.name"="node-0263.eu-central-1.internal"}"#),
    ("a language and a namespace", r#"{"telemetry.sdk.language"="rust","k8s.namespace.name"="team-9"}"#),
    ("pods by prefix", r#"{"k8s.pod.name"=~"service-01.*"}"#),
    ("hosts by prefix", r#"{"host.name"=~"node-00.*"}"#),
    ("pods by a part", r#"{"k8s.pod.name"=~".*41f.*"}"#),
    ("pods by an automaton", r#"{"k8s.pod.name"=~".*[0-9]+[a-c].*"}"#),
    ("hosts of a set", r#"{"host.name"=~"node-0263.eu-central-1.internal|b|c"}"#),
    ("all but a host", r#"{"host.name"!="node-0263.eu-central-1.internal"}"#),
    ("a metric without a namespace", r#"{__name__="app.subsystem0.metric_000","k8s.namespace.name"!="team-9"}"#),
    ("presence of a label", r#"{"attribute.3"!=""}"#),
];

type Failure = Box<dyn Error>;
/// Selectors with their names.
type Selectors = Vec<(String, Selector)>;

/// A way to read labels or to select series.
struct Way<'a> {
    name: String,
    /// Name of the way that it is compared with.
    base: &'static str,
    /// Does the work of a round.
    pass: Box<dyn Fn(u32) -> u64 + 'a>,
}

/// Options of the command line.
struct Options {
    tolerance: f64,
    record: bool,
    file: PathBuf,
    block: Option<PathBuf>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let bench = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/ratios.json");
        let mut options = Self { tolerance: TOLERANCE, record: false, file: bench.into(), block: None };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match &*argument {
                "--tolerance" => options.tolerance = value()?.parse()?,
                "--record" => options.record = true,
                "--file" => options.file = value()?.into(),
                "--block" => options.block = Some(value()?.into()),
                "--bench" => {} // cargo adds it
                _ => {
                    let known = "--tolerance SHARE, --record, --file PATH, --block PATH";
                    return Err(format!("unknown argument {argument:?}; known are {known}").into());
                }
            }
        }
        Ok(options)
    }

    /// Returns the block and the selectors.
    fn data(&self) -> Result<(Vec<u8>, Selectors), Failure> {
        let selector = |(name, text): (&str, &str)| Ok((format!("select {name}"), Selector::parse_any(text)?));
        let Some(block) = &self.block else {
            let [_, _, (_, bytes)] = blocks(SERIES);
            return Ok((bytes, SELECTORS.into_iter().map(selector).collect::<Result<_, Failure>>()?));
        };
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/postings/selectors.txt");
        let text = std::fs::read_to_string(path)?;
        let selectors = text.lines().map(|line| selector((line, line))).collect::<Result<_, Failure>>()?;
        Ok((std::fs::read(block)?, selectors))
    }
}

fn touch_series(view: &BlockView<'_>, series: u32) -> u64 {
    let series = view.series(SeriesRef(series)).expect("sound").expect("a series");
    series.labels().map(|label| label.expect("sound")).map(|label| touch(label.name) + touch(label.value)).sum()
}

fn touch_all(view: &BlockView<'_>, series: impl Iterator<Item = u32>) -> u64 {
    let mut resolver = view.resolver();
    let mut sum = 0;
    for series in series {
        let labels = resolver.labels(SeriesRef(series)).expect("sound").expect("a series");
        sum += labels.iter().map(|label| touch(label.name) + touch(label.value)).sum::<u64>();
    }
    sum
}

fn touch_many(view: &BlockView<'_>, refs: &[SeriesRef]) -> u64 {
    let mut sum = 0;
    view.resolver().resolve_many(refs, |_, labels| {
        let labels = labels.expect("sound").expect("a series");
        sum += labels.iter().map(|label| touch(label.name) + touch(label.value)).sum::<u64>();
    });
    sum
}

/// Returns the ways of a block and of its series as flat pairs, which they are checked against.
fn ways<'a>(searcher: &'a Searcher<'a, '_>, flat: &'a FlatPairs, selectors: &'a [(String, Selector)]) -> Vec<Way<'a>> {
    let view = searcher.view();
    let series_count = view.series_count().expect("sound");
    let in_order = move |round| (0..SAMPLE).map(move |n| (round * SAMPLE + n) % series_count);
    let at_random = move |round, count| (0..count).map(move |n| scatter(round * SAMPLE + n) % series_count);
    let refs: Vec<SeriesRef> = at_random(0, ROUNDS * SAMPLE).map(SeriesRef).collect();
    let many = move |round: u32| touch_many(view, refs.chunks(SAMPLE as usize).nth(round as usize).expect("a round"));
    let expected: u64 = at_random(1, SAMPLE).map(|series| flat.touch(series)).sum();
    assert_eq!(many(1), expected);
    assert_eq!(touch_all(view, at_random(1, SAMPLE)), expected);
    let way = |name: &str, base, pass: Box<dyn Fn(u32) -> u64 + 'a>| Way { name: name.to_owned(), base, pass };
    let one_by_one = move |series: &mut dyn Iterator<Item = u32>| series.map(|one| touch_series(view, one)).sum();
    let in_pairs = move |series: &mut dyn Iterator<Item = u32>| series.map(|one| flat.touch(one)).sum();
    let mut ways = vec![
        way(IN_ORDER, IN_ORDER, Box::new(move |round| in_pairs(&mut in_order(round)))),
        way("in order", IN_ORDER, Box::new(move |round| one_by_one(&mut in_order(round)))),
        way("in order, resolver", IN_ORDER, Box::new(move |round| touch_all(view, in_order(round)))),
        way(AT_RANDOM, AT_RANDOM, Box::new(move |round| in_pairs(&mut at_random(round, SAMPLE)))),
        way("at random", AT_RANDOM, Box::new(move |round| one_by_one(&mut at_random(round, SAMPLE)))),
        way("at random, resolver", AT_RANDOM, Box::new(move |round| touch_all(view, at_random(round, SAMPLE)))),
        way("at random, resolve_many", AT_RANDOM, Box::new(many)),
        way(
            REPEATED,
            REPEATED,
            Box::new(move |round| (0..UNIT.1).map(|_| in_pairs(&mut at_random(round, UNIT.0))).sum()),
        ),
    ];
    for (name, selector) in selectors {
        let count = searcher.count(selector.matchers()).expect("sound");
        assert!(count > 0, "{name} selects series");
        let pass = move |_| {
            let selection = searcher.select(selector.matchers()).expect("sound");
            selection.iter().map(|series| u64::from(series.0)).sum()
        };
        ways.push(way(name, REPEATED, Box::new(pass)));
    }
    ways
}

/// Returns the median ratio of each way to its base.
fn measure(ways: &[Way<'_>]) -> Vec<(String, f64)> {
    let base = |way: &Way<'_>| ways.iter().position(|base| base.name == way.base).expect("a way of the list");
    let bases: Vec<usize> = ways.iter().map(base).collect();
    let mut ratios = vec![Vec::new(); ways.len()];
    for round in 0..ROUNDS {
        let time = |way: &Way<'_>| {
            let start = Instant::now();
            black_box((way.pass)(round));
            start.elapsed().as_secs_f64()
        };
        let times: Vec<f64> = ways.iter().map(time).collect();
        for ((time, &base), ratios) in times.iter().zip(&bases).zip(&mut ratios) {
            ratios.push(time / times[base]);
        }
    }
    let others = ways.iter().zip(ratios).filter(|(way, _)| way.name != way.base);
    let median = |mut ratios: Vec<f64>| {
        ratios.sort_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    };
    others.map(|(way, ratios)| (way.name.clone(), median(ratios))).collect()
}

/// Prints the recorded and the measured ratios. Returns the number of ratios that are worse than tolerated.
fn compare(recorded: &BTreeMap<String, f64>, now: &[(String, f64)], tolerance: f64) -> usize {
    let width = now.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    println!("{:width$}  recorded       now  change", "");
    let mut worse = 0;
    for (name, now) in now {
        let Some(recorded) = recorded.get(name) else {
            println!("{name:width$}  {:>8}  {now:8.4}", "-");
            continue;
        };
        let change = now / recorded - 1.0;
        let is_worse = change > tolerance;
        worse += usize::from(is_worse);
        println!(
            "{name:width$}  {recorded:8.4}  {now:8.4}  {:+5.0}%{}",
            change * 100.0,
            if is_worse { "  worse" } else { "" }
        );
    }
    worse
}

fn run() -> Result<usize, Failure> {
    let options = Options::parse(std::env::args().skip(1))?;
    let (bytes, selectors) = options.data()?;
    let paths = Paths::new();
    let view = BlockView::open(&bytes)?.with_paths(&paths);
    let index = Index::new(&view)?;
    let flat = FlatPairs::from_view(&view);
    let searcher = Searcher::new(&view, &index);
    let now = measure(&ways(&searcher, &flat, &selectors));
    let recorded = match std::fs::read(&options.file) {
        Ok(text) => serde_json::from_slice(&text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
        Err(error) => return Err(error.into()),
    };
    let worse = compare(&recorded, &now, options.tolerance);
    if options.record {
        let rounded = |(name, ratio): &(String, f64)| Ok((name.clone(), format!("{ratio:.2e}").parse()?));
        let rounded: BTreeMap<String, f64> = now.iter().map(rounded).collect::<Result<_, Failure>>()?;
        std::fs::write(&options.file, serde_json::to_string_pretty(&rounded)? + "\n")?;
        return Ok(0);
    }
    Ok(worse)
}

fn main() -> ExitCode {
    // `cargo test --all-targets` runs benches, too.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing is measured without cargo bench");
        return ExitCode::SUCCESS;
    }
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(worse) => {
            eprintln!("{worse} ratios are worse than tolerated");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
