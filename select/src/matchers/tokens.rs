//! Tokens of a selector.

use crate::matchers::parse::Reason;
use crate::matchers::quoted::unquote;

/// SelectedRows of a selector between white space.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Name, keyword or number: letters, digits, `_` and `:`.
    Word(&'a str),
    /// Quoted string, without its quotes and escapes.
    Text(String),
    /// Brace, comma or operator.
    Sign(&'a str),
}

/// Splits a selector into tokens, each with its byte offset. Costs time linear in the length of the text.
///
/// # Errors
/// Returns the byte offset of an invalid string, or of a character that a selector has only within strings.
pub(crate) fn tokens(text: &str) -> Result<Vec<(usize, Token<'_>)>, (usize, Reason)> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(char) = text[at..].chars().next() {
        let rest = &text[at..];
        let no_selector = |what| Err((at, Reason::NoSelector { what }));
        let (token, length) = match char {
            '"' | '\'' | '`' => {
                let (string, length) = unquote(rest, char).map_err(|error| (at, error.into()))?;
                (Token::Text(string), length)
            }
            char if is_word(char) => {
                let length = rest.find(|char| !is_word(char)).unwrap_or(rest.len());
                (Token::Word(&rest[..length]), length)
            }
            '{' | '}' | ',' => (Token::Sign(&rest[..1]), 1),
            '=' | '!' | '~' => {
                let length = if ["=~", "!~", "!=", "=="].iter().any(|sign| rest.starts_with(sign)) { 2 } else { 1 };
                (Token::Sign(&rest[..length]), length)
            }
            // A form feed is none in PromQL.
            ' ' | '\t' | '\n' | '\r' => {
                at += 1;
                continue;
            }
            '(' | ')' => return no_selector("a function or anything in parentheses"),
            '[' | ']' => return no_selector("a range"),
            '@' => return Err((at, Reason::Time)),
            '#' => return no_selector("a comment"),
            '+' | '-' | '*' | '/' | '%' | '^' | '<' | '>' => return no_selector("an operator"),
            char => return Err((at, Reason::NameWithoutQuotes(char))),
        };
        tokens.push((at, token));
        at += length;
    }
    Ok(tokens)
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | ':')
}
