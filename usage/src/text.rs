//! Text of a query, made ready for the grammar: variables of dashboards are replaced, and ranges, offsets and times are
//! made plain, because they do not change which series a query needs.
//!
//! A variable in a string, or beside a letter of a name, becomes [`VARIABLE`], which the parser turns into `.*`. One
//! that stands alone can be a number (`topk($n, up)`), a name (`rate($metric[5m])`) or an operator (`$f(up)`): the text
//! has a hole there, and the parser tries each.

/// Stands for the unknown text of a variable. Letters only: it may be in a name, a string, or a regular expression.
pub(crate) const VARIABLE: &str = "ChronoxideVariable";

/// Most bytes of a variable or of the action of a template.
const MAX_ENCLOSED_LEN: usize = 500;

/// Text between holes: there is a hole after each part but the last.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts(Vec<String>);

impl Parts {
    /// Number of holes.
    pub(crate) fn hole_count(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// Returns the text with the holes filled.
    pub(crate) fn fill<'f>(&self, fill: impl Fn(usize) -> &'f str) -> String {
        let mut text = String::new();
        for (number, part) in self.0.iter().enumerate() {
            if number > 0 {
                text.push_str(fill(number - 1));
            }
            text.push_str(part);
        }
        text
    }

    /// Returns true if the text so far may end with a selector.
    fn ends_with_selector(&self) -> bool {
        let last = self.0.last().and_then(|last| last.trim_end().chars().next_back());
        last.is_some_and(|char| is_word(char) || char == ']' || char == '}')
    }

    fn push(&mut self, text: &str) {
        if self.0.is_empty() {
            self.0.push(String::new());
        }
        if let Some(last) = self.0.last_mut() {
            last.push_str(text);
        }
    }

    fn push_hole(&mut self) {
        self.push("");
        self.0.push(String::new());
    }
}

/// Makes the text of a query ready for the grammar.
pub(crate) fn prepare(text: &str) -> Parts {
    let mut parts = Parts::default();
    let mut rest = text;
    // Character before `rest`, of the text as it was.
    let mut before = ' ';
    while let Some(char) = rest.chars().next() {
        let len = match char {
            '#' => {
                let len = rest.find('\n').unwrap_or(rest.len());
                parts.push(" ");
                len
            }
            '"' | '\'' | '`' => {
                let len = string_len(rest, char);
                parts.push(&replace_variables(&rest[..len]));
                len
            }
            '{' if template_len(rest).is_some() => {
                let is_name = is_word(before);
                if is_name {
                    parts.push(VARIABLE)
                } else {
                    parts.push_hole()
                }
                template_len(rest).unwrap_or(rest.len())
            }
            '[' if variable_len(rest).is_none() => {
                let len = bracket_len(rest);
                parts.push(plain_range(&rest[..len]));
                len
            }
            '$' | '[' if let Some(len) = variable_len(rest) => {
                let after = rest[len..].chars().next().unwrap_or(' ');
                let is_name = is_word(before) || is_word(after) || before == '}' || after == '$';
                if is_name {
                    parts.push(VARIABLE)
                } else {
                    parts.push_hole()
                }
                len
            }
            '@' => 1 + time_len(&rest[1..]),
            _ if is_word(char) && !is_word(before) => {
                let word = rest.find(|char| !is_word(char)).unwrap_or(rest.len());
                let offset = if rest[..word].eq_ignore_ascii_case("offset") { offset_len(&rest[word..]) } else { 0 };
                // Modifiers of ranges that the grammar does not have yet.
                let is_modifier = ["anchored", "smoothed"].contains(&&rest[..word]) && parts.ends_with_selector();
                if offset == 0 && !is_modifier {
                    match &rest[..word] {
                        // Its name before version 3 of Prometheus.
                        "holt_winters" => parts.push("double_exponential_smoothing"),
                        // `1_000`, which the grammar does not have yet.
                        number if char.is_ascii_digit() => parts.push(&number.replace('_', "")),
                        name => parts.push(name),
                    }
                }
                word + offset
            }
            _ => {
                parts.push(&rest[..char.len_utf8()]);
                char.len_utf8()
            }
        };
        before = rest[..len].chars().next_back().unwrap_or(' ');
        rest = &rest[len..];
    }
    parts
}

