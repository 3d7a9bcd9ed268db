//! External labels: set where inputs lack them, and made labels of series, against labelsets as plain maps.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use chronoxide_compactor::{CompactError, CompactOptions, Compaction, HashLabels};
use chronoxide_format::layout::RowForm;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_merge_model::expected;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::random::{Random, random_plan, random_series};
use proptest::prelude::*;

use crate::support::{content, random_options};

/// Names that random series have, and some that they do not; with values that they have and that they do not.
const EXTERNAL: [(&str, &str); 6] =
    [("pod", "pod-3"), ("node", "none"), ("cluster", "eu"), ("cluster", "us"), ("a.b", "1"), ("~", "last")];

fn some_external(random: &mut Random) -> Vec<(String, String)> {
    let chosen = EXTERNAL.iter().filter(|_| random.percent(30));
    let labels: BTreeMap<_, _> = chosen.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    labels.into_iter().collect()
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn external_of(block: &[u8]) -> Vec<(String, String)> {
    let view = BlockView::open(block).unwrap();
    let meta = view.meta().unwrap();
    meta.external_labels()
        .unwrap()
        .map(|pair| pair.unwrap())
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn lifted_labels_are_those_that_series_lack(seed: u64, count in 0_usize..80, number in 1_usize..4) {
        let mut random = Random::new(seed);
        let mut options = CompactOptions {
            lift_external_labels: true,
            external_labels: if random.percent(30) { some_external(&mut random) } else { Vec::new() },
            ..random_options(&mut random)
        };
        // A label that is hashed cannot be lifted.
        options.rewrite.hash_labels = HashLabels::default();
        let mut union: BTreeSet<Labelset> = BTreeSet::new();
        let mut blocks = Vec::new();
        for _ in 0..number {
            let series = random_series(random.below(count + 1), &mut random);
            let external_labels = some_external(&mut random);
            let mut lifted: BTreeMap<String, String> = options.external_labels.iter().cloned().collect();
            lifted.extend(external_labels.iter().cloned());
            lifted.retain(|_, value| !value.is_empty());
            let plan = random_plan(&series, &mut random);
            let meta = BlockMeta { external_labels, ..BlockMeta::default() };
            blocks.push(build(&series, &plan, RowForm::BitPacked, &meta).unwrap());
            // Other rewriting comes first. A series that it leaves without labels is dropped all the same.
            for labels in series.iter().filter_map(|labels| expected(labels, &options)) {
                let mut after = lifted.clone();
                after.extend(labels);
                union.insert(after);
            }
        }
        let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
        let merged = Compaction::new(&views, &options).merge_to_memory().unwrap();
        BlockView::open(&merged.block).unwrap().verify().unwrap();
        prop_assert_eq!(content(&merged.block), union);
        prop_assert_eq!(external_of(&merged.block), Vec::new());
    }
}

#[test]
fn labels_are_set_where_an_input_has_none_of_that_name() {
    let block = |seed, external: &[(&str, &str)]| {
        let meta = BlockMeta { external_labels: owned(external), ..BlockMeta::default() };
        build(&random_series(20, &mut Random::new(seed)), &Default::default(), RowForm::BitPacked, &meta).unwrap()
    };
    let (with, without, other) = (block(1, &[("cluster", "eu")]), block(2, &[]), block(3, &[("cluster", "us")]));
    let options =
        |labels: &[(&str, &str)]| CompactOptions { external_labels: owned(labels), ..CompactOptions::default() };
    let merge = |blocks: [&[u8]; 2], options: &CompactOptions| {
        let views = blocks.map(|block| BlockView::open(block).unwrap());
        Compaction::new(&views, options).merge_to_memory().map(|merged| external_of(&merged.block))
    };
    let differs = |result: Result<_, CompactError>| matches!(result, Err(CompactError::Differs { input: 1, .. }));
    assert!(differs(merge([&with, &without], &options(&[]))));
    assert_eq!(merge([&with, &without], &options(&[("cluster", "eu")])).unwrap(), owned(&[("cluster", "eu")]));
    assert_eq!(
        merge([&without, &with], &options(&[("cluster", "eu"), ("b", "1")])).unwrap(),
        owned(&[("b", "1"), ("cluster", "eu")])
    );
    // Labels of the input win.
    assert!(differs(merge([&with, &other], &options(&[("cluster", "eu")]))));
    assert!(differs(merge([&with, &without], &options(&[("cluster", "us")]))));
}

#[test]
fn a_label_longer_than_the_policy_is_not_lifted() {
    let meta = BlockMeta {
        external_labels: owned(&[("cluster", "a-name-of-27-bytes-in-total")]),
        policy: LabelPolicy::new(100, 20).unwrap(),
        ..BlockMeta::default()
    };
    let series = [[("a".to_owned(), "b".to_owned())].into()].into();
    let block = build(&series, &Default::default(), RowForm::BitPacked, &meta).unwrap();
    let options = CompactOptions { lift_external_labels: true, ..CompactOptions::default() };
    let refused = Compaction::new(&[BlockView::open(&block).unwrap()], &options).merge_to_memory().unwrap_err();
    assert!(refused.to_string().contains("longer than the label policy"), "{refused}");
}

#[test]
fn a_reserved_name_is_not_lifted() {
    let meta = BlockMeta { external_labels: owned(&[("\0x", "a")]), ..BlockMeta::default() };
    let series = [[("a".to_owned(), "b".to_owned())].into()].into();
    let block = build(&series, &Default::default(), RowForm::BitPacked, &meta).unwrap();
    let merge = |options: &CompactOptions| {
        Compaction::new(&[BlockView::open(&block).unwrap()], options).merge_to_memory().map(|merged| merged.block)
    };
    let refused = merge(&CompactOptions { lift_external_labels: true, ..CompactOptions::default() }).unwrap_err();
    assert!(refused.to_string().contains("begins with U+0000, which is reserved"), "{refused}");
    assert_eq!(external_of(&merge(&CompactOptions::default()).unwrap()), owned(&[("\0x", "a")]));
}

#[test]
fn the_command_merges_blocks_of_several_clusters() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let series = random_series(30, &mut Random::new(5));
    for cluster in ["eu", "us"] {
        let meta = BlockMeta { external_labels: owned(&[("cluster", cluster)]), ..BlockMeta::default() };
        let block = build(&series, &Default::default(), RowForm::BitPacked, &meta).unwrap();
        fs::write(path(&format!("{cluster}.cx")), block).unwrap();
    }
    let run = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"));
        command.args([path("eu.cx"), path("us.cx"), "-o".to_owned(), path("all.cx")]).args(more).output().unwrap()
    };
    assert_eq!(run(&[]).status.code(), Some(2), "their external labels differ");
    let done = run(&["--lift-external-labels"]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let merged = fs::read(path("all.cx")).unwrap();
    let of_cluster = |cluster: &str| {
        let with = |labels: &Labelset| {
            let mut after: Labelset = [("cluster".to_owned(), cluster.to_owned())].into();
            after.extend(labels.clone());
            after
        };
        series.iter().map(with).collect::<BTreeSet<_>>()
    };
    assert_eq!(content(&merged), of_cluster("eu").union(&of_cluster("us")).cloned().collect());
    let folder_run = Command::new(env!("CARGO_BIN_EXE_chronoxide-compact"))
        .args([folder.path().to_str().unwrap(), "--lift-external-labels"])
        .output()
        .unwrap();
    assert_eq!(folder_run.status.code(), Some(2), "labels are rewritten in files that are named");
}

