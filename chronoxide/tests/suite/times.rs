//! Time ranges of series, against a plain list of who had data when.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as StdError;

use chronoxide::{BlockWriter, Blocks, ColumnMerge, Damage, Query, ValueType, WriteOptions};

use super::{Labelset, TestResult, labelsets, read};

/// Times of a series in a block; `None` if they are unknown.
type Times = Option<(i64, i64)>;

/// A block: its time range, and the times of its series.
struct Model {
    range: (i64, i64),
    is_timed: bool,
    series: Vec<(Labelset, Times)>,
}

impl Model {
    /// Returns the series that a query of a time range must give.
    fn selected(&self, start: i64, end: i64) -> BTreeSet<Labelset> {
        let has_data = start < end && self.range.0 < end && start < self.range.1;
        let has_all = start <= self.range.0 && self.range.1 <= end;
        let meets = |times: &Times| times.is_none_or(|(first, last)| first < end && last >= start);
        let selected = self.series.iter().filter(|(_, times)| has_data && (has_all || !self.is_timed || meets(times)));
        selected.map(|(labels, _)| labels.clone()).collect()
    }

    fn write(&self, path: &std::path::Path) -> Result<(), chronoxide::Error> {
        let mut writer = BlockWriter::with_options(WriteOptions::new().time(self.range.0, self.range.1));
        let times = if self.is_timed {
            let first = writer.add_column(Blocks::FIRST_TIME, ValueType::I64, ColumnMerge::Min)?;
            Some((first, writer.add_column(Blocks::LAST_TIME, ValueType::I64, ColumnMerge::Max)?))
        } else {
            None
        };
        for (labels, known) in &self.series {
            let series = writer.insert(labels)?;
            if let (Some((first, last)), Some(known)) = (times, known) {
                writer.set(first, series, known.0)?;
                writer.set(last, series, known.1)?;
            }
        }
        writer.finish(path).map(drop)
    }
}

/// Two hours with times, which have half of their series in common, and one without.
fn models() -> Vec<Model> {
    let hour = |start: i64, from: u32, to: u32, is_timed: bool| {
        let times = |(number, labels): (i64, Labelset)| {
            let times = match number % 6 {
                0 => None,
                1 => Some((start + number % 50, start + 99)),
                2 => Some((start, start + number % 90)),
                3 => Some((start + number % 60, start + number % 60)),
                _ => Some((start, start + 99)),
            };
            (labels, times.filter(|_| is_timed))
        };
        let series = (0..).zip(labelsets(from, to)).map(times).collect();
        Model { range: (start, start + 100), is_timed, series }
    };
    vec![hour(0, 0, 120, true), hour(100, 60, 200, true), hour(200, 150, 260, false)]
}

const RANGES: [(i64, i64); 12] = [
    (0, 300),
    (0, 100),
    (100, 200),
    (10, 20),
    (30, 31),
    (99, 100),
    (90, 110),
    (150, 260),
    (40, 150),
    (250, 260),
    (50, 50),
    (300, 400),
];

/// Compares all that can be asked about a query with the labelsets that it selects.
fn compare(
    query: &Query<'_>,
    expected: &BTreeSet<Labelset>,
    all: &BTreeSet<Labelset>,
) -> Result<(), Box<dyn StdError>> {
    assert_eq!(&read(query)?, expected);
    assert_eq!(query.count()?, expected.len() as u64);
    let names: BTreeSet<&str> = expected.iter().flat_map(|labels| labels.keys().map(String::as_str)).collect();
    assert_eq!(query.label_names()?, names.into_iter().collect::<Vec<_>>());
    let mut pods: BTreeMap<&str, u64> = BTreeMap::new();
    expected.iter().for_each(|labels| *pods.entry(&labels["pod"]).or_default() += 1);
    assert_eq!(query.label_values("pod")?, pods.keys().copied().collect::<Vec<_>>());
    let groups = query.group_by(&["pod"])?;
    let found: BTreeMap<&str, u64> =
        groups.iter().map(|group| (group.get("pod").unwrap_or_default(), group.series)).collect();
    assert_eq!(found, pods);
    let cardinality = query.cardinality()?;
    assert_eq!(cardinality.series, expected.len() as u64);
    let counted: BTreeMap<&str, u64> = match cardinality.values.get("pod") {
        Some(values) => values.iter().map(|(pod, count)| (*pod, *count)).collect(),
        None => BTreeMap::new(),
    };
    assert_eq!(counted, pods);
    for labels in all {
        assert_eq!(query.has(labels)?, expected.contains(labels), "{labels:?}");
    }
    Ok(())
}

