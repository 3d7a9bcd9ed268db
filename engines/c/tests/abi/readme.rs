//! Code of the documents is code of the examples, which other tests compile and run.

use crate::repository;

/// Returns the lines of a text, without indentation.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).collect()
}

#[test]
fn code_of_the_documents_is_that_of_the_examples() {
    let read = |path: &str| std::fs::read_to_string(repository(path)).expect("a readable file");
    for (document, language, example) in [
        ("README.md", "c", "engines/c/examples/select.c"),
        ("engines/c/README.md", "c", "engines/c/examples/select.c"),
        ("engines/c/README.md", "go", "engines/c/go/example_test.go"),
        ("docs/columns.md", "c", "engines/c/tests/c/columns.c"),
        ("docs/columns.md", "go", "engines/c/go/example_test.go"),
    ] {
        let readme = read(document);
        let (_, after) = readme.split_once(&format!("```{language}\n")).expect("code in this language");
        let (code, _) = after.split_once("```").expect("the end of the code");
        let (code, example) = (lines(code), read(example));
        assert!(
            code.len() > 5 && lines(&example).windows(code.len()).any(|part| part == code),
            "{document}, {language}: {code:?}"
        );
    }
}
