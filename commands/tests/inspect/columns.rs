//! The command `columns`, on the values that the test kit gave to the golden block.

use serde_json::{Value, json};

use crate::support::{assert_exit, broken, golden, run, stdout};

#[test]
fn columns_are_listed_with_the_ends_of_their_values() {
    let path = golden("columns.cx");
    let lines = stdout(&["columns", &path, "--json"]);
    let columns: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
    let (first, last) = ("chronoxide.first_time", "chronoxide.last_time");
    assert_eq!(names, ["app.chunks", first, last, "flags", "größe", "hash", "total"]);
    let (start, minute) = (1_700_000_040_000_000_000_i64, 60_000_000_000_i64);
    for (column, type_and_merge, values, ends, texts) in [
        // "a", "", "chunk 17", two bytes, "a", and seven bytes: neighbours share a text.
        (0, ["bytes", "newest"], 8, None, Some([6, 19])),
        (1, ["i64", "min"], 10, Some([json!(start), json!(start + 119 * minute)]), None),
        (2, ["i64", "max"], 10, Some([json!(start + 3 * minute), json!(start + 120 * minute)]), None),
        (3, ["u64", "or"], 8, Some([json!(1), json!(8)]), None),
        (4, ["bytes", "drop"], 0, None, Some([0, 0])),
        (5, ["u64", "same"], 10, Some([json!(0), json!(u64::MAX)]), None),
        (6, ["i64", "sum"], 8, Some([json!(i64::MIN), json!(i64::MAX)]), None),
    ] {
        let column = &columns[column];
        assert_eq!([&column["type"], &column["merge"]], type_and_merge.map(Value::from).each_ref(), "{column}");
        assert_eq!(column["values"], values, "{column}");
        let [least, greatest] = ends.unwrap_or_default();
        assert_eq!((&column["least"], &column["greatest"]), (&least, &greatest), "{column}");
        let [count, bytes] = texts.map_or([Value::Null, Value::Null], |texts| texts.map(Value::from));
        assert_eq!((&column["texts"], &column["text_bytes"]), (&count, &bytes), "{column}");
        assert!(column["bytes"].as_u64().unwrap() > 20, "{column}");
    }
    let text = stdout(&["columns", &path]);
    let line = text.lines().nth(1).unwrap();
    assert!(line.starts_with("\"chronoxide.first_time\" i64 min in units of 60,000,000,000: 10 values in "), "{line}");
    assert!(line.ends_with(", 2023-11-14T22:14:00Z to 2023-11-15T00:13:00Z"), "{line}");
    assert!(text.lines().nth(6).unwrap().ends_with(&format!(", {} to {}", i64::MIN, i64::MAX)), "{text}");
    assert_eq!(stdout(&["columns", &golden("plain-bitpacked.cx")]), "");
    assert_exit(&run(&["columns", &broken("value-range")]), 3, "value-range");
}
