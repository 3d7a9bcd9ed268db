//! Query logs: of Prometheus (`params.query`) and of Mimir's query frontend (`param_query`), one JSON object per line.

use std::collections::HashMap;
use std::io::{self, BufRead};

use serde_json::Value;

use crate::query::{Kind, Queries};

/// Returns true if the first line of a file is a line of a log.
pub(super) fn is_entry(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line).is_ok_and(|entry| {
        query(&entry).is_some()
            || (entry.get("msg").is_some() && (entry.get("ts").is_some() || entry.get("time").is_some()))
    })
}

/// Adds the queries of a log. Equal texts are one query, which counts how often it was asked.
pub(super) fn add(queries: &mut Queries, name: &str, first: &[u8], rest: &mut dyn BufRead) -> io::Result<()> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut line = first.to_vec();
    let mut number = 0u64;
    while !line.is_empty() {
        number += 1;
        match serde_json::from_slice::<Value>(&line) {
            Ok(entry) => match query(&entry) {
                Some(text) => match known.get(text).and_then(|&place| queries.queries.get_mut(place)) {
                    Some(query) => query.count += 1,
                    None => {
                        known.insert(text.to_owned(), queries.queries.len());
                        queries.add_query(Kind::Query, format!("{name}: line {number}"), text);
                    }
                },
                None => queries.other_lines += 1,
            },
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(error) => queries.add_unread(format!("{name}: line {number}"), None, error.to_string()),
        }
        line.clear();
        rest.read_until(b'\n', &mut line)?;
    }
    Ok(())
}

fn query(entry: &Value) -> Option<&str> {
    let query = entry.get("params").and_then(|params| params.get("query")).or_else(|| entry.get("param_query"));
    query.or_else(|| entry.get("param_match[]"))?.as_str()
}
