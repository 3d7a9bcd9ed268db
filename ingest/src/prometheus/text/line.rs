//! Parser of a line: [`Line`], and the labels of a [`Sample`].

use std::borrow::Cow;
use std::ops::Range;

use super::cursor::{Cursor, Quoted, is_blank, shown};
use super::error::LineError;
use super::number::is_value;
use super::timestamp::{Time, TimestampUnit};
use crate::prometheus::{FamilyType, NAME};

/// Maximum number of labels whose names are compared with each other.
const MAX_COMPARED: usize = 24;

/// Bytes of label names.
const LABEL_NAME_PARTS: [bool; 256] = name_parts(false);

/// Bytes of metric names.
const METRIC_NAME_PARTS: [bool; 256] = name_parts(true);

/// Kind of a line.
pub(super) enum Line<'a> {
    /// Blank line or comment.
    Comment,
    /// `# EOF`, the end of OpenMetrics.
    End,
    /// Metadata of the metric family with this name.
    Metadata(Cow<'a, str>, Fact<'a>),
    /// Sample, whose parts are in the buffers.
    Sample,
}

/// Metadata of a metric family.
pub(super) enum Fact<'a> {
    Help(Cow<'a, str>),
    Type(FamilyType),
    Unit(&'a str),
}

/// Labels and time of a sample. Its buffers are reused for each line.
#[derive(Default)]
pub(super) struct Sample {
    /// Names and values, concatenated.
    text: String,
    /// Ranges of names and values in the text, and positions of names in the line. The name of the metric comes first.
    labels: Vec<Label>,
    /// Order of the labels by name.
    order: Vec<usize>,
    pub(super) time: Time,
    /// True if the line has parts that only OpenMetrics has: an exemplar, a start time, or a fraction of a timestamp.
    pub(super) is_open_metrics: bool,
}

#[derive(Clone)]
struct Label {
    name: Range<usize>,
    value: Range<usize>,
    offset: usize,
}

impl Sample {
    /// Returns names and values, the metric's name first, then in order of the line.
    pub(super) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().map(|label| (self.slice(&label.name), self.slice(&label.value)))
    }

    fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    fn clear(&mut self) {
        self.text.clear();
        self.labels.clear();
        self.time = Time::Absent;
        self.is_open_metrics = false;
    }

    fn append(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }

    fn push(&mut self, offset: usize, name: &str, value: &str) {
        let (name, value) = (self.append(name), self.append(value));
        self.labels.push(Label { name, value, offset });
    }

    /// Sets the name of the metric.
    fn set_name(&mut self, offset: usize, name: &str) {
        self.push(offset, NAME, name);
        // The name may be anywhere in the braces.
        self.labels.rotate_right(1);
    }

    /// Checks for duplicate names.
    fn check_names(&mut self) -> Result<(), LineError> {
        let Self { text, labels, order, .. } = self;
        // Most pairs of names differ in their lengths already.
        let name_of = |label: &Label| text.get(label.name.clone());
        let is_equal =
            |left: &Label, right: &Label| left.name.len() == right.name.len() && name_of(left) == name_of(right);
        let mut others = labels.as_slice();
        let mut has_equal = labels.len() > MAX_COMPARED;
        while let Some((first, rest)) = others.split_first()
            && !has_equal
        {
            has_equal = rest.iter().any(|label| is_equal(first, label));
            others = rest;
        }
        if !has_equal {
            return Ok(());
        }
        // A line may have very many labels: then they are sorted.
        let name = |&at: &usize| labels.get(at).and_then(|label| text.get(label.name.clone()));
        order.clear();
        order.extend(0..labels.len());
        order.sort_by_key(name);
        for pair in order.windows(2) {
            if let [left, right] = pair
                && name(left) == name(right)
                && let Some(label) = labels.get(*right)
            {
                let name = shown(name(right).unwrap_or_default().as_bytes());
                return Err(LineError::DuplicateLabel { offset: label.offset, name });
            }
        }
        Ok(())
    }
}

impl<'a> Line<'a> {
    /// Parses a line without its line break. The parts of a sample go to `sample`.
    pub(super) fn parse(line: &'a [u8], unit: TimestampUnit, sample: &mut Sample) -> Result<Self, LineError> {
        let mut cursor = Cursor::new(line);
        cursor.skip_blanks();
        match cursor.peek() {
            None => Ok(Self::Comment),
            Some(b'#') => comment(cursor),
            Some(_) => {
                sample.clear();
                parse_sample(&mut cursor, unit, sample)?;
                Ok(Self::Sample)
            }
        }
    }
}

