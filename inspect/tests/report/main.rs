//! Figures of reports, beside counts over plain labelsets.

mod model;

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_compactor::{AnnotationPolicy, CompactOptions, Compaction, Rewrite};
use chronoxide_format::column::{ColumnMerge, Value as ColumnValue, ValueType};
use chronoxide_format::layout::RowForm;
use chronoxide_format::metadata::{MetricMetadata, MetricSet, MetricType, Temporality};
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_inspect::query::Explosion;
use chronoxide_inspect::report::{Churn, Input, Options, Report, compare, report};
use chronoxide_reader::{Block, Checks};
use chronoxide_select::Selector;
use chronoxide_testkit::columns::column;
use chronoxide_testkit::plan::{Labelset, Plan, build, labelsets};
use chronoxide_testkit::random::{Random, random_block, random_plan, random_series};
use model::Series;
use serde_json::{Value, json};

const SEEDS: u64 = 60;

fn input(blocks: &[Vec<u8>], is_folder: bool) -> Input {
    let block = |(number, bytes): (usize, &Vec<u8>)| {
        Block::from_vec(bytes.clone(), Checks::Lazy).unwrap().with_path(format!("{number}.cx")).into()
    };
    Input {
        name: "input".to_owned(),
        is_folder,
        skipped: Vec::new(),
        is_whole: true,
        blocks: blocks.iter().enumerate().map(block).collect(),
    }
}

fn options(first: usize) -> Options<'static> {
    Options { first, ..Options::default() }
}

/// Compares everything that follows from the series alone.
#[track_caller]
fn check_series(report: &Report, series: &Series, first: usize) {
    let found = serde_json::to_value(report).unwrap();
    for (name, expected) in model::totals(series).as_object().unwrap() {
        assert_eq!(&found["totals"][name], expected, "{name}");
    }
    let (metrics, others) = model::metrics(series, first);
    assert_eq!(found["metrics"], Value::from(metrics));
    assert_eq!(found["other_metrics"], others);
    let mut labels = found["labels"].clone();
    labels.as_array_mut().unwrap().iter_mut().for_each(|label| {
        label.as_object_mut().unwrap().remove("looks");
    });
    assert_eq!(labels, Value::from(model::labels(series)));
    assert_eq!(found["other_labels"], json!({ "labels": 0, "values": 0 }));
}

/// Compares the effect of each suggestion with that of a compaction and with plain labelsets. Returns their number.
fn check_suggestions(report: &Report, block: &[u8], series: &Series) -> usize {
    let view = [BlockView::open(block).unwrap()];
    let mut seen = BTreeSet::new();
    for suggestion in &report.suggestions {
        let labels: Vec<&str> = suggestion.labels.iter().map(String::as_str).collect();
        let expected = match &suggestion.metric {
            Some(metric) => series.iter().filter(|labels| labels.get("__name__") != Some(metric)).count(),
            None => model::without(series, &labels).len(),
        };
        assert_eq!(suggestion.remains, expected as u64, "{suggestion:?}");
        assert_eq!(suggestion.removes, series.len() as u64 - suggestion.remains);
        assert!(suggestion.removes * 20 >= series.len() as u64, "{suggestion:?}");
        assert!(!labels.contains(&"__name__") && !labels.contains(&"le"), "{suggestion:?}");
        let words = shlex::split(&suggestion.command).unwrap();
        assert_eq!(words[..4], ["chronoxide-compact", "input", "-o", "smaller.cx"]);
        let mut options = CompactOptions::default();
        let (mut drop_labels, mut rest) = (Vec::new(), &words[4..]);
        while let [option, value, after @ ..] = rest {
            match option.as_str() {
                "--drop-label" => drop_labels.push(value.clone()),
                "--drop" => options.drop.push(value.parse().unwrap()),
                other => panic!("{other}"),
            }
            rest = after;
        }
        assert_eq!(rest, [] as [String; 0]);
        options.rewrite = Rewrite { drop_labels, ..Rewrite::default() };
        let compacted = Compaction::new(&view, &options).merge_to_memory().unwrap();
        assert_eq!(compacted.summary.series_out, suggestion.remains, "{suggestion:?}");
        assert!(seen.insert(&suggestion.command), "{suggestion:?}");
    }
    report.suggestions.len()
}

#[test]
fn figures_are_those_of_plain_labelsets() {
    let mut suggestions = 0;
    for seed in 0..SEEDS {
        let (series, block) = random_block(seed);
        let blocks = [block];
        let mut known = None;
        for first in [2, 100] {
            let report = report(&input(&blocks, false), &options(first)).unwrap();
            check_series(&report, &series, first);
            assert_eq!(report.parts.iter().map(|part| part.bytes).sum::<u64>(), blocks[0].len() as u64);
            assert_eq!((report.totals.blocks, report.totals.bytes), (1, blocks[0].len() as u64));
            assert_eq!((&report.windows[..], &report.growth[..], &report.comparison), (&[][..], &[][..], &None));
            suggestions += check_suggestions(&report, &blocks[0], &series);
            let expected = known.get_or_insert_with(|| report.suggestions.clone());
            assert_eq!(*expected, report.suggestions, "the number of listed metrics does not matter");
        }
    }
    assert!(suggestions > 100, "{suggestions}");
}

