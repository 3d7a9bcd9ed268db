//! Output of `plan`, compared with labelsets as plain maps and the spec's arithmetic.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use chronoxide_dump::plan::{Plan, plan_entries};
use chronoxide_format::PLAN_KEY;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{self, Labelset, build};
use chronoxide_testkit::random::{Random, by_keyset, random_series};
use serde_json::{Value, json};

use crate::support::model::{Model, bytes};
use crate::support::{Folder, block_of, golden, json_lines, random_block, stdout};

/// Returns the size of each keyset's series as rows of value codes. A value's code is its rank among the values of its
/// name.
fn plain_bytes(series: &BTreeSet<Labelset>, model: &Model) -> Vec<u64> {
    let mut values: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for (name, value) in series.iter().flatten() {
        values.entry(name).or_default().insert(value);
    }
    let code = |name: &String, value: &String| values[name].range::<String, _>(..value).count() as u64;
    let of_keyset = |(names, rows): (Vec<&String>, BTreeSet<Vec<&String>>)| {
        let span = |column: usize| {
            let codes: BTreeSet<u64> = rows.iter().map(|row| code(names[column], row[column])).collect();
            codes.last().unwrap() - codes.first().unwrap()
        };
        bytes(rows.len() as u64 * (0..names.len()).map(|column| model.field(span(column))).sum::<u64>())
    };
    by_keyset(series).into_iter().map(of_keyset).collect()
}

/// Returns the expected lines for a block that holds `series`, in order; `version` is that of its planner.
fn expected(series: &BTreeSet<Labelset>, block: &[u8], version: u32) -> Vec<Value> {
    let model = Model::from_block(block);
    let plain = plain_bytes(series, &model);
    let first = model.first_keyset();
    let rows = if model.fixed_width { "fixedwidth" } else { "bitpacked" };
    let is_factored = first > model.keys.len() || !model.pools.is_empty();
    let mut lines = vec![json!({
        "type": "plan", "planner_version": version, "rows": rows, "factored": is_factored, "series": model.series(),
        "keysets": model.keysets.len(), "sampled_series": null, "expected_bytes_per_series": null,
    })];
    let mut keysets: Vec<Value> =
        (0..plain.len()).map(|keyset| expected_keyset(&model, keyset, plain[keyset])).collect();
    // A stable sort keeps the order of keysets with equal gains.
    keysets.sort_by_key(|keyset| Reverse(keyset["saved_bytes"].as_i64()));
    lines.append(&mut keysets);
    for table in model.keys.len()..first {
        let direct = |keyset: &usize| {
            model.tables[first + keyset].columns.iter().any(|(domain, _)| *domain == json!({ "table": table }))
        };
        let through = |keyset: &usize| model.below(first + keyset).contains(&table);
        lines.push(json!({
            "type": "table", "table": table, "kind": model.kind(table), "rows": model.tables[table].rows,
            "bytes": model.table_bytes(table), "keys": model.key_names(table),
            "direct_keysets": (0..plain.len()).filter(direct).count(),
            "keysets": (0..plain.len()).filter(through).count(),
        }));
    }
    for (number, pool) in model.pools.iter().enumerate() {
        let keysets = model.referrers(&json!({ "pool": number }))["keysets"].as_array().unwrap().len();
        lines.push(json!({
            "type": "pool", "pool": number, "table": pool.table, "lists": pool.lists, "members": pool.members,
            "bytes": model.pool_bytes(number), "keysets": keysets,
        }));
    }
    lines.push(expected_balance(&model, plain.iter().sum()));
    lines
}

fn expected_keyset(model: &Model, keyset: usize, plain: u64) -> Value {
    let table = model.first_keyset() + keyset;
    let (rows, anchors) = (model.table_bytes(table), model.anchor_bytes(keyset));
    json!({
        "type": "keyset", "keyset": keyset, "table": table, "series": model.keysets[keyset],
        "prefix_rows": model.tables[table].rows, "plain_bytes": plain, "row_bytes": rows, "anchor_bytes": anchors,
        "factored_bytes": rows + anchors, "saved_bytes": plain as i64 - (rows + anchors) as i64,
        "keys": model.key_names(table),
    })
}

fn expected_balance(model: &Model, plain: u64) -> Value {
    let of_kind = |kind: &str| -> u64 {
        (0..model.tables.len()).filter(|&table| model.kind(table) == kind).map(|table| model.table_bytes(table)).sum()
    };
    let anchors: u64 = (0..model.keysets.len()).map(|keyset| model.anchor_bytes(keyset)).sum();
    let lists: u64 = (0..model.pools.len()).map(|pool| model.pool_bytes(pool)).sum();
    let factored = of_kind("keyset") + anchors + lists + of_kind("shared") + of_kind("map");
    let saved = plain as i64 - factored as i64;
    json!({
        "type": "balance", "plain_bytes": plain, "keyset_table_bytes": of_kind("keyset"), "anchor_bytes": anchors,
        "list_bytes": lists, "shared_table_bytes": of_kind("shared"), "map_bytes": of_kind("map"),
        "factored_bytes": factored, "saved_bytes": saved, "saved_bytes_per_series": model.per_series(saved),
        "catalogue_bytes": model.sections["catalogue"],
        "bytes_per_series": model.per_series((factored + model.sections["catalogue"]) as i64),
    })
}