/// Parses a line that starts with `#`.
fn comment(mut cursor: Cursor<'_>) -> Result<Line<'_>, LineError> {
    cursor.take(b'#');
    if !cursor.skip_blanks() {
        return Ok(Line::Comment);
    }
    if cursor.rest().trim_ascii_end() == b"EOF" {
        return Ok(Line::End);
    }
    if cursor.take_word(b"HELP") {
        let name = family_name(&mut cursor)?;
        // One blank separates; more blanks belong to the text.
        let start = cursor.offset() + usize::from(!cursor.rest().is_empty());
        let text = cursor.utf8(start, cursor.rest().get(1..).unwrap_or_default())?;
        return Ok(Line::Metadata(name, Fact::Help(unescaped(text))));
    }
    if cursor.take_word(b"TYPE") {
        let name = family_name(&mut cursor)?;
        cursor.skip_blanks();
        let word = cursor.rest().trim_ascii_end();
        let kind = std::str::from_utf8(word).ok().and_then(FamilyType::from_word);
        let kind = kind.ok_or_else(|| cursor.expected("a type of metrics"))?;
        return Ok(Line::Metadata(name, Fact::Type(kind)));
    }
    if cursor.take_word(b"UNIT") {
        let name = family_name(&mut cursor)?;
        cursor.skip_blanks();
        let unit = cursor.utf8(cursor.offset(), cursor.rest().trim_ascii_end())?;
        return Ok(Line::Metadata(name, Fact::Unit(unit)));
    }
    Ok(Line::Comment)
}

/// Parses the name of a metric family, which must end there.
fn family_name<'a>(cursor: &mut Cursor<'a>) -> Result<Cow<'a, str>, LineError> {
    const EXPECTED: &str = "the name of a metric";
    let name = if cursor.peek() == Some(b'"') {
        quoted(cursor, EXPECTED)?
    } else {
        Cow::Borrowed(plain_name(cursor, &METRIC_NAME_PARTS, EXPECTED)?)
    };
    match cursor.peek() {
        None => Ok(name),
        Some(byte) if is_blank(byte) => Ok(name),
        Some(_) => Err(cursor.expected("a blank after the name of a metric")),
    }
}

/// Parses name, labels, value, timestamp and exemplars.
fn parse_sample(cursor: &mut Cursor<'_>, unit: TimestampUnit, sample: &mut Sample) -> Result<(), LineError> {
    let (mut has_name, mut is_value) = (false, false);
    if cursor.peek() != Some(b'{') {
        let offset = cursor.offset();
        let name = plain_name(cursor, &METRIC_NAME_PARTS, "the name of a metric")?;
        sample.set_name(offset, name);
        has_name = true;
        is_value = cursor.skip_blanks() && is_composite(cursor);
    }
    if !is_value && cursor.take(b'{') {
        labels(cursor, |offset, name, value| {
            let value = match (value, has_name) {
                // The notation of a query, and of dumps.
                (Some(value), false) if name == NAME => {
                    has_name = true;
                    sample.set_name(offset, value);
                    return Ok(());
                }
                (Some(value), _) => value,
                (None, true) => return Err(()),
                (None, false) => {
                    has_name = true;
                    sample.set_name(offset, name);
                    return Ok(());
                }
            };
            sample.push(offset, name, value);
            Ok(())
        })?;
        cursor.skip_blanks();
    }
    if !has_name {
        return Err(cursor.expected("the name of a metric in the braces before this"));
    }
    sample.check_names()?;
    value(cursor)?;
    rest_of_sample(cursor, unit, sample)
}

/// Returns true if the brace after a metric name opens a composite value (`foo {count:1,...}`) rather than labels.
fn is_composite(cursor: &Cursor<'_>) -> bool {
    let mut cursor = cursor.clone();
    cursor.take(b'{')
        && !cursor.take_while(|byte| byte == b'_' || byte.is_ascii_alphanumeric()).is_empty()
        && cursor.peek() == Some(b':')
}

/// Parses labels up to the closing brace, and gives them to `each` with their position in the line. A string without a
/// value is the name of the metric; `each` refuses it if the metric has a name.
fn labels(
    cursor: &mut Cursor<'_>,
    mut each: impl FnMut(usize, &str, Option<&str>) -> Result<(), ()>,
) -> Result<(), LineError> {
    loop {
        cursor.skip_blanks();
        if cursor.take(b'}') {
            return Ok(());
        }
        let offset = cursor.offset();
        let before = cursor.clone();
        let is_quoted = cursor.peek() == Some(b'"');
        let name = if is_quoted {
            quoted(cursor, "the name of a label")?
        } else {
            Cow::Borrowed(plain_name(cursor, &LABEL_NAME_PARTS, "the name of a label or a closing brace")?)
        };
        cursor.skip_blanks();
        let no_name = |()| before.expected("the name of a label, because the metric has its name");
        if cursor.take(b'=') {
            cursor.skip_blanks();
            let value = cursor.take_quoted("the value of a label in quotes")?;
            let value = text_of(cursor, &value)?;
            each(offset, &name, Some(&value)).map_err(no_name)?;
            cursor.skip_blanks();
        } else if is_quoted && matches!(cursor.peek(), Some(b',' | b'}')) {
            each(offset, &name, None).map_err(no_name)?;
        } else {
            return Err(cursor.expected("an equals sign"));
        }
        if !cursor.take(b',') && cursor.peek() != Some(b'}') {
            return Err(cursor.expected("a comma or a closing brace"));
        }
    }
}