/// Replaces the variables of a text by [`VARIABLE`].
pub(crate) fn replace_variables(text: &str) -> String {
    let (mut replaced, mut rest) = (String::new(), text);
    while let Some(char) = rest.chars().next() {
        if rest.starts_with("\\$") {
            // The end of a text in a regular expression.
            replaced.push_str("\\$");
            rest = &rest[2..];
            continue;
        }
        let variable = variable_len(rest).or_else(|| template_len(rest));
        replaced.push_str(if variable.is_some() { VARIABLE } else { &rest[..char.len_utf8()] });
        rest = &rest[variable.unwrap_or(char.len_utf8())..];
    }
    replaced
}

/// Returns the length of the variable at the beginning of a text: `$name`, `${name}`, `${name:format}`, `[[name]]`.
fn variable_len(text: &str) -> Option<usize> {
    let name_len = |text: &str| text.find(|char| !is_word(char) || char == ':').unwrap_or(text.len());
    let enclosed = |start: &str, end: &str| {
        let inner = begin(text.strip_prefix(start)?);
        let len = inner.find(end)?;
        (name_len(inner) > 0 && !inner[..len].contains(['\n', '"'])).then_some(start.len() + len + end.len())
    };
    if text.starts_with("${") {
        return enclosed("${", "}");
    }
    if text.starts_with("[[") {
        return enclosed("[[", "]]");
    }
    let len = name_len(text.strip_prefix('$')?);
    (len > 0).then_some(1 + len)
}

/// Returns the length of the action of a template at the beginning of a text: `{{ .Values.job }}`.
fn template_len(text: &str) -> Option<usize> {
    begin(text.strip_prefix("{{")?).find("}}").map(|len| len + 4)
}

/// Returns the beginning of a text, where an end is looked for: in all of it, the time would grow with its square.
fn begin(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_ENCLOSED_LEN)]
}

