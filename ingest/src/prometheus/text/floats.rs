//! Values of `le` and `quantile` as Prometheus formats them: [`Floats`].

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::number::is_value;
use crate::prometheus::open_metrics_float;

/// Maximum number of cached texts. Histograms of a text share few bounds.
const MAX_COUNT: usize = 1 << 10;

/// Maximum length of a cached text in bytes.
const MAX_LEN: usize = 32;

/// Cache of texts and their formatted floats. Takes at most 128 KiB.
#[derive(Debug, Default)]
pub(super) struct Floats {
    formatted: HashMap<Box<str>, Box<str>, RandomState>,
    /// Last text that is too long for the cache.
    long: String,
}

impl Floats {
    /// Returns a float like Prometheus formats it, or the text itself if it is not a float.
    pub(super) fn formatted<'a>(&'a mut self, text: &'a str) -> &'a str {
        if text.len() > MAX_LEN {
            return match format(text) {
                Some(formatted) => {
                    self.long = formatted;
                    &self.long
                }
                None => text,
            };
        }
        if !self.formatted.contains_key(text) {
            if self.formatted.len() >= MAX_COUNT {
                self.formatted.clear();
            }
            let formatted = format(text).map_or_else(|| text.into(), String::into_boxed_str);
            self.formatted.insert(text.into(), formatted);
        }
        self.formatted.get(text).map_or(text, |formatted| formatted)
    }
}

fn format(text: &str) -> Option<String> {
    let float = is_value(text).then(|| text.parse().ok()).flatten();
    float.map(open_metrics_float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_texts_are_formatted_like_others() {
        let mut floats = Floats::default();
        for _ in 0..2 {
            for (text, expected) in
                [("1", "1.0"), ("0.50", "0.5"), ("+Inf", "+Inf"), ("x", "x"), ("", ""), ("0x10", "0x10")]
            {
                assert_eq!(floats.formatted(text), expected);
            }
            let long = format!("1.{}", "0".repeat(MAX_LEN));
            assert_eq!(floats.formatted(&long), "1.0");
        }
    }

    #[test]
    fn the_number_of_cached_texts_is_bounded() {
        let mut floats = Floats::default();
        for number in 0..3 * MAX_COUNT {
            assert_eq!(floats.formatted(&number.to_string()), format!("{number}.0"));
            assert!(floats.formatted.len() <= MAX_COUNT);
        }
    }
}
