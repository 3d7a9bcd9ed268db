//! Checks the public items of the crate `chronoxide`: they are the ones of a committed list, and name no type of the
//! physical layer.

use regex::Regex;

use crate::files::files;

/// Files that are committed beside the crate.
const LIST: &str = include_str!("../../../chronoxide/items.txt");

/// Returns the public items of the crate, a line each with its file: the text from `pub` to the body or the end.
fn public_items() -> Vec<String> {
    let item = Regex::new(r"\n *pub (?:((?:unsafe )?fn [^{;]*?) *\{|([^(\n][^{;\n]*?) *(?:\{|;|,?\n))").unwrap();
    let spaces = Regex::new(r"\s+").unwrap();
    let mut items = Vec::new();
    for file in files().iter().filter(|file| file.path.starts_with("chronoxide/src")) {
        for found in item.captures_iter(&file.text) {
            let name = file.path.file_stem().expect("a file").to_string_lossy();
            let text = found.get(1).or_else(|| found.get(2)).map_or("", |text| text.as_str());
            let text = spaces.replace_all(text.trim(), " ").replace("( ", "(").replace(", )", ")");
            // Modules pass on items that their own files list.
            if name != "lib" || text.contains("chronoxide_") {
                items.push(format!("{name}: {text}"));
            }
        }
    }
    items
}

#[test]
fn the_public_items_of_the_facade_are_listed() {
    let (found, listed) = (public_items(), LIST.lines().collect::<Vec<_>>());
    assert!(found.len() >= 60, "only {} items were found", found.len());
    let new: Vec<_> = found.iter().filter(|item| !listed.contains(&item.as_str())).collect();
    let gone: Vec<_> = listed.iter().filter(|item| !found.iter().any(|found| found == *item)).collect();
    assert!(new.is_empty() && gone.is_empty(), "chronoxide/items.txt lacks {new:#?} and has {gone:#?}");
}

#[test]
fn the_facade_names_no_physical_type() {
    let physical = ["BlockView", "Searcher", "Index", "Keyset", "Table", "SymbolId", "KeyId", "SeriesRef", "BlockSet"];
    for item in public_items() {
        let words: Vec<&str> = item.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
        assert!(!words.iter().any(|word| physical.contains(word)), "{item}");
    }
}
