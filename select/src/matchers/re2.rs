//! Regular expressions of RE2, as Prometheus compiles them, for the crate `regex-automata`.
//!
//! The pattern is read character by character, as `regexp/syntax` of Go reads it, and everything that the two see
//! differently is written in a way that means the same there. See the [table](super#regular-expressions).

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

use regex_automata::meta::{Config, Regex};

/// The largest number in a repetition.
const MAX_REPETITION: u32 = 1_000;

/// Error of a regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("unknown escape \\{0} in a regular expression")]
    UnknownEscape(char),
    #[error("trailing backslash")]
    TrailingBackslash,
    #[error("unknown character class [:{0}:]")]
    UnknownClass(String),
    #[error("missing ] of a character class")]
    OpenClass,
    #[error("invalid character range: the end is before the start")]
    Range,
    #[error("unknown flag {0}; expected i, m, s or U")]
    UnknownFlag(char),
    #[error("missing ) of flags")]
    OpenFlags,
    #[error("invalid group name: use ASCII letters, digits and _, as in (?P<name>a)")]
    GroupName,
    #[error("repeated repetition operator")]
    RepeatedTwice,
    #[error("invalid repetition: use at most {MAX_REPETITION}, with the minimum not above the maximum")]
    Repetition,
    #[error("{0}")]
    Other(String),
}

/// Maximum memory of the automaton of a pattern in bytes.
const MAX_PATTERN_LEN: usize = 10 << 20;

/// Compiles what [`translate`] gives, so that it must match the whole of a value.
pub(crate) fn compile_translated(translated: &str) -> Result<Regex, PatternError> {
    // Prometheus wraps it in `^(?s:` and `)$`; outside of `(?m)` these are the ends of the value.
    let config = Config::new().nfa_size_limit(Some(MAX_PATTERN_LEN));
    let compiled = Regex::builder().configure(config).build(&format!(r"\A(?s:{translated})\z"));
    compiled.map_err(|error| match (error.syntax_error(), error.size_limit()) {
        (Some(error), _) => syntax(error),
        (None, Some(limit)) => PatternError::Other(format!("compiled it would take more than {limit} bytes")),
        (None, None) => PatternError::Other(error.to_string()),
    })
}

/// The message of a parser in one line.
fn syntax(error: &regex_syntax::Error) -> PatternError {
    let message = error.to_string();
    let last = message.lines().last().unwrap_or_default();
    PatternError::Other(last.strip_prefix("error: ").unwrap_or(last).to_owned())
}

/// Writes a pattern of RE2 for `regex`, without anchors.
pub(crate) fn translate(pattern: &str) -> Result<String, PatternError> {
    let out = String::with_capacity(pattern.len() + 16);
    let mut reader = Reader { chars: pattern.chars().peekable(), out, may_name_classes: true };
    reader.expression()?;
    // Without anchors: `a)|(b` would become valid between other parentheses.
    regex_syntax::parse(&reader.out).map_err(|error| syntax(&error))?;
    Ok(reader.out)
}

struct Reader<'p> {
    chars: Peekable<Chars<'p>>,
    out: String,
    /// False once no `:]` was found: none is in the rest either, and each `[` would be looked at to the end again.
    may_name_classes: bool,
}

