//! Regular expressions of RE2, as Prometheus compiles them, for the crate `regex`.
//!
//! The pattern is read character by character, as `regexp/syntax` of Go reads it, and everything that the two see differently is written in a way
//! that means the same to `regex`. See the [table](super#regular-expressions).

use std::iter::Peekable;
use std::str::Chars;

use regex::Regex;

/// The largest number in a repetition.
const MAX_REPETITION: u32 = 1_000;

/// What is wrong with a regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PatternError {
    #[error("\\{0} is no escape of a regular expression")]
    UnknownEscape(char),
    #[error("the backslash at the end escapes nothing")]
    TrailingBackslash,
    #[error("[:{0}:] is no class of characters")]
    UnknownClass(String),
    #[error("[ has no ]")]
    OpenClass,
    #[error("a range of characters goes backwards")]
    Range,
    #[error("{0} is no flag: there are i, m, s and U")]
    UnknownFlag(char),
    #[error("a repetition is repeated")]
    RepeatedTwice,
    #[error("at most {MAX_REPETITION} repetitions can be asked for, and not fewer than at least")]
    Repetition,
    #[error("{0}")]
    Other(String),
}

/// Compiles what [`translate`] gives, so that it must match the whole of a value.
pub(super) fn compile_translated(translated: &str) -> Result<Regex, PatternError> {
    let compiled = |pattern: &str| Regex::new(pattern).map_err(reason);
    // By itself first: `a)|(b` would become right between other parentheses.
    compiled(translated)?;
    // Prometheus wraps it in `^(?s:` and `)$`; outside of `(?m)` these are the ends of the value.
    compiled(&format!(r"\A(?s:{translated})\z"))
}

/// The message of `regex` in one line.
fn reason(error: regex::Error) -> PatternError {
    PatternError::Other(match error {
        regex::Error::Syntax(message) => {
            let last = message.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
        regex::Error::CompiledTooBig(limit) => format!("compiled it would take more than {limit} bytes"),
        error => error.to_string(),
    })
}

/// Writes a pattern of RE2 for `regex`, without anchors.
pub(super) fn translate(pattern: &str) -> Result<String, PatternError> {
    let mut reader = Reader { chars: pattern.chars().peekable(), out: String::with_capacity(pattern.len() + 16) };
    reader.expression()?;
    Ok(reader.out)
}

struct Reader<'p> {
    chars: Peekable<Chars<'p>>,
    out: String,
}

