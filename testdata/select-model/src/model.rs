//! Queries of blocks beside a plain model: a filter over labelsets, written from the rules of Prometheus.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use chronoxide_format::identity::{Fingerprint, LabelHasher};
use chronoxide_format::view::{BlockView, FindError, TimeRange};
use chronoxide_format::{KeyId, SeriesRef};
use chronoxide_select::{
    AcceptedCodes, CodeColumn, CodeCounts, ColumnReader, FindManyError, Index, Labels, Limits, Matcher, Operator,
    Searcher, SelectError, Selection, ValueRange,
};
use chronoxide_testkit::plan::Labelset;
use chronoxide_testkit::random::Random;

/// Regular expressions that are awkward for some shortcut.
const PATTERNS: [&str; 40] = [
    "",
    ".*",
    ".+",
    "|",
    "a|",
    "|b",
    "a|b",
    "(a|b)",
    "a.*",
    "a.+",
    ".*a",
    ".*a.*",
    ".+a.+",
    "pod-.*",
    "pod-[0-4]",
    "pod-(1|2|3)",
    "(?i)POD-1",
    "(?i)a",
    "[^a]*",
    "[^a]+",
    "a?",
    "(a|)",
    "(pod-1)?",
    "^pod-1$",
    "^.*$",
    "pod-1|pod-2",
    "pod-1|.*2",
    "é.*",
    ".",
    "..",
    r"\d+",
    r"pod-\d+",
    r".*\n.*",
    "世|🦀",
    "node-0|node-1|nope",
    "(a|b)(c|d)",
    "500|4..",
    r"\bpod.*",
    ".*[0-4].*",
    "(a*)*b?",
];

/// Returns matchers for labels of some series: operators, names and values that often match, and sometimes cannot.
pub fn random_matchers(series: &[Labelset], random: &mut Random) -> Vec<Matcher> {
    let count = [0, 1, 1, 1, 2, 2, 2, 3, 4][random.below(9)];
    (0..count).map(|_| random_matcher(series, random)).collect()
}

fn random_matcher(series: &[Labelset], random: &mut Random) -> Matcher {
    let own = if series.is_empty() { None } else { series[random.below(series.len())].iter().nth(random.below(4)) };
    let (name, value) = match own {
        Some((name, value)) if random.percent(90) => (name.clone(), value.clone()),
        _ => (["absent", "__name__", "pod", "é", ""][random.below(5)].to_owned(), random.text()),
    };
    let operator = [Operator::Equal, Operator::NotEqual, Operator::Matches, Operator::MatchesNot][random.below(4)];
    let is_pattern = matches!(operator, Operator::Matches | Operator::MatchesNot);
    let value = match (is_pattern, random.below(10)) {
        (false, 0) => String::new(),
        (false, _) => value,
        (true, 0..5) => PATTERNS[random.below(PATTERNS.len())].to_owned(),
        (true, 5) => literal(&value),
        (true, 6) => {
            let others = (0..3).filter_map(|_| series.get(random.below(series.len().max(1)))?.get(&name));
            let all: Vec<String> = others.chain([&value]).map(|value| literal(value)).collect();
            all.join("|")
        }
        (true, _) => {
            let kept = value.chars().count() / 2;
            let start: String = value.chars().take(kept).collect();
            format!("{}.*", literal(&start))
        }
    };
    Matcher::new(name, operator, value).expect("the pattern is valid")
}

/// Returns a pattern that matches a text only.
fn literal(text: &str) -> String {
    text.chars().map(|char| if char.is_ascii_punctuation() { format!("\\{char}") } else { char.to_string() }).collect()
}

/// Returns true if a series satisfies a matcher. An absent label has the empty value.
fn satisfies(labels: &Labelset, matcher: &Matcher) -> bool {
    matcher.matches(labels.get(matcher.name()).map_or("", |value| value))
}

/// Asks a block everything about the series that matchers select, and compares each answer with the filter over its
/// labelsets, which are given in the order of their refs.
///
/// # Panics
/// If an answer is wrong.
pub fn check_answers(view: &BlockView<'_>, series: &[Labelset], matchers: &[Matcher]) {
    check_answers_within(view, series, matchers, None);
}

