//! Output of `tables`, compared with the spec's arithmetic on the dump.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use chronoxide_dump::tables::{Selection, table_entries};
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{Labelset, Plan};
use chronoxide_testkit::requirement::skip_or_fail;
use serde_json::{Value, json};

use crate::support::model::Model;
use crate::support::{Folder, block_of, golden, json_lines, random_block, stdout};

/// Returns the expected lines for a block, in order.
fn expected(block: &[u8]) -> Vec<Value> {
    let model = Model::from_block(block);
    let mut lines: Vec<Value> = (0..model.tables.len()).map(|table| expected_table(&model, table)).collect();
    for (number, pool) in model.pools.iter().enumerate() {
        lines.push(json!({
            "type": "pool", "pool": number, "table": pool.table, "lists": pool.lists, "members": pool.members,
            "bytes": model.pool_bytes(number), "referrers": model.referrers(&json!({ "pool": number })),
        }));
    }
    for kind in ["dictionary", "map", "shared", "keyset"] {
        let tables: Vec<usize> = (0..model.tables.len()).filter(|&table| model.kind(table) == kind).collect();
        let bytes: u64 = tables.iter().map(|&table| model.table_bytes(table)).sum();
        lines.push(json!({
            "type": "total", "kind": kind, "count": tables.len(), "bytes": bytes,
            "rows": tables.iter().map(|&table| model.tables[table].rows).sum::<u64>(),
            "bytes_per_series": model.per_series(bytes as i64),
        }));
    }
    let bytes: u64 = (0..model.pools.len()).map(|pool| model.pool_bytes(pool)).sum();
    lines.push(json!({
        "type": "pool_total", "count": model.pools.len(), "bytes": bytes,
        "lists": model.pools.iter().map(|pool| pool.lists).sum::<u64>(),
        "members": model.pools.iter().map(|pool| pool.members).sum::<u64>(),
        "bytes_per_series": model.per_series(bytes as i64),
    }));
    lines
}

fn expected_table(model: &Model, number: usize) -> Value {
    let table = &model.tables[number];
    let columns = table.columns.iter().map(|(domain, bits)| json!({ "domain": domain, "bits": bits }));
    let mut line = json!({
        "type": "table", "table": number, "kind": model.kind(number), "keys": model.key_names(number),
        "rows": table.rows, "bits": table.bits, "bytes": model.table_bytes(number),
        "columns": columns.collect::<Vec<_>>(), "referrers": model.referrers(&json!({ "table": number })),
    });
    if number >= model.first_keyset() {
        line["keyset"] = (number - model.first_keyset()).into();
    }
    line
}

fn entries(block: &[u8], selection: Selection) -> Vec<Value> {
    let view = BlockView::open(block).unwrap();
    let mut lines = Vec::new();
    table_entries(&view, selection, &mut |entry| {
        lines.push(serde_json::to_value(entry).unwrap());
        Ok(())
    })
    .unwrap();
    lines
}

#[test]
fn tables_of_the_goldens_match_their_dumps() {
    for block in goldens() {
        let lines = json_lines(&["tables", &golden(&format!("{}.cx", block.name)), "--json"]);
        assert_eq!(lines, expected(&block.bytes), "{}", block.name);
    }
}

#[test]
fn tables_of_random_plans_match_their_dumps() {
    let (mut pools, mut maps) = (0, 0);
    for seed in 0..150 {
        let (_, block) = random_block(seed);
        let lines = entries(&block, Selection::default());
        assert_eq!(lines, expected(&block), "seed {seed}");
        pools += lines.iter().filter(|line| line["type"] == "pool").count();
        maps += lines.iter().filter(|line| line["kind"] == "map" && line["type"] == "table").count();
    }
    println!("{pools} pools, {maps} maps");
    assert!(pools >= 100 && maps >= 100, "{pools} pools, {maps} maps");
}

/// The tables fill the rows section except for its 8 closing bytes; pools and anchors fill the members section.
#[test]
fn tables_and_pools_fill_their_sections() {
    for block in goldens() {
        let model = Model::from_block(&block.bytes);
        let lines = json_lines(&["tables", &golden(&format!("{}.cx", block.name)), "--json"]);
        let sum = |kind: &str| -> u64 {
            lines.iter().filter(|line| line["type"] == kind).map(|line| line["bytes"].as_u64().unwrap()).sum()
        };
        assert_eq!((sum("table"), sum("total")), (model.sections["rows"] - 8, model.sections["rows"] - 8));
        let anchors: u64 = (0..model.keysets.len()).map(|keyset| model.anchor_bytes(keyset)).sum();
        let members = model.sections["members"].saturating_sub(8);
        assert_eq!((sum("pool") + anchors, sum("pool_total") + anchors), (members, members), "{}", block.name);
    }
}

