//! Blocks of random labelsets after random plans, against labelsets as plain maps.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::layout::RowForm;
use chronoxide_format::metadata::OwnedMetricMetadata;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::{BlockView, FindError, Paths, Series};
use chronoxide_format::write::BlockMeta;
use chronoxide_format::{KeyId, Result, Rule, SeriesRef, SymbolId};
use chronoxide_testkit::fuzzing::rebuild::rebuilt_with_rows_written_later;
use chronoxide_testkit::plan::{KeysetPlan, Labelset, Plan, Source, build};
use chronoxide_testkit::random::{Random, by_keyset, random_metrics, random_plan, random_series};
use proptest::prelude::*;

const FORMS: [RowForm; 2] = [RowForm::FixedWidth, RowForm::BitPacked];

fn block(series: &BTreeSet<Labelset>, plan: &Plan, form: RowForm) -> Vec<u8> {
    build(series, plan, form, &BlockMeta::default()).unwrap()
}

/// The block with random metric metadata, which change nothing of what its series are.
fn block_with_metrics(series: &BTreeSet<Labelset>, plan: &Plan, form: RowForm, random: &mut Random) -> Vec<u8> {
    let metrics = random_metrics(series.len() / 4, random);
    let metrics = metrics.iter().map(OwnedMetricMetadata::borrowed).collect();
    build(series, plan, form, &BlockMeta { metrics, ..BlockMeta::default() }).unwrap()
}

fn labels(series: &Series<'_, '_>) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    series.labels().map(|label| label.unwrap()).map(|label| (text(label.name), text(label.value))).collect()
}