/// Returns the length of a string with its quotes, or of the rest if it does not end.
fn string_len(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' if quote != '`' => is_escaped = true,
            _ if char == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a range with its brackets, or of the rest if it does not end.
fn bracket_len(text: &str) -> usize {
    let mut at = 1;
    while let Some(char) = text[at..].chars().next() {
        at += match char {
            ']' => return at + 1,
            _ => variable_len(&text[at..]).unwrap_or(char.len_utf8()),
        };
    }
    text.len()
}

/// Returns a range for a range: with a step if it has one.
fn plain_range(range: &str) -> &'static str {
    if replace_variables(range).contains(':') { "[1m:1m]" } else { "[1m]" }
}

/// Returns the length of what follows `offset` up to the end of a duration; 0 if no duration follows.
fn offset_len(text: &str) -> usize {
    let spaces = space_len(text);
    let duration = text[spaces..].trim_start_matches(['-', '+']).trim_start();
    let start = text.len() - duration.len();
    match duration.chars().next() {
        Some('0'..='9' | '.') => start + word_len(duration),
        // Numbers, which the parser cannot make a duration of.
        _ if ["inf", "nan"].contains(&&*duration[..word_len(duration)].to_ascii_lowercase()) => {
            start + word_len(duration)
        }
        // `${n}h`
        Some('$' | '[') => variable_len(duration).map_or(0, |len| start + len + word_len(&duration[len..])),
        Some('(') => start + call_len(duration),
        // `step()`, `min_of(step(), 1s)`
        _ if duration[word_len(duration)..].starts_with('(') => {
            let word = word_len(duration);
            start + word + call_len(&duration[word..])
        }
        _ => 0,
    }
}

/// Returns the length of parentheses with their content, or of the rest if they do not end.
fn call_len(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, char) in text.char_indices() {
        match char {
            '(' => depth += 1,
            ')' if depth == 1 => return at + 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of what follows `@` up to the end of a time: `1609746000`, `end()`, `$__to`.
fn time_len(text: &str) -> usize {
    let time = text[space_len(text)..].trim_start_matches(['-', '+']);
    let start = text.len() - time.len();
    let len = variable_len(time).unwrap_or_else(|| word_len(time));
    start + len + if time[len..].starts_with("()") { 2 } else { 0 }
}

fn space_len(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

fn word_len(text: &str) -> usize {
    text.find(|char| !is_word(char) && char != '.').unwrap_or(text.len())
}

/// Returns true for the characters of names.
fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || char == ':'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, fill: &str) -> String {
        prepare(text).fill(|_| fill)
    }

    #[test]
    fn ranges_offsets_and_times_become_plain() {
        for (text, expected) in [
            ("rate(x[$__rate_interval])", "rate(x[1m])"),
            ("max_over_time(x[1h:${step}] offset 1d) > 1", "max_over_time(x[1m:1m] ) > 1"),
            ("x[1e300] offset -5m", "x[1m] "),
            ("x offset $back + y @ 1609746000.5 - z @ end()", "x  + y  - z "),
            ("x offset (5m + 1m) @ $__to", "x  "),
            ("sum by (offset) (x{offset=\"[5m]\"})", "sum by (offset) (x{offset=\"[5m]\"})"),
            ("x offset -(min_of(step(), 2s)-5)+y offset step()", "x +y "),
            ("rate(x[5m] anchored) + y smoothed", "rate(x[1m] ) + y "),
            ("sum by (smoothed, anchored) (smoothed)", "sum by (smoothed, anchored) (smoothed)"),
            ("x # [comment\n+ y", "x  \n+ y"),
        ] {
            assert_eq!(with(text, "?"), expected, "{text}");
        }
    }

    #[test]
    fn variables_are_replaced_by_their_place() {
        let v = VARIABLE;
        for (text, expected) in [
            ("x{job=\"$job\",pod=~'a-${pod:regex}|[[x]]$'}", format!("x{{job=\"{v}\",pod=~'a-{v}|{v}$'}}")),
            ("x_${unit}_total", format!("x_{v}_total")),
            ("x{a=\"{{ .Values.a }}\"} > {{ .Values.b }}", format!("x{{a=\"{v}\"}} > ?")),
            ("x{a=~\"a\\\\$b\"} offset ${n}h", "x{a=~\"a\\\\$b\"} ".to_owned()),
            ("x_1_0 * 1_000", "x_1_0 * 1000".to_owned()),
            ("holt_winters(x[$a])", "double_exponential_smoothing(x[1m])".to_owned()),
            ("${a}_$b", format!("{v}_{v}")),
            ("topk($n, [[metric]])", "topk(?, ?)".to_owned()),
            ("x > $t", "x > ?".to_owned()),
            ("x{a=\"\\\"$b\"}", format!("x{{a=\"\\\"{v}\"}}")),
            ("x{a=~`$b\\`}", format!("x{{a=~`{v}\\`}}")),
        ] {
            assert_eq!(with(text, "?"), expected, "{text}");
        }
        assert_eq!(prepare("topk($n, $m)").hole_count(), 2);
        assert_eq!(prepare("").hole_count(), 0);
    }

    #[test]
    fn texts_that_do_not_end_are_kept() {
        for text in ["x{a=\"", "x[5m", "x{a='\\", "${", "$", "[[a", "x offset", "x @", "é$é"] {
            let _ = with(text, "?");
        }
        assert_eq!(with("x{a=\"b", "?"), "x{a=\"b");
    }
}