/// 118 series of 20 routes and 42 of the same routes: see `histograms` in `testdata/kit/src/golden.rs`. Six
/// combinations of code and method are 3 rows of 2 + 1 bits. The ends of two lists of 2 and 3 of the four bounds take
/// 2 * 3 bits, and their members 5 * 2; the lists over the six rows take 2 * 4 bits of ends, and split 10 ones and 2 *
/// 5 zeros.
#[test]
fn a_line_shows_all_properties_of_a_table() {
    let path = golden("lists-bitpacked.cx");
    let shown = stdout(&["tables", &path]);
    let words: Vec<String> = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "4 dictionary 20 rows 5 bits 13 bytes 1 key: route; 1 column: symbols (5 bits); used by 2 keysets",
        "5 shared 6 rows 3 bits 3 bytes 2 keys: code, method; 2 columns: table 1 (2 bits), table 3 (1 bit); used by 1 pool",
        "7 keyset 20 rows 6 bits 15 bytes keyset 1; 3 keys: __name__, le, route; 3 columns: table 0 (0 bits), table 4 (5 bits), pool 0 (1 bit)",
        "0 pool 2 lists 3 bytes 5 members; over table 2; used by 1 keyset",
        "total keyset 2 tables 30 bytes 0.19 bytes per series; 40 rows",
        "total pool 2 pools 7 bytes 0.04 bytes per series; 4 lists of 15 members",
    ] {
        assert!(words.iter().any(|found| found == line), "{line}\n{shown}");
    }
    assert_eq!(words.len(), 8 + 2 + 5);
}

#[test]
fn one_kind_and_the_first_of_each_are_shown_on_request() {
    let path = golden("chain-bitpacked.cx");
    let all = json_lines(&["tables", &path, "--json"]);
    for kind in ["dictionary", "map", "shared", "keyset"] {
        let of_kind: Vec<Value> = all.iter().filter(|line| line["kind"] == kind).cloned().collect();
        assert_eq!(json_lines(&["tables", &path, "--kind", kind, "--json"]), of_kind);
        assert!(of_kind.len() >= 3 && of_kind.last().unwrap()["type"] == "total", "{of_kind:?}");
    }
    // 6 dictionaries, 4 inner tables, 3 keysets.
    let first = json_lines(&["tables", &path, "--first", "1", "--json"]);
    let more = |count: u32| json!({ "type": "more", "count": count });
    let tables = [all[0].clone(), more(5), all[6].clone(), more(3), all[10].clone(), more(2)];
    assert_eq!(first, [&tables[..], &all[13..]].concat());
    let maps = json_lines(&["tables", &path, "--kind", "map", "--first", "1", "--json"]);
    assert_eq!(maps, [all[8].clone(), more(1), all[14].clone()]);
    assert_eq!(json_lines(&["tables", &path, "--first", "6", "--json"]), all);
    let shown = stdout(&["tables", &path, "--first", "1"]);
    assert!(shown.contains("\n     ... 5 more\n"), "{shown}");
}

/// Returns the output of the command on a terminal, or `None` without script(1).
fn on_a_terminal(arguments: &str) -> Option<String> {
    let shell = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_chronoxide-inspect"));
    let mut script = Command::new("script");
    script.args(["-qec", &shell, "/dev/null"]).env("NO_COLOR", "1").stdin(Stdio::null());
    let output = match script.output() {
        Ok(output) => output,
        Err(error) => {
            skip_or_fail("script(1)", error);
            return None;
        }
    };
    assert!(output.status.success(), "{arguments}: {output:?}");
    Some(String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n"))
}

#[test]
fn long_lists_are_cut_on_a_terminal_and_whole_elsewhere() {
    let path = golden("limit-labels.cx");
    let names: Vec<String> = (0..1023).map(|key| format!("k{key:04}")).collect();
    let whole =
        format!("  keyset 0; 1,023 keys: {}; 1,023 columns: table 0 (0 bits), table 1 (0 bits), ", names.join(", "));
    let shown = stdout(&["tables", &path, "--kind", "keyset"]);
    assert!(shown.contains(&whole) && shown.contains(", table 1022 (1 bit)\n"), "{shown}");
    let Some(cut) = on_a_terminal(&format!("tables '{path}' --kind keyset")) else { return };
    let keys = "1,023 keys: k0000, k0001, k0002, k0003, k0004, k0005, k0006, k0007, ... 1,015 more; 1,023 columns: table 0 (0 bits), ";
    assert!(cut.contains(keys) && cut.contains("table 7 (0 bits), ... 1,015 more\n"), "{cut}");
    let json = on_a_terminal(&format!("tables '{path}' --kind keyset --json")).unwrap();
    assert!(json.contains("\"k1022\"]"), "JSON is whole on a terminal too: {json}");
}

#[test]
fn names_of_labels_do_not_steer_the_terminal() {
    let name = "a\u{1b}[2J\u{202e}\"";
    let labels =
        |value: &str| Labelset::from([(name.to_owned(), value.to_owned()), ("größe b".to_owned(), "1".into())]);
    let series = BTreeSet::from([labels("1"), labels("2")]);
    let folder = Folder::new();
    let path = folder.write("names.cx", block_of(&series, &Plan::default(), RowForm::BitPacked));
    let shown = stdout(&["tables", &path]);
    assert!(shown.contains(r#" 2 keys: "a\u001b[2J\u202e\"", "größe b"; "#), "{shown}");
    assert_eq!(json_lines(&["tables", &path, "--kind", "keyset", "--json"])[0]["keys"], json!([name, "größe b"]));
    for command in ["tables", "tables --json", "plan", "plan --json"] {
        let Some(shown) = on_a_terminal(&format!("{command} '{path}'")) else { return };
        assert_eq!(shown.chars().find(|&c| c == '\u{1b}' || c == '\u{202e}'), None, "{command}: {shown:?}");
        assert!(command == "plan" || shown.contains(r"a\u001b[2J\u202e"), "{command}: {shown}");
    }
}