/// Asks as [`check_answers`], for the series that have data in a time range, if one is given with a flag for each
/// series that says whether it has.
///
/// # Panics
/// If an answer is wrong.
pub fn check_answers_within(
    view: &BlockView<'_>,
    series: &[Labelset],
    matchers: &[Matcher],
    time: Option<(TimeRange, &[bool])>,
) {
    let index = Index::new(view).expect("a sound block has an index");
    let mut searcher = Searcher::new(view, &index);
    let is_in_time = match time {
        Some((range, is_in_time)) => {
            searcher = searcher.within(range);
            is_in_time.to_vec()
        }
        None => vec![true; series.len()],
    };
    let about = || matchers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let expected: Vec<u32> = (0..)
        .zip(series.iter().zip(&is_in_time))
        .filter(|(_, (labels, is_in))| **is_in && matchers.iter().all(|matcher| satisfies(labels, matcher)))
        .map(|(number, _)| number)
        .collect();

    let selection = searcher.select(matchers).unwrap_or_else(|error| panic!("{}: {error}", about()));
    let refs: Vec<u32> = selection.iter().map(|series| series.0).collect();
    assert_eq!(refs, expected, "series of {{{}}}", about());
    assert_eq!(searcher.count(matchers), Ok(expected.len() as u64), "count of {{{}}}", about());
    assert_eq!(selection.count() as usize, expected.len());
    assert_eq!(expected.iter().map(|&series| SeriesRef(series)).collect::<Selection>(), selection);

    let selected: Vec<&Labelset> = expected.iter().map(|&place| &series[place as usize]).collect();
    let names: BTreeSet<&str> = selected.iter().flat_map(|labels| labels.keys()).map(String::as_str).collect();
    let found: Vec<&str> = searcher.label_names(matchers).expect("sound").into_iter().map(text).collect();
    assert_eq!(found, names.iter().copied().collect::<Vec<_>>(), "label names of {{{}}}", about());

    let tally = searcher.tally(matchers).expect("sound");
    for (key, count) in (0..).map(KeyId).zip(searcher.series_per_key().expect("sound")) {
        let name = text(view.key_name(key).expect("sound"));
        assert_eq!(
            count,
            series.iter().filter(|labels| labels.contains_key(name)).count() as u64,
            "series with {name}"
        );
    }
    let by_series = searcher.tally_selection(&selection).expect("sound");
    assert_eq!(by_series.keysets(), tally.keysets(), "keysets of the selection of {{{}}}", about());
    assert!(by_series.keys().eq(tally.keys()), "keys of the selection of {{{}}}", about());
    for key in tally.keys() {
        assert!(by_series.values(key).eq(tally.values(key)), "{key:?} of the selection of {{{}}}", about());
    }
    assert_eq!(tally.series_count(), expected.len() as u64);
    assert_eq!(tally.keys().count(), names.len());
    let mut by_keys: BTreeMap<Vec<&str>, u64> = BTreeMap::new();
    for labels in &selected {
        *by_keys.entry(labels.keys().map(String::as_str).collect()).or_default() += 1;
    }
    let mut counted: Vec<u64> = tally.keysets().iter().map(|(_, count)| *count).collect();
    let mut counts: Vec<u64> = by_keys.into_values().collect();
    counted.sort_unstable();
    counts.sort_unstable();
    assert_eq!(counted, counts, "keysets of {{{}}}", about());
    for name in names.iter().copied().chain(["absent"]) {
        let mut values: BTreeMap<&str, u64> = BTreeMap::new();
        for value in selected.iter().filter_map(|labels| labels.get(name)) {
            *values.entry(value).or_default() += 1;
        }
        let found = searcher.label_values(name, matchers, None).expect("sound");
        assert_eq!(found.into_iter().map(text).collect::<Vec<_>>(), values.keys().copied().collect::<Vec<_>>());
        for (prefix, after) in [("p", ""), ("", "pod-1"), ("p", "p"), ("p", "q"), ("w", "a")] {
            let range = ValueRange { prefix, after };
            let found = searcher.label_values_in(name, range, matchers, Some(2)).expect("sound");
            let is_wanted = |value: &&str| value.starts_with(prefix) && *value > after;
            let expected: Vec<&str> = values.keys().copied().filter(is_wanted).take(2).collect();
            assert_eq!(found.into_iter().map(text).collect::<Vec<_>>(), expected, "{range:?}");
        }
        let absent = selected.iter().filter(|labels| !labels.contains_key(name)).count() as u64;
        let absent = Some((None, absent)).filter(|(_, count)| *count > 0);
        let found = searcher.count_by_value(name, matchers).expect("sound");
        let found: Vec<_> = found.into_iter().map(|(value, count)| (value.map(text), count)).collect();
        let counts = values.iter().map(|(value, count)| (Some(*value), *count));
        assert_eq!(found, absent.into_iter().chain(counts).collect::<Vec<_>>(), "{name} of {{{}}}", about());
        if let Some(key) = view.key(name).expect("sound") {
            let dictionary: Vec<&[u8]> =
                view.label_values(key).expect("sound").expect("a key").collect::<Result<_, _>>().expect("sound");
            let counted: Vec<(&str, u64)> =
                tally.values(key).map(|(code, count)| (text(dictionary[code as usize]), count)).collect();
            assert_eq!(counted, values.into_iter().collect::<Vec<_>>(), "{name} of {{{}}}", about());
        }
    }

    if let Some(most) = (expected.len() as u64).checked_sub(1) {
        let limits = Limits::default().with_max_series(most);
        let limited = searcher.with_limits(limits).select(matchers);
        assert_eq!(limited, Err(SelectError::TooManySeries { limit: most }));
    }
    let limits = Limits::default().with_max_series(expected.len() as u64);
    assert_eq!(searcher.with_limits(limits).select(matchers).as_ref(), Ok(&selection));

    check_pages(&searcher, series, &is_in_time, matchers);

    let mut ordered = expected.clone();
    ordered.sort_by_key(|&place| series[place as usize].iter().collect::<Vec<_>>());
    let found: Result<Vec<u32>, _> =
        searcher.in_label_order(&selection).expect("sound").map(|series| series.map(|series| series.0)).collect();
    assert_eq!(found.expect("sound"), ordered, "label order of {{{}}}", about());

    check_searches(&searcher, series, &expected);
    let names: Vec<&str> = matchers.iter().map(Matcher::name).chain(["pod", "le"]).collect();
    check_projection(&searcher, series, &selection, &names);
    check_columns(&searcher, series, &selection, &names);
    check_accepted_codes(&searcher, matchers, &selection);
    for labels in [Labels::All, Labels::By(&names), Labels::By(&names[..1]), Labels::Without(&names), Labels::By(&[])] {
        check_groups(&searcher, series, &selection, labels);
    }
}