/// Random series with one random plan and the plain plan, in both forms: `check` gets each block.
fn for_each_block(seed: u64, count: usize, check: impl Fn(&BlockView<'_>, &BTreeSet<Labelset>, &Plan, &mut Random)) {
    let mut random = Random::new(seed);
    let series = random_series(count, &mut random);
    for plan in [random_plan(&series, &mut random), Plan::default()] {
        for form in FORMS {
            let bytes = block_with_metrics(&series, &plan, form, &mut random);
            let view = BlockView::open(&bytes).unwrap();
            if let Err(error) = view.verify() {
                panic!("{error}\n{plan:#?}\n{series:?}");
            }
            check(&view, &series, &plan, &mut random);
            check(&view.with_paths(&Paths::new()), &series, &plan, &mut random);
        }
    }
}

fn holds_its_series(view: &BlockView<'_>, model: &BTreeSet<Labelset>, plan: &Plan, random: &mut Random) {
    let count = model.len() as u32;
    let content = view.verify().unwrap();
    assert_eq!((content.series_count, view.series_count()), (model.len() as u64, Ok(count)));
    assert_eq!(content.label_count, model.iter().map(|labels| labels.len() as u64).sum::<u64>());

    let text = view.text().unwrap();
    let mut in_order = Vec::new();
    for (number, series) in view.series_iter().enumerate() {
        let series = series.unwrap();
        assert_eq!(series.series_ref(), SeriesRef(number as u32));
        let own = labels(&series);
        assert!(own.is_sorted_by(|a, b| a.0 < b.0), "names are in order: {own:?}");
        assert_eq!(series.label_count() as usize, own.len());
        let by_number = (0..series.label_count()).map(|label| series.ids(label)).collect::<Result<Vec<_>>>().unwrap();
        assert_eq!(series.label_ids().collect::<Result<Vec<_>>>().unwrap(), by_number);
        let as_text: Vec<(&str, &str)> = text.labels(&series).map(|label| label.unwrap().into()).collect();
        assert!(as_text.iter().map(|(name, value)| (*name, *value)).eq(own.iter().map(|(n, v)| (&**n, &**v))));
        in_order.push(own);
    }
    // One resolver for all: in order, then back and forth, so that what it remembers is of other series.
    let mut resolver = view.resolver();
    let scattered: Vec<u32> = (0..2 * count).map(|_| random.below(count as usize) as u32).collect();
    for number in (0..count).chain((0..count).rev()).chain(scattered) {
        let labels = resolver.labels(SeriesRef(number)).unwrap().expect("in range");
        let own = in_order[number as usize].iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        assert!(labels.iter().map(|label| (label.name, label.value)).eq(own), "series {number}");
    }
    assert_eq!(resolver.labels(SeriesRef(count)), Ok(None));
    let found: BTreeSet<Labelset> = in_order.iter().map(|labels| labels.iter().cloned().collect()).collect();
    assert_eq!(&found, model);
    assert_eq!(in_order.len(), model.len(), "no series stands twice");

    let keysets = by_keyset(model);
    assert_eq!(view.keyset_count() as usize, keysets.len());
    let names = |labels: &[(String, String)]| labels.iter().map(|(name, _)| name.clone()).collect::<Vec<String>>();
    assert!(in_order.is_sorted_by_key(|labels| names(labels)), "keysets are in the order of their names");
    if plan.keysets.is_empty() {
        let own = in_order.iter().map(|labels| labels.iter().map(|(_, value)| value).collect::<Vec<_>>());
        assert!(own.eq(keysets.into_values().flatten()), "series of a plain keyset are in the order of their values");
    }

    let mut refs: Vec<u32> = (0..count).collect();
    random.shuffle(&mut refs);
    for number in refs {
        let series = view.series(SeriesRef(number)).unwrap().unwrap();
        assert_eq!((series.series_ref(), labels(&series)), (SeriesRef(number), in_order[number as usize].clone()));
    }
    for beyond in [count, count + 1, u32::MAX] {
        assert!(view.series(SeriesRef(beyond)).unwrap().is_none());
    }
    for keyset in view.keysets() {
        let keyset = keyset.unwrap();
        let refs: Vec<u32> = keyset.series().unwrap().map(|series| series.unwrap().series_ref().0).collect();
        assert!(refs.into_iter().eq(keyset.first().0..keyset.first().0 + keyset.series_count()));
    }
}

/// The rule of an error.
fn rule_of<T>(result: Result<T>) -> Option<Rule> {
    result.err().map(|error| error.rule())
}

fn gives_labels_by_name(view: &BlockView<'_>, model: &BTreeSet<Labelset>) {
    let names: BTreeSet<&String> = model.iter().flat_map(BTreeMap::keys).collect();
    for series in view.series_iter() {
        let series = series.unwrap();
        let own: Labelset = labels(&series).into_iter().collect();
        for &name in &names {
            let value = own.get(name).map(String::as_bytes);
            assert_eq!(series.get(name.as_bytes()), Ok(value));
            let ids = series.get_key(view.key(name.as_bytes()).unwrap().unwrap()).unwrap();
            assert_eq!(ids.map(|ids| view.symbol(ids.value).unwrap()), value);
        }
        for unknown in ["", "_", "__name", "pod ", "zzz", "\u{10ffff}"] {
            assert_eq!(series.get(unknown.as_bytes()), Ok(None));
        }
    }
}

fn finds_its_series_and_no_other(view: &BlockView<'_>, model: &BTreeSet<Labelset>, random: &mut Random) {
    let known = |labels: &[(String, String)]| model.contains(&labels.iter().cloned().collect::<Labelset>());
    let found = |labels: &[(String, String)]| view.find(labels.iter().map(|(name, value)| (name, value)));
    let names: Vec<&String> = model.iter().flat_map(BTreeMap::keys).collect();
    let values: Vec<&String> = model.iter().flat_map(BTreeMap::values).collect();
    for series in view.series_iter() {
        let series = series.unwrap();
        let here = Ok(Some(series.series_ref()));
        let own = labels(&series);
        assert_eq!(found(&own), here);
        let mut shuffled = own.clone();
        shuffled.push(("nothing".to_owned(), String::new()));
        shuffled.push((names[0].clone(), String::new()));
        random.shuffle(&mut shuffled);
        assert_eq!(found(&shuffled), here, "{shuffled:?}");

        let mut other = own.clone();
        let one = random.below(own.len());
        match random.below(6) {
            0 => drop(other.remove(one)),
            1 => other[one].1 = values[random.below(values.len())].clone(),
            2 => other[one].1 = "no such value".to_owned(),
            3 => other.push(("no such name".to_owned(), own[one].1.clone())),
            4 => other[one].1.clear(),
            _ => {
                let name = names[random.below(names.len())];
                if own.iter().all(|(own, _)| own != name) {
                    other.push((name.clone(), values[random.below(values.len())].clone()));
                }
            }
        }
        other.retain(|(_, value)| !value.is_empty());
        let hit = found(&other).unwrap();
        assert_eq!(hit.is_some(), known(&other), "{other:?}");
        if let Some(hit) = hit {
            let mut hit = labels(&view.series(hit).unwrap().unwrap());
            hit.sort();
            other.sort();
            assert_eq!(hit, other);
        }

        let mut twice = own.clone();
        twice.push((own[one].0.clone(), own[one].1.clone()));
        random.shuffle(&mut twice);
        assert_eq!(found(&twice), Err(FindError::DuplicateName), "{twice:?}");
    }
    assert_eq!(found(&[]), Ok(None));
}

fn names_values_and_symbols(view: &BlockView<'_>, model: &BTreeSet<Labelset>) {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in model.iter().flatten() {
        values.entry(name).or_default().insert(value);
    }
    let names: Vec<&[u8]> = view.label_names().map(Result::unwrap).collect();
    assert_eq!(names, values.keys().map(|name| name.as_bytes()).collect::<Vec<_>>());
    for (number, (name, values)) in values.iter().enumerate() {
        let key = KeyId(number as u32);
        assert_eq!(view.key(name.as_bytes()), Ok(Some(key)));
        assert_eq!(view.cardinality(key), Ok(Some(values.len() as u32)));
        let found: Vec<&[u8]> = view.label_values(key).unwrap().unwrap().map(Result::unwrap).collect();
        assert_eq!(found, values.iter().map(|value| value.as_bytes()).collect::<Vec<_>>());
        for (code, value) in values.iter().enumerate() {
            assert_eq!(view.value_code(key, value.as_bytes()), Ok(Some(code as u32)));
        }
        assert_eq!(view.value_code(key, b"no such value"), Ok(None));
    }
    assert_eq!(view.cardinality(KeyId(values.len() as u32)), Ok(None));
    assert!(view.label_values(KeyId(u32::MAX)).unwrap().is_none());
    assert_eq!(rule_of(view.key_name(KeyId(u32::MAX))), Some(Rule::KeysOrder));

    let symbols: BTreeSet<&str> =
        values.iter().flat_map(|(name, values)| values.iter().chain([name])).copied().collect();
    assert_eq!(view.symbols().count() as usize, symbols.len());
    for (id, symbol) in (0..).zip(&symbols) {
        assert_eq!(view.lookup_symbol(symbol.as_bytes()), Ok(Some(SymbolId(id))));
        assert_eq!(view.symbol(SymbolId(id)), Ok(symbol.as_bytes()));
        // Beginnings and continuations are there only if they are symbols themselves.
        let shorter = &symbol[..symbol.floor_char_boundary(symbol.len() - 1)];
        for near in [shorter.to_owned(), format!("{symbol}\0"), format!("{symbol}x")] {
            assert_eq!(view.lookup_symbol(near.as_bytes()).unwrap().is_some(), symbols.contains(near.as_str()));
        }
    }
    assert_eq!(rule_of(view.symbol(SymbolId(symbols.len() as u32))), Some(Rule::ColumnCode));
    assert_eq!((view.lookup_symbol(b""), view.lookup_symbol([0xFF])), (Ok(None), Ok(None)));
}