fn entries(block: &[u8]) -> Vec<Value> {
    let view = BlockView::open(block).unwrap();
    let mut lines = Vec::new();
    plan_entries(&view, &Plan::from_view(&view).unwrap(), None, &mut |entry| {
        lines.push(serde_json::to_value(entry).unwrap());
        Ok(())
    })
    .unwrap();
    lines
}

#[test]
fn gains_of_the_goldens_match_their_series() {
    for block in goldens() {
        let lines = json_lines(&["plan", &golden(&format!("{}.cx", block.name)), "--json"]);
        let version = match block.name {
            "meta" => 7,
            "planned" | "planned-small" => 4,
            _ => 0,
        };
        assert_eq!(lines, expected(&block.series, &block.bytes, version), "{}", block.name);
    }
}

#[test]
fn gains_of_random_plans_match_their_series() {
    let (mut saved, mut lost, mut indirect) = (0, 0, 0);
    for seed in 0..150 {
        let (series, block) = random_block(seed);
        let lines = entries(&block);
        assert_eq!(lines, expected(&series, &block, 0), "seed {seed}");
        let count = |is: &dyn Fn(&Value) -> bool| lines.iter().filter(|line| is(line)).count();
        saved += count(&|line| line["type"] == "keyset" && line["saved_bytes"].as_i64() > Some(0));
        lost += count(&|line| line["type"] == "balance" && line["saved_bytes"].as_i64() < Some(0));
        indirect += count(&|line| line["type"] == "table" && line["direct_keysets"] != line["keysets"]);
    }
    println!("{saved} keysets saved, {lost} blocks lost, {indirect} tables are used through others");
    assert!(saved >= 100 && lost >= 50 && indirect >= 100, "{saved} {lost} {indirect}");
}

/// The plain size of a keyset is its size in the plain block of the same series.
#[test]
fn plain_bytes_are_those_of_the_plain_block() {
    let mut keysets = 0;
    for seed in 0..150 {
        let (series, block) = random_block(seed);
        let form = if Model::from_block(&block).fixed_width { RowForm::FixedWidth } else { RowForm::BitPacked };
        let plain = block_of(&series, &plan::Plan::default(), form);
        let of_keysets = |lines: Vec<Value>, field: &str| -> BTreeMap<u64, u64> {
            let keysets = lines.iter().filter(|line| line["type"] == "keyset");
            keysets.map(|line| (line["keyset"].as_u64().unwrap(), line[field].as_u64().unwrap())).collect()
        };
        let (factored, plain) = (of_keysets(entries(&block), "plain_bytes"), of_keysets(entries(&plain), "row_bytes"));
        assert_eq!(factored, plain, "seed {seed}");
        keysets += plain.len();
    }
    assert!(keysets >= 300, "{keysets} keysets");
}

/// 118 series with 0 + 2 + 1 + 5 bits of name, code, method and route, and 42 with 0 + 2 + 5 of name, bound and route.
/// In their place 20 rows of 0 + 5 + 1 bits each, and two anchors of 7 and of 6 bits.
#[test]
fn gains_are_shown_in_words() {
    let shown = stdout(&["plan", &golden("lists-bitpacked.cx")]);
    let words: Vec<String> = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "plan",
        "planner 0",
        "rows bitpacked",
        "series 160 in 2 keysets",
        "keysets: bytes of their rows",
        "0 118 series 20 prefix rows 118 plain 17 factored 101 saved 4 keys: __name__, code, method, route",
        "1 42 series 20 prefix rows 37 plain 17 factored 20 saved 3 keys: __name__, le, route",
        "inner tables",
        "5 shared 6 rows 3 bytes used by 1 keyset, 0 of them directly; 2 keys: code, method",
        "list pools",
        "0 2 lists 3 bytes used by 1 keyset; 5 members of table 2",
        "1 2 lists 4 bytes used by 1 keyset; 10 members of table 5",
        "balance: bytes of the block",
        "plain rows of all keysets 155 0.97 per series",
        "keyset tables 30 0.19 per series",
        "anchors 4 0.03 per series",
        "lists 7 0.04 per series",
        "shared tables 3 0.02 per series",
        "maps 0 0 per series",
        "saved 111 0.69 per series",
        "catalogue, not included 93 0.58 per series",
        "factored rows and catalogue 137 0.86 per series",
    ];
    assert_eq!(words, expected, "{shown}");
    let cut = stdout(&["plan", &golden("lists-bitpacked.cx"), "--first", "1"]);
    assert_eq!(cut.matches("\n  ... 1 more\n").count(), 2, "{cut}");
    let loss = stdout(&["plan", &golden("chain-bitpacked.cx")]);
    assert!(loss.contains(" -1      -0.05 per series\n"), "{loss}");
}