/// Reads the series that satisfy all matchers, or the first of them, in pages of several sizes.
fn check_pages(searcher: &Searcher<'_, '_>, series: &[Labelset], is_in_time: &[bool], matchers: &[Matcher]) {
    let first = matchers.get(..1).unwrap_or_default();
    for alternatives in [vec![matchers], vec![first, matchers], vec![]] {
        let is_selected =
            |labels: &Labelset| alternatives.iter().any(|all| all.iter().all(|matcher| satisfies(labels, matcher)));
        let all = (0..).zip(series.iter().zip(is_in_time));
        let expected: Vec<u32> =
            all.filter(|(_, (labels, is_in))| **is_in && is_selected(labels)).map(|(place, _)| place).collect();
        let refs = |selection: &Selection| selection.iter().map(|series| series.0).collect::<Vec<u32>>();
        let all = || searcher.pages(alternatives.iter().copied()).expect("sound");
        for pages in [all(), all().with_max_ranges(1 + expected.len() / 5)] {
            let mut left = pages.clone();
            let mut found = Vec::new();
            while let Some(page) = left.next_page(searcher).expect("sound") {
                assert!(!page.is_empty());
                found.extend(refs(&page));
            }
            assert_eq!(found, expected, "pages of {alternatives:?}");
            let count = expected.len() / 2;
            let taken = pages.take(searcher, count as u32).expect("sound");
            assert_eq!(refs(&taken), expected[..count], "first {count} of {alternatives:?}");
        }
    }
}

