//! Lists within a line.

use std::fmt;

use chronoxide_text::human;

/// A list in one line: its length, the noun, and the first `most` items: `12 keys: a, b, c, ... 9 more`.
pub(super) struct List<'a, T> {
    /// Noun for one item.
    pub(super) what: &'static str,
    pub(super) items: &'a [T],
    pub(super) most: usize,
}

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", human::count_of(self.items.len() as u64, self.what))?;
        for (number, item) in self.items.iter().take(self.most).enumerate() {
            write!(f, "{} {item}", if number > 0 { "," } else { "" })?;
        }
        match self.items.len().checked_sub(self.most) {
            Some(left @ 1..) => write!(f, ", ... {} more", human::count(left as u64)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_cut_only_where_they_are_longer_than_wanted() {
        let shown = |count: u32, most| List { what: "key", items: &(0..count).collect::<Vec<_>>(), most }.to_string();
        for (count, most, expected) in [
            (1, 3, "1 key: 0"),
            (3, 3, "3 keys: 0, 1, 2"),
            (4, 3, "4 keys: 0, 1, 2, ... 1 more"),
            (12, 2, "12 keys: 0, 1, ... 10 more"),
            (4, usize::MAX, "4 keys: 0, 1, 2, 3"),
        ] {
            assert_eq!(shown(count, most), expected);
        }
    }
}