impl Reader<'_> {
    fn expression(&mut self) -> Result<(), PatternError> {
        let mut is_repeated = false;
        // End of the expression before flags: `a(?i)*` repeats `a`.
        let mut before_flags = None;
        while let Some(char) = self.chars.next() {
            let repetition = match char {
                '*' | '+' | '?' => Some(char.to_string()),
                '{' => self.repetition()?,
                _ => None,
            };
            if let Some(mut repetition) = repetition {
                if is_repeated {
                    return Err(PatternError::RepeatedTwice);
                }
                if self.chars.next_if_eq(&'?').is_some() {
                    repetition.push('?');
                }
                let end = before_flags.unwrap_or(self.out.len());
                self.out.insert_str(end, &repetition);
                before_flags = before_flags.map(|end| end + repetition.len());
                is_repeated = true;
                continue;
            }
            is_repeated = false;
            let end = before_flags.take().unwrap_or(self.out.len());
            match char {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '{' => self.out.push_str(r"\{"),
                '(' => {
                    if self.group()? {
                        before_flags = Some(end);
                    }
                }
                char => self.out.push(char),
            }
        }
        Ok(())
    }

    /// After `{`: a repetition such as `{2,3}`, or nothing, and nothing is read.
    fn repetition(&mut self) -> Result<Option<String>, PatternError> {
        let mut rest = self.chars.clone();
        let mut inner = String::new();
        while let Some(char) = rest.next_if(|char| char.is_ascii_digit() || *char == ',') {
            inner.push(char);
        }
        if rest.next() != Some('}') {
            return Ok(None);
        }
        let (least, most) = inner.split_once(',').unwrap_or((&inner, &inner));
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
        self.chars = rest;
        Ok(Some(format!("{{{inner}}}")))
    }

    /// After `(`. Returns true if only flags are in the parentheses.
    fn group(&mut self) -> Result<bool, PatternError> {
        if self.chars.next_if_eq(&'?').is_none() {
            self.out.push('(');
            return Ok(false);
        }
        match self.chars.peek() {
            Some('P' | '<') => self.group_name().map(|()| false),
            _ => self.flags(),
        }
    }

    /// After `(?`, at `P<name>` or `<name>`. The name is left out, because RE2 accepts more names.
    fn group_name(&mut self) -> Result<(), PatternError> {
        self.chars.next_if_eq(&'P');
        if self.chars.next() != Some('<') {
            return Err(PatternError::GroupName);
        }
        let mut len = 0;
        loop {
            match self.chars.next() {
                Some('>') if len > 0 => break,
                Some(char) if char == '_' || char.is_ascii_alphanumeric() => len += 1,
                _ => return Err(PatternError::GroupName),
            }
        }
        self.out.push_str("(?:");
        Ok(())
    }

    /// After `(?`: each flag is written once, with the last of its values. Returns true if `)` follows the flags.
    fn flags(&mut self) -> Result<bool, PatternError> {
        let mut values: BTreeMap<char, bool> = BTreeMap::new();
        let (mut value, mut is_complete) = (true, true);
        let end = loop {
            match self.chars.next().ok_or(PatternError::OpenFlags)? {
                char @ ('i' | 'm' | 's' | 'U') => {
                    values.insert(char, value);
                    is_complete = true;
                }
                '-' if value => (value, is_complete) = (false, false),
                end @ (':' | ')') if is_complete => break end,
                char => return Err(PatternError::UnknownFlag(char)),
            }
        };
        if end == ')' && values.is_empty() {
            // Not nothing: with a repetition inserted before it, `((?)?:a)` would become a group.
            self.out.push_str("(?:)");
            return Ok(true);
        }
        let with = |wanted: bool| values.iter().filter(move |(_, value)| **value == wanted).map(|(char, _)| *char);
        self.out.push_str("(?");
        self.out.extend(with(true));
        if with(false).next().is_some() {
            self.out.push('-');
            self.out.extend(with(false));
        }
        self.out.push(end);
        Ok(end == ')')
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

    /// At the letter of `\pL`, `\p{Greek}` or `\p{^Greek}`, which is `\P{Greek}`.
    fn unicode_class(&mut self) -> Result<(), PatternError> {
        let letter = self.chars.next().unwrap_or('p');
        let error = PatternError::UnknownEscape(letter);
        let first = self.chars.next().ok_or(error.clone())?;
        if first != '{' {
            self.out.extend(['\\', letter, first]);
            return Ok(());
        }
        let is_negated = (letter == 'P') != self.chars.next_if_eq(&'^').is_some();
        self.out.push_str(if is_negated { "\\P{" } else { "\\p{" });
        for char in self.chars.by_ref() {
            self.out.push(char);
            if char == '}' {
                return Ok(());
            }
        }
        Err(error)
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
        let mut rest = self.chars.clone();
        rest.next();
        if !self.may_name_classes || rest.next() != Some(':') {
            return Ok(false);
        }
        let mut name = String::new();
        loop {
            match rest.next() {
                Some(':') if rest.next_if_eq(&']').is_some() => break,
                Some(char) => name.push(char),
                None => {
                    self.may_name_classes = false;
                    return Ok(false);
                }
            }
        }
        if !NAMES.contains(&name.strip_prefix('^').unwrap_or(&name)) {
            return Err(PatternError::UnknownClass(name));
        }
        self.chars = rest;
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
mod tests;