/// Parses a value, which must be valid. A histogram or a summary in braces is one value: that of OpenMetrics 2, or of a
/// native histogram in a dump.
fn value(cursor: &mut Cursor<'_>) -> Result<(), LineError> {
    cursor.skip_blanks();
    if cursor.take(b'{') {
        cursor.take_while(|byte| byte != b'}');
        return if cursor.take(b'}') { Ok(()) } else { Err(cursor.expected("a closing brace")) };
    }
    let before = cursor.clone();
    let token = cursor.take_token();
    if cursor.utf8(before.offset(), token).is_ok_and(is_value) { Ok(()) } else { Err(before.expected("a value")) }
}

/// Parses the rest after the value: `[timestamp] [st@start] {# {labels} value [timestamp]}`.
fn rest_of_sample(cursor: &mut Cursor<'_>, unit: TimestampUnit, sample: &mut Sample) -> Result<(), LineError> {
    cursor.skip_blanks();
    let before = cursor.rest();
    sample.time = timestamp(cursor, unit)?;
    let token = before.split(|&byte| is_blank(byte)).next().unwrap_or_default();
    sample.is_open_metrics = sample.time != Time::Absent && token.contains(&b'.');
    if let Some(start) = cursor.rest().strip_prefix(b"st@") {
        let offset = cursor.offset() + 3;
        let token = start.split(|&byte| is_blank(byte)).next().unwrap_or_default();
        unit.nanoseconds(token, offset)?;
        cursor.take_token();
        cursor.skip_blanks();
        sample.is_open_metrics = true;
    }
    while cursor.take(b'#') {
        sample.is_open_metrics = true;
        cursor.skip_blanks();
        if !cursor.take(b'{') {
            return Err(cursor.expected("the labels of an exemplar"));
        }
        labels(cursor, |_, _, value| value.map(|_| ()).ok_or(()))?;
        value(cursor)?;
        cursor.skip_blanks();
        // Exemplars are part of OpenMetrics, where all times are seconds.
        timestamp(cursor, TimestampUnit::Seconds)?;
    }
    if cursor.rest().is_empty() { Ok(()) } else { Err(cursor.expected("the end of the line")) }
}

/// Parses a timestamp, if there is one.
fn timestamp(cursor: &mut Cursor<'_>, unit: TimestampUnit) -> Result<Time, LineError> {
    if matches!(cursor.peek(), None | Some(b'#')) || cursor.rest().starts_with(b"st@") {
        return Ok(Time::Absent);
    }
    let offset = cursor.offset();
    let time = unit.nanoseconds(cursor.take_token(), offset)?;
    cursor.skip_blanks();
    Ok(time)
}

/// Parses an unquoted name.
fn plain_name<'a>(
    cursor: &mut Cursor<'a>,
    is_part: &[bool; 256],
    expected: &'static str,
) -> Result<&'a str, LineError> {
    let before = cursor.clone();
    let name = cursor.take_while(|byte| is_part.get(usize::from(byte)) == Some(&true));
    match cursor.utf8(before.offset(), name) {
        Ok(text) if name.first().is_some_and(|first| !first.is_ascii_digit()) => Ok(text),
        _ => Err(before.expected(expected)),
    }
}

/// Parses a quoted name, which must not be empty.
fn quoted<'a>(cursor: &mut Cursor<'a>, expected: &'static str) -> Result<Cow<'a, str>, LineError> {
    let before = cursor.clone();
    let name = cursor.take_quoted(expected)?;
    if name.bytes.is_empty() { Err(before.expected(expected)) } else { text_of(cursor, &name) }
}

/// Returns the text of a quoted string, without escapes.
fn text_of<'a>(cursor: &Cursor<'a>, quoted: &Quoted<'a>) -> Result<Cow<'a, str>, LineError> {
    let text = cursor.utf8(quoted.start, quoted.bytes)?;
    Ok(if quoted.has_escapes { unescaped(text) } else { Cow::Borrowed(text) })
}

/// Returns for each byte whether it may be part of a name. A table, because names are most of the bytes of a line.
const fn name_parts(has_colons: bool) -> [bool; 256] {
    let mut parts = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        parts[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_' || (has_colons && byte == b':');
        byte += 1;
    }
    parts
}

/// Replaces the escapes `\\`, `\"` and `\n`. Other backslashes are not changed, as in Prometheus.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let meant = match after.as_bytes().first() {
            Some(b'\\') => '\\',
            Some(b'"') => '"',
            Some(b'n') => '\n',
            _ => {
                out.push('\\');
                rest = after;
                continue;
            }
        };
        out.push(meant);
        rest = after.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    Cow::Owned(out)
}
