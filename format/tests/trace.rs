//! Each sentence of FORMAT.md is tied to what holds a reader or a writer to it: `trace.tsv`.
//!
//! A line has the section, the sentence, and its ties: `rule:`, `struct:`, `const:`, `golden:` and
//! `relaxed:` with a name, `test:` with a file and a function, or a word for a sentence that nothing can break: `term`
//! defines a word or a notation, `reader` and `writer` permit or advise, `why` gives a reason or leads to another text.

use std::collections::BTreeSet;

use chronoxide_format::Rule;

use crate::read;

/// Returns the section and the text of each sentence, in order. Tables, headings and blocks of code have none.
fn sentences(text: &str) -> Vec<String> {
    let (mut found, mut paragraph, mut section) = (Vec::new(), String::new(), "0".to_owned());
    let mut end = |paragraph: &mut String, section: &str| {
        let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        found.extend(split(&text).iter().map(|sentence| format!("{section}\t{sentence}")));
        paragraph.clear();
    };
    for line in text.lines() {
        let item = line.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit());
        let item = item.strip_prefix("- ").or_else(|| item.strip_prefix(". "));
        let is_code = line.starts_with("    ") && paragraph.is_empty();
        if line.starts_with(['#', '|']) || line.trim().is_empty() || is_code {
            end(&mut paragraph, &section);
            if let Some((number, _)) = line.strip_prefix("## ").and_then(|title| title.split_once(". ")) {
                number.clone_into(&mut section);
            }
            continue;
        }
        if item.is_some() {
            end(&mut paragraph, &section);
        }
        paragraph.push_str(item.unwrap_or(line));
        paragraph.push(' ');
    }
    end(&mut paragraph, &section);
    found
}

/// Returns the sentences of a paragraph.
fn split(text: &str) -> Vec<String> {
    let is_start = |rest: &str| match rest.as_bytes() {
        [b'`', after, ..] => *after != b'[',
        [first, ..] => first.is_ascii_uppercase() || b"*\"([".contains(first),
        [] => false,
    };
    let ends = text.match_indices(' ').map(|(at, _)| at);
    let ends = ends.filter(|&at| text[..at].ends_with(['.', '?', '!']) && is_start(&text[at + 1..]));
    let ends: Vec<usize> = ends.chain([text.len()]).collect();
    let starts = [0].into_iter().chain(ends.iter().map(|end| end + 1));
    let sentences = starts.zip(&ends).map(|(start, &end)| text[start..end].to_owned());
    sentences.filter(|sentence| !sentence.is_empty()).collect()
}

#[test]
fn every_sentence_of_the_format_is_tied_to_what_checks_it() {
    let list = read("format/tests/trace.tsv");
    let lines: Vec<(&str, &str)> = list.lines().map(|line| line.rsplit_once('\t').expect("three fields")).collect();
    let found = sentences(&read("spec/FORMAT.md"));
    let listed: BTreeSet<&str> = lines.iter().map(|(sentence, _)| *sentence).collect();
    let untied: Vec<_> = found.iter().filter(|sentence| !listed.contains(sentence.as_str())).collect();
    let gone: Vec<_> = listed.iter().filter(|line| !found.iter().any(|sentence| sentence == *line)).collect();
    assert!(untied.is_empty() && gone.is_empty(), "trace.tsv lacks {untied:#?}, and has {gone:#?}");
    assert!(found.len() > 300, "only {} sentences", found.len());
    let layout = read("format/src/layout.rs");
    for (sentence, ties) in lines {
        for tie in ties.split(' ') {
            let (kind, name) = tie.split_once(':').unwrap_or((tie, ""));
            let exists = match kind {
                "rule" => Rule::ALL.iter().any(|rule| rule.id() == name),
                "struct" => layout.contains(&format!("pub struct {name} {{")),
                "const" => layout.contains(&format!("const {name}: ")),
                "golden" | "relaxed" => !read(&format!("testdata/frozen/1/{kind}/{name}.txt")).is_empty(),
                "test" => name.split_once("::").is_some_and(|(file, function)| {
                    ["fn ", "def ", "func "].iter().any(|word| read(file).contains(&format!("{word}{function}(")))
                }),
                "term" | "reader" | "writer" | "why" => name.is_empty(),
                _ => false,
            };
            assert!(exists, "{sentence}: {tie} does not exist");
        }
    }
}
