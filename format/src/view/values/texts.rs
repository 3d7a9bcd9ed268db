//! [`TextRun`]: texts that are read in order.

use super::column::SeriesColumn;
use super::numbers::{GROUP_LEN, Group};
use crate::Result;
use crate::layout::VALUE_GROUP;
use crate::number::index;

/// Reader of texts. Series in a row often have their texts in a row: the starts of such texts are decoded by groups.
pub(super) struct TextRun<'a> {
    column: SeriesColumn<'a>,
    /// Number and first byte of the text behind the last one.
    next: Option<(u32, u64)>,
    /// Group of starts that is decoded, and its codes.
    group: Option<(u32, Group)>,
    codes: [u64; GROUP_LEN],
}

impl<'a> TextRun<'a> {
    pub fn new(column: &SeriesColumn<'a>) -> Self {
        Self { column: *column, next: None, group: None, codes: [0; GROUP_LEN] }
    }

    /// Returns the bytes of a text, which must be in range.
    pub fn text(&mut self, text: u32) -> Result<&'a [u8]> {
        let behind = text.saturating_add(1);
        let (start, end) = match self.next {
            Some((next, start)) if next == text => (start, self.start(behind)?),
            _ => (self.column.start(text)?, self.column.start(behind)?),
        };
        self.next = Some((behind, end));
        self.column.text_between(text, start, end)
    }

    /// Returns the start of a text from the decoded group, or from its own.
    fn start(&mut self, text: u32) -> Result<u64> {
        let (number, row) = (text / VALUE_GROUP, index(text % VALUE_GROUP));
        let group = match self.group.filter(|(decoded, _)| *decoded == number) {
            Some((_, group)) => group,
            None => {
                let Some(starts) = self.column.starts else { return self.column.start(text) };
                let group = starts.group(number)?;
                starts.codes(number, &group, &mut self.codes)?;
                self.group.insert((number, group)).1
            }
        };
        match self.codes.get(row).and_then(|&code| group.number(code)) {
            Some(start) => Ok(start),
            None => self.column.start(text),
        }
    }
}