#[test]
fn selectors_count_the_series_that_match_one_of_them() {
    for seed in 0..SEEDS {
        let (series, block) = random_block(seed);
        let selectors: [Selector; 2] = ["up".parse().unwrap(), "{job=\"api\"}".parse().unwrap()];
        let is = |labels: &Labelset, name: &str, value: &str| labels.get(name).is_some_and(|found| found == value);
        let selected: Series =
            series.iter().filter(|labels| is(labels, "__name__", "up") || is(labels, "job", "api")).cloned().collect();
        let options = Options { selectors: &selectors, ..Options::default() };
        let report = report(&input(&[block], false), &options).unwrap();
        check_series(&report, &selected, 100);
        assert_eq!(report.totals.bytes_per_series, None);
        assert_eq!(report.selectors, [r#"{__name__="up"}"#, r#"{job="api"}"#]);
    }
}

/// Returns blocks of random windows: their hours, series and bytes.
fn random_windows(seed: u64) -> Vec<(i64, Series, Vec<u8>)> {
    let mut random = Random::new(seed);
    let all: Vec<Labelset> = random_series(120, &mut random).into_iter().collect();
    let count = 1 + random.below(5);
    let block = |number| {
        let series: Series = all.iter().filter(|_| random.percent(60)).cloned().collect();
        let plan = random_plan(&series, &mut random);
        let hour = number as i64 / 2;
        let meta = BlockMeta {
            time: Some(TimeRange { start: hour * 3_600_000_000_000, end: (hour + 1) * 3_600_000_000_000 }),
            external_labels: vec![("cluster".to_owned(), format!("c{number}"))],
            ..BlockMeta::default()
        };
        let bytes = build(&series, &plan, RowForm::BitPacked, &meta).unwrap();
        (hour, series, bytes)
    };
    let mut blocks: Vec<_> = (0..count).map(block).collect();
    random.shuffle(&mut blocks);
    blocks
}

/// Slots are minutes, hours or days, and series are in each from their first to their last time.
#[test]
fn series_over_time_are_those_of_their_times() {
    const MINUTE: i64 = 60_000_000_000;
    let (mut minutes, mut days) = (0, 0);
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let series: Series = random_series(1 + random.below(400), &mut random).into_iter().collect();
        let slot = [1, 60, 1440][random.below(3)];
        let mut times: Vec<Option<(i64, i64)>> = series
            .iter()
            .map(|_| {
                let [a, b] =
                    [0; 2].map(|_| (random.below(190) as i64 - 60) * slot + random.below(slot as usize) as i64);
                random.percent(90).then_some((a.min(b), a.max(b)))
            })
            .collect();
        // So that the slots are no shorter.
        times.push(Some((-60 * slot, 129 * slot)));
        let mut with_all = series.clone();
        with_all.insert([("all".to_owned(), "times".to_owned())].into());
        let times = &times[times.len() - with_all.len()..];
        let packed = |name, merge, of: &dyn Fn(&(i64, i64)) -> i64| {
            let values: Vec<_> =
                times.iter().map(|times| times.as_ref().map(|times| ColumnValue::I64(of(times) * MINUTE))).collect();
            column(name, (ValueType::I64, merge, MINUTE as u64), &values)
        };
        let first = packed("chronoxide.first_time", ColumnMerge::Min, &|times| times.0);
        let last = packed("chronoxide.last_time", ColumnMerge::Max, &|times| times.1);
        let meta = BlockMeta { columns: vec![first, last], ..BlockMeta::default() };
        let block = build(&with_all, &Plan::default(), RowForm::BitPacked, &meta).unwrap();
        let report = report(&input(&[block], false), &options(1)).unwrap();
        let found = report.series_times.clone().expect("the block knows times");
        let known: Vec<(i64, i64)> = times.iter().flatten().copied().collect();
        assert_eq!(found.unknown, (times.len() - known.len()) as u64);
        minutes += u64::from(slot == 1);
        days += u64::from(slot == 1440);
        let start = known.iter().map(|times| times.0).min().unwrap().div_euclid(slot);
        let end = known.iter().map(|times| times.1).max().unwrap().div_euclid(slot);
        assert_eq!(found.slots.len() as i64, end - start + 1, "seed {seed}");
        for (number, found) in (start..).zip(&found.slots) {
            let is_in = |number: i64| {
                move |times: &&(i64, i64)| times.0.div_euclid(slot) <= number && number <= times.1.div_euclid(slot)
            };
            let count = |number| known.iter().filter(is_in(number)).count() as u64;
            let new = known.iter().filter(|times| times.0.div_euclid(slot) == number).count() as u64;
            let gone = known.iter().filter(|times| times.1.div_euclid(slot) == number - 1).count() as u64;
            assert_eq!((found.series, found.new, found.gone), (count(number), new, gone), "seed {seed}, slot {number}");
            let time = |minute: i64| jiff::Timestamp::from_second(minute * 60).unwrap().to_string();
            assert_eq!((&found.start, &found.end), (&time(number * slot), &time((number + 1) * slot)));
        }
        check_churn(report.churn.as_ref(), &in_order(&with_all), times, slot, seed);
    }
    assert!(minutes > 5 && days > 5);
}

/// Returns series in the order of their refs in a block.
fn in_order(series: &Series) -> Vec<Labelset> {
    let block = build(series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
    let view = BlockView::open(&block).unwrap();
    let text = view.text().unwrap();
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    view.series_iter()
        .map(|series| text.labels(&series.unwrap()).map(|label| owned(label.unwrap().into())).collect())
        .collect()
}

/// Checks the label pairs and labels whose series come after the first slot, and go before the last.
fn check_churn(found: Option<&Churn>, series: &[Labelset], times: &[Option<(i64, i64)>], slot: i64, seed: u64) {
    let known = || times.iter().flatten();
    let start = known().map(|times| times.0.div_euclid(slot)).min().unwrap();
    let end = known().map(|times| times.1.div_euclid(slot)).max().unwrap();
    let Some(found) = found else { return assert_eq!(start, end, "seed {seed}") };
    assert!(start < end, "seed {seed}");
    let edge = (end - start + 1) / 20;
    assert!((found.hours - ((end - start - edge) * slot) as f64 / 60.0).abs() < 1e-9, "seed {seed}: {}", found.hours);
    let mut pairs: BTreeMap<(&str, &str), (u64, u64, u64)> = BTreeMap::new();
    let (mut new, mut gone) = (0, 0);
    for (labels, times) in series.iter().zip(times) {
        let is_new = u64::from(times.is_some_and(|times| times.0.div_euclid(slot) > start + edge));
        let is_gone = u64::from(times.is_some_and(|times| times.1.div_euclid(slot) < end - edge));
        (new, gone) = (new + is_new, gone + is_gone);
        for (name, value) in labels {
            let pair = pairs.entry((name, value)).or_default();
            *pair = (pair.0 + 1, pair.1 + is_new, pair.2 + is_gone);
        }
    }
    assert_eq!((found.new, found.gone), (new, gone), "seed {seed}");
    let is_often = |(series_of_pair, new_of_pair, gone_of_pair): (u64, u64, u64)| {
        let changes = new_of_pair + gone_of_pair;
        let is_common = 2 * series_of_pair > series.len() as u64;
        changes > 0 && (!is_common || changes * series.len() as u64 > (new + gone) * series_of_pair)
    };
    let expected: Vec<_> =
        pairs.iter().filter(|(_, counts)| is_often(**counts)).map(|(pair, counts)| (*pair, *counts)).collect();
    let mut listed: Vec<_> = (found.pairs.iter())
        .map(|pair| ((pair.name.as_str(), pair.value.as_str()), (pair.series, pair.new, pair.gone)))
        .collect();
    assert!(listed.is_sorted_by_key(|(_, (_, new, gone))| std::cmp::Reverse(new + gone)), "seed {seed}");
    assert_eq!(listed.len(), expected.len().min(50), "seed {seed}");
    if listed.len() < 50 {
        listed.sort();
        assert_eq!(listed, expected, "seed {seed}");
    }
    for label in &found.labels {
        let of_label = || pairs.iter().filter(|((name, _), _)| *name == label.name).map(|(_, counts)| *counts);
        let came = || of_label().filter(|(series, new, _)| series == new);
        let counts =
            (of_label().count(), came().count(), of_label().filter(|(series, _, gone)| series == gone).count());
        let found = (label.values, label.new_values, label.gone_values);
        assert_eq!(found, (counts.0 as u64, counts.1 as u64, counts.2 as u64), "seed {seed}, {}", label.name);
        assert_eq!(label.series_of_new_values, came().map(|(series, ..)| series).sum::<u64>(), "seed {seed}");
    }
}

#[test]
fn restarted_pods_and_ids_of_sessions_look_different() {
    let mut all: Vec<(Labelset, (i64, i64))> = Vec::new();
    let labelset = |labels: [(&str, String); 4]| labels.map(|(name, value)| (name.to_owned(), value)).into();
    let minute = 60_000_000_000;
    for pod in 0..6 {
        for metric in 0..20 {
            let name = ("__name__", format!("m{metric}"));
            // Each pod of `web` lives for ten minutes; `db` stays.
            let restarted =
                [name.clone(), ("app", "web".to_owned()), ("pod", format!("web-{pod}")), ("zone", "a".to_owned())];
            all.push((labelset(restarted), (pod * 10 * minute, (pod * 10 + 9) * minute)));
            let stays = [name, ("app", "db".to_owned()), ("pod", format!("db-{pod}")), ("zone", "a".to_owned())];
            all.push((labelset(stays), (0, 59 * minute)));
        }
    }
    for session in 0..200 {
        let name = ("__name__", "logins".to_owned());
        let labels = [name, ("app", "auth".to_owned()), ("session", format!("s{session}")), ("zone", "a".to_owned())];
        let start = session % 59 * minute;
        all.push((labelset(labels), (start, start)));
    }
    let all: BTreeMap<Labelset, (i64, i64)> = all.into_iter().collect();
    let series: Series = all.keys().cloned().collect();
    let ordered = in_order(&series);
    let values = |of: fn(&(i64, i64)) -> i64| {
        ordered.iter().map(|labels| Some(ColumnValue::I64(of(&all[labels])))).collect::<Vec<_>>()
    };
    let first = column("chronoxide.first_time", (ValueType::I64, ColumnMerge::Min, 1), &values(|times| times.0));
    let last = column("chronoxide.last_time", (ValueType::I64, ColumnMerge::Max, 1), &values(|times| times.1));
    let meta = BlockMeta { columns: vec![first, last], ..BlockMeta::default() };
    let block = build(&series, &Plan::default(), RowForm::BitPacked, &meta).unwrap();
    let churn = report(&input(&[block], false), &options(1)).unwrap().churn.unwrap();
    let names: Vec<(&str, &str)> = churn.pairs.iter().map(|pair| (pair.name.as_str(), pair.value.as_str())).collect();
    // Sessions come and go 200 times, series of pods 100 times each way.
    assert_eq!(names[..2], [("__name__", "logins"), ("app", "auth")]);
    assert_eq!(names[2], ("app", "web"));
    assert!(!names.contains(&("zone", "a")) && !names.contains(&("app", "db")), "{names:?}");
    let labels: Vec<(&str, u64, u64)> =
        churn.labels.iter().map(|label| (label.name.as_str(), label.new_values, label.series_of_new_values)).collect();
    // Sessions of the first four minutes are those that did not come: four in each.
    assert_eq!(labels, [("session", 184, 184), ("pod", 5, 100)]);
}

/// Times at the ends of all times, and one that ends before it begins.
#[test]
fn series_over_time_have_at_most_200_slots() {
    let series = labelsets(&[&[("a", "1")], &[("a", "2")], &[("a", "3")]]);
    let values = |values: [i64; 3]| values.map(|value| Some(ColumnValue::I64(value)));
    let first = column("chronoxide.first_time", (ValueType::I64, ColumnMerge::Min, 1), &values([i64::MIN, 7, 0]));
    let last = column("chronoxide.last_time", (ValueType::I64, ColumnMerge::Max, 1), &values([i64::MAX, 6, 0]));
    let meta = BlockMeta { columns: vec![first, last], ..BlockMeta::default() };
    let block = build(&series, &Plan::default(), RowForm::BitPacked, &meta).unwrap();
    let times = report(&input(&[block], false), &options(1)).unwrap().series_times.unwrap();
    assert_eq!(times.unknown, 1);
    assert!((150..=200).contains(&times.slots.len()), "{}", times.slots.len());
    assert!(times.slots.iter().all(|slot| slot.series >= 1));
    assert_eq!(times.slots.iter().map(|slot| slot.new).sum::<u64>(), 2);
    assert_eq!(times.slots.iter().filter(|slot| slot.series == 2).count(), 1);
}

fn count_of(series: &Series, metric: &Option<String>) -> u64 {
    series.iter().filter(|labels| labels.get("__name__") == metric.as_ref()).count() as u64
}

#[test]
fn windows_are_differences_of_sets_of_series() {
    let (mut moved, mut grown) = (0, 0);
    for seed in 0..SEEDS {
        let windows = random_windows(seed);
        let blocks: Vec<Vec<u8>> = windows.iter().map(|(_, _, bytes)| bytes.clone()).collect();
        let found = report(&input(&blocks, true), &options(100)).unwrap();
        let union: Series = windows.iter().flat_map(|(_, series, _)| series).cloned().collect();
        check_series(&found, &union, 100);
        assert_eq!(found.parts.iter().map(|part| part.bytes).sum::<u64>(), found.totals.bytes);
        let mut by_hour: BTreeMap<i64, (Series, u64, u64)> = BTreeMap::new();
        for (hour, series, bytes) in windows {
            let window = by_hour.entry(hour).or_default();
            window.0.extend(series);
            window.1 += 1;
            window.2 += bytes.len() as u64;
        }
        let mut before = Series::new();
        let mut expected = Vec::new();
        for (hour, (series, blocks, bytes)) in &by_hour {
            let (new, gone) = (series.difference(&before).count(), before.difference(series).count());
            moved += gone;
            let (start, end) = (format!("1970-01-01T0{hour}:00:00Z"), format!("1970-01-01T0{}:00:00Z", hour + 1));
            expected.push(json!({
                "start": start, "end": end, "blocks": blocks, "bytes": bytes, "series": series.len(), "new": new,
                "gone": gone,
            }));
            before = series.clone();
        }
        assert_eq!(serde_json::to_value(&found.windows).unwrap(), Value::from(expected), "seed {seed}");
        let sizes: Vec<&Series> = by_hour.values().map(|(series, ..)| series).collect();
        let metrics: BTreeSet<Option<String>> = union.iter().map(|labels| labels.get("__name__").cloned()).collect();
        let mut growing = 0;
        for metric in metrics {
            let counts: Vec<u64> = sizes.iter().map(|series| count_of(series, &metric)).collect();
            let (first, last) = (counts[0], counts[counts.len() - 1]);
            let row = found.growth.iter().find(|row| row.metric == metric);
            assert_eq!(row.is_some(), last > first, "seed {seed}, {metric:?}");
            if let Some(row) = row {
                let largest = counts.iter().copied().max().unwrap();
                assert_eq!((row.first, row.last, row.largest), (first, last, largest), "seed {seed}");
                growing += 1;
            }
        }
        assert_eq!(found.growth.len(), growing, "each metric once");
        assert!(found.growth.is_sorted_by(|a, b| a.last - a.first >= b.last - b.first), "seed {seed}");
        grown += growing;
    }
    assert!(moved > 300 && grown >= 50, "{moved} {grown}");
}

#[test]
fn comparisons_are_differences_of_sets_of_series() {
    let mut changed = 0;
    for seed in 0..SEEDS {
        let mut windows = random_windows(seed);
        windows.extend(random_windows(seed + 1_000));
        let after = windows.split_off(windows.len() / 2);
        let union = |windows: &[(i64, Series, Vec<u8>)]| -> Series {
            windows.iter().flat_map(|(_, series, _)| series).cloned().collect()
        };
        let bytes = |windows: &[(i64, Series, Vec<u8>)]| -> Vec<Vec<u8>> {
            windows.iter().map(|(_, _, bytes)| bytes.clone()).collect()
        };
        let (a, b) = (union(&windows), union(&after));
        let (a_bytes, b_bytes) = (bytes(&windows), bytes(&after));
        let report = compare(&input(&a_bytes, true), &input(&b_bytes, true), &options(100)).unwrap();
        check_series(&report, &b, 100);
        let found = report.comparison.unwrap();
        let (gone, came): (Series, Series) = (a.difference(&b).cloned().collect(), b.difference(&a).cloned().collect());
        assert_eq!((found.before.series, found.after.series), (a.len() as u64, b.len() as u64));
        assert_eq!((found.before.blocks, found.after.blocks), (a_bytes.len() as u64, b_bytes.len() as u64));
        assert_eq!(found.before.bytes, a_bytes.iter().map(|bytes| bytes.len() as u64).sum::<u64>());
        let same = a.intersection(&b).count() as u64;
        assert_eq!((found.same, found.gone, found.came), (same, gone.len() as u64, came.len() as u64));
        let metrics: BTreeSet<Option<String>> =
            gone.iter().chain(&came).map(|labels| labels.get("__name__").cloned()).collect();
        assert_eq!(found.metrics.len(), metrics.len(), "seed {seed}");
        for row in &found.metrics {
            let counts = [&a, &b, &gone, &came].map(|series| count_of(series, &row.metric));
            assert_eq!([row.before, row.after, row.gone, row.came], counts, "seed {seed}");
            changed += row.gone;
        }
        assert!(found.metrics.is_sorted_by(|x, y| x.gone + x.came >= y.gone + y.came), "seed {seed}");
        let all: Series = a.union(&b).cloned().collect();
        let mut labels = 0;
        for name in model::names(&all).into_iter().filter(|name| *name != "__name__") {
            let (before, after) = (model::values(a.iter(), name), model::values(b.iter(), name));
            let (values_gone, values_came) = (before.difference(&after).count(), after.difference(&before).count());
            let row = found.labels.iter().find(|row| row.name == *name);
            assert_eq!(row.is_some(), values_gone + values_came > 0, "seed {seed}, {name}");
            let Some(row) = row else { continue };
            labels += 1;
            assert_eq!((row.values_gone, row.values_came), (values_gone as u64, values_came as u64));
            if let Some(gone) = row.gone_without {
                let (before, after) = (model::kept(&a, &[name]), model::kept(&b, &[name]));
                assert_eq!(gone, before.difference(&after).count() as u64, "seed {seed}, {name}");
                assert_eq!(row.came_without, Some(after.difference(&before).count() as u64));
            }
        }
        assert_eq!(found.labels.len(), labels, "each label once");
        if let Some(found) = found.without_generated {
            let ignored: Vec<&str> = found.labels.iter().map(String::as_str).collect();
            let (before, after) = (model::kept(&a, &ignored), model::kept(&b, &ignored));
            assert_eq!(found.gone, before.difference(&after).count() as u64, "seed {seed}");
            assert_eq!(found.came, after.difference(&before).count() as u64, "seed {seed}");
        }
    }
    assert!(changed > 500, "{changed}");
}

/// Returns series of pods: labels that follow from the pod, and one that does not.
fn pods() -> Series {
    let mut random = Random::new(7);
    let mut series = Series::new();
    for pod in 0..40 {
        let uid = format!("{:08x}-4f89-41d3-9a0c-0305e82c{pod:04x}", random.below(usize::MAX) as u32);
        for path in ["/", "/api", "/login"] {
            let labels = [
                ("__name__", "requests".to_owned()),
                ("path", path.to_owned()),
                ("pod", format!("web-7d9f8c6b54-x2k{}{}", ["b", "c", "d", "f"][pod / 10], 2 + pod % 8)),
                ("uid", uid.clone()),
                ("node", format!("node {}", pod % 3)),
            ];
            series.insert(labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        }
    }
    series
}

#[test]
fn labels_that_tell_the_same_apart_are_suggested_together() {
    let series = pods();
    let block = [build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()];
    let report = report(&input(&block, false), &options(100)).unwrap();
    let label = |name: &str| report.labels.iter().find(|label| label.name == name).unwrap();
    assert_eq!(serde_json::to_value(label("uid").looks).unwrap(), "uuid");
    assert_eq!(serde_json::to_value(label("pod").looks).unwrap(), "pod");
    assert_eq!((label("path").looks, label("node").looks), (None, None));
    assert_eq!((label("uid").remains, label("path").remains), (Some(120), Some(40)));
    let sets: Vec<BTreeSet<&str>> =
        report.suggestions.iter().map(|suggestion| suggestion.labels.iter().map(String::as_str).collect()).collect();
    // Three paths on each of three nodes remain.
    assert_eq!(sets[0], BTreeSet::from(["pod", "uid"]));
    assert_eq!(report.suggestions[0].remains, 9);
    check_suggestions(&report, &block[0], &series);
}

#[test]
fn labels_that_follow_from_one_another_are_suggested_together() {
    let mut series = Series::new();
    for user in 0..40 {
        for place in 0..30 {
            let labels = [
                ("__name__", "logins".to_owned()),
                ("user", format!("user {user}")),
                ("mail", format!("mail of {user}")),
                // Follows from the user, but tells few apart.
                ("team", format!("team {}", user % 4)),
                // Tells about as many apart, but does not follow from the user.
                ("place", format!("place {place}")),
            ];
            series.insert(labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        }
    }
    let block = [build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()];
    let report = report(&input(&block, false), &options(100)).unwrap();
    let sets: Vec<(BTreeSet<&str>, u64)> = report
        .suggestions
        .iter()
        .map(|suggestion| (suggestion.labels.iter().map(String::as_str).collect(), suggestion.remains))
        .collect();
    // Each place with each team, and each user.
    assert_eq!(sets, [(BTreeSet::from(["place"]), 40), (BTreeSet::from(["mail", "user"]), 120)]);
    check_suggestions(&report, &block[0], &series);

    // A second mail of one user, and a second user of one mail: neither follows from the other any more.
    for (label, value) in [("mail", "other mail"), ("user", "other user")] {
        let mut labels = series.pop_first().unwrap();
        labels.insert(label.to_owned(), value.to_owned());
        series.insert(labels);
    }
    let block = [build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()];
    let report = chronoxide_inspect::report::report(&input(&block, false), &options(100)).unwrap();
    let sets: Vec<&[String]> = report.suggestions.iter().map(|suggestion| &suggestion.labels[..]).collect();
    assert_eq!(sets, [["place".to_owned()]]);
}

#[test]
fn the_label_to_drop_from_the_capture_of_the_readme_comes_first() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/captures/sessions.series.jsonl");
    let capture = std::fs::read_to_string(capture).unwrap();
    let series: Series = capture.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let block = [build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()];
    let report = report(&input(&block, false), &options(100)).unwrap();
    let [first, others @ ..] = &report.suggestions[..] else { panic!("no suggestion") };
    assert_eq!((&first.labels[..], first.remains), (&["session_id".to_owned()][..], 114));
    // Metrics with a larger effect come later: they have more than generated values.
    assert!(others.iter().any(|other| other.removes > first.removes));
    assert!(others.is_sorted_by(|a, b| a.removes >= b.removes));
}

#[test]
fn commands_name_exactly_the_counted_blocks_or_there_are_none() {
    let pair = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
    let block = |cluster: &str, note: &str| {
        let (external_labels, annotations) = (pair("cluster", cluster), pair("note", note));
        let meta = BlockMeta { external_labels, annotations, ..BlockMeta::default() };
        build(&pods(), &Plan::default(), RowForm::BitPacked, &meta).unwrap()
    };
    for (blocks, is_whole, has_command) in [
        ([block("eu", "a"), block("us", "a")], true, false),
        ([block("eu", "a"), block("eu", "b")], true, true),
        ([block("eu", "a"), block("eu", "b")], false, false),
    ] {
        let report = report(&Input { is_whole, ..input(&blocks, true) }, &options(100)).unwrap();
        assert_eq!(report.totals.series, 120, "equal labels are one series");
        assert!(!report.suggestions.is_empty());
        for suggestion in &report.suggestions {
            let words = shlex::split(&suggestion.command).unwrap();
            let expected = ["chronoxide-compact", "input/*.cx", "-o", "smaller.cx", "--annotations", "drop"];
            assert_eq!(words.get(..6).is_some_and(|words| *words == expected), has_command, "{words:?}");
            assert_eq!(words.is_empty(), !has_command);
        }
        let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
        let options = CompactOptions { annotations: AnnotationPolicy::Drop, ..CompactOptions::default() };
        let merged = Compaction::new(&views, &options).merge_to_memory();
        assert_eq!(merged.is_ok(), has_command || !is_whole, "one compaction does or does not take them all");
    }
}

#[test]
fn buckets_are_not_ignored_as_generated_values() {
    let series = |first: u64| -> Series {
        let labels =
            |le: u32| [("__name__".to_owned(), "size_bucket".to_owned()), ("le".to_owned(), (first << le).to_string())];
        (0..10).map(|le| labels(le).into_iter().collect()).collect()
    };
    let [a, b] = [1 << 20, 3 << 20]
        .map(|first| [build(&series(first), &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()]);
    let report = compare(&input(&a, false), &input(&b, false), &options(100)).unwrap();
    let le = report.labels.iter().find(|label| label.name == "le").unwrap();
    assert_eq!(serde_json::to_value(le.looks).unwrap(), "number");
    assert_eq!((&report.suggestions[..], report.comparison.unwrap().without_generated), (&[][..], None));
}

#[test]
fn restarted_pods_change_nothing_apart_from_generated_labels() {
    let (before, mut after) = (pods(), Series::new());
    for (number, labels) in before.iter().enumerate() {
        let mut labels = labels.clone();
        let uid = labels.get_mut("uid").unwrap();
        uid.replace_range(..1, if uid.starts_with('0') { "1" } else { "0" });
        if number == 0 {
            labels.insert("path".to_owned(), "/new".to_owned());
        }
        after.insert(labels);
    }
    let [a, b] = [&before, &after]
        .map(|series| [build(series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()]);
    let found = compare(&input(&a, false), &input(&b, false), &options(100)).unwrap().comparison.unwrap();
    assert_eq!((found.same, found.gone, found.came), (0, 120, 120));
    let found = found.without_generated.unwrap();
    assert_eq!(found.labels.iter().collect::<BTreeSet<_>>(), BTreeSet::from([&"pod".to_owned(), &"uid".to_owned()]));
    // The new path has one node; all old ones are left.
    assert_eq!((found.gone, found.came), (0, 1));
}

#[test]
fn a_label_that_exploded_is_named_with_its_job() {
    let series = |job: &str, traces: std::ops::Range<usize>| -> Vec<Labelset> {
        let labels = |trace: usize| {
            let labels = [
                ("__name__", "requests".to_owned()),
                ("job", job.to_owned()),
                ("span", format!("s{trace}")),
                ("trace", format!("t{trace}")),
            ];
            labels.map(|(name, value)| (name.to_owned(), value)).into()
        };
        traces.map(labels).collect()
    };
    // Traces of `x` go from 12 to 500, 8 of them gone; those of `y` stay; `z` is new with 50 series and 5 traces.
    let before: Series = [series("x", 0..12), series("y", 600..700)].concat().into_iter().collect();
    let mut after: Series = [series("x", 8..508), series("y", 600..700)].concat().into_iter().collect();
    for number in 0..50 {
        let labels =
            [("job", "z".to_owned()), ("number", (number % 10).to_string()), ("trace", format!("z{}", number / 10))];
        after.insert(labels.map(|(name, value)| (name.to_owned(), value)).into());
    }
    let [a, b] = [&before, &after]
        .map(|series| [build(series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()]);
    let found = compare(&input(&a, false), &input(&b, false), &options(100)).unwrap().comparison.unwrap();
    assert_eq!((found.gone, found.came), (8, 546));
    let shown: Vec<(&str, Option<&str>, u64, u64, u64)> = (found.explosions.iter())
        .map(|one| {
            let owner = one.owner.as_ref().map(|(_, value)| value.as_str());
            (one.label.as_str(), owner, one.values_before, one.values_after, one.series)
        })
        .collect();
    // 496 traces of `x` are new, and those of `z`; spans of `x` follow from its traces, but `z` has none.
    assert_eq!(shown, [("trace", Some("x"), 12, 500, 496), ("span", Some("x"), 12, 500, 496)]);
    let same = compare(&input(&b, false), &input(&b, false), &options(100)).unwrap().comparison.unwrap();
    assert_eq!(same.explosions, []);
}

/// Explosions that `before` and `after` have: label, value of the owner, values before and after, series.
fn exploded(before: &Series, after: &Series) -> Vec<(String, Option<String>, u64, u64, u64)> {
    let [before, after] = [before, after]
        .map(|series| [build(series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()]);
    let found = compare(&input(&before, false), &input(&after, false), &options(100)).unwrap().comparison.unwrap();
    let shown = |one: Explosion| {
        (one.label, one.owner.map(|(_, value)| value), one.values_before, one.values_after, one.series)
    };
    found.explosions.into_iter().map(shown).collect()
}

/// Series of a job with one pair of labels more, as many as the range.
fn numbered(job: &str, label: &str, numbers: std::ops::Range<u32>) -> Vec<Labelset> {
    let labels = |number: u32| {
        let pairs = [("job", job.to_owned()), (label, format!("{label}{number}"))];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    };
    numbers.map(labels).collect()
}

#[test]
fn labels_whose_values_change_hide_no_explosion() {
    // Each of nine labels changes all of its 300 values; `trace` goes from 20 to 400.
    let names: Vec<String> = (0..9).map(|number| format!("churns{number}")).collect();
    let side = |from: u32, traces: u32| -> Series {
        let churning = names.iter().flat_map(|name| numbered("steady", name, from..from + 300));
        churning.chain(numbered("api", "trace", 0..traces)).collect()
    };
    let expected = [("trace".to_owned(), Some("api".to_owned()), 20, 400, 380)];
    assert_eq!(exploded(&side(0, 20), &side(1_000, 400)), expected);
}

#[test]
fn labels_with_as_many_new_series_explode_each() {
    let side = |count: u32| -> Series {
        [numbered("a", "x", 0..count), numbered("b", "y", 0..count)].concat().into_iter().collect()
    };
    let expected = [("x", "a"), ("y", "b")].map(|(label, job)| (label.to_owned(), Some(job.to_owned()), 10, 100, 90));
    assert_eq!(exploded(&side(10), &side(100)), expected);
}

#[test]
fn an_explosion_is_of_its_owner_or_of_all() {
    // The values of `x` grow by half: those of its job `new` come with the job.
    let before: Series = numbered("old", "x", 0..100).into_iter().collect();
    let mut after = before.clone();
    after.extend(numbered("new", "x", 200..250));
    assert_eq!(exploded(&before, &after), []);
    after.extend(numbered("new", "y", 0..50));
    assert_eq!(exploded(&before, &after), [("y".to_owned(), Some("new".to_owned()), 0, 50, 50)]);
    // Half of the new values are of one job, whose values do not double: those of all do.
    let before: Series = numbered("old", "x", 0..60).into_iter().collect();
    let mut after = before.clone();
    after.extend(numbered("old", "x", 100..150));
    after.extend(["p", "q"].iter().zip([200, 300]).flat_map(|(job, from)| numbered(job, "x", from..from + 25)));
    assert_eq!(exploded(&before, &after), [("x".to_owned(), None, 60, 160, 100)]);
    // A stray series with a job takes no owner from those with another label.
    let owned = |labels: Labelset| -> Labelset {
        let rename = |(name, value): (String, String)| (if name == "job" { "app".to_owned() } else { name }, value);
        labels.into_iter().map(rename).collect()
    };
    let side = |count: u32| -> Series {
        let series = numbered("web", "x", 0..count).into_iter().map(owned);
        series.chain(numbered("stray", "y", 0..1)).collect()
    };
    assert_eq!(exploded(&side(10), &side(40)), [("x".to_owned(), Some("web".to_owned()), 10, 40, 30)]);
    // Half of the values returned with other labels: they are not new.
    let returned: Series = [numbered("a", "x", 0..20), numbered("b", "x", 20..30)].concat().into_iter().collect();
    let mut after: Series = numbered("b", "x", 0..30).into_iter().collect();
    after.extend(numbered("b", "y", 0..9));
    assert_eq!(exploded(&returned, &after), []);
}

/// Series of a job with a label and, for each of its values, `count` of another.
fn spread(job: &str, label: &str, numbers: std::ops::Range<u32>, count: u32) -> Vec<Labelset> {
    let spread = |labels: Labelset| {
        (0..count).map(move |number| {
            let mut labels = labels.clone();
            labels.insert("k".to_owned(), number.to_string());
            labels
        })
    };
    numbered(job, label, numbers).into_iter().flat_map(spread).collect()
}

/// Values and series on each side of each limit: twice as many values, ten new ones, more than are gone, a tenth of the
/// series that came, half of them of an owner.
#[test]
fn explosions_keep_to_their_limits() {
    let old = |count: u32| numbered("b", "z", 0..count);
    let moved = |count: u32| -> Vec<Labelset> {
        let with = |mut labels: Labelset| {
            labels.insert("k".to_owned(), "v".to_owned());
            labels
        };
        numbered("b", "z", 0..count).into_iter().map(with).collect()
    };
    let n = numbered;
    let owned =
        |before: u64, after: u64, series: u64| vec![("x".to_owned(), Some("a".to_owned()), before, after, series)];
    for (name, before, after, expected) in [
        ("nine new values", old(1), [old(1), n("a", "x", 0..9)].concat(), vec![]),
        ("ten new values", old(1), [old(1), n("a", "x", 0..10)].concat(), owned(0, 10, 10)),
        ("as many gone", [n("a", "x", 0..10), n("b", "x", 100..130)].concat(), n("a", "x", 0..40), vec![]),
        ("a tenth of the series", old(90), [moved(90), n("a", "x", 0..10)].concat(), owned(0, 10, 10)),
        ("less than a tenth", old(91), [moved(91), n("a", "x", 0..10)].concat(), vec![]),
        ("twice the values", n("a", "x", 0..10), n("a", "x", 0..20), owned(10, 20, 10)),
        ("less than twice", n("a", "x", 0..11), n("a", "x", 0..21), vec![]),
        (
            "half of the series",
            n("a", "x", 0..10),
            [n("a", "x", 0..30), n("b", "x", 100..110), n("c", "x", 200..210)].concat(),
            owned(10, 30, 20),
        ),
        (
            "less than half",
            n("a", "x", 0..10),
            [n("a", "x", 0..29), n("b", "x", 100..110), n("c", "x", 200..210)].concat(),
            vec![("x".to_owned(), None, 10, 49, 39)],
        ),
        (
            "values of all did not double",
            [n("a", "x", 0..10), n("c", "x", 1000..1100)].concat(),
            [n("a", "x", 0..40), n("c", "x", 1000..1100)].concat(),
            owned(10, 40, 30),
        ),
        (
            "values that another owner had",
            [n("old", "x", 0..30), n("a", "x", 200..210)].concat(),
            [n("b", "x", 0..30), n("a", "x", 200..230)].concat(),
            owned(10, 30, 20),
        ),
        (
            "two owners alike",
            [n("a", "x", 0..10), n("b", "x", 100..110)].concat(),
            [n("a", "x", 0..30), n("b", "x", 100..130)].concat(),
            owned(10, 30, 20),
        ),
        (
            "an owner with few new values",
            spread("a", "x", 0..5, 4),
            [spread("a", "x", 0..14, 4), n("b", "x", 100..110), n("c", "x", 200..210)].concat(),
            vec![("x".to_owned(), None, 5, 34, 56)],
        ),
    ] {
        let [before, after]: [Series; 2] = [before, after].map(|series| series.into_iter().collect());
        assert_eq!(exploded(&before, &after), expected, "{name}");
    }
}

#[test]
fn at_most_three_explosions_are_listed_those_with_the_most_series() {
    let side = |counts: [u32; 4]| -> Series {
        let labels = ["p", "q", "r", "t"].into_iter().zip(counts);
        labels.flat_map(|(label, count)| numbered(label, label, 0..count)).collect()
    };
    let found = exploded(&side([10; 4]), &side([70, 80, 90, 100]));
    assert_eq!(found.iter().map(|one| one.0.as_str()).collect::<Vec<_>>(), ["t", "r", "q"]);
    // More series by fewer values, and names of metrics, which are listed elsewhere.
    let side = |x: u32, y: u32| -> Series {
        let named = |mut labels: Labelset| {
            labels.insert("__name__".to_owned(), format!("m{}", x));
            labels
        };
        [numbered("a", "x", 0..x), spread("b", "y", 0..y, 5)].concat().into_iter().map(named).collect()
    };
    let found = exploded(&side(10, 10), &side(50, 30));
    assert!(found.iter().all(|one| one.0 != "__name__"), "{found:?}");
}

#[test]
fn labels_that_explode_together_are_named_together() {
    let side = |count: u32| -> Series {
        let add = |(number, mut labels): (usize, Labelset)| {
            labels.insert("uid".to_owned(), format!("u{number}"));
            labels
        };
        numbered("a", "pod", 0..count).into_iter().enumerate().map(add).collect()
    };
    let blocks = [side(10), side(40)]
        .map(|series| [build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()]);
    let found = compare(&input(&blocks[0], false), &input(&blocks[1], false), &options(100)).unwrap();
    let explosions = found.comparison.unwrap().explosions;
    let names = |one: &Explosion| (one.label.clone(), one.also.clone());
    assert_eq!(explosions.iter().map(names).collect::<Vec<_>>(), [("pod".to_owned(), vec!["uid".to_owned()])]);
}

#[test]
fn nothing_explodes_without_series_before() {
    let after: Series = numbered("a", "x", 0..100).into_iter().collect();
    assert_eq!(exploded(&Series::new(), &after), []);
    let before: Series = numbered("b", "y", 0..1).into_iter().collect();
    assert_eq!(exploded(&before, &after).len(), 1);
    // Files that were skipped had series.
    let [before, after] = [&before, &after]
        .map(|series| [build(series, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()]);
    let before = Input { skipped: vec!["damaged.cx".to_owned()], ..input(&before, true) };
    let found = compare(&before, &input(&after, false), &options(100)).unwrap().comparison.unwrap();
    assert_eq!(found.explosions, []);
}

/// More series came than are read to find owners.
#[test]
fn the_owner_of_an_explosion_is_found_in_many_series() {
    let before: Series = numbered("a", "x", 0..10).into_iter().collect();
    let mut after: Series = numbered("a", "x", 0..8_010).into_iter().collect();
    after.extend(numbered("b", "x", 10_000..11_500));
    after.extend(numbered("c", "y", 0..1_000));
    let found = exploded(&before, &after);
    let expected = [("x", "a", 10, 8_010, 8_000)];
    assert_eq!(
        found,
        expected.map(|(label, job, before, after, series)| (
            label.to_owned(),
            Some(job.to_owned()),
            before,
            after,
            series
        ))
    );
}

#[test]
fn metrics_have_their_metadata() {
    let mut metrics = MetricSet::new();
    metrics.insert(MetricMetadata {
        name: "up",
        metric_type: MetricType::Gauge,
        temporality: Temporality::Unspecified,
        monotonicity: chronoxide_format::metadata::Monotonicity::NotMonotonic,
        unit: "s",
        description: "is it up",
    });
    let series = labelsets(&[&[("__name__", "up")], &[("__name__", "down")]]);
    let meta = BlockMeta { metrics, ..BlockMeta::default() };
    let block = [build(&series, &Plan::default(), RowForm::BitPacked, &meta).unwrap()];
    let report = serde_json::to_value(report(&input(&block, false), &options(100)).unwrap()).unwrap();
    let fields =
        |metric: usize| ["metric", "type", "unit", "help"].map(|field| report["metrics"][metric][field].clone());
    assert_eq!(fields(0), [json!("down"), Value::Null, Value::Null, Value::Null]);
    assert_eq!(fields(1), [json!("up"), json!("gauge"), json!("s"), json!("is it up")]);
}

#[test]
fn a_block_without_series_has_a_report() {
    let block = [build(&Series::new(), &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap()];
    let report = report(&input(&block, true), &options(100)).unwrap();
    assert_eq!((report.totals.series, report.metrics.len(), report.labels.len()), (0, 0, 0));
    assert_eq!((report.suggestions.len(), report.windows.len(), report.windows[0].series), (0, 1, 0));
}