/// A walk keeps the places in five tables. Leaves of eight tables take turns here, and two pairs of tables are nested.
#[test]
fn labels_of_more_tables_than_a_walk_keeps_open_are_in_order() {
    let mut random = Random::new(7);
    let names: Vec<String> = (0..16).map(|number| format!("n{number:02}")).collect();
    let mut values = || names.iter().map(|name| (name.clone(), format!("v{}", random.below(3)))).collect();
    let series: BTreeSet<Labelset> = (0..60).map(|_| values()).collect();
    let pair = |number: usize| vec![Source::Key(names[number].clone()), Source::Key(names[number + 8].clone())];
    let mut tables: Vec<Vec<Source>> = (0..8).map(pair).collect();
    for list in [None, Some(Source::Table(5))] {
        for nested in [0, 2] {
            tables.truncate(8);
            tables.extend((0..nested).map(|number| vec![Source::Table(number), Source::Table(number + 2)]));
            let columns = (0..8).filter(|number| *number >= 2 * nested).chain(8..8 + nested).map(Source::Table);
            let columns = columns.filter(|column| Some(column) != list.as_ref()).collect();
            let keysets = BTreeMap::from([(names.clone(), KeysetPlan { columns, list: list.clone() })]);
            let plan = Plan { tables: tables.clone(), keysets };
            let bytes = block(&series, &plan, RowForm::BitPacked);
            let view = BlockView::open(&bytes).unwrap();
            assert_eq!(view.keyset(0).unwrap().unwrap().pool().is_some(), list.is_some());
            for view in [view, view.with_paths(&Paths::new())] {
                holds_its_series(&view, &series, &plan, &mut random);
                finds_its_series_and_no_other(&view, &series, &mut random);
            }
        }
    }
}