impl Reader<'_> {
    fn expression(&mut self) -> Result<(), PatternError> {
        let mut is_repeated = false;
        while let Some(char) = self.chars.next() {
            let repetition = match char {
                '*' | '+' | '?' => Some(char.to_string()),
                '{' => self.repetition()?,
                _ => None,
            };
            if let Some(repetition) = repetition {
                if is_repeated {
                    return Err(PatternError::RepeatedTwice);
                }
                self.out.push_str(&repetition);
                if self.chars.next_if_eq(&'?').is_some() {
                    self.out.push('?');
                }
                is_repeated = true;
                continue;
            }
            is_repeated = false;
            match char {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '{' => self.out.push_str(r"\{"),
                '(' => self.group()?,
                char => self.out.push(char),
            }
        }
        Ok(())
    }

    /// After `{`: a repetition such as `{2,3}`, or nothing, and nothing is read.
    fn repetition(&mut self) -> Result<Option<String>, PatternError> {
        let rest: String = self.chars.clone().collect();
        let Some((inner, _)) = rest.split_once('}') else { return Ok(None) };
        let (least, most) = inner.split_once(',').unwrap_or((inner, inner));
        let is_number = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_digit())
                && (text == "0" || (!text.is_empty() && !text.starts_with('0')))
        };
        let is_repetition = is_number(least) && (is_number(most) || (most.is_empty() && inner.contains(',')));
        if !is_repetition {
            return Ok(None);
        }
        let number = |text: &str| {
            text.parse::<u32>().ok().filter(|number| *number <= MAX_REPETITION).ok_or(PatternError::Repetition)
        };
        let least = number(least)?;
        if !most.is_empty() && number(most)? < least {
            return Err(PatternError::Repetition);
        }
        // Digits, comma and brace are all ASCII.
        self.chars.nth(inner.len());
        Ok(Some(format!("{{{inner}}}")))
    }

    /// After `(`: flags that only `regex` has are refused.
    fn group(&mut self) -> Result<(), PatternError> {
        self.out.push('(');
        if self.chars.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        self.out.push('?');
        if matches!(self.chars.peek(), Some('P' | '<')) {
            return Ok(());
        }
        for char in self.chars.by_ref() {
            self.out.push(char);
            match char {
                'i' | 'm' | 's' | 'U' | '-' => {}
                ':' | ')' => break,
                char => return Err(PatternError::UnknownFlag(char)),
            }
        }
        Ok(())
    }

    /// After a backslash that is in no class.
    fn escape(&mut self) -> Result<(), PatternError> {
        match self.chars.peek().copied() {
            Some(char @ ('b' | 'B')) => {
                self.chars.next();
                self.out.push_str(if char == 'b' { r"(?-u:\b)" } else { r"(?-u:\B)" });
            }
            Some(char @ ('A' | 'z')) => {
                self.chars.next();
                self.out.extend(['\\', char]);
            }
            Some('Q') => {
                self.chars.next();
                self.verbatim();
            }
            Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => {
                let (is_negated, set) = self.perl_class();
                self.out.push_str(if is_negated { "[^" } else { "[" });
                self.out.push_str(set);
                self.out.push(']');
            }
            Some('p' | 'P') => self.unicode_class()?,
            _ => {
                let char = self.escaped_char()?;
                self.literal(char);
            }
        }
        Ok(())
    }

    /// After `\Q`: text up to `\E` or the end.
    fn verbatim(&mut self) {
        while let Some(char) = self.chars.next() {
            if char == '\\' && self.chars.next_if_eq(&'E').is_some() {
                return;
            }
            self.literal(char);
        }
    }

    /// A character that means nothing but itself. Letters and digits stay readable.
    fn literal(&mut self, char: char) {
        if char.is_alphanumeric() {
            self.out.push(char);
        } else {
            self.out.push_str(&format!("\\x{{{:X}}}", u32::from(char)));
        }
    }

    /// At the letter of `\d` and the like: whether it is negated, and what stands for it in a class.
    fn perl_class(&mut self) -> (bool, &'static str) {
        let letter = self.chars.next().unwrap_or('d');
        let set = match letter.to_ascii_lowercase() {
            'd' => "0-9",
            's' => r"\t\n\x0C\r\x20",
            _ => "0-9A-Z_a-z",
        };
        (letter.is_ascii_uppercase(), set)
    }

    /// At the letter of `\pL` or `\p{Greek}`.
    fn unicode_class(&mut self) -> Result<(), PatternError> {
        let letter = self.chars.next().unwrap_or('p');
        self.out.extend(['\\', letter]);
        let first = self.chars.next().ok_or(PatternError::UnknownEscape(letter))?;
        self.out.push(first);
        if first == '{' {
            for char in self.chars.by_ref() {
                self.out.push(char);
                if char == '}' {
                    return Ok(());
                }
            }
            return Err(PatternError::UnknownEscape(letter));
        }
        Ok(())
    }

    /// After a backslash: the character that it makes of what follows.
    fn escaped_char(&mut self) -> Result<char, PatternError> {
        let char = self.chars.next().ok_or(PatternError::TrailingBackslash)?;
        let unknown = PatternError::UnknownEscape(char);
        Ok(match char {
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => self.hexadecimal().ok_or(unknown)?,
            '0'..='7' => {
                let is_octal = |char: &char| matches!(char, '0'..='7');
                // A single digit from 1 on would refer back to a group, which neither engine can.
                if char != '0' && !self.chars.peek().is_some_and(is_octal) {
                    return Err(unknown);
                }
                let mut code = char.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.chars.next_if(is_octal) else { break };
                    code = code * 8 + digit.to_digit(8).unwrap_or(0);
                }
                char::from_u32(code).ok_or(unknown)?
            }
            char if char.is_ascii_punctuation() || char == ' ' => char,
            _ => return Err(unknown),
        })
    }

    /// After `\x`: two digits, or any number of them in braces.
    fn hexadecimal(&mut self) -> Option<char> {
        if self.chars.next_if_eq(&'{').is_none() {
            let digits = [self.chars.next()?.to_digit(16)?, self.chars.next()?.to_digit(16)?];
            return char::from_u32(digits[0] * 16 + digits[1]);
        }
        let mut code = None;
        loop {
            match self.chars.next()? {
                '}' => return code.and_then(char::from_u32),
                digit => code = Some(code.unwrap_or(0_u32).checked_mul(16)?.checked_add(digit.to_digit(16)?)?),
            }
        }
    }

    /// After `[`.
    fn class(&mut self) -> Result<(), PatternError> {
        self.out.push('[');
        if self.chars.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut is_first = true;
        loop {
            match self.chars.peek().copied().ok_or(PatternError::OpenClass)? {
                ']' if !is_first => break,
                '[' if self.named_class()? => {}
                '\\' if self.set_escape()? => {}
                _ => self.class_range()?,
            }
            is_first = false;
        }
        self.chars.next();
        self.out.push(']');
        Ok(())
    }

    /// At `[`: whether a class such as `[:alpha:]` begins there, which is then read.
    fn named_class(&mut self) -> Result<bool, PatternError> {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
            "word", "xdigit",
        ];
        let rest: String = self.chars.clone().collect();
        let Some((name, _)) = rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]")) else {
            return Ok(false);
        };
        if !NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(PatternError::UnknownClass(name.to_owned()));
        }
        self.chars.nth(name.len() + 3);
        self.out.push_str(&format!("[:{name}:]"));
        Ok(true)
    }

    /// At a backslash in a class: whether it begins the name of a set of characters, which is then read.
    fn set_escape(&mut self) -> Result<bool, PatternError> {
        match self.chars.clone().nth(1) {
            Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => {
                self.chars.next();
                let (is_negated, set) = self.perl_class();
                self.out.push_str(&if is_negated { format!("[^{set}]") } else { set.to_owned() });
                Ok(true)
            }
            Some('p' | 'P') => {
                self.chars.next();
                self.unicode_class()?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// A character of a class, or two and all between them.
    fn class_range(&mut self) -> Result<(), PatternError> {
        let first = self.class_char()?;
        self.literal(first);
        let mut ahead = self.chars.clone();
        // Before `]` a dash is itself.
        if ahead.next() != Some('-') || matches!(ahead.next(), None | Some(']')) {
            return Ok(());
        }
        self.chars.next();
        let last = self.class_char()?;
        if last < first {
            return Err(PatternError::Range);
        }
        self.out.push('-');
        self.literal(last);
        Ok(())
    }

    fn class_char(&mut self) -> Result<char, PatternError> {
        match self.chars.next().ok_or(PatternError::OpenClass)? {
            '\\' => self.escaped_char(),
            char => Ok(char),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(pattern: &str) -> Result<Regex, PatternError> {
        compile_translated(&translate(pattern)?)
    }

    /// Pattern, values that match, values that do not: by the syntax that `regexp/syntax` of Go documents.
    const MATCHES: &[(&str, &[&str], &[&str])] = &[
        ("", &[""], &["a", "\n"]),
        ("a|b", &["a", "b"], &["ab", "ax", "xb", ""]),
        ("foo", &["foo"], &["foobar", "xfoo", "foo\n", "\nfoo"]),
        ("^foo$", &["foo"], &["foo\n", "xfoo"]),
        (".*", &["", "a", "a\nb", "\n"], &[]),
        (".+", &["a", "\n"], &[""]),
        ("a.b", &["a\nb", "a\u{e9}b"], &["ab"]),
        ("(?-s)a.b", &["axb"], &["a\nb"]),
        ("(?-s:.)b", &["xb"], &["\nb"]),
        ("(?m)a$.^b", &["a\nb"], &["ab"]),
        ("[^a]", &["b", "\n"], &["a", ""]),
        (r"\d+", &["019"], &["\u{661}", "a"]),
        (r"\D", &["a", "\u{661}"], &["1"]),
        (r"\w+", &["aZ_9"], &["\u{e9}", "-"]),
        (r"\W", &["\u{e9}", "-"], &["a"]),
        (r"\s", &[" ", "\t", "\n", "\u{c}", "\r"], &["\u{b}", "\u{a0}"]),
        (r"[\d.]+", &["1.2"], &["a", "\u{661}"]),
        (r"[^\D]", &["1"], &["a", "\u{661}"]),
        (r"[\W]", &["\u{e9}"], &["a"]),
        (r"[^\W\d]", &["a", "_"], &["1", "-"]),
        (r"\ba\b.*", &["a", "a b", "a\u{e9}"], &["ab"]),
        ("a{2}", &["aa"], &["a", "aaa", "a{2}"]),
        ("a{2,}", &["aa", "aaa"], &["a"]),
        ("a{0,1}", &["", "a"], &["aa"]),
        ("a{,2}", &["a{,2}"], &["a", "aa", ""]),
        ("a{b}c", &["a{b}c"], &["ac"]),
        ("a{ 2 }", &["a{ 2 }"], &["aa"]),
        ("a{02}", &["a{02}"], &["aa"]),
        ("{}", &["{}"], &[""]),
        ("a{", &["a{"], &["a"]),
        ("a}]", &["a}]"], &[]),
        ("a*?b+?c??d{1,2}?", &["bd", "aabbcdd"], &["b"]),
        ("[[]", &["["], &["]"]),
        ("[]a]", &["]", "a"], &["[", ""]),
        ("[^]a]", &["b"], &["]", "a"]),
        ("[a&&b]", &["a", "&", "b"], &["c"]),
        ("[a~~b]", &["a", "~", "b"], &[]),
        ("[+--]", &["+", ",", "-"], &["*", "."]),
        ("[a-]", &["a", "-"], &["b"]),
        ("[-a]", &["a", "-"], &["b"]),
        ("[a-c-e]", &["a", "b", "c", "-", "e"], &["d"]),
        ("[[:alpha:]_]+", &["aZ_"], &["1", ":", "\u{e9}"]),
        ("[[:^digit:]]", &["a"], &["1"]),
        ("[[:alpha]", &["[", ":", "a"], &["b", "]"]),
        (r"[\]\\^-]+", &[r"]\^-"], &["a"]),
        (r"[\x41-\x{43}\n]", &["A", "C", "\n"], &["D"]),
        (r"\x41\x{1F980}", &["A\u{1f980}"], &[]),
        (r"\101\0", &["A\0"], &[]),
        (r"\.\*\-\/\<\>\_\ ", &[".*-/<>_ "], &[]),
        (r"\<a\>", &["<a>"], &["a"]),
        (r"\Qa.b*\E+", &["a.b*", "a.b**"], &["axb"]),
        (r"\Qa.b", &["a.b"], &["axb"]),
        (r"\pL\p{Greek}\PL", &["a\u{3b1}1"], &["1\u{3b1}1"]),
        (r"\pN{2}", &["12"], &["1"]),
        ("(?i)canary", &["Canary", "CANARY"], &["canarx"]),
        ("(?i:A)b", &["ab", "Ab"], &["aB"]),
        ("(?P<n>a)(?<m>b)(?:c)", &["abc"], &[]),
        (r"\Aa\z", &["a"], &["ab"]),
        ("a # b", &["a # b"], &["a"]),
        ("()|a", &["", "a"], &[]),
    ];

    #[test]
    fn patterns_match_as_they_do_in_prometheus() {
        for (pattern, yes, no) in MATCHES {
            let regex = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            for value in *yes {
                assert!(regex.is_match(value), "{pattern} must match {value:?}: {regex}");
            }
            for value in *no {
                assert!(!regex.is_match(value), "{pattern} must not match {value:?}: {regex}");
            }
        }
    }

    #[test]
    fn what_prometheus_refuses_is_refused() {
        for (pattern, message) in [
            ("a(", "unclosed group"),
            ("a)|(b", "unopened group"),
            ("*", "repetition operator missing expression"),
            ("a**", "a repetition is repeated"),
            ("a{2}{3}", "a repetition is repeated"),
            ("a{1001}", "at most 1000 repetitions can be asked for, and not fewer than at least"),
            ("a{3,2}", "at most 1000 repetitions can be asked for, and not fewer than at least"),
            ("[a", "[ has no ]"),
            ("[", "[ has no ]"),
            ("[]", "[ has no ]"),
            ("[b-a]", "a range of characters goes backwards"),
            ("[[:letter:]]", "[:letter:] is no class of characters"),
            (r"\", "the backslash at the end escapes nothing"),
            (r"\1", r"\1 is no escape of a regular expression"),
            (r"\y", r"\y is no escape of a regular expression"),
            (r"\Z", r"\Z is no escape of a regular expression"),
            (r"[\b]", r"\b is no escape of a regular expression"),
            (r"\x4", r"\x is no escape of a regular expression"),
            (r"\x{110000}", r"\x is no escape of a regular expression"),
            (r"\p{", r"\p is no escape of a regular expression"),
            ("(?x)a b", "x is no flag: there are i, m, s and U"),
            ("(?=a)", "= is no flag: there are i, m, s and U"),
            (r"\p{Klingon}", "Unicode property not found"),
        ] {
            assert_eq!(
                compile(pattern).map(|_| ()).map_err(|error| error.to_string()),
                Err(message.to_owned()),
                "{pattern}"
            );
        }
    }

    #[test]
    fn what_compiles_to_too_much_is_refused() {
        let error = compile("((a{100}){100}){1000}").unwrap_err();
        assert!(error.to_string().starts_with("compiled it would take more than "), "{error}");
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// Whatever the text, what stands between `\Q` and `\E` matches itself and nothing longer.
        #[test]
        fn verbatim_text_matches_itself(text in "(?s).{0,20}") {
            proptest::prop_assume!(!text.contains(r"\E") && !text.ends_with('\\'));
            let regex = compile(&format!(r"\Q{text}\E")).unwrap();
            let longer = text.clone() + "x";
            proptest::prop_assert!(regex.is_match(&text));
            proptest::prop_assert!(!regex.is_match(&longer));
        }

        /// No pattern makes the translation itself fail otherwise than by an error.
        #[test]
        fn patterns_of_any_kind_end(pattern in r"[\[\]\\(){}a-c^$.*+?|,:&~0-9dwsbpPQE-]{0,24}") {
            let translated = translate(&pattern);
            if let Ok(regex) = compile(&pattern) {
                proptest::prop_assert!(regex.as_str().contains(&translated.unwrap()));
            }
        }
    }
}