#[test]
fn an_empty_external_label_is_refused_before_anything_is_done() {
    let block =
        build(&random_series(5, &mut Random::new(3)), &Plan::default(), RowForm::BitPacked, &BlockMeta::default());
    let block = block.unwrap();
    let inputs = [BlockView::open(&block).unwrap()];
    let external_labels = vec![("cluster".to_owned(), String::new())];
    let options = CompactOptions { external_labels, ..CompactOptions::default() };
    let refused = Compaction::new(&inputs, &options).merge_to_memory().unwrap_err();
    assert!(matches!(refused, CompactError::Options { .. }), "{refused}");
    assert!(refused.to_string().contains("empty value"), "{refused}");
}

#[test]
fn external_labels_that_are_left_out_do_not_keep_blocks_apart() {
    let series = [random_series(30, &mut Random::new(5)), random_series(30, &mut Random::new(6))];
    let blocks: Vec<Vec<u8>> = [(0, "eu"), (1, "us"), (0, "asia")]
        .map(|(of, cluster)| {
            let external_labels = owned(&[("cluster", cluster)]);
            let meta = BlockMeta { external_labels, ..BlockMeta::default() };
            build(&series[of], &Plan::default(), RowForm::BitPacked, &meta).unwrap()
        })
        .into();
    let views: Vec<BlockView<'_>> = blocks.iter().map(|block| BlockView::open(block).unwrap()).collect();
    let merge = |options: &CompactOptions| Compaction::new(&views, options).merge_to_memory();
    let refused = merge(&CompactOptions::default()).unwrap_err();
    assert!(matches!(refused, CompactError::Differs { input: 1, what: "external labels" }), "{refused}");
    // Lifting and defaults have nothing to work on.
    for (lift_external_labels, external_labels) in [(false, Vec::new()), (true, owned(&[("zone", "a")]))] {
        let options = CompactOptions {
            drop_external_labels: true,
            lift_external_labels,
            external_labels,
            ..CompactOptions::default()
        };
        let merged = merge(&options).unwrap();
        let union: BTreeSet<Labelset> = series.iter().flatten().cloned().collect();
        assert_eq!(content(&merged.block), union);
        assert_eq!(external_of(&merged.block), []);
        assert_eq!(merged.summary.duplicates, merged.summary.series_in - union.len() as u64);
    }
}