/// A table of at most 64 columns is searched with less memory than a wider one.
#[test]
fn labelsets_are_found_in_tables_of_any_number_of_columns() {
    for columns in [1, 2, 63, 64, 65, 66, 1023] {
        // All columns vary: those that do not are not kept for the search.
        let values = |value: &str| -> Labelset {
            (0..columns).map(|column| (format!("n{column:04}"), value.to_owned())).collect()
        };
        let series = BTreeSet::from(["a", "b", "c"].map(values));
        let bytes = block(&series, &Plan::default(), RowForm::BitPacked);
        let view = BlockView::open(&bytes).unwrap();
        assert_eq!(view.keyset(0).unwrap().unwrap().table().column_count(), columns);
        for (number, labels) in (0..).zip(&series) {
            assert_eq!(view.find(labels), Ok(Some(SeriesRef(number))), "{columns} columns");
        }
        assert_eq!(view.find(&values("d")), Ok(None), "{columns} columns");
    }
}

/// Maps between the levels of a deep table once used up the steps that looking for a labelset may take.
#[test]
fn labelsets_are_found_through_maps_at_every_level() {
    for_each_block(14_849_796_093_652_643_490, 114, |view, model, _, random| {
        finds_its_series_and_no_other(view, model, random);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_block_holds_its_series_in_order_whatever_its_plan(seed: u64, count in 0_usize..250) {
        for_each_block(seed, count, holds_its_series);
    }

    #[test]
    fn labels_are_got_by_name(seed: u64, count in 0_usize..60) {
        for_each_block(seed, count, |view, model, _, _| gives_labels_by_name(view, model));
    }

    #[test]
    fn labelsets_of_the_block_are_found_and_no_others(seed: u64, count in 0_usize..120) {
        for_each_block(seed, count, |view, model, _, random| finds_its_series_and_no_other(view, model, random));
    }

    #[test]
    fn names_values_and_symbols_are_those_of_the_labels(seed: u64, count in 0_usize..120) {
        for_each_block(seed, count, |view, model, _, _| names_values_and_symbols(view, model));
    }

    #[test]
    fn the_fingerprint_is_that_of_the_content_and_of_nothing_else(seed: u64, count in 1_usize..120) {
        let mut random = Random::new(seed);
        let series = random_series(count, &mut random);
        let mut more = Random::new(seed ^ 1);
        let mut fingerprint = |series: &BTreeSet<Labelset>, plan: &Plan, form| {
            let bytes = block_with_metrics(series, plan, form, &mut more);
            BlockView::open(&bytes).unwrap().verify().unwrap().fingerprint
        };
        let expected = fingerprint(&series, &Plan::default(), RowForm::BitPacked);
        for form in FORMS {
            let plan = random_plan(&series, &mut random);
            prop_assert_eq!(fingerprint(&series, &plan, form), expected);
        }
        let mut less = series.clone();
        if less.pop_first().is_some() {
            prop_assert_ne!(fingerprint(&less, &random_plan(&less, &mut random), RowForm::BitPacked), expected);
        }
    }

    #[test]
    fn rows_written_later_make_the_same_block(seed: u64, count in 0_usize..100) {
        for_each_block(seed, count, |view, _, _, _| {
            assert!(rebuilt_with_rows_written_later(view) == view.bytes());
        });
    }

    #[test]
    fn the_same_series_and_plan_give_the_same_bytes(seed: u64, count in 0_usize..120) {
        let made = || {
            let mut random = Random::new(seed);
            let series = random_series(count, &mut random);
            let plan = random_plan(&series, &mut random);
            FORMS.map(|form| block(&series, &plan, form))
        };
        prop_assert!(made() == made());
    }

    #[test]
    fn over_long_labels_are_found_through_the_block_s_policy(
        seed: u64,
        originals in prop::collection::btree_set(
            prop::collection::btree_map("[a-cé]{1,30}", "[a-cé]{1,40}", 1..5), 1..20),
        (names, values) in (18_u32..30, 18_u32..40),
    ) {
        let policy = LabelPolicy::new(names, values).unwrap();
        let cut = |labels: &Labelset| -> Labelset {
            let cut = |(name, value): (&String, &String)| (policy.name(name).into_owned(), policy.value(value).into_owned());
            labels.iter().map(cut).collect()
        };
        let series: BTreeSet<Labelset> = originals.iter().map(cut).collect();
        let plan = random_plan(&series, &mut Random::new(seed));
        let bytes = build(&series, &plan, RowForm::BitPacked, &BlockMeta { policy, ..BlockMeta::default() }).unwrap();
        let view = BlockView::open(&bytes).unwrap();
        view.verify().unwrap();
        for original in &originals {
            let found = view.find(original).unwrap().expect("the long labelset is found");
            let stored: Labelset = labels(&view.series(found).unwrap().unwrap()).into_iter().collect();
            prop_assert_eq!(&stored, &cut(original));
            prop_assert_eq!(view.find(&stored), Ok(Some(found)), "and so is what is stored");
        }
    }
}

#[test]
fn random_plans_have_everything_that_plans_may_have() {
    let (mut maps, mut shared, mut lists_over_tables, mut lists, mut plain, mut deep) = (0, 0, 0, 0, 0, 0);
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let series = random_series(150, &mut random);
        let plan = random_plan(&series, &mut random);
        let bytes = block(&series, &plan, RowForm::BitPacked);
        let view = BlockView::open(&bytes).unwrap();
        for table in view.tables().map(Result::unwrap) {
            let inner = !table.is_dictionary() && !table.is_keyset();
            maps += usize::from(inner && table.is_map());
            shared += usize::from(inner && !table.is_map());
            plain += usize::from(table.is_keyset() && table.written_leaf_count() == 0);
        }
        for pool in view.pools().map(Result::unwrap) {
            lists += 1;
            lists_over_tables += usize::from(!pool.table().unwrap().is_dictionary());
        }
        deep += usize::from(plan.tables.iter().any(|table| depth(&plan, table) >= 3));
    }
    let seen = [maps, shared, lists, lists_over_tables, plain, deep];
    assert!(seen.iter().all(|&count| count >= 10), "{seen:?}");
}

fn depth(plan: &Plan, table: &[Source]) -> u32 {
    let below = table.iter().map(|source| match source {
        Source::Key(_) => 0,
        Source::Table(table) => depth(plan, &plan.tables[*table]),
    });
    below.max().unwrap_or(0) + u32::from(table.len() > 1)
}

#[test]
fn a_label_out_of_range_is_an_error() {
    let is_refused = |rule| matches!(rule, Some(Rule::LeavesOrder | Rule::LeavesWritten));
    for_each_block(1, 100, |view, _, _, _| {
        for series in view.series_iter() {
            let series = series.unwrap();
            for beyond in [series.label_count(), series.label_count() + 1, u32::MAX] {
                assert!(is_refused(rule_of(series.ids(beyond))), "{:?} has no label {beyond}", labels(&series));
            }
        }
        for table in view.tables().map(Result::unwrap) {
            assert!(is_refused(rule_of(table.leaf_key(table.leaf_count().unwrap()))), "table {}", table.id());
        }
    });
}

#[test]
fn a_name_given_twice_is_an_error_even_if_a_value_is_unknown() {
    for_each_block(2, 100, |view, model, _, _| {
        for labels in model {
            let (name, value) = labels.first_key_value().unwrap();
            for twice in [[value.as_str(), "no such value"], ["no such value", value], ["no such value", "nor this"]] {
                let wanted = twice.map(|value| (name, value));
                assert_eq!(view.find(wanted), Err(FindError::DuplicateName), "{wanted:?}");
            }
        }
    });
}
