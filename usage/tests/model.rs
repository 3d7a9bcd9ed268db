//! The use of metrics and labels of a block is that of a plain filter over its labelsets.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::layout::RowForm;
use chronoxide_format::write::BlockMeta;
use chronoxide_reader::{Block, Checks};
use chronoxide_select::{IndexedBlock, Limits};
use chronoxide_testkit::plan::{Plan, build};
use chronoxide_testkit::random::Random;
use chronoxide_usage::{BlockUsage, Queries};

type Labels = BTreeMap<String, String>;

const QUERIES: [&str; 17] = [
    "count({__name__!=\"\",c=\"1\",d!=\"2\"})",
    "sum(m3{d=\"\",b=~\"1|\"})",
    "m4{a!=\"1\",c=\"7\"}",
    "sum by (a) (m1)",
    "m2{a=\"1\"}",
    "sum without (b) (m3{c!=\"\"})",
    "m1 / on (a) group_left (b) m4",
    "sum({a=\"2\",b=~\"1|2\"})",
    "count({__name__=~\"m[5-9]\"})",
    "sum by (d) (rate(m1{b=\"$b\"}[5m]))",
    "m0{a=\"0\",b=\"0\",c=\"0\"}",
    "absent(m7{d=\"3\"})",
    "sum({__name__=\"\",a=\"1\"})",
    "topk by (c) (3, m2)",
    "histogram_quantile(0.9, sum by (le) (m8))",
    "absent_metric",
    "broken m9{",
];

fn value(labels: &Labels, name: &str) -> String {
    labels.get(name).cloned().unwrap_or_default()
}

fn random_labels(random: &mut Random) -> Labels {
    let mut labels = Labels::new();
    if random.percent(95) {
        labels.insert("__name__".to_owned(), format!("m{}", random.below(10)));
    }
    for name in ["a", "b", "c", "d", "le"] {
        if random.percent(60) {
            labels.insert(name.to_owned(), random.below(4).to_string());
        }
    }
    if labels.is_empty() {
        labels.insert("a".to_owned(), "1".to_owned());
    }
    labels
}

#[test]
fn usage_is_that_of_a_plain_filter() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let all: BTreeSet<Labels> = (0..1 + random.below(120)).map(|_| random_labels(&mut random)).collect();
        let mut queries = Queries::default();
        let lines: Vec<&str> = QUERIES.into_iter().filter(|_| random.percent(40)).collect();
        queries.add_text("q.promql", &lines.join("\n"));
        queries.add_text("a.tmpl", "{{ .Labels.d }}");
        assert_eq!(queries.queries.len(), lines.len() + 1, "seed {seed}");

        let mut metrics: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        let mut labels: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        let mut needed: BTreeSet<(String, String)> = BTreeSet::new();
        for (number, query) in queries.queries.iter().enumerate() {
            for need in &query.needs {
                // A selector with a name stands for all series of that name, others for those with the wanted labels.
                let wide = || need.selector.matchers().iter().filter(|matcher| !matcher.matches(""));
                let has_name = wide()
                    .any(|matcher| matcher.name() == "__name__" && ["=", "=~"].contains(&matcher.operator().sign()));
                let is_reached = |labels: &&Labels| {
                    let mut counted = wide().filter(|matcher| !has_name || matcher.name() == "__name__");
                    counted.all(|matcher| matcher.matches(&value(labels, matcher.name())))
                };
                let reached: Vec<&Labels> = all.iter().filter(is_reached).collect();
                for series in &reached {
                    metrics.entry(value(series, "__name__")).or_default().insert(number);
                    let used = series.keys().filter(|name| *name != "__name__" && !need.labels.uses(name).is_empty());
                    for name in used {
                        labels.entry(name.clone()).or_default().insert(number);
                        needed.extend(reached.iter().map(|other| (value(other, "__name__"), name.clone())));
                    }
                }
            }
            let has_label = |name: &&String| all.iter().any(|labels| !value(labels, name).is_empty());
            for name in query.labels.iter().filter(has_label) {
                labels.entry(name.clone()).or_default().insert(number);
                needed.extend(all.iter().map(|labels| (value(labels, "__name__"), name.clone())));
            }
        }

        let bytes = build(&all, &Plan::default(), RowForm::BitPacked, &BlockMeta::default()).unwrap();
        let block = IndexedBlock::new(Block::from_vec(bytes, Checks::Eager).unwrap());
        let searcher = block.searcher(Limits::default()).unwrap();
        let usage = BlockUsage::new(&searcher, &queries).unwrap();
        let view = block.view();
        let metric_key = view.key("__name__").unwrap();
        assert_eq!(usage.metric_names(&searcher).unwrap(), metrics.keys().cloned().collect(), "seed {seed}");
        for labels_of_series in &all {
            let name = value(labels_of_series, "__name__");
            let code = metric_key.filter(|_| !name.is_empty()).and_then(|key| view.value_code(key, &name).unwrap());
            let found = usage.metric(code).map(|metric| metric.queries.clone());
            assert_eq!(found, metrics.get(&name).cloned(), "seed {seed}, metric {name}");
            for label in ["a", "b", "c", "d", "le"] {
                let Some(key) = view.key(label).unwrap() else { continue };
                let found = usage.label(key).map(|label| label.queries.clone());
                assert_eq!(found, labels.get(label).cloned(), "seed {seed}, label {label}");
                let is_needed = needed.contains(&(name.clone(), label.to_owned()));
                assert_eq!(usage.is_needed(code, key), is_needed, "seed {seed}, label {label} of {name}");
            }
        }
        let idle: BTreeSet<&String> = usage.without_series().keys().collect();
        for need in queries.queries.iter().filter(|query| query.is_parsed).flat_map(|query| &query.needs) {
            let is_matched = all.iter().any(|labels| {
                need.selector.matches_labels(labels.iter().map(|(name, value)| (name.as_str(), value.as_str())))
            });
            assert_eq!(idle.contains(&need.selector.to_string()), !is_matched, "seed {seed}, {}", need.selector);
        }
    }
}