/// Searches for selected series, for one of them twice, and for labelsets that the block does not have.
fn check_searches(searcher: &Searcher<'_, '_>, series: &[Labelset], selected: &[u32]) {
    let mut wanted: Vec<Labelset> = selected.iter().rev().map(|&place| series[place as usize].clone()).collect();
    let mut expected: Vec<Option<SeriesRef>> = selected.iter().rev().map(|&place| Some(SeriesRef(place))).collect();
    if let (Some(labels), Some(&place)) = (wanted.first().cloned(), expected.first()) {
        let mut more = labels.clone();
        more.insert("one more label".to_owned(), "value".to_owned());
        let mut other = labels.clone();
        other.insert("pod".to_owned(), "no such pod".to_owned());
        wanted.extend([labels, more, other, Labelset::new()]);
        expected.extend([place, None, None, None]);
    }
    let pairs = wanted.iter().map(|labels| labels.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())));
    assert_eq!(searcher.find_many(pairs).expect("names differ"), expected);
    for (labels, expected) in wanted.iter().zip(expected) {
        let mut pairs: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(searcher.find(&pairs), Ok(expected), "{labels:?}");
        pairs.reverse();
        pairs.push(("empty", ""));
        assert_eq!(searcher.find(&pairs), Ok(expected), "{labels:?} in another order");
    }
    if let Some(labels) = wanted.first() {
        let (name, value) = labels.iter().next().expect("a series has labels");
        let twice = [vec![], vec![(name.as_bytes(), value.as_bytes()); 2]];
        assert_eq!(searcher.find_many(twice), Err(FindManyError::DuplicateName { position: 1 }));
        let twice = [(&**name, &**value), ("unknown", "value"), (&**name, "another value")];
        assert_eq!(searcher.find(&twice), Err(FindError::DuplicateName));
    }
}

/// Returns the kept labels of a series.
fn kept<'l>(labels: &'l Labelset, which: Labels<'_>) -> Vec<(&'l str, &'l str)> {
    let is_kept = |name: &str| match which {
        Labels::All => true,
        Labels::By(names) => names.contains(&name),
        Labels::Without(names) => !names.contains(&name),
    };
    labels.iter().filter(|(name, _)| is_kept(name)).map(|(name, value)| (&**name, &**value)).collect()
}

fn check_projection(searcher: &Searcher<'_, '_>, series: &[Labelset], selection: &Selection, names: &[&str]) {
    // In an order that is not that of the refs, with one that is out of range.
    let mut refs: Vec<SeriesRef> = selection.iter().collect();
    let middle = refs.len() / 2;
    refs.rotate_left(middle);
    refs.push(SeriesRef(series.len() as u32));
    let view = searcher.view();
    let projection = searcher.project(&refs, names).expect("sound");
    for (column, name) in names.iter().enumerate() {
        assert_eq!(projection.codes(column).len(), refs.len());
        for (position, series_ref) in refs.iter().enumerate() {
            let expected = series.get(series_ref.0 as usize).and_then(|labels| labels.get(*name)).map(String::as_str);
            let found = projection.value(view, column, position).expect("sound").map(text);
            assert_eq!(found, expected, "{name} of series {series_ref}");
        }
    }
}

/// Selects by codes of values that a matcher accepts.
fn check_accepted_codes(searcher: &Searcher<'_, '_>, matchers: &[Matcher], selection: &Selection) {
    let view = searcher.view();
    let accepted = matchers.iter().filter_map(|matcher| {
        let key = view.key(matcher.name()).expect("sound");
        if key.is_none() && matcher.matches("") {
            return None;
        }
        let key = key.unwrap_or(KeyId(view.key_count()));
        let values = view.label_values(key).expect("sound").into_iter().flatten();
        let accepts = |value: &[u8]| matcher.matches(text(value));
        let codes = (0..).zip(values).filter(|(_, value)| accepts(value.as_ref().expect("sound")));
        let codes = codes.map(|(code, _)| code..code + 1).collect();
        Some(AcceptedCodes { key, codes, accepts_absent: matcher.matches("") })
    });
    assert_eq!(searcher.select_codes(&accepted.collect::<Vec<_>>()).as_ref(), Ok(selection));
}