#[test]
fn each_result_has_the_series_of_a_time_range() -> TestResult {
    let folder = tempfile::tempdir()?;
    let models = models();
    for (number, model) in models.iter().enumerate() {
        model.write(&folder.path().join(format!("{number}.cx")))?;
    }
    let all = models.iter().flat_map(|model| model.series.iter().map(|(labels, _)| labels.clone())).collect();
    let blocks = Blocks::open(folder.path())?;
    for (start, end) in RANGES {
        let selected: BTreeSet<Labelset> = models.iter().flat_map(|model| model.selected(start, end)).collect();
        let up: BTreeSet<Labelset> = selected.iter().filter(|labels| labels["__name__"] == "up").cloned().collect();
        compare(&blocks.query("{}")?.between(start, end), &selected, &all)?;
        compare(&blocks.query("up")?.between(start, end), &up, &all)?;
        let either = blocks.query("up")?.or(r#"{__name__!="up"}"#)?.between(start, end);
        compare(&either.skip_damaged(&Damage::new()), &selected, &all)?;
        let untimed = u64::from(start < 300 && end > 200 && start < end && (start > 200 || end < 300));
        assert_eq!(blocks.query("up")?.between(start, end).untimed_blocks()?, untimed, "{start} to {end}");
        for (block, model) in models.iter().enumerate() {
            let one = Blocks::open(folder.path().join(format!("{block}.cx")))?;
            compare(&one.query("{}")?.between(start, end), &model.selected(start, end), &all)?;
        }
    }
    Ok(())
}

/// A limit of series counts those of the range only.
#[test]
fn limits_count_series_with_data() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("one.cx");
    let models = models();
    models[0].write(&path)?;
    let blocks = Blocks::open(&path)?;
    let expected = models[0].selected(30, 31).len() as u64;
    let query = || Ok::<_, chronoxide::Error>(blocks.query("{}")?.between(30, 31));
    assert!(expected > 1 && expected < models[0].series.len() as u64);
    assert_eq!(query()?.max_series(expected).select()?.len(), expected);
    assert!(query()?.max_series(expected - 1).select().is_err());
    assert_eq!(query()?.max_series(expected).count()?, expected);
    assert!(query()?.max_series(expected - 1).count().is_err());
    Ok(())
}

/// The times of series are known also if that of their block is not.
#[test]
fn a_block_without_a_time_range_has_times_of_series() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("one.cx");
    let mut writer = BlockWriter::new();
    let last = writer.add_column(Blocks::LAST_TIME, ValueType::I64, ColumnMerge::Max)?;
    for (pod, time) in [("a", Some(i64::MIN)), ("b", Some(50)), ("c", Some(i64::MAX)), ("d", None)] {
        let series = writer.insert([("pod", pod)])?;
        if let Some(time) = time {
            writer.set(last, series, time)?;
        }
    }
    writer.finish(&path)?;
    let blocks = Blocks::open(&path)?;
    let pods = |start, end| blocks.query("{}")?.between(start, end).label_values("pod");
    assert_eq!(pods(i64::MIN, i64::MAX)?, ["a", "b", "c", "d"]);
    assert_eq!(pods(i64::MIN + 1, 0)?, ["b", "c", "d"]);
    assert_eq!(pods(50, 51)?, ["b", "c", "d"]);
    assert_eq!(pods(51, 52)?, ["c", "d"]);
    assert!(pods(51, 51)?.is_empty() && pods(52, 51)?.is_empty());
    assert_eq!(blocks.query("{}")?.between(50, 51).untimed_blocks()?, 0);
    Ok(())
}

/// Columns with the names of times and values of another type say nothing about times.
#[test]
fn times_of_another_type_are_unknown() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("one.cx");
    let mut writer = BlockWriter::with_options(WriteOptions::new().time(0, 100));
    let first = writer.add_column(Blocks::FIRST_TIME, ValueType::U64, ColumnMerge::Min)?;
    let series = writer.insert([("__name__", "up")])?;
    writer.set(first, series, 90_u64)?;
    writer.finish(&path)?;
    let blocks = Blocks::open(&path)?;
    let query = blocks.query("up")?.between(10, 20);
    assert_eq!((query.count()?, query.untimed_blocks()?), (1, 1));
    assert_eq!(query.between(20, 20).count()?, 0);
    Ok(())
}