#[test]
fn plan_of_a_plain_block_says_that_nothing_was_factored() {
    let plain = ["empty", "limit-labels", "limit-symbols", "many-chunks", "meta", "metrics", "one-series"];
    for name in plain.into_iter().chain(["plain-bitpacked", "plain-fixedwidth", "unicode"]) {
        let path = golden(&format!("{name}.cx"));
        let shown = stdout(&["plan", &path]);
        assert!(shown.contains("  Nothing was factored: "), "{shown}");
        assert!(shown.contains("\n  saved                                       0 "), "{shown}");
        assert!(!shown.contains(" prefix row"), "{shown}");
        let lines = json_lines(&["plan", &path, "--json"]);
        assert_eq!((&lines[0]["factored"], &lines.last().unwrap()["saved_bytes"]), (&json!(false), &json!(0)));
    }
    for name in ["chain-fixedwidth", "limit-depth", "lists-fixedwidth", "shared-table"] {
        let shown = stdout(&["plan", &golden(&format!("{name}.cx"))]);
        assert!(!shown.contains("Nothing was factored") && shown.contains(" prefix rows "), "{shown}");
    }
    assert!(stdout(&["plan", &golden("meta.cx")]).contains("  planner    7\n"));
}

#[test]
fn the_first_of_each_are_shown_on_request() {
    let folder = Folder::new();
    let path = folder.write("random.cx", random_block(7).1);
    let all = json_lines(&["plan", &path, "--json"]);
    let cut = json_lines(&["plan", &path, "--first", "2", "--json"]);
    let of = |lines: &[Value], kind: &str| -> Vec<Value> {
        lines.iter().filter(|line| line["type"] == kind).cloned().collect()
    };
    let mut left = Vec::new();
    for kind in ["keyset", "table", "pool"] {
        let whole = of(&all, kind);
        assert_eq!(of(&cut, kind), whole[..whole.len().min(2)], "{kind}");
        left.extend(whole.len().checked_sub(2).filter(|&left| left > 0));
    }
    assert!(left.len() >= 2, "too little to cut: {left:?}");
    assert_eq!(of(&cut, "more"), left.iter().map(|left| json!({ "type": "more", "count": left })).collect::<Vec<_>>());
    assert_eq!((cut.first(), cut.last()), (all.first(), all.last()));
}

/// 10^10 series would not fit a block: 4 x 10^9 series of 65,000 values each take 0.2 MB, and would take minutes if
/// each were read.
#[test]
fn the_plan_of_very_many_series_costs_their_rows() {
    let count = 65_000_u32;
    let block = chronoxide_testkit::product::product(count, "b").unwrap();
    let view = BlockView::open(&block).unwrap();
    let plan = Plan::from_view(&view).unwrap();
    let [keyset] = plan.keysets[..] else { panic!("one keyset") };
    // Two labels of 65,000 values: codes of 17 bits less one, since 64,999 < 2^16.
    let series = u64::from(count) * u64::from(count);
    assert_eq!((u64::from(keyset.series), keyset.plain_bytes), (series, series * 32 / 8));
}

#[test]
fn what_the_planner_expected_is_shown_beside_what_came_out() {
    let mut random = Random::new(1);
    let series = random_series(60, &mut random);
    let annotation =
        |value: &str| BlockMeta { annotations: vec![(PLAN_KEY.to_owned(), value.to_owned())], ..BlockMeta::default() };
    let with = |value: &str| build(&series, &Default::default(), RowForm::BitPacked, &annotation(value)).unwrap();
    let block = with("sampled_series=784235 bytes_per_series=1.384");
    let lines = entries(&block);
    assert_eq!(lines[0]["sampled_series"], 784_235);
    assert_eq!(lines[0]["expected_bytes_per_series"], 1.384);
    let balance = lines.last().unwrap();
    let whole = balance["factored_bytes"].as_u64().unwrap() + balance["catalogue_bytes"].as_u64().unwrap();
    assert_eq!(balance["bytes_per_series"].as_f64().unwrap(), whole as f64 / series.len() as f64);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("block.cx");
    std::fs::write(&path, &block).unwrap();
    let text = stdout(&["plan", path.to_str().unwrap()]);
    assert!(text.contains("\n  expected   1.38 per series, learned from 784,235 series\n"), "{text}");
    assert!(text.contains("\n  factored rows and catalogue "), "{text}");

    // Another program can write anything.
    assert_eq!(entries(&with("very small"))[0]["expected_bytes_per_series"], Value::Null);
}