/// Reads columns of ranges of series of several lengths, with one reader, and of the selection's ranges.
fn check_columns(searcher: &Searcher<'_, '_>, series: &[Labelset], selection: &Selection, names: &[&str]) {
    let view = searcher.view();
    let keys: Vec<KeyId> = names.iter().filter_map(|name| view.key(name).expect("sound")).collect();
    let count = series.len() as u32;
    let (mut reader, mut counter) = (ColumnReader::default(), ColumnReader::default());
    let mut check = |ranges: Vec<Range<u32>>| {
        let mut columns = vec![CodeColumn::default(); keys.len()];
        let cardinality = |key| view.cardinality(key).expect("sound").expect("in range");
        let mut counts: Vec<CodeCounts> = keys.iter().map(|&key| CodeCounts::new(cardinality(key))).collect();
        for range in &ranges {
            let range = SeriesRef(range.start)..SeriesRef(range.end);
            reader.read(searcher, range.clone(), &keys, &mut columns).expect("sound");
            counter.count(searcher, range, &keys, &mut counts).expect("sound");
        }
        let refs: Vec<u32> = ranges.into_iter().flat_map(|range| range.start..range.end.min(count)).collect();
        for ((key, column), counts) in keys.iter().zip(&columns).zip(counts) {
            let name = text(view.key_name(*key).expect("sound"));
            let values: Vec<&[u8]> =
                view.label_values(*key).expect("sound").expect("in range").collect::<Result<_, _>>().expect("sound");
            assert_eq!(column.len() as usize, refs.len());
            let labels = || refs.iter().map(|series_ref| series[*series_ref as usize].get(name));
            let expected =
                values.iter().map(|value| labels().flatten().filter(|other| other.as_bytes() == *value).count());
            assert_eq!(counts.counts(), expected.map(|count| count as u64).collect::<Vec<_>>(), "{name}");
            assert_eq!(counts.absent() as usize, labels().filter(Option::is_none).count(), "{name}");
            for (position, series_ref) in refs.iter().enumerate() {
                let is_absent = column.absent().contains(position as u32);
                let code = column.codes().get(position).copied().unwrap_or_default();
                let found = if is_absent { None } else { Some(text(values[code as usize])) };
                let expected = series[*series_ref as usize].get(name).map(String::as_str);
                assert_eq!(found, expected, "{name} of series {series_ref}");
                assert!(!is_absent || code == 0);
            }
        }
    };
    check(selection.ranges().map(|range| range.start.0..range.end.0).collect());
    for step in [1, 3, count.max(1)] {
        check((0..count).step_by(step as usize).map(|start| start..(start + step).min(count)).collect());
    }
    // Backwards, with gaps, and beyond the end.
    check((0..count).rev().step_by(4).map(|start| start..start + 2).collect());
    check(vec![count..count + 5, 0..0]);
}

fn check_groups(searcher: &Searcher<'_, '_>, series: &[Labelset], selection: &Selection, which: Labels<'_>) {
    let groups = searcher.group(selection, which).expect("sound");
    let fingerprints = searcher.fingerprints(selection, which).expect("sound");
    let mut expected: BTreeMap<Vec<(&str, &str)>, u32> = BTreeMap::new();
    let mut numbers = Vec::new();
    for (place, series_ref) in selection.iter().enumerate() {
        let labels = kept(&series[series_ref.0 as usize], which);
        let product =
            labels.iter().map(|(name, value)| label_fingerprint(name, value)).fold(Fingerprint::ONE, |a, b| a * b);
        assert_eq!(fingerprints[place], product, "series {series_ref}");
        let next = expected.len() as u32;
        numbers.push(*expected.entry(labels).or_insert(next));
    }
    assert_eq!(groups.numbers(), numbers, "{which:?}");
    assert_eq!(groups.count(), expected.len());
    assert_eq!(searcher.count_groups_of(selection, which).expect("sound"), expected.len() as u64);
    for (labels, number) in expected {
        let found = groups.labels(searcher.view(), number as usize).expect("sound");
        assert_eq!(found.iter().map(|label| (text(label.name), text(label.value))).collect::<Vec<_>>(), labels);
        let first = selection.iter().nth(numbers.iter().position(|&other| other == number).expect("a series"));
        assert_eq!(Some(groups.first_series()[number as usize]), first);
    }
}

fn label_fingerprint(name: &str, value: &str) -> Fingerprint {
    LabelHasher::new(name.as_bytes()).label(value.as_bytes())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("a sound block is UTF-8")
}
