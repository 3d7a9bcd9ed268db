//! Query logs: of Prometheus (`params.query`) and of Mimir's query frontend (`param_query`), one JSON object per line.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};

use serde_json::Value;

use crate::query::{Kind, Queries};

/// Lines at the beginning of a file that are looked at: the first one may be torn, blank, or of another program.
const FIRST_LINES: usize = 32;

/// Most bytes of a line.
const MAX_LINE_LEN: u64 = 64 << 20;

/// Reads the first lines of a file.
pub(super) fn first_lines(reader: &mut dyn BufRead) -> io::Result<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    while lines.len() < FIRST_LINES {
        let line = next_line(reader)?;
        if line.is_empty() {
            break;
        }
        // A file of another kind need not be searched further; the first line of a log may be torn.
        let is_other = !line.trim_ascii().is_empty() && !is_like_json(&line) && !lines.is_empty();
        lines.push(line);
        if is_other {
            break;
        }
    }
    Ok(lines)
}

fn is_like_json(line: &[u8]) -> bool {
    line.trim_ascii_start().strip_prefix(b"\xef\xbb\xbf").unwrap_or(line.trim_ascii_start()).starts_with(b"{")
}

/// Returns true if a line is an entry of a query log.
pub(super) fn is_entry(line: &[u8]) -> bool {
    parse(line).is_ok_and(|entry| query(&entry).is_some())
}

/// Adds the queries of a log. Equal texts are one query, which counts how often it was asked.
pub(super) fn add(queries: &mut Queries, name: &str, first: &[Vec<u8>], rest: &mut dyn BufRead) -> io::Result<()> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut first = first.iter().cloned();
    for number in 1u64.. {
        let line = match first.next() {
            Some(line) => line,
            None => next_line(rest)?,
        };
        if line.is_empty() {
            break;
        }
        let place = format!("{name}: line {number}");
        match parse(&line) {
            Ok(entry) => match query(&entry) {
                Some(text) => match known.get(text).and_then(|&place| queries.queries.get_mut(place)) {
                    Some(query) => query.count += 1,
                    None => {
                        known.insert(text.to_owned(), queries.queries.len());
                        queries.add_query(Kind::Query, place, text);
                    }
                },
                None => queries.other_lines += 1,
            },
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(error) => queries.add_unread_file(place, &String::from_utf8_lossy(&line), &error.to_string()),
        }
    }
    Ok(())
}

/// Reads a line, or the beginning of one that is too long.
fn next_line(reader: &mut dyn BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    reader.take(MAX_LINE_LEN).read_until(b'\n', &mut line)?;
    Ok(line)
}

fn parse(line: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line))
}

fn query(entry: &Value) -> Option<&str> {
    let query = entry.get("params").and_then(|params| params.get("query")).or_else(|| entry.get("param_query"));
    query.or_else(|| entry.get("param_match[]"))?.as_str()
}
